"""Validation of every value in a browser request."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from dataclasses import asdict, fields, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headlight.model.intervention_records import (
    BorrowMap,
    CopyHead,
    InputChange,
    Intervention,
    PositionChange,
    SetWeight,
    ZeroPart,
    change_to_dict,
)
from headlight.model.records import KINDS, DecodingOptions, TranslationRequest
from headlight.viz.errors import PageError
from headlight.viz.figure_phrases import LANGUAGES, phrases
from headlight.viz.request_fields import (
    ENDPOINT_NAMES,
    OPTIONS,
    REQUEST_FIELDS,
    SELECTION_FIELDS,
    Selection,
    browser_fields,
    default_options,
    parameters,
    parse_request,
    parse_selection,
)
from headlight.viz.settings import Settings
from headlight.viz.theme import PALETTES

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


SELECTED = {row.name for row in SELECTION_FIELDS}


def check(values: Any) -> tuple[TranslationRequest, Selection]:
    """Parse the values of a request and of a selection."""
    if not isinstance(values, dict):
        return parse_request(values, LIMITS), Selection()
    looks = {name: value for name, value in values.items() if name in SELECTED}
    request_values = {name: value for name, value in values.items() if name not in SELECTED}
    return parse_request(request_values, LIMITS), parse_selection(looks, LIMITS)


CHANGES = (
    Intervention(kind="cross", layer=None, head=2, action="temperature", amount=0.25),
    SetWeight(kind="decoder", layer=1, head=0, row=4, column=2, amount=0.125),
    CopyHead(kind="encoder", layer=2, head=1, from_layer=0, from_head=4),
    BorrowMap(kind="cross", layer=0, head=None, text="Ja & <b>nein</b>."),
    ZeroPart(side="decoder", layer=0, part="residual"),
    PositionChange(side="encoder", action="shift", amount=-2),
    InputChange(action="swap", start=0, end=3, text="Die"),
)


@st.composite
def requests(draw: st.DrawFn) -> TranslationRequest:
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
    changes = draw(st.lists(st.sampled_from(CHANGES), max_size=5).map(tuple))
    return replace(request, source_language=draw(codes), target_language=draw(codes), interventions=changes)


@st.composite
def selections(draw: st.DrawFn) -> Selection:
    place = st.none() | st.integers(0, 4093)
    return Selection(
        kind=draw(st.sampled_from(KINDS)),
        layer=draw(LAYERS),
        head=draw(PLACES),
        row=draw(place),
        column=draw(place),
        word=draw(place),
        rival=draw(st.none() | st.tuples(st.integers(0, 4093), st.none() | st.integers(0, 9973))),
        written=draw(st.none() | st.integers(1, 4093)),
        view=draw(st.sampled_from(["matrix", "effect", "lines", "numbers"])),
        words=draw(st.booleans()),
        special=draw(st.booleans()),
        rescale=draw(st.booleans()),
        scale=draw(st.sampled_from(["linear", "log", "row"])),
        palette=draw(st.sampled_from(["headlight", "cividis", "grey"])),
        measure=draw(st.sampled_from(["maps", "entropy", "special"])),
        pinned=draw(st.none() | st.tuples(LAYERS, PLACES)),
        threshold=draw(st.floats(0, 1)),
        beside=draw(st.sampled_from(["", "toy", "a b&c"])),
        beside_head=draw(st.none() | st.tuples(LAYERS, PLACES)),
        beside_beam=draw(st.none() | st.integers(1, 7)),
        beside_same=draw(st.booleans()),
    )


def sent(values: dict[str, Any], names: set[str]) -> dict[str, Any]:
    """Convert to the format of browsers: values by name, pairs as lists."""
    return {name: list(each) if isinstance(each := values[name], tuple) else each for name in names}


@settings(max_examples=300, deadline=None)
@given(requests(), selections())
def test_requests_and_selections_roundtrip(request: TranslationRequest, chosen: Selection) -> None:
    values = asdict(request) | asdict(request.options)
    values["interventions"] = [change_to_dict(change) for change in request.interventions]
    assert parse_request(sent(values, {row.name for row in REQUEST_FIELDS}), LIMITS) == request
    assert parse_selection(sent(asdict(chosen), SELECTED), LIMITS) == chosen


def test_table_has_every_request_field_once() -> None:
    records = {each.name for record in (TranslationRequest, DecodingOptions) for each in fields(record)}
    inside = {"options", "capture", "alternatives"}  # used only by code
    names = [row.name for row in (*REQUEST_FIELDS, *SELECTION_FIELDS)]
    assert len(names) == len(set(names))
    assert {row.name for row in REQUEST_FIELDS} == records - inside
    assert (
        asdict(TranslationRequest(text="", options=DecodingOptions()).options).items()
        >= {row.name: row.default for row in OPTIONS}.items()
    )
    assert asdict(Selection()) == {row.name: row.default for row in SELECTION_FIELDS}


def test_defaults_are_valid() -> None:
    for row in (*REQUEST_FIELDS, *SELECTION_FIELDS):
        if not row.required:
            assert row.value.check(row.name, row.default, LIMITS) == row.default, row.name


def test_positional_arguments_keep_order() -> None:
    request = ["model", "beam_size", "length_penalty", "target", "prefix", "source_language", "target_language"]
    assert [row.name for row in parameters("translate")][:8] == ["text", *request]
    assert [row.name for row in parameters("attention")][:11] == ["text", "kind", "layer", "head", *request]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_field_has_phrases(language: str) -> None:
    table = phrases(language)
    for row in REQUEST_FIELDS:
        assert not row.on_page or {f"option_{row.name}", f"field_{row.name}"} <= set(table), row.name
    for row in SELECTION_FIELDS:
        choices = browser_row(row.name).get("choices", ())
        assert not row.on_page or f"tool_{row.name}" in table, row.name
        assert not row.on_page or {f"{row.name}_{choice}" for choice in choices} <= set(table), row.name
    for endpoint in ENDPOINT_NAMES:
        assert {f"api_{endpoint}", f"api_{endpoint}_returns"} <= set(table)
        assert {f"api_{row.name}" for row in parameters(endpoint)} <= set(table)


def browser_row(name: str) -> dict[str, Any]:
    return next(row for rows in browser_fields().values() for row in rows if row["name"] == name)


def test_browser_fields_have_limits_and_choices() -> None:
    assert json.loads(json.dumps(browser_fields())) == json.loads(json.dumps(browser_fields(), allow_nan=False))
    beam = next(row for row in OPTIONS if row.name == "beam_size")
    assert (browser_row("beam_size")["high"], beam.as_json(LIMITS)["high"]) == (64, 7)  # without settings: on any page
    assert browser_row("palette")["choices"] == PALETTES
    assert browser_row("pinned")["head"]["merged"] == ("mean", "max")
    assert browser_row("text").keys().isdisjoint({"longest"})  # the server sends the limit


@pytest.mark.parametrize("widest", [2, 7])
def test_page_and_api_defaults_differ(widest: int) -> None:
    limits = Settings(max_beam=widest)
    usual = default_options(limits)
    assert (usual.beam_size, usual.no_repeat) == (min(4, widest), 4)
    assert parse_request({"text": "Ja."}, limits, usual).options == usual
    assert parse_request({"text": "Ja."}, limits).options == DecodingOptions()


def test_temperature_disables_beam_search() -> None:
    values = {"text": "Ja.", "temperature": 0.5}
    assert parse_request(values, LIMITS, default_options(LIMITS)).options.beam_size == 1


def test_all_browser_values_are_accepted() -> None:
    request, chosen = check(
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
        }
    )
    options = DecodingOptions(beam_size=5, n_best=3, length_penalty=2.0, max_length=61, seed=2**53 - 1)
    assert request == TranslationRequest(text="Ja.", model="toy", options=options, target=(7, 11))
    assert chosen == Selection(kind="decoder", layer="mean", pinned=(1, "mean"), special=False)
    assert type(request.options.beam_size) is int


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
    ({"text": "a", "word": -1}, "word", "not_whole"),
    ({"text": "a", "rival": 5}, "rival", "not_choice"),
    ({"text": "a", "rival": [5]}, "rival", "not_choice"),
    ({"text": "a", "rival": [-1, 5]}, "rival", "not_whole"),
    ({"text": "a", "rival": [1, "x"]}, "rival", "wrong_ids"),
    ({"text": "a", "threshold": 1.5}, "threshold", "not_number"),
    ({"text": "a", "colour": "red"}, "colour", "unknown_name"),
    ({"text": "a", "<b>": 1}, "text", "unknown_name"),
    ({"text": "a", 5: 1}, "text", "unknown_name"),
]


@pytest.mark.parametrize(
    ("values", "field", "word"), WRONG, ids=[f"{number}-{word}" for number, (_, _, word) in enumerate(WRONG)]
)
def test_invalid_value_error_names_field(values: Any, field: str, word: str) -> None:
    with pytest.raises(PageError) as error_info:
        check(values)
    assert (error_info.value.field, error_info.value.word) == (field, word)
    assert len(str(error_info.value)) < 400
    assert str(error_info.value).isprintable()


def test_limits_are_inclusive() -> None:
    request, chosen = check({"text": "x" * 499, "beam_size": 7, "max_length": 199, "threshold": 1})
    assert chosen.threshold == 1
    assert (len(request.text), request.options.beam_size) == (499, 7)


@pytest.mark.parametrize("name", ["settings", "errors", "request_fields", "api.arguments", "service.model_cards"])
def test_requests_and_settings_import_neither_torch_nor_gradio(name: str) -> None:
    code = f"import sys, headlight.viz.{name}\nprint(*{{'torch', 'gradio', 'transformers'}} & set(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_length_error_agrees_with_field_number(language: str) -> None:
    message = phrases(language)["error_too_long"].format(
        name=phrases(language)["field_interventions"], given=636, limit=500
    )
    assert re.match(r"(The changes: |改动：)", message)
    assert {"636", "500"} <= set(re.findall(r"\d+", message))
