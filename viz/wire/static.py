"""What the browser fetches beside Gradio's own page: our modules as one file, and Plotly. No other host is asked."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import plotly
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headlight.viz.fields import browser_fields
from headlight.viz.theme import FONT, THEMES, browser_theme, css_variables
from headlight.viz.wire.bundle import Bundle, bundle
from headlight.viz.words import LANGUAGES, words

WIDGETS = Path(__file__).resolve().parents[1] / "widgets"
MODULES, MAP, DRAWS, ALIVE = "headlight.js", "headlight.js.map", "plotly.js", "alive.json"
TYPES = {".js": "text/javascript", ".map": "application/json", ".json": "application/json"}
YEAR = 31_536_000
SHEETS = (
    "frame/gradio",
    "frame/page",
    "translate/translate",
    "translate/chooser",
    "headview/headview",
    "heads/explorer",
    "decoding/decoding",
    "why/why",
    "positions/positions",
    "sentiment/sentiment",
    "models/models",
    "beside/beside",
)  # later ones may rely on earlier ones


def plotly_file() -> Path:
    """The script that the installed Plotly brings along, wherever in its package it lies."""
    package, name = Path(plotly.__file__).parent, "plotly.min.js"
    place = package / "package_data" / name
    found = place if place.exists() else next(package.rglob(name), None)
    if found is None:
        raise FileNotFoundError(f"{package}: this version of plotly has no {name}. Install the pinned one.")
    return found


def tables() -> dict[str, Any]:
    """The words, colours and fields that modules need, and the versions of files."""
    return {
        "words": {language: dict(words(language)) for language in LANGUAGES},
        "theme": browser_theme(),
        "fields": browser_fields(),
        "versions": {name: version(name) for name in (DRAWS, ALIVE)},
    }


@cache
def modules() -> Bundle:
    """All modules as one, with their tables."""
    sources = {path.relative_to(WIDGETS).as_posix(): path.read_text(encoding="utf-8") for path in WIDGETS.rglob("*.js")}
    return bundle(sources, tables())


# Every file by its name: nothing else is ever served from here, so no name can climb out.
FILES: dict[str, Callable[[], bytes]] = {
    MODULES: lambda: f"{modules().code}//# sourceMappingURL={MAP}\n".encode(),
    MAP: lambda: modules().source_map.encode(),  # asked for by the tools of a browser, when they are open
    DRAWS: lambda: plotly_file().read_bytes(),
    ALIVE: lambda: b"{}",  # asked for when answers fail to come
}


@cache
def content(name: str) -> bytes:
    """One of the files, made once."""
    return FILES[name]()


@cache
def version(name: str) -> str:
    """Changes when the file does, so that browsers may keep it for a year."""
    return hashlib.sha256(content(name)).hexdigest()[:12]


def place(name: str) -> str:
    """Where a file is served, from the page's own address."""
    return f"headlight/{version(name)}/{name}"


async def serve(request: Request) -> Response:
    """One of our files. The version in the path is for caches alone: an older page still finds its files."""
    name = request.path_params["name"]
    if name not in FILES:
        return Response(status_code=404)
    kept = f"public, max-age={YEAR}, immutable" if request.path_params["version"] == version(name) else "no-cache"
    return Response(content(name), media_type=TYPES[Path(name).suffix], headers={"Cache-Control": kept})


def routes() -> list[Route]:
    """For the web app, before Gradio's own."""
    return [Route("/headlight/{version}/{name:path}", serve, methods=["GET"])]


def styles() -> str:
    """Colours of both themes, then every rule of the page."""
    light, dark = (css_variables(THEMES[name]) for name in ("light", "dark"))
    sheets = [(WIDGETS / f"{name}.css").read_text(encoding="utf-8") for name in SHEETS]
    return "\n".join([f"body {{ {light} --font: {FONT}; }}", f"body.dark {{ {dark} }}", *sheets])
