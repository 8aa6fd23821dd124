"""Steadiness of heads: corpus roles match those of sentences, and stored reports are current."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from headlight import Translator
from headlight.model.checkpoints.reports import MAX_BYTES
from headlight.model.commands.main import main
from headlight.model.commands.steadiness import TEXTS, card_section, sample_sentences
from headlight.model.errors import CommandError
from headlight.model.experiments.head_roles import ROLES_FILE, head_roles, read_roles, to_json
from headlight.model.measures.roles import NAMES, ROLES, assign_roles, role_shares
from headlight.model.measures.statistics import STATISTICS, measure
from headlight.model.records import KINDS
from headlight.viz.settings import MODELS

SENTENCES = ("ich mochte ein bier", "ich mochte ein cola", "ein bier")
SHIPPED = sorted(path.parent.name for path in MODELS.glob(f"*/{ROLES_FILE}"))


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load(MODELS / "toy", "cpu")


def mean_of(arrays: list[np.ndarray]) -> np.ndarray:
    """The mean of those that are numbers, cell by cell."""
    stacked = np.stack(arrays)
    found = np.full(stacked.shape[1:], np.nan)
    for cell in np.ndindex(found.shape):
        numbers = [value for value in stacked[(slice(None), *cell)] if not np.isnan(value)]
        if numbers:
            found[cell] = sum(numbers) / len(numbers)
    return found


def test_the_roles_of_a_corpus_are_those_of_its_sentences(translator: Translator) -> None:
    found = head_roles(translator, SENTENCES, "three.tsv")
    assert (found["corpus"], found["sentences"], found["measures"]) == ("three.tsv", 3, list(STATISTICS))
    answers = [translator.translate(text, beam_size=1) for text in SENTENCES]
    for kind in KINDS:
        shares = [role_shares(answer, kind) for answer in answers]
        means = [mean_of([getattr(each, name) for each in shares]) for name in ("shares", "chances")]
        names, _ = assign_roles(kind, means[0], means[1], np.mean([each.coverage for each in shares], axis=0))
        alone = [assign_roles(kind, each.shares, each.chances, each.coverage)[0] for each in shares]
        values = {name: [measure(answer, kind, name) for answer in answers] for name in STATISTICS}
        for layer, heads in enumerate(found["heads"][kind]):
            for head, each in enumerate(heads):
                role = names[layer, head]
                assert each["role"] == role
                assert each["held"] == pytest.approx(np.mean([one[layer, head] == role for one in alone]), abs=1e-3)
                for place, name in enumerate(STATISTICS):
                    of_head = [float(value[layer, head]) for value in values[name] if not np.isnan(value[layer, head])]
                    if not of_head:
                        assert each["means"][place] is None
                        continue
                    assert each["means"][place] == pytest.approx(np.mean(of_head), abs=2e-3)
                    assert each["spreads"][place] == pytest.approx(np.std(of_head), abs=2e-3)
                if role in ROLES[kind]:
                    number = ROLES[kind].index(role)
                    done = [float(np.nan_to_num(one.shares[layer, head, number], nan=-1)) for one in shares]
                    assert done[each["examples"][0]] == pytest.approx(max(done), abs=1e-5)
                assert sorted(each["examples"]) == [0, 1, 2]
    assert found["texts"] == {str(number): text for number, text in enumerate(SENTENCES)}
    assert json.loads(to_json(found)) == found


def test_without_sentences_there_is_nothing_to_measure(translator: Translator) -> None:
    with pytest.raises(CommandError, match="no sentences"):
        head_roles(translator, [], "none.tsv")


def test_sentences_are_spread_evenly_over_a_table(tmp_path: Path) -> None:
    table = tmp_path / "table.tsv"
    table.write_text("de\ten\n" + "".join(f"{number}\tx\n" for number in range(9)), encoding="utf-8")
    assert sample_sentences(table, "de", 3) == ["0", "3", "6"]
    assert len(sample_sentences(table, "de", 100)) == 9
    with pytest.raises(CommandError, match=r"no column 'fr'.*de, en"):
        sample_sentences(table, "fr")


def test_a_model_without_kept_roles_has_none_and_neither_has_one_that_brings_too_much(tmp_path: Path) -> None:
    assert read_roles(tmp_path) is None
    (tmp_path / ROLES_FILE).write_text("{}" + " " * MAX_BYTES, encoding="utf-8")
    assert read_roles(tmp_path) is None


def test_the_command_says_how_many_heads_have_each_role(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    table = tmp_path / "table.tsv"
    table.write_text("de\n" + "".join(f"{text}\n" for text in SENTENCES), encoding="utf-8")
    assert main(["steadiness", "--model", str(MODELS / "toy"), "--texts", str(table), "--column", "de"]) == 0
    said = capsys.readouterr().out
    assert "over 3 sentences of table.tsv" in said
    assert main(["steadiness", "--model", str(MODELS / "toy"), "--texts", str(table), "--column", "xx"]) == 2
    assert "no column 'xx'" in capsys.readouterr().err


# ---------------------------------------------------------------- what ships


@pytest.mark.parametrize("name", SHIPPED)
def test_what_ships_says_something_of_every_head(name: str) -> None:
    found = read_roles(MODELS / name)
    assert found is not None
    config = json.loads((MODELS / name / "config.json").read_text(encoding="utf-8"))["config"]
    decoder = config["decoder_layers"]
    layers = {"encoder": config["encoder_layers"], "decoder": decoder, "cross": decoder}
    assert found["measures"] == list(STATISTICS)
    named = Counter(head["role"] for kind in KINDS for layer in found["heads"][kind] for head in layer)
    for kind in KINDS:
        assert [len(layer) for layer in found["heads"][kind]] == [config["heads"]] * layers[kind]
        for head in (head for layer in found["heads"][kind] for head in layer):
            assert head["role"] in {*ROLES[kind], "spreads", "unclear"}
            assert len(head["means"]) == len(head["spreads"]) == len(STATISTICS)
            assert all(str(number) in found["texts"] for number in head["examples"])
    assert named.keys() <= set(NAMES)
    assert max(named.values()) <= named.total() / 2  # no rule puts most heads in one class
    assert card_section(found).strip() in (MODELS / name / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", SHIPPED[:1])
def test_what_ships_is_what_the_model_does(name: str) -> None:
    """A head of each kind does its role in its first example at least as much as on average: measured again."""
    found = read_roles(MODELS / name)
    assert found is not None
    translator = Translator.load(MODELS / name, "cpu")
    for kind in KINDS:
        heads = [
            (layer, head, kept)
            for layer, of_layer in enumerate(found["heads"][kind])
            for head, kept in enumerate(of_layer)
            if kept["role"] in ROLES[kind]
        ]
        if not heads:
            continue
        layer, head, kept = max(heads, key=lambda each: each[2]["share"])
        answer = translator.translate(found["texts"][str(kept["examples"][0])], beam_size=1)
        share = role_shares(answer, kind).shares[layer, head, ROLES[kind].index(kept["role"])]
        assert share >= kept["share"] - 0.05  # another processor may write another word


def test_the_sentences_that_ship_are_those_of_the_small_corpus() -> None:
    for name in SHIPPED:
        found = read_roles(MODELS / name)
        assert found is not None
        if found["corpus"] == TEXTS.name:
            texts = sample_sentences(TEXTS, name.partition("-")[0], found["sentences"])
            assert found["texts"] == {number: texts[int(number)] for number in found["texts"]}
