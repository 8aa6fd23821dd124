"""Roles of all heads over many sentences and their stability, stored as `roles.json`.

    {"weights": "31920fe6…", "corpus": "mini.tsv", "sentences": 200, "measures": ["entropy", …],
     "texts": {"17": "Der Hund …"},
     "heads": {"encoder": [[{"role": "previous", "share": 0.61, "held": 0.84, "means": […], "spreads": […],
                             "examples": [17, 4, 90]}, …], …], "decoder": …, "cross": …}}

Heads are indexed as `heads[kind][layer][head]`. `means` and `spreads` (standard deviations between sentences) are in
the order of `measures`. Both skip sentences in which the measure is undefined (punctuation measures need punctuation),
and are null if it is undefined in all sentences. `role` follows from the mean shares, and `share` is the share of this
role. `held` is the share of sentences in which the head has this role. `examples` are the indices of the sentences with
the three highest shares; for a head without a clear role, of those in which it is closest to a role. `texts` contains
only these sentences.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from headlight.model.checkpoints import reports
from headlight.model.errors import CommandError
from headlight.model.experiments.survey import Columns, SurveyLine, survey_batch
from headlight.model.measures.roles import ROLES, assign_roles
from headlight.model.measures.statistics import STATISTICS
from headlight.model.records import KINDS, FloatArray, Kind
from headlight.model.translate.translator import Translator

ROLES_FILE = reports.ROLES
MAX_EXAMPLES = 3  # sentences per head
BATCH = 32  # sentences


def head_roles(
    translator: Translator, texts: Sequence[str], corpus: str, on_progress: Callable[[int], None] | None = None
) -> dict[str, Any]:
    """Measure these sentences, and return the values of `roles.json`. `corpus`: name of their file."""
    if not texts:
        raise CommandError("There are no sentences to measure. Name a file with some.")
    parts = []
    for start in range(0, len(texts), BATCH):
        batch = [SurveyLine(start + offset, text) for offset, text in enumerate(texts[start : start + BATCH])]
        result = survey_batch(translator, batch, (*STATISTICS, "roles"))
        errors = [text for text in result.sentences["refused"] if text]
        if errors:
            raise CommandError(f"A sentence cannot be measured: {errors[0]}")
        parts.append(result.heads)
        if on_progress:
            on_progress(len(batch))
    table: Columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    heads = {kind: _head_entries(table, kind, len(texts)) for kind in KINDS}
    example_numbers = {
        number for layers in heads.values() for layer in layers for head in layer for number in head["examples"]
    }
    return {
        "corpus": corpus,
        "sentences": len(texts),
        "measures": list(STATISTICS),
        "texts": {str(number): texts[number] for number in sorted(example_numbers)},
        "heads": heads,
    }


def to_json(values: dict[str, Any]) -> str:
    """Serialise with one line per head, so that diffs are readable."""
    rows = [
        json.dumps(kind)
        + ": [\n  "
        + ",\n  ".join(
            "[\n   " + ",\n   ".join(json.dumps(head, ensure_ascii=False) for head in layer) + "]" for layer in layers
        )
        + "]"
        for kind, layers in values["heads"].items()
    ]
    fields = [
        f"{json.dumps(name)}: {json.dumps(values[name], ensure_ascii=False)}" for name in values if name != "heads"
    ]
    return "{\n " + ",\n ".join([*fields, '"heads": {\n ' + ",\n ".join(rows) + "}"]) + "}\n"


def read_roles(folder: Path) -> dict[str, Any] | None:
    """Return the roles in a model's folder, or None if there are none for its weights."""
    return reports.read_report(folder, ROLES_FILE)


def _head_entries(table: Columns, kind: Kind, sentences: int) -> list[list[dict[str, Any]]]:
    rows = table["kind"] == kind
    layers, heads = int(table["layer"][rows].max()) + 1, int(table["head"][rows].max()) + 1

    def values(name: str) -> Any:
        """Return a column as `[sentence, layer, head]`."""
        return np.asarray(table[name][rows]).reshape(sentences, layers, heads)

    shares = np.stack([values(f"role_{name}") for name in ROLES[kind]], axis=-1)  # [sentence, layer, head, role]
    chances = np.stack([values(f"chance_{name}") for name in ROLES[kind]], axis=-1)[:, 0, 0]  # [sentence, role]
    names, role_shares = assign_roles(kind, _mean(shares), _mean(chances), _mean(values("coverage")))
    stability = (values("role") == names).mean(axis=0)  # [layer, head]
    means = np.stack([_mean(values(name)) for name in STATISTICS], axis=-1)  # [layer, head, measure]
    spreads = np.stack([_compute_std(values(name)) for name in STATISTICS], axis=-1)
    return [
        [
            {
                "role": str(names[layer, head]),
                "share": round(float(role_shares[layer, head]), 3),
                "held": round(float(stability[layer, head]), 3),
                "means": _round(means[layer, head]),
                "spreads": _round(spreads[layer, head]),
                "examples": _find_top_sentences(
                    _compute_role_shares(kind, str(names[layer, head]), shares, values)[:, layer, head]
                ),
            }
            for head in range(heads)
        ]
        for layer in range(layers)
    ]


def _compute_role_shares(kind: Kind, role: str, shares: FloatArray, values: Callable[[str], Any]) -> Any:
    """Return each head's share of a role in each sentence, `[sentence, layer, head]`."""
    if role in ROLES[kind]:
        return shares[..., ROLES[kind].index(role)]
    return values("coverage" if role == "spreads" else "share")


def _find_top_sentences(values: FloatArray) -> list[int]:
    """Return the indices of the sentences with the highest values; ties go to the first sentence."""
    order = np.argsort(-np.nan_to_num(values, nan=-1.0), kind="stable")
    return [int(number) for number in order[:MAX_EXAMPLES]]


def _mean(values: FloatArray) -> FloatArray:
    """Return the mean over the sentences that have the value, or NaN."""
    present = ~np.isnan(values)
    count = present.sum(axis=0)
    total = np.where(present, values, 0).sum(axis=0, dtype=np.float64)
    result: FloatArray = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return result


def _compute_std(values: FloatArray) -> FloatArray:
    result: FloatArray = np.sqrt(_mean((values - _mean(values)) ** 2))
    return result


def _round(values: FloatArray) -> list[float | None]:
    return [None if np.isnan(number) else round(float(number), 3) for number in values]
