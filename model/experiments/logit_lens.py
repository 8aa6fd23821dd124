"""Logit lens and direct logit attribution of a target token.

The logit lens applies the final norm and the output matrix to the residual stream after each layer
(https://arxiv.org/abs/2303.08112 describes the method and its limits).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from headlight.model.core.masks import pad_sequences
from headlight.model.core.probes import watch
from headlight.model.errors import range_error
from headlight.model.experiments.trace import run_trace
from headlight.model.measures.direct_effects import LogitTerm, direct_effects, propagate
from headlight.model.measures.trace_records import Float64Array, Trace
from headlight.model.records import Kind, Translation
from headlight.model.translate.translator import Translator

RIVAL_COUNT = 3


@dataclass(frozen=True)
class LayerPrediction:
    """The prediction of one layer at each position of the translation."""

    best_ids: tuple[int, ...]
    best_probabilities: tuple[float, ...]
    probabilities: tuple[float, ...]  # of the written token
    ranks: tuple[int, ...]  # of the written token; 0 if it is this layer's prediction


@dataclass(frozen=True, eq=False)
class LogitDecomposition:
    """The logits of a written token and its rivals, split into terms."""

    ids: tuple[int, ...]  # the written token, then its most likely rivals
    logits: Float64Array  # [ids]
    terms: Sequence[LogitTerm]  # the sum of their effects is `logits`


def logit_lens(translator: Translator, translation: Translation) -> list[LayerPrediction]:
    """Return the predictions of the embedding and of each decoder layer: one more than there are layers."""
    config, decoder = translator.model.config, translator.passes.decoder
    batch = translator.checker.prepare([translation.request])
    ids = [token.id for token in translation.target_tokens]
    inputs = pad_sequences([[config.start_id, *ids[:-1]]], config.pad_id).to(translator.device)
    names = [f"decoder.layers.{layer}.around_feed_forward.stream" for layer in range(config.decoder_layers)]
    names = ["decoder.embedding.stream", *names]
    token_ids = torch.tensor(ids, device=translator.device)[:, None]
    layers = []
    with torch.inference_mode():
        with translator.intervention_context(translation.request)(), watch(translator.model, *names) as activations:
            memory = translator.passes.encode(batch.source_ids, batch.source_mask, padded=batch.padded)
            decoder(inputs, decoder.new_state(memory, cached=False))
        for name in names:
            logits = decoder.output(decoder.final_norm(activations[name]))[0].float()  # [target, vocabulary]
            probabilities = logits.softmax(dim=-1)
            token_probabilities = probabilities.gather(1, token_ids)
            best = probabilities.max(dim=-1)
            layers.append(
                LayerPrediction(
                    tuple(best.indices.tolist()),
                    tuple(best.values.tolist()),
                    tuple(token_probabilities[:, 0].tolist()),
                    tuple((logits > logits.gather(1, token_ids)).sum(dim=-1).tolist()),
                )
            )
    return layers


def decompose_logit(
    translator: Translator, translation: Translation, position: int, trace: Trace | None = None
) -> LogitDecomposition:
    """Return the contribution of every decoder component to the logits of a written token and its rivals."""
    if not 0 <= position < len(translation.target_tokens):
        raise range_error("place", position, 0, len(translation.target_tokens) - 1)
    trace = trace or run_trace(translator, translation)
    token_id = translation.target_tokens[position].id
    order = trace.logits[position].argsort()[::-1][: RIVAL_COUNT + 1]
    ids = (token_id, *[int(candidate) for candidate in order if candidate != token_id][:RIVAL_COUNT])
    projection = translator.model.decoder.output.words
    terms = direct_effects(trace, position, _rows(projection.weight, ids), _biases(projection.bias, ids))
    return LogitDecomposition(ids, trace.logits[position, list(ids)], terms)


def key_contributions(
    translator: Translator, translation: Translation, kind: Kind, layer: int, head: int, position: int, trace: Trace
) -> tuple[Float64Array, Float64Array | None]:
    """Return the output of each key through one head, `[keys, d_model]`, and its direct effect on the token's logit.

    The effect is None for encoder heads, which have no direct effect on logits.
    """
    if kind == "encoder":
        return trace.encoder[layer].key_outputs(head, position), None
    block = trace.decoder[layer]
    attention = block.self_attention if kind == "decoder" else block.cross_attention
    outputs = attention.key_outputs(head, position)
    row = _rows(translator.model.decoder.output.words.weight, (translation.target_tokens[position].id,))[0]
    effects: Float64Array = propagate(trace, kind, layer, position, outputs) @ row
    return outputs, effects


def promoted_tokens(
    translator: Translator, trace: Trace, kind: Kind, layer: int, position: int, outputs: Float64Array, count: int
) -> list[tuple[int, float]]:
    """Return the `count` tokens whose logits a head output raises most (direct effect), each with its increase."""
    propagated = torch.from_numpy(propagate(trace, kind, layer, position, outputs))
    weight = translator.model.decoder.output.words.weight  # [vocabulary, d_model]
    with torch.inference_mode():
        top = (weight @ propagated.to(weight)).float().topk(count)
    return list(zip(top.indices.tolist(), top.values.tolist(), strict=True))


def _rows(weight: Any, ids: Sequence[int]) -> Float64Array:
    result: Float64Array = weight.detach()[list(ids)].double().cpu().numpy()
    return result


def _biases(bias: Any, ids: Sequence[int]) -> Float64Array:
    return _rows(torch.zeros(max(ids) + 1) if bias is None else bias, ids)
