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
from headlight.viz.browser_files.bundle import bundle, required_modules
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
from headlight.viz.server.sharing import tags
from headlight.viz.static_site.engine_tables import engine_tables
from headlight.viz.static_site.page_content import ENGINE_CALLS, PageContent

INDEX, ENGINE, STYLE, SERVICE_WORKER = "index.html", "engine.js", "page.css", "sw.js"
WORKER_MODULE, SERVICE_WORKER_MODULE = "engine/worker.js", "engine/service-worker.js"
PAGE_FILES = (MODULES, PLOTLY, ICON, SHARE_PICTURE, MANIFEST, HEALTH_FILE, LESSONS, LESSONS_STYLE)
START = "modules['static-page.js'].open();"


def site_files(page: PageContent) -> dict[str, bytes]:
    """Return the content of each file by its path."""
    files = {file_path(name): page_file(name) for name in (*PAGE_FILES, ENGINE, STYLE)}
    files |= {file.url: file.content for file in page.files}
    files[INDEX] = index_page(page).encode()
    files[SERVICE_WORKER] = service_worker(files).encode()
    files[".nojekyll"] = b""  # GitHub Pages then serves all files as they are
    return files


def file_path(name: str) -> str:
    """Return the path of a file of the page, with the hash of its content, as `core/boot.js` expects it."""
    return f"files/{hashlib.sha256(page_file(name)).hexdigest()[:12]}/{name}"


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
    names = [path.relative_to(WIDGETS).as_posix() for path in WIDGETS.rglob("*.js")]
    sources = required_modules(WORKER_MODULE, {name: module(name) for name in names})
    return bundle(sources, engine_tables()).code


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
        f'<link rel="stylesheet" href="{file_path(STYLE)}">',
        f'<link rel="modulepreload" href="{file_path(MODULES)}">',
        f"<script>{global_script('headlightSite', site)}</script>",
        f'</head>\n<body>\n<div class="gradio-container"><main class="app">{_elements(page)}</main></div>',
        f'<script type="module" src="{file_path(MODULES)}"></script>\n</body>\n</html>\n',
    ]
    return "\n".join(parts)


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
