"""Why tab: one row of a head, from products per dimension to weights and contributions to the residual stream.

All numbers come from the model: probes capture queries, keys and scores of one layer, and a trace of the run gives the
contribution of each key to the residual stream.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import gradio as gr
import numpy as np

from headlight.model.checkpoints.base64_arrays import encode_array
from headlight.model.experiments.queries import RowContributions, compute_row_contributions
from headlight.model.experiments.score_parts import (
    SIDES,
    Cell,
    ScorePart,
    ScoreParts,
    Side,
    score_parts,
    weight_without,
)
from headlight.model.records import AttentionMap, FloatArray, Kind, Translation
from headlight.viz.errors import PageError, repr_short
from headlight.viz.field_values import check_bool, check_choice
from headlight.viz.request_fields import parse_selection
from headlight.viz.server.calls import CallTable
from headlight.viz.server.widget import widget
from headlight.viz.service.service import Service
from headlight.viz.settings import Settings
from headlight.viz.token_labels import make_visible, truncate

PROBES = ("queries", "keys", "scores")
PATH_BY_KIND: dict[Kind, str] = {  # module path by kind of attention
    "encoder": "encoder.layers.{layer}.self_attention",
    "decoder": "decoder.layers.{layer}.self_attention",
    "cross": "decoder.layers.{layer}.cross_attention",
}
MAX_LINES = 40  # keys with a separate line; the weakest share one line unless all are requested
MAX_SCORE = 12.0  # exp(score) of a larger score has too many digits to read
MAX_MEASURED_PARTS = 3  # largest parts of a score, each left out in a separate run
MAX_READS = 5  # tokens listed for a part of a head
PROMOTED_COUNT = 4  # number of tokens that a head promotes most


@dataclass(frozen=True, eq=False)
class HeadComputation:
    """Values of one head before and after the softmax."""

    queries: FloatArray  # [rows, width]
    keys: FloatArray  # [columns, width]
    scores: FloatArray  # [rows, columns]: before the softmax, including masked positions
    bias: FloatArray | None  # [rows, columns]: position bias, if the model has one
    divisor: float  # √width, or 1 in models that don't divide
    map: AttentionMap


@dataclass(frozen=True)
class RowSelection:
    """A row of a head and its selected key."""

    kind: Kind
    layer: int
    head: int
    row: int
    column: int | None


def build(service: Service, calls: CallTable) -> gr.HTML:
    """Build the tab inside a `gr.Blocks`."""
    calls.add(make_row_call(service), make_stream_call(service), make_score_call(service), make_measure_call(service))
    return widget("why/why")


def make_row_call(service: Service) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Return the call `explain_row`: the computation of one row's weights."""

    def explain_row(values: Mapping[str, Any]) -> dict[str, Any]:
        translation = service.translate(service.check(values.get("request")))
        selection = parse_row_selection(values, translation, service.settings)
        result = compute_head(service, translation, selection.kind, selection.layer, selection.head)
        keys = visible_keys(
            result.map.weights[selection.row],
            selection.column,
            all_keys=check_bool("every", values.get("every", False)),
        )
        sums = (result.queries[selection.row].astype(np.float64) * result.keys).sum(axis=-1)
        return {
            "own": keys,
            "query": encode_array(result.queries[selection.row]),
            "keys": encode_array(result.keys[keys]),
            "divisor": round(result.divisor, 6) if result.divisor > 1 else None,
            "sums": _round(sums),
            **softmax_steps(result, selection.row),
        }

    return explain_row


def make_stream_call(service: Service) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Return the call `explain_stream`: each key's contribution to the residual stream and to the word's logit."""

    def explain_stream(values: Mapping[str, Any]) -> dict[str, Any]:
        translation = service.translate(service.check(values.get("request")))
        selection = parse_row_selection(values, translation, service.settings)
        weights = translation.attention_map(selection.kind, selection.layer, selection.head).weights[selection.row]
        keys = visible_keys(weights, selection.column, all_keys=check_bool("every", values.get("every", False)))
        other_keys = np.setdiff1d(np.arange(len(weights)), keys)
        name = translation.request.model
        result: RowContributions
        result = service.run_on_translator(
            name,
            compute_row_contributions,
            translation,
            selection.kind,
            selection.layer,
            selection.head,
            selection.row,
            PROMOTED_COUNT,
        )
        answer: dict[str, Any] = {
            "own": keys,
            "written": encode_array(result.outputs[keys]),
            "rest": encode_array(result.outputs[other_keys].sum(axis=0)) if other_keys.size else None,
            "total": encode_array(result.outputs.sum(axis=0)),
            "moved": None,
        }
        if result.logit_changes is not None:
            info = service.model_info(name)
            label = info.target_tokenizer.label
            answer["moved"] = _round(result.logit_changes)
            answer["moved_by_all"] = round(float(result.logit_changes.sum()), 6)
            answer["lifted"] = [
                [truncate(make_visible(label(token))), round(change, 4)] for token, change in result.promoted_tokens
            ]
            answer["vocabulary"] = info.model.config.target_vocabulary
        return answer

    return explain_stream


def make_score_call(service: Service) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Return the call `explain_score`: the parts of a cell's score, on the side of its key or of its query."""

    def explain_score(values: Mapping[str, Any]) -> dict[str, Any]:
        translation, cell, side = parse_cell(service, values)
        result = decompose_score(service, translation, cell, side)
        return {"score": round(result.score, 5), "parts": [part_values(part) for part in result.parts]}

    return explain_score


def make_measure_call(service: Service) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Return the call `measure_score`: a cell's weight, and the weight without each of the largest parts of its score.

    Each part takes one run of the model.
    """

    def measure_score(values: Mapping[str, Any]) -> dict[str, Any]:
        translation, cell, side = parse_cell(service, values)
        parts = [part for part in decompose_score(service, translation, cell, side).parts if part.writer != "biases"]
        largest_parts = parts[:MAX_MEASURED_PARTS]
        weight, *other_weights = service.run_on_translator(
            translation.request.model, weight_without, translation, cell, side, largest_parts
        )
        entries = [
            part_values(part) | {"without": round(other_weight, 6)}
            for part, other_weight in zip(largest_parts, other_weights, strict=True)
        ]
        return {"weight": round(weight, 6), "parts": entries}

    return measure_score


def decompose_score(service: Service, translation: Translation, cell: Cell, side: Side) -> ScoreParts:
    """Run `score_parts` on the translation's model."""
    result: ScoreParts = service.run_on_translator(translation.request.model, score_parts, translation, cell, side)
    return result


def part_values(part: ScorePart) -> dict[str, Any]:
    """Return a part for the browser, with the tokens that contribute most to it through its head: `[index, value]`."""
    order = sorted(range(len(part.reads)), key=lambda index: -abs(part.reads[index]))[:MAX_READS]
    return {
        "writer": part.writer,
        "kind": part.kind,
        "layer": part.layer,
        "head": part.head,
        "value": round(part.value, 5),
        "reads": [[index, round(part.reads[index], 5)] for index in order],
    }


def parse_cell(service: Service, values: Mapping[str, Any]) -> tuple[Translation, Cell, Side]:
    """Validate the requested cell, which must not be masked."""
    translation = service.translate(service.check(values.get("request")))
    selection = parse_row_selection(values, translation, service.settings)
    if selection.column is None:
        raise PageError("column", "wrong_field", {"name": "column"})
    if not translation.attention_map(selection.kind, selection.layer, selection.head).allowed[
        selection.row, selection.column
    ]:
        raise PageError("column", "masked_cell")
    side: Side = "query" if check_choice("side", values.get("side"), choices=SIDES) == "query" else "key"
    return translation, Cell(selection.kind, selection.layer, selection.head, selection.row, selection.column), side


def parse_row_selection(values: Mapping[str, Any], translation: Translation, settings: Settings) -> RowSelection:
    """Validate the requested row against this translation."""
    fields = {name: values.get(name) for name in ("kind", "layer", "head", "row", "column")}
    selection = parse_selection(fields, settings)
    layers, heads, rows, columns = translation.attention.of(selection.kind).shape
    counts = {"layer": layers, "head": heads, "row": rows}
    layer, head, row = (_check_index(name, getattr(selection, name), count) for name, count in counts.items())
    column = None if selection.column is None else _check_index("column", selection.column, columns)
    return RowSelection(selection.kind, layer, head, row, column)


def compute_head(service: Service, translation: Translation, kind: Kind, layer: int, head: int) -> HeadComputation:
    """Run a forward pass over the finished translation with this layer's probes; the result is cached."""
    path = PATH_BY_KIND[kind].format(layer=layer)
    names = {probe: f"{path}.{probe}" for probe in PROBES}
    target = tuple(token.id for token in translation.target_tokens)
    request = replace(translation.request, target=target, prefix=None, capture=tuple(names.values()))
    captured = service.translate(request).captured
    queries, keys, scores = (captured[names[probe]][head] for probe in PROBES)
    config = service.model_info(translation.request.model).model.config
    position_values = None if kind == "cross" else translation.positions[kind]
    return HeadComputation(
        queries=queries,
        keys=keys,
        scores=scores,
        bias=None if position_values is None else score_bias(position_values, layer, head),
        divisor=math.sqrt(queries.shape[-1]) if config.scale_scores else 1.0,
        map=translation.attention_map(kind, layer, head),
    )


def score_bias(position_values: FloatArray, layer: int, head: int) -> FloatArray | None:
    """Return the position bias on one head's scores, `[queries, keys]`; `None` if the encoding is a position table."""
    if position_values.ndim == 4:  # one bias per layer
        position_values = position_values[layer]
    return position_values[head] if position_values.ndim == 3 else None


def visible_keys(weights: FloatArray, selected: int | None, *, all_keys: bool) -> list[int]:
    """Return the keys with a separate line, in order: the selected key and those with the largest weights."""
    if all_keys or len(weights) <= MAX_LINES:
        return list(range(len(weights)))
    ranked = [int(index) for index in np.argsort(-weights, kind="stable") if index != selected]
    return sorted(([] if selected is None else [selected]) + ranked[: MAX_LINES - (selected is not None)])


def softmax_steps(computation: HeadComputation, row: int) -> dict[str, Any]:
    """Return the softmax of a row, step by step: exp(score), divided by the sum.

    If the powers would have too many or too few digits to read, the largest score (`shift`) is subtracted first, which
    leaves the weights unchanged.
    """
    scores, allowed = computation.scores[row].astype(np.float64), computation.map.allowed[row]
    largest = float(scores[allowed].max(initial=-np.inf))
    needs_shift = largest > MAX_SCORE or 0 < np.exp(scores[allowed]).sum() < 1
    shift = largest if needs_shift else 0.0
    powers = np.where(allowed, np.exp(np.where(allowed, scores - shift, 0.0)), 0.0)
    return {
        "scores": _round(scores),
        "bias": None if computation.bias is None else _round(computation.bias[row]),
        "allowed": allowed.tolist(),
        "shift": round(shift, 6),
        "powers": _round(powers),
        "total": round(float(powers.sum()), 6),
        "weights": _round(computation.map.weights[row]),
    }


def _round(numbers: Any) -> list[float]:
    return [round(float(number), 6) for number in numbers]


def _check_index(name: str, value: Any, count: int) -> int:
    if not isinstance(value, int) or value >= count:
        raise PageError(name, "not_whole", {"name": name, "low": 0, "high": count - 1, "given": repr_short(value)})
    return value
