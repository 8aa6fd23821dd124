"""The parts of the tiny translator, the stages of building it, and the mistakes that the lesson shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Literal, get_args

Mistake = Literal[
    "",
    "mask_after_softmax",  # masked weights are set to 0 after the softmax, so that rows do not sum to 1
    "mask_transposed",  # earlier words are masked instead of later ones
    "softmax_over_queries",  # softmax over the wrong axis, so that columns sum to 1
    "cross_reads_decoder",  # cross-attention takes its keys and values from the decoder
    "divided_by_width",  # scores / d instead of scores / √d
    "multiplied_by_root",  # scores · √d
]


@dataclass(frozen=True)
class Parts:
    """The parts in a model. Without attention, each word receives the average of all words."""

    attention: bool = False
    scale: bool = False
    two_heads: bool = False
    positions: bool = False
    residual: bool = False
    norm: bool = False
    network: bool = False  # the feed-forward network
    mask: bool = False
    cross: bool = False
    mistake: Mistake = ""

    @property
    def heads(self) -> int:
        """The number of heads."""
        return 2 if self.two_heads else 1


# The lesson adds the parts in the order of the fields above.
BUILD_ORDER = tuple(field.name for field in fields(Parts) if field.name != "mistake")
ALL_PARTS = Parts(**dict.fromkeys(BUILD_ORDER, True))  # type: ignore[arg-type]


def parts_through(name: str) -> Parts:
    """Return the parts of `BUILD_ORDER` up to and including `name`; "" means no part."""
    count = BUILD_ORDER.index(name) + 1 if name else 0
    return Parts(**dict.fromkeys(BUILD_ORDER[:count], True))  # type: ignore[arg-type]


def _variants() -> dict[str, Parts]:
    stages = {"average": Parts()} | {name: parts_through(name) for name in BUILD_ORDER}
    without = {f"without_{name}": replace(ALL_PARTS, **{name: False}) for name in BUILD_ORDER}  # type: ignore[arg-type]
    wrong = {name: replace(ALL_PARTS, mistake=name) for name in get_args(Mistake) if name}
    return stages | without | wrong


VARIANTS: Mapping[str, Parts] = MappingProxyType(_variants())  # all of them are trained and stored
STAGES = ("average", *BUILD_ORDER)
