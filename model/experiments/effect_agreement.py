"""Agreement between predicted effects of heads and the losses measured without each head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from headlight.model.experiments.effects import compute_sentence_head_effects
from headlight.model.experiments.importance import all_heads, measure_all_ablation_losses
from headlight.model.measures.rank_agreement import spearman
from headlight.model.records import KINDS, Translation
from headlight.model.translate.translator import Translator

MIN_EFFECT = 0.05  # nats: smaller predictions have no clear sign


@dataclass(frozen=True)
class EffectAgreement:
    """Agreement over the heads of one or more translations: mean correlations, and total counts of heads."""

    spearman: Mapping[str, float]  # "all" heads or kind → correlation; NaN if a ranking is constant
    clear: int  # heads with a predicted effect beyond ±MIN_EFFECT
    same_sign: int  # `clear` heads whose measured loss has the sign of the prediction


def effect_agreement(translator: Translator, translation: Translation) -> EffectAgreement:
    """Compare the predicted effect of every head on a translation with its measured loss."""
    heads = all_heads(translator.model.config)
    effects = compute_sentence_head_effects(translator, translation)
    predicted = np.array([effects[part.kind][part.layer, part.head] for part in heads])
    measured = np.array(measure_all_ablation_losses(translator, translation, [(part,) for part in heads]))
    groups = {"all": np.full(len(heads), True)} | {
        kind: np.array([part.kind == kind for part in heads]) for kind in KINDS
    }
    is_clear = np.abs(predicted) > MIN_EFFECT
    return EffectAgreement(
        {name: spearman(predicted[group].tolist(), measured[group].tolist()) for name, group in groups.items()},
        int(is_clear.sum()),
        int((np.sign(predicted) == np.sign(measured))[is_clear].sum()),
    )


def mean_agreement(samples: Sequence[EffectAgreement]) -> EffectAgreement:
    """Summarise the agreement over the translations of `samples`."""
    names = samples[0].spearman if samples else ()
    return EffectAgreement(
        {name: float(np.nanmean([sample.spearman[name] for sample in samples])) for name in names},
        sum(sample.clear for sample in samples),
        sum(sample.same_sign for sample in samples),
    )
