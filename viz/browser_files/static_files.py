"""Our static files: the bundled modules, Plotly, an icon. The page loads nothing from other hosts.

The lessons and the deck of saved views have a separate script and style sheet, loaded with their phrases on demand.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import plotly

from headlight.viz.browser_files.bundle import Bundle, bundle, bundle_lazy
from headlight.viz.figure_phrases import LANGUAGES, phrases
from headlight.viz.request_fields import browser_fields
from headlight.viz.theme import FONT, THEMES, browser_theme, css_variables
from headlight.viz.token_labels import EAST_ASIAN

WIDGETS = Path(__file__).resolve().parents[1] / "widgets"
PICTURES = Path(__file__).resolve().parents[2] / "assets" / "pictures"  # created by `make pictures`
MODULES, MAP, PLOTLY, HEALTH_FILE = "headlight.js", "headlight.js.map", "plotly.js", "alive.json"
LESSONS, LESSONS_MAP, LESSONS_STYLE = "lessons.js", "lessons.js.map", "lessons.css"
ICON, SHARE_PICTURE, MANIFEST = "icon.png", "share.png", "manifest.json"
ICON_SIDE, SHARE_PICTURE_SIZE = 512, (1200, 630)  # pixels
LAZY_MODULES = ("lessons/", "build/", "quiz/", "deck/")  # loaded on demand
OTHER_MODULES = ("notebook/", "engine/")  # for notebooks, and for the worker of a static page
LAZY_PHRASES = ("lesson_", "build_", "quiz_", "deck_")
# Below Gradio's API path: with server-side rendering, Gradio's Node proxy forwards that path and few others, and
# returns the page for the rest (gradio-app/gradio#9417).
FOLDER = "gradio_api/headlight"
STYLE_SHEETS = (
    "layout/gradio",
    "layout/page",
    "layout/terms",
    "layout/tour",
    "translate/translate",
    "translate/live",
    "translate/chooser",
    "translate/folded",
    "headview/headview",
    "recording/recording",
    "heads/explorer",
    "heads/roles",
    "heads/player",
    "headview/columns",
    "heads/see",
    "heads/sheet",
    "decoding/decoding",
    "why/why",
    "why/score-parts",
    "attribution/word",
    "positions/positions",
    "sentiment/sentiment",
    "models/models",
    "whatif/whatif",
    "compare/beside",
    "layout/embed",
)  # order matters: later rules override earlier ones
LAZY_SHEETS = (
    "lessons/lessons",
    "lessons/figures",
    "lessons/experiments",
    "lessons/training",
    "lessons/worked-figures",
    "build/build",
    "build/numbers",
    "quiz/quiz",
    "quiz/results",
    "deck/deck",
)


def plotly_file() -> Path:
    """Find Plotly's script in the installed package."""
    package, name = Path(plotly.__file__).parent, "plotly.min.js"
    path = package / "package_data" / name
    result = path if path.exists() else next(package.rglob(name), None)
    if result is None:
        raise FileNotFoundError(f"{package}: this version of plotly has no {name}. Install the pinned one.")
    return result


def tables() -> dict[str, Any]:
    """Return the phrases, colours, request fields, upright East Asian scripts and file versions for our modules."""
    return {
        "words": bundle_phrases(lazy=False),
        "theme": browser_theme(),
        "fields": browser_fields(),
        "squares": EAST_ASIAN,
        "versions": {name: version(name) for name in (PLOTLY, HEALTH_FILE, LESSONS, LESSONS_STYLE)},
    }


def bundle_phrases(*, lazy: bool) -> dict[str, dict[str, str]]:
    """Return the page's phrases by language; with `lazy`, those loaded on demand."""
    return {
        language: {key: text for key, text in phrases(language).items() if key.startswith(LAZY_PHRASES) == lazy}
        for language in LANGUAGES
    }


def module(path: str) -> str:
    """Return the source code of a module."""
    return (WIDGETS / path).read_text(encoding="utf-8")


def sources(*, lazy: bool) -> dict[str, str]:
    """Return the page's modules by path; with `lazy`, those loaded on demand."""
    names = (path.relative_to(WIDGETS).as_posix() for path in WIDGETS.rglob("*.js"))
    return {
        name: module(name)
        for name in names
        if name.startswith(LAZY_MODULES) == lazy and not name.startswith(OTHER_MODULES)
    }


@cache
def main_bundle() -> Bundle:
    """Return the modules for the first page load, with their tables."""
    return bundle(sources(lazy=False), tables())


@cache
def lessons_bundle() -> Bundle:
    """Return the modules of the lessons and the deck, with their phrases."""
    return bundle_lazy(sources(lazy=True), sources(lazy=False), bundle_phrases(lazy=True))


def manifest() -> bytes:
    """Return the web app manifest, for installing the page as an app. Its URLs are relative to the manifest."""
    icon = {"src": ICON, "sizes": f"{ICON_SIDE}x{ICON_SIDE}", "type": "image/png"}
    return json.dumps(
        {"name": "Headlight", "icons": [icon], "start_url": "../../../", "display": "standalone"}
    ).encode()


# Only these names are served, which rules out path traversal.
FILES: dict[str, Callable[[], bytes]] = {
    MODULES: lambda: f"{main_bundle().code}//# sourceMappingURL={MAP}\n".encode(),
    MAP: lambda: main_bundle().source_map.encode(),  # fetched by browser developer tools
    LESSONS: lambda: f"{lessons_bundle().code}//# sourceMappingURL={LESSONS_MAP}\n".encode(),
    LESSONS_MAP: lambda: lessons_bundle().source_map.encode(),
    LESSONS_STYLE: lambda: "\n".join(sheets(LAZY_SHEETS)).encode(),
    PLOTLY: lambda: plotly_file().read_bytes(),
    ICON: lambda: (PICTURES / ICON).read_bytes(),
    SHARE_PICTURE: lambda: (PICTURES / SHARE_PICTURE).read_bytes(),
    MANIFEST: manifest,
    HEALTH_FILE: lambda: b"{}",  # health check when no messages arrive
}


@cache
def content(name: str) -> bytes:
    """Return the cached content of a file."""
    return FILES[name]()


@cache
def version(name: str) -> str:
    """Return the content hash for the URL, so that browsers can cache the file for a year."""
    return hashlib.sha256(content(name)).hexdigest()[:12]


def file_url(name: str) -> str:
    """Return the URL of a file relative to the page."""
    return f"{FOLDER}/{version(name)}/{name}"


def styles(names: Sequence[str] = STYLE_SHEETS) -> str:
    """Return the CSS of the page: the colours of both themes, then the style sheets."""
    light, dark = (css_variables(THEMES[name]) for name in ("light", "dark"))
    return "\n".join([f"body {{ {light} --font: {FONT}; }}", f"body.dark {{ {dark} }}", *sheets(names)])


def sheets(names: Sequence[str]) -> list[str]:
    """Return the texts of the style sheets."""
    return [(WIDGETS / f"{name}.css").read_text(encoding="utf-8") for name in names]
