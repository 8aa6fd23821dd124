"""A remote machine for tests: the functions of a replica behind a plain web server in this process."""

from __future__ import annotations

import select
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Semaphore, Thread
from typing import Any

from headlight.viz.backends.remote_calls import decode_call, run_call
from headlight.viz.service.catalogue import Catalogue
from headlight.viz.service.loaded_models import LoadedModels
from headlight.viz.settings import Settings


class Machine:
    """Its behaviour, which tests control."""

    def __init__(self) -> None:
        catalogue = Catalogue(Settings())
        self.models = LoadedModels(catalogue, 1_000_000_000)
        self.address = ""
        self.calls: list[str] = []
        self.dies_after: list[int] = []  # of the next calls: how many frames they get before the machine is lost
        self.busy = False
        self.gate: Semaphore | None = None  # each frame needs a permit
        self.sent: list[bytes] = []  # the letters of all frames
        self.noticed = Event()  # that a caller has left
        self.status, self.routes = 200, b'{"/": "answers"}'

    def answer(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        call = decode_call(body)
        self.calls.append(call.function)
        card = self.models.catalogue.card(call.name, call.kind)

        def gone() -> bool:
            readable = bool(select.select([handler.connection], [], [], 0)[0])
            if readable:
                self.noticed.set()
            return readable

        most = self.dies_after.pop(0) if self.dies_after else None
        with self.models.use(card) as model:
            for place, each in enumerate(run_call(call, lambda: model, gone)):
                if place == most:
                    handler.wfile.write(each[:5])  # in the middle of a frame
                    return
                if self.gate is not None:
                    assert self.gate.acquire(timeout=60)
                self.sent.append(each[:1])
                handler.wfile.write(each)


class _Handler(BaseHTTPRequestHandler):
    def __init__(self, machine: Machine, *arguments: Any) -> None:
        self.machine = machine
        super().__init__(*arguments)

    def do_GET(self) -> None:
        self.send_response(self.machine.status)
        self.end_headers()
        self.wfile.write(self.machine.routes)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.send_response(503 if self.machine.busy else self.machine.status)
        self.end_headers()
        if self.machine.busy or self.machine.status != 200:
            return
        try:
            self.machine.answer(self, body)
        except (BrokenPipeError, ConnectionResetError):
            self.machine.noticed.set()

    def log_message(self, *arguments: Any) -> None:
        """Nothing."""


@contextmanager
def served(port: int = 0) -> Iterator[Machine]:
    """A machine that answers at its address until the end of the block; at a free port, or at this one."""
    machine = Machine()
    with ThreadingHTTPServer(("127.0.0.1", port), partial(_Handler, machine)) as server:
        machine.address = f"http://127.0.0.1:{server.server_address[1]}"
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield machine
        finally:
            server.shutdown()
            thread.join()
