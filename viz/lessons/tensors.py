"""The tensors of a step, computed by the live model for the visitor's sentence.

One pass over the finished translation records the named probes. The answer cache stores the result, and equal
requests share one pass. Four tensors have no probe and are computed from probes with the model's weights: the summed
output of all heads of an attention (`…attention.attended`), the output of a norm (`around_….normed`), the encoder
output that the decoder attends to (`encoder.memory`), and the decoder's output (`decoder.final`). `PATH.weight` and
`PATH.bias` are parameters of the model; `PATH.weight[3]` is one row of them, the column 3 of W in x·W. Logits are sent
as a summary: the best tokens and a histogram of each row.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from headlight.model.checkpoints.base64_arrays import encode_array
from headlight.model.core.probes import all_probes
from headlight.model.experiments.queries import apply_norm, apply_output_projection, get_parameter_rows
from headlight.model.records import FloatArray, Translation
from headlight.model.translate.model_info import ModelInfo
from headlight.viz.errors import PageError, repr_short
from headlight.viz.service.backend import RemoteFunction
from headlight.viz.service.service import Service
from headlight.viz.token_labels import candidate_label

MAX_NAMES = 40  # per request; the deepest shipped model has 17 stream stages
MAX_NUMBERS = 4_000_000  # per answer: 16 MB
MAX_CAPTURED = 16_000_000  # numbers per pass; larger than an answer, because logits are sent as a summary
LOGITS, BEST_COUNT, HISTOGRAM_BINS = "decoder.output.logits", 6, 48
OUTPUT_PROJECTED, NORMED, MEMORY, FINAL = "attended", "normed", "encoder.memory", "decoder.final"
PARAMETER = re.compile(r"((?:encoder|decoder)\.[\w.]+\.(?:weight|bias))(?:\[(\d{1,7})\])?")


def make_tensors_call(service: Service) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Return the call `lesson_tensors`, which computes the named tensors of a sentence."""

    def lesson_tensors(values: Mapping[str, Any]) -> dict[str, Any]:
        request = service.check(values.get("request"))
        info = service.model_info(request.model)
        names = check_names(values.get("names"), info)
        translation = service.translate(request)
        if estimate_size(names, translation, info) > MAX_CAPTURED:
            raise PageError("text", "too_long_to_show")
        captured = capture(service, translation, info, names)
        results = {name: _compute_tensor(name, captured, service, info) for name in names if name != LOGITS}
        if sum(tensor.size for tensor in results.values()) > MAX_NUMBERS:
            raise PageError("text", "too_long_to_show")
        answer: dict[str, Any] = {
            "model": model_values(info),
            "tensors": {name: encode_array(tensor) for name, tensor in results.items()},
        }
        if LOGITS in names:
            answer["logits"] = [_summarise_logits(row, info) for row in captured[LOGITS]]
        return answer

    return lesson_tensors


def check_names(names: Any, info: ModelInfo) -> tuple[str, ...]:
    """Return the names without duplicates. Raise a `PageError` for a tensor that the model does not have."""
    probes, parameters = all_probes(info.model), list_parameter_shapes(info)
    if not isinstance(names, list) or not 0 < len(names) <= MAX_NAMES:
        raise PageError("names", "not_names", {"given": repr_short(names), "example": '["encoder.embedding.embedded"]'})
    for name in names:
        parameter = split_parameter(name) if isinstance(name, str) else None
        if parameter and parameter[0] in parameters and (parameter[1] or 0) < parameters[parameter[0]][0]:
            continue
        if not isinstance(name, str) or parameter or not set(list_required_probes(name, info)) <= set(probes):
            raise PageError("names", "unknown_name", {"given": repr_short(name), "choices": "encoder.*, decoder.*"})
    return tuple(dict.fromkeys(names))


def split_parameter(name: str) -> tuple[str, int | None] | None:
    """Split a name into the path of a parameter and its row; None if it is not the name of a parameter."""
    match = PARAMETER.fullmatch(name)
    return (match[1], int(match[2]) if match[2] else None) if match else None


def list_parameter_shapes(info: ModelInfo) -> dict[str, tuple[int, ...]]:
    """Return the shapes of all parameters, by path. A tied parameter has several paths."""
    return {path: tuple(value.shape) for path, value in info.model.named_parameters(remove_duplicate=False)}


def list_required_probes(name: str, info: ModelInfo) -> tuple[str, ...]:
    """Return the probes that a tensor is read or computed from; none for a parameter."""
    if split_parameter(name):
        return ()
    config = info.model.config
    if name in (MEMORY, FINAL):
        side, count = ("encoder", config.encoder_layers) if name == MEMORY else ("decoder", config.decoder_layers)
        return (f"{side}.layers.{count - 1}.around_feed_forward.stream",)
    parent, _, last = name.rpartition(".")
    if last == OUTPUT_PROJECTED:
        return (f"{parent}.mixed",)
    if last == NORMED:
        return (f"{parent}.carried", f"{parent}.stream")
    return (name,)


def estimate_size(names: Sequence[str], translation: Translation, info: ModelInfo) -> int:
    """Count the numbers in the probes behind these names, before the pass runs."""
    config = info.model.config
    tokens = max(len(translation.source_tokens), len(translation.target_tokens))
    width = max(config.d_model, config.d_ff)
    sizes = {
        "heads": config.heads, "queries": tokens, "keys": tokens, "tokens": tokens,
        "width": width, "vocabulary": config.target_vocabulary,
    }  # fmt: skip
    probes = all_probes(info.model)
    total = 0
    for probe in {probe for name in names for probe in list_required_probes(name, info)}:
        axes = [axis for axis in probes[probe].axes if axis != "batch"]
        per_head = "heads" in axes and "width" in axes
        total += math.prod(config.resolved_head_width if per_head and axis == "width" else sizes[axis] for axis in axes)
    shapes = list_parameter_shapes(info)
    for path, row in filter(None, map(split_parameter, names)):
        total += math.prod(shapes[path][1:] if row is not None else shapes[path])
    return total


def capture(
    service: Service, translation: Translation, info: ModelInfo, names: Sequence[str]
) -> Mapping[str, FloatArray]:
    """Return the probes behind these names from one pass over the finished translation."""
    probes = tuple(sorted({probe for name in names for probe in list_required_probes(name, info)}))
    if not probes:
        return {}
    target_ids = tuple(token.id for token in translation.target_tokens)
    return service.translate(replace(translation.request, target=target_ids, prefix=None, capture=probes)).captured


def model_values(info: ModelInfo) -> dict[str, Any]:
    """Return the values of a model that phrases and formulas use."""
    config = info.model.config
    names = ("d_model", "heads", "d_ff", "encoder_layers", "decoder_layers", "positions", "activation", "norm")
    return {
        **{name: getattr(config, name) for name in names},
        "head_width": config.resolved_head_width,
        "source_vocabulary": config.source_vocabulary,
        "target_vocabulary": config.target_vocabulary,
        "norm_first": config.norm_first,
        "scale_embedding": config.scale_embedding,
        "scale_scores": config.scale_scores,
        "epsilon": config.norm_epsilon,
        "beside": config.position_width > 0,
        "closed_waves": config.closed_waves,
        "rotary_base": config.rotary_base,
        "attention_bias": config.attention_bias,
        "feed_forward_bias": config.feed_forward_bias,
        "final_logits_bias": config.final_logits_bias,
        "scale_output": config.scale_output,
    }


def _compute_tensor(name: str, captured: Mapping[str, FloatArray], service: Service, info: ModelInfo) -> FloatArray:
    """Return a captured probe, or compute a derived tensor from one."""
    parent, _, last = name.rpartition(".")
    operation: RemoteFunction
    if parameter := split_parameter(name):
        weights: FloatArray = service.run_on_translator(info.name, get_parameter_rows, *parameter)
        return weights
    if name in (MEMORY, FINAL):
        stream = captured[list_required_probes(name, info)[0]]
        if not info.model.config.final_norm:
            return stream
        operation, path, value = apply_norm, f"{name.partition('.')[0]}.final_norm", stream
    elif last == OUTPUT_PROJECTED:
        operation, path, value = apply_output_projection, f"{parent}.output", captured[f"{parent}.mixed"]
    elif last == NORMED:
        if not info.model.config.norm_first:
            return captured[f"{parent}.stream"]
        operation, path, value = apply_norm, f"{parent}.norm", captured[f"{parent}.carried"]
    else:
        return captured[name]
    result: FloatArray = service.run_on_translator(info.name, operation, path, value)
    return result


def _summarise_logits(logits: FloatArray, info: ModelInfo) -> dict[str, Any]:
    """Summarise one row of logits: its best tokens, its log-sum-exp and a histogram."""
    values = logits.astype(np.float64)
    finite = values[np.isfinite(values)]
    best = np.argsort(-values, kind="stable")[:BEST_COUNT]
    largest = float(values[best[0]])
    counts, edges = np.histogram(finite, bins=HISTOGRAM_BINS)
    return {
        "best": [
            [_token_label(info, int(token_id)), int(token_id), round(float(values[token_id]), 6)] for token_id in best
        ],
        "log_sum": round(largest + math.log(float(np.exp(finite - largest).sum())), 6),
        "mean": round(float(finite.mean()), 6),
        "spread": round(float(finite.std()), 6),
        "counts": counts.tolist(),
        "low": round(float(edges[0]), 6),
        "high": round(float(edges[-1]), 6),
    }


def _token_label(info: ModelInfo, token_id: int) -> str:
    return candidate_label(info.target_tokenizer.label(token_id)).text
