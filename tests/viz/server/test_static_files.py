"""Static files: module bundle and Plotly, cached for a year, served under any version."""

from __future__ import annotations

import hashlib
import io
import json
import re
from urllib.parse import urljoin

import pytest
from PIL import Image
from starlette.applications import Starlette
from starlette.testclient import TestClient

from headlight.viz.api.routes import is_served
from headlight.viz.browser_files.static_files import (
    FILES,
    FOLDER,
    ICON,
    ICON_SIDE,
    LAZY_SHEETS,
    LESSONS,
    LESSONS_STYLE,
    MANIFEST,
    MODULES,
    SHARE_PICTURE,
    SHARE_PICTURE_SIZE,
    STYLE_SHEETS,
    WIDGETS,
    content,
    file_url,
    main_bundle,
    styles,
    version,
)
from headlight.viz.notebook.iframe import STYLE_SHEETS as NOTEBOOK_SHEETS
from headlight.viz.server.static_routes import routes

OTHERS = ["../app.py", "%2e%2e/app.py", "widget.py", "", "core", "core/state.js", "words/en.json", "headlight.js/"]


@pytest.fixture(scope="module")
def client() -> TestClient:
    return TestClient(Starlette(routes=routes()))


def test_modules_are_served_in_two_bundles(client: TestClient) -> None:
    first, later = client.get(f"/{file_url(MODULES)}"), client.get(f"/{file_url(LESSONS)}")
    paths = [path.relative_to(WIDGETS).as_posix() for path in WIDGETS.rglob("*.js")]
    for answer, expected in ((first, False), (later, True)):
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/javascript")
        bundled = {path for path in paths if f"modules['{path}'] = " in answer.text}
        assert bundled == {
            path
            for path in paths
            if path.startswith(("lessons/", "build/", "quiz/", "deck/")) == expected
            and not path.startswith(("notebook/", "engine/"))
        }


def test_first_bundle_has_no_lesson_phrases_or_styles(client: TestClient) -> None:
    first, later = client.get(f"/{file_url(MODULES)}").text, client.get(f"/{file_url(LESSONS)}").text
    assert '"lesson_walk_softmax_title"' in later
    assert '"deck_saved"' in later
    assert '"lesson_' not in first
    assert '"deck_' not in first
    assert ".lesson-heat" in client.get(f"/{file_url(LESSONS_STYLE)}").text
    assert ".lesson-heat" not in styles()


def test_source_map_is_served_at_its_url(client: TestClient) -> None:
    name = client.get(f"/{file_url(MODULES)}").text.rstrip().rpartition("sourceMappingURL=")[2]
    source_map = client.get(f"/{FOLDER}/{version(MODULES)}/{name}").json()
    assert (
        source_map["sourcesContent"][source_map["sources"].index("core/state.js")]
        == (WIDGETS / "core/state.js").read_text()
    )


def test_modules_name_no_other_host() -> None:
    for path in WIDGETS.rglob("*"):
        if path.suffix in (".js", ".css"):
            addresses = re.findall(r"https?://[^\s'\"`)]+", path.read_text(encoding="utf-8"))
            assert set(addresses) <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1998/Math/MathML"}, path.name


def test_plotly_is_served_from_installed_package(client: TestClient) -> None:
    assert b"plotly.js" in client.get(f"/{file_url('plotly.js')}").content[:2000]


def test_bundle_contains_phrases_and_colours() -> None:
    first = main_bundle().code.partition("\n")[0]
    tables = json.loads(first.removeprefix("globalThis.headlightTables = ").removesuffix(";"))
    assert set(tables["theme"]) == {"light", "dark"}
    assert "wall" in tables["words"]["zh"]
    assert set(tables["fields"]) == {"request", "selection", "judged"}
    assert tables["versions"]["plotly.js"] == version("plotly.js")


@pytest.mark.parametrize("name", FILES)
def test_current_version_is_cached_for_a_year_and_others_revalidate(client: TestClient, name: str) -> None:
    assert version(name) == hashlib.sha256(content(name)).hexdigest()[:12]
    assert "immutable" in client.get(f"/{file_url(name)}").headers["cache-control"]
    assert client.get(f"/{FOLDER}/older/{name}").headers["cache-control"] == "no-cache"


def test_files_are_served_at_proxied_and_former_urls(
    client: TestClient,
) -> None:
    assert file_url(MODULES) == f"gradio_api/headlight/{version(MODULES)}/{MODULES}"
    for folder in (FOLDER, "headlight"):
        path = f"/{folder}/{version(MODULES)}/{MODULES}"
        assert is_served("GET", path)
        assert "immutable" in client.get(path).headers["cache-control"]


def test_web_manifest_has_icon_and_start_url(client: TestClient) -> None:
    address = f"/below/{file_url(MANIFEST)}"
    manifest = client.get(f"/{file_url(MANIFEST)}").json()
    assert urljoin(address, manifest["start_url"]) == "/below/"
    (icon,) = manifest["icons"]
    assert urljoin(address, icon["src"]) == f"/below/{FOLDER}/{version(MANIFEST)}/{ICON}"
    with Image.open(io.BytesIO(client.get(f"/{file_url(ICON)}").content)) as picture:
        assert icon["sizes"] == f"{picture.width}x{picture.height}" == f"{ICON_SIDE}x{ICON_SIDE}"


def test_preview_image_has_standard_size(client: TestClient) -> None:
    answer = client.get(f"/{file_url(SHARE_PICTURE)}")
    assert answer.headers["content-type"] == "image/png"
    assert len(answer.content) < 300_000
    with Image.open(io.BytesIO(answer.content)) as picture:
        assert picture.size == SHARE_PICTURE_SIZE == (1200, 630)


@pytest.mark.parametrize("name", OTHERS)
def test_other_files_are_not_served(client: TestClient, name: str) -> None:
    assert client.get(f"/{FOLDER}/{version(MODULES)}/{name}").status_code == 404


def test_every_stylesheet_is_bundled() -> None:
    stylesheets = {path.relative_to(WIDGETS).with_suffix("").as_posix() for path in WIDGETS.rglob("*.css")}
    assert stylesheets == {*STYLE_SHEETS, *LAZY_SHEETS, *NOTEBOOK_SHEETS}
    assert "--ground" in styles()
