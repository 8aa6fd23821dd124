"""The tiny translator as functions of its weights. The first axis of weights is `models`, for models side by side.

It is the Transformer of the paper, post-norm, with one encoder and one decoder layer, without biases; norms have no
parameters. Vectors have four numbers, so that a reader can calculate a row by hand.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from headlight.model.training.build_lesson.parts import Parts
from headlight.model.training.build_lesson.sentences import SOURCE_WORDS, TARGET_WORDS, Batch

WIDTH, HEAD_WIDTH, INNER_WIDTH = 4, 2, 8
MAX_LENGTH = 16  # positions in the table; sentences are shorter
WAVELENGTH_BASE = 100  # with 10,000 as in the paper, two of the four numbers would hardly change
NORM_EPSILON = 1e-5
Weights = Mapping[str, Tensor]
Trace = dict[str, Tensor]


def position_table() -> Tensor:
    """Return sines and cosines as in the paper, rounded to one decimal: [positions, width]."""
    rows = torch.arange(MAX_LENGTH)[:, None] / WAVELENGTH_BASE ** (torch.arange(0, WIDTH, 2) / WIDTH)
    table = torch.stack([rows.sin(), rows.cos()], dim=-1).flatten(-2)
    return (table * 10).round() / 10


POSITIONS = position_table()


def initial_weights(parts: Parts, count: int, seed: int) -> dict[str, Tensor]:
    """Return random weights of `count` models, each `[models, rows, columns]`."""
    random = torch.Generator().manual_seed(seed)

    def matrix(rows: int, columns: int) -> Tensor:
        return torch.randn(count, rows, columns, generator=random) / math.sqrt(rows)

    weights = {
        "source_table": torch.randn(count, len(SOURCE_WORDS), WIDTH, generator=random),
        "target_table": torch.randn(count, len(TARGET_WORDS), WIDTH, generator=random),
        "output": matrix(WIDTH, len(TARGET_WORDS)),
    }
    joined = parts.heads * HEAD_WIDTH
    for attention in _attention_modules(parts):
        weights |= {f"{attention}.{name}": matrix(WIDTH, joined) for name in ("query", "key", "value")}
        weights[f"{attention}.joined"] = matrix(joined, WIDTH)
    for side in ("encoder", "decoder") if parts.network else ():
        weights |= {f"{side}.inner": matrix(WIDTH, INNER_WIDTH), f"{side}.outer": matrix(INNER_WIDTH, WIDTH)}
    return weights


def _attention_modules(parts: Parts) -> tuple[str, ...]:
    self_modules = ("encoder", "decoder") if parts.attention else ()
    return (*self_modules, "cross") if parts.cross else self_modules


def forward(parts: Parts, weights: Weights, batch: Batch, decoder_ids: Tensor | None = None) -> Trace:
    """Return all intermediate results by name; "logits" has the axes [models, pairs, target words, vocabulary].

    `decoder_ids`, [pairs, target words] without padding, replaces the decoder inputs of the batch.
    """
    trace: Trace = {}
    target = batch.decoder_ids if decoder_ids is None else decoder_ids
    target_is_word = batch.decoder_is_word if decoder_ids is None else torch.ones_like(decoder_ids, dtype=torch.bool)
    memory = encode(parts, weights, batch.source, batch.source_is_word, trace)
    decode(parts, weights, (target, target_is_word), (memory, batch.source_is_word), trace)
    return trace


def encode(parts: Parts, weights: Weights, ids: Tensor, is_word: Tensor, trace: Trace) -> Tensor:
    """Return the encoder's output: [models, pairs, words, width]."""
    x = trace["encoder.x"] = embed(parts, weights["source_table"], ids)
    received = self_attention(parts, weights, "encoder", x, is_word, trace)
    x = trace["encoder.normed"] = add_and_norm(parts, x, received, trace, "encoder.added")
    memory = trace["memory"] = network(parts, weights, "encoder", x, trace)
    return memory


def decode(
    parts: Parts, weights: Weights, target: tuple[Tensor, Tensor], memory: tuple[Tensor, Tensor], trace: Trace
) -> None:
    """Add the decoder's results to the trace. `target`: ids and word mask; `memory`: encoder output and word mask."""
    ids, is_word = target
    y = trace["decoder.x"] = embed(parts, weights["target_table"], ids)
    received = self_attention(parts, weights, "decoder", y, is_word, trace)
    y = trace["decoder.normed"] = add_and_norm(parts, y, received, trace, "decoder.added")
    if parts.cross:
        states, allowed = (y, is_word) if parts.mistake == "cross_reads_decoder" else memory
        received = attend(parts, weights, "cross", (y, states), allowed[:, None, None, :], trace)
        y = add_and_norm(parts, y, received, trace, "cross.added")
    else:
        y = norm(parts, y + average(*memory))
    trace["cross.normed"] = y
    y = trace["decoder.output"] = network(parts, weights, "decoder", y, trace)
    trace["logits"] = torch.einsum("mptw,mwv->mptv", y, weights["output"])


def embed(parts: Parts, table: Tensor, ids: Tensor) -> Tensor:
    """Look up the vectors of words and add those of positions."""
    x = table[:, ids]
    return x + POSITIONS[: ids.shape[-1]] if parts.positions else x


def average(x: Tensor, is_word: Tensor) -> Tensor:
    """Return the mean over the words: [models, pairs, 1, width]."""
    words = is_word[None, :, :, None].float()
    return (x * words).sum(2, keepdim=True) / words.sum(2, keepdim=True)


def norm(parts: Parts, x: Tensor) -> Tensor:
    """Give every word mean 0 and standard deviation 1."""
    if not parts.norm:
        return x
    return (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, unbiased=False) + NORM_EPSILON).sqrt()


def add_and_norm(parts: Parts, x: Tensor, received: Tensor, trace: Trace, name: str) -> Tensor:
    """Add the output of a sub-layer, then apply the norm. Without residual connections, the output replaces x."""
    trace[name.replace("added", "received")] = received
    total = trace[name] = x + received if parts.residual else received
    return norm(parts, total)


def network(parts: Parts, weights: Weights, side: str, x: Tensor, trace: Trace) -> Tensor:
    """Apply the feed-forward network to each word, with residual connection and norm."""
    if not parts.network:
        return x
    hidden = trace[f"{side}.hidden"] = torch.einsum("mptw,mwi->mpti", x, weights[f"{side}.inner"]).relu()
    received = torch.einsum("mpti,miw->mptw", hidden, weights[f"{side}.outer"])
    return add_and_norm(parts, x, received, trace, f"{side}.network.added")


def self_attention(parts: Parts, weights: Weights, side: str, x: Tensor, is_word: Tensor, trace: Trace) -> Tensor:
    """Return the output of self-attention for each word, or the mean of all words if the model has no attention."""
    if not parts.attention:
        return average(x, is_word).expand_as(x)
    allowed = is_word[:, None, None, :]  # [pairs, heads, queries, keys]
    if side == "decoder" and parts.mask:
        allowed = allowed & _causal_mask(parts, x.shape[2])
    return attend(parts, weights, side, (x, x), allowed, trace, mask_later=side == "decoder" and parts.mask)


def _causal_mask(parts: Parts, length: int) -> Tensor:
    """Return the causal mask, or a wrong one if the mistake requires it: [queries, keys]."""
    square = torch.ones(length, length, dtype=torch.bool)
    if parts.mistake == "mask_after_softmax":
        return square
    return square.triu() if parts.mistake == "mask_transposed" else square.tril()


def attend(
    parts: Parts,
    weights: Weights,
    attention: str,
    states: tuple[Tensor, Tensor],
    allowed: Tensor,
    trace: Trace,
    *,
    mask_later: bool = False,
) -> Tensor:
    """Return multi-head attention. Queries come from the first of `states`, keys and values from the second."""
    query_states, key_states = states
    query = _project(parts, query_states, weights[f"{attention}.query"])
    key, value = (_project(parts, key_states, weights[f"{attention}.{name}"]) for name in ("key", "value"))
    scores = query @ key.transpose(-1, -2) / _divisor(parts)
    shares = scores.masked_fill(~allowed, -torch.inf).softmax(-2 if parts.mistake == "softmax_over_queries" else -1)
    if parts.mistake in ("softmax_over_queries", "mask_transposed"):
        shares = shares.nan_to_num(0)  # with these mistakes, all scores of a column or a row may be masked
    if mask_later and parts.mistake == "mask_after_softmax":
        shares = shares.tril()
    mixed = shares @ value
    joined = mixed.transpose(-2, -3).flatten(-2)
    tensors = {"query": query, "key": key, "value": value, "scores": scores, "shares": shares, "mixed": mixed}
    trace |= {f"{attention}.{name}": tensor for name, tensor in (tensors | {"joined": joined}).items()}
    return torch.einsum("mptj,mjw->mptw", joined, weights[f"{attention}.joined"])


def _project(parts: Parts, x: Tensor, matrix: Tensor) -> Tensor:
    """Return x·W split into heads: [models, pairs, heads, words, head width]."""
    projected = torch.einsum("mptw,mwj->mptj", x, matrix)
    return projected.reshape(*projected.shape[:-1], parts.heads, HEAD_WIDTH).transpose(-2, -3)


def _divisor(parts: Parts) -> float:
    if parts.mistake == "divided_by_width":
        return HEAD_WIDTH
    if parts.mistake == "multiplied_by_root":
        return 1 / math.sqrt(HEAD_WIDTH)
    return math.sqrt(HEAD_WIDTH) if parts.scale else 1.0
