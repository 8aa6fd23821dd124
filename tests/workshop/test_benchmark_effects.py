"""The benchmark of effects and score parts against separate computations."""

from __future__ import annotations

import statistics

import numpy as np
import pytest
import torch

from headlight.model.experiments.effects import word_effects
from headlight.model.experiments.score_parts import SIDES, Cell, ScorePart, ScoreParts, score_parts, weight_without
from headlight.model.records import KINDS, Translation
from headlight.model.translate.translator import Translator
from tests.tiny import CORPUS, SENTENCES, tiny_translator
from workshop.benchmarks import effects, report

PLACE = 4


@pytest.fixture(scope="module")
def translator() -> Translator:
    return tiny_translator()


@pytest.fixture(scope="module")
def answers(translator: Translator) -> list[Translation]:
    return [translator.translate(text, max_length=7) for text in SENTENCES[:2]]


def test_random_sentences_are_the_same_rows_in_each_language() -> None:
    rows = [line.split("\t") for line in CORPUS.read_text(encoding="utf-8").splitlines()[1:]]
    german, chinese = (effects.random_sentences(CORPUS, column, 9) for column in ("de", "zh"))
    assert german == effects.random_sentences(CORPUS, "de", 9)
    assert len(set(german)) == 9
    assert {(row[0], row[2]) for row in rows} >= set(zip(german, chinese, strict=True))


def test_plain_pass_returns_log_probability_and_gradient(translator: Translator, answers: list[Translation]) -> None:
    forward, backward = effects.make_plain_pass(translator, answers[0], PLACE)
    outputs = forward()
    (word_effect,) = word_effects(translator, answers[0], [PLACE])
    assert float(outputs[0].detach()) == pytest.approx(word_effect.score, abs=1e-5)
    source, target = backward(outputs)
    assert source.shape[1] == len(answers[0].source_tokens)
    assert target.shape[1] == len(answers[0].target_tokens)
    assert bool(source.any(dim=-1).all())
    assert bool(target[0, : PLACE + 1].any(dim=-1).all())
    assert not target[0, PLACE + 1 :].any()  # later words cannot affect this one


@pytest.mark.slow
def test_cost_is_measured_in_pairs(translator: Translator) -> None:
    result = effects.cost(translator, SENTENCES[0], 2, lambda message: None)
    assert set(result["seconds"]) == {"forward", "pass", "effects", "account"}
    assert {name: ratio["pairs"] for name, ratio in result["ratio"].items()} == {"effects": 2, "account": 2}


def test_random_cells_are_unmasked_with_other_keys(answers: list[Translation]) -> None:
    cells = list(effects.sample_cells(answers, 200))
    assert cells == list(effects.sample_cells(answers, 200))
    assert {cell.kind for _, cell in cells} == set(KINDS)
    assert {translation.source_text for translation, _ in cells} == {answer.source_text for answer in answers}
    for translation, cell in cells:
        allowed = translation.attention_map(cell.kind, cell.layer, cell.head).allowed[cell.row]
        assert allowed[cell.column]
        assert allowed.sum() > 1
    assert {cell.kind for _, cell in effects.sample_cells(answers, 9, ("encoder",))} == {"encoder"}


def test_part_directions_are_counted_per_side_and_kind(translator: Translator, answers: list[Translation]) -> None:
    directions = effects.count_part_directions(translator, answers, 12)
    cells = list(effects.sample_cells(answers, 12))
    for side in SIDES:
        for kind in KINDS:
            right = []
            for translation, cell in cells:
                if cell.kind != kind:
                    continue
                parts = [
                    each for each in score_parts(translator, translation, cell, side).parts if each.writer != "biases"
                ]
                largest = max(parts, key=lambda part: abs(part.value))
                weight, without = weight_without(translator, translation, cell, side, [largest])
                right.append(np.sign(weight - without) == np.sign(largest.value))
            assert directions[side][kind] == {"cells": len(right), "right": sum(right)}


@pytest.mark.parametrize(
    ("value", "without", "expected"),
    [(2.0, 0.1, True), (2.0, 0.5, False), (-2.0, 0.5, True), (-2.0, 0.1, False), (2.0, 0.3, False)],
)
def test_prediction_holds_if_weight_falls_without_supporting_part(
    value: float,
    without: float,
    expected: bool,
    translator: Translator,
    answers: list[Translation],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parts = (ScorePart(writer="biases", value=9.0), ScorePart(writer="word", value=value))
    monkeypatch.setattr(effects, "score_parts", lambda *_: ScoreParts("key", 9.0 + value, parts))
    monkeypatch.setattr(effects, "weight_without", lambda *_: [0.3, without])
    assert effects.has_predicted_direction(translator, answers[0], Cell("encoder", 0, 0, 0, 1), "key") is expected


def test_explained_shares_sum_the_three_largest_parts(translator: Translator, answers: list[Translation]) -> None:
    layers = effects.measure_explained_shares(translator, answers, 20)
    for layer, layer_result in enumerate(layers):
        shares = []
        for translation, cell in effects.sample_cells(answers, 20, ("encoder",)):
            parts = score_parts(translator, translation, cell, "key")
            if cell.layer == layer and abs(parts.score) >= 0.5:
                largest = sorted((part.value for part in parts.parts), key=abs)[-3:]
                shares.append(sum(largest) / parts.score)
        assert layer_result["cells"] == len(shares)
        if shares:
            assert layer_result["mean"] == pytest.approx(statistics.fmean(shares))
            assert layer_result["reason"] == statistics.fmean(0.5 <= share <= 1.5 for share in shares)


@pytest.mark.slow
def test_effects_section_measures_each_model_in_its_language(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Translator, "load", lambda *_, **__: translator)
    messages: list[str] = []
    result = effects.measure(2, 4, 1, messages.append, torch.get_num_threads())
    assert list(result["models"]) == ["de-en", "zh-en"]
    assert "zh-en, parts of scores" in " ".join(messages)
    for model in result["models"].values():
        assert sum(count["cells"] for count in model["directions"]["key"].values()) == 4
        assert len(model["explained"]) == translator.model.config.encoder_layers
    assert "## Effects, accounts and parts of a score" in report.render_effects(result)
