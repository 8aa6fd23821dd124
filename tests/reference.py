"""PyTorch's modules with our weights, as references for attention, layers and the whole Transformer.

A `Pair` maps one of our parameters to its rows in a reference's parameter, to copy weights and compare gradients.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from headlight.model.core.attention import MultiHeadAttention
from headlight.model.core.blocks import FeedForward
from headlight.model.core.transformer import Transformer
from tests.compare import assert_close


class Pair(NamedTuple):
    """One of our parameters, and the rows of a reference's parameter that correspond to it."""

    name: str
    ours: nn.Parameter
    theirs: nn.Parameter
    rows: slice = slice(None)


def attention_reference(ours: MultiHeadAttention, *, dropout: float = 0.0) -> nn.MultiheadAttention:
    """A `torch.nn.MultiheadAttention` with the same weights."""
    weight = ours.query.weight
    theirs = nn.MultiheadAttention(
        weight.shape[1], ours.heads, bias=ours.query.bias is not None, dropout=dropout, batch_first=True
    )
    _copy(attention_pairs("", ours, theirs))
    return theirs.to(weight.device, weight.dtype)


def transformer_reference(ours: Transformer) -> nn.Transformer:
    """A `torch.nn.Transformer` with the same weights. Its stacks end in a norm, as ours do with `final_norm`."""
    config = ours.config
    common: dict[str, Any] = {
        "d_model": config.d_model,
        "nhead": config.heads,
        "dim_feedforward": config.d_ff,
        "dropout": config.dropout,
        "activation": config.activation,
        "layer_norm_eps": config.norm_epsilon,
        "norm_first": config.norm_first,
        "batch_first": True,
    }
    encoder = nn.TransformerEncoder(  # built explicitly to avoid a warning about nested tensors
        nn.TransformerEncoderLayer(**common),
        config.encoder_layers,
        nn.LayerNorm(config.d_model, eps=config.norm_epsilon),
        enable_nested_tensor=False,
    )
    layers = {"num_encoder_layers": config.encoder_layers, "num_decoder_layers": config.decoder_layers}
    theirs = nn.Transformer(**common, **layers, custom_encoder=encoder)
    _copy(transformer_pairs(ours, theirs))
    weight = next(ours.parameters())
    return theirs.to(weight.device, weight.dtype)


def attention_pairs(name: str, ours: MultiHeadAttention, theirs: nn.MultiheadAttention) -> Iterator[Pair]:
    width = ours.heads * ours.head_width
    for index, part in enumerate(("query", "key", "value")):
        linear, rows = getattr(ours, part), slice(index * width, (index + 1) * width)
        yield Pair(f"{name}.{part}.weight", linear.weight, theirs.in_proj_weight, rows)
        if linear.bias is not None:
            yield Pair(f"{name}.{part}.bias", linear.bias, theirs.in_proj_bias, rows)
    yield from _module_pairs(f"{name}.output", ours.output, theirs.out_proj)


def transformer_pairs(ours: Transformer, theirs: nn.Transformer) -> Iterator[Pair]:
    sides: tuple[tuple[str, Any, Any], ...] = (
        ("encoder", ours.encoder, theirs.encoder),
        ("decoder", ours.decoder, theirs.decoder),
    )
    for side, our_stack, their_stack in sides:
        for index, (layer, reference) in enumerate(zip(our_stack.layers, their_stack.layers, strict=True)):
            yield from _layer_pairs(f"{side}.{index}", layer, reference, crosses=side == "decoder")
        yield from _module_pairs(f"{side}.final_norm", our_stack.final_norm, their_stack.norm)


def _layer_pairs(name: str, ours: Any, theirs: Any, *, crosses: bool) -> Iterator[Pair]:
    yield from attention_pairs(f"{name}.self_attention", ours.self_attention, theirs.self_attn)
    yield from _module_pairs(f"{name}.norm1", ours.around_self_attention.norm, theirs.norm1)
    if crosses:
        yield from attention_pairs(f"{name}.cross_attention", ours.cross_attention, theirs.multihead_attn)
        yield from _module_pairs(f"{name}.norm2", ours.around_cross_attention.norm, theirs.norm2)
    last = theirs.norm3 if crosses else theirs.norm2
    yield from _module_pairs(f"{name}.last_norm", ours.around_feed_forward.norm, last)
    forward: FeedForward = ours.feed_forward
    yield from _module_pairs(f"{name}.wide", forward.wide, theirs.linear1)
    yield from _module_pairs(f"{name}.narrow", forward.narrow, theirs.linear2)


def _module_pairs(name: str, ours: nn.Module, theirs: nn.Module) -> Iterator[Pair]:
    reference = dict(theirs.named_parameters())
    for part, parameter in ours.named_parameters():
        yield Pair(f"{name}.{part}", parameter, reference.pop(part))
    assert not reference, f"{name}: ours has no {', '.join(reference)}"


def _copy(pairs: Iterator[Pair]) -> None:
    with torch.no_grad():
        for pair in pairs:
            pair.theirs[pair.rows] = pair.ours.cpu().to(pair.theirs.dtype)


def assert_same_gradients(pairs: Iterator[Pair], *, tolerance: float = 1e-5) -> int:
    """Compare gradients, relative to the largest of each parameter; return the number of values compared."""
    compared = 0
    for name, ours, theirs, rows in pairs:
        assert ours.grad is not None, f"{name} got no gradient"
        assert theirs.grad is not None, f"the reference's {name} got no gradient"
        assert_relative(ours.grad, theirs.grad[rows], tolerance=tolerance, of=f"gradient of {name}")
        compared += ours.numel()
    return compared


def assert_relative(actual: Tensor, expected: Tensor, *, tolerance: float = 1e-5, of: str = "result") -> None:
    """Like `assert_close`, in units of the largest expected number if that is above one."""
    unit = expected.detach().abs().max().clamp(min=1.0)
    assert_close(actual / unit, expected / unit, tolerance=tolerance, of=of)
