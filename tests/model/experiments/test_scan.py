"""The scan: each finding holds when its experiment is repeated by an ordinary translation."""

from __future__ import annotations

import csv
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import headlight
from headlight.model.experiments import scan as scan_module
from headlight.model.experiments.findings import Finding
from headlight.model.experiments.scan import (
    MAX_FINDINGS,
    MAX_IDLE_NATS,
    MAX_WEIGHT_LEFT,
    MIN_DROP,
    MIN_LOOK,
    MIN_NEIGHBOUR,
    MIN_RISE,
    scan,
)
from headlight.model.experiments.score_parts import weight_without
from headlight.model.phrases import LANGUAGES
from headlight.model.records import Intervention, Translation
from headlight.model.translate.translator import Translator
from tests.tiny import CORPUS, SENTENCES, tiny_translator

CLOSE = 2e-3
PLAIN = {
    "de-en": ("Der Hund, den ich gestern gesehen habe, schläft unter dem Tisch.", "Ich habe das Buch nicht gelesen."),
    "zh-en": ("我昨天没有看那本书。",),
    "en-de": ("The woman who lives next door gave me her old bicycle.",),
}


@cache
def load(name: str) -> Translator:
    return Translator.load(name, "cpu")


def answer_without(translator: Translator, answer: Translation, finding: Finding, *, forced: bool) -> Translation:
    cell = finding.cell
    remove = Intervention(kind=cell.kind, layer=cell.layer, head=cell.head, action="remove")
    target = tuple(token.id for token in answer.target_tokens) if forced else None
    request = replace(answer.request, target=target, interventions=(*answer.request.interventions, remove))
    return translator.translate(request)


def mean_neighbour_weight(answer: Translation, finding: Finding) -> float:
    weights = answer.attention.of("encoder")[finding.cell.layer, finding.cell.head]
    step = -1 if finding.other == "previous" else 1
    rows = [row for row in range(len(weights)) if 0 <= row + step < len(weights)]
    return float(np.mean([weights[row, row + step] for row in rows]))


def swapped_text(answer: Translation, finding: Finding) -> str:
    texts = [token.text.strip() for token in answer.source_tokens]
    positions = [
        position for position in range(len(texts) - 1) if texts[position : position + 2] == [finding.word, finding.key]
    ]
    for position in positions:
        first, second = answer.source_tokens[position : position + 2]
        text = answer.source_text
        between = text[first.end : second.start]
        start, end = (
            text.index(finding.word, first.start),
            text.index(finding.key, second.start - 1) + len(finding.key),
        )
        return f"{text[:start]}{finding.key}{between}{finding.word}{text[end:]}"
    raise AssertionError("the swapped words are not neighbours")


def confirm(translator: Translator, answer: Translation, finding: Finding) -> None:
    """Repeat the experiment of a finding and check its numbers."""
    before, after, cell = finding.before, finding.after, finding.cell
    if finding.name in ("needed", "hindered", "idle"):
        assert finding.position is not None
        token = answer.target_tokens[finding.position]
        without = answer_without(translator, answer, finding, forced=True).target_tokens[finding.position]
        assert token.text.strip() == finding.word
        assert (before, after) == pytest.approx((token.probability, without.probability), abs=CLOSE)
        if finding.name == "needed":
            assert before - after >= MIN_DROP
        if finding.name == "hindered":
            assert after - before >= MIN_RISE
        if finding.name == "idle":
            assert abs(np.log(after / before)) <= MAX_IDLE_NATS
            assert answer.attention.of(cell.kind)[cell.layer, cell.head, cell.row, cell.column] >= MIN_LOOK
    elif finding.name == "changed":
        text = answer_without(translator, answer, finding, forced=False).text
        assert text == finding.other != answer.text
    elif finding.name == "reason":
        assert finding.part is not None
        assert finding.side is not None
        weight = answer.attention.of(cell.kind)[cell.layer, cell.head, cell.row, cell.column]
        repeated = weight_without(translator, answer, cell, finding.side, [finding.part])
        assert (before, after) == pytest.approx(repeated, abs=1e-5)
        assert before == pytest.approx(float(weight), abs=CLOSE)
        assert after <= MAX_WEIGHT_LEFT * before
    else:
        swapped = translator.translate(swapped_text(answer, finding))
        repeated = [mean_neighbour_weight(each, finding) for each in (answer, swapped)]
        assert (before, after) == pytest.approx(repeated, abs=0.02)
        assert min(repeated) >= MIN_NEIGHBOUR**2


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in PLAIN.items() for text in texts])
def test_findings_hold_if_experiments_are_repeated(name: str, text: str) -> None:
    translator = load(name)
    answer = translator.translate(text, beam_size=4, no_repeat=4)
    findings = headlight.scan(translator, answer)
    assert 3 <= len(findings) <= MAX_FINDINGS
    assert len({finding.name for finding in findings}) >= 3
    for finding in findings:
        confirm(translator, answer, finding)
        for language in LANGUAGES:
            sentence = finding.sentence(language)
            assert "{" not in sentence
            assert finding.values(language)["sentence"] == sentence
            if finding.name not in ("changed", "reason"):
                assert finding.word in sentence


@pytest.mark.slow
@pytest.mark.parametrize("name", ["de-en", "en-de", "zh-en", "en-zh"])
def test_findings_of_a_hundred_sentences_hold(name: str) -> None:
    with CORPUS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[::4][:25]
    translator, count = load(name), 0
    for row in rows:
        answer = translator.translate(row[name[:2]], no_repeat=4)
        for finding in scan(translator, answer):
            confirm(translator, answer, finding)
            count += 1
    assert count >= 3 * len(rows)


@pytest.mark.parametrize("text", SENTENCES)
@pytest.mark.parametrize(
    "options", [{}, {"target": "a beer"}, {"interventions": [{"action": "remove", "kind": "cross"}]}]
)
def test_any_translation_can_be_scanned(text: str, options: dict[str, object]) -> None:
    translator = tiny_translator()
    answer = translator.translate(text, max_length=9, **options)
    for finding in scan(translator, answer):
        assert finding.sentence()
        assert finding.name != "changed" or "target" not in options
        kind, layer, head, row, column = finding.cell
        assert answer.attention.of(kind)[layer, head, row, column] >= 0


def test_candidate_without_measured_effect_is_not_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    translator = load("de-en")
    answer = translator.translate(PLAIN["de-en"][1])
    run = scan_module._run_experiments

    def without_effect(*values: object) -> object:
        experiments = run(*values)  # type: ignore[arg-type]
        return experiments._replace(after=np.tile(experiments.before * 0.95, (len(experiments.heads), 1)))

    monkeypatch.setattr(scan_module, "_run_experiments", without_effect)
    assert {finding.name for finding in scan(translator, answer)} <= {"neighbour", "changed", "reason"}
