"""Widget calls: any input returns JSON that the page can display."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from headlight.model.errors import RequestError
from headlight.viz.errors import PageError
from headlight.viz.server.calls import CallTable, call_json, parse_json_object


def double(values: Mapping[str, Any]) -> dict[str, Any]:
    if "number" not in values:
        raise PageError("number", "missing", {"name": "number"})
    return {"double": 2 * values["number"]}


def test_calls_pass_values_and_results() -> None:
    assert json.loads(call_json(double, {"number": 21})) == {"double": 42}


def test_error_has_phrase_and_field() -> None:
    message = json.loads(call_json(double, {}))
    assert (message["what"], message["word"], message["field"]) == ("error", "missing", "number")


@pytest.mark.parametrize("values", ["", "[1]", "nonsense", "null", 7, None, {"a": 1}, "[" * 100_000])
def test_non_object_values_are_rejected(values: Any) -> None:
    with pytest.raises(PageError) as refused:
        parse_json_object(values)
    assert refused.value.word in ("not_json", "not_names")


def test_unexpected_errors_hide_details(caplog: pytest.LogCaptureFixture) -> None:
    def broken(values: Mapping[str, Any]) -> None:
        raise RuntimeError("/secret/path")

    response = call_json(broken, {}).decode()
    assert json.loads(response)["word"] == "our_fault"
    assert "secret" not in response
    assert "secret" in caplog.text


def test_model_error_keeps_its_message() -> None:
    def refuse(values: Mapping[str, Any]) -> None:
        raise RequestError("flow_too_long", field="text", edges=9, limit=7)

    response = json.loads(call_json(refuse, {}))
    assert (response["word"], response["field"], response["values"]) == (
        "flow_too_long",
        "text",
        {"edges": 9, "limit": 7},
    )


def test_bytes_are_sent_as_json() -> None:
    def text(values: Mapping[str, Any]) -> bytes:
        return b'{"what":"answer"}'

    assert call_json(text, {}) == b'{"what":"answer"}'


def test_duplicate_function_names_raise() -> None:
    calls = CallTable(threads=1)
    calls.add(double, computes=False)
    assert calls.calls["double"].function is double
    for add in (calls.add, calls.add_stream):
        with pytest.raises(ValueError, match="double"):
            add(double)  # type: ignore[arg-type]
