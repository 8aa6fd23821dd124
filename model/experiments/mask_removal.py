"""Runs of the model without causal or padding masks, and the attention to the tokens that these masks hide.

A hook on a probe in the decoder's self-attention edits the causal mask for the current run. The padding mask is an
argument of the encoder and of the memory for cross-attention.
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

ALL_LATER_TOKENS = 10_000  # more than any translation has
CacheMode = Literal["masked", "kept", "anew"]  # see `translate_in_all_modes`
CACHE_MODES: tuple[CacheMode, ...] = get_args(CacheMode)


# ---------------------------------------------------------------- the masks of a model


def make_attention_masks(
    translator: Translator, sources: Sequence[Sequence[int]], target: Sequence[int]
) -> dict[Kind, BoolArray]:
    """Return the mask of each attention for the first sentence, `[queries, keys]`, as the first layer receives it."""
    model = translator.model
    paths = {kind: f"{attention_path(kind, 0)}.allowed" for kind in KINDS}
    ids = pad_sequences(sources, model.config.pad_id).to(translator.device)
    with torch.inference_mode(), watch(model, *paths.values()) as activations:
        _score_target(model, _first_row(model.encode(ids)), target)
    return {kind: activations[path][0, 0].cpu().numpy() for kind, path in paths.items()}


# ---------------------------------------------------------------- the causal mask


@contextmanager
def relax_causal_mask(model: Transformer, tokens: int) -> Iterator[None]:
    """Let each decoder token attend to `tokens` later ones. 0: the causal mask; `ALL_LATER_TOKENS`: no mask."""

    def relax(allowed: Tensor, name: str) -> Tensor:  # [batch, heads, queries, keys]
        queries, keys = allowed.shape[-2:]
        return torch.ones_like(allowed).tril(diagonal=keys - queries + tokens)

    with watch(model, "decoder.layers.*.self_attention.allowed", edit=relax):
        yield


@dataclass(frozen=True, eq=False)
class ForcedScores:
    """The scores of a forced translation, and the decoder's self-attention in that pass."""

    log_probabilities: FloatArray  # [tokens]
    weights: FloatArray  # [layer, head, query, key]

    @property
    def loss(self) -> float:
        """The mean loss per token."""
        return -float(self.log_probabilities.mean())

    @property
    def attention_ahead(self) -> FloatArray:
        """The attention of each row to later tokens, `[layer, head, query]`."""
        leaks: FloatArray = np.triu(self.weights, 1).sum(axis=-1)
        return leaks


def force_with_relaxed_mask(
    translator: Translator, source: Sequence[int], target: Sequence[int], counts: Sequence[int]
) -> list[ForcedScores]:
    """Score a translation with each number of visible later tokens."""
    model, results = translator.model, []
    paths = [f"{attention_path('decoder', layer)}.weights" for layer in range(model.config.decoder_layers)]
    with torch.inference_mode():
        memory = model.encode(torch.tensor([list(source)], device=translator.device), padded=False)
        for count in counts:
            with relax_causal_mask(model, count), watch(model, *paths) as activations:
                log_probabilities = _score_target(model, memory, target)
            results.append(ForcedScores(log_probabilities, _stack_maps(activations, paths)))
    return results


@dataclass(frozen=True, eq=False)
class GreedyOutput:
    """A greedy translation and the log probability of each token."""

    ids: tuple[int, ...]
    log_probabilities: FloatArray  # [tokens]


class UncachedDecoder:
    """A decoder step without cache, which recomputes all positions."""

    def __init__(self, decoder: Decoder, memory: Memory) -> None:
        self.decoder, self.memory = decoder, memory
        self.ids: Tensor | None = None

    def __call__(self, ids: Tensor, state: DecoderState) -> Tensor:
        """Map the newest token, `[1, 1]`, to logits, `[1, 1, vocabulary]`."""
        self.ids = ids if self.ids is None else torch.cat([self.ids, ids], dim=1)
        logits: Tensor = self.decoder(self.ids, self.decoder.new_state(self.memory, cached=False))
        return logits[:, -1:]


def translate_in_all_modes(
    translator: Translator, request: TranslationRequest, max_tokens: int
) -> dict[CacheMode, GreedyOutput]:
    """Translate greedily in each cache mode, with at most `max_tokens` tokens.

    `masked` has the causal mask. `kept` has no mask and caches the states of earlier tokens; `anew` has no mask and
    recomputes them.
    """
    model, batch = translator.model, translator.checker.prepare([request])
    results: dict[CacheMode, GreedyOutput] = {}
    with torch.inference_mode():
        memory = model.encode(batch.source_ids, padded=batch.padded)
        for mode in CACHE_MODES:
            step = UncachedDecoder(model.decoder, memory) if mode == "anew" else model.decoder
            with relax_causal_mask(model, 0 if mode == "masked" else ALL_LATER_TOKENS):
                results[mode] = _translate_greedily(translator, batch, step, memory, max_tokens)
    return results


# ---------------------------------------------------------------- the padding mask


class PaddedBatch(NamedTuple):
    """A padded batch of sentences. Results are those of the first sentence."""

    rows: Sequence[Sequence[int]]  # ids of each sentence
    encoder: bool = True  # whether the encoder's self-attention has the padding mask
    cross: bool = True  # whether cross-attention has the padding mask


@dataclass(frozen=True, eq=False)
class PaddedResult:
    """The results of a sentence that is padded to the length of a longer one."""

    weights: FloatArray  # [layer, head, tokens, padded length]: the encoder's self-attention
    log_probabilities: FloatArray  # per token of the forced translation
    cross: FloatArray  # [layer, head, query, padded length]: cross-attention in the forced translation
    output: GreedyOutput

    @property
    def attention_to_padding(self) -> FloatArray:
        """The attention of each row to padding, `[layer, head, tokens]`."""
        leaks: FloatArray = self.weights[..., self._tokens :].sum(axis=-1)
        return leaks

    @property
    def cross_attention_to_padding(self) -> FloatArray:
        """The attention of each target token to padding, `[layer, head, query]`."""
        leaks: FloatArray = self.cross[..., self._tokens :].sum(axis=-1)
        return leaks

    @property
    def _tokens(self) -> int:
        return int(self.weights.shape[2])


def encode_batches(translator: Translator, batches: Sequence[PaddedBatch]) -> list[FloatArray]:
    """Return the encoder vectors of the first sentence of each batch, `[tokens, d_model]`.

    Attention is not watched, because watched attention runs another kernel, whose results differ in the last digits.
    """
    with torch.inference_mode():
        return [_array(_encode(translator, batch).vectors[0, : len(batch.rows[0])]) for batch in batches]


def translate_padded(
    translator: Translator,
    request: TranslationRequest,
    target: Sequence[int],
    batches: Sequence[PaddedBatch],
    max_tokens: int,
) -> list[PaddedResult]:
    """Encode the first sentence of each batch, score `target`, and translate greedily up to `max_tokens`."""
    model, prepared, results = translator.model, translator.checker.prepare([request]), []
    encoder_paths = [f"{attention_path('encoder', layer)}.weights" for layer in range(model.config.encoder_layers)]
    cross_paths = [f"{attention_path('cross', layer)}.weights" for layer in range(model.config.decoder_layers)]
    for batch in batches:
        tokens = len(batch.rows[0])
        with torch.inference_mode(), watch(model, *encoder_paths, *cross_paths) as activations:
            memory = _encode(translator, batch)
            log_probabilities = _score_target(model, memory, target)
        with torch.inference_mode():
            output = _translate_greedily(translator, prepared, model.decoder, memory, max_tokens)
        results.append(
            PaddedResult(
                _stack_maps(activations, encoder_paths)[:, :, :tokens],
                log_probabilities,
                _stack_maps(activations, cross_paths),
                output,
            )
        )
    return results


# ---------------------------------------------------------------- helpers of both masks


def _encode(translator: Translator, batch: PaddedBatch) -> Memory:
    """Return the encoder output of the first sentence of a batch."""
    model = translator.model
    ids = pad_sequences(batch.rows, model.config.pad_id).to(translator.device)
    mask = padding_mask(ids, model.config.pad_id)
    return _first_row(Memory(model.encoder(ids, mask if batch.encoder else None), mask if batch.cross else None))


def _translate_greedily(
    translator: Translator, batch: PreparedBatch, step: DecoderStep, memory: Memory, max_tokens: int
) -> GreedyOutput:
    """Translate greedily, with the decoding rules of the request."""
    config, defaults, device = translator.model.config, translator.generation_defaults, translator.device
    limits = [min(batch.limits[0], max(max_tokens, len(batch.prefixes[0]) + 1))]
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


def _score_target(model: Transformer, memory: Memory, target: Sequence[int]) -> FloatArray:
    """Return the log probability of each target token, given the tokens before it."""
    ids = torch.tensor([[model.config.start_id, *target[:-1]]], device=memory.vectors.device)
    logits = model.decoder(ids, model.decoder.new_state(memory, cached=False))[0]
    return _array(logits.float().log_softmax(dim=-1)[range(len(target)), list(target)])


def _first_row(memory: Memory) -> Memory:
    """Return the memory of the first sentence of a batch."""
    return Memory(memory.vectors[:1], None if memory.mask is None else memory.mask[:1])


def _stack_maps(activations: Watched, paths: Sequence[str]) -> FloatArray:
    """Stack the watched weights of the first sentence, `[layer, head, query, key]`."""
    return np.stack([_array(activations[path][0]) for path in paths])


def _array(tensor: Tensor) -> FloatArray:
    return np.asarray(tensor.float().cpu().numpy(), dtype=np.float32)
