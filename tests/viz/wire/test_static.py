"""The browser's files: our modules as one and Plotly alone, kept for a year, found under any version."""

from __future__ import annotations

import hashlib
import json
import re

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from headlight.viz.notebook.frame import SHEETS as NOTEBOOK_SHEETS
from headlight.viz.wire.static import (
    FILES,
    LATER_SHEETS,
    LESSONS,
    LESSONS_STYLE,
    MODULES,
    SHEETS,
    WIDGETS,
    content,
    modules,
    place,
    routes,
    styles,
    version,
)

OTHERS = ["../app.py", "%2e%2e/app.py", "widget.py", "", "core", "core/state.js", "words/en.json", "headlight.js/"]


@pytest.fixture(scope="module")
def client() -> TestClient:
    return TestClient(Starlette(routes=routes()))


def test_every_module_is_served_within_one_and_those_of_lessons_within_another(client: TestClient) -> None:
    first, later = client.get(f"/{place(MODULES)}"), client.get(f"/{place(LESSONS)}")
    paths = [path.relative_to(WIDGETS).as_posix() for path in WIDGETS.rglob("*.js")]
    for answer, wanted in ((first, False), (later, True)):
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/javascript")
        found = {path for path in paths if f"modules['{path}'] = " in answer.text}
        assert found == {
            path
            for path in paths
            if path.startswith(("lessons/", "deck/")) == wanted and not path.startswith("notebook/")
        }


def test_a_first_visit_brings_no_phrase_and_no_style_of_a_lesson(client: TestClient) -> None:
    first, later = client.get(f"/{place(MODULES)}").text, client.get(f"/{place(LESSONS)}").text
    assert '"lesson_walk_softmax_title"' in later
    assert '"deck_saved"' in later
    assert '"lesson_' not in first
    assert '"deck_' not in first
    assert ".lesson-heat" in client.get(f"/{place(LESSONS_STYLE)}").text
    assert ".lesson-heat" not in styles()


def test_the_map_of_the_modules_is_served_where_they_name_it(client: TestClient) -> None:
    name = client.get(f"/{place(MODULES)}").text.rstrip().rpartition("sourceMappingURL=")[2]
    found = client.get(f"/headlight/{version(MODULES)}/{name}").json()
    assert found["sourcesContent"][found["sources"].index("core/state.js")] == (WIDGETS / "core/state.js").read_text()


def test_modules_name_no_other_host() -> None:
    for path in WIDGETS.rglob("*"):
        if path.suffix in (".js", ".css"):
            addresses = re.findall(r"https?://[^\s'\"`)]+", path.read_text(encoding="utf-8"))
            assert set(addresses) <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1998/Math/MathML"}, path.name


def test_plotly_comes_from_the_installed_package(client: TestClient) -> None:
    assert b"plotly.js" in client.get(f"/{place('plotly.js')}").content[:2000]


def test_words_and_colours_travel_with_the_modules() -> None:
    first = modules().code.partition("\n")[0]
    tables = json.loads(first.removeprefix("globalThis.headlightTables = ").removesuffix(";"))
    assert set(tables["theme"]) == {"light", "dark"}
    assert "wall" in tables["words"]["zh"]
    assert set(tables["fields"]) == {"request", "selection", "judged"}
    assert tables["versions"]["plotly.js"] == version("plotly.js")


@pytest.mark.parametrize("name", FILES)
def test_caches_keep_the_right_version_for_a_year_and_ask_for_any_other(client: TestClient, name: str) -> None:
    assert version(name) == hashlib.sha256(content(name)).hexdigest()[:12]
    assert "immutable" in client.get(f"/{place(name)}").headers["cache-control"]
    assert client.get(f"/headlight/older/{name}").headers["cache-control"] == "no-cache"


@pytest.mark.parametrize("name", OTHERS)
def test_nothing_else_is_served(client: TestClient, name: str) -> None:
    assert client.get(f"/headlight/{version(MODULES)}/{name}").status_code == 404


def test_every_sheet_belongs_to_the_page() -> None:
    found = {path.relative_to(WIDGETS).with_suffix("").as_posix() for path in WIDGETS.rglob("*.css")}
    assert found == {*SHEETS, *LATER_SHEETS, *NOTEBOOK_SHEETS}
    assert "--ground" in styles()
