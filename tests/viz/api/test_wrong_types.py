"""Every function that a widget may call gets values of wrong types: each is refused in words, and none is our fault."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import gradio as gr
import pytest

from headlight.viz.page import build_page
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


def functions() -> Iterator[tuple[str, Callable[[str], str | bytes]]]:
    """Those of every widget of the page."""

    async def built() -> gr.Blocks:  # in a loop: outside, Gradio leaves some open
        return build_page(Settings(model="toy", models=()))

    page = asyncio.run(built())
    for block in page.blocks.values():
        for function in vars(block).values():
            if getattr(function, "_is_server_fn", False) and not getattr(function, "tells", False):
                yield function.__name__, function


def test_no_wrong_type_of_any_value_is_our_fault(caplog: pytest.LogCaptureFixture) -> None:
    faults, calls = [], 0
    for name, function in functions():
        names = {"request"}
        for values in ({}, RIGHT):
            with suppress(Exception):  # which names it reads is all that counts
                function.__wrapped__(Read(dict(values), names))  # type: ignore[attr-defined]
        for field in sorted(names):
            for wrong in WRONG:
                told = function(json.dumps({**RIGHT, field: wrong}))
                text = told.decode() if isinstance(told, bytes) else told
                assert "Traceback" not in text
                calls += 1
                if '"our_fault"' in text:
                    faults.append((name, field, wrong))
    assert (faults, caplog.text) == ([], "")
    assert calls > 500
