"""Limits of connections: time and bytes of the headers, and connections of one address.

uvicorn ends connections that are idle after a response. It waits without a limit for the first request and for the
rest of a header, so clients that send nothing could use up all file descriptors.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import time
from collections import defaultdict
from typing import Any

from headlight.viz.server.visitors import network

HEADER_SECONDS = 15.0  # seconds until the header of a request must be complete
MAX_HEADER_BYTES = 64_000
MAX_SILENT = 64  # silent connections of one address, which have sent no request; the oldest are closed
SILENT_SECONDS = 2.0  # minimum age of a silent connection that is closed: a browser may open several at once
RESERVED_DESCRIPTORS = 200  # for files, models and other servers
MAX_CONNECTIONS = 10_000  # if the system has no limit


class OpenTransport:
    """A transport that drops data for a disconnected client.

    uvloop's transport raises an error in this case, until the next iteration of the event loop.
    """

    def __init__(self, transport: Any) -> None:
        self._transport = transport

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send data, unless the connection is closed."""
        if not self._transport.is_closing():
            self._transport.write(data)


class ConnectionCounter:
    """Open connections by address, for IPv6 by /64 network. Used by the server's event loop only.

    One address can have half of all connections, unless it is a proxy, whose connections are those of many visitors.
    """

    def __init__(self, max_connections: int, *, on_a_space: bool = False) -> None:
        self.max_connections = max_connections
        self.on_a_space = on_a_space
        self._open: defaultdict[str, list[Any]] = defaultdict(list)  # the oldest first

    def admit(self, address: str, connection: Any) -> bool:
        """Count a connection; return false at a limit. May close silent connections of the same address."""
        if sum(map(len, self._open.values())) >= self.max_connections:
            return False
        address_connections = self._open[network(address)]
        if not self._is_proxy(address):
            if len(address_connections) >= self.max_connections // 2:
                return False
            silent = [candidate for candidate in address_connections if candidate.is_silent]
            for candidate in silent[: max(0, len(silent) + 1 - MAX_SILENT)]:
                if time.monotonic() - candidate.opened_at > SILENT_SECONDS:
                    candidate.transport.abort()
        address_connections.append(connection)
        return True

    def count(self, address: str) -> int:
        """Return the number of open connections of an address."""
        return len(self._open.get(network(address), []))

    def release(self, address: str, connection: Any) -> None:
        """Remove a closed connection."""
        address_connections = self._open.get(network(address), [])
        if connection in address_connections:
            address_connections.remove(connection)
        if not address_connections:
            self._open.pop(network(address), None)

    def _is_proxy(self, address: str) -> bool:
        trusted = os.environ.get("FORWARDED_ALLOW_IPS", "")
        if "*" in trusted or address in (part.strip() for part in trusted.split(",")):
            return True
        try:
            ip = ipaddress.ip_address(address)
        except ValueError:
            return True  # a Unix socket
        return ip.is_loopback or (self.on_a_space and ip.is_private)


def limit_connections(server: Any, *, on_a_space: bool = False) -> None:
    """Apply the limits to all later connections of a uvicorn server."""
    config = getattr(server, "config", None)
    protocol = getattr(config, "http_protocol_class", None)
    if config is not None and isinstance(protocol, type):
        counter = ConnectionCounter(find_descriptor_limit() - RESERVED_DESCRIPTORS, on_a_space=on_a_space)
        config.http_protocol_class = make_limited_protocol(protocol, counter)


def find_descriptor_limit() -> int:
    """Return the maximum number of file descriptors of this process."""
    try:
        import resource
    except ImportError:  # on Windows
        return MAX_CONNECTIONS
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MAX_CONNECTIONS if soft in (resource.RLIM_INFINITY, -1) else max(soft, 2 * RESERVED_DESCRIPTORS)


def make_limited_protocol(protocol: Any, counter: ConnectionCounter) -> Any:
    """Return a subclass of uvicorn's protocol that enforces the limits."""

    class LimitedProtocol(protocol):  # type: ignore[misc]
        counter: ConnectionCounter
        opened_at = 0.0
        header_bytes = 0
        deadline: asyncio.TimerHandle | None = None

        @property
        def is_silent(self) -> bool:
            """Whether no request has arrived yet."""
            return getattr(self, "cycle", None) is None

        @property
        def awaits_header(self) -> bool:
            """Whether the header of the next request has not arrived."""
            return self.is_silent or bool(self.cycle.response_complete)

        def connection_made(self, transport: Any) -> None:
            super().connection_made(OpenTransport(transport))
            self.opened_at = time.monotonic()
            self.address = str((self.client or ("",))[0])
            if counter.admit(self.address, self):
                self._start_deadline()
            else:
                transport.abort()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if not self.awaits_header:
                self._stop_deadline()
                self.header_bytes = 0
                return
            self.header_bytes += len(data)
            if self.header_bytes > MAX_HEADER_BYTES:
                self.transport.abort()
            elif self.deadline is None:
                self._start_deadline()

        def handle_websocket_upgrade(self, *arguments: Any) -> None:
            self._stop_deadline()
            counter.release(self.address, self)  # another protocol, which rejects the handshake, has the connection now
            super().handle_websocket_upgrade(*arguments)

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_deadline()
            counter.release(self.address, self)
            super().connection_lost(exc)

        def _start_deadline(self) -> None:
            self.deadline = self.loop.call_later(HEADER_SECONDS, self._abort_if_incomplete)

        def _stop_deadline(self) -> None:
            if self.deadline is not None:
                self.deadline.cancel()
                self.deadline = None

        def _abort_if_incomplete(self) -> None:
            self.deadline = None
            if self.awaits_header:
                self.transport.abort()

    LimitedProtocol.counter = counter
    return LimitedProtocol
