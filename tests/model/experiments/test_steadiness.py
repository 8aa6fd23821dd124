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


def nan_mean(arrays: list[np.ndarray]) -> np.ndarray:
    """Cell-wise mean over values that are not NaN."""
    stacked = np.stack(arrays)
    means = np.full(stacked.shape[1:], np.nan)
    for cell in np.ndindex(means.shape):
        numbers = [value for value in stacked[(slice(None), *cell)] if not np.isnan(value)]
        if numbers:
            means[cell] = sum(numbers) / len(numbers)
    return means


def test_roles_of_a_corpus_match_its_sentences(translator: Translator) -> None:
    report = head_roles(translator, SENTENCES, "three.tsv")
    assert (report["corpus"], report["sentences"], report["measures"]) == ("three.tsv", 3, list(STATISTICS))
    answers = [translator.translate(text, beam_size=1) for text in SENTENCES]
    for kind in KINDS:
        shares = [role_shares(answer, kind) for answer in answers]
        means = [nan_mean([getattr(each, name) for each in shares]) for name in ("shares", "chances")]
        names, _ = assign_roles(kind, means[0], means[1], np.mean([each.coverage for each in shares], axis=0))
        sentence_roles = [assign_roles(kind, each.shares, each.chances, each.coverage)[0] for each in shares]
        values = {name: [measure(answer, kind, name) for answer in answers] for name in STATISTICS}
        for layer, heads in enumerate(report["heads"][kind]):
            for head, each in enumerate(heads):
                role = names[layer, head]
                assert each["role"] == role
                assert each["held"] == pytest.approx(
                    np.mean([one[layer, head] == role for one in sentence_roles]), abs=1e-3
                )
                for place, name in enumerate(STATISTICS):
                    head_values = [
                        float(value[layer, head]) for value in values[name] if not np.isnan(value[layer, head])
                    ]
                    if not head_values:
                        assert each["means"][place] is None
                        continue
                    assert each["means"][place] == pytest.approx(np.mean(head_values), abs=2e-3)
                    assert each["spreads"][place] == pytest.approx(np.std(head_values), abs=2e-3)
                if role in ROLES[kind]:
                    number = ROLES[kind].index(role)
                    role_shares_by_sentence = [
                        float(np.nan_to_num(one.shares[layer, head, number], nan=-1)) for one in shares
                    ]
                    assert role_shares_by_sentence[each["examples"][0]] == pytest.approx(
                        max(role_shares_by_sentence), abs=1e-5
                    )
                assert sorted(each["examples"]) == [0, 1, 2]
    assert report["texts"] == {str(number): text for number, text in enumerate(SENTENCES)}
    assert json.loads(to_json(report)) == report


def test_empty_corpus_raises(translator: Translator) -> None:
    with pytest.raises(CommandError, match="no sentences"):
        head_roles(translator, [], "none.tsv")


def test_sentences_are_spread_evenly_over_a_table(tmp_path: Path) -> None:
    table = tmp_path / "table.tsv"
    table.write_text("de\ten\n" + "".join(f"{number}\tx\n" for number in range(9)), encoding="utf-8")
    assert sample_sentences(table, "de", 3) == ["0", "3", "6"]
    assert len(sample_sentences(table, "de", 100)) == 9
    with pytest.raises(CommandError, match=r"no column 'fr'.*de, en"):
        sample_sentences(table, "fr")


def test_missing_or_oversized_roles_file_is_ignored(tmp_path: Path) -> None:
    assert read_roles(tmp_path) is None
    (tmp_path / ROLES_FILE).write_text("{}" + " " * MAX_BYTES, encoding="utf-8")
    assert read_roles(tmp_path) is None


def test_steadiness_command_prints_number_of_sentences(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    table = tmp_path / "table.tsv"
    table.write_text("de\n" + "".join(f"{text}\n" for text in SENTENCES), encoding="utf-8")
    assert main(["steadiness", "--model", str(MODELS / "toy"), "--texts", str(table), "--column", "de"]) == 0
    output = capsys.readouterr().out
    assert "over 3 sentences of table.tsv" in output
    assert main(["steadiness", "--model", str(MODELS / "toy"), "--texts", str(table), "--column", "xx"]) == 2
    assert "no column 'xx'" in capsys.readouterr().err


# ---------------------------------------------------------------- bundled models


@pytest.mark.parametrize("name", SHIPPED)
def test_bundled_report_has_every_head(name: str) -> None:
    report = read_roles(MODELS / name)
    assert report is not None
    config = json.loads((MODELS / name / "config.json").read_text(encoding="utf-8"))["config"]
    decoder = config["decoder_layers"]
    layers = {"encoder": config["encoder_layers"], "decoder": decoder, "cross": decoder}
    assert report["measures"] == list(STATISTICS)
    named = Counter(head["role"] for kind in KINDS for layer in report["heads"][kind] for head in layer)
    for kind in KINDS:
        assert [len(layer) for layer in report["heads"][kind]] == [config["heads"]] * layers[kind]
        for head in (head for layer in report["heads"][kind] for head in layer):
            assert head["role"] in {*ROLES[kind], "spreads", "unclear"}
            assert len(head["means"]) == len(head["spreads"]) == len(STATISTICS)
            assert all(str(number) in report["texts"] for number in head["examples"])
    assert named.keys() <= set(NAMES)
    assert max(named.values()) <= named.total() / 2  # no rule puts most heads in one class
    assert card_section(report).strip() in (MODELS / name / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", SHIPPED[:1])
def test_bundled_report_matches_model(name: str) -> None:
    """Measure one head of each kind again: in its first example, the share of its role is at least its mean share."""
    report = read_roles(MODELS / name)
    assert report is not None
    translator = Translator.load(MODELS / name, "cpu")
    for kind in KINDS:
        heads = [
            (layer, head, entry)
            for layer, layer_entries in enumerate(report["heads"][kind])
            for head, entry in enumerate(layer_entries)
            if entry["role"] in ROLES[kind]
        ]
        if not heads:
            continue
        layer, head, entry = max(heads, key=lambda each: each[2]["share"])
        answer = translator.translate(report["texts"][str(entry["examples"][0])], beam_size=1)
        share = role_shares(answer, kind).shares[layer, head, ROLES[kind].index(entry["role"])]
        assert share >= entry["share"] - 0.05  # translations can differ between processors


def test_bundled_sentences_come_from_small_corpus() -> None:
    for name in SHIPPED:
        report = read_roles(MODELS / name)
        assert report is not None
        if report["corpus"] == TEXTS.name:
            texts = sample_sentences(TEXTS, name.partition("-")[0], report["sentences"])
            assert report["texts"] == {number: texts[int(number)] for number in report["texts"]}
