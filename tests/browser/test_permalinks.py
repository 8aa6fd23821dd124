"""Stored permalinks keep their meaning, and the page formats them in the same way."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl

import pytest
from playwright.sync_api import Page

from tests.browser.acting import expose_state, state, wait_for_translation
from tests.browser.conftest import Visit
from tests.browser.polling import wait_for_function

TOY = {"text": "ich mochte ein bier", "model": "toy"}
BEER = "#text=ich+mochte+ein+bier&model=toy"
# The default view. A permalink contains the differences, and always layer and head.
USUAL = {
    "tab": "heads",
    "kind": "cross",
    "layer": 0,
    "head": 0,
    "row": None,
    "column": None,
    "pinned": None,
    "word": None,
    "rival": None,
    "view": "matrix",
    "words": False,
    "special": True,
    "rescale": False,
    "averages": False,
    "scale": "linear",
    "palette": "headlight",
    "measure": "maps",
    "role": "",
    "question": "",
    "threshold": 0.05,
    "beside": "",
    "besideHead": None,
    "besideBeam": None,
    "besideSame": False,
}
# Change the hash, and wait until the page has handled it: changed selections have no other sign.
GO = """(hash) => new Promise((done) => {
  addEventListener('hashchange', () => done(), { once: true });
  location.hash = hash;
})"""
ASKED = {"beam_size": 4, "length_penalty": 1, "temperature": 0, "seed": 0, "target": None, "prefix": None}

# Permalinks as formatted by the page → their request and their view.
LINKS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "#text=Guten+Tag.&layer=2&head=6": ({"text": "Guten Tag.", "model": "de-en"}, {"layer": 2, "head": 6}),
    f"{BEER}&layer=0&head=0": (TOY, {}),
    f"{BEER}&beam_size=2&length_penalty=0.5&layer=0&head=0": (TOY | {"beam_size": 2, "length_penalty": 0.5}, {}),
    f"{BEER}&beam_size=1&temperature=0.7&seed=11&layer=0&head=0": (
        TOY | {"beam_size": 1, "temperature": 0.7, "seed": 11},
        {},
    ),
    f"{BEER}&target=we+want+a+beer+.&layer=0&head=0": (TOY | {"target": "we want a beer ."}, {}),
    f"{BEER}&target_ids=IDS&layer=0&head=0": (TOY | {"target": "IDS"}, {}),
    f"{BEER}&prefix_ids=IDS&layer=0&head=0": (TOY | {"prefix": "IDS"}, {}),
    "#text=Na+%E2%80%9Ebier%E2%80%9C+%26+%E7%8B%97+%F0%9F%90%B6%3F+100%25%23&model=toy&layer=0&head=0": (
        TOY | {"text": "Na „bier“ & 狗 🐶? 100%#"},
        {},
    ),
    f"{BEER}&kind=encoder&layer=1&head=3": (TOY, {"kind": "encoder", "layer": 1, "head": 3}),
    f"{BEER}&kind=decoder&layer=0&head=max": (TOY, {"kind": "decoder", "head": "max"}),
    f"{BEER}&layer=mean&head=mean": (TOY, {"layer": "mean", "head": "mean"}),
    f"{BEER}&view=lines&threshold=0.2&layer=1&head=0": (TOY, {"view": "lines", "threshold": 0.2, "layer": 1}),
    f"{BEER}&view=numbers&scale=log&layer=0&head=2": (TOY, {"view": "numbers", "scale": "log", "head": 2}),
    f"{BEER}&scale=row&palette=cividis&layer=0&head=0": (TOY, {"scale": "row", "palette": "cividis"}),
    f"{BEER}&measure=entropy&layer=0&head=0": (TOY, {"measure": "entropy"}),
    f"{BEER}&palette=grey&special=0&rescale=1&layer=0&head=0": (
        TOY,
        {"palette": "grey", "special": False, "rescale": True},
    ),
    f"{BEER}&layer=0&head=0&question=head-needed&role=spreads": (
        TOY,
        {"question": "head-needed", "role": "spreads"},
    ),
    f"{BEER}&words=1&layer=0&head=0&row=1&column=2": (TOY, {"words": True, "row": 1, "column": 2}),
    f"{BEER}&layer=0&head=0&row=0": (TOY, {"row": 0}),
    f"{BEER}&layer=0&head=0&row=1&written=2": (TOY, {"row": 1, "written": 2}),
    f"{BEER}&kind=encoder&view=effect&lead=1&layer=0&head=0&word=2&rival=2.5": (
        TOY,
        {"kind": "encoder", "view": "effect", "word": 2, "rival": {"place": 2, "id": 5}},
    ),
    f"{BEER}&layer=0&head=0&row=1&rival=1.none": (TOY, {"row": 1, "rival": {"place": 1, "id": None}}),
    f"{BEER}&layer=0&head=0&pinned=1.3": (TOY, {"pinned": {"layer": 1, "head": 3}}),
    f"{BEER}&layer=0&head=0&pinned=mean.max": (TOY, {"pinned": {"layer": "mean", "head": "max"}}),
    f"{BEER}&tab=why&layer=0&head=0": (TOY, {"tab": "why"}),
    f"{BEER}&tab=beside&layer=0&head=0&beside_head=1.2&beside=toy&beside_beam=1&beside_same=1": (
        TOY,
        {
            "tab": "beside",
            "beside": "toy",
            "besideHead": {"layer": 1, "head": 2},
            "besideBeam": 1,
            "besideSame": True,
        },
    ),
    f"{BEER}&layer=0&head=0&language=zh": (TOY, {"chosenLanguage": "zh", "language": "zh"}),
}


@pytest.fixture
def open_page(visit: Visit) -> Page:
    return visit(f"{BEER}&layer=0&head=1")


@pytest.mark.journey
def test_stored_permalinks_roundtrip(open_page: Page) -> None:
    wait_for_translation(open_page, TOY["text"])
    expose_state(open_page)
    target_ids = [token["id"] for token in open_page.evaluate("headlight.translation.target")]
    for hash_, (request_values, view_values) in LINKS.items():
        forced_ids = target_ids[: 2 if "prefix" in hash_ else None]
        address = hash_.replace("IDS", ".".join(map(str, forced_ids)))
        request_values = ASKED | {
            name: forced_ids if value == "IDS" else value for name, value in request_values.items()
        }
        open_page.evaluate(GO, address)
        wait_for_translation(open_page, request_values["text"])
        wait_for_function(
            open_page,
            "(asked) => Object.entries(asked).every(([name, value]) =>"
            " JSON.stringify(headlight.translation.requestValues()[name]) === JSON.stringify(value))",
            arg=request_values,
        )
        page_state = {name: state(open_page, name) for name in USUAL | view_values}
        assert page_state == USUAL | view_values, address
        # The hash is preserved; later changes format the parsed values.
        open_page.evaluate("() => { location.hash += '&unknown=1'; }")
        wait_for_function(open_page, "!location.hash.includes('unknown')")
        assert dict(parse_qsl(open_page.evaluate("location.hash")[1:])) == dict(parse_qsl(address[1:]))
