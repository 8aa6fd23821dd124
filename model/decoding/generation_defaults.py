"""Generation defaults of a model: the options of a request that names none, and rules that always hold.

A third-party folder has them in `generation_config.json`, one of ours in `habits.json`. Without `habits.json` the
library defaults apply: greedy search, and log probabilities as they were before the rules.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self, get_args

from headlight.model.errors import CheckpointError, RequestError
from headlight.model.records import DecodingOptions

DEFAULTS_FILE = "habits.json"
# When a beam that is full may stop: when no open hypothesis would be better if it ended now; at once; or when none
# could be better with any length that it may still reach.
Patience = Literal["bound", "none", "longest"]


@dataclass(frozen=True, kw_only=True)
class GenerationDefaults:
    """Options by default, and rules that always hold."""

    beam_size: int = 1
    length_penalty: float = 1.0
    max_length: int | None = None  # tokens written, the end token among them
    no_repeat: int = 0

    never: tuple[tuple[int, ...], ...] | None = None  # runs of tokens never written; None: padding and the start
    least_length: int = 0  # minimum number of tokens before the end token
    first: tuple[int, ...] = ()  # tokens that every translation begins with
    forced_end: int | None = None  # last token when the length limit is reached
    patience: Patience = "bound"
    ended_first: bool = True  # finished hypotheses rank before truncated ones, regardless of score
    # Which log probabilities are summed: those before the rules, or those after them, where a forced token costs
    # nothing; "renormalised" distributes the probability of forbidden tokens among the others.
    counted: Literal["before", "after", "renormalised"] = "before"
    ends: tuple[int, ...] = ()  # each of these tokens ends a translation; empty: the configuration's end token alone
    left_out: tuple[str, ...] = ()  # rules of the makers that we do not have: "do_sample = true"

    def options(self, named: dict[str, Any]) -> DecodingOptions:
        """The named options, and the defaults of the model for the rest."""
        defaults: dict[str, Any] = {
            name: getattr(self, name) for name in ("beam_size", "length_penalty", "max_length", "no_repeat")
        }
        if named.get("temperature") and "beam_size" not in named:
            defaults["beam_size"] = 1  # sampling and a beam exclude each other
        return DecodingOptions(**(defaults | named))

    def to_json(self) -> str:
        """All fields as indented JSON."""
        return json.dumps(dataclasses.asdict(self), indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str, *, origin: str = DEFAULTS_FILE) -> Self:
        """Read what `to_json` wrote."""
        try:
            values = {"ends": [], "left_out": []} | json.loads(text)  # younger than the others
            values["ends"] = tuple(int(token) for token in values["ends"])
            values["left_out"] = tuple(str(rule) for rule in values["left_out"])
            values["first"] = tuple(int(token) for token in values["first"])
            if values["never"] is not None:
                values["never"] = tuple(tuple(int(token) for token in run) for run in values["never"])
            if values["patience"] not in get_args(Patience) or values["counted"] not in SCORE_STAGES:
                raise ValueError("patience or counted has no such choice")
            if set(values) != {field.name for field in dataclasses.fields(cls)}:
                raise ValueError("a field is missing or unknown")
            defaults = cls(**values)
            defaults.options({})
        except (ValueError, KeyError, TypeError, RecursionError, RequestError) as error:
            raise CheckpointError(
                f"{origin} holds no sound generation defaults ({error}). Save or download it again."
            ) from error
        return defaults


SCORE_STAGES = ("before", "after", "renormalised")


def load_generation_defaults(folder: Path) -> GenerationDefaults:
    """Generation defaults of a model folder, or the library defaults."""
    path = folder / DEFAULTS_FILE
    return (
        GenerationDefaults.from_json(path.read_text(encoding="utf-8"), origin=str(path))
        if path.exists()
        else GenerationDefaults()
    )
