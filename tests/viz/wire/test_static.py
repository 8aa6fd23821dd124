"""The browser's files: ours and Plotly's alone, kept for a year, found under any version."""

from __future__ import annotations

import json
import re

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from headlight.viz.wire.static import SHEETS, WIDGETS, routes, styles, version

OTHERS = ["../app.py", "%2e%2e/app.py", "widget.py", "", "core", "core/state.js/", "words/xx.json"]


@pytest.fixture(scope="module")
def client() -> TestClient:
    return TestClient(Starlette(routes=routes()))


def test_every_module_is_served_as_javascript(client: TestClient) -> None:
    paths = list(WIDGETS.rglob("*.js"))
    assert paths
    for path in paths:
        answer = client.get(f"/headlight/{version()}/{path.relative_to(WIDGETS).as_posix()}")
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/javascript")
        assert answer.content == path.read_bytes()


def test_modules_name_no_other_host() -> None:
    for path in WIDGETS.rglob("*"):
        if path.suffix in (".js", ".css"):
            addresses = re.findall(r"https?://[^\s'\"`)]+", path.read_text(encoding="utf-8"))
            assert set(addresses) <= {"http://www.w3.org/2000/svg"}, path.name


def test_plotly_comes_from_the_installed_package(client: TestClient) -> None:
    assert b"plotly.js" in client.get(f"/headlight/{version()}/plotly.js").content[:2000]


def test_words_and_colours_are_json(client: TestClient) -> None:
    assert "wall" in client.get(f"/headlight/{version()}/words/zh.json").json()
    theme = json.loads(client.get(f"/headlight/{version()}/theme.json").content)
    assert set(theme) == {"light", "dark"}


def test_caches_keep_the_right_version_for_a_year_and_ask_for_any_other(client: TestClient) -> None:
    assert "immutable" in client.get(f"/headlight/{version()}/core/state.js").headers["cache-control"]
    assert client.get("/headlight/older/core/state.js").headers["cache-control"] == "no-cache"


@pytest.mark.parametrize(
    "name", ["../app.py", "%2e%2e/app.py", "widget.py", "", "core", "core/state.js/", "words/xx.json"]
)
def test_nothing_else_is_served(client: TestClient, name: str) -> None:
    assert client.get(f"/headlight/{version()}/{name}").status_code == 404


def test_every_sheet_belongs_to_the_page() -> None:
    found = {path.relative_to(WIDGETS).with_suffix("").as_posix() for path in WIDGETS.rglob("*.css")}
    assert found == set(SHEETS)
    assert "--ground" in styles()
