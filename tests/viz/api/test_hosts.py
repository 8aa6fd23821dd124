"""Foreign hosts, foreign origins of MCP clients, and WebSocket handshakes are rejected."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from headlight.viz.api.hosts import check_host
from headlight.viz.errors import PageError
from headlight.viz.settings import ANY_HOST, Settings, SettingsError, read_settings
from tests.viz.api.site import Site, opened
from tests.viz.serving import GRADIO_WARNS, assert_clean

pytestmark = [pytest.mark.filterwarnings(f"ignore:{message}") for message in GRADIO_WARNS]
SETTINGS = Settings(model="toy", allowed_hosts=("page.example", "*.school.example"))
EVIL = "evil.example"


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with opened(SETTINGS) as opened_site:
        yield opened_site


@pytest.mark.parametrize("path", ["/", "/config", "/gradio_api/info", "/gradio_api/headlight/call/classify_review"])
@pytest.mark.parametrize(
    "headers", [{"host": EVIL}, {"x-forwarded-host": EVIL}, {"x-gradio-server": f"https://{EVIL}/"}], ids=str
)
def test_foreign_host_is_rejected(site: Site, path: str, headers: dict[str, str]) -> None:
    reply = site.http.request("POST" if "call" in path else "GET", path, headers=headers)
    assert (reply.status_code, reply.json()["word"]) == (421, "foreign_host")
    assert f"does not answer for {EVIL}" in reply.json()["error"]
    assert_clean(reply.text)


@pytest.mark.parametrize("host", ["page.example", "localhost:7860", "a.school.example:81"])
def test_page_of_an_allowed_host_is_not_stored_by_shared_caches(site: Site, host: str) -> None:
    for path in ("/", "/config"):
        reply = site.http.get(path, headers={"host": host})
        assert reply.status_code == 200
        assert reply.headers["cache-control"] == "private, no-cache"
        assert {"host", "x-forwarded-host", "x-forwarded-proto", "x-gradio-server"} <= {
            name.strip().lower() for name in reply.headers["vary"].split(",")
        }


def check(host: str, allowed: tuple[str, ...], path: str = "/", **headers: str) -> bool:
    """Whether a request to a host is accepted."""
    values = [
        (b"host", host.encode("latin-1")),
        *((k.replace("_", "-").encode(), v.encode()) for k, v in headers.items()),
    ]
    try:
        check_host({"headers": values}, path, Settings(allowed_hosts=allowed))
    except PageError as error:
        return error.word != "foreign_host"
    return True


@pytest.mark.parametrize(("host", "accepted"), [("10.20.1.3:7860", True), ("me-page.hf.space", True), (EVIL, False)])
def test_space_answers_for_its_name_and_for_addresses(host: str, accepted: bool) -> None:
    settings = read_settings({"SPACE_ID": "me/page", "SPACE_HOST": "me-page.hf.space"})
    scope = {"headers": [(b"host", host.encode())]}
    if accepted:
        check_host(scope, "/", settings)
    else:
        with pytest.raises(PageError):
            check_host(scope, "/", settings)


@pytest.mark.parametrize(
    ("host", "allowed", "accepted"),
    [
        ("localhost", (), True),
        ("LOCALHOST.:7860", (), True),
        ("a.localhost", (), True),
        ("127.0.0.1:7860", (), True),
        ("127.9.9.9", (), True),
        ("[::1]:7860", (), True),
        ("evil.example", (), False),
        ("localhost.evil.example", (), False),
        ("evil-localhost", (), False),
        ("evillocalhost", (), False),
        ("127.0.0.1.evil.example", (), False),
        ("192.168.7.11:7860", (), False),
        ("", (), False),
        ("page.example", ("page.example",), True),
        ("Page.Example:81", ("page.example",), True),
        ("a.page.example", ("page.example",), False),
        ("a.b.page.example", ("*.page.example",), True),
        ("page.example", ("*.page.example",), False),
        ("evil.example", (ANY_HOST,), True),
        ("[2001:db8::1]", ("2001:db8::1",), True),
        ('a"><script>', (ANY_HOST,), False),
        ("a b", (ANY_HOST,), False),
        ("localhost@evil.example", (ANY_HOST,), False),
        ("localhost/evil", (ANY_HOST,), False),
        ("ü.example", (ANY_HOST,), False),
        ("localhost:x", (), False),
    ],
)
def test_host_is_compared_as_a_whole(host: str, allowed: tuple[str, ...], accepted: bool) -> None:
    assert check(host, allowed) is accepted
    assert check("localhost", allowed, x_forwarded_host=f"localhost, {host}" if host.isascii() else "x y") is accepted


@pytest.mark.parametrize(
    ("origin", "allowed", "accepted"),
    [
        ("http://localhost:7860", (), True),
        ("http://127.0.0.1:6274", (), True),
        ("https://evil.example", (), False),
        ("null", (), False),
        ("https://page.example", ("page.example",), True),
        ("https://evil.example", (ANY_HOST,), False),
        ("http://localhost:7860", (ANY_HOST,), True),
        ("http://localhost:1", (ANY_HOST,), False),
    ],
)
def test_mcp_rejects_foreign_origins(origin: str, allowed: tuple[str, ...], accepted: bool) -> None:
    for path in ("/gradio_api/mcp", "/gradio_api/mcp/", "/gradio_api/mcp/messages/"):
        assert check("localhost:7860", allowed, path, origin=origin) is accepted
    assert check("localhost:7860", allowed, "/gradio_api/mcp/")
    assert check("localhost:7860", allowed, "/gradio_api/info", origin=origin)
    assert not check("evil.example", (), "/gradio_api/mcp/")


@pytest.mark.parametrize(
    ("variables", "hosts"),
    [
        ({}, ()),
        ({"HEADLIGHT_HOST": "0.0.0.0"}, (ANY_HOST,)),  # noqa: S104
        ({"GRADIO_ROOT_PATH": "/lessons"}, (ANY_HOST,)),
        ({"SPACE_ID": "me/page", "SPACE_HOST": "me-page.hf.space"}, ("me-page.hf.space",)),
        ({"SPACE_ID": "me/page"}, (ANY_HOST,)),
        ({"SPACE_HOST": "me-page.hf.space"}, ()),
        (
            {"HEADLIGHT_ALLOWED_HOSTS": " Page.example,*.school.example,[::1] "},
            ("page.example", "*.school.example", "::1"),
        ),
        ({"HEADLIGHT_ALLOWED_HOSTS": "*"}, (ANY_HOST,)),
        ({"HEADLIGHT_HOST": "0.0.0.0", "HEADLIGHT_ALLOWED_HOSTS": "page.example"}, ("page.example",)),  # noqa: S104
    ],
)
def test_default_hosts_follow_from_the_address(variables: dict[str, str], hosts: tuple[str, ...]) -> None:
    assert read_settings(variables).allowed_hosts == hosts


@pytest.mark.parametrize("text", ["https://page.example", "page.example:81", "a b", "*example"])
def test_invalid_allowed_host_is_reported(text: str) -> None:
    with pytest.raises(SettingsError, match="HEADLIGHT_ALLOWED_HOSTS has"):
        read_settings({"HEADLIGHT_ALLOWED_HOSTS": text})


def test_websocket_handshake_is_rejected(site: Site, caplog: pytest.LogCaptureFixture, capfd: Any) -> None:
    place = site.http.base_url
    request = (
        f"GET /gradio_api/queue/join HTTP/1.1\r\nHost: {place.host}:{place.port}\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    with socket.create_connection((place.host, place.port or 80), timeout=60) as connection:
        connection.sendall(request.encode())
        status = connection.recv(1000).split(b"\r\n")[0]
    assert status.split()[1] in (b"403", b"404")
    assert site.http.get("/config").status_code == 200
    assert "ASGI" not in caplog.text + "".join(capfd.readouterr())
