"""What the browser fetches beside Gradio's own page: our modules, styles, words, colours, and Plotly. No other host."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import plotly
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headlight.viz.theme import FONT, THEMES, browser_theme, css_variables
from headlight.viz.words import LANGUAGES, words_json

WIDGETS = Path(__file__).resolve().parents[1] / "widgets"
PLOTLY = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
TYPES = {".js": "text/javascript", ".css": "text/css", ".json": "application/json"}
YEAR = 31_536_000
SHEETS = (
    "frame/gradio",
    "frame/page",
    "desk/desk",
    "desk/chooser",
    "heads/explorer",
    "decoding/decoding",
    "why/why",
    "positions/positions",
    "sentiment/sentiment",
    "models/models",
    "beside/beside",
)  # later ones may rely on earlier ones


@cache
def contents() -> dict[str, Callable[[], bytes]]:
    """Every file by its name: nothing else is ever served from here, so no name can climb out."""
    files = {path.relative_to(WIDGETS).as_posix(): path.read_bytes for path in sorted(WIDGETS.rglob("*.js"))}
    made: dict[str, Callable[[], bytes]] = {
        "plotly.js": PLOTLY.read_bytes,
        "theme.json": lambda: json.dumps(browser_theme(), separators=(",", ":")).encode(),
    }
    for language in LANGUAGES:
        made[f"words/{language}.json"] = lambda language=language: words_json(language)  # type: ignore[misc]
    return {**files, **made}


@cache
def version() -> str:
    """Changes whenever a file does, so that browsers may keep what they have for a year."""
    digest = hashlib.sha256(plotly.__version__.encode())
    for name, read in contents().items():
        if name != "plotly.js":
            digest.update(name.encode() + read())
    return digest.hexdigest()[:12]


async def serve(request: Request) -> Response:
    """One of our files. The version in the path is for caches alone: an older page still finds its modules."""
    name = request.path_params["name"]
    read = contents().get(name)
    if read is None:
        return Response(status_code=404)
    kept = f"public, max-age={YEAR}, immutable" if request.path_params["version"] == version() else "no-cache"
    return Response(read(), media_type=TYPES[Path(name).suffix], headers={"Cache-Control": kept})


def routes() -> list[Route]:
    """For the web app, before Gradio's own."""
    return [Route("/headlight/{version}/{name:path}", serve, methods=["GET"])]


def styles() -> str:
    """Colours of both themes, then every rule of the page."""
    light, dark = (css_variables(THEMES[name]) for name in ("light", "dark"))
    sheets = [(WIDGETS / f"{name}.css").read_text(encoding="utf-8") for name in SHEETS]
    return "\n".join([f"body {{ {light} --font: {FONT}; }}", f"body.dark {{ {dark} }}", *sheets])
