"""Host names and origins for which the server answers.

Gradio writes the host of a request into the page. Without this check, a site whose name resolves to this machine (DNS
rebinding) could call the page of a visitor's own computer, and a cache could store a page with a foreign host.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from typing import Any
from urllib.parse import urlsplit

from headlight.viz.errors import PageError, repr_short
from headlight.viz.settings import ANY_HOST, Settings

MCP_PATH = re.compile(r"/gradio_api/mcp(/|$)")
HOST_PATTERN = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(:\d{1,5})?")
VARY_HEADERS = (
    b"host, x-forwarded-host, x-forwarded-proto, x-gradio-server"  # request headers that Gradio writes into a page
)


def check_host(scope: Mapping[str, Any], path: str, settings: Settings) -> None:
    """Raise `PageError` for a request to a foreign host, or for one of an MCP client on a foreign site."""
    headers = [(name, value.decode("latin-1")) for name, value in scope["headers"]]
    for host in _hosts(headers):
        if not _is_allowed(host, settings):
            raise PageError("data", "foreign_host", {"given": repr_short(host).strip('"')})
    if MCP_PATH.match(path):
        own_hosts = set(_hosts(headers))
        for origin in (value for name, value in headers if name == b"origin"):
            host = urlsplit(origin).netloc if origin.isascii() else ""
            if host not in own_hosts and (ANY_HOST in settings.allowed_hosts or not _is_allowed(host, settings)):
                raise PageError("data", "foreign_host", {"given": repr_short(origin).strip('"')})


def _hosts(headers: list[tuple[bytes, str]]) -> Iterator[str]:
    """Yield the hosts that a request names, in the headers that Gradio reads."""
    for name, value in headers:
        if name == b"host":
            yield value
        elif name == b"x-forwarded-host":
            yield from (part.strip() for part in value.split(","))
        elif name == b"x-gradio-server":
            yield urlsplit(value).netloc if value.isascii() else value


def _is_allowed(host: str, settings: Settings) -> bool:
    match = HOST_PATTERN.fullmatch(host)
    if match is None:
        return False
    name = match[1].lower().rstrip(".").strip("[]")
    if ANY_HOST in settings.allowed_hosts or name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(name)
        if address.is_loopback or settings.on_a_space:  # the platform checks a Space's health by its address
            return True
    except ValueError:
        pass
    return any(fnmatch(name, pattern) for pattern in settings.allowed_hosts)
