"""When a small model should say: this sentence is beyond me.

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
    """Below the floor a translation is not to be relied on."""

    floor: float  # mean log probability of a token, the end among them
    hit_rate: float  # of foreign sentences, those that fall below it
    false_alarm_rate: float  # of everyday sentences, those that fall below it, too
    foreign: str  # what was measured on
    everyday: str

    def beyond(self, log_probability: float, tokens: int) -> bool:
        """Whether a translation of so many tokens lies below the floor."""
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
    """The highest floor under which no larger share of everyday sentences falls: it finds the most foreign ones."""
    if not everyday or not foreign:
        raise CheckpointError("A floor needs everyday sentences and foreign ones.")
    ordered = sorted(everyday)
    allowed = int(most_false_alarms * len(ordered))  # so many may fall below
    return ordered[min(allowed, len(ordered) - 1)]


def measure_floor(
    floor: float, everyday: Sequence[float], foreign: Sequence[float], *, names: tuple[str, str]
) -> ConfidenceRule:
    """How a floor does on sentences that it was not chosen by."""
    return ConfidenceRule(
        floor=floor,
        hit_rate=sum(mean < floor for mean in foreign) / len(foreign),
        false_alarm_rate=sum(mean < floor for mean in everyday) / len(everyday),
        everyday=names[0],
        foreign=names[1],
    )
