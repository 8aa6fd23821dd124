"""Direct calls of an endpoint, `POST /gradio_api/run/NAME`: the response is the result, after the queue.

Gradio would run the function outside the queue, and return the first partial result of a stream.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable, Sequence
from typing import Any

from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from headlight.viz.api.endpoints import EndpointError
from headlight.viz.api.streams import wait_for_disconnect
from headlight.viz.server.visitors import HAS_LEFT


async def send_result(
    function: Callable[..., Any], arguments: Sequence[Any], scope: Scope, receive: Receive, send: Send
) -> None:
    """Call an endpoint and send its result as Gradio does, or raise its `PageError`."""
    started = time.monotonic()
    disconnect = asyncio.ensure_future(wait_for_disconnect(receive))
    HAS_LEFT.set(disconnect.done)
    try:
        result = await _find_last_result(function, arguments)
    except EndpointError as error:
        raise error.page_error from None
    finally:
        disconnect.cancel()
    values = {"data": [result], "is_generating": False, "duration": round(time.monotonic() - started, 4)}
    await JSONResponse(values)(scope, receive, send)


async def _find_last_result(function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    if not inspect.isasyncgenfunction(function):
        return await function(*arguments)
    result = None
    async for value in function(*arguments):
        result = value
    return result
