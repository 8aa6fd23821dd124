"""The served routes: those that the page, `gradio_client` and MCP need.

Gradio has three times as many routes; the others are for uploads, files, a proxy, usage statistics and source editing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

API = "/gradio_api"
_GET = (
    r"",
    r"(svelte|static|assets)/[^?]+",
    r"(gradio_api/)?headlight/[^/]+/[^?]+",
    r"config|theme\.css|favicon\.ico|manifest\.json|robots\.txt",
    r"monitoring/summary",  # answered by the middleware for the API panel
    r"gradio_api/(info|openapi\.json|theme\.css|startup-events|app_id|user)",
    r"gradio_api/heartbeat/[^/]{1,64}",
    r"gradio_api/queue/data",
    r"gradio_api/call/(v2/)?[^/]+/[^/]+",
)
_POST = (
    r"gradio_api/queue/join",
    r"gradio_api/call/(v2/)?[^/]+",
    r"gradio_api/(run|api)/[^/]+",
    r"gradio_api/headlight/(call|stream)/[^/]+",
    r"gradio_api/(cancel|reset|component_server)",
)
_MCP = r"gradio_api/mcp(/.*)?"


def _compile(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"/(?:{'|'.join(f'(?:{pattern})' for pattern in patterns)})/?")


_GET_PATTERN, _POST_PATTERN = _compile((*_GET, _MCP)), _compile((*_POST, _MCP))
_SERVED = {
    "GET": _GET_PATTERN,
    "HEAD": _GET_PATTERN,
    "POST": _POST_PATTERN,
    "DELETE": _compile((_MCP,)),
    "OPTIONS": _compile((*_GET, *_POST, _MCP)),
}


def get_request_path(scope: Mapping[str, Any]) -> str:
    """Return the path of a request, without the root path."""
    path, root = str(scope["path"]), str(scope.get("root_path") or "").rstrip("/")
    return path[len(root) :] if root and (path == root or path.startswith(f"{root}/")) else path


def is_served(method: str, path: str) -> bool:
    """Whether a path is served for this method."""
    pattern = _SERVED.get(method)
    # Gradio builds a URL from the path, which fails for unprintable characters.
    return pattern is not None and path.isprintable() and pattern.fullmatch(path or "/") is not None
