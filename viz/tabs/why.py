"""Why: one query and one key of one head, multiplied dimension by dimension, up to the weight after the softmax.

All numbers are the model's own: its probes bring home the queries, keys and scores of the one layer that is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import gradio as gr
import numpy as np

from headlight.model.records import AttentionMap, FloatArray, Kind, Translation
from headlight.viz.answers.service import Service
from headlight.viz.errors import PageError, shown
from headlight.viz.fields import selection_from
from headlight.viz.settings import Settings
from headlight.viz.tabs.drawn import drawn, look_from
from headlight.viz.wire.rpc import answering
from headlight.viz.wire.widget import widget

PROBES = ("queries", "keys", "scores")
WHERE: dict[Kind, str] = {  # where each kind of attention stands in the model
    "encoder": "encoder.layers.{layer}.self_attention",
    "decoder": "decoder.layers.{layer}.self_attention",
    "cross": "decoder.layers.{layer}.cross_attention",
}


@dataclass(frozen=True, eq=False)
class Evidence:
    """What one head computed, before the softmax and after."""

    queries: FloatArray  # [rows, width]
    keys: FloatArray  # [columns, width]
    scores: FloatArray  # [rows, columns]: before the softmax, also where the model may not look
    bias: FloatArray | None  # [rows, columns]: what positions add, where the model has such positions
    divisor: float  # √width, or 1 in models that don't divide
    map: AttentionMap


def build(service: Service) -> gr.HTML:
    """Inside a `gr.Blocks`."""
    return widget("why/why", server=[answering(pair_of(service))])


def pair_of(service: Service) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """The function that explains one weight."""

    def explain_pair(values: Mapping[str, Any]) -> dict[str, Any]:
        look = look_from(values)
        translation = service.translate(service.check(values.get("request")))
        kind, layer, head, row, column = cell(values, translation, service.settings)
        found = evidence(service, translation, kind, layer, head)
        query, key = found.queries[row], found.keys[column]
        bias = None if found.bias is None else float(found.bias[row, column])
        figure = drawn(
            "neurons",
            look,
            query,
            key,
            found.map.rows[row],
            found.map.columns[column],
            weight=float(found.map.weights[row, column]),
            bias=bias or 0.0,
            divisor=None if found.divisor > 1 else found.divisor,
        )
        return {
            "figure": figure,
            "query": _rounded(query),
            "key": _rounded(key),
            "sum": round(float((query * key).sum(dtype=np.float64)), 6),
            "scaled": found.divisor > 1,
            "bias": None if bias is None else round(bias, 6),
            "row": softmax_steps(found, row),
        }

    return explain_pair


def cell(values: Mapping[str, Any], translation: Translation, settings: Settings) -> tuple[Kind, int, int, int, int]:
    """Kind, layer, head, row and column of a single cell of this translation."""
    named = {name: values.get(name) for name in ("kind", "layer", "head", "row", "column")}
    chosen = selection_from(named, settings)
    layers, heads, rows, columns = translation.attention.of(chosen.kind).shape
    counts = {"layer": layers, "head": heads, "row": rows, "column": columns}
    whole = [_within(name, getattr(chosen, name), count) for name, count in counts.items()]
    return chosen.kind, whole[0], whole[1], whole[2], whole[3]


def evidence(service: Service, translation: Translation, kind: Kind, layer: int, head: int) -> Evidence:
    """Run the one pass over the finished translation again, with this layer's probes watched; the store keeps it."""
    place = WHERE[kind].format(layer=layer)
    names = {probe: f"{place}.{probe}" for probe in PROBES}
    written = tuple(token.id for token in translation.target_tokens)
    request = replace(translation.request, target=written, prefix=None, capture=tuple(names.values()))
    seen = service.translate(request).captured
    queries, keys, scores = (seen[names[probe]][head] for probe in PROBES)
    config = service.translator(translation.request.model).model.config
    added = None if kind == "cross" else translation.positions[kind]
    return Evidence(
        queries=queries,
        keys=keys,
        scores=scores,
        bias=added[head] if added is not None and added.ndim == 3 else None,  # other encodings are tables
        divisor=math.sqrt(queries.shape[-1]) if config.scale_scores else 1.0,
        map=translation.attention_map(kind, layer, head),
    )


def softmax_steps(found: Evidence, row: int) -> dict[str, Any]:
    """From the scores of a row to its weights: e to the power of each score, and its share in their sum.

    The largest score is taken away from all of them first, which changes no share and keeps every power below one.
    """
    scores, allowed = found.scores[row].astype(np.float64), found.map.allowed[row]
    powers = np.where(allowed, np.exp(np.where(allowed, scores - scores[allowed].max(), 0.0)), 0.0)
    return {
        "scores": _rounded(scores),
        "bias": None if found.bias is None else _rounded(found.bias[row]),
        "allowed": allowed.tolist(),
        "powers": _rounded(powers),
        "total": round(float(powers.sum()), 6),
        "weights": _rounded(found.map.weights[row]),
    }


def _rounded(numbers: Any) -> list[float]:
    return [round(float(number), 6) for number in numbers]


def _within(name: str, value: Any, count: int) -> int:
    if not isinstance(value, int) or value >= count:
        raise PageError(name, "not_whole", {"name": name, "low": 0, "high": count - 1, "given": shown(value)})
    return value
