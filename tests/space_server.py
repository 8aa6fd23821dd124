"""A local stub of the Hugging Face Hub that accepts Spaces, with the Hub's rules.

It serves the paths that `huggingface_hub` requests: accounts, `repos/create`, `validate-yaml`, `preupload`, `commit`,
the batches of Git LFS, and the content-addressed storage of Xet (https://huggingface.co/docs/xet/api). The rules are
implemented from the Hub's documentation and responses, independently of ours, which tests compare with them.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

import yaml

from tests.hub_server import git_digest

BINARY = (
    "Your push was rejected because it contains binary files. Please use https://huggingface.co/docs/hub/xet to store "
    "binary files. Offending files: - {}"
)
SUBSCRIBE = (
    "Static Spaces are free for everyone, but hosting Gradio and Docker Spaces on free cpu-basic requires a PRO "
    "subscription. Subscribe at https://huggingface.co/pro"
)
ATTRIBUTES = "".join(f"*.{end} filter=lfs diff=lfs merge=lfs -text\n" for end in ("bin", "gz", "safetensors", "zip"))
NEW = {".gitattributes": ATTRIBUTES.encode(), "README.md": b"---\ntitle: New\nsdk: gradio\n---\n"}


@dataclass
class Account:
    """The owner and permissions of a token."""

    name: str
    role: str = "write"
    organisations: tuple[str, ...] = ()
    pays: bool = True


@dataclass
class Space:
    """A repository: small files by their content, large ones by their SHA-256."""

    files: dict[str, bytes | str] = field(default_factory=lambda: dict(NEW))
    commits: list[str] = field(default_factory=lambda: ["0" * 40])
    hardware: str | None = None
    private: bool = False


class RefusedError(Exception):
    """An error response."""

    def __init__(self, status: int, message: str = "", code: str = "", **body: Any) -> None:
        super().__init__(message)
        self.status, self.message, self.code, self.body = status, message, code, body


class SpaceHub(ThreadingHTTPServer):
    """Spaces and accounts. `breaks`: parts of paths; the next requests with them lose the connection."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.accounts: dict[str, Account] = {"hf_ada": Account("ada", organisations=("school",))}
        self.spaces: dict[str, Space] = {}
        self.objects: dict[str, bytes] = {}  # received through Git LFS
        self.shards: list[bytes] = []  # received through Xet
        self.stored = 0  # bytes received
        self.breaks: list[str] = []
        self.statuses: dict[str, int] = {}  # error status by part of a path
        self.requests: list[str] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def holds(self, digest: str) -> bool:
        """Whether a content was received, by its SHA-256: through LFS, or in a shard of Xet."""
        raw = bytes.fromhex(digest)
        swapped_bytes = b"".join(raw[place : place + 8][::-1] for place in range(0, 32, 8))
        return digest in self.objects or any(raw in each or swapped_bytes in each for each in self.shards)

    def content(self, name: str, path: str) -> bytes:
        """A file of a Space; large files must have been uploaded to LFS."""
        file = self.spaces[name].files[path]
        return self.objects[file] if isinstance(file, str) else file


class Handler(BaseHTTPRequestHandler):
    """Handles all requests."""

    server: SpaceHub

    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def do_PUT(self) -> None:
        self._answer()

    def _answer(self) -> None:
        path = unquote(urlsplit(self.path).path)
        body = self._body()
        hub = self.server
        hub.requests.append(f"{self.command} {path}")
        if hub.breaks and hub.breaks[0] in path:
            hub.breaks.pop(0)
            self.close_connection = True
            return
        try:
            for part, status in hub.statuses.items():
                if part in path:
                    raise RefusedError(status)
            for pattern, method in ROUTES.items():
                if match := re.fullmatch(pattern, f"{self.command} {path}"):
                    self._send(200, method(self, body, *match.groups()))
                    return
            raise RefusedError(404)
        except RefusedError as refusal:
            headers = {"X-Error-Code": refusal.code, "X-Error-Message": refusal.message.replace("\n", " ")}
            error_body = {"error": refusal.message} | refusal.body
            self._send(refusal.status, error_body, {name: value for name, value in headers.items() if value})

    def _body(self) -> bytes:
        if self.headers.get("transfer-encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        return b"".join(parts)

    def _send(self, status: int, content_values: Any, headers: dict[str, str] | None = None) -> None:
        content = content_values if isinstance(content_values, bytes) else json.dumps(content_values).encode()
        self.send_response(status)
        for each in (
            {"Content-Type": "application/json", "Content-Length": str(len(content))} | (headers or {})
        ).items():
            self.send_header(*each)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass

    # ------------------------------------------------------------ accounts and repositories

    def _account(self) -> Account:
        token = (self.headers.get("authorization") or "").removeprefix("Bearer ")
        if not token:
            raise RefusedError(401, "Invalid username or password.")
        if token not in self.server.accounts:
            raise RefusedError(401, "Invalid credentials in Authorization header")
        return self.server.accounts[token]

    def _space(self, name: str, *, write: bool = False) -> Space:
        account = self._account()
        if name not in self.server.spaces:
            raise RefusedError(404, "Repository not found", "RepoNotFound")
        if write and (account.role == "read" or not owns(account, name.partition("/")[0])):
            raise RefusedError(403, "Forbidden: you must have write access to this repository")
        return self.server.spaces[name]

    def whoami(self, body: bytes) -> dict[str, Any]:
        account = self._account()
        organisations = [{"name": each} for each in account.organisations]
        token = {"type": "access_token", "accessToken": {"displayName": "laptop", "role": account.role}}
        return {"type": "user", "name": account.name, "orgs": organisations, "auth": token}

    def create(self, body: bytes) -> dict[str, Any]:
        values, account = json.loads(body), self._account()
        assert values["type"] == "space"
        assert values["sdk"] in ("gradio", "static")
        owner = values["organization"] or account.name
        name = f"{owner}/{values['name']}"
        if account.role == "read" or not owns(account, owner):
            raise RefusedError(403, f'You don\'t have the rights to create a space under the namespace "{owner}"')
        if values["sdk"] == "gradio" and not account.pays and values.get("hardware") != "zero-a10g":
            raise RefusedError(402, SUBSCRIBE)
        if name in self.server.spaces:
            raise RefusedError(409, "You already created this space repo", url=f"{self.server.address}/spaces/{name}")
        self.server.spaces[name] = Space(hardware=values.get("hardware"), private=values.get("visibility") == "private")
        return {"url": f"{self.server.address}/spaces/{name}"}

    def information(self, body: bytes, name: str) -> dict[str, Any]:
        space = self._space(name)
        files = [{"rfilename": path} for path in space.files]
        return {"id": name, "sha": space.commits[-1], "siblings": files, "tags": [], "private": space.private}

    # ------------------------------------------------------------ a commit, and what goes before it

    def validate(self, body: bytes) -> dict[str, Any]:
        if wrong := card_errors(json.loads(body)["content"]):
            raise RefusedError(400, errors=[{"message": each} for each in wrong], warnings=[])
        return {"errors": [], "warnings": []}

    def preupload(self, body: bytes, name: str) -> dict[str, Any]:
        space, results = self._space(name, write=True), []
        ends = re.findall(rb"^\*(\.\w+) filter=lfs", self.server.spaces[name].files[".gitattributes"], re.MULTILINE)  # type: ignore[arg-type]
        for each in json.loads(body)["files"]:
            sample, path = base64.b64decode(each["sample"]), each["path"]
            large = is_binary(sample) or each["size"] > 10_000_000 or path.endswith(tuple(end.decode() for end in ends))
            here = space.files.get(path)
            oid = git_digest(here) if isinstance(here, bytes) else here
            results.append(
                {"path": path, "uploadMode": "lfs" if large else "regular", "shouldIgnore": False, "oid": oid}
            )
        return {"files": results}

    def commit(self, body: bytes, name: str) -> dict[str, Any]:
        space = self._space(name, write=True)
        header, *rest = [(each["key"], each["value"]) for each in map(json.loads, body.splitlines())]
        if (parent := header[1].get("parentCommit")) and parent != space.commits[-1]:
            raise RefusedError(412, "A commit has happened since. Please refresh and try again.")
        files = dict(space.files)
        for key, value in rest:
            path = value["path"]
            if key == "deletedFile":
                if files.pop(path, None) is None:
                    raise RefusedError(404, "A file with this name doesn't exist", "EntryNotFound")
            elif key == "lfsFile":
                if not self.server.holds(value["oid"]):
                    raise RefusedError(400, f"The LFS object of {path} is not on the server")
                files[path] = value["oid"]
            else:
                content = base64.b64decode(value["content"])
                if is_binary(content[:8000]) or len(content) > 10_000_000:
                    raise RefusedError(400, BINARY.format(path))
                files[path] = content
        card = files.get("README.md", b"")
        if isinstance(card, bytes) and (wrong := card_errors(card.decode())):
            raise RefusedError(400, f"Invalid metadata in README.md. {' '.join(wrong)}")
        space.files = files
        space.commits.append(hashlib.sha1(body, usedforsecurity=False).hexdigest())
        return {"commitUrl": f"{self.server.address}/spaces/{name}/commit/main", "commitOid": space.commits[-1]}

    # ------------------------------------------------------------ large files, by Git LFS and by Xet

    def batch(self, body: bytes, name: str) -> dict[str, Any]:
        self._space(name, write=True)
        objects = []
        for each in json.loads(body)["objects"]:
            actions = {"actions": {"upload": {"href": f"{self.server.address}/store/{each['oid']}"}}}
            objects.append(each | ({} if self.server.holds(each["oid"]) else actions))
        return {"transfer": "basic", "objects": objects}

    def store(self, body: bytes, digest: str) -> bytes:
        if hashlib.sha256(body).hexdigest() != digest:
            raise RefusedError(400, "The content has another digest")
        self.server.objects[digest] = body
        self.server.stored += len(body)
        return b""

    def xet_token(self, body: bytes, name: str) -> dict[str, Any]:
        self._space(name, write=True)
        return {"casUrl": self.server.address, "accessToken": "xet", "exp": int(time.time()) + 3600}

    def xorb(self, body: bytes) -> dict[str, Any]:
        self.server.stored += len(body)
        return {"was_inserted": True}

    def shard(self, body: bytes) -> dict[str, Any]:
        self.server.shards.append(body)
        return {"result": 1}


ID = r"([^/]+/[^/]+)"
ROUTES = {
    "GET /api/whoami-v2": Handler.whoami,
    "POST /api/repos/create": Handler.create,
    f"GET /api/spaces/{ID}": Handler.information,
    f"GET /api/spaces/{ID}/revision/main": Handler.information,
    "POST /api/validate-yaml": Handler.validate,
    f"POST /api/spaces/{ID}/preupload/main": Handler.preupload,
    f"POST /api/spaces/{ID}/commit/main": Handler.commit,
    rf"POST /spaces/{ID}\.git/info/lfs/objects/batch": Handler.batch,
    "PUT /store/([0-9a-f]{64})": Handler.store,
    f"GET /api/spaces/{ID}/xet-write-token/main": Handler.xet_token,
    "POST /v1/xorbs/default/[0-9a-f]{64}": Handler.xorb,
    "POST /v1/shards": Handler.shard,
}


def owns(account: Account, owner: str) -> bool:
    return owner in (account.name, *account.organisations)


def is_binary(content: bytes) -> bool:
    """Whether git and the Hub treat the content as binary: it has a zero byte, or is not text."""
    try:
        content.decode()
    except UnicodeDecodeError as error:
        return error.end < len(content) - 3
    return b"\0" in content


def card_errors(text: str) -> list[str]:
    """The Hub's validation of a Space's front matter."""
    match = re.match(r"---\n(.*?)\n---", text, re.DOTALL)
    card = yaml.safe_load(match[1]) if match else None
    if not isinstance(card, dict):
        return ['"sdk" is required']
    wrong = (
        [] if card.get("sdk") in ("gradio", "docker", "static") else ['"sdk" must be one of [gradio, docker, static]']
    )
    for key in ("colorFrom", "colorTo"):
        if card.get(key, "red") not in ("red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray"):
            wrong.append(f'"{key}" must be one of [red, yellow, green, blue, indigo, purple, pink, gray]')
    if len(card.get("short_description", "")) > 60:
        wrong.append('"short_description" length must be less than or equal to 60 characters long')
    return wrong


@contextmanager
def running_space_hub() -> Iterator[SpaceHub]:
    """Run a Hub for Spaces during the block."""
    with SpaceHub() as hub:
        thread = threading.Thread(target=hub.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield hub
        finally:
            hub.shutdown()
            thread.join()
