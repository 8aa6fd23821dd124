"""When a model says that a sentence is beyond it: the floor, its rates, its file, its way into a translation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from headlight.model.commands.confidence import mean_log_probabilities
from headlight.model.commands.main import main
from headlight.model.errors import CheckpointError
from headlight.model.folders.checkpoint import save_checkpoint
from headlight.model.foreign.loading import load_checkpoint
from headlight.model.translate.reliability import FILE, ConfidenceRule, choose_floor, load_rule, measure_floor
from headlight.model.translate.translator import Translator
from tests.tiny import SENTENCES, tiny_translator

RULE = ConfidenceRule(floor=-1.5, hit_rate=0.75, false_alarm_rate=0.125, foreign="news.de", everyday="test.de")


def test_the_floor_is_the_highest_that_spares_the_everyday() -> None:
    everyday = [-0.1, -0.2, -0.3, -0.4, -0.5]
    assert choose_floor(everyday, [-1.0], most_false_alarms=0.0) == -0.5  # nothing lies below it
    assert choose_floor(everyday, [-1.0], most_false_alarms=0.2) == -0.4
    assert choose_floor(everyday, [-1.0], most_false_alarms=0.39) == -0.4
    with pytest.raises(CheckpointError, match="needs everyday sentences"):
        choose_floor([], [-1.0], most_false_alarms=0.1)


def test_rates_by_hand() -> None:
    rule = measure_floor(-0.5, [-0.1, -0.5, -0.6, -0.2], [-0.4, -0.9, -2.0], names=("a", "b"))
    assert rule.false_alarm_rate == 1 / 4
    assert rule.hit_rate == pytest.approx(2 / 3)
    assert (rule.everyday, rule.foreign) == ("a", "b")


def test_a_translation_is_beyond_where_its_mean_lies_below_the_floor() -> None:
    assert RULE.beyond(-1.51 * 7, 7)
    assert not RULE.beyond(-1.49 * 7, 7)
    assert not RULE.beyond(0.0, 0)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [("{", "is not JSON"), ("[]", "must hold floor"), ('{"floor": -1.0}', "must hold floor"),
     (RULE.to_json().replace("-1.5", '"low"'), "must hold floor")],
)  # fmt: skip
def test_a_broken_rule_is_explained(tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / FILE).write_text(text, encoding="utf-8")
    with pytest.raises(CheckpointError, match=complaint):
        load_rule(tmp_path)


def test_the_rule_travels_with_its_folder_into_every_translation(tmp_path: Path) -> None:
    plain = tiny_translator()
    assert plain.translate(SENTENCES[0]).beyond is None
    means = [each.log_probability / len(each.target_tokens) for each in plain.translate_batch(SENTENCES)]
    rule = replace(RULE, floor=sorted(means)[3] - 1e-4)
    tokenizers = plain.source_tokenizer, plain.target_tokenizer
    save_checkpoint(tmp_path / "m", plain.model, *tokenizers, storage="float32", others={FILE: rule.to_json()})
    translator = Translator.load(tmp_path / "m", "cpu")
    assert translator.rule == rule
    answers = translator.translate_batch(SENTENCES)
    assert [answer.beyond for answer in answers] == [mean < rule.floor for mean in means]
    assert {answer.beyond for answer in answers} == {True, False}
    (tmp_path / "m" / FILE).write_text("{}", encoding="utf-8")
    with pytest.raises(CheckpointError, match="differs from its checksum"):
        load_checkpoint(tmp_path / "m")


def test_the_command_measures_what_the_translations_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    translator = tiny_translator()
    monkeypatch.setattr(Translator, "load", lambda *_: translator)
    for name, lines in {"a.de": SENTENCES, "b.de": SENTENCES[:3], "c.de": SENTENCES[2:]}.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    means = mean_log_probabilities(translator, list(SENTENCES), beam=1)
    answers = [translator.translate(sentence) for sentence in SENTENCES]
    assert means == pytest.approx([each.log_probability / len(each.target_tokens) for each in answers], abs=1e-5)
    files = [str(tmp_path / name) for name in ("a.de", "b.de", "c.de")]
    output = tmp_path / FILE
    arguments = ["confidence", "--model", str(tmp_path), "--everyday", *files[:2], "--foreign", files[2]]
    assert main([*arguments, "--false-alarms", "0.3", "--output", str(output)]) == 0
    rule = load_rule(tmp_path)
    assert rule is not None
    assert rule.floor == pytest.approx(sorted(means)[2], abs=1e-5)
    assert rule.false_alarm_rate == pytest.approx(sum(mean < rule.floor - 1e-6 for mean in means[:3]) / 3)
    assert "Below a mean log probability of" in capsys.readouterr().out
    assert main([*arguments, "--false-alarms", "1.5"]) == 2
