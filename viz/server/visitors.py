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

ADDRESS = "headlight.address"  # ASGI scope key of the client address, set by the middleware
PROGRAM = "headlight.program"  # ASGI scope key, set for API clients, which fetch a result by its job id
MAX_REQUEST_NUMBER = 2**53  # smaller integers are exact in JavaScript
UNKNOWN = Visitor()
VISITOR: ContextVar[Visitor] = ContextVar(
    "VISITOR", default=UNKNOWN
)  # the visitor whose request the current function handles
HAS_LEFT: ContextVar[Callable[[], bool]] = ContextVar(
    "HAS_LEFT", default=lambda: False
)  # whether `VISITOR` has disconnected


class OneJobPerVisitor:
    """A widget that runs one job per visitor at a time."""

    def __init__(self) -> None:
        self._running: dict[str, tuple[Event, int]] = {}
        self._lock = Lock()

    def stop(self, request: gr.Request) -> None:
        """Cancel the visitor's running job in Gradio's queue."""
        with self._lock:
            running = self._running.pop(request.session_hash or "", None)
        if running:
            running[0].set()

    @contextmanager
    def _replace_job(self, visitor: str, request_number: Any = None, stop: Event | None = None) -> Iterator[Event]:
        """Stop the visitor's previous job. Yields an event (`stop` if given) that is set when this job must stop.

        Threads may start two jobs in either order; the one with the larger request number wins.
        """
        stop, number = stop or Event(), request_number if is_request_number(request_number) else 0
        with self._lock:
            previous, previous_number = self._running.get(visitor, (None, number))
            if previous_number > number:
                stop.set()
            else:
                self._running[visitor] = stop, number
        if previous and not stop.is_set():
            previous.set()
        try:
            yield stop
        finally:
            with self._lock:
                if self._running.get(visitor, (None, 0))[0] is stop:  # a later request may have replaced the entry
                    del self._running[visitor]


def is_request_number(value: Any) -> bool:
    """Whether a value is a request number. Larger integers are rejected: Python cannot format very long ones."""
    return type(value) is int and abs(value) < MAX_REQUEST_NUMBER


def with_request_number(message: str, number: Any) -> str:
    """Add the request number to a message, so that the browser can ignore messages of older requests."""
    return message if not is_request_number(number) else f'{{"turn":{number},{message[1:]}'


def client_address(scope: Mapping[str, Any], *, on_a_space: bool) -> str:
    """Return the client address of a request; for IPv6, its /64 network, which usually belongs to one visitor.

    uvicorn has already applied `X-Forwarded-For` from a proxy on this machine. The proxy of a Space runs elsewhere in
    its network and appends the header's last public address; only earlier entries can be forged.
    """
    client = str((scope.get("client") or ("",))[0])
    if on_a_space and not _is_public(client):
        headers = [value.decode("latin-1") for name, value in scope["headers"] if name == b"x-forwarded-for"]
        hops = [hop.strip() for hop in ",".join(headers).split(",")]
        client = next((hop for hop in reversed(hops) if _is_public(hop)), client)
    return network(client)


def network(client: str) -> str:
    """Return an IPv4 address as it is, and the /64 network of an IPv6 address."""
    try:
        address = ipaddress.ip_address(client)
    except ValueError:
        return client[:64]
    if isinstance(address, ipaddress.IPv6Address) and not address.is_loopback:
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(address)


def _is_public(text: str) -> bool:
    try:
        return ipaddress.ip_address(text).is_global
    except ValueError:
        return False
