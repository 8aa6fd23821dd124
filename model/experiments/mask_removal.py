"""Runs the model without causal or padding masks and measures what leaks.

The causal mask is edited where the decoder's layers receive it, for the caller's own run only. The mask of padding is
an argument: of the encoder, and of the memory that cross-attention looks at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
import torch
from torch import Tensor

from headlight.model.core.masks import pad_sequences, padding_mask
from headlight.model.core.probes import Watched, watch
from headlight.model.core.transformer import Decoder, DecoderState, Memory, Transformer, attention_path
from headlight.model.decoding.search import SearchInputs, SingleHypothesisSearch
from headlight.model.decoding.step import DecoderStep, choose_best, end_ids, make_rules
from headlight.model.records import KINDS, BoolArray, FloatArray, Kind, TranslationRequest
from headlight.model.translate.requests import PreparedBatch
from headlight.model.translate.translator import Translator

ALL_LATER_TOKENS = 10_000  # later tokens: more than any translation has
CacheMode = Literal["masked", "kept", "anew"]
CACHE_MODES: tuple[CacheMode, ...] = get_args(CacheMode)


# ---------------------------------------------------------------- which masks there are


def attention_masks(
    translator: Translator, sources: Sequence[Sequence[int]], target: Sequence[int]
) -> dict[Kind, BoolArray]:
    """The mask of each attention for the first of these sentences, `[queries, keys]`, as its first layer gets it."""
    model = translator.model
    paths = {kind: f"{attention_path(kind, 0)}.allowed" for kind in KINDS}
    ids = pad_sequences(sources, model.config.pad_id).to(translator.device)
    with torch.inference_mode(), watch(model, *paths.values()) as seen:
        _read(model, _first_row(model.encode(ids)), target)
    return {kind: seen[path][0, 0].cpu().numpy() for kind, path in paths.items()}


# ---------------------------------------------------------------- the causal mask


@contextmanager
def relaxed_causal_mask(model: Transformer, tokens: int) -> Iterator[None]:
    """Number of later tokens that each decoder token attends to. 0: the causal mask; `EVERYTHING`: no mask."""

    def further(allowed: Tensor, name: str) -> Tensor:  # [batch, heads, queries, keys]
        queries, keys = allowed.shape[-2:]
        return torch.ones_like(allowed).tril(diagonal=keys - queries + tokens)

    with watch(model, "decoder.layers.*.self_attention.allowed", edit=further):
        yield


@dataclass(frozen=True, eq=False)
class ForcedReading:
    """A given translation, read by the decoder all at once."""

    log_probabilities: FloatArray  # [tokens]
    weights: FloatArray  # [layer, head, query, key]: the decoder's self-attention

    @property
    def loss(self) -> float:
        """Of a token, on average."""
        return -float(self.log_probabilities.mean())

    @property
    def attention_ahead(self) -> FloatArray:
        """Attention of each row to later tokens, `[layer, head, query]`."""
        later: FloatArray = np.triu(self.weights, 1).sum(axis=-1)
        return later


def force_with_relaxed_mask(
    translator: Translator, source: Sequence[int], target: Sequence[int], counts: Sequence[int]
) -> list[ForcedReading]:
    """Score a translation with each number of visible later tokens."""
    model, result = translator.model, []
    paths = [f"{attention_path('decoder', layer)}.weights" for layer in range(model.config.decoder_layers)]
    with torch.inference_mode():
        memory = model.encode(torch.tensor([list(source)], device=translator.device), padded=False)
        for count in counts:
            with relaxed_causal_mask(model, count), watch(model, *paths) as seen:
                log_probabilities = _read(model, memory, target)
            result.append(ForcedReading(log_probabilities, _maps(seen, paths)))
    return result


@dataclass(frozen=True, eq=False)
class GreedyOutput:
    """A free translation and the log probability of each token."""

    ids: tuple[int, ...]
    log_probabilities: FloatArray  # [tokens]


class UncachedDecoder:
    """A decoder without cache: it recomputes all positions at every step."""

    def __init__(self, decoder: Decoder, memory: Memory) -> None:
        self.decoder, self.memory = decoder, memory
        self.ids: Tensor | None = None

    def __call__(self, ids: Tensor, state: DecoderState) -> Tensor:
        """The newest tokens `[1, 1]` → logits `[1, 1, vocabulary]`."""
        self.ids = ids if self.ids is None else torch.cat([self.ids, ids], dim=1)
        logits: Tensor = self.decoder(self.ids, self.decoder.new_state(self.memory, cached=False))
        return logits[:, -1:]


def translate_in_all_modes(
    translator: Translator, request: TranslationRequest, most: int
) -> dict[CacheMode, GreedyOutput]:
    """Greedy translation with at most `length` tokens.

    With the mask; without it, with the cached states of earlier words (`kept`); or without it, with everything
    recomputed (`anew`).
    """
    model, batch = translator.model, translator.checker.prepare([request])
    results: dict[CacheMode, GreedyOutput] = {}
    with torch.inference_mode():
        memory = model.encode(batch.source_ids, padded=batch.padded)
        for way in CACHE_MODES:
            step = UncachedDecoder(model.decoder, memory) if way == "anew" else model.decoder
            with relaxed_causal_mask(model, 0 if way == "masked" else ALL_LATER_TOKENS):
                results[way] = _greedy(translator, batch, step, memory, most)
    return results


# ---------------------------------------------------------------- the mask of padding


class PaddedBatch(NamedTuple):
    """Sentences that are read together, of which the first is looked at; and which attention has its mask."""

    rows: Sequence[Sequence[int]]
    encoder: bool = True
    cross: bool = True


@dataclass(frozen=True, eq=False)
class PaddedResult:
    """A sentence in a batch with a longer one, so that padding follows it."""

    weights: FloatArray  # [layer, head, tokens, places]: the encoder's self-attention
    log_probabilities: FloatArray  # of each token of the given translation
    cross: FloatArray  # [layer, head, query, places]: cross-attention while it is read
    written: GreedyOutput

    @property
    def attention_to_padding(self) -> FloatArray:
        """Attention of each row to padding, `[layer, head, tokens]`."""
        leaks: FloatArray = self.weights[..., self._tokens :].sum(axis=-1)
        return leaks

    @property
    def cross_attention_to_padding(self) -> FloatArray:
        """Attention of each written token to padding, `[layer, head, query]`."""
        leaks: FloatArray = self.cross[..., self._tokens :].sum(axis=-1)
        return leaks

    @property
    def _tokens(self) -> int:
        return int(self.weights.shape[2])


def encode_batches(translator: Translator, batches: Sequence[PaddedBatch]) -> list[FloatArray]:
    """The encoder's vectors of the first sentence of each batch, `[tokens, d_model]`.

    Nothing is watched: attention that is watched is computed in another way, with other last digits.
    """
    with torch.inference_mode():
        return [_array(_encode(translator, batch).vectors[0, : len(batch.rows[0])]) for batch in batches]


def translate_padded(
    translator: Translator,
    request: TranslationRequest,
    target: Sequence[int],
    batches: Sequence[PaddedBatch],
    most: int,
) -> list[PaddedResult]:
    """The first sentence of each batch: it is encoded, its given translation read, and a new one of so many tokens
    written.
    """
    model, prepared, result = translator.model, translator.checker.prepare([request]), []
    own = [f"{attention_path('encoder', layer)}.weights" for layer in range(model.config.encoder_layers)]
    across = [f"{attention_path('cross', layer)}.weights" for layer in range(model.config.decoder_layers)]
    for batch in batches:
        tokens = len(batch.rows[0])
        with torch.inference_mode(), watch(model, *own, *across) as seen:
            memory = _encode(translator, batch)
            log_probabilities = _read(model, memory, target)
        with torch.inference_mode():
            written = _greedy(translator, prepared, model.decoder, memory, most)
        result.append(PaddedResult(_maps(seen, own)[:, :, :tokens], log_probabilities, _maps(seen, across), written))
    return result


# ---------------------------------------------------------------- what these share


def _encode(translator: Translator, batch: PaddedBatch) -> Memory:
    """Encoder output of the first sentence of a batch."""
    model = translator.model
    ids = pad_sequences(batch.rows, model.config.pad_id).to(translator.device)
    mask = padding_mask(ids, model.config.pad_id)
    return _first_row(Memory(model.encoder(ids, mask if batch.encoder else None), mask if batch.cross else None))


def _greedy(translator: Translator, batch: PreparedBatch, step: DecoderStep, memory: Memory, most: int) -> GreedyOutput:
    """Greedy, under the same rules as everywhere."""
    config, defaults, device = translator.model.config, translator.generation_defaults, translator.device
    limits = [min(batch.limits[0], max(most, len(batch.prefixes[0]) + 1))]
    plan = SearchInputs(
        decoder=step,
        state=translator.model.decoder.new_state(memory, cached=True),
        rules=make_rules(config, batch.options, batch.prefixes, device, defaults, limits),
        limits=limits,
        start_id=config.start_id,
        ends=end_ids(config, defaults),
        vocabulary=config.target_vocabulary,
        device=device,
    )
    search = SingleHypothesisSearch(plan, choose_best, scored=True)
    while search.advance():
        pass
    (best,) = search.results[0]
    return GreedyOutput(tuple(best.ids), np.array(best.token_log_probabilities, dtype=np.float32))


def _read(model: Transformer, memory: Memory, target: Sequence[int]) -> FloatArray:
    """The log probability of each token of a translation, the tokens before it given."""
    ids = torch.tensor([[model.config.start_id, *target[:-1]]], device=memory.vectors.device)
    logits = model.decoder(ids, model.decoder.new_state(memory, cached=False))[0]
    return _array(logits.float().log_softmax(dim=-1)[range(len(target)), list(target)])


def _first_row(memory: Memory) -> Memory:
    """That of the first sentence of a batch."""
    return Memory(memory.vectors[:1], None if memory.mask is None else memory.mask[:1])


def _maps(seen: Watched, paths: Sequence[str]) -> FloatArray:
    """The weights that were watched of the first sentence, `[layer, head, query, key]`."""
    return np.stack([_array(seen[path][0]) for path in paths])


def _array(tensor: Tensor) -> FloatArray:
    return np.asarray(tensor.float().cpu().numpy(), dtype=np.float32)
