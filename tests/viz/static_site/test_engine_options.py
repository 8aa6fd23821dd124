"""The engine of the static page reads every decoding option."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest

from headlight.model.records import DecodingOptions
from headlight.viz.browser_files.static_files import WIDGETS

# `requests.js` checks all options by the server's table, so a name there does not prove that the option has an effect.
MODULES = ("translator.js", "search.js", "reranking.js", "answer.js")
SOURCES = "".join((WIDGETS / "engine" / name).read_text(encoding="utf-8") for name in MODULES)


@pytest.mark.parametrize("name", [field.name for field in fields(DecodingOptions)])
def test_option_is_read_by_the_engine(name: str) -> None:
    assert re.search(rf"\b{name}\b", SOURCES)
