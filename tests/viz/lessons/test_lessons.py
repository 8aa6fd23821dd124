"""Lessons: claims hold for the bundled models, pre-norm and post-norm, and all phrases exist."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from headlight.model.core.attention import attention_scores
from headlight.model.records import KINDS, Translation, TranslationRequest
from headlight.model.translate.translator import Translator
from headlight.viz.errors import PageError
from headlight.viz.figure_phrases import LANGUAGES, phrases
from headlight.viz.lessons import LESSONS, tensors
from headlight.viz.lessons.lesson import Lesson, Step
from headlight.viz.lessons.source import ROOT, make_source_listing
from headlight.viz.lessons.tensors import LOGITS, MAX_NAMES, make_tensors_call
from headlight.viz.server.calls import call_json
from headlight.viz.service.service import Service
from headlight.viz.settings import Settings
from headlight.viz.tabs.learn import read_lessons
from tests.viz.lessons.asked import SENTENCES, Asked
from tests.viz.local_translator import local_translator


@pytest.fixture(scope="module")
def service() -> Service:
    return Service(Settings())


@pytest.fixture(scope="module", params=SENTENCES)
def asked(request: pytest.FixtureRequest, service: Service) -> Asked:
    return Asked(service, request.param)


def steps() -> list[tuple[Lesson, Step]]:
    return [(lesson, step) for lesson in LESSONS for step in lesson.steps]


CLAIMS = sorted({(lesson.name, claim) for lesson, step in steps() for claim in step.claims})


@pytest.mark.slow(after=8)
@pytest.mark.parametrize(("lesson", "claim"), CLAIMS)
def test_claims_of_lesson_texts_hold(lesson: str, claim: str, asked: Asked) -> None:
    check: Callable[[Asked], None] = getattr(importlib.import_module(f"tests.viz.lessons.claims.{lesson}"), claim)
    check(asked)


def test_every_step_has_claims() -> None:
    assert all(step.claims for _, step in steps())


# ---------------------------------------------------------------- words


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("lesson", "step"), steps(), ids=lambda each: each.name)
def test_every_step_has_phrases(lesson: Lesson, step: Step, language: str) -> None:
    table = phrases(language)
    base = f"lesson_{lesson.name}_{step.name}"
    assert f"{base}_title" in table
    texts = [text for key, text in table.items() if re.fullmatch(rf"{base}_words(_[a-z]+)?", key)]
    assert texts
    for text in texts:
        count = len(text.split()) if language == "en" else len(text)
        assert count <= (60 if language == "en" else 110), text  # two sentences: the operation and its reason
    for part in step.parts:
        assert f"{base}_part_{part}" in table
    if step.follow_up:
        assert f"{base}_see" in table
        assert step.follow_up.split(".")[:2] in [[each.name, other.name] for each, other in steps()]
    if step.question is not None:
        assert {f"{base}_ask", f"{base}_answer"} <= set(table)
        if not set(step.question.options) <= {"counts", "keys", "candidates"}:
            assert {f"{base}_option_{option}" for option in step.question.options} <= set(table)
    shows = [show for figure in step.figures if figure.form not in ("table", "bars") for show in figure.tensors]
    for show in shows:
        assert f"lesson_tensor_{show.name}" in table or f"lesson_row_{show.name}" in table, show.name
    assert f"lesson_part_{step.node.replace('.', '_')}" in table or not lesson.drawing


@pytest.mark.parametrize("language", LANGUAGES)
def test_lesson_phrases_use_the_terms(language: str) -> None:
    """One verb for attention, no exclamation marks, and in Chinese the informal pronoun."""
    lesson_phrases = {key: text for key, text in phrases(language).items() if key.startswith("lesson_")}
    for key, text in lesson_phrases.items():
        assert not re.search(r"[!！]|您|\bsimply\b|\blet us\b", text), key
        assert "为一" not in text, key
        assert not re.search(r"\b[a-z]_[a-z]\b", text), key  # an index is a subscript: dₖ


@pytest.mark.parametrize(
    ("lesson", "step"),
    [each for each in steps() if each[1].question and each[1].question.hides_answer],
    ids=lambda each: each.name,
)
def test_phrases_before_a_guess_do_not_reveal_the_answer(lesson: Lesson, step: Step) -> None:
    base = f"lesson_{lesson.name}_{step.name}"
    known = {"token", "written", "source", "target", "so_far", "vocabulary", "d_ff"}  # also in the question
    for language in LANGUAGES:
        table = phrases(language)
        open_texts = table[f"{base}_words_open"] + table.get(f"{base}_title_open", table[f"{base}_title"])
        assert (
            not set(re.findall(r"\{(\w+)\}", open_texts))
            & set(re.findall(r"\{(\w+)\}", table[f"{base}_answer"])) - known
        )
        right = [text for key, text in table.items() if key.startswith(f"{base}_words") and not key.endswith("_open")]
        assert table[f"{base}_words_open"] not in right


@pytest.mark.parametrize("language", LANGUAGES)
def test_losses_of_some_and_all_later_tokens_are_distinguished(language: str) -> None:
    table, base = phrases(language), "lesson_masks_causal"
    of_all = table[f"{base}_answer"].replace("{after_all}", "{after}").rstrip(".。").lower()
    for ending in ("rises", "falls", "stays"):
        assert of_all not in table[f"{base}_words_{ending}"].lower()


def test_every_lesson_has_name_and_description() -> None:
    for language in LANGUAGES:
        for lesson in LESSONS:
            assert {f"lesson_{lesson.name}_name", f"lesson_{lesson.name}_promise"} <= set(phrases(language))


# ---------------------------------------------------------------- source


@pytest.mark.parametrize(("lesson", "step"), steps(), ids=lambda each: each.name)
def test_highlighted_source_line_exists_with_its_number(lesson: Lesson, step: Step) -> None:
    code = step.code.as_json()
    source_lines = dict(code["lines"])
    texts = {"": step.code.highlighted} | dict([step.code.highlighted_if] if step.code.highlighted_if else [])
    for holds, text in texts.items():
        for number in code["otherwise"][holds] if holds else code["lit"]:
            assert text in source_lines[number]


def test_line_numbers_match_file() -> None:
    values = make_source_listing(attention_scores, "transpose(-2, -1)")
    lines = (ROOT / values["file"]).read_text(encoding="utf-8").splitlines()
    assert all(lines[number - 1].strip() == text.strip() for number, text in values["lines"])


def test_missing_source_line_raises() -> None:
    with pytest.raises(LookupError, match="attention_scores has no line with 'teleport'"):
        make_source_listing(attention_scores, "teleport")


# ---------------------------------------------------------------- messages to the browser


def test_lessons_are_plain_json() -> None:
    message = json.loads(call_json(read_lessons, {}))
    assert [lesson["name"] for lesson in message] == [lesson.name for lesson in LESSONS]
    assert [step["name"] for step in message[0]["steps"]] == [step.name for step in LESSONS[0].steps]


def test_tensors_match_sentence(asked: Asked) -> None:
    again = asked.answer("encoder.layers.0.self_attention.scores", "decoder.layers.0.cross_attention.queries")
    assert set(again["tensors"]) == {
        "encoder.layers.0.self_attention.scores",
        "decoder.layers.0.cross_attention.queries",
    }
    assert again["model"]["norm_first"] == asked.config.norm_first
    shape = again["tensors"]["decoder.layers.0.cross_attention.queries"]["shape"]
    assert shape == [asked.config.heads, len(asked.translation.target_tokens), asked.config.resolved_head_width]


def test_identical_tensor_requests_are_computed_once(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = []
    translate = Translator.translate

    def counted(translator: Translator, request: TranslationRequest) -> Translation:
        runs.append(request)
        return translate(translator, request)

    monkeypatch.setattr(Translator, "translate", counted)
    ask = make_tensors_call(service)
    values = {"request": {"text": "ich mochte ein cola", "model": "toy"}, "names": ["encoder.memory"]}
    assert ask(values) == ask(values)
    assert len(runs) == 2  # the translation, and one selection
    assert runs[1] == replace(runs[0], target=runs[1].target, capture=runs[1].capture)


@pytest.mark.parametrize(
    ("names", "word"),
    [
        ([], "not_names"),
        (None, "not_names"),
        ("encoder.memory", "not_names"),
        (["encoder.memory"] * (MAX_NAMES + 1), "not_names"),
        (["encoder.*"], "unknown_name"),
        (["**"], "unknown_name"),
        (["encoder.layers.99.self_attention.scores"], "unknown_name"),
        (["__class__.attended"], "unknown_name"),
        ([3], "unknown_name"),
    ],
)
def test_unknown_tensor_is_rejected(service: Service, names: Any, word: str) -> None:
    with pytest.raises(PageError) as error:
        make_tensors_call(service)({"request": {"text": "ich", "model": "toy"}, "names": names})
    assert error.value.word == word


def test_lesson_tensors_exist_in_models(asked: Asked) -> None:
    """Every complete probe path of the steps exists."""
    paths = {show.path for _, step in steps() for figure in step.figures for show in figure.tensors}
    whole = [path for path in paths if path.startswith(("encoder.", "decoder."))]
    assert whole
    assert set(asked.answer(*whole)["tensors"]) == set(whole)
    assert {step.kind for _, step in steps()} <= set(KINDS)


def test_too_large_tensor_request_is_rejected_before_computing(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = {"text": "Ich trinke ein Bier.", "model": "toy"}
    translator = local_translator(service, "toy")
    translation = service.translate(service.check(request))
    names = ["encoder.layers.0.self_attention.scores", LOGITS, "encoder.layers.0.self_attention.queries"]
    captured = tensors.capture(service, translation, translator, names)
    needed = tensors.estimate_size(names, translation, translator)
    assert sum(array.size for array in captured.values()) <= needed
    monkeypatch.setattr(tensors, "MAX_CAPTURED", needed - 1)
    monkeypatch.setattr(tensors, "capture", lambda *arguments: pytest.fail("It was computed all the same."))
    message = json.loads(call_json(make_tensors_call(service), {"request": request, "names": names}))
    assert (message["what"], message["word"]) == ("error", "too_long_to_show")
