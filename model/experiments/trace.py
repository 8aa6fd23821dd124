"""One forward pass that captures the inputs and outputs of every sub-layer."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn

from headlight.model.core.attention import MultiHeadAttention
from headlight.model.core.blocks import Residual
from headlight.model.core.masks import pad_sequences
from headlight.model.core.probes import Watched, watch
from headlight.model.errors import RequestError
from headlight.model.measures.trace_records import (
    AttentionTrace,
    DecoderLayerTrace,
    FeedForwardTrace,
    Float64Array,
    NormTrace,
    Trace,
    record_norm,
)
from headlight.model.records import Translation
from headlight.model.translate.translator import Translator

MAX_NUMBERS = 30_000_000  # numbers in a trace: 240 MB
TRACED_PROBES = ("*_attention.weights", "*_attention.values", "*.carried", "feed_forward.output")


def run_trace(translator: Translator, translation: Translation) -> Trace:
    """Run the model teacher-forced on a translation, with its request's interventions, and capture activations."""
    _check_size(translator, translation)
    model, config = translator.model, translator.model.config
    batch = translator.checker.prepare([translation.request])
    ids = [token.id for token in translation.target_tokens]
    inputs = pad_sequences([[config.start_id, *ids[:-1]]], config.pad_id).to(translator.device)
    names = [f"{side}.layers.*.{probe}" for side in ("encoder", "decoder") for probe in TRACED_PROBES]
    decoder_names = [
        "decoder.embedding.embedded",
        "decoder.embedding.positioned",
        "decoder.layers.*.around_feed_forward.stream",
    ]
    with (
        torch.inference_mode(),
        translator.intervention_context(translation.request)(),
        watch(model, *names, *decoder_names) as activations,
    ):
        passes = translator.passes
        memory = passes.encode(batch.source_ids, batch.source_mask, padded=batch.padded)
        logits = passes.decoder(inputs, passes.decoder.new_state(memory, cached=False))
    decoder: Any = model.decoder
    with_positions = _array(activations["decoder.embedding.positioned"])
    last_stream = _array(activations[f"decoder.layers.{config.decoder_layers - 1}.around_feed_forward.stream"])
    return Trace(
        encoder=[
            _trace_attention(
                activations, layer.self_attention, layer.around_self_attention, f"encoder.layers.{index}", "self"
            )
            for index, layer in enumerate(_layers(model.encoder))
        ],
        decoder=[_trace_decoder_layer(activations, layer, index) for index, layer in enumerate(_layers(decoder))],
        embeddings=_array(activations["decoder.embedding.embedded"]),
        embeddings_with_positions=with_positions,
        embedding_norm=trace_norm(decoder.embedding.norm, with_positions) if config.embedding_norm else None,
        final_norm=trace_norm(decoder.final_norm, last_stream) if config.final_norm else None,
        output_scale=decoder.output.scale or 1.0,
        logits=logits[0].double().cpu().numpy(),
    )


def _layers(side: Any) -> Any:
    return side.layers


def _check_size(translator: Translator, translation: Translation) -> None:
    """Raise a RequestError if the trace would take too much memory."""
    config = translator.model.config
    source, target = len(translation.source_tokens), len(translation.target_tokens)
    maps = config.encoder_layers * source**2 + config.decoder_layers * target * (target + source)
    vectors = (config.encoder_layers * 3 * source + config.decoder_layers * (6 * target + source)) * config.d_model
    needed = config.heads * maps + vectors + target * config.target_vocabulary
    if needed > MAX_NUMBERS:
        raise RequestError("trace_too_long", field="text", needed=needed // 10**6, limit=MAX_NUMBERS // 10**6)


def _trace_decoder_layer(activations: Watched, layer: Any, layer_index: int) -> DecoderLayerTrace:
    path = f"decoder.layers.{layer_index}"
    output = _array(activations[f"{path}.feed_forward.output"])
    carried = _array(activations[f"{path}.around_feed_forward.carried"])
    bias = _parameter(layer.feed_forward.narrow.bias, carried.shape[-1])
    around = layer.around_feed_forward
    norm = None if around.norm_first else trace_norm(around.norm, carried + output)
    return DecoderLayerTrace(
        _trace_attention(activations, layer.self_attention, layer.around_self_attention, path, "self"),
        _trace_attention(activations, layer.cross_attention, layer.around_cross_attention, path, "cross"),
        # If an intervention sets the output of the network to zero, its bias is zero, too.
        FeedForwardTrace(output, bias if output.any() else np.zeros_like(bias), carried, norm),
    )


def _trace_attention(
    activations: Watched, attention: MultiHeadAttention, around: Residual, path: str, name: str
) -> AttentionTrace:
    weights, values = (_array(activations[f"{path}.{name}_attention.{probe}"]) for probe in ("weights", "values"))
    carried = _array(activations[f"{path}.around_{name}_attention.carried"])
    matrix = attention.output.weight.detach().double().cpu().numpy()  # [d_model, heads × width]
    output_weight = matrix.T.reshape(attention.heads, attention.head_width, -1)
    bias = _parameter(attention.output.bias, carried.shape[-1])
    norm = None
    if not around.norm_first:
        head_values = weights @ values  # [heads, queries, width]
        norm = trace_norm(around.norm, carried + np.einsum("hqw,hwd->qd", head_values, output_weight) + bias)
    return AttentionTrace(weights, values, output_weight, bias, carried, norm)


def trace_norm(norm: nn.Module, inputs: Float64Array) -> NormTrace:
    """Return the record of a norm of the model, with its scales for these inputs, `[tokens, d_model]`."""
    centred = isinstance(norm, nn.LayerNorm)
    epsilon: Any = norm.eps if isinstance(norm, nn.LayerNorm) else norm.epsilon
    weight, bias = _parameter(norm.weight, inputs.shape[-1]), getattr(norm, "bias", None)
    bias = None if bias is None else _parameter(bias, inputs.shape[-1])
    return record_norm(inputs, weight, bias, float(epsilon), centred=centred)


def _parameter(parameter: Any, width: int) -> Float64Array:
    if parameter is None:
        return np.zeros(width)
    result: Float64Array = parameter.detach().double().cpu().numpy()
    return result


def _array(tensor: torch.Tensor) -> Float64Array:
    result: Float64Array = tensor[0].double().cpu().numpy()
    return result
