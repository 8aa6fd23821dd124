"""A small Hub on this machine: it speaks the paths of the real one, breaks off when told to, and remembers requests.

Large files are answered, as by the real one, with the address of a store on another host.
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


class Asked(NamedTuple):
    """One request."""

    method: str
    path: str
    range: str | None
    token: str | None
    agent: str | None


@dataclass
class Repository:
    """What the Hub holds under one id: files by commit, and where branches stand."""

    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    references: dict[str, str] = field(default_factory=dict)
    refusal: tuple[int, str] | None = None  # status and X-Error-Code of whatever is asked
    gated: bool = False  # it may be listed, but no file of it may be read
    stated: dict[str, dict[str, Any]] = field(default_factory=dict)  # what the list says otherwise than is true
    card: dict[str, Any] = field(default_factory=lambda: {"license": "cc-by-4.0"})
    config: dict[str, Any] | None = None  # what the Hub read in config.json

    def push(self, files: Mapping[str, bytes], branch: str = "main") -> str:
        """A new commit of these files; gives its hash."""
        said = repr(sorted((name, digest(content)) for name, content in files.items())) + branch
        commit = hashlib.sha1(said.encode(), usedforsecurity=False).hexdigest()
        self.commits[commit] = dict(files)
        self.references[branch] = commit
        return commit


class Hub(ThreadingHTTPServer):
    """Repositories by id. `cuts`: after how many bytes of a file's body the next answers of the store break off."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.repositories: dict[str, Repository] = {}
        self.store = Store()
        self.store.hub = self
        self.cuts: list[int] = []
        self.ranges = True
        self.asked: list[Asked] = []
        self.looks = 0  # requests that name no model, and ask whether anybody is here
        self.look_status = 404
        self.going = threading.Event()  # unset: bodies come to a halt after their first bytes
        self.going.set()
        self.halted = threading.Event()
        self.portals: list[str] = []  # of the next answers with a larger file: a page of this type stands instead
        self.away = ""  # where large files are said to be, in place of the store; "circle": where one has been already
        self.body_status = 0  # with which the contents of files are refused
        self.said: bytes | None = None  # what is told of any model

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def bodies(self, name: str) -> list[str | None]:
        """What parts of a file's content were asked for."""
        wanted = {digest(files[name]) for each in self.repositories.values() for files in each.commits.values()
                  if name in files}  # fmt: skip
        return [
            each.range
            for each in self.asked
            if each.method == "GET" and (each.path.endswith(f"/{name}") or each.path.rpartition("/")[2] in wanted)
            if not (each.path.startswith("/") and "/resolve/" in each.path and name.endswith(LARGE))
        ]


class Store(ThreadingHTTPServer):
    """Where large contents lie, on a host of its own."""

    daemon_threads = True
    hub: Hub

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)


class Handler(BaseHTTPRequestHandler):
    """Both servers."""

    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def _answer(self) -> None:
        server: Any = self.server
        hub: Hub = server if isinstance(server, Hub) else server.hub
        path = unquote(urlsplit(self.path).path)
        if path == "/robots.txt":
            hub.looks += 1
            self._refuse(hub.look_status, "")
            return
        told = (self.headers.get(name) for name in ("range", "authorization", "user-agent"))
        hub.asked.append(Asked(self.command, path, *told))
        if server is not hub:
            contents = (each for repository in hub.repositories.values() for each in repository.commits.values())
            found = {digest(content): content for files in contents for content in files.values()}
            self._body(hub, found[path.rpartition("/")[2]], {})
        elif match := INFO.fullmatch(path):
            self._information(hub, match[1], match[2])
        elif match := FILE.fullmatch(path):
            self._file(hub, match[1], match[2], match[3])
        else:
            self._refuse(404, "")

    def _information(self, hub: Hub, name: str, revision: str) -> None:
        repository, commit = self._find(hub, name, revision)
        if repository is None or commit is None:
            return
        files = [_listed(file, content) | repository.stated.get(file, {})
                 for file, content in repository.commits[commit].items()]  # fmt: skip
        said = {"id": name, "sha": commit, "siblings": files, "cardData": repository.card, "tags": ["license:mit"]}
        body = json.dumps(said | {"config": repository.config}).encode() if hub.said is None else hub.said
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
            self._refuse(403 if self.headers.get("authorization") else 401, "GatedRepo")
            return
        if file not in repository.commits[commit]:
            self._refuse(404, "EntryNotFound")
            return
        content = repository.commits[commit][file]
        stated = _listed(file, content) | repository.stated.get(file, {})
        headers = {"X-Repo-Commit": commit, "ETag": f'"{stated["blobId"]}"'}
        if file.endswith(LARGE):
            headers |= {"X-Linked-ETag": f'"{stated["lfs"]["sha256"]}"', "X-Linked-Size": str(stated["size"])}
            self.send_response(302)
            away = hub.address + self.path if hub.away == "circle" else hub.away
            away = away or f"http://127.0.0.1:{hub.store.server_port}/{digest(content)}"
            for each in (headers | {"Location": away}).items():
                self.send_header(*each)
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            self._body(hub, content, headers)

    def _body(self, hub: Hub, content: bytes, headers: dict[str, str]) -> None:
        wanted = self.headers.get("range")
        if hub.body_status and self.command == "GET":
            self._refuse(hub.body_status, "")
            return
        if hub.portals and self.command == "GET" and len(content) > 100:
            self._portal(hub.portals.pop(0))
            return
        start = int(wanted.removeprefix("bytes=").split("-")[0]) if wanted and hub.ranges else 0
        if start and start >= len(content):
            self._refuse(416, "")
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
        end = start + hub.cuts.pop(0) if hub.cuts and not headers else None
        if not hub.going.is_set() and not headers:
            self.wfile.write(content[start : start + 7])
            self.wfile.flush()
            hub.halted.set()
            hub.going.wait(60)
            start += 7
        self.wfile.write(content[start:end])

    def _portal(self, kind: str) -> None:
        page = b"<html>Log in first</html>"
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def _find(self, hub: Hub, name: str, revision: str) -> tuple[Repository | None, str | None]:
        """The repository and the commit; where one is missing, that is answered."""
        repository = hub.repositories.get(name)
        if repository is None:
            self._refuse(401, "RepoNotFound")
            return None, None
        if repository.refusal is not None:
            self._refuse(*repository.refusal)
            return None, None
        commit = repository.references.get(revision, revision)
        if commit not in repository.commits:
            self._refuse(404, "RevisionNotFound")
            return None, None
        return repository, commit

    def _refuse(self, status: int, code: str) -> None:
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
    """The name that git gives to a content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _listed(name: str, content: bytes) -> dict[str, Any]:
    large = {"sha256": digest(content), "size": len(content), "pointerSize": 131} if name.endswith(LARGE) else None
    return {"rfilename": name, "size": len(content), "blobId": git_digest(content), "lfs": large}


@contextmanager
def running_hub() -> Iterator[Hub]:
    """A Hub and its store, until the end of the block."""
    with Hub() as hub, hub.store:
        threads = [
            threading.Thread(target=each.serve_forever, kwargs={"poll_interval": 0.01}) for each in (hub, hub.store)
        ]
        for thread in threads:
            thread.start()
        try:
            yield hub
        finally:
            hub.going.set()
            for each in (hub, hub.store):
                each.shutdown()
            for thread in threads:
                thread.join()


@contextmanager
def hub_of_our_own(monkeypatch: pytest.MonkeyPatch, home: Path) -> Iterator[Hub]:
    """A Hub that the environment names, with an empty cache and no wait between two attempts."""
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HUB_OFFLINE", "HF_TOKEN", "HEADLIGHT_MAX_DOWNLOAD_MB"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(home))
    monkeypatch.setattr(download, "RETRY_DELAY", 0.0)
    with running_hub() as running:
        monkeypatch.setenv("HF_ENDPOINT", running.address)
        yield running


# ---------------------------------------------------------------- files in the forms that their names promise


def safetensors(count: int, name: str = "weight") -> bytes:
    """A file with one tensor of so many numbers."""
    header = json.dumps({name: {"dtype": "F32", "shape": [count], "data_offsets": [0, 4 * count]}}).encode()
    return struct.pack("<Q", len(header)) + header + bytes(range(4)) * count


def pieces(text: bytes = b"<unk>") -> bytes:
    """The beginning of a SentencePiece model: its first piece."""
    piece = b"\x0a" + bytes([len(text)]) + text + b"\x15\x00\x00\x00\x00"
    return b"\x0a" + bytes([len(piece)]) + piece


def torch_zip() -> bytes:
    """What PyTorch's files are: an archive with a `data.pkl`; the same bytes at every call, whatever the time."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(zipfile.ZipInfo("archive/data.pkl"), b"\x80\x02}q\x00.")
    return buffer.getvalue()


def marian_files(**others: bytes) -> dict[str, bytes]:
    """The names that a translator of the OPUS-MT family has, and some that nobody here reads; `a__b`: `a.b`."""
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
        "tf_model.h5": b"nobody reads this",
        "modeling_evil.py": b"raise SystemExit",
        "onnx/model.safetensors": safetensors(7),
    }
    return files | {name.replace("__", "."): content for name, content in others.items()}
