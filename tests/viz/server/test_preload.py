"""The page is compressed and has preload hints; other responses are unchanged."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from headlight.viz.browser_files.static_files import MODULES, file_url
from headlight.viz.server.gradio_files import FRONTEND, find_frontend_files
from headlight.viz.server.known_functions import make_known_functions_script
from headlight.viz.server.preload import PreloadMiddleware
from headlight.viz.server.sharing import tags

KINDS = frozenset({"html", "column"})
TAGS = tags("")
KNOWN_FUNCTIONS = make_known_functions_script()
OURS = f'<link rel="modulepreload" fetchpriority="low" href="{file_url(MODULES)}">'
GRADIOS = (FRONTEND / "index.html").read_text(encoding="utf-8")
DATA = "<p>" + "x" * 10_000


def served(html: str, path: str = "/", root: str = "", accepts: str = "gzip", **response: Any) -> Any:
    """The answer of an app whose page is this HTML, of two kinds of components."""

    async def page(_: Request) -> Response:
        return Response(html.encode(), **{"media_type": "text/html", **response})

    config = {"components": [{"type": kind} for kind in KINDS], "theme_hash": "57"}
    blocks = SimpleNamespace(get_config_file=lambda: config)
    app = Starlette(routes=[Route("/", page), Route("/a", page)])
    app.add_middleware(PreloadMiddleware, page=blocks)
    return TestClient(app, root_path=root).get(path, headers={"accept-encoding": accepts})


@pytest.mark.parametrize(("root", "path", "is_page"), [("", "/", True), ("/below", "/below/", True), ("", "/a", False)])
def test_only_the_page_is_compressed_and_gets_hints(root: str, path: str, is_page: bool) -> None:
    html = f'<base href="./" />{DATA}'
    answer = served(html, path, root)
    assert answer.headers.get("content-encoding") == ("gzip" if is_page else None)
    assert answer.text == (f"{OURS}{KNOWN_FUNCTIONS}{TAGS}{DATA}" if is_page else html)


def test_content_length_is_updated() -> None:
    answer = served('<base href="./">.', accepts="identity")
    assert answer.text == f"{OURS}{KNOWN_FUNCTIONS}{TAGS}."
    assert int(answer.headers["content-length"]) == len(answer.content)


def test_only_a_base_tag_without_effect_is_removed() -> None:
    assert '<base href="../">' in served('<base href="../">.').text


def test_other_responses_are_unchanged() -> None:
    assert served(DATA).text == DATA
    assert served('<base href="./">', media_type="image/svg+xml").text == '<base href="./">'


def test_gradio_page_preloads_its_files() -> None:
    text = served(GRADIOS).text
    hinted = re.findall(r'<link (rel="modulepreload"|rel="preload" as="style" crossorigin) href="([^"]+)">', text)
    assert tuple(file for _, file in hinted) == find_frontend_files(KINDS)
    assert all(("modulepreload" in mode) == file.endswith(".js") for mode, file in hinted)
    assert '<link rel="preload" as="style" href="theme.css?v=57">' in text
    assert text.index(OURS) < text.index("window.gradio_config")
    assert text.index(KNOWN_FUNCTIONS) < text.index("window.gradio_config")


def test_other_gradio_pages_get_no_unused_hints() -> None:
    text = served(GRADIOS.replace("/index-", "/another-")).text
    assert re.findall(r'<link rel="modulepreload"[^>]*>', text) == [OURS]
    assert "theme.css" not in text


def test_pages_of_other_apps_get_only_module_hint() -> None:
    async def page(_: Request) -> HTMLResponse:
        return HTMLResponse(GRADIOS)

    text = TestClient(PreloadMiddleware(Starlette(routes=[Route("/", page)]))).get("/").text
    assert OURS in text
