"""Why: one row of one head, every key multiplied dimension by dimension, up to the weights and to what they write.

All numbers are the model's own: its probes bring home the queries, keys and scores of the one layer that is asked for,
and a trace of the whole run brings what each key adds to the stream.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import gradio as gr
import numpy as np

from headlight.model.experiments.asked import RowMoves, moves_of_row
from headlight.model.folders.packed import packed
from headlight.model.records import AttentionMap, FloatArray, Kind, Translation
from headlight.viz.answers.service import Service
from headlight.viz.errors import PageError, shown
from headlight.viz.fields import selection_from
from headlight.viz.labels import shorten, visible
from headlight.viz.settings import Settings
from headlight.viz.values import check_switch
from headlight.viz.wire.rpc import answering
from headlight.viz.wire.widget import widget

PROBES = ("queries", "keys", "scores")
WHERE: dict[Kind, str] = {  # where each kind of attention stands in the model
    "encoder": "encoder.layers.{layer}.self_attention",
    "decoder": "decoder.layers.{layer}.self_attention",
    "cross": "decoder.layers.{layer}.cross_attention",
}
MOST_LINES = 40  # keys with a line of their own; of more, the weakest share one until all are asked for
LARGEST = 12.0  # of a score: beyond it its power has too many digits to be read
LIFTED = 4  # tokens that a head pushes up most


@dataclass(frozen=True, eq=False)
class Evidence:
    """What one head computed, before the softmax and after."""

    queries: FloatArray  # [rows, width]
    keys: FloatArray  # [columns, width]
    scores: FloatArray  # [rows, columns]: before the softmax, also where the model may not look
    bias: FloatArray | None  # [rows, columns]: what positions add, where the model has such positions
    divisor: float  # √width, or 1 in models that don't divide
    map: AttentionMap


@dataclass(frozen=True)
class Place:
    """A row of a head, and the key that is looked at there."""

    kind: Kind
    layer: int
    head: int
    row: int
    column: int | None


def build(service: Service) -> gr.HTML:
    """Inside a `gr.Blocks`."""
    return widget("why/why", server=[answering(row_of(service)), answering(stream_of(service))])


def row_of(service: Service) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """The function that explains the weights of one row."""

    def explain_row(values: Mapping[str, Any]) -> dict[str, Any]:
        translation = service.translate(service.check(values.get("request")))
        at = place_of(values, translation, service.settings)
        found = evidence(service, translation, at.kind, at.layer, at.head)
        own = own_lines(found.map.weights[at.row], at.column, every=check_switch("every", values.get("every", False)))
        sums = (found.queries[at.row].astype(np.float64) * found.keys).sum(axis=-1)
        return {
            "own": own,
            "query": packed(found.queries[at.row]),
            "keys": packed(found.keys[own]),
            "divisor": round(found.divisor, 6) if found.divisor > 1 else None,
            "sums": _rounded(sums),
            **softmax_steps(found, at.row),
        }

    return explain_row


def stream_of(service: Service) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """The function that tells what each key writes into the stream, and how far that moves the word's logit."""

    def explain_stream(values: Mapping[str, Any]) -> dict[str, Any]:
        translation = service.translate(service.check(values.get("request")))
        at = place_of(values, translation, service.settings)
        weights = translation.attention_map(at.kind, at.layer, at.head).weights[at.row]
        own = own_lines(weights, at.column, every=check_switch("every", values.get("every", False)))
        rest = np.setdiff1d(np.arange(len(weights)), own)
        name = translation.request.model
        found: RowMoves
        found = service.run(name, moves_of_row, translation, at.kind, at.layer, at.head, at.row, LIFTED)
        answer: dict[str, Any] = {
            "own": own,
            "written": packed(found.written[own]),
            "rest": packed(found.written[rest].sum(axis=0)) if rest.size else None,
            "total": packed(found.written.sum(axis=0)),
            "moved": None,
        }
        if found.moved is not None:
            outline = service.outline(name)
            label = outline.target_tokenizer.label
            answer["moved"] = _rounded(found.moved)
            answer["moved_by_all"] = round(float(found.moved.sum()), 6)
            answer["lifted"] = [[shorten(visible(label(token))), round(by, 4)] for token, by in found.lifted]
            answer["vocabulary"] = outline.model.config.target_vocabulary
        return answer

    return explain_stream


def place_of(values: Mapping[str, Any], translation: Translation, settings: Settings) -> Place:
    """The row of this translation that is asked about."""
    named = {name: values.get(name) for name in ("kind", "layer", "head", "row", "column")}
    chosen = selection_from(named, settings)
    layers, heads, rows, columns = translation.attention.of(chosen.kind).shape
    counts = {"layer": layers, "head": heads, "row": rows}
    layer, head, row = (_within(name, getattr(chosen, name), count) for name, count in counts.items())
    column = None if chosen.column is None else _within("column", chosen.column, columns)
    return Place(chosen.kind, layer, head, row, column)


def evidence(service: Service, translation: Translation, kind: Kind, layer: int, head: int) -> Evidence:
    """Run the one pass over the finished translation again, with this layer's probes watched; the store keeps it."""
    place = WHERE[kind].format(layer=layer)
    names = {probe: f"{place}.{probe}" for probe in PROBES}
    written = tuple(token.id for token in translation.target_tokens)
    request = replace(translation.request, target=written, prefix=None, capture=tuple(names.values()))
    seen = service.translate(request).captured
    queries, keys, scores = (seen[names[probe]][head] for probe in PROBES)
    config = service.outline(translation.request.model).model.config
    added = None if kind == "cross" else translation.positions[kind]
    return Evidence(
        queries=queries,
        keys=keys,
        scores=scores,
        bias=None if added is None else bias_of(added, layer, head),
        divisor=math.sqrt(queries.shape[-1]) if config.scale_scores else 1.0,
        map=translation.attention_map(kind, layer, head),
    )


def bias_of(added: FloatArray, layer: int, head: int) -> FloatArray | None:
    """What an encoding adds to one head's scores, `[queries, keys]`; None where it is a table of positions."""
    if added.ndim == 4:  # each layer has its own
        added = added[layer]
    return added[head] if added.ndim == 3 else None


def own_lines(weights: FloatArray, chosen: int | None, *, every: bool) -> list[int]:
    """The keys that have a line of their own, in their order: the chosen one, and those with most weight."""
    if every or len(weights) <= MOST_LINES:
        return list(range(len(weights)))
    ranked = [int(place) for place in np.argsort(-weights, kind="stable") if place != chosen]
    return sorted(([] if chosen is None else [chosen]) + ranked[: MOST_LINES - (chosen is not None)])


def softmax_steps(found: Evidence, row: int) -> dict[str, Any]:
    """From the scores of a row to its weights: e to the power of each score, and its share in their sum.

    Where the powers would have too many digits, or too few, the largest score is taken away from all of them first
    (`shift`), which changes no share.
    """
    scores, allowed = found.scores[row].astype(np.float64), found.map.allowed[row]
    largest = float(scores[allowed].max(initial=-np.inf))
    far = largest > LARGEST or 0 < np.exp(scores[allowed]).sum() < 1
    shift = largest if far else 0.0
    powers = np.where(allowed, np.exp(np.where(allowed, scores - shift, 0.0)), 0.0)
    return {
        "scores": _rounded(scores),
        "bias": None if found.bias is None else _rounded(found.bias[row]),
        "allowed": allowed.tolist(),
        "shift": round(shift, 6),
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
