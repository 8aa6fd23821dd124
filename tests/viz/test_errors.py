"""Errors of all layers become phrases of the page."""

from __future__ import annotations

import math
from typing import Any

import pytest

from headlight.model.errors import CheckpointError, ModelError, NoMemoryError, RequestError
from headlight.viz.errors import PageError, repr_short, to_page_error
from tests.tiny import tiny_translator


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
def test_every_model_error_has_phrase(options: dict[str, Any], field: str, word: str, values: dict[str, Any]) -> None:
    with pytest.raises(ModelError) as error_info:
        tiny_translator().translate(**options)
    page_error = to_page_error(error_info.value)
    assert (page_error.field, page_error.word) == (field, word)
    assert values.items() <= page_error.values.items()


def test_errors_do_not_reveal_paths() -> None:
    page_error = to_page_error(CheckpointError("/home/somebody/models/x: model.safetensors is cut short."), model="x")
    assert (page_error.word, "/home" in str(page_error), '"x"' in str(page_error)) == ("model_cannot_load", False, True)
    assert (to_page_error(NoMemoryError("/home/x")).word, "/home" in str(to_page_error(NoMemoryError("/home/x")))) == (
        "no_memory",
        False,
    )
    assert to_page_error(RequestError("top_p_zero", field="top_p")).field == "top_p"
    same = PageError("text", "blank_text")
    assert to_page_error(same) is same


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
def test_quoted_values_are_truncated_and_printable(value: Any, text: str) -> None:
    assert repr_short(value) == text
