"""Faithfulness: curves match masked sentences, and reports describe the measurement."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headlight.model.commands.main import main
from headlight.model.experiments import faithfulness
from headlight.model.experiments.attribution import attribute, attribution_query, removable_words
from headlight.model.experiments.faithfulness import (
    agreement,
    erasure_curve,
    evaluate_corpus,
    make_report,
    random_baseline,
    random_orders,
    removal_order,
)
from headlight.model.intervention_records import InputChange
from tests.tiny import SENTENCES, tiny_translator

TEXT, TARGET = SENTENCES[0], "The dog is here."


def test_a_curve_is_what_masked_sentences_really_give() -> None:
    translator = tiny_translator()
    answer = translator.translate(TEXT, target=TARGET)
    question = attribution_query(translator, answer, (2,))
    order = list(reversed(removable_words(answer)))
    curve = erasure_curve(question, order)
    assert len(curve) == len(order) + 1
    assert curve[0] == pytest.approx(answer.target_tokens[2].probability, abs=1e-4)
    masks = []
    for count, place in enumerate(order[:2], start=1):
        tokens = [answer.source_tokens[each] for each in question.words[place].places]
        masks.append(InputChange(action="mask", start=tokens[0].start, end=tokens[-1].end))
        masked = translator.translate(TEXT, target=TARGET, interventions=tuple(masks))
        assert curve[count] == pytest.approx(masked.target_tokens[2].probability, abs=1e-4)


def test_of_many_words_several_are_hidden_at_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    translator = tiny_translator()
    question = attribution_query(translator, translator.translate(TEXT, target=TARGET), (2,))
    order = removable_words(question.translation)
    exact = erasure_curve(question, order)
    monkeypatch.setattr(faithfulness, "MAX_CURVE_POINTS", 2)
    coarse = erasure_curve(question, order)
    assert len(coarse) == len(exact)
    middle = round(len(order) / 2)
    assert [coarse[at] for at in (0, middle, -1)] == pytest.approx([exact[at] for at in (0, middle, -1)], abs=1e-5)


def test_orders_hold_every_word_once() -> None:
    translator = tiny_translator()
    question = attribution_query(translator, translator.translate(TEXT, target=TARGET), (2,))
    places = removable_words(question.translation)
    assert all(sorted(order) == places for order in random_orders(question))
    assert random_orders(question) == random_orders(question)
    scores = [float(-place) for place in range(len(question.words))]
    assert removal_order(question, scores) == places
    assert agreement(question, scores, scores) == (1.0, 1.0)
    assert agreement(question, scores, [-score for score in scores])[0] == -1.0


def test_the_erasing_order_takes_more_than_chance_on_average() -> None:
    """By construction: of all first steps, the one that erasure names costs the most."""
    translator = tiny_translator()
    question = attribution_query(translator, translator.translate(TEXT, target=TARGET), (2,))
    order = removal_order(question, attribute(question, "erasure").scores)
    first = erasure_curve(question, order)[1]
    others = [erasure_curve(question, [place, *[each for each in order if each != place]])[1] for place in order]
    assert first == pytest.approx(min(others), abs=1e-6)
    assert len(random_baseline(question)) == len(order) + 1


def test_a_report_has_every_method_with_bounds() -> None:
    translator = tiny_translator()
    methods = ("average", "rollout", "erasure")
    tally = list(evaluate_corpus(translator, [TEXT, "Ja.", SENTENCES[2]], methods))[-1]
    report = make_report(tally)
    assert report.sentences >= 1
    assert set(report.methods) == set(methods)
    for each in report.methods.values():
        assert each.low <= each.area <= each.high
        assert len(each.curve) == faithfulness.MEAN_CURVE_POINTS
        assert each.curve[0] == pytest.approx(report.chance[0])  # nothing is hidden yet
        assert each.curve[-1] == pytest.approx(report.chance[-1])  # everything is
    assert all(report.tau[name][name] == pytest.approx(1) for name in methods)
    assert all(report.overlap[name][name] == 1 for name in methods)


def test_the_command_writes_what_the_page_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "new" / "toy.json"
    table = tmp_path / "few.tsv"
    table.write_text(
        "de\ten\nich mochte ein bier\ti want a beer .\nich mochte ein cola\ti want a coke .\n", encoding="utf-8"
    )
    given = ["--model", "toy", "--file", str(table), "--column", "de", "--device", "cpu", "--output", str(path)]
    given += ["--methods", "average,erasure"]
    code = main(["faithfulness", *given])
    said = capsys.readouterr()
    assert code == 0, said.err
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert kept["weights"]
    assert set(kept["methods"]) == {"average", "erasure"}
    assert "erasure" in said.out


def test_a_column_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["faithfulness", "--model", "toy", "--column", "xx"]) == 2
    assert "xx" in capsys.readouterr().err
