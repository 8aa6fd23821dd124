"""Roles of all heads over many sentences and their stability, stored as `roles.json`.

    {"weights": "31920fe6…", "corpus": "mini.tsv", "sentences": 200, "measures": ["entropy", …],
     "texts": {"17": "Der Hund …"},
     "heads": {"encoder": [[{"role": "previous", "share": 0.61, "held": 0.84, "means": […], "spreads": […],
                             "examples": [17, 4, 90]}, …], …], "decoder": …, "cross": …}}

`heads[kind][layer][head]`; `means` and `spreads` (standard deviations between sentences) are in the order of
`measures`. Both are taken over those of the `sentences` in which the measure says something (of punctuation: the ones
that have some), and are null where it never does. `role` is that of the mean shares, `share` what goes with it, and
`held` the share of sentences in which the head alone has this role. `examples` are the three sentences in which
it does so most: of an unclear head, those in which it comes closest to a role. Their numbers count the sentences of
the corpus that were measured, and `texts` holds these examples alone.
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
EXAMPLES = 3
BATCH = 32  # sentences


def head_roles(
    translator: Translator, texts: Sequence[str], corpus: str, on_progress: Callable[[int], None] | None = None
) -> dict[str, Any]:
    """The values of `roles.json` for these sentences."""
    if not texts:
        raise CommandError("There are no sentences to measure. Name a file with some.")
    parts = []
    for start in range(0, len(texts), BATCH):
        batch = [SurveyLine(start + place, text) for place, text in enumerate(texts[start : start + BATCH])]
        result = survey_batch(translator, batch, (*STATISTICS, "roles"))
        refused = [text for text in result.sentences["refused"] if text]
        if refused:
            raise CommandError(f"A sentence cannot be measured: {refused[0]}")
        parts.append(result.heads)
        if on_progress:
            on_progress(len(batch))
    table: Columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    heads = {kind: _of_kind(table, kind, len(texts)) for kind in KINDS}
    used = {number for layers in heads.values() for layer in layers for head in layer for number in head["examples"]}
    return {
        "corpus": corpus,
        "sentences": len(texts),
        "measures": list(STATISTICS),
        "texts": {str(number): texts[number] for number in sorted(used)},
        "heads": heads,
    }


def to_json(values: dict[str, Any]) -> str:
    """One line per head, so that diffs are readable."""
    rows = [
        json.dumps(kind)
        + ": [\n  "
        + ",\n  ".join(
            "[\n   " + ",\n   ".join(json.dumps(head, ensure_ascii=False) for head in layer) + "]" for layer in layers
        )
        + "]"
        for kind, layers in values["heads"].items()
    ]
    others = [
        f"{json.dumps(name)}: {json.dumps(values[name], ensure_ascii=False)}" for name in values if name != "heads"
    ]
    return "{\n " + ",\n ".join([*others, '"heads": {\n ' + ",\n ".join(rows) + "}"]) + "}\n"


def read_roles(folder: Path) -> dict[str, Any] | None:
    """The stored roles of these weights in a model's folder, or None."""
    return reports.read_report(folder, ROLES_FILE)


def _of_kind(table: Columns, kind: Kind, sentences: int) -> list[list[dict[str, Any]]]:
    rows = table["kind"] == kind
    layers, heads = int(table["layer"][rows].max()) + 1, int(table["head"][rows].max()) + 1

    def values(name: str) -> Any:
        """`[sentence, layer, head]`."""
        return np.asarray(table[name][rows]).reshape(sentences, layers, heads)

    shares = np.stack([values(f"role_{name}") for name in ROLES[kind]], axis=-1)  # [sentence, layer, head, role]
    chances = np.stack([values(f"chance_{name}") for name in ROLES[kind]], axis=-1)[:, 0, 0]  # [sentence, role]
    names, value = assign_roles(kind, _mean(shares), _mean(chances), _mean(values("coverage")))
    held = (values("role") == names).mean(axis=0)  # [layer, head]
    means = np.stack([_mean(values(name)) for name in STATISTICS], axis=-1)  # [layer, head, measure]
    spreads = np.stack([_deviation(values(name)) for name in STATISTICS], axis=-1)
    return [
        [
            {
                "role": str(names[layer, head]),
                "share": round(float(value[layer, head]), 3),
                "held": round(float(held[layer, head]), 3),
                "means": _rounded(means[layer, head]),
                "spreads": _rounded(spreads[layer, head]),
                "examples": _top_sentences(_role_shares(kind, str(names[layer, head]), shares, values)[:, layer, head]),
            }
            for head in range(heads)
        ]
        for layer in range(layers)
    ]


def _role_shares(kind: Kind, role: str, shares: FloatArray, values: Callable[[str], Any]) -> Any:
    """How much each head does this role in each sentence, `[sentence, layer, head]`."""
    if role in ROLES[kind]:
        return shares[..., ROLES[kind].index(role)]
    return values("coverage" if role == "spreads" else "share")


def _top_sentences(values: FloatArray) -> list[int]:
    """The numbers of the sentences with the highest values; of equal ones, the first."""
    order = np.argsort(-np.nan_to_num(values, nan=-1.0), kind="stable")
    return [int(number) for number in order[:EXAMPLES]]


def _mean(values: FloatArray) -> FloatArray:
    """Mean over the sentences that have the value, or NaN."""
    has = ~np.isnan(values)
    count = has.sum(axis=0)
    total = np.where(has, values, 0).sum(axis=0, dtype=np.float64)
    result: FloatArray = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return result


def _deviation(values: FloatArray) -> FloatArray:
    result: FloatArray = np.sqrt(_mean((values - _mean(values)) ** 2))
    return result


def _rounded(values: FloatArray) -> list[float | None]:
    return [None if np.isnan(each) else round(float(each), 3) for each in values]
