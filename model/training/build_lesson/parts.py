"""The parts of the tiny translator, the stages of building it, and the mistakes that the lesson shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Literal

Mistake = Literal["", "mask_after", "mask_turned", "columns", "cross_self", "divided_by_width", "multiplied"]


@dataclass(frozen=True)
class Parts:
    """The parts in a model. Without attention, each word receives the average of all words."""

    attention: bool = False
    scale: bool = False
    two_heads: bool = False
    positions: bool = False
    residual: bool = False
    norm: bool = False
    network: bool = False
    mask: bool = False
    cross: bool = False
    mistake: Mistake = ""

    @property
    def heads(self) -> int:
        """Return the number of heads."""
        return 2 if self.two_heads else 1


BUILD_ORDER = tuple(field.name for field in fields(Parts) if field.name != "mistake")
ALL_PARTS = Parts(**dict.fromkeys(BUILD_ORDER, True))  # type: ignore[arg-type]


def parts_until(name: str) -> Parts:
    """Return the parts that are in the model after part `name` of `BUILD_ORDER` was added; "" for none."""
    count = BUILD_ORDER.index(name) + 1 if name else 0
    return Parts(**dict.fromkeys(BUILD_ORDER[:count], True))  # type: ignore[arg-type]


def _variants() -> dict[str, Parts]:
    stages = {"average": Parts()} | {name: parts_until(name) for name in BUILD_ORDER}
    without = {f"without_{name}": replace(ALL_PARTS, **{name: False}) for name in BUILD_ORDER}  # type: ignore[arg-type]
    mistakes: tuple[Mistake, ...] = (
        "mask_after",
        "mask_turned",
        "columns",
        "cross_self",
        "divided_by_width",
        "multiplied",
    )
    wrong = {name: replace(ALL_PARTS, mistake=name) for name in mistakes}
    return stages | without | wrong


VARIANTS: Mapping[str, Parts] = MappingProxyType(_variants())  # each is trained and stored
STAGES = ("average", *BUILD_ORDER)
