"""Untranslatable input is rejected with an error that names the field; other text is translated."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headlight.model.errors import RequestError, repr_short
from headlight.model.records import Kind, Translation, TranslationRequest
from headlight.model.text.cleaning import clean_text
from headlight.model.translate.translator import Translator
from tests.tiny import MAX_LENGTH, SENTENCES, tiny_translator, tokenizers

TEXT = SENTENCES[0]
END = tokenizers()[1].end_id


@pytest.fixture(scope="module")
def translator() -> Translator:
    return tiny_translator(step_weights="float16")


def target_ids(translation: Translation) -> tuple[int, ...]:
    return tuple(token.id for token in translation.target_tokens)


def tuple_error(name: str, kind: str, value: str) -> str:
    return f"{name} must be a tuple that holds {kind} alone, but {value} was given. Change it."


def range_error(low: object, high: object, value: object, number: str) -> str:
    return f"must be {number} from {low} to {high}, but {repr_short(value)} was given. Choose one."


def integer_case(name: str, value: object, low: int, high: int) -> tuple[dict[str, Any], str, str]:
    return (
        {name: value},
        f"{name} {range_error(low, high, value, 'a whole number')}",
        name,
    )


def number_case(name: str, value: object, high: int = 10) -> tuple[dict[str, Any], str, str]:
    return {name: value}, f"{name} {range_error(0, high, value, 'a number')}", name


IDS = "must be text, or token ids of this model. Take them from one of its translations."
ONE_END = "needs at least one token id, and none after the end of the sentence (2)."


@pytest.mark.parametrize(
    ("options", "words", "field"),
    [
        integer_case("beam_size", 0, 1, 64),
        integer_case("beam_size", 65, 1, 64),
        integer_case("beam_size", True, 1, 64),
        integer_case("beam_size", "4", 1, 64),
        integer_case("beam_size", 2.0, 1, 64),
        integer_case("n_best", 2, 1, 1),  # more than beam_size
        integer_case("n_best", None, 1, 1),
        integer_case("max_length", 0, 1, 4096),
        integer_case("max_length", True, 1, 4096),
        integer_case("max_length", "9", 1, 4096),
        integer_case("top_k", -1, 0, 1_000_000),
        integer_case("seed", -1, 0, 2**63 - 1),
        integer_case("seed", 2**63, 0, 2**63 - 1),
        integer_case("no_repeat", False, 0, 100),
        integer_case("alternatives", 51, 0, 50),
        number_case("length_penalty", -0.1),
        number_case("length_penalty", True),
        number_case("temperature", "hot"),
        number_case("temperature", 10.5),
        number_case("temperature", math.nan),
        number_case("temperature", math.inf),
        number_case("top_p", 1.5, high=1),
        number_case("top_p", None, high=1),
        ({"top_p": 0.0}, "top_p is 0, which allows no token at all. Choose a number above 0.", "top_p"),
        (
            {"temperature": 1.0, "beam_size": 2},
            "Sampling and beam search exclude each other. Set beam_size to 1, or temperature to 0.",
            "beam_size",
        ),
        (
            {"target": "a", "prefix": "b"},
            "A whole translation and a prefix cannot both be given. Drop one.",
            "prefix",
        ),
        ({"target": " \u200b"}, "target has no word in it. Write some, or leave it out.", "target"),
        ({"prefix": ""}, "prefix has no word in it. Write some, or leave it out.", "prefix"),
        ({"target": 5}, f"target {IDS}", "target"),
        ({"target": b"Bier"}, f"target {IDS}", "target"),
        ({"target": ("a",)}, f"target {IDS}", "target"),
        ({"target": (1.5,)}, f"target {IDS}", "target"),
        ({"target": (True,)}, f"target {IDS}", "target"),
        ({"target": (347,)}, f"target {IDS}", "target"),
        ({"prefix": (-1,)}, f"prefix {IDS}", "prefix"),
        ({"prefix": {5: 6}}, f"prefix {IDS}", "prefix"),
        ({"prefix": ()}, f"prefix {ONE_END}", "prefix"),
        ({"target": []}, f"target {ONE_END}", "target"),
        ({"target": (5, END, 6)}, f"target {ONE_END}", "target"),
        ({"prefix": (END, END)}, f"prefix {ONE_END}", "prefix"),
        (
            {"target": (5,) * 62},
            "target has 62 tokens, but at most 61 are read here. Shorten it, or split it.",
            "target",
        ),
        (
            {"prefix": (5,) * 62},
            "prefix has 62 tokens, but at most 61 are read here. Shorten it, or split it.",
            "prefix",
        ),
        (
            {"capture": "**.logits"},
            tuple_error("capture", "str", '"**.logits"'),
            "capture",
        ),
        (
            {"capture": (5,)},
            tuple_error("capture", "str", "a tuple"),
            "capture",
        ),
        (
            {"interventions": ("remove",)},
            tuple_error("interventions", "Intervention", "a tuple"),
            "interventions",
        ),
    ],
    ids=str,
)
def test_invalid_options_raise_clear_errors(
    translator: Translator, options: dict[str, Any], words: str, field: str
) -> None:
    for run in (
        lambda: translator.translate(TEXT, **options),
        lambda: translator.translate_batch([TEXT], **options),
        lambda: next(translator.stream(TEXT, **options)),
    ):
        with pytest.raises(RequestError) as error_info:
            run()
        assert str(error_info.value) == words
        assert error_info.value.field == field


def test_unknown_option_error_lists_options(translator: Translator) -> None:
    with pytest.raises(RequestError) as error_info:
        translator.translate(TEXT, beam=4, max_lenght=3)
    words = str(error_info.value)
    assert words.startswith(
        'There is no parameter "beam", "max_lenght". The parameters are: beam_size, length_penalty, '
    )
    for name in ("temperature", "target", "prefix", "interventions", "capture"):
        assert name in words
    assert error_info.value.field == "options"


def test_request_record_rejects_extra_options(translator: Translator) -> None:
    request = TranslationRequest(text=TEXT)
    with pytest.raises(RequestError, match=r"The request has its own options\. Set beam_size there") as error_info:
        translator.translate(request, beam_size=2)
    assert error_info.value.field == "options"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"options": {"beam_size": 2}}, "options must be DecodingOptions, but an object was given. Change it."),
        ({"options": None}, "options must be DecodingOptions, but null was given. Change it."),
        (
            {"interventions": [5]},
            tuple_error("interventions", "Intervention", "a list"),
        ),
        (
            {"interventions": None},
            tuple_error("interventions", "Intervention", "null"),
        ),
        ({"capture": ["**.logits"]}, tuple_error("capture", "str", "a list")),
        ({"target": [5, 6]}, f"target {IDS}"),
        ({"text": None}, "text must be text, but null was given. Write it in quotation marks."),
    ],
    ids=str,
)
def test_request_record_with_wrong_types_is_rejected(
    translator: Translator, fields: dict[str, Any], words: str
) -> None:
    record = TranslationRequest(**({"text": TEXT} | fields))
    with pytest.raises(RequestError) as error_info:
        translator.translate(record)
    assert str(error_info.value) == words
    assert error_info.value.field == next(iter(fields))


@pytest.mark.parametrize("text", [None, 5, b"Bier", ["Bier"], ("a", "b")])
def test_non_text_is_rejected(translator: Translator, text: Any) -> None:
    with pytest.raises(RequestError, match=f"^text must be text, but {re.escape(repr_short(text))} was given"):
        translator.translate(text)


def test_sentence_length_is_limited_by_model(translator: Translator) -> None:
    fits = "a " * (MAX_LENGTH - 1)
    assert len(translator.source_tokenizer.encode(fits.strip())) == MAX_LENGTH - 1
    assert len(translator.translate(fits, max_length=2).source_tokens) == MAX_LENGTH
    with pytest.raises(RequestError) as error_info:
        translator.translate(fits + "a")
    assert str(error_info.value) == "text has 62 tokens, but at most 61 are read here. Shorten it, or split it."
    assert error_info.value.field == "text"


# ---------------------------------------------------------------- random texts


def check(answer: Translation) -> None:
    """Check properties of every translation."""
    source, target = len(answer.source_tokens), len(answer.target_tokens)
    assert source >= 2
    assert answer.source_tokens[-1].id == END
    assert 1 <= target <= MAX_LENGTH
    shapes: dict[Kind, tuple[int, int]] = {
        "encoder": (source, source),
        "decoder": (target, target),
        "cross": (target, source),
    }
    for kind, shape in shapes.items():
        maps = answer.attention.of(kind)
        assert maps.shape[2:] == shape
        np.testing.assert_allclose(maps.sum(axis=-1), 1, atol=1e-5)
        assert (maps[:, :, ~answer.attention.allowed(kind)] == 0).all()
    for token in answer.source_tokens[:-1]:
        assert answer.source_text[token.start : token.end] == token.text
    for token in answer.target_tokens:
        assert token.probability is not None
        assert 0 <= token.probability <= 1 + 1e-6
    assert END not in target_ids(answer)[:-1]
    assert (target_ids(answer)[-1] == END) == (answer.stopped == "end")
    assert answer.log_probability <= 1e-6
    hash(answer.request)


OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "max_length": st.integers(1, 9),
        "no_repeat": st.integers(0, 3),
        "alternatives": st.integers(0, 5),
        "length_penalty": st.floats(0, 2),
    },
) | st.fixed_dictionaries(
    {"temperature": st.floats(1e-320, 10)},
    optional={"top_k": st.integers(0, 400), "top_p": st.floats(1e-6, 1), "seed": st.integers(0, 2**63 - 1)},
)


def answer_or_error(translator: Translator, text: str, **options: Any) -> Translation | RequestError:
    """Translate, or return the request error; other errors fail the test."""
    try:
        return translator.translate(text, **options)
    except RequestError as error:
        return error


@settings(max_examples=80, deadline=None, derandomize=True, database=None)
@given(
    text=st.one_of(st.text(max_size=30), st.text(st.characters(exclude_categories=()), max_size=9)),
    options=OPTIONS,
    beam=st.integers(1, 3),
)
def test_any_text_is_translated_or_rejected(
    translator: Translator, text: str, options: dict[str, Any], beam: int
) -> None:
    if "temperature" not in options:
        options["beam_size"] = beam
    answer = answer_or_error(translator, text, **options)
    if isinstance(answer, RequestError):
        assert answer.field == "text"
        return
    check(answer)
    forced = translator.translate(text, target=target_ids(answer))
    assert forced.log_probability == pytest.approx(answer.log_probability, abs=1e-3)


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(words=st.text(min_size=1, max_size=12), name=st.sampled_from(["target", "prefix"]))
def test_any_target_is_forced_or_rejected(translator: Translator, words: str, name: str) -> None:
    answer = answer_or_error(translator, "Ja.", **{name: words})
    if isinstance(answer, RequestError):
        assert answer.field == name
        return
    ids = tuple(translator.target_tokenizer.encode(clean_text(words)))
    assert target_ids(answer)[: len(ids)] == ids
    if name == "target":
        assert target_ids(answer)[len(ids) :] == (END,)
        assert answer.text == clean_text(words)
