"""Agreement of predicted and measured effects of heads, against runs without each head."""

from __future__ import annotations

import math

import pytest

from headlight.model.experiments.effect_agreement import EffectAgreement, effect_agreement, mean_agreement
from headlight.model.experiments.effects import compute_sentence_head_effects
from headlight.model.experiments.importance import all_heads
from headlight.model.measures.rank_agreement import spearman
from headlight.model.records import KINDS, Intervention
from tests.tiny import SENTENCES, tiny_translator


@pytest.mark.parametrize("text", SENTENCES[:2])
def test_agreement_matches_runs_without_each_head(text: str) -> None:
    translator = tiny_translator()
    answer = translator.translate(text, max_length=7)
    agreement = effect_agreement(translator, answer)
    ids = tuple(token.id for token in answer.target_tokens)
    heads = all_heads(translator.model.config)
    sums = compute_sentence_head_effects(translator, answer)
    predicted, losses = {}, {}
    for part in heads:
        assert part.layer is not None
        off = Intervention(kind=part.kind, layer=part.layer, head=part.head, action="remove")
        without = translator.translate(answer.request.text, target=ids, interventions=(off,))
        losses[part] = answer.log_probability - without.log_probability
        predicted[part] = float(sums[part.kind][part.layer, part.head])
    for name in ("all", *KINDS):
        parts = [part for part in heads if name in ("all", part.kind)]
        expected = spearman([predicted[part] for part in parts], [losses[part] for part in parts])
        assert agreement.spearman[name] == pytest.approx(expected, abs=0.02), name
    signs = [predicted[part] * losses[part] > 0 for part in heads if abs(predicted[part]) > 0.05]
    assert (agreement.clear, agreement.same_sign) == (len(signs), sum(signs))


def test_mean_agreement_averages_correlations_and_adds_heads() -> None:
    samples = [
        EffectAgreement({"all": 1.0, "cross": math.nan}, 3, 2),
        EffectAgreement({"all": 0.5, "cross": 0.2}, 5, 5),
    ]
    assert mean_agreement(samples) == EffectAgreement({"all": 0.75, "cross": 0.2}, 8, 7)
    assert mean_agreement([]) == EffectAgreement({}, 0, 0)
