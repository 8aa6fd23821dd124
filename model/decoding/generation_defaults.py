"""Generation defaults of a model: values of options that a request omits, and rules that always apply.

Third-party folders store them in `generation_config.json`, Headlight folders in `habits.json`. Without `habits.json`,
the library defaults apply: greedy search, and log probabilities from before the rules.
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
# A full beam stops at once ("none"), or when no unfinished hypothesis would score better if it ended now ("bound"), or
# when none could score better at any length up to the limit ("longest").
Patience = Literal["bound", "none", "longest"]


@dataclass(frozen=True, kw_only=True)
class GenerationDefaults:
    """Default values of options, and rules that apply to every request."""

    beam_size: int = 1
    length_penalty: float = 1.0
    max_length: int | None = None  # maximum number of target tokens, including the end token
    no_repeat: int = 0

    # Token sequences that are never generated. None: padding and the start token.
    never: tuple[tuple[int, ...], ...] | None = None
    least_length: int = 0  # minimum number of tokens before the end token
    first: tuple[int, ...] = ()  # first tokens of every translation
    forced_end: int | None = None  # last token if the length limit is reached
    patience: Patience = "bound"
    ended_first: bool = True  # finished hypotheses rank before truncated ones, regardless of score
    # Log probabilities that are summed: those before the rules, or after them, where a forced token costs nothing.
    # "renormalised": after the rules, with the probability of forbidden tokens distributed over the allowed ones.
    counted: Literal["before", "after", "renormalised"] = "before"
    ends: tuple[int, ...] = ()  # tokens that end a translation; empty: only the configuration's end token
    left_out: tuple[str, ...] = ()  # unsupported rules of a third-party folder, such as "do_sample = true"

    def options(self, request_options: dict[str, Any]) -> DecodingOptions:
        """Return the options of a request, completed by the model's defaults."""
        defaults: dict[str, Any] = {
            name: getattr(self, name) for name in ("beam_size", "length_penalty", "max_length", "no_repeat")
        }
        if request_options.get("temperature") and "beam_size" not in request_options:
            defaults["beam_size"] = 1  # sampling and a beam exclude each other
        return DecodingOptions(**(defaults | request_options))

    def to_json(self) -> str:
        """Return all fields as indented JSON."""
        return json.dumps(dataclasses.asdict(self), indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str, *, origin: str = DEFAULTS_FILE) -> Self:
        """Parse the output of `to_json`."""
        try:
            values = {"ends": [], "left_out": []} | json.loads(text)  # older files lack these fields
            values["ends"] = tuple(int(token) for token in values["ends"])
            values["left_out"] = tuple(str(rule) for rule in values["left_out"])
            values["first"] = tuple(int(token) for token in values["first"])
            if values["never"] is not None:
                values["never"] = tuple(tuple(int(token) for token in sequence) for sequence in values["never"])
            if values["patience"] not in get_args(Patience) or values["counted"] not in SCORE_STAGES:
                raise ValueError("patience or counted has an unknown value")
            if set(values) != {field.name for field in dataclasses.fields(cls)}:
                raise ValueError("a field is missing or unknown")
            defaults = cls(**values)
            defaults.options({})
        except (ValueError, KeyError, TypeError, RecursionError, RequestError) as error:
            raise CheckpointError(
                f"{origin} does not contain valid generation defaults ({error}). Save or download it again."
            ) from error
        return defaults


SCORE_STAGES = ("before", "after", "renormalised")


def load_generation_defaults(folder: Path) -> GenerationDefaults:
    """Load the generation defaults of a model folder; without a file, return the library defaults."""
    path = folder / DEFAULTS_FILE
    return (
        GenerationDefaults.from_json(path.read_text(encoding="utf-8"), origin=str(path))
        if path.exists()
        else GenerationDefaults()
    )
