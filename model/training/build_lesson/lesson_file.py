"""The file with the weights and results of the lesson's models: `assets/lesson/build.json`.

`python -m workshop.build_lesson` creates it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch

from headlight.model.training.build_lesson.model import Weights
from headlight.model.training.build_lesson.parts import VARIANTS
from headlight.model.training.build_lesson.results import TranslatedSentence, VariantResult, measure
from headlight.model.training.build_lesson.trained import TrainedVariant

FILE = Path(__file__).resolve().parents[3] / "assets" / "lesson" / "build.json"
DECIMALS = 4


@dataclass(frozen=True)
class LessonFile:
    """The finished model, the share of right translations per start, and the variants with their results."""

    final: Weights
    final_right_shares: tuple[float, ...]
    variants: Mapping[str, TrainedVariant]
    results: Mapping[str, VariantResult]


def file_text(final: Weights, final_right_shares: Sequence[float], variants: Mapping[str, TrainedVariant]) -> str:
    """Return the text of the file, with results that are computed from the rounded weights."""
    rounded = {name: _parse_variant(_variant_to_json(variant)) for name, variant in variants.items()}
    values = {
        "final": {"right_shares": _round_numbers(final_right_shares), "weights": _weights_to_json(final)},
        "variants": {
            name: _variant_to_json(variant) | {"result": _round_numbers(asdict(measure(VARIANTS[name], variant)))}
            for name, variant in rounded.items()
        },
    }
    return json.dumps(values, ensure_ascii=False, separators=(",", ":")) + "\n"


def _variant_to_json(variant: TrainedVariant) -> dict[str, Any]:
    failing = None if variant.failing_weights is None else _weights_to_json(variant.failing_weights)
    return {
        "losses": _round_numbers(variant.losses),
        "right_shares": _round_numbers(variant.right_shares),
        "median_start": variant.median_start,
        "weights": _weights_to_json(variant.weights),
        "failing_start": variant.failing_start,
        "failing_weights": failing,
        "curve": _round_numbers(variant.curve),
    }


def _weights_to_json(weights: Weights) -> dict[str, Any]:
    return {name: _round_numbers(weight[0].tolist()) for name, weight in weights.items()}


def _round_numbers(value: Any) -> Any:
    """Round all floats in nested lists and mappings."""
    if isinstance(value, Mapping):
        return {name: _round_numbers(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_round_numbers(item) for item in value]
    return round(value, DECIMALS) if isinstance(value, float) else value


@cache
def read_file(path: Path = FILE) -> LessonFile:
    """Read and parse the file."""
    values = json.loads(path.read_text(encoding="utf-8"))
    entries = values["variants"]
    return LessonFile(
        final=_parse_weights(values["final"]["weights"]),
        final_right_shares=tuple(values["final"]["right_shares"]),
        variants={name: _parse_variant(entry) for name, entry in entries.items()},
        results={name: _parse_result(entry["result"]) for name, entry in entries.items()},
    )


def _parse_variant(entry: Mapping[str, Any]) -> TrainedVariant:
    failing = entry["failing_weights"]
    return TrainedVariant(
        losses=tuple(entry["losses"]),
        right_shares=tuple(entry["right_shares"]),
        median_start=entry["median_start"],
        weights=_parse_weights(entry["weights"]),
        failing_start=entry["failing_start"],
        failing_weights=None if failing is None else _parse_weights(failing),
        curve=tuple((step, loss) for step, loss in entry["curve"]),
    )


def _parse_result(entry: Mapping[str, Any]) -> VariantResult:
    failing = None if entry["failing"] is None else _parse_sentence(entry["failing"])
    return VariantResult(**{**entry, "main": _parse_sentence(entry["main"]), "failing": failing})


def _parse_sentence(entry: Mapping[str, Any]) -> TranslatedSentence:
    return TranslatedSentence(entry["source"], tuple(entry["expected"]), tuple(entry["output"]))


def _parse_weights(values: Mapping[str, list[list[float]]]) -> Weights:
    return {name: torch.tensor(matrix)[None] for name, matrix in values.items()}
