"""Effects of all attention weights on a written word, predicted by one backward pass.

The effect of a cell is its attention weight times the gradient of the word's log probability y with respect to it,
α · ∂y/∂α: a first-order prediction of how much y falls if the weight is zero (attribution patching, Nanda 2023,
https://www.neelnanda.io/mechanistic-interpretability/attribution-patching). The cells of a head sum to the head's
output times its gradient. With a rival token, y is log p(word) − log p(rival), the difference of their logits;
LIKELIEST stands for the likeliest other token of the step.

Predictions rank heads well, but misjudge the size of effects if the word's probability is near 1. `measured_effects`
runs the model without the heads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from headlight.model.core.probes import watch
from headlight.model.core.transformer import attention_path
from headlight.model.errors import range_error
from headlight.model.experiments.importance import Ablation, AttentionPart, compute_logits_without
from headlight.model.experiments.scoring import choose_gradient_batch_size, compute_forced_logits
from headlight.model.measures.trace_records import Float64Array
from headlight.model.records import KINDS, Kind, Translation
from headlight.model.translate.translator import Translator

LIKELIEST: Final = "likeliest"
Rival = int | Literal["likeliest"] | None  # a token ID, the likeliest other token, or none


@dataclass(frozen=True)
class WordEffects:
    """The effects on one written word, in nats: positive values support it (against the rival, if there is one)."""

    position: int  # of the word in the translation
    score: float  # y: log p(word), or log p(word) − log p(rival)
    cells: dict[Kind, Float64Array]  # kind → [layers, heads, queries, keys]

    def heads(self, kind: Kind) -> Float64Array:
        """Return the effect of each head of a kind, `[layers, heads]`: the sum over its cells."""
        sums: Float64Array = self.cells[kind].sum(axis=(2, 3), dtype=np.float64)
        return sums


@dataclass(frozen=True, kw_only=True)
class HeadEffect(AttentionPart):
    """The effect of one head on a word, in nats, and the cell that contributes most to it."""

    predicted: float
    measured: float  # loss without the head
    row: int
    column: int
    cell: float  # predicted effect of the cell


class EffectSummary(NamedTuple):
    """The predicted effects of all heads on one word, and the largest ones with their measured values."""

    heads: dict[Kind, Float64Array]  # kind → [layers, heads]
    strongest: list[HeadEffect]


def word_effects(
    translator: Translator, translation: Translation, positions: Sequence[int], rival: Rival = None
) -> list[WordEffects]:
    """Return the effects on the tokens at `positions`. The request's interventions apply.

    Tokens share a batch with one row per token, so one backward pass computes the gradients of all of them.
    """
    _check_arguments(translator, translation, positions, rival)
    results: list[WordEffects] = []
    rows_per_batch = choose_gradient_batch_size(
        translator, len(translation.source_tokens), len(translation.target_tokens)
    )
    for start in range(0, len(positions), rows_per_batch):
        results.extend(
            _compute_batch_effects(translator, translation, positions[start : start + rows_per_batch], rival)
        )
    return results


def compute_sentence_effects(
    translator: Translator, translation: Translation, rival: Rival = None
) -> dict[Kind, Float64Array]:
    """Return the effects on y summed over the translation, `{kind: [layers, heads, queries, keys]}`."""

    def score_sentence(logits: Tensor) -> Tensor:
        positions = range(len(translation.target_tokens))
        return _score(logits[0], translation, positions, rival).sum()[None]

    _, cells = _compute_cells(translator, translation, 1, score_sentence)
    return {kind: cells[kind][0] for kind in KINDS}


def compute_sentence_head_effects(translator: Translator, translation: Translation) -> dict[Kind, Float64Array]:
    """Return the effect of each head on the whole translation, `{kind: [layers, heads]}`, a prediction of its loss."""
    return {
        kind: cells.sum(axis=(2, 3), dtype=np.float64)
        for kind, cells in compute_sentence_effects(translator, translation).items()
    }


def make_effect_maps(
    translator: Translator, translation: Translation, kind: Kind, rival: Rival = None, position: int | None = None
) -> Float64Array:
    """Return the effects of all heads of a kind as maps, `[layers, heads, queries, keys]`.

    With a `position`, these are the effects on that token. Without it, each decoder or cross-attention row has the
    effects on the token that it predicts, and encoder rows, which affect all tokens, have those on the translation.
    """
    if position is not None:
        return word_effects(translator, translation, [position], rival)[0].cells[kind]
    if kind == "encoder":
        return compute_sentence_effects(translator, translation, rival)[kind]
    maps: Float64Array = np.zeros(translation.attention.of(kind).shape)
    rows_per_batch = choose_gradient_batch_size(
        translator, len(translation.source_tokens), len(translation.target_tokens)
    )
    positions = range(len(translation.target_tokens))
    for start in range(0, len(positions), rows_per_batch):
        for effects in word_effects(translator, translation, positions[start : start + rows_per_batch], rival):
            maps[:, :, effects.position] = effects.cells[kind][:, :, effects.position]
    return maps


def measured_effects(
    translator: Translator,
    translation: Translation,
    position: int,
    sets: Sequence[Ablation],
    rival: Rival = None,
) -> list[float]:
    """Return by how many nats y of the token at `position` falls without each set of parts."""
    _check_arguments(translator, translation, [position], rival)
    with_all, *without = [
        float(score)
        for logits in compute_logits_without(translator, translation, [(), *sets])
        for score in _score(logits[:, position], translation, [position] * len(logits), rival)
    ]
    return [with_all - score for score in without]


def summarise_effects(
    translator: Translator, translation: Translation, position: int, count: int, rival: Rival = None
) -> EffectSummary:
    """Predict the effect of every head on a word, and measure the `count` largest by runs without the head."""
    (effects,) = word_effects(translator, translation, [position], rival)
    sums = {kind: effects.heads(kind) for kind in KINDS}
    predicted = {
        AttentionPart(kind, *head): float(sums[kind][head]) for kind in KINDS for head in np.ndindex(sums[kind].shape)
    }
    first = sorted(predicted, key=lambda part: -abs(predicted[part]))[:count]
    losses = measured_effects(translator, translation, position, [(part,) for part in first], rival)
    strongest = [
        _make_head_effect(effects, part, predicted[part], loss) for part, loss in zip(first, losses, strict=True)
    ]
    return EffectSummary(sums, strongest)


def _make_head_effect(effects: WordEffects, part: AttentionPart, predicted: float, measured: float) -> HeadEffect:
    cells = effects.cells[part.kind][part.layer, part.head]
    row, column = (int(index) for index in np.unravel_index(np.abs(cells).argmax(), cells.shape))
    values = {"predicted": predicted, "measured": measured, "cell": float(cells[row, column])}
    rounded = {name: round(value, 6) for name, value in values.items()}
    return HeadEffect(part.kind, part.layer, part.head, row=row, column=column, **rounded)


def _compute_batch_effects(
    translator: Translator, translation: Translation, positions: Sequence[int], rival: Rival
) -> list[WordEffects]:
    def score_words(logits: Tensor) -> Tensor:
        return _score(logits[range(len(positions)), list(positions)], translation, positions, rival)

    scores, cells = _compute_cells(translator, translation, len(positions), score_words)
    return [
        WordEffects(position, score, {kind: cells[kind][row] for kind in KINDS})
        for row, (position, score) in enumerate(zip(positions, scores.tolist(), strict=True))
    ]


def _compute_cells(
    translator: Translator, translation: Translation, rows: int, score: Callable[[Tensor], Tensor]
) -> tuple[Tensor, dict[Kind, Float64Array]]:
    """Run the translation in `rows` copies, and return the scores and `{kind: [row, layer, head, query, key]}`.

    `score` maps logits `[row, position, vocabulary]` to y, `[row]`.
    """
    model = translator.model
    names = {
        kind: [f"{attention_path(kind, layer)}.weights" for layer in range(model.config.layer_count(kind))]
        for kind in KINDS
    }
    activations: dict[str, Tensor] = {}

    def track(weights: Tensor, name: str) -> Tensor:
        # Parameters have no gradients, so the graph begins at the first weights. Later weights need a view, because an
        # intervention may copy weights to another head, whose effect is separate.
        activations[name] = weights.view_as(weights) if weights.requires_grad else weights.detach().requires_grad_()
        return activations[name]

    with torch.inference_mode(mode=False), torch.enable_grad(), translator.intervention_context(translation.request)():
        with watch(model, *chain(*names.values()), edit=track):
            logits = compute_forced_logits(translator, translation, len(translation.target_tokens), rows)
        scores = score(logits)
        # Interventions can disconnect weights from the word. `materialize_grads` makes their gradients zero.
        gradients = torch.autograd.grad(
            scores.sum(), list(activations.values()), allow_unused=True, materialize_grads=True
        )
    effects = {
        name: (activations[name] * slope).detach().cpu() for name, slope in zip(activations, gradients, strict=True)
    }
    return scores, {kind: torch.stack([effects[name] for name in names[kind]], dim=1).numpy() for kind in KINDS}


def _score(logits: Tensor, translation: Translation, positions: Sequence[int], rival: Rival) -> Tensor:
    """Map the logits of each row's word, `[rows, vocabulary]`, to y, `[rows]`."""
    float_logits = logits.float()
    ids = torch.tensor([translation.target_tokens[position].id for position in positions], device=logits.device)
    token_logits = float_logits.gather(1, ids[:, None])[:, 0]
    if rival == LIKELIEST:
        return token_logits - float_logits.scatter(1, ids[:, None], -torch.inf).amax(dim=-1)
    return token_logits - (float_logits.logsumexp(dim=-1) if rival is None else float_logits[:, rival])


def _check_arguments(translator: Translator, translation: Translation, positions: Sequence[int], rival: Rival) -> None:
    for position in positions:
        if not 0 <= position < len(translation.target_tokens):
            raise range_error("word", position, 0, len(translation.target_tokens) - 1)
    last = translator.model.config.target_vocabulary - 1
    if isinstance(rival, int) and not 0 <= rival <= last:
        raise range_error("rival", rival, 0, last)
