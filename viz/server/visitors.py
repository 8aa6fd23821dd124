"""Visitors and their running jobs: a new request or a closed page cancels the job."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Event, Lock
from typing import Any

import gradio as gr

from headlight.viz.service.request_queue import Visitor

ADDRESS = "headlight.address"  # the key in an ASGI scope under which the middleware writes the address
PROGRAM = "headlight.program"  # the key under which the middleware says that the answer is fetched by its number
MAX_REQUEST_NUMBER = 2**53  # the largest exact integer of JavaScript
UNKNOWN = Visitor()
VISITOR: ContextVar[Visitor] = ContextVar("VISITOR", default=UNKNOWN)  # the visitor for whom a function runs
HAS_LEFT: ContextVar[Callable[[], bool]] = ContextVar("GONE", default=lambda: False)  # whether that visitor has left


class OneJobPerVisitor:
    """A widget that runs one job per visitor at a time."""

    def __init__(self) -> None:
        self._running: dict[str, tuple[Event, int]] = {}
        self._lock = Lock()

    def stop(self, request: gr.Request) -> None:
        """The visitor stops the running job."""
        self.on_page_closed(request)

    def on_page_closed(self, request: gr.Request) -> None:
        """The visitor closed the page."""
        with self._lock:
            running = self._running.pop(request.session_hash or "", None)
        if running:
            running[0].set()

    @contextmanager
    def _replace_job(self, visitor: str, turn: Any = None, stop: Event | None = None) -> Iterator[Event]:
        """Stop the visitor's last job. The event, the given one if there is one, is set when this job must stop.

        `turn`: the number of the request. Threads may begin two jobs in either order: the later request goes on.
        """
        stop, number = stop or Event(), turn if is_request_number(turn) else 0
        with self._lock:
            last, later = self._running.get(visitor, (None, number))
            if later > number:
                stop.set()
            else:
                self._running[visitor] = stop, number
        if last and not stop.is_set():
            last.set()
        try:
            yield stop
        finally:
            with self._lock:
                if self._running.get(visitor, (None, 0))[0] is stop:  # a later request has its own entry
                    del self._running[visitor]


def is_request_number(turn: Any) -> bool:
    """Whether a value is the number of a request: Python refuses to write very long integers."""
    return type(turn) is int and abs(turn) < MAX_REQUEST_NUMBER


def with_request_number(message: str, turn: Any) -> str:
    """The message with the number of its request: the browser ignores messages of an older one."""
    return message if not is_request_number(turn) else f'{{"turn":{turn},{message[1:]}'


def client_address(scope: Mapping[str, Any], *, on_a_space: bool) -> str:
    """The address that a request comes from; of IPv6 the first 64 bits, as one visitor has the rest.

    uvicorn has already read `X-Forwarded-For` where a proxy on this machine wrote it. The proxy of a Space runs
    elsewhere in its network: it wrote the last public address of that header; only entries before it may be forged.
    """
    given = str((scope.get("client") or ("",))[0])
    if on_a_space and not _public(given):
        headers = [value.decode("latin-1") for name, value in scope["headers"] if name == b"x-forwarded-for"]
        hops = [hop.strip() for hop in ",".join(headers).split(",")]
        given = next((hop for hop in reversed(hops) if _public(hop)), given)
    try:
        address = ipaddress.ip_address(given)
    except ValueError:
        return given[:64]
    if isinstance(address, ipaddress.IPv6Address) and not address.is_loopback:
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(address)


def _public(text: str) -> bool:
    try:
        return ipaddress.ip_address(text).is_global
    except ValueError:
        return False
