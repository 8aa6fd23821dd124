"""Reliability of a translation: evidence, grade, file, back-translation, cost."""

from __future__ import annotations

import csv
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from headlight.model.checkpoints.checkpoint import save_checkpoint
from headlight.model.checkpoints.checksums import CARD_FILE, CHECKSUMS_FILE, weights_digest
from headlight.model.checkpoints.shipped import MODELS
from headlight.model.commands import reliability as command
from headlight.model.commands.main import main
from headlight.model.errors import CheckpointError
from headlight.model.families.loading import load_checkpoint
from headlight.model.records import BackTranslation, Span, Translation
from headlight.model.translate import reliability
from headlight.model.translate.back_translation import back_translate, back_translate_batch, is_word_for_word
from headlight.model.translate.evidence import BACK_TRANSLATION_FEATURES, FEATURES, collect_evidence
from headlight.model.translate.reliability import (
    RELIABILITY_FILE,
    FittedRule,
    ReliabilityWeights,
    UnfittedRule,
    load_rule,
)
from headlight.model.translate.repetition import WordPosition, repeated_runs
from headlight.model.translate.translator import Translator
from tests.tiny import SENTENCES, tiny_translator

ALONE = ReliabilityWeights(
    features=("mean", "numbers"), weights=(1.0, -2.0), means=(-1.0, 0.0), scales=(0.5, 1.0), bias=0.25, right=0.6,
    doubt=0.2,
)  # fmt: skip
RULE = FittedRule(source="de", target="en", usual_length=0.0, alone=ALONE)


@pytest.fixture(scope="module")
def german() -> Translator:
    return Translator.load(MODELS / "de-en", "cpu")


def forced(translator: Translator, text: str, target: str) -> Translation:
    """A forced target, made to look like the model's own translation."""
    translation = translator.translate(text, target=target)
    return replace(translation, request=replace(translation.request, target=None))


def test_probability_is_logistic_of_standardised_features() -> None:
    probability = ALONE.probability({"mean": -0.5, "numbers": 1.0})
    assert probability == pytest.approx(1 / (1 + np.exp(-(0.25 + 1.0 * 1 - 2.0))))
    assert [ALONE.grade(chance) for chance in (0.6, 0.59, 0.2, 0.19)] == ["right", "check", "check", "doubt"]
    assert ALONE.grade(0.9, differs=True) == "check"


@pytest.mark.parametrize(
    ("text", "target", "kind", "source", "target_word"),
    [
        ("Wir sind achtzehn Jungen.", "We are eight boys.", "numbers", "achtzehn", "eight"),
        ("Der Laden macht um halb neun auf.", "The shop opens at 2:30.", "numbers", "halb neun", "2:30"),
        ("Wir wohnen bei Wischnewski.", "We live near Wishnewski.", "name", "Wischnewski", "Wishnewski"),
        ("Ich habe ein Haus.", "I have a a house house.", "repeated", "", "house"),
    ],
)
def test_reasons_name_their_words(
    german: Translator, text: str, target: str, kind: str, source: str, target_word: str
) -> None:
    answer = forced(german, text, target)
    reason = next(reason for reason in collect_evidence(answer, "de", "en", 0.0).reasons if reason.kind == kind)
    assert (reason.source, reason.target) == (source, target_word)
    assert [text[span.start : span.end] for span in reason.source_spans] == ([source] if source else [])
    assert [target[span.start : span.end] for span in reason.target_spans] == [target_word]


def unlikely(answer: Translation) -> Translation:
    """A copy of an answer in which every token has a low probability."""
    return replace(answer, target_tokens=tuple(replace(token, probability=0.1) for token in answer.target_tokens))


@pytest.mark.parametrize(
    ("source", "target", "text", "target_number", "guesses"),
    [
        ("de", "en", "Das Rad kostet 1.250 Euro.", "The bike costs 1,250 euros.", ["The", "bike"]),
        ("de", "en", "Ich habe 1.250 Euro.", "1,250 euros", ["euros"]),
        ("de", "en", "Ich habe 1.250 Euro.", "1,260", []),  # reported as a differing number
        ("de", "en", "Ich habe Euro.", "1,250", []),
    ],
)
def test_reformatted_numbers_are_not_unsure(
    german: Translator, source: str, target: str, text: str, target_number: str, guesses: list[str]
) -> None:
    reasons = collect_evidence(unlikely(forced(german, text, target_number)), source, target, 0.0).reasons
    assert sorted(reason.target for reason in reasons if reason.kind == "unsure") == sorted(guesses)


def test_each_fault_is_reported_once(german: Translator) -> None:
    text, target = "Herr Wischnewski sah Wischnewski mit achtzehn.", "Mr Wishnewski, Wishnewski at eight."
    answer = unlikely(forced(german, text, target))
    unseen = replace(answer, attention=replace(answer.attention, cross=np.zeros_like(answer.attention.cross)))
    reasons = collect_evidence(unseen, "de", "en", 0.0).reasons
    assert [(each.source, each.target) for each in reasons if each.kind == "name"] == [("Wischnewski", "Wishnewski")]
    assert next(len(each.target_spans) for each in reasons if each.kind == "name") == 2
    assert [(each.source, each.target) for each in reasons if each.kind == "numbers"] == [("achtzehn", "eight")]
    for kind in ("unsure", "copied", "repeated"):
        assert not [each for each in reasons if each.kind == kind and each.target in ("Wishnewski", "eight")]


def test_unattended_words_are_reported_as_left_out(german: Translator) -> None:
    text = "Hält dieser Bus am Krankenhaus?"
    answer = forced(german, text, "Does this bus stop?")
    kinds = {reason.kind: reason for reason in collect_evidence(answer, "de", "en", 0.0).reasons}
    assert "Krankenhaus" in kinds["left_out"].source
    assert text[slice(*kinds["left_out"].source_spans[0])] == kinds["left_out"].source
    whole = forced(german, text, "Does this bus stop at the hospital?")
    assert "left_out" not in {reason.kind for reason in collect_evidence(whole, "de", "en", 0.0).reasons}
    back = BackTranslation("Hält dieser Bus am Krankenhaus?", whole.source_tokens)
    assert "left_out" not in {reason.kind for reason in collect_evidence(answer, "de", "en", 0.0, back).reasons}


@pytest.fixture(scope="module")
def chinese() -> Translator:
    return Translator.load(MODELS / "zh-en", "cpu")


def chinese_back(answer: Translation, text: str, surprising: str = "") -> BackTranslation:
    """A back-translation to which all tokens are likely, except those of `surprising`."""
    start = answer.source_text.find(surprising) if surprising else -1
    inside = [start <= token.start < start + len(surprising) for token in answer.source_tokens]
    tokens = (
        replace(token, probability=0.001 if surprising and is_inside else 0.9)
        for token, is_inside in zip(answer.source_tokens, inside, strict=True)
    )
    return BackTranslation(text, tuple(tokens))


def chinese_left_out(answer: Translation, back: BackTranslation | None) -> list[str]:
    reasons = collect_evidence(answer, "zh", "en", 0.0, back).reasons
    return [reason.source for reason in reasons if reason.kind == "left_out"]


def test_left_out_chinese_words_are_absent_words(chinese: Translator) -> None:
    text = "后天下午两点十五分我要去看牙医。"
    answer = forced(chinese, text, "The day after tomorrow at a quarter past two I'm going to the dentist.")
    back = chinese_back(answer, "后天两点一刻我去看牙医。", surprising="下午")
    assert chinese_left_out(answer, back) == ["下午"]
    assert chinese_left_out(answer, None) == []  # attention alone does not tell
    assert chinese_left_out(answer, chinese_back(answer, text, surprising="下午")) == []
    assert chinese_left_out(answer, chinese_back(answer, back.text)) == []


def test_particles_and_parts_of_chinese_words_are_not_left_out(chinese: Translator) -> None:
    for text, target, surprising in (
        ("对不起，我不是故意要打扰您的。", "Sorry, I didn't mean to disturb you.", "要"),
        ("这座城市大约住着三百万人。", "About three million people live in the city.", "这座"),
        ("我们祝你们旅途愉快。", "We wish you a good trip.", "途"),
    ):
        answer = forced(chinese, text, target)
        unseen = replace(answer, attention=replace(answer.attention, cross=np.zeros_like(answer.attention.cross)))
        assert surprising not in chinese_left_out(unseen, chinese_back(unseen, "x", surprising))
        assert chinese_left_out(answer, None) == []


@pytest.mark.parametrize(
    ("text", "target", "loops"),
    [
        ("Das Haus steht am See.", "The house stands by the by the by the lake.", ["by the by the by the"]),
        ("Das Haus ist alt.", "The house is very very old.", []),
        ("Der Fluss ist gestiegen.", "By the river, the river has gone up.", []),
        ("Das Haus ist alt.", "The house is old, old, old.", ["old, old, old"]),
        ("Meine Nummer ist 030 55 55.", "My number is 030 55 55 55.", []),
        ("Es wurde tiefer und tiefer.", "It got deeper and deeper and deeper and deeper.", []),
    ],
)
def test_a_repeated_run_is_a_reason_of_its_own(german: Translator, text: str, target: str, loops: list[str]) -> None:
    reasons = collect_evidence(forced(german, text, target), "de", "en", 0.0).reasons
    assert [each.target for each in reasons if each.kind == "loop"] == loops
    assert not loops or not [each for each in reasons if each.kind == "repeated"]  # reported once
    sure = replace(RULE, alone=replace(ALONE, features=(), weights=(), means=(), scales=(), bias=9.0))
    judged = sure.judge(forced(german, text, target))
    assert judged is not None
    assert (judged.grade == "check") >= bool(loops)


def test_repeated_runs_of_chinese_are_counted_in_characters() -> None:
    def runs(*words: str) -> list[str]:
        positions, text = [], "".join(words)
        for word in words:
            start = positions[-1].end if positions else 0
            positions.append(WordPosition(word, start, start + len(word)))
        return [text[start:end] for start, end in repeated_runs(positions, text)]

    assert runs("请", "把", "带带", "带", "给", "我") == ["带带带"]
    assert runs("我们", "休息", "休息", "看看") == []
    assert runs("小", "孩子", "小孩", "子", "担心") == ["小孩子小孩子"]


def test_a_back_translation_is_compared_by_words() -> None:
    assert is_word_for_word("Ich trinke Tee.", "ich trinke Tee")
    assert is_word_for_word("你好，世界！", "你好，世界。")
    assert not is_word_for_word("Ich trinke Tee.", "Ich trinke einen Tee.")
    assert not is_word_for_word("…", "!")


def test_equal_left_out_words_are_one_reason(german: Translator) -> None:
    text = "Leim und nochmals Leim und Wasser."
    answer = forced(german, text, "Nothing at all.")
    cross = np.zeros_like(answer.attention.cross)
    for index, token in enumerate(answer.source_tokens):
        cross[..., index] = not any(0 <= token.start - start < 4 for start in (0, text.rfind("Leim")))
    seen = replace(answer, attention=replace(answer.attention, cross=cross))
    reasons = [each for each in collect_evidence(seen, "de", "en", 0.0).reasons if each.kind == "left_out"]
    assert [(each.source, len(each.source_spans)) for each in reasons] == [("Leim", 2)]


def test_features_are_finite_for_every_answer(german: Translator) -> None:
    for text, target in (("Hallo", "Hello"), ("😀 1", "1"), ("Ja.", "。")):
        answer = forced(german, text, target)
        back = BackTranslation("", ())
        features = collect_evidence(answer, "de", "en", 0.0, back).features
        assert set(features) == set(BACK_TRANSLATION_FEATURES) > set(FEATURES)
        assert all(np.isfinite(value) for value in features.values())
    empty = replace(forced(german, "Ja.", "Yes."), text="", target_tokens=())
    assert all(np.isfinite(value) for value in collect_evidence(empty, "de", "en", 0.0).features.values())


def test_wrong_language_and_unfinished_output_are_doubtful(german: Translator) -> None:
    rule = replace(RULE, alone=replace(ALONE, bias=9.0))
    english = replace(german.translate("Where is the train station, please?"), rule=rule)
    assert english.reliability is not None
    assert english.reliability.grade == "doubt"
    assert english.reliability.reasons[0].kind == "language"
    assert english.reliability.reasons[0].source_spans == (Span(0, 35),)
    cut = replace(german.translate("Ich trinke ein Bier.", max_length=2), rule=rule)
    assert cut.reliability is not None
    assert (cut.reliability.grade, cut.reliability.reasons[0].kind) == ("doubt", "unfinished")
    whole = replace(german.translate("Ich trinke ein Bier."), rule=rule)
    assert whole.reliability is not None
    assert whole.reliability.grade == "right"


def test_a_sentence_in_another_language_has_no_reasons_that_follow_from_it(chinese: Translator) -> None:
    answer = forced(chinese, "I have two cats and nothing else.", "I have two cats and cats.")
    judged = replace(answer, rule=chinese.rule).reliability
    assert judged is not None
    assert (judged.grade, judged.reasons[0].kind, judged.reasons[0].source) == ("doubt", "language", "en")
    assert {reason.kind for reason in judged.reasons} <= {"language", "unsure"}


def test_reliability_is_computed_lazily_and_once(german: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr(reliability, "collect_evidence", lambda *args: calls.append(args) or collect_evidence(*args))
    answer = german.translate("Ich trinke ein Bier.")
    assert not calls
    assert answer.reliability is answer.reliability
    assert len(calls) == 1


def test_forced_target_has_no_reliability(german: Translator) -> None:
    assert german.translate("Ich trinke ein Bier.", target="I drink a beer.").reliability is None


def test_back_translation_has_separate_weights(german: Translator) -> None:
    back = Translator.load(MODELS / "en-de", "cpu")
    answer = german.translate("Ich trinke ein Bier.", beam_size=4)
    evidence = back_translate(back, answer)
    assert evidence is not None
    assert evidence.text == back.translate(answer.text, beam_size=4, no_repeat=4).text
    assert [token.text for token in evidence.tokens if not token.special]
    assert all(token.probability is not None for token in evidence.tokens)
    with_back = replace(ALONE, features=("recovered", "back"), weights=(0.0, 1.0), means=(0.0, 0.0), scales=(1.0, 1.0))
    judged = replace(answer, rule=replace(RULE, with_back=with_back)).read_back(evidence)
    assert judged is not None
    assert judged.back_translation == evidence.text
    assert judged.probability == pytest.approx(
        1 / (1 + np.exp(-(0.25 + collect_evidence(answer, "de", "en", 0, evidence).features["back"])))
    )
    empty = replace(answer, text="")
    endless = replace(answer, text="word " * 600)
    assert back_translate_batch(back, [empty, answer, endless]) == [None, evidence, None]


@pytest.mark.parametrize(
    "text",
    [
        "haben sie diesses hemd auch in blau",
        "ich wuensche ihnen eine angenehme reise",
        "unser flug hat zwei stunden verspaetung",
        "auf der insel gibt es keine autos",
    ],
)
def test_a_right_translation_of_a_carelessly_typed_sentence_is_probably_right(german: Translator, text: str) -> None:
    back = Translator.load(MODELS / "en-de", "cpu")
    answer = german.translate(text, beam_size=4, no_repeat=4, way_back=back)
    evidence = back_translate(back, answer)
    assert evidence is not None
    assert evidence.sentence != text
    judged = answer.read_back(evidence)
    assert judged is not None
    assert judged.grade == "right"
    unspelt = back.translate(answer.text, target=text).target_tokens
    before = answer.read_back(evidence._replace(sentence="", tokens=unspelt))
    assert before is not None
    assert before.probability is not None
    assert judged.probability is not None
    assert before.probability < judged.probability - 0.3


def test_a_careless_sentence_is_graded_by_its_own_threshold(german: Translator) -> None:
    weights = replace(ALONE, features=(), weights=(), means=(), scales=(), bias=0.0, careless=0.4)
    rule = replace(RULE, alone=weights)  # each probability is one half
    grades = {}
    for text in ("Ich trinke ein Bier.", "Ich trinke ein Bier", "ich trinke ein Bier."):
        judged = replace(german.translate(text), rule=rule).reliability
        assert judged is not None
        grades[text] = judged.grade
    assert list(grades.values()) == ["check", "right", "right"]
    back = BackTranslation("Grüße aus Köln.", (), "Grüße aus Köln.")
    typed = german.translate("Gruesse aus Koeln.")
    both = replace(rule, with_back=weights)
    assert [getattr(both.judge(typed, each), "grade", None) for each in (None, back)] == ["check", "right"]
    with pytest.raises(CheckpointError, match="careless"):
        replace(weights, careless=0.7)


def test_umlauts_may_be_missing_in_what_the_back_translation_has(german: Translator) -> None:
    answer = forced(german, "Gruesse aus Koeln", "Nothing")
    unseen = replace(answer, attention=replace(answer.attention, cross=np.zeros_like(answer.attention.cross)))

    def left_out(back: BackTranslation) -> list[str]:
        reasons = collect_evidence(unseen, "de", "en", 0.0, back).reasons
        return [reason.source for reason in reasons if reason.kind == "left_out"]

    assert left_out(BackTranslation("Grüße aus Köln.", ())) == []
    assert left_out(BackTranslation("Grüße aus Ulm.", ())) == ["Gruesse aus Koeln"]


@pytest.mark.parametrize(
    "text",
    ["{", "[]", "{}", RULE.to_json().replace("0.25", '"low"'), RULE.to_json().replace('"numbers"', '"other", "x"'),
     RULE.to_json().replace('"scales": [\n   0.5', '"scales": [\n   0'),
     RULE.to_json().replace('"numbers"', '"figures"')],
)  # fmt: skip
def test_invalid_rule_file_is_reported(tmp_path: Path, text: str) -> None:
    (tmp_path / RELIABILITY_FILE).write_text(text, encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"is not JSON|does not contain a reliability rule|requires 'figures'"):
        load_rule(tmp_path)


def test_rule_is_loaded_from_model_folder(tmp_path: Path) -> None:
    plain = tiny_translator()
    assert isinstance(plain.rule, UnfittedRule)
    tokenizers = plain.source_tokenizer, plain.target_tokenizer
    save_checkpoint(
        tmp_path / "m", plain.model, *tokenizers, storage="float32", extra_files={RELIABILITY_FILE: RULE.to_json()}
    )
    assert isinstance(
        Translator.load(tmp_path / "m", "cpu").rule, UnfittedRule
    )  # the file does not name the weights that it was fitted for
    rule = replace(RULE, weights=weights_digest(tmp_path / "m"))
    save_checkpoint(
        tmp_path / "m", plain.model, *tokenizers, storage="float32", extra_files={RELIABILITY_FILE: rule.to_json()}
    )
    translator = Translator.load(tmp_path / "m", "cpu")
    assert translator.rule == rule
    for answer in translator.translate_batch(SENTENCES):
        features = collect_evidence(answer, "de", "en", 0.0).features
        assert answer.reliability is not None
        assert answer.reliability.probability is not None
        assert answer.reliability.probability <= ALONE.probability(features) + 1e-9
    (tmp_path / "m" / RELIABILITY_FILE).write_text("{}", encoding="utf-8")
    with pytest.raises(CheckpointError, match="differs from its checksum"):
        load_checkpoint(tmp_path / "m")


def test_unfitted_rule_reports_only_facts(german: Translator) -> None:
    differs = replace(forced(german, "Wir sind mit 18 Jungen hier.", "We are here with 8 boys."), rule=UnfittedRule())
    assert differs.reliability is not None
    assert (differs.reliability.probability, differs.reliability.grade) == (None, "check")
    plain = replace(german.translate("Ich trinke ein Bier."), rule=UnfittedRule())
    assert plain.reliability is not None
    assert (plain.reliability.grade, plain.reliability.is_doubtful) == (None, False)
    french = forced(german, "Ich habe zwei Hunde und drei Katzen.", "J'ai deux chiens et trois chats.")
    unread = replace(french, rule=UnfittedRule()).reliability
    assert unread is not None
    assert not unread.reasons  # numbers in French are not parsed


@pytest.mark.slow
def test_reliability_command_fits_and_writes_rule(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with (MODELS.parent / "corpora" / "mini.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[:96]
    for language in ("de", "en"):
        (tmp_path / f"mini.{language}").write_text("".join(f"{row[language]}\n" for row in rows), encoding="utf-8")
    plain = command.PLAIN.read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "plain.tsv").write_text("".join(plain[:9]), encoding="utf-8")
    monkeypatch.setattr(command, "PLAIN", tmp_path / "plain.tsv")
    folder = Path(shutil.copytree(MODELS / "de-en", tmp_path / "de-en"))
    (folder / "confidence.json").write_text("{}", encoding="utf-8")
    arguments = ["reliability", "--model", str(folder), "--way-back", "en-de", "--device", "cpu"]
    assert main([*arguments, "--texts", str(tmp_path / "mini"), "--sentences", "20"]) == 2  # too few
    assert main([*arguments, "--texts", str(tmp_path / "mini"), "--write"]) == 0
    out = capsys.readouterr().out
    assert "## Reliability" in out
    rule = load_rule(folder)
    assert isinstance(rule, FittedRule)
    assert rule.weights == weights_digest(folder)
    assert rule.with_back is not None
    assert rule.measured["read"] == 0
    assert rule.measured["alone"]["answers"] == rule.measured["sentences"] == 96
    card = (folder / CARD_FILE).read_text(encoding="utf-8")
    section, _, word_for_word = out.rpartition("\nOf ")
    assert section.strip() in card
    assert "match" in word_for_word
    assert "| hard sentences, 100 read, read back | 100 | 36 |" in card
    assert f"| {RELIABILITY_FILE} |" in card
    assert RELIABILITY_FILE in (folder / CHECKSUMS_FILE).read_text(encoding="utf-8")
    assert not (folder / "confidence.json").exists()
    assert load_checkpoint(folder).fingerprint
    assert main([*arguments, "--data", str(tmp_path / "nowhere")]) == 2
    unread, command_line = tmp_path / "unread.tsv", [*arguments, "--plain", "--unread", str(tmp_path / "unread.tsv")]
    monkeypatch.setattr(command, "VERDICT_TABLES", ())
    assert main(command_line) == 0
    head, *rows = unread.read_text(encoding="utf-8").splitlines()
    assert len(rows) == 16  # each sentence once more as typed carelessly
    judged = [f"{'wrong' if place % 2 else 'right'}{row}" for place, row in enumerate(rows)]
    (tmp_path / "filled.tsv").write_text("\n".join([head, *judged, ""]), encoding="utf-8")
    capsys.readouterr()
    assert main([*command_line, "--verdicts", str(tmp_path / "filled.tsv")]) == 0
    out = capsys.readouterr().out
    assert "plain sentences, 8 read, read back | 8 | 4 |" in out
    assert "plain sentences typed carelessly, 8 read, read back | 8 | 4 |" in out
    assert unread.read_text(encoding="utf-8").splitlines() == [head]
    assert main(["reliability", "--model", "toy", "--plain", "--device", "cpu"]) == 2


def test_cards_have_figures_of_bundled_rules() -> None:
    for name in ("de-en", "en-de", "en-zh", "zh-en"):
        known = json.loads((MODELS / name / RELIABILITY_FILE).read_text(encoding="utf-8"))["measured"]
        card = (MODELS / name / CARD_FILE).read_text(encoding="utf-8")
        for figures in (*(known[way] for way in ("alone", "with_back") if way in known), known["plain"]["alone"]):
            assert (
                f"| {figures['area']:.2f} | {figures['flagged_wrong']:.0%} | {figures['flagged_right']:.0%} |" in card
            )


@pytest.mark.parametrize("name", ["de-en", "en-de", "en-zh", "zh-en"])
def test_bundled_rules_flag_wrong_translations_of_careless_sentences_and_few_right_ones(name: str) -> None:
    rule = load_rule(MODELS / name)
    assert isinstance(rule, FittedRule)
    measured = rule.measured["with_back"]
    assert measured["area"] >= 0.89
    assert measured["typed"]["flagged_right"] <= 0.12
    assert measured["as_typed"]["flagged_right"] <= 0.15
    assert measured["as_typed"]["flagged_wrong"] >= 0.65
    unfitted = rule.measured["plain_as_typed"]["with_back"]  # these sentences are in no fit
    assert unfitted["flagged_right"] <= 0.17
    assert unfitted["flagged_wrong"] >= 0.55
    assert sum(rule.measured["hard"]["mistakes"].values()) == 100 - rule.measured["hard"]["right"]
