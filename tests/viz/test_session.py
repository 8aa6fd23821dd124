"""What a browser sends is checked value by value."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import asdict, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headlight.model.errors import CheckpointError, ModelError, NoMemoryError, RequestError
from headlight.model.records import KINDS, DecodingOptions, TranslationRequest
from headlight.viz.errors import PageError, page_error, shown
from headlight.viz.session import NAMES, Selection, Session, default_options, session_from
from headlight.viz.settings import Settings
from tests.tiny import tiny_translator

LIMITS = Settings(max_characters=499, max_tokens=199, max_beam=7)
TEXTS = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        [
            "👩‍💻 👍🏽",
            "שלום world",
            "a\n\r\tb",
            "50% + 50% = 100%+ %zz %",
            "a&b=c#d?e",
            "\u202eabc",
            "=",
            "&",
            "#",
            "+",
            " ",
        ]
    ),
)
LAYERS = st.one_of(st.integers(0, 997), st.just("mean"))
PLACES = st.one_of(st.integers(0, 997), st.sampled_from(["mean", "max"]))


@st.composite
def sessions(draw: st.DrawFn) -> Session:
    beam = draw(st.integers(1, 7))
    options = DecodingOptions(
        beam_size=beam,
        n_best=draw(st.integers(1, beam)),
        length_penalty=draw(st.floats(0, 10)),
        max_length=draw(st.none() | st.integers(1, 199)),
        temperature=0.0 if beam > 1 else draw(st.floats(0, 10)),
        top_k=draw(st.integers(0, 1000)),
        top_p=draw(st.floats(0, 1, exclude_min=True)),
        seed=draw(st.integers(0, 2**53 - 1)),
        no_repeat=draw(st.integers(0, 100)),
    )
    words = TEXTS.filter(bool) | st.lists(st.integers(0, 9973), min_size=1, max_size=11).map(tuple)
    which, given_words = draw(st.sampled_from(["target", "prefix", "text"])), draw(words)
    request = TranslationRequest(text=draw(TEXTS), model=draw(st.sampled_from(["", "toy", "a b&c"])), options=options)
    if which != "text":
        request = replace(request, **{which: given_words})
    codes = st.sampled_from(["", "deu_Latn", "en→de", "a&b"])
    request = replace(request, source_language=draw(codes), target_language=draw(codes))
    place = st.none() | st.integers(0, 4093)
    selection = Selection(
        kind=draw(st.sampled_from(KINDS)),
        layer=draw(LAYERS),
        head=draw(PLACES),
        row=draw(place),
        column=draw(place),
        view=draw(st.sampled_from(["matrix", "lines", "numbers"])),
        words=draw(st.booleans()),
        special=draw(st.booleans()),
        rescale=draw(st.booleans()),
        scale=draw(st.sampled_from(["linear", "log", "row"])),
        palette=draw(st.sampled_from(["headlight", "cividis", "grey"])),
        pinned=draw(st.none() | st.tuples(LAYERS, PLACES)),
        threshold=draw(st.floats(0, 1)),
        beside=draw(st.sampled_from(["", "toy", "a b&c"])),
        beside_head=draw(st.none() | st.tuples(LAYERS, PLACES)),
        beside_beam=draw(st.none() | st.integers(1, 7)),
        beside_same=draw(st.booleans()),
    )
    return Session(request=request, selection=selection)


def values_of(session: Session) -> dict[str, Any]:
    """A session as a browser sends it: by names, pairs as lists."""
    found = asdict(session.selection) | asdict(session.request) | asdict(session.request.options)
    return {name: list(found[name]) if isinstance(found[name], tuple) else found[name] for name in NAMES}


@settings(max_examples=300, deadline=None)
@given(sessions())
def test_every_session_arrives_as_it_was_sent(session: Session) -> None:
    assert session_from(values_of(session), LIMITS) == session


@pytest.mark.parametrize("widest", [2, 7])
def test_the_page_searches_and_a_program_gets_what_it_names(widest: int) -> None:
    limits = Settings(max_beam=widest)
    usual = default_options(limits)
    assert (usual.beam_size, usual.no_repeat) == (min(4, widest), 4)
    assert session_from({"text": "Ja."}, limits, usual).request.options == usual
    assert session_from({"text": "Ja."}, limits).request.options == DecodingOptions()


def test_with_a_temperature_nothing_is_searched() -> None:
    values = {"text": "Ja.", "temperature": 0.5}
    assert session_from(values, LIMITS, default_options(LIMITS)).request.options.beam_size == 1


def test_everything_that_a_browser_may_send_arrives() -> None:
    session = session_from(
        {
            "text": "Ja.",
            "model": "toy",
            "beam_size": 5.0,  # JavaScript's numbers
            "n_best": 3,
            "length_penalty": 2,
            "max_length": 61,
            "seed": 2**53 - 1,
            "target": [7, 11],
            "prefix": "",
            "kind": "decoder",
            "layer": "mean",
            "pinned": [1, "mean"],
            "row": None,
            "special": False,
        },
        LIMITS,
    )
    options = DecodingOptions(beam_size=5, n_best=3, length_penalty=2.0, max_length=61, seed=2**53 - 1)
    assert session.request == TranslationRequest(text="Ja.", model="toy", options=options, target=(7, 11))
    assert session.selection == Selection(kind="decoder", layer="mean", pinned=(1, "mean"), special=False)
    assert type(session.request.options.beam_size) is int


WRONG: list[tuple[Any, str, str]] = [
    (None, "text", "not_names"),
    ([1], "text", "not_names"),
    ("text", "text", "not_names"),
    ({}, "text", "missing"),
    ({"text": None}, "text", "not_text"),
    ({"text": 3}, "text", "not_text"),
    ({"text": {"path": "/etc/passwd"}}, "text", "not_text"),
    ({"text": "x" * 500}, "text", "too_long"),
    ({"text": "a\ud800"}, "text", "half_character"),
    ({"text": "a", "model": 5}, "model", "not_text"),
    ({"text": "a", "beam_size": 0}, "beam_size", "not_whole"),
    ({"text": "a", "beam_size": 8}, "beam_size", "not_whole"),
    ({"text": "a", "beam_size": True}, "beam_size", "not_whole"),
    ({"text": "a", "beam_size": "4"}, "beam_size", "not_whole"),
    ({"text": "a", "beam_size": 2.5}, "beam_size", "not_whole"),
    ({"text": "a", "beam_size": math.nan}, "beam_size", "not_whole"),
    ({"text": "a", "beam_size": math.inf}, "beam_size", "not_whole"),
    ({"text": "a", "beam_size": 10**5000}, "beam_size", "not_whole"),
    ({"text": "a", "beam_size": None}, "beam_size", "not_whole"),
    ({"text": "a", "n_best": 2}, "n_best", "not_whole"),
    ({"text": "a", "seed": 2**53}, "seed", "not_whole"),
    ({"text": "a", "max_length": 200}, "max_length", "not_whole"),
    ({"text": "a", "length_penalty": math.nan}, "length_penalty", "not_number"),
    ({"text": "a", "length_penalty": -0.1}, "length_penalty", "not_number"),
    ({"text": "a", "length_penalty": 10**400}, "length_penalty", "not_number"),
    ({"text": "a", "temperature": [1]}, "temperature", "not_number"),
    ({"text": "a", "temperature": 1.0, "beam_size": 2}, "beam_size", "sampling_with_beam"),
    ({"text": "a", "top_p": 0}, "top_p", "top_p_zero"),
    ({"text": "a", "target": 5}, "target", "not_words"),
    ({"text": "a", "target": [1, "x"]}, "target", "wrong_ids"),
    ({"text": "a", "prefix": [99_999_999]}, "prefix", "wrong_ids"),
    ({"text": "a", "target": [1] * 200}, "target", "too_many_tokens"),
    ({"text": "a", "prefix": "y" * 500}, "prefix", "too_long"),
    ({"text": "a", "target": "b", "prefix": "c"}, "prefix", "target_and_prefix"),
    ({"text": "a", "kind": "sideways"}, "kind", "not_choice"),
    ({"text": "a", "kind": ["cross"]}, "kind", "not_choice"),
    ({"text": "a", "layer": "max"}, "layer", "not_choice"),
    ({"text": "a", "head": -1}, "head", "not_choice"),
    ({"text": "a", "row": 4096}, "row", "not_whole"),
    ({"text": "a", "words": 1}, "words", "not_switch"),
    ({"text": "a", "pinned": [1]}, "pinned", "not_choice"),
    ({"text": "a", "pinned": [1, "x"]}, "pinned", "not_choice"),
    ({"text": "a", "pinned": ["max", 1]}, "pinned", "not_choice"),
    ({"text": "a", "threshold": 1.5}, "threshold", "not_number"),
    ({"text": "a", "colour": "red"}, "colour", "unknown_name"),
    ({"text": "a", "<b>": 1}, "text", "unknown_name"),
    ({"text": "a", 5: 1}, "text", "unknown_name"),
]


@pytest.mark.parametrize(
    ("values", "field", "word"), WRONG, ids=[f"{number}-{word}" for number, (_, _, word) in enumerate(WRONG)]
)
def test_a_wrong_value_is_named_with_its_field(values: Any, field: str, word: str) -> None:
    with pytest.raises(PageError) as caught:
        session_from(values, LIMITS)
    assert (caught.value.field, caught.value.word) == (field, word)
    assert len(str(caught.value)) < 400
    assert str(caught.value).isprintable()


def test_limits_themselves_are_allowed() -> None:
    session = session_from({"text": "x" * 499, "beam_size": 7, "max_length": 199, "threshold": 1}, LIMITS)
    assert (len(session.request.text), session.request.options.beam_size) == (499, 7)


@pytest.mark.parametrize("name", ["settings", "errors", "session", "api.arguments", "answers.cards"])
def test_who_reads_requests_and_settings_loads_neither_torch_nor_gradio(name: str) -> None:
    code = f"import sys, headlight.viz.{name}\nprint(*{{'torch', 'gradio', 'transformers'}} & set(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == []


# ---------------------------------------------------------------- phrases


@pytest.mark.parametrize(
    ("options", "field", "word", "values"),
    [
        ({"text": " \u200b"}, "text", "blank_text", {}),
        ({"text": "a", "target": "\u200b"}, "target", "blank_words", {"name": "target"}),
        ({"text": "a\udc00"}, "text", "half_character", {"place": 2, "name": "text"}),
        ({"text": "a " * 61}, "text", "too_many_tokens", {"name": "text", "given": 62, "limit": 61}),
        ({"text": "Ja.", "prefix": (300,) * 5, "max_length": 3}, "prefix", "prefix_too_long", {"given": 5, "limit": 3}),
        ({"text": "a", "target": (999_999,)}, "target", "wrong_ids", {"name": "target"}),
        ({"text": "a", "prefix": (5, 2, 5)}, "prefix", "wrong_end", {"name": "prefix"}),
        ({"text": "a", "beam_size": 2, "temperature": 1.0}, "beam_size", "sampling_with_beam", {}),
        ({"text": "a", "target": "b", "prefix": "c"}, "prefix", "target_and_prefix", {}),
        ({"text": "a", "top_p": 0.0}, "top_p", "top_p_zero", {}),
        ({"text": "a", "capture": ("nothing",)}, "text", "model_says", {}),
    ],
)
def test_what_the_model_floor_complains_of_has_a_phrase(
    options: dict[str, Any], field: str, word: str, values: dict[str, Any]
) -> None:
    with pytest.raises(ModelError) as caught:
        tiny_translator().translate(**options)
    said = page_error(caught.value)
    assert (said.field, said.word) == (field, word)
    assert values.items() <= said.values.items()


def test_no_path_of_ours_is_said() -> None:
    said = page_error(CheckpointError("/home/somebody/models/x: model.safetensors is cut short."), model="x")
    assert (said.word, "/home" in str(said), '"x"' in str(said)) == ("model_cannot_load", False, True)
    assert (page_error(NoMemoryError("/home/x")).word, "/home" in str(page_error(NoMemoryError("/home/x")))) == (
        "no_memory",
        False,
    )
    assert page_error(RequestError("top_p_zero", field="top_p")).field == "top_p"
    same = PageError("text", "blank_text")
    assert page_error(same) is same


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a\u202eb\nc\ud800", '"a�b�c�"'),
        ("x" * 41, '"' + "x" * 40 + "…"),
        (10**5000, "a huge number"),
        (math.nan, "nan"),
        (True, "true"),
        (None, "null"),
        ({}, "an object"),
        ([1], "a list"),
        (object(), "a value of type object"),
    ],
    ids=["letters", "long", "huge", "nan", "true", "null", "object", "list", "other"],
)
def test_a_value_is_repeated_only_as_far_as_it_can_be_printed(value: Any, text: str) -> None:
    assert shown(value) == text
