"""Wrong types for every widget function are rejected with a message, without internal errors."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from threading import Event
from typing import Any

import pytest

from headlight.viz.page import Page, build_page
from headlight.viz.server.calls import Function, call_json
from headlight.viz.settings import Settings

WRONG: tuple[Any, ...] = (None, False, 7, -1.5, "x", "", [], ["x"], [[]], {}, {"x": {}}, {"text": 7}, {"text": ["x"]})
REQUEST = {"text": "ein bier", "model": "toy"}
# What most functions take, so that the next value is reached.
RIGHT = {"request": REQUEST, "other": REQUEST, "theme": "light", "language": "en", "form": "csv", "kind": "cross"}
RIGHT |= {
    "layer": 0,
    "head": 0,
    "row": 0,
    "column": 0,
    "model": "toy",
    "method": "attention",
    "lesson": "x",
    "text": "x",
}


class Read(dict[str, Any]):
    """Values that note which of them are read."""

    def __init__(self, values: dict[str, Any], names: set[str]) -> None:
        super().__init__(values)
        self.names = names

    def get(self, name: str, default: Any = None) -> Any:
        self.names.add(name)
        return super().get(name, default)

    def __getitem__(self, name: str) -> Any:
        self.names.add(name)
        return super().__getitem__(name)


@pytest.fixture(scope="module")
def page() -> Page:
    async def built() -> Page:  # in a loop: outside, Gradio leaves some open
        return build_page(Settings(model="toy", models=()))

    return asyncio.run(built())


def test_wrong_types_in_streams_are_client_errors(page: Page, caplog: pytest.LogCaptureFixture) -> None:
    fields = ("text", "model", "turn", "live", "interventions", "name", "beam_size", "target", "source_language")
    faults = [
        (name, field, wrong)
        for name, stream in page.calls.streams.items()
        for field in fields
        for wrong in WRONG
        if any('"our_fault"' in str(step) for step in stream(REQUEST | {field: wrong}, Event()))
    ]
    assert (faults, caplog.text) == ([], "")
    assert len(page.calls.streams) == 2


def test_wrong_types_are_client_errors(page: Page, caplog: pytest.LogCaptureFixture) -> None:
    faults, calls = [], 0
    functions: dict[str, Function] = {name: call.function for name, call in page.calls.calls.items()}
    for name, function in functions.items():
        names = {"request"}
        for values in ({}, RIGHT):
            with suppress(Exception):  # which names it reads is all that counts
                function(Read(dict(values), names))
        for field in sorted(names):
            for wrong in WRONG:
                text = call_json(function, {**RIGHT, field: wrong}).decode()
                assert "Traceback" not in text
                calls += 1
                if '"our_fault"' in text:
                    faults.append((name, field, wrong))
    assert (faults, caplog.text) == ([], "")
    assert calls > 500
