"""Conversion of Headlight models to CTranslate2's format: the same weights under other names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from headlight.model.core.attention import MultiHeadAttention
from headlight.model.core.blocks import Residual
from headlight.model.core.transformer import DecoderLayer, Transformer

ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "gelu_tanh": "GELUTanh", "silu": "SWISH"}


def convert(model: Transformer, folder: Path) -> None:
    """Write a model in CTranslate2's format. Raise a `ValueError` if CTranslate2 has no such model."""
    from ctranslate2.specs import TransformerSpec
    from ctranslate2.specs.common_spec import Activation

    config = model.config
    if config.norm != "layer" or config.activation not in ACTIVATIONS or config.scale_output:
        raise ValueError("This model cannot be converted to CTranslate2.")
    spec = TransformerSpec.from_config(
        (config.encoder_layers, config.decoder_layers),
        config.heads,
        pre_norm=config.norm_first,
        activation=Activation[ACTIVATIONS[config.activation]],
    )
    for target, source in ((spec.encoder, model.encoder), (spec.decoder, model.decoder)):
        embeddings = target.embeddings[0] if isinstance(target.embeddings, list) else target.embeddings
        embeddings.weight = _array(source.embedding.table.weight)
        target.scale_embeddings = source.embedding.scale
        target.position_encodings.encodings = _array(source.embedding.positions.as_array(config.max_length))
        if config.norm_first:
            _norm(target.layer_norm, source.final_norm)
        for target_layer, source_layer in zip(target.layer, source.layers, strict=True):
            _layer(target_layer, source_layer)
    _linear(spec.decoder.projection, model.decoder.output.words)
    for register, size in (
        (spec.register_source_vocabulary, config.source_vocabulary),
        (spec.register_target_vocabulary, config.target_vocabulary),
    ):
        register([str(token_id) for token_id in range(size)])
    spec.config.unk_token = spec.config.bos_token = spec.config.decoder_start_token = str(config.start_id)
    spec.config.eos_token = str(config.end_id)
    spec.config.layer_norm_epsilon = config.norm_epsilon
    spec.validate()
    spec.optimize(quantization="float32")
    folder.mkdir(parents=True)
    spec.save(str(folder))


def _layer(theirs: Any, ours: Any) -> None:
    _attention(theirs.self_attention, ours.self_attention, ours.around_self_attention)
    if isinstance(ours, DecoderLayer):
        _attention(theirs.attention, ours.cross_attention, ours.around_cross_attention)
    _norm(theirs.ffn.layer_norm, ours.around_feed_forward.norm)
    _linear(theirs.ffn.linear_0, ours.feed_forward.wide)
    _linear(theirs.ffn.linear_1, ours.feed_forward.narrow)


def _attention(theirs: Any, ours: MultiHeadAttention, around: Residual) -> None:
    _norm(theirs.layer_norm, around.norm)
    if len(theirs.linear) == 2:  # self-attention: one product for queries, keys and values
        _linear(theirs.linear[0], ours.query, ours.key, ours.value)
    else:
        _linear(theirs.linear[0], ours.query)
        _linear(theirs.linear[1], ours.key, ours.value)
    _linear(theirs.linear[-1], ours.output)


def _linear(theirs: Any, *ours: nn.Linear) -> None:
    theirs.weight = np.concatenate([_array(layer.weight) for layer in ours])
    if ours[0].bias is not None:
        theirs.bias = np.concatenate([_array(layer.bias) for layer in ours])


def _norm(theirs: Any, ours: Any) -> None:
    theirs.gamma, theirs.beta = _array(ours.weight), _array(ours.bias)


def _array(tensor: Any) -> np.ndarray:
    array: np.ndarray = tensor.detach().float().numpy()
    return array
