"""Faithfulness: curves match masked sentences, and reports describe the measurement."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headlight.model.commands.main import main
from headlight.model.experiments import faithfulness
from headlight.model.experiments.attribution import attribute, attribution_query, list_removable_words
from headlight.model.experiments.faithfulness import (
    agreement,
    evaluate_corpus,
    make_report,
    measure_erasure_curve,
    measure_random_baseline,
    sample_random_orders,
    sort_for_removal,
)
from headlight.model.intervention_records import InputChange
from tests.tiny import SENTENCES, tiny_translator

TEXT, TARGET = SENTENCES[0], "The dog is here."


def test_erasure_curve_matches_masked_sentences() -> None:
    translator = tiny_translator()
    answer = translator.translate(TEXT, target=TARGET)
    question = attribution_query(translator, answer, (2,))
    order = list(reversed(list_removable_words(answer)))
    curve = measure_erasure_curve(question, order)
    assert len(curve) == len(order) + 1
    assert curve[0] == pytest.approx(answer.target_tokens[2].probability, abs=1e-4)
    masks = []
    for count, place in enumerate(order[:2], start=1):
        tokens = [answer.source_tokens[position] for position in question.words[place].positions]
        masks.append(InputChange(action="mask", start=tokens[0].start, end=tokens[-1].end))
        masked = translator.translate(TEXT, target=TARGET, interventions=tuple(masks))
        assert curve[count] == pytest.approx(masked.target_tokens[2].probability, abs=1e-4)


def test_long_curves_hide_several_words_per_step(monkeypatch: pytest.MonkeyPatch) -> None:
    translator = tiny_translator()
    question = attribution_query(translator, translator.translate(TEXT, target=TARGET), (2,))
    order = list_removable_words(question.translation)
    exact = measure_erasure_curve(question, order)
    monkeypatch.setattr(faithfulness, "MAX_CURVE_POINTS", 2)
    coarse = measure_erasure_curve(question, order)
    assert len(coarse) == len(exact)
    middle = round(len(order) / 2)
    assert [coarse[at] for at in (0, middle, -1)] == pytest.approx([exact[at] for at in (0, middle, -1)], abs=1e-5)


def test_orders_contain_every_word_once() -> None:
    translator = tiny_translator()
    question = attribution_query(translator, translator.translate(TEXT, target=TARGET), (2,))
    places = list_removable_words(question.translation)
    assert all(sorted(order) == places for order in sample_random_orders(question))
    assert sample_random_orders(question) == sample_random_orders(question)
    scores = [float(-place) for place in range(len(question.words))]
    assert sort_for_removal(question, scores) == places
    assert agreement(question, scores, scores) == (1.0, 1.0)
    assert agreement(question, scores, [-score for score in scores])[0] == -1.0


def test_erasure_order_starts_with_most_important_word() -> None:
    """By construction: erasing the first word of this order reduces the probability most."""
    translator = tiny_translator()
    question = attribution_query(translator, translator.translate(TEXT, target=TARGET), (2,))
    order = sort_for_removal(question, attribute(question, "erasure").scores)
    first = measure_erasure_curve(question, order)[1]
    others = [
        measure_erasure_curve(question, [place, *[other for other in order if other != place]])[1] for place in order
    ]
    assert first == pytest.approx(min(others), abs=1e-6)
    assert len(measure_random_baseline(question)) == len(order) + 1


def test_report_has_every_method_with_bounds() -> None:
    translator = tiny_translator()
    methods = ("average", "rollout", "erasure")
    tally = list(evaluate_corpus(translator, [TEXT, "Ja.", SENTENCES[2]], methods))[-1]
    report = make_report(tally)
    assert report.sentences >= 1
    assert set(report.methods) == set(methods)
    for method in report.methods.values():
        assert method.low <= method.area <= method.high
        assert len(method.curve) == faithfulness.MEAN_CURVE_POINTS
        assert method.curve[0] == pytest.approx(report.chance[0])  # no word is hidden
        assert method.curve[-1] == pytest.approx(report.chance[-1])  # all words are hidden
    assert all(report.tau[name][name] == pytest.approx(1) for name in methods)
    assert all(report.overlap[name][name] == 1 for name in methods)


def test_faithfulness_command_writes_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "new" / "toy.json"
    table = tmp_path / "few.tsv"
    table.write_text(
        "de\ten\nich mochte ein bier\ti want a beer .\nich mochte ein cola\ti want a coke .\n", encoding="utf-8"
    )
    arguments = ["--model", "toy", "--file", str(table), "--column", "de", "--device", "cpu", "--output", str(path)]
    arguments += ["--methods", "average,erasure"]
    code = main(["faithfulness", *arguments])
    output = capsys.readouterr()
    assert code == 0, output.err
    report = json.loads(path.read_text(encoding="utf-8"))
    assert report["weights"]
    assert set(report["methods"]) == {"average", "erasure"}
    assert "erasure" in output.out


def test_missing_column_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["faithfulness", "--model", "toy", "--column", "xx"]) == 2
    assert "xx" in capsys.readouterr().err
