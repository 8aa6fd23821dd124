"""Reliability: when a small model should say that a sentence is beyond it.

A model that translates everyday sentences writes fluent nonsense about others. It is less sure then, so the mean log
probability of its own words tells the two apart, by a floor that was measured. The rule lies in a model's folder as
`confidence.json`.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from headlight.model.errors import CheckpointError

FILE = "confidence.json"


@dataclass(frozen=True, kw_only=True)
class ConfidenceRule:
    """A translation below the floor is unreliable."""

    floor: float  # mean log probability of a token, the end token included
    hit_rate: float  # share of foreign sentences below the floor
    false_alarm_rate: float  # share of everyday sentences below the floor
    foreign: str  # the texts that both rates were measured on
    everyday: str

    def beyond(self, log_probability: float, tokens: int) -> bool:
        """Whether a translation of `tokens` tokens lies below the floor."""
        return tokens > 0 and log_probability / tokens < self.floor

    def to_json(self) -> str:
        """All fields as indented JSON."""
        return json.dumps(dataclasses.asdict(self), indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str, *, origin: str = FILE) -> Self:
        """Read what `to_json` wrote."""
        kinds = {"floor": float, "hit_rate": float, "false_alarm_rate": float, "foreign": str, "everyday": str}
        try:
            values = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise CheckpointError(f"{origin} is not JSON: {error}. Download or measure it again.") from error
        if not isinstance(values, dict) or {name: type(value) for name, value in values.items()} != kinds:
            raise CheckpointError(f"{origin} must hold {', '.join(kinds)}, and nothing else. Measure it again.")
        return cls(**values)


def load_rule(folder: Path) -> ConfidenceRule | None:
    """The rule of a model folder, if it has one."""
    path = folder / FILE
    return ConfidenceRule.from_json(path.read_text(encoding="utf-8"), origin=str(path)) if path.exists() else None


def choose_floor(everyday: Sequence[float], foreign: Sequence[float], *, most_false_alarms: float) -> float:
    """The highest floor with at most this share of everyday sentences below: it finds most foreign ones."""
    if not everyday or not foreign:
        raise CheckpointError("A floor needs everyday sentences and foreign ones.")
    ordered = sorted(everyday)
    allowed = int(most_false_alarms * len(ordered))  # sentences that may lie below
    return ordered[min(allowed, len(ordered) - 1)]


def measure_floor(
    floor: float, everyday: Sequence[float], foreign: Sequence[float], *, names: tuple[str, str]
) -> ConfidenceRule:
    """The rates of a floor on sentences that it was not chosen on."""
    return ConfidenceRule(
        floor=floor,
        hit_rate=sum(mean < floor for mean in foreign) / len(foreign),
        false_alarm_rate=sum(mean < floor for mean in everyday) / len(everyday),
        everyday=names[0],
        foreign=names[1],
    )
