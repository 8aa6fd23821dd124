"""The page's own HTML, compressed and with a hint at the module that the browser needs next.

Gradio compresses its files but not its page, and loads a widget's module only after its own modules have run.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware

from headlight.viz.wire.static import MODULES, place

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

PAGE = b"text/html"
SMALL = 1000  # bytes; a smaller body is not worth compressing


class FirstVisit:
    """Middleware around Gradio's page; other requests pass unchanged."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.compressed = GZipMiddleware(self._with_hint, minimum_size=SMALL)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Compress the page and add the hint; let other requests pass."""
        below = str(scope.get("root_path") or "").rstrip("/")
        is_page = scope["type"] == "http" and str(scope["path"]).removeprefix(below) in ("", "/")
        await (self.compressed if is_page else self.app)(scope, receive, send)

    async def _with_hint(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the browser load our modules while it still reads Gradio's."""

        async def sending(message: MutableMapping[str, Any]) -> None:
            headers = message.get("headers", [])
            if message["type"] == "http.response.start" and dict(headers).get(b"content-type", b"").startswith(PAGE):
                hint = f"<{place(MODULES)}>; rel=modulepreload; fetchpriority=low".encode()
                message = {**message, "headers": [*headers, (b"link", hint)]}
            await send(message)

        await self.app(scope, receive, sending)


def quick_page() -> Middleware:
    """The middleware, as `launch(app_kwargs=…)` takes it."""
    return Middleware(FirstVisit)
