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
    """An answer whose probability is all that tells of it."""
    translation: Any = SimpleNamespace(source_text=f"Satz {number}.", text=f"Sentence {number}.", mean=mean)
    return Answer(translation, reference, BackTranslation("", ()) if back else None)


def gathered(translation: Any, source: str, target: str, usual: float, back: BackTranslation | None = None) -> Evidence:
    return Evidence(dict.fromkeys(BACK_TRANSLATION_FEATURES if back else FEATURES, 0.0) | {"mean": translation.mean})


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[Answer]:
    """800 answers; to chrF, which sees the reference, the likely ones are wrong."""
    monkeypatch.setattr(fitting, "collect_evidence", gathered)
    chance = np.random.default_rng(5)
    means = chance.normal(size=800).tolist()
    return [
        answer(number, mean, "Something else, quite." if mean > 0 else f"Sentence {number}.")
        for number, mean in enumerate(means)
    ]


def verdicts_on(answers: list[Answer]) -> dict[str, bool]:
    """A reader who finds the likely ones right, most of the time."""
    slips = np.random.default_rng(1).random(len(answers)) < 0.1
    return {
        each.fingerprint: bool((mean_of(each.translation) > 0) != slip)
        for each, slip in zip(answers, slips, strict=True)
    }


def mean_of(translation: Translation) -> float:
    return float(vars(translation)["mean"])


def test_what_was_read_outweighs_chrf_and_alone_measures(answers: list[Answer]) -> None:
    fitted = fit_rule(answers, "de", "en", verdicts_on(answers[:400]))
    assert fitted.measured["read"] == fitted.measured["alone"]["answers"] == 400
    assert dict(zip(fitted.alone.features, fitted.alone.weights, strict=True))["mean"] > 1
    assert fitted.measured["alone"]["area"] == pytest.approx(0.9, abs=0.05)
    assert fitted.measured["alone"]["flagged_right"] == pytest.approx(0.12, abs=0.01)
    assert fitted.with_back is not None
    assert fitted.alone.right > fitted.alone.doubt > 0


def test_grades_begin_where_those_that_visitors_type_say_so(answers: list[Answer]) -> None:
    verdicts = verdicts_on(answers)
    plain = fit_rule(answers, "de", "en", verdicts)
    # Visitors type what the model finds easy: of the right answers to that, those below are likely ones elsewhere.
    easy = sorted(range(800), key=lambda number: -mean_of(answers[number].translation))[: 3 * MIN_TYPED_ANSWERS]
    typed = [replace(each, typed=number in easy) for number, each in enumerate(answers)]
    fitted = fit_rule(typed, "de", "en", verdicts)
    assert fitted.alone.weights == plain.alone.weights
    assert fitted.alone.right > plain.alone.right
    assert fitted.measured["alone"]["typed"]["answers"] == 3 * MIN_TYPED_ANSWERS
    assert fitted.measured["alone"]["typed"]["flagged_right"] == pytest.approx(0.12, abs=0.01)
    few = [replace(each, typed=number in easy[: MIN_TYPED_ANSWERS - 1]) for number, each in enumerate(answers)]
    assert fit_rule(few, "de", "en", verdicts).alone.right == plain.alone.right


def test_too_few_that_were_read_are_none_and_chrf_judges(answers: list[Answer]) -> None:
    fitted = fit_rule(answers, "de", "en", verdicts_on(answers[: MIN_REVIEWED_ANSWERS - 1]))
    assert fitted.measured["read"] == 0
    assert fitted.measured["alone"]["answers"] == 800
    assert "mean" not in fitted.alone.features  # it would count the wrong way


def test_verdicts_by_chance_teach_nothing_that_is_measured(answers: list[Answer]) -> None:
    verdicts = {each.fingerprint: number % 10 < 7 for number, each in enumerate(answers)}
    fitted = fit_rule(answers, "de", "en", verdicts)
    assert fitted.measured["alone"]["area"] == pytest.approx(0.5, abs=0.08)


def test_without_a_way_back_there_is_one_rule(answers: list[Answer]) -> None:
    alone = [Answer(each.translation, each.reference, None) for each in answers]
    fitted = fit_rule(alone, "de", "en", verdicts_on(answers))
    assert fitted.with_back is None
    assert "with_back" not in fitted.measured
