"""Connections without a request end, and one address cannot use up all connections."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from uvicorn.protocols.http.h11_impl import H11Protocol

from headlight.viz.server import connection_limits as limits
from headlight.viz.server.connection_limits import (
    ConnectionCounter,
    find_descriptor_limit,
    limit_connections,
    make_limited_protocol,
)
from headlight.viz.settings import Settings
from tests.viz.api.site import Site, opened
from tests.viz.serving import GRADIO_WARNS
from tests.waiting import until

pytestmark = [pytest.mark.filterwarnings(f"ignore:{message}") for message in GRADIO_WARNS]
REQUEST = b"GET /config HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with opened(Settings(model="toy")) as opened_site:
        yield opened_site


def connect(site: Site, *parts: bytes) -> socket.socket:
    connection = socket.create_connection((site.http.base_url.host, site.http.base_url.port or 80), timeout=60)
    for part in parts:
        connection.sendall(part)
    return connection


def is_closed(connection: socket.socket) -> bool:
    """Read to the end; fails after the connection's timeout."""
    try:
        while connection.recv(100_000):
            pass
    except ConnectionError:
        pass
    return True


@pytest.mark.parametrize(
    "parts", [(), (REQUEST[:9],), (REQUEST[:-2],), (REQUEST, REQUEST[:9])], ids=["silent", "line", "header", "second"]
)
def test_incomplete_header_ends_the_connection(
    site: Site, monkeypatch: pytest.MonkeyPatch, parts: tuple[bytes, ...]
) -> None:
    monkeypatch.setattr(limits, "HEADER_SECONDS", 0.3)
    with connect(site, *parts) as connection:
        assert is_closed(connection)


def test_half_a_header_after_a_response_ends_the_connection(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "HEADER_SECONDS", 0.3)
    with connect(site, b"GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n") as connection:
        head, _, body = connection.recv(100_000).partition(b"\r\n\r\n")
        length = next(int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
        while len(body) < length:
            body += connection.recv(100_000)
        connection.sendall(REQUEST[:9])  # ends uvicorn's own timeout of idle connections
        assert is_closed(connection)


class SilentProtocol:
    """uvicorn's protocol while no header is complete."""

    cycle, client = None, ("192.0.2.1", 80)

    def __init__(self) -> None:
        self.loop = SimpleNamespace(call_later=lambda *_: SimpleNamespace(cancel=lambda: None))
        self.data = b""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.data += data


def test_header_has_a_largest_size() -> None:
    connection = Connection()
    protocol = make_limited_protocol(SilentProtocol, ConnectionCounter(10))()
    protocol.connection_made(connection.transport)
    for part in (limits.MAX_HEADER_BYTES - 1, 1):
        protocol.data_received(b"x" * part)
        assert not connection.aborted
    protocol.data_received(b"x")
    assert connection.aborted


def test_complete_request_is_not_ended(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "HEADER_SECONDS", 0.05)
    with connect(site, b"GET /gradio_api/heartbeat/a HTTP/1.1\r\nHost: localhost\r\n\r\n") as connection:
        text = b""
        while text.count(b"ALIVE") < 1:  # a stream without an end
            text += connection.recv(1000)
        assert text.startswith(b"HTTP/1.1 200")


def test_endless_header_ends_the_connection(site: Site) -> None:
    line = b"x: " + b"y" * 997 + b"\r\n"
    with connect(site, REQUEST[:-2]) as connection:
        connection.setblocking(False)
        until(lambda: ends(connection, line))
    assert site.http.get("/config").status_code == 200


def ends(connection: socket.socket, line: bytes) -> bool:
    """Send one more line. Whether the server has rejected the request or closed the connection."""
    try:
        connection.sendall(line * 20)
        return bool(connection.recv(1)) or True
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


def test_rejected_websockets_are_not_counted(site: Site) -> None:
    counter: ConnectionCounter = site.page.server.config.http_protocol_class.counter
    upgrade = b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    for _ in range(3):
        with connect(site, REQUEST[:-2] + upgrade + b"Sec-WebSocket-Version: 13\r\n\r\n") as connection:
            assert is_closed(connection)
    site.http.close()
    until(lambda: counter.count("127.0.0.1") == 0)
    site.http = type(site.http)(base_url=site.http.base_url, timeout=60)


class Connection:
    """A connection without a server."""

    def __init__(self, *, silent: bool = True, age: float = 1000.0) -> None:
        self.is_silent, self.opened_at, self.aborted = silent, limits.time.monotonic() - age, False
        self.transport = SimpleNamespace(abort=lambda: setattr(self, "aborted", True))


def test_one_address_gets_half_of_the_connections() -> None:
    counter = ConnectionCounter(10)
    mine = [Connection(silent=False) for _ in range(6)]
    assert [counter.admit("192.0.2.1", each) for each in mine] == [True] * 5 + [False]
    assert counter.admit("192.0.2.2", Connection())
    counter.release("192.0.2.1", mine[0])
    counter.release("192.0.2.1", mine[5])  # never admitted
    assert counter.admit("192.0.2.1", mine[5])
    assert [counter.admit(f"192.0.3.{number}", Connection()) for number in range(5)] == [True] * 4 + [False]


@pytest.mark.parametrize(
    ("address", "on_a_space", "trusted", "is_proxy"),
    [
        ("127.0.0.1", False, "", True),
        ("::1", False, "", True),
        ("", False, "", True),
        ("10.1.2.3", False, "", False),
        ("10.1.2.3", True, "", True),
        ("192.0.2.1", False, "192.0.2.7, 192.0.2.1", True),
        ("192.0.2.1", False, "*", True),
        ("203.0.113.9", True, "", False),
    ],
)
def test_proxy_can_have_all_connections(
    monkeypatch: pytest.MonkeyPatch, address: str, on_a_space: bool, trusted: str, is_proxy: bool
) -> None:
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", trusted)
    if address == "203.0.113.9":
        address = "8.8.8.8"  # a documentation address counts as private
    counter = ConnectionCounter(4, on_a_space=on_a_space)
    assert [counter.admit(address, Connection()) for _ in range(5)].count(True) == (4 if is_proxy else 2)


def test_oldest_silent_connections_are_closed_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_SILENT", 3)
    counter = ConnectionCounter(100)
    old, busy, young = Connection(), Connection(silent=False), [Connection(age=0.0) for _ in range(3)]
    for each in (old, busy, *young):
        assert counter.admit("192.0.2.1", each)
    assert [each.aborted for each in (old, busy, *young)] == [True, False, False, False, False]
    counter.release("192.0.2.1", old)
    assert counter.admit("192.0.2.1", Connection())
    assert not any(each.aborted for each in young)  # a browser may have just opened them


def test_server_without_the_interface_stays_as_it_is() -> None:
    limit_connections(SimpleNamespace())
    config = SimpleNamespace(http_protocol_class="auto")
    limit_connections(SimpleNamespace(config=config))
    assert config.http_protocol_class == "auto"


@pytest.mark.parametrize("name", ["h11", "httptools"])
def test_both_protocols_of_uvicorn_have_the_interface(name: str) -> None:
    module: Any = pytest.importorskip(f"uvicorn.protocols.http.{name}_impl")
    protocol = module.HttpToolsProtocol if name == "httptools" else H11Protocol
    config = SimpleNamespace(http_protocol_class=protocol)
    limit_connections(SimpleNamespace(config=config))
    assert issubclass(config.http_protocol_class, protocol)
    assert config.http_protocol_class.counter.max_connections == find_descriptor_limit() - limits.RESERVED_DESCRIPTORS
    assert hasattr(protocol, "handle_websocket_upgrade")
    assert hasattr(module.RequestResponseCycle, "run_asgi")


def test_addresses_of_one_ipv6_network_count_as_one() -> None:
    counter = ConnectionCounter(10)
    mine = [Connection(silent=False) for _ in range(7)]
    admitted = [counter.admit(f"2001:db8::{number}", each) for number, each in enumerate(mine)]
    assert admitted == [True] * 5 + [False] * 2
    assert counter.admit("2001:db8:0:1::1", Connection())
    counter.release("2001:db8::0", mine[0])
    assert counter.count("2001:db8::ffff") == 4
    assert counter.admit("2001:db8::5", mine[5])


def test_data_for_a_client_that_has_left_is_dropped() -> None:
    """The transport of uvloop raises an error for it, which would be logged with a traceback."""
    sent: list[bytes] = []
    closed = False

    def write(data: bytes) -> None:
        if closed:
            raise RuntimeError("the handler is closed")
        sent.append(data)

    protocol = make_limited_protocol(SilentProtocol, ConnectionCounter(10))()
    protocol.connection_made(SimpleNamespace(write=write, is_closing=lambda: closed))
    protocol.transport.write(b"one")
    closed = True
    protocol.transport.write(b"two")
    assert sent == [b"one"]
