"""The reliability rule of a model: labels take precedence, and scores are cross-validated."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from headlight.model.records import BackTranslation, Translation
from headlight.model.training import reliability_rule as fitting
from headlight.model.training.reliability_rule import MIN_REVIEWED_ANSWERS, MIN_TYPED_ANSWERS, Answer, fit_rule
from headlight.model.translate.evidence import BACK_TRANSLATION_FEATURES, FEATURES, Evidence


def answer(number: int, mean: float, reference: str, back: bool = True) -> Answer:
    """An answer whose only informative feature is its mean log-probability."""
    translation: Any = SimpleNamespace(source_text=f"Satz {number}.", text=f"Sentence {number}.", mean=mean)
    return Answer(translation, reference, BackTranslation("", ()) if back else None)


def fake_evidence(
    translation: Any, source: str, target: str, expected_length: float, back: BackTranslation | None = None
) -> Evidence:
    return Evidence(dict.fromkeys(BACK_TRANSLATION_FEATURES if back else FEATURES, 0.0) | {"mean": translation.mean})


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[Answer]:
    """800 answers; by chrF with the reference, the likely ones are wrong."""
    monkeypatch.setattr(fitting, "collect_evidence", fake_evidence)
    generator = np.random.default_rng(5)
    means = generator.normal(size=800).tolist()
    return [
        answer(number, mean, "Something else, quite." if mean > 0 else f"Sentence {number}.")
        for number, mean in enumerate(means)
    ]


def human_verdicts(answers: list[Answer]) -> dict[str, bool]:
    """Labels that mark likely answers as right, with 10% noise."""
    flips = np.random.default_rng(1).random(len(answers)) < 0.1
    return {
        each.fingerprint: bool((mean_feature(each.translation) > 0) != flip)
        for each, flip in zip(answers, flips, strict=True)
    }


def mean_feature(translation: Translation) -> float:
    return float(vars(translation)["mean"])


def test_human_verdicts_replace_chrf_labels(answers: list[Answer]) -> None:
    rule = fit_rule(answers, "de", "en", human_verdicts(answers[:400]))
    assert rule.measured["read"] == rule.measured["alone"]["answers"] == 400
    assert dict(zip(rule.alone.features, rule.alone.weights, strict=True))["mean"] > 1
    assert rule.measured["alone"]["area"] == pytest.approx(0.9, abs=0.05)
    assert rule.measured["alone"]["flagged_right"] == pytest.approx(0.12, abs=0.01)
    assert rule.with_back is not None
    assert rule.alone.right > rule.alone.doubt > 0


def test_thresholds_come_from_typed_sentences(answers: list[Answer]) -> None:
    verdicts = human_verdicts(answers)
    plain = fit_rule(answers, "de", "en", verdicts)
    # Visitors type sentences that are easy for the model, so the threshold of right answers is higher for them.
    easy = sorted(range(800), key=lambda number: -mean_feature(answers[number].translation))[: 3 * MIN_TYPED_ANSWERS]
    typed = [replace(each, typed=number in easy) for number, each in enumerate(answers)]
    rule = fit_rule(typed, "de", "en", verdicts)
    assert rule.alone.weights == plain.alone.weights
    assert rule.alone.right > plain.alone.right
    assert rule.measured["alone"]["typed"]["answers"] == 3 * MIN_TYPED_ANSWERS
    assert rule.measured["alone"]["typed"]["flagged_right"] == pytest.approx(0.12, abs=0.01)
    few = [replace(each, typed=number in easy[: MIN_TYPED_ANSWERS - 1]) for number, each in enumerate(answers)]
    assert fit_rule(few, "de", "en", verdicts).alone.right == plain.alone.right


def test_too_few_verdicts_fall_back_to_chrf(answers: list[Answer]) -> None:
    rule = fit_rule(answers, "de", "en", human_verdicts(answers[: MIN_REVIEWED_ANSWERS - 1]))
    assert rule.measured["read"] == 0
    assert rule.measured["alone"]["answers"] == 800
    assert "mean" not in rule.alone.features  # its weight would have the wrong sign


def test_random_verdicts_give_chance_area(answers: list[Answer]) -> None:
    verdicts = {each.fingerprint: number % 10 < 7 for number, each in enumerate(answers)}
    rule = fit_rule(answers, "de", "en", verdicts)
    assert rule.measured["alone"]["area"] == pytest.approx(0.5, abs=0.08)


def test_without_back_translations_one_rule_is_fitted(answers: list[Answer]) -> None:
    forward_only = [Answer(each.translation, each.reference, None) for each in answers]
    rule = fit_rule(forward_only, "de", "en", human_verdicts(answers))
    assert rule.with_back is None
    assert "with_back" not in rule.measured


def test_carelessly_typed_sentences_have_a_threshold_of_their_own(answers: list[Answer]) -> None:
    verdicts = human_verdicts(answers)
    easy = sorted(range(800), key=lambda number: -mean_feature(answers[number].translation))[: 4 * MIN_TYPED_ANSWERS]
    typed = [replace(each, typed=number in easy) for number, each in enumerate(answers)]
    variants = []
    for number, each in enumerate(answers[: 2 * MIN_TYPED_ANSWERS]):
        values = vars(each.translation) | {"source_text": f"satz {number}", "mean": mean_feature(each.translation) - 1}
        translation: Any = SimpleNamespace(**values)
        origin = each.translation.source_text
        variants.append(replace(each, translation=translation, typed=True, origin=origin))
        verdicts[variants[-1].fingerprint] = verdicts[each.fingerprint]
    without = fit_rule(typed, "de", "en", verdicts)
    assert without.alone.careless is None
    rule = fit_rule([*typed, *variants], "de", "en", verdicts)
    assert rule.alone.careless is not None
    assert rule.alone.doubt <= rule.alone.careless < rule.alone.right
    measured = rule.measured["alone"]
    assert measured["as_typed"]["answers"] == 2 * MIN_TYPED_ANSWERS
    assert 0.13 < measured["as_typed"]["flagged_right"] <= 0.15
    assert 0.1 < measured["typed"]["flagged_right"] <= 0.12
    assert rule.alone.grade(rule.alone.careless, careless=True) == "right"
    assert rule.alone.grade(rule.alone.careless) == "check"


def test_a_sentence_and_its_variant_are_held_out_together(answers: list[Answer]) -> None:
    variants = [replace(each, origin="Satz 3.") for each in answers[20:23]]
    folds = fitting._folds([*answers[:20], *variants])
    assert folds[:20] == [number % fitting.FOLDS for number in range(20)]
    assert folds[20:] == [folds[3]] * 3
