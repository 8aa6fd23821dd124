"""The settings of the page: `HEADLIGHT_*` environment variables, read once and checked."""

from __future__ import annotations

import argparse
import difflib
import ipaddress
import json
import os
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from headlight.model.checkpoints.shipped import MODELS
from headlight.model.errors import ModelError
from headlight.model.families.hub.model_id import HubError, read_id

HUB_LIST = MODELS / "hub.json"  # models offered to visitors: ids, languages, approximate sizes
ANY_MODEL = ANY_HOST = "*"
LOGS = ("", "json")
BACKENDS = ("", "here", "ray")
MIN_KEY_LENGTH = 16
CLUSTER_CONCURRENCY = 32  # parallel computations; this process only waits for them
PREFIX = "HEADLIGHT_"
DOWNLOAD_LIMIT = "HEADLIGHT_MAX_DOWNLOAD_MB"
OTHER_VARIABLES = ("HEADLIGHT_DEVICE", "HEADLIGHT_DTYPE", DOWNLOAD_LIMIT, "HEADLIGHT_CHROMIUM")
# Kubernetes sets variables for each service in the namespace. A service called "headlight…" has our prefix.
_SERVICE_NAME = re.compile(r"\w+_(SERVICE_HOST|SERVICE_PORT\w*|PORT_\d+_(TCP|UDP|SCTP)\w*)")
_SERVICE_ADDRESS = re.compile(r"(tcp|udp|sctp)://")
_ADDRESS = re.compile(r"https?://[A-Za-z0-9.:_\[\]-]+/?")
_HOST = re.compile(r"(\*\.)?[a-z0-9._-]+|[0-9a-f:]+")
_SITE = re.compile(r"https?://[A-Za-z0-9.*-]+(:\d{1,5})?")


class SettingsError(ModelError):
    """An environment variable with an invalid value."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Limits and locations. Defaults suit two CPU cores."""

    model: str = ""  # the default model; empty: see `Service`
    max_characters: int = 500
    max_tokens: int = 256  # 500 characters in one-letter words are 251 tokens
    max_beam: int = 10
    cache_mb: int = 256
    max_request_kb: int = 256
    max_answer_mb: int = 32  # enough for a sentence of a hundred tokens with all weights
    concurrency: int = 2
    line: int = 1000  # queued computations
    max_wait_s: int = 60
    host: str | None = None  # None: loopback, or `GRADIO_SERVER_NAME`
    port: int | None = None  # None: the first free port from 7860
    models_folder: Path = MODELS
    models: tuple[str, ...] = ()  # Hub ids available to visitors; `ANY_MODEL` allows all others
    models_mb: int = 3000  # enough for the bundled models and several of 300 MB on disk
    hub_mb: int = 20_000  # six downloads of the maximum size
    backend: str = ""  # "ray", or empty for this process
    ray_address: str = "http://127.0.0.1:8000"
    cache_url: str = field(default="", repr=False)  # an answer cache shared by several processes; may have a password
    cache_key: str = field(default="", repr=False)  # the secret that signs its entries
    metrics_port: int | None = None  # None: no metrics
    metrics_host: str = "127.0.0.1"
    log: str = ""  # "json": JSON lines
    frames: tuple[str, ...] = ("https://huggingface.co",)  # sites that may embed the page
    allowed_hosts: tuple[str, ...] = ()  # besides loopback names; `ANY_HOST` allows all
    on_a_space: bool = False  # behind the proxy of Hugging Face Spaces


class Setting(NamedTuple):
    """A row of the table in docs/deploying.md."""

    name: str
    meaning: str
    default: str


PORTS = (1, 65_535)
# Integer settings: field → minimum and maximum.
_RANGES = {
    "max_characters": (1, 100_000),
    "max_tokens": (2, 4096),
    "max_beam": (1, 64),
    "cache_mb": (0, 1_000_000),
    "max_request_kb": (4, 1_000_000),
    "max_answer_mb": (1, 1_000),
    "concurrency": (1, 256),
    "line": (0, 10_000),
    "max_wait_s": (1, 3600),
    "port": PORTS,
    "metrics_port": PORTS,
    "models_mb": (1, 1_000_000),
    "hub_mb": (1, 100_000_000),
}
_MEANINGS = {
    "model": ("the default model", "`de-en`, else the first available model"),
    "max_characters": ("maximum characters of a sentence", ""),
    "max_tokens": ("maximum tokens of a sentence, and of its translation", ""),
    "max_beam": ("maximum beam size that a visitor may request", ""),
    "cache_mb": ("size of the translation cache in megabytes; 0 disables it", ""),
    "max_request_kb": ("maximum size of a request in kilobytes", ""),
    "max_answer_mb": ("maximum size of an exported file in megabytes", ""),
    "concurrency": ("number of concurrent computations", "2; on a cluster 32"),
    "max_wait_s": (
        "maximum expected wait of a computation in seconds; if it is longer, the page reports that the server is busy "
        "and retries automatically",
        "",
    ),
    "line": ("maximum number of queued computations; one address can use half of it", ""),
    "host": ("address to listen on; `0.0.0.0` also accepts other machines", "127.0.0.1"),
    "port": ("port to listen on", "the first free one from 7860"),
    "models_folder": ("folder of the model folders", "`assets/models`"),
    "models": (
        "Hub models that may be requested: comma-separated ids, `*` for any, `none`",
        "those of `assets/models/hub.json`; any if only this computer is served",
    ),
    "models_mb": (
        "size of the cache of loaded models in megabytes; models in use stay loaded, and a back-translation uses two",
        "",
    ),
    "hub_mb": (
        "size of the cache of models downloaded from the Hub, in megabytes; the least recently used is deleted first",
        "",
    ),
    "backend": ("where answers are computed: `here`, or on a cluster with `ray` ([scale.md](scale.md))", "here"),
    "ray_address": ("address of the Ray Serve application, with `HEADLIGHT_BACKEND=ray`", ""),
    "cache_url": (
        "address of a Redis or Valkey server in which several page processes share answers; needs "
        "`headlight-attention[cluster]`",
        "none",
    ),
    "cache_key": (
        f"secret of at least {MIN_KEY_LENGTH} characters that signs the answers in this cache, the same for all page "
        "processes",
        "none",
    ),
    "metrics_port": ("port of `/metrics`, `/health` and `/ready`; needs `headlight-attention[metrics]`", "none"),
    "metrics_host": ("address of this port; `0.0.0.0` also accepts other machines", ""),
    "log": ("`json`: one JSON object per line, without visitors’ texts", "plain text"),
    "frames": (
        "sites that may embed the page in a frame: comma-separated URLs, or `none`",
        "`https://huggingface.co`",
    ),
    "allowed_hosts": (
        "host names for which the page answers, besides those of loopback: comma-separated, `*.example.org` for "
        "subdomains, or `*` for any",
        "none if only this computer is served; the Space’s name on a Space; else `*`",
    ),
}


def _variable(field: str) -> str:
    return f"{PREFIX}{field.upper()}"


SETTINGS = tuple(
    Setting(_variable(field), meaning, default or str(getattr(Settings(), field)))
    for field, (meaning, default) in _MEANINGS.items()
)


def read_settings(environ: Mapping[str, str] | None = None) -> Settings:
    """Read the settings from the environment; unset and empty variables get their defaults."""
    variables = os.environ if environ is None else environ
    _check_names(variables)
    if variables.get(DOWNLOAD_LIMIT, "").strip():
        from headlight.model.families.hub.download_plan import parse_limit

        try:
            parse_limit(variables[DOWNLOAD_LIMIT])
        except HubError as error:
            raise SettingsError(str(error)) from error
    values: dict[str, str] = {field: variables.get(_variable(field), "").strip() for field in _MEANINGS}
    numbers = {field: _parse_integer(field, values.pop(field)) for field in _RANGES}
    on_a_space = bool(variables.get("SPACE_ID"))
    public = on_a_space or _is_public(values["host"], variables)
    models = _parse_models(values.pop("models"), public=public)
    allowed_hosts = _parse_hosts(values.pop("allowed_hosts"), variables, public=public, on_a_space=on_a_space)
    frames = _parse_frames(values.pop("frames"))
    folder = values.pop("models_folder")
    if folder and not Path(folder).is_dir():
        raise SettingsError(
            f"{_variable('models_folder')} is {folder!r}, but there is no such folder. Create it or change the setting."
        )
    if 0 < len(values["cache_key"]) < MIN_KEY_LENGTH:
        raise SettingsError(
            f"{_variable('cache_key')} has {len(values['cache_key'])} characters, but must have at least "
            f"{MIN_KEY_LENGTH}. Change or unset it."
        )
    if values["log"] not in LOGS:
        raise SettingsError(f"{_variable('log')} is {values['log'][:40]!r}, but must be json. Change or unset it.")
    if values["backend"] not in BACKENDS:
        raise SettingsError(
            f"{_variable('backend')} is {values['backend'][:40]!r}, but must be here or ray. Change or unset it."
        )
    if values["ray_address"] and not _ADDRESS.fullmatch(values["ray_address"]):
        raise SettingsError(
            f"{_variable('ray_address')} is {values['ray_address'][:80]!r}, but must be an address such as "
            "http://127.0.0.1:8000. Change or unset it."
        )
    if values["backend"] == "ray" and numbers["concurrency"] is None:
        numbers["concurrency"] = CLUSTER_CONCURRENCY
    texts = {field: text for field, text in values.items() if text}
    integers = {field: number for field, number in numbers.items() if number is not None}
    paths = {"models_folder": Path(folder).resolve()} if folder else {}
    sites = {"frames": frames, "allowed_hosts": allowed_hosts}
    return Settings(**integers, **texts, **paths, **sites, models=models, on_a_space=on_a_space)  # type: ignore[arg-type]


def _check_names(variables: Mapping[str, str]) -> None:
    """Raise an error for a variable with our prefix that is not a setting, and name the most similar setting."""
    names = [*(setting.name for setting in SETTINGS), *OTHER_VARIABLES]
    for name, value in sorted(variables.items()):
        is_service = _SERVICE_NAME.fullmatch(name) or _SERVICE_ADDRESS.match(value)
        if name.startswith(PREFIX) and name not in names and value.strip() and not is_service:
            (nearest,) = difflib.get_close_matches(name, names, n=1, cutoff=0.0)
            raise SettingsError(f"{name[:60]} is not a setting; the most similar one is {nearest}. Rename or unset it.")


def check_can_bind(settings: Settings) -> None:
    """Raise a one-line error if the host and port cannot be bound."""
    host, port = (settings.host or "127.0.0.1").strip("[]"), settings.port or 0
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family) as listener:
            if os.name == "posix":  # like Gradio, reuse a port whose server has just exited
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((host, port))
            listener.listen()
    except (OSError, ValueError, TypeError) as error:
        reason = getattr(error, "strerror", None) or "it is not an address"
        raise SettingsError(
            f"The page cannot be served at {host[:80]!r}, port {port or 'any'}: {reason}. Choose another host or port: "
            f"{_variable('host')} or {_variable('port')}, or --host or --port of `headlight run`."
        ) from error


def load_hub_list() -> list[dict[str, Any]]:
    """Return the models offered to visitors: `id`, `languages`, approximate `bytes`."""
    models: list[dict[str, Any]] = json.loads(HUB_LIST.read_text(encoding="utf-8"))
    return models


def _parse_models(text: str, *, public: bool) -> tuple[str, ...]:
    """Parse Hub ids. On a public page, visitors may download only these models, unless `*` is included."""
    hub_ids = tuple(entry["id"] for entry in load_hub_list())
    if not text:
        return hub_ids if public else (*hub_ids, ANY_MODEL)
    if text == "none":
        return ()
    names = tuple(dict.fromkeys(name for part in text.split(",") if (name := part.strip())))
    for name in names:
        try:
            if name != ANY_MODEL:
                read_id(name)
        except HubError as error:
            raise SettingsError(f"{_variable('models')}: {error}") from error
    return tuple(dict.fromkeys((*hub_ids, *names))) if ANY_MODEL in names else names


def _is_public(host: str, variables: Mapping[str, str]) -> bool:
    """Whether other machines can reach the page: by its address, a share link or a reverse proxy's path.

    An unset host means `GRADIO_SERVER_NAME`, or else loopback, as in Gradio.
    """
    is_shared = variables.get("GRADIO_SHARE", "").lower() == "true" or bool(variables.get("GRADIO_ROOT_PATH"))
    name = (host or variables.get("GRADIO_SERVER_NAME", "").strip() or "127.0.0.1").strip("[]")
    try:
        return is_shared or not ipaddress.ip_address(name).is_loopback
    except ValueError:
        return is_shared or name != "localhost"


def _parse_frames(text: str) -> tuple[str, ...]:
    """Parse sites as scheme and host, because they are inserted into a header."""
    if not text:
        return Settings.frames
    sites = () if text == "none" else tuple(site for part in text.split(",") if (site := part.strip().rstrip("/")))
    for site in sites:
        if not _SITE.fullmatch(site):
            raise SettingsError(
                f"{_variable('frames')} has {site[:40]!r}, but must have addresses such as https://example.org. "
                "Change or unset it."
            )
    return sites


def _parse_hosts(text: str, variables: Mapping[str, str], *, public: bool, on_a_space: bool) -> tuple[str, ...]:
    """Parse host names. By default, a page for other machines answers for any name, and a Space for its own.

    A page for this computer answers for loopback names only: the name of another site may resolve to this computer.
    """
    if not text and on_a_space:
        text = variables.get("SPACE_HOST", "").strip()
    if not text:
        return (ANY_HOST,) if public else ()
    names = tuple(dict.fromkeys(name for part in text.split(",") if (name := part.strip().lower().strip("[]"))))
    for name in names:
        if name != ANY_HOST and not _HOST.fullmatch(name):
            raise SettingsError(
                f"{_variable('allowed_hosts')} has {name[:40]!r}, but must have names such as example.org or "
                "*.example.org, without a scheme or a port. Change or unset it."
            )
    return names


def _parse_integer(field: str, text: str) -> int | None:
    """Parse an integer in its range; `None` if unset."""
    if not text:
        return None
    low, high = _RANGES[field]
    # Only ASCII digits, and fewer than Python's limit.
    if not (text.isascii() and text.isdecimal() and len(text) < 20 and low <= int(text) <= high):
        raise SettingsError(
            f"{_variable(field)} is {text[:40]!r}, but must be a whole number from {low} to {high}. Change or unset it."
        )
    return int(text)


def port_argument(text: str) -> int:
    """Return the port of a command's `--port`, or raise the error that `argparse` prints."""
    low, high = PORTS
    if not (text.isascii() and text.isdecimal() and low <= int(text[:9]) <= high):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a port: choose a whole number from {low} to {high}")
    return int(text)
