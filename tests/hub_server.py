"""A local stub of the Hugging Face Hub: serves repositories, records requests, and interrupts downloads on demand.

Like the Hub, it redirects requests for large files to a store on another host.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import struct
import threading
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import pytest

from headlight.model.families.hub import download

LARGE = (".safetensors", ".bin", ".spm", ".model")
INFO = re.compile(r"/api/models/([^/]+/[^/]+)/revision/(.+)")
FILE = re.compile(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)")


class RecordedRequest(NamedTuple):
    """A request to the Hub or its store."""

    method: str
    path: str
    range: str | None
    token: str | None
    agent: str | None


@dataclass
class Repository:
    """A repository: files by commit, and the commit of each branch."""

    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    references: dict[str, str] = field(default_factory=dict)
    error: tuple[int, str] | None = None  # status and X-Error-Code of all responses
    gated: bool = False  # its files are listed but not readable
    false_listing: dict[str, dict[str, Any]] = field(default_factory=dict)  # wrong fields of the file list
    card: dict[str, Any] = field(default_factory=lambda: {"license": "cc-by-4.0"})
    config: dict[str, Any] | None = None  # what the Hub extracted from config.json

    def push(self, files: Mapping[str, bytes], branch: str = "main") -> str:
        """Add a commit of these files. Returns its hash."""
        listing = repr(sorted((name, digest(content)) for name, content in files.items())) + branch
        commit = hashlib.sha1(listing.encode(), usedforsecurity=False).hexdigest()
        self.commits[commit] = dict(files)
        self.references[branch] = commit
        return commit


class Hub(ThreadingHTTPServer):
    """Repositories by id, and faults to inject."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.repositories: dict[str, Repository] = {}
        self.store = Store()
        self.store.hub = self
        self.cut_after: list[int] = []  # bytes after which the next file downloads are interrupted
        self.ranges = True
        self.requests: list[RecordedRequest] = []
        self.connection_checks = 0  # requests of `/robots.txt`, which check whether the Hub is reachable
        self.check_status = 404
        self.resumed = threading.Event()  # unset: downloads pause after their first bytes
        self.resumed.set()
        self.paused = threading.Event()  # set when a download has paused
        self.login_pages: list[str] = []  # content types of the pages that replace the next larger files
        self.redirect = ""  # target for large files instead of the store; "circle": the URL of the request
        self.body_status = 0  # error status of file downloads
        self.metadata: bytes | None = None  # response to every metadata request

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def body_ranges(self, name: str) -> list[str | None]:
        """Return the `range` headers of all downloads of a file."""
        digests = {digest(files[name]) for each in self.repositories.values() for files in each.commits.values()
                   if name in files}  # fmt: skip
        return [
            each.range
            for each in self.requests
            if each.method == "GET" and (each.path.endswith(f"/{name}") or each.path.rpartition("/")[2] in digests)
            if not (each.path.startswith("/") and "/resolve/" in each.path and name.endswith(LARGE))
        ]


class Store(ThreadingHTTPServer):
    """The store of large files, on a separate port."""

    daemon_threads = True
    hub: Hub

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)


class Handler(BaseHTTPRequestHandler):
    """Request handler of both servers."""

    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def _answer(self) -> None:
        server: Any = self.server
        hub: Hub = server if isinstance(server, Hub) else server.hub
        path = unquote(urlsplit(self.path).path)
        if path == "/robots.txt":
            hub.connection_checks += 1
            self._send_error(hub.check_status, "")
            return
        values = (self.headers.get(name) for name in ("range", "authorization", "user-agent"))
        hub.requests.append(RecordedRequest(self.command, path, *values))
        if server is not hub:
            contents = (each for repository in hub.repositories.values() for each in repository.commits.values())
            by_digest = {digest(content): content for files in contents for content in files.values()}
            self._body(hub, by_digest[path.rpartition("/")[2]], {})
        elif match := INFO.fullmatch(path):
            self._information(hub, match[1], match[2])
        elif match := FILE.fullmatch(path):
            self._file(hub, match[1], match[2], match[3])
        else:
            self._send_error(404, "")

    def _information(self, hub: Hub, name: str, revision: str) -> None:
        repository, commit = self._find(hub, name, revision)
        if repository is None or commit is None:
            return
        files = [_list_entry(file, content) | repository.false_listing.get(file, {})
                 for file, content in repository.commits[commit].items()]  # fmt: skip
        values = {"id": name, "sha": commit, "siblings": files, "cardData": repository.card, "tags": ["license:mit"]}
        body = json.dumps(values | {"config": repository.config}).encode() if hub.metadata is None else hub.metadata
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _file(self, hub: Hub, name: str, revision: str, file: str) -> None:
        repository, commit = self._find(hub, name, revision)
        if repository is None or commit is None:
            return
        if repository.gated:
            self._send_error(403 if self.headers.get("authorization") else 401, "GatedRepo")
            return
        if file not in repository.commits[commit]:
            self._send_error(404, "EntryNotFound")
            return
        content = repository.commits[commit][file]
        entry = _list_entry(file, content) | repository.false_listing.get(file, {})
        headers = {"X-Repo-Commit": commit, "ETag": f'"{entry["blobId"]}"'}
        if file.endswith(LARGE):
            headers |= {"X-Linked-ETag": f'"{entry["lfs"]["sha256"]}"', "X-Linked-Size": str(entry["size"])}
            self.send_response(302)
            target = hub.address + self.path if hub.redirect == "circle" else hub.redirect
            target = target or f"http://127.0.0.1:{hub.store.server_port}/{digest(content)}"
            for each in (headers | {"Location": target}).items():
                self.send_header(*each)
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            self._body(hub, content, headers)

    def _body(self, hub: Hub, content: bytes, headers: dict[str, str]) -> None:
        range_header = self.headers.get("range")
        if hub.body_status and self.command == "GET":
            self._send_error(hub.body_status, "")
            return
        if hub.login_pages and self.command == "GET" and len(content) > 100:
            self._send_login_page(hub.login_pages.pop(0))
            return
        start = int(range_header.removeprefix("bytes=").split("-")[0]) if range_header and hub.ranges else 0
        if start and start >= len(content):
            self._send_error(416, "")
            return
        self.send_response(206 if start else 200)
        for each in headers.items():
            self.send_header(*each)
        self.send_header("Content-Length", str(len(content) - start))
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.end_headers()
        if self.command == "HEAD":
            return
        end = start + hub.cut_after.pop(0) if hub.cut_after and not headers else None
        if not hub.resumed.is_set() and not headers:
            self.wfile.write(content[start : start + 7])
            self.wfile.flush()
            hub.paused.set()
            hub.resumed.wait(60)
            start += 7
        self.wfile.write(content[start:end])

    def _send_login_page(self, kind: str) -> None:
        page = b"<html>Log in first</html>"
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def _find(self, hub: Hub, name: str, revision: str) -> tuple[Repository | None, str | None]:
        """Return the repository and the commit, or send an error if one is missing."""
        repository = hub.repositories.get(name)
        if repository is None:
            self._send_error(401, "RepoNotFound")
            return None, None
        if repository.error is not None:
            self._send_error(*repository.error)
            return None, None
        commit = repository.references.get(revision, revision)
        if commit not in repository.commits:
            self._send_error(404, "RevisionNotFound")
            return None, None
        return repository, commit

    def _send_error(self, status: int, code: str) -> None:
        self.send_response(status)
        if code:
            self.send_header("X-Error-Code", code)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


def digest(content: bytes) -> str:
    """SHA-256."""
    return hashlib.sha256(content).hexdigest()


def git_digest(content: bytes) -> str:
    """The hash that git computes for a file."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _list_entry(name: str, content: bytes) -> dict[str, Any]:
    large = {"sha256": digest(content), "size": len(content), "pointerSize": 131} if name.endswith(LARGE) else None
    return {"rfilename": name, "size": len(content), "blobId": git_digest(content), "lfs": large}


@contextmanager
def running_hub() -> Iterator[Hub]:
    """Run a Hub and its store during the block."""
    with Hub() as hub, hub.store:
        threads = [
            threading.Thread(target=each.serve_forever, kwargs={"poll_interval": 0.01}) for each in (hub, hub.store)
        ]
        for thread in threads:
            thread.start()
        try:
            yield hub
        finally:
            hub.resumed.set()
            for each in (hub, hub.store):
                each.shutdown()
            for thread in threads:
                thread.join()


@contextmanager
def local_hub(monkeypatch: pytest.MonkeyPatch, home: Path) -> Iterator[Hub]:
    """Run a Hub that `HF_ENDPOINT` names, with an empty cache and no delay between attempts."""
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HUB_OFFLINE", "HF_TOKEN", "HEADLIGHT_MAX_DOWNLOAD_MB"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(home))
    monkeypatch.setattr(download, "RETRY_DELAY", 0.0)
    with running_hub() as running:
        monkeypatch.setenv("HF_ENDPOINT", running.address)
        yield running


# ---------------------------------------------------------------- valid files for each extension


def safetensors(count: int, name: str = "weight") -> bytes:
    """A file with one tensor of `count` numbers."""
    header = json.dumps({name: {"dtype": "F32", "shape": [count], "data_offsets": [0, 4 * count]}}).encode()
    return struct.pack("<Q", len(header)) + header + bytes(range(4)) * count


def pieces(text: bytes = b"<unk>") -> bytes:
    """The beginning of a SentencePiece model: its first piece."""
    piece = b"\x0a" + bytes([len(text)]) + text + b"\x15\x00\x00\x00\x00"
    return b"\x0a" + bytes([len(piece)]) + piece


def torch_zip() -> bytes:
    """A PyTorch file: an archive with a `data.pkl`. The bytes do not depend on the time."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(zipfile.ZipInfo("archive/data.pkl"), b"\x80\x02}q\x00.")
    return buffer.getvalue()


def marian_files(**others: bytes) -> dict[str, bytes]:
    """The files of an OPUS-MT translator, and some that Headlight ignores. `others`: `a__b` names the file `a.b`."""
    files = {
        "config.json": b'{"model_type": "marian"}',
        "generation_config.json": b"{}",
        "tokenizer_config.json": b"{}",
        "vocab.json": b'{"<unk>": 1}',
        "source.spm": pieces(b"<unk>"),
        "target.spm": pieces(b"<unk2>"),
        "model.safetensors": safetensors(9973),
        "pytorch_model.bin": torch_zip(),
        "README.md": b"---\nlanguage:\n- de\n- en\n---\n# opus\n\nGerman to English.\n",
        "tf_model.h5": b"ignored",
        "modeling_evil.py": b"raise SystemExit",
        "onnx/model.safetensors": safetensors(7),
    }
    return files | {name.replace("__", "."): content for name, content in others.items()}
