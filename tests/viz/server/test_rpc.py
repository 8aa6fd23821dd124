"""Calls from a widget: whatever is sent, what comes back is JSON that the page can say."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from headlight.model.errors import RequestError
from headlight.viz.errors import PageError
from headlight.viz.server.rpc import rpc_function


def double(values: Mapping[str, Any]) -> dict[str, Any]:
    if "number" not in values:
        raise PageError("number", "missing", {"name": "number"})
    return {"double": 2 * values["number"]}


def test_values_go_in_and_come_out() -> None:
    assert json.loads(rpc_function(double)('{"number": 21}')) == {"double": 42}


def test_a_complaint_names_its_phrase_and_field() -> None:
    message = json.loads(rpc_function(double)("{}"))
    assert (message["what"], message["word"], message["field"]) == ("error", "missing", "number")


@pytest.mark.parametrize("asked", ["", "[1]", "nonsense", "null", 7, None, {"a": 1}, "[" * 100_000])
def test_what_is_no_object_is_refused(asked: Any) -> None:
    assert json.loads(rpc_function(double)(asked))["word"] in ("not_json", "not_names")


def test_our_own_faults_show_nothing_of_the_inside(caplog: pytest.LogCaptureFixture) -> None:
    def broken(values: Mapping[str, Any]) -> None:
        raise RuntimeError("/secret/path")

    said = rpc_function(broken)("{}")
    assert json.loads(said)["word"] == "our_fault"
    assert "secret" not in said
    assert "secret" in caplog.text


def test_an_error_of_the_model_is_told_in_its_own_words() -> None:
    def refuse(values: Mapping[str, Any]) -> None:
        raise RequestError("flow_too_long", field="text", edges=9, limit=7)

    told = json.loads(rpc_function(refuse)("{}"))
    assert (told["word"], told["field"], told["values"]) == ("flow_too_long", "text", {"edges": 9, "limit": 7})
