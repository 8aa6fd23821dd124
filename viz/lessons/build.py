"""The lesson "Build it yourself": its data, which the page loads once, and the call that runs a completed line.

All numbers come from the weights in `assets/lesson/build.json`. The translator is so small that everything is computed
here, whatever the visitor's model is and wherever it runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from headlight.model.training.build_lesson import numbers
from headlight.model.training.build_lesson.expressions import LineError
from headlight.model.training.build_lesson.lesson_file import read_file
from headlight.model.training.build_lesson.lines import GAPS, HEAD, SIDES, Verdict, run_line, run_sides
from headlight.model.training.build_lesson.model import WAVELENGTH_BASE
from headlight.model.training.build_lesson.parts import STAGES
from headlight.model.training.build_lesson.printed import printed_numbers
from headlight.model.training.build_lesson.results import TranslatedSentence, VariantResult
from headlight.model.training.build_lesson.script import script_text
from headlight.model.training.build_lesson.sentences import END, MAIN_PAIR, PAIRS, SOURCE_WORDS, TARGET_WORDS
from headlight.viz.errors import PageError, repr_short
from headlight.viz.lessons.build_parts import BUILD_PARTS, BuildPart

ROW = 1  # index of the Chinese word whose row is calculated by hand
WRITTEN_ROW = MAIN_PAIR.target.index("you")  # index of the English row whose next word is predicted
DECIMALS = 6


def read_build(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the words, weights, intermediate results, parts and trained variants of the lesson."""
    return _build_values()


@cache
def _build_values() -> dict[str, Any]:
    return {
        "source_words": SOURCE_WORDS,
        "target_words": TARGET_WORDS,
        "source": MAIN_PAIR.source,
        "target": MAIN_PAIR.target,
        "head": HEAD,
        "row": ROW,
        "written_row": WRITTEN_ROW,
        "sentences": len(PAIRS),
        "positions": _to_lists(numbers.positions()),
        "wavelength_base": WAVELENGTH_BASE,
        "right_count": numbers.right_count(),
        "script": script_text(),
        "weights": {name: _to_lists(matrix) for name, matrix in numbers.matrices().items()},
        "trace": {name: _to_lists(tensor) for name, tensor in numbers.main_trace().items()},
        "printed": {name: _to_lists(array) for name, array in printed_numbers().items()},
        "parts": [_encode_part(part) for part in BUILD_PARTS],
        "stages": STAGES,
        "variants": {name: encode_variant(result) for name, result in read_file().results.items()},
        "rows_to_draw": [
            {
                "source": row.source,
                "read": row.read,
                "write": row.write,
                "head": row.head,
                "weights": [round(weight, DECIMALS) for weight in row.weights],
            }
            for row in numbers.rows_to_draw()
        ],
    }


def _to_lists(array: np.ndarray[Any, Any]) -> Any:
    return np.round(array.astype(float), DECIMALS).tolist()


def _encode_part(part: BuildPart) -> dict[str, Any]:
    candidates = [candidate.text for candidate in GAPS[part.name].candidates] if part.name in GAPS else []
    return {
        "name": part.name,
        "listing": part.listing,
        "candidates": candidates,
        "right": next((text for text in candidates if run_line(part.name, text).passes), ""),
        "stage": part.stage,
        "without": part.without,
        "large": part.large,
    }


def encode_variant(result: VariantResult) -> dict[str, Any]:
    """Return the results of a trained variant for the page."""
    return {
        "loss": result.loss,
        "right_count": result.right_count,
        "main": _encode_sentence(result.main),
        "failing": None if result.failing is None else _encode_sentence(result.failing),
        "fails_at_median": result.fails_at_median,
        "starts": result.starts,
        "perfect_starts": result.perfect_starts,
        "lowest_loss": result.lowest_loss,
        "highest_loss": result.highest_loss,
    }


def _encode_sentence(sentence: TranslatedSentence) -> dict[str, Any]:
    has_end = sentence.output[-1:] == (END,)
    words = sentence.output[:-1] if has_end else sentence.output
    return {"source": sentence.source, "expected": sentence.expected, "written": words, "ended": has_end}


def run_build_line(values: Mapping[str, Any]) -> dict[str, Any]:
    """Fill the gap of a part with a line, or cross-attention with selected inputs, and run the part's test."""
    if values.get("part") == "cross":
        return encode_verdict(run_sides(check_sides(values.get("sides"))))
    part, text = check_part(values.get("part")), values.get("text")
    if not isinstance(text, str):
        raise PageError("text", "wrong_type", {"name": "text", "given": repr_short(text), "needed": '"q @ k"'})
    try:
        return encode_verdict(run_line(part, text))
    except LineError as error:
        return {"text": text, "passes": False, "unread": {"reason": error.reason, "given": error.text}}


def check_part(part: Any) -> str:
    """Return the name of a part with a gap. Raise a `PageError` for another name."""
    if not isinstance(part, str) or part not in GAPS:
        choices = ", ".join([*GAPS, "cross"])
        raise PageError("part", "unknown_name", {"given": repr_short(part), "choices": choices})
    return part


def check_sides(sides: Any) -> dict[str, str]:
    """Validate the inputs of query, key and value in cross-attention: decoder states `y` or encoder memory `m`."""
    is_valid = isinstance(sides, dict) and set(sides) == set("qkv")
    if not is_valid or any(not isinstance(side, str) or side not in SIDES for side in sides.values()):
        raise PageError("sides", "not_names", {"given": repr_short(sides), "example": '{"q": "y", "k": "m", "v": "m"}'})
    return dict(sides)


def encode_verdict(verdict: Verdict) -> dict[str, Any]:
    """Return the result of a line that ran for the page."""
    failure = verdict.failure
    return {
        "text": verdict.text,
        "passes": verdict.passes,
        "error": verdict.error,
        "failure": None if failure is None else {"word": failure.word, "values": dict(failure.values)},
        "variant": verdict.variant,
    }
