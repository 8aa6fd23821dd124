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
from tests.tiny import LONGEST, SENTENCES, tiny_translator, tokenizers

TEXT = SENTENCES[0]
END = tokenizers()[1].end_id


@pytest.fixture(scope="module")
def translator() -> Translator:
    return tiny_translator(step_weights="float16")


def ids_of(translation: Translation) -> tuple[int, ...]:
    return tuple(token.id for token in translation.target_tokens)


def several(name: str, kind: str, given: str) -> str:
    return f"{name} must be a tuple that holds {kind} alone, but {given} was given. Change it."


def needed(low: object, high: object, given: object, number: str) -> str:
    return f"must be {number} from {low} to {high}, but {repr_short(given)} was given. Choose one."


def whole(name: str, value: object, low: int, high: int) -> tuple[dict[str, Any], str, str]:
    return (
        {name: value},
        f"{name} {needed(low, high, value, 'a whole number')}",
        name,
    )


def real(name: str, value: object, high: int = 10) -> tuple[dict[str, Any], str, str]:
    return {name: value}, f"{name} {needed(0, high, value, 'a number')}", name


IDS = "must be text, or token ids of this model. Take them from one of its translations."
ONE_END = "needs at least one token id, and none after the end of the sentence (2)."


@pytest.mark.parametrize(
    ("options", "words", "field"),
    [
        whole("beam_size", 0, 1, 64),
        whole("beam_size", 65, 1, 64),
        whole("beam_size", True, 1, 64),
        whole("beam_size", "4", 1, 64),
        whole("beam_size", 2.0, 1, 64),
        whole("n_best", 2, 1, 1),  # more than the beam is wide
        whole("n_best", None, 1, 1),
        whole("max_length", 0, 1, 4096),
        whole("max_length", True, 1, 4096),
        whole("max_length", "9", 1, 4096),
        whole("top_k", -1, 0, 1_000_000),
        whole("seed", -1, 0, 2**63 - 1),
        whole("seed", 2**63, 0, 2**63 - 1),
        whole("no_repeat", False, 0, 100),
        whole("alternatives", 51, 0, 50),
        real("length_penalty", -0.1),
        real("length_penalty", True),
        real("temperature", "hot"),
        real("temperature", 10.5),
        real("temperature", math.nan),
        real("temperature", math.inf),
        real("top_p", 1.5, high=1),
        real("top_p", None, high=1),
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
            several("capture", "str", '"**.logits"'),
            "capture",
        ),
        (
            {"capture": (5,)},
            several("capture", "str", "a tuple"),
            "capture",
        ),
        (
            {"interventions": ("remove",)},
            several("interventions", "Intervention", "a tuple"),
            "interventions",
        ),
    ],
    ids=str,
)
def test_a_request_that_cannot_be_served_is_an_error_in_words(
    translator: Translator, options: dict[str, Any], words: str, field: str
) -> None:
    for run in (
        lambda: translator.translate(TEXT, **options),
        lambda: translator.translate_batch([TEXT], **options),
        lambda: next(translator.stream(TEXT, **options)),
    ):
        with pytest.raises(RequestError) as caught:
            run()
        assert str(caught.value) == words
        assert caught.value.field == field


def test_unknown_options_are_named_with_the_known_ones(translator: Translator) -> None:
    with pytest.raises(RequestError) as caught:
        translator.translate(TEXT, beam=4, max_lenght=3)
    words = str(caught.value)
    assert words.startswith(
        'There is no parameter "beam", "max_lenght". The parameters are: beam_size, length_penalty, '
    )
    for name in ("temperature", "target", "prefix", "interventions", "capture"):
        assert name in words
    assert caught.value.field == "options"


def test_a_request_takes_no_options_beside_its_own(translator: Translator) -> None:
    request = TranslationRequest(text=TEXT)
    with pytest.raises(RequestError, match=r"The request carries its own options\. Set beam_size there") as caught:
        translator.translate(request, beam_size=2)
    assert caught.value.field == "options"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"options": {"beam_size": 2}}, "options must be DecodingOptions, but an object was given. Change it."),
        ({"options": None}, "options must be DecodingOptions, but null was given. Change it."),
        (
            {"interventions": [5]},
            several("interventions", "Intervention", "a list"),
        ),
        (
            {"interventions": None},
            several("interventions", "Intervention", "null"),
        ),
        ({"capture": ["**.logits"]}, several("capture", "str", "a list")),
        ({"target": [5, 6]}, f"target {IDS}"),
        ({"text": None}, "text must be text, but null was given. Write it in quotation marks."),
    ],
    ids=str,
)
def test_a_request_record_with_wrong_types_is_an_error_in_words(
    translator: Translator, fields: dict[str, Any], words: str
) -> None:
    record = TranslationRequest(**({"text": TEXT} | fields))
    with pytest.raises(RequestError) as caught:
        translator.translate(record)
    assert str(caught.value) == words
    assert caught.value.field == next(iter(fields))


@pytest.mark.parametrize("text", [None, 5, b"Bier", ["Bier"], ("a", "b")])
def test_what_is_no_text_is_an_error(translator: Translator, text: Any) -> None:
    with pytest.raises(RequestError, match=f"^text must be text, but {re.escape(repr_short(text))} was given"):
        translator.translate(text)


def test_a_sentence_may_be_as_long_as_the_model_reads_and_no_longer(translator: Translator) -> None:
    fits = "a " * (LONGEST - 1)
    assert len(translator.source_tokenizer.encode(fits.strip())) == LONGEST - 1
    assert len(translator.translate(fits, max_length=2).source_tokens) == LONGEST
    with pytest.raises(RequestError) as caught:
        translator.translate(fits + "a")
    assert str(caught.value) == "text has 62 tokens, but at most 61 are read here. Shorten it, or split it."
    assert caught.value.field == "text"


# ---------------------------------------------------------------- any text at all


def check(answer: Translation) -> None:
    """What holds of every translation."""
    source, target = len(answer.source_tokens), len(answer.target_tokens)
    assert source >= 2
    assert answer.source_tokens[-1].id == END
    assert 1 <= target <= LONGEST
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
    assert END not in ids_of(answer)[:-1]
    assert (ids_of(answer)[-1] == END) == (answer.stopped == "end")
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
    """Anything else that may be raised is a fault."""
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
def test_any_text_is_translated_or_refused_in_words(
    translator: Translator, text: str, options: dict[str, Any], beam: int
) -> None:
    if "temperature" not in options:
        options["beam_size"] = beam
    answer = answer_or_error(translator, text, **options)
    if isinstance(answer, RequestError):
        assert answer.field == "text"
        return
    check(answer)
    forced = translator.translate(text, target=ids_of(answer))
    assert forced.log_probability == pytest.approx(answer.log_probability, abs=1e-3)


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(words=st.text(min_size=1, max_size=12), name=st.sampled_from(["target", "prefix"]))
def test_any_words_can_be_forced_or_are_refused_in_words(translator: Translator, words: str, name: str) -> None:
    answer = answer_or_error(translator, "Ja.", **{name: words})
    if isinstance(answer, RequestError):
        assert answer.field == name
        return
    ids = tuple(translator.target_tokenizer.encode(clean_text(words)))
    assert ids_of(answer)[: len(ids)] == ids
    if name == "target":
        assert ids_of(answer)[len(ids) :] == (END,)
        assert answer.text == clean_text(words)
