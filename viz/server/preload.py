"""Middleware that compresses the page's HTML, inserts our meta tags, preload links and scripts, and hashes its scripts.

Gradio compresses its files but not its HTML. Its modules import each other at run time, in four round trips, and the
widgets' module follows them. With preload links the browser loads all of them while it parses the page.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headlight.viz.browser_files.static_files import MODULES, file_url
from headlight.viz.server.content_policy import SCRIPT_HASHES, find_inline_script_hashes
from headlight.viz.server.gradio_files import find_frontend_files
from headlight.viz.server.known_functions import make_known_functions_script
from headlight.viz.server.page_config import list_component_types, make_theme_file
from headlight.viz.server.sharing import BASE, RELATIVE_BASE, replace_meta_tags

HTML_TYPE = b"text/html"
MIN_COMPRESSED_BYTES = 1000  # smaller bodies are not worth compressing
COMPRESSION_LEVEL = 6  # level 9 takes 4 ms more per page and saves less than 1 ms on a home connection
# A preload link must use the CORS mode of the actual request, or the browser loads the file twice.
SCRIPT_LINK, STYLE_LINK = (
    '<link rel="modulepreload" href="{}">',
    '<link rel="preload" as="style" crossorigin href="{}">',
)
THEME_LINK, BUNDLE_LINK = (
    '<link rel="preload" as="style" href="{}">',
    '<link rel="modulepreload" fetchpriority="low" href="{}">',
)


class PreloadMiddleware:
    """Middleware that compresses Gradio's page and adds preload links; other responses are unchanged."""

    def __init__(self, app: ASGIApp, page: Any = None) -> None:
        self.app, self.page = app, page
        self.compressed = GZipMiddleware(
            self._with_links, minimum_size=MIN_COMPRESSED_BYTES, compresslevel=COMPRESSION_LEVEL
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        root_path = str(scope.get("root_path") or "").rstrip("/")
        is_page = scope["type"] == "http" and str(scope["path"]).removeprefix(root_path) in ("", "/")
        await (self.compressed if is_page else self.app)(scope, receive, send)

    async def _with_links(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Insert the links after `<base>`, ahead of the page's 200 kB of inline data."""
        start: Message = {}

        async def insert_links(message: Message) -> None:
            headers = message.get("headers", [])
            if message["type"] == "http.response.start" and dict(headers).get(b"content-type", b"").startswith(
                HTML_TYPE
            ):
                start.update(message)  # delayed, because the content length changes
            elif start and message["type"] == "http.response.body":
                body = self._rewrite(message.get("body", b""))
                scope.get(SCRIPT_HASHES, []).extend(find_inline_script_hashes(body))
                added = len(body) - len(message.get("body", b""))
                await send({**start, "headers": [adjust_content_length(header, added) for header in start["headers"]]})
                start.clear()
                await send({**message, "body": body})
            else:
                await send(message)

        await self.app(scope, receive, insert_links)

    def _rewrite(self, body: bytes) -> bytes:
        body = add_preload_links(add_known_functions(replace_meta_tags(body)), *self._gradio_files)
        return RELATIVE_BASE.sub(b"", body, count=1)  # without it, URLs resolve equally, and the policy forbids the tag

    @cached_property
    def _gradio_files(self) -> tuple[tuple[str, ...], str]:
        """Gradio's files and theme. Read once, because the page's configuration takes 20 ms."""
        return find_frontend_files(list_component_types(self.page)), make_theme_file(self.page)


def add_known_functions(body: bytes) -> bytes:
    """Insert the script ahead of Gradio's scripts, after the `<base>` tag."""
    script = make_known_functions_script().encode()
    return BASE.sub(lambda base: base[0] + script, body, count=1)


def add_preload_links(body: bytes, files: Sequence[str], theme: str) -> bytes:
    """Insert preload links after the `<base>` tag; return the HTML unchanged if the tag is missing.

    Gradio's files are preloaded only if this HTML refers to the first of them.
    """
    base = BASE.search(body)
    if base is None:
        return body
    preload_files = files if files and files[0].encode() in body else ()
    return body[: base.end()] + make_preload_links(preload_files, theme).encode() + body[base.end() :]


def make_preload_links(files: Sequence[str], theme: str) -> str:
    """Return preload links for Gradio's files and theme, then for our modules."""
    links = [STYLE_LINK.format(file) if file.endswith(".css") else SCRIPT_LINK.format(file) for file in files]
    if files and theme:
        links.append(THEME_LINK.format(theme))
    return "".join([*links, BUNDLE_LINK.format(file_url(MODULES))])


def adjust_content_length(header: tuple[bytes, bytes], more: int) -> tuple[bytes, bytes]:
    """Add `more` bytes to a content-length header; return other headers unchanged."""
    name, value = header
    return (name, str(int(value) + more).encode()) if name == b"content-length" else header


def make_preload_middleware(page: Any) -> Middleware:
    """Return the middleware for `launch(app_kwargs=…)`."""
    return Middleware(PreloadMiddleware, page=page)
