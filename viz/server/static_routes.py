"""The routes of the files for the browser: cached for a year, and served under any version."""

from __future__ import annotations

from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headlight.viz.browser_files.static_files import FILES, FOLDER, content, version

MEDIA_TYPES = {
    ".js": "text/javascript",
    ".map": "application/json",
    ".json": "application/json",
    ".css": "text/css",
    ".png": "image/png",
}
CACHE_SECONDS = 31_536_000
FORMER_FOLDER = "headlight"  # for pages opened before an update


async def serve(request: Request) -> Response:
    """Serve one of our files. The version in the path is only for caching, so older pages still load their files."""
    name = request.path_params["name"]
    if name not in FILES:
        return Response(status_code=404)
    cache_control = (
        f"public, max-age={CACHE_SECONDS}, immutable" if request.path_params["version"] == version(name) else "no-cache"
    )
    return Response(content(name), media_type=MEDIA_TYPES[Path(name).suffix], headers={"Cache-Control": cache_control})


def routes() -> list[Route]:
    """Return the routes of our files; they must precede Gradio's."""
    return [Route(f"/{folder}/{{version}}/{{name:path}}", serve, methods=["GET"]) for folder in (FOLDER, FORMER_FOLDER)]
