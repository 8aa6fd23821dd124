"""The files of a static page: `index.html`, scripts, styles, models, and a service worker that keeps them offline."""

from __future__ import annotations

import hashlib
import html
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from headlight.model.errors import CommandError
from headlight.model.files import write_file
from headlight.viz.browser_files.bundle import bundle, bundle_inline, required_modules
from headlight.viz.browser_files.static_files import (
    FILES,
    HEALTH_FILE,
    ICON,
    LESSONS,
    LESSONS_STYLE,
    MANIFEST,
    MODULES,
    PLOTLY,
    SHARE_PICTURE,
    WIDGETS,
    content,
    module,
    styles,
)
from headlight.viz.export.standalone import global_script
from headlight.viz.figure_phrases import LANGUAGES, phrases
from headlight.viz.server.sharing import tags
from headlight.viz.static_site.compression import SUFFIX, compress
from headlight.viz.static_site.engine_tables import engine_tables
from headlight.viz.static_site.page_content import ENGINE_CALLS, PageContent

INDEX, ENGINE, STYLE, SERVICE_WORKER = "index.html", "engine.js", "page.css", "sw.js"
WORKER_MODULE, SERVICE_WORKER_MODULE, START_MODULE = "engine/worker.js", "engine/service-worker.js", "engine/start.js"
COMPRESSED_FILES = (MODULES, STYLE, PLOTLY, LESSONS, LESSONS_STYLE)  # those that `START_MODULE` decompresses
# The first map does not need the engine, and its worker starts from a plain file.
PLAIN_FILES = (ENGINE, ICON, SHARE_PICTURE, MANIFEST, HEALTH_FILE)
START_PHRASES = ("missing", "damaged", "no_server", "old_browser")
START = "modules['static-page.js'].open();"


def site_files(page: PageContent) -> dict[str, bytes]:
    """Return the content of each file by its path."""
    files = {file_path(name): page_file(name) for name in PLAIN_FILES}
    files |= {file_path(name): compress(page_file(name)) for name in COMPRESSED_FILES}
    files |= {file.url: file.content for file in page.files}
    files[INDEX] = index_page(page).encode()
    files[SERVICE_WORKER] = service_worker(files).encode()
    files[".nojekyll"] = b""  # GitHub Pages then serves all files as they are
    return files


def file_path(name: str) -> str:
    """Return the path of a file of the page, with the hash of its content."""
    suffix = SUFFIX if name in COMPRESSED_FILES else ""
    return f"files/{hashlib.sha256(page_file(name)).hexdigest()[:12]}/{name}{suffix}"


@cache
def page_file(name: str) -> bytes:
    """Return the content of a file of the page."""
    if name == ENGINE:
        return engine_script().encode()
    if name == STYLE:
        return styles().encode()
    if name == MODULES:
        return f"{content(MODULES).decode().rpartition('//# sourceMappingURL')[0]}{START}\n".encode()
    if name == MANIFEST:
        return json.dumps(json.loads(FILES[MANIFEST]()) | {"start_url": "../../", "scope": "../../"}).encode()
    return content(name)


def engine_script() -> str:
    """Return the script of the worker."""
    return bundle(_module_sources(WORKER_MODULE), engine_tables()).code


def _module_sources(entry: str) -> dict[str, str]:
    """Return a module and all that it imports."""
    names = [path.relative_to(WIDGETS).as_posix() for path in WIDGETS.rglob("*.js")]
    return required_modules(entry, {name: module(name) for name in names})


def index_page(page: PageContent) -> str:
    """Return the HTML of the page. Its widgets are empty elements, which the script fills."""
    site = {
        "script": file_path(ENGINE),
        "calls": ENGINE_CALLS,
        "stored": page.stored,
        "models": page.models,
        "limits": page.limits,
        "standalone": page.standalone,
        "widgets": [{key: widget[key] for key in ("id", "module", "value", "config")} for widget in page.widgets],
    }
    parts = [
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        tags("", file_path),
        f'<script type="module" async>{start_script()}</script>',
        f"<script>{global_script('headlightSite', site)}</script>",
        f'</head>\n<body>\n<div class="gradio-container"><main class="app">{_elements(page)}</main></div>',
        "</body>\n</html>\n",
    ]
    return "\n".join(parts)


def start_script() -> str:
    """Return the script that loads and decompresses the others, with their paths."""
    start = {
        "files": {name: file_path(name) for name in COMPRESSED_FILES},
        "sentences": {
            language: {key: phrases(language)[f"start_{key}"] for key in START_PHRASES} for language in LANGUAGES
        },
    }
    return f"{global_script('headlightStart', start)}\n{bundle_inline(_module_sources(START_MODULE))}"


def _elements(page: PageContent) -> str:
    """Return the elements of the widgets, those of a panel inside it."""
    parts = []
    for widget in page.widgets:
        name, panel = html.escape(widget["name"]), html.escape(widget["panel"])
        element = f'<div id="widget-{name}" class="headlight headlight-{name}"></div>'
        parts.append(f'<div id="{panel}" class="column panel">{element}</div>' if panel else element)
    return "".join(parts)


def service_worker(files: Mapping[str, bytes]) -> str:
    """Return the service worker. It stores these files on the first visit, and others when they are used."""
    first = [INDEX, *(file_path(name) for name in (MODULES, ENGINE, STYLE, ICON, MANIFEST))]
    digest = hashlib.sha256("".join(sorted(files)).encode() + files[INDEX]).hexdigest()[:12]
    return f"{global_script('headlightFiles', {'version': digest, 'first': first})}\n{module(SERVICE_WORKER_MODULE)}"


# ------------------------------------------------------------ writing


def check_folder(folder: Path) -> None:
    """Raise a `CommandError` unless the folder is new, empty, or was written by this command."""
    if folder.exists() and not folder.is_dir():
        raise CommandError(f"{folder} is a file. Name a folder.")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / SERVICE_WORKER).exists():
        raise CommandError(f"{folder} has other files. Name a new or an empty folder.")


def write_files(folder: Path, files: Mapping[str, bytes]) -> int:
    """Write the files, remove those of an earlier call, and return the total size in bytes."""
    for path in sorted(folder.rglob("*"), reverse=True) if folder.is_dir() else []:
        if path.is_file() and path.relative_to(folder).as_posix() not in files:
            path.unlink()
        elif path.is_dir() and not any(path.iterdir()):
            path.rmdir()
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, data)
    return sum(map(len, files.values()))
