"""Every error on the page: its phrase, its values, and a request that causes it."""

from __future__ import annotations

import ast
import pickle
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from headlight.model.errors import NoMemoryError, RequestError, TranslatableError
from headlight.model.experiments.attribution import attribute, attribution_query
from headlight.model.experiments.patching import patching
from headlight.model.experiments.reasons import effects, find_rival, find_token
from headlight.model.experiments.score_parts import Cell, score_parts
from headlight.model.experiments.trace import run_trace
from headlight.model.families.hub import HubError
from headlight.model.intervention_records import MAX_INTERVENTIONS, BorrowMap, InputChange
from headlight.model.measures.map_reduction import mean_map
from headlight.model.phrases import LANGUAGES, fill, phrase, phrases, placeholders
from headlight.model.records import Translation, TranslationRequest
from headlight.model.translate.translator import Translator
from headlight.viz.errors import PageError
from headlight.viz.figures import neurons
from headlight.viz.theme import THEMES
from tests.tiny import tiny_translator

ROOT = Path(__file__).resolve().parents[2]
TEXT = "Ja."


@cache
def calls() -> list[tuple[str, str, ast.Call]]:
    """All calls of a function by its name: the file, the name, the call."""
    return [
        (path.relative_to(ROOT).as_posix(), node.func.id, node)
        for path in sorted([*(ROOT / "model").rglob("*.py"), *(ROOT / "viz").rglob("*.py"), ROOT / "app.py"])
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    ]


def raised() -> Iterator[tuple[str, str, set[str] | None]]:
    """Lines that raise errors, with the word and, for literals, the names of the values."""
    for path, name, node in calls():
        passed = {keyword.arg for keyword in node.keywords}
        names = None if None in passed else {str(name) for name in passed - {"field", "detail"}}
        place = {"RequestError": 0, "HubError": 0, "PageError": 1, "encode_error": 1}.get(name)
        if place is None or len(node.args) <= place or not isinstance(word := node.args[place], ast.Constant):
            continue
        if place == 1:
            values = node.args[2] if len(node.args) > 2 else ast.Dict([], [])
            is_literal = isinstance(values, ast.Dict) and None not in values.keys
            names = {ast.literal_eval(key) for key in values.keys} if is_literal else None  # type: ignore[attr-defined]
        yield path, f"hub_{word.value}" if name == "HubError" else str(word.value), names


def test_raised_errors_have_phrases_with_all_values() -> None:
    errors = list(raised())
    assert len({word for _, word, _ in errors}) > 50
    for path, word, names in errors:
        for language in LANGUAGES:
            phrase = phrases(language)[f"error_{word}"]
            assert names is None or placeholders(phrase) <= names, (path, word)


def requests() -> set[str]:
    """The words of every `RequestError` in the code."""
    return {
        str(node.args[0].value)
        for _, name, node in calls()
        if name == "RequestError" and isinstance(node.args[0], ast.Constant)
    }


def ask(**options: Any) -> Callable[[], object]:
    return lambda: tiny_translator().translate(**({"text": TEXT} | options))


def other_request() -> object:
    return tiny_translator().translate(TranslationRequest(text=TEXT, model="another"))


def maps_of_two_kinds() -> object:
    answer = tiny_translator().translate(TEXT)
    return mean_map([answer.attention_map("encoder", 0, 0), answer.attention_map("cross", 0, 0)])


def vectors_of_two_widths() -> object:
    token = tiny_translator().translate(TEXT).source_tokens[0]
    return neurons(np.zeros(3), np.zeros(5), token, token, weight=0.1, theme=THEMES["light"])


def patch_sentences(first: str, second: str) -> object:
    translator = tiny_translator()
    return patching(translator, *(translator.translate(text, max_length=9) for text in (first, second)))


def languages() -> Any:
    from headlight.model.text.languages import Language, Languages

    return Languages(targets=(Language(code="fr"),))


def borrow(text: str) -> BorrowMap:
    return BorrowMap(kind="cross", layer=0, head=0, text=text)


def too_large_a_trace() -> object:
    translator = tiny_translator()
    with patch("headlight.model.experiments.trace.MAX_NUMBERS", 1):
        return run_trace(translator, translator.translate(TEXT, max_length=3))


def too_long_a_flow() -> object:
    translator = tiny_translator()
    answer = translator.translate(TEXT, max_length=3)
    with patch("headlight.model.measures.attention_rollout.MAX_FLOW_WORK", 1):
        return attribute(attribution_query(translator, answer, positions=(0,)), "flow")


def tiny_answer() -> tuple[Translator, Translation]:
    translator = tiny_translator()
    return translator, translator.translate(TEXT, max_length=6)


CAUSES: dict[str, Callable[[], object]] = {
    "bad_line": lambda: tiny_translator().translate_lines([TEXT, "\ud800"]),
    "masked_cell": lambda: score_parts(*tiny_answer(), Cell("decoder", 0, 0, 0, 3), "key"),
    "no_such_token": lambda: find_token(tiny_answer()[1].source_tokens, "xyzzy"),
    "unequal_lengths": lambda: patch_sentences("Ja.", "Das Kind trinkt Wasser."),
    "equal_translations": lambda: patch_sentences("Ja.", "Ja."),
    "empty_rival": lambda: find_rival(tiny_translator().target_tokenizer, ""),
    "unknown_rival": lambda: find_rival(tiny_translator().target_tokenizer, "狗"),
    "rival_in_pieces": lambda: find_rival(tiny_translator().target_tokenizer, "xyzzy", single=True),
    "rival_is_word": lambda: effects(*tiny_answer(), 0, rival=tiny_answer()[1].target_tokens[0].id),
    "blank_text": ask(text=" "),
    "blank_words": ask(target=" "),
    "half_character": ask(text="a\ud800"),
    "maps_differ": maps_of_two_kinds,
    "flow_too_long": too_long_a_flow,
    "missing": ask(interventions=({"action": "drag"},)),
    "no_languages": ask(source_language="fr"),
    "no_map": lambda: mean_map([]),
    "not_choice": lambda: languages().tokens_for(target="de"),
    "not_number": ask(temperature="hot"),
    "not_text": ask(text=5),
    "not_whole": ask(beam_size=0),
    "nothing_left": ask(interventions=(InputChange(action="erase", start=0, end=3),)),
    "no_way_back": lambda: tiny_translator().translate(TEXT, beam_size=2, back_weight=0.3),
    "nothing_to_choose": lambda: tiny_translator().translate(TEXT, way_back=tiny_translator(), beam_size=1),
    "one_text": lambda: tiny_translator().translate_lines(TEXT),
    "options_twice": lambda: tiny_translator().translate(TranslationRequest(text=TEXT), beam_size=2),
    "other_model": other_request,
    "prefix_too_long": ask(prefix=(7, 8, 9), max_length=2),
    "sampling_with_beam": ask(beam_size=2, temperature=1.0),
    "target_and_prefix": ask(target="a", prefix="b"),
    "trace_too_long": too_large_a_trace,
    "too_many_changes": ask(interventions=(InputChange(action="mask", start=0, end=1),) * (MAX_INTERVENTIONS + 1)),
    "too_many_others": ask(interventions=tuple(borrow(text) for text in ("Ja.", "Nein.", "Doch."))),
    "too_many_tokens": ask(text="a " * 99),
    "top_p_zero": ask(top_p=0.0),
    "unknown_name": ask(beam=2),
    "words_overlap": ask(interventions=(InputChange(action="mask", start=0, end=2),) * 2),
    "wrong_end": ask(target=()),
    "wrong_ids": ask(target=(999_999,)),
    "wrong_shape": vectors_of_two_widths,
    "wrong_type": ask(capture="x"),
}


def test_every_request_error_word_is_tested() -> None:
    assert set(CAUSES) == requests()


@pytest.mark.parametrize("word", CAUSES)
def test_request_errors_have_text_in_every_language(word: str) -> None:
    with pytest.raises(RequestError) as error_info:
        CAUSES[word]()
    assert error_info.value.word == word
    assert str(error_info.value) == phrase(f"error_{word}", **error_info.value.values)
    assert fill(phrases("zh")[f"error_{word}"], error_info.value.values) != str(error_info.value)
    assert set(error_info.value.values) == placeholders(phrases()[f"error_{word}"])


@pytest.mark.parametrize(
    "error",
    [
        RequestError("prefix_too_long", field="prefix", given=5, limit=3),
        HubError("not_writable", detail="/a/b: full"),
        PageError("model", "line_full", {"seconds": 7}),
        NoMemoryError("of cuda:0"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_can_be_pickled(error: TranslatableError) -> None:
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - made above
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert (again.word, again.field, again.detail) == (error.word, error.field, error.detail)
    assert dict(again.values) == dict(error.values)


def test_phrase_values_are_inserted_once_and_required() -> None:
    assert fill("{a} and {b}", {"a": "{b}", "b": 0.5, "c": 7}) == "{b} and 0.5"
    with pytest.raises(KeyError):
        phrase("error_prefix_too_long", given=7)


def test_request_error_names_its_field() -> None:
    request = TranslationRequest(text=TEXT)
    with pytest.raises(RequestError) as error_info:
        tiny_translator().translate(replace(request, target=(999_999,)))
    assert (error_info.value.field, error_info.value.word) == ("target", "wrong_ids")
    assert dict(error_info.value.values) == {"name": "target"}
