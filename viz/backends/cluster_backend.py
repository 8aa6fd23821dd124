"""Cluster backend: Ray Serve replicas compute, and this process loads no weights.

It calls a Ray Serve application (`replica.py`) over HTTP, so Ray need not be installed here. If a machine is lost, its
request is retried once, without repeating progress. After a failure to connect, requests are rejected for
`BACK_OFF_SECONDS`, so that they do not block the queue.
"""

from __future__ import annotations

import http.client
import logging
import select
import time
from collections.abc import Generator, Mapping
from contextlib import ExitStack, closing
from threading import Event
from typing import Any
from urllib.parse import urlsplit

from headlight.model.records import Progress, TranslationRequest
from headlight.model.translate.model_info import ModelInfo
from headlight.viz.backends.remote_calls import (
    ANSWER,
    ERROR,
    HEARTBEAT,
    INTERNAL_ERROR,
    PROGRESS,
    STREAM,
    RemoteCall,
    decode_progress,
    encode_call,
    read_frame,
)
from headlight.viz.backends.remote_functions import function_name
from headlight.viz.errors import PageError
from headlight.viz.service.backend import RemoteFunction, last_progress
from headlight.viz.service.loaded_models import LoadedModels
from headlight.viz.service.model_cards import ModelCard
from headlight.viz.service.record_codec import decode

CONNECT_TIMEOUT_SECONDS = 5.0  # seconds until an address is considered dead
QUEUE_TIMEOUT_SECONDS = 120.0  # seconds that a request may wait in the cluster's queue, or for its model
HEARTBEAT_TIMEOUT_SECONDS = (
    20.0  # seconds without a heartbeat until a machine is considered lost; replicas send one per second
)
POLL_SECONDS = 0.1  # seconds between two checks for cancellation while a request waits
RETRY_DELAY_SECONDS = 0.5  # seconds before a retry, so that the cluster notices the loss first
BACK_OFF_SECONDS = 1.0  # seconds for which requests are rejected if the cluster is unreachable
MODEL_ID_HEADER = "serve_multiplexed_model_id"  # read by Ray Serve

LOG = logging.getLogger(__name__)


class ConnectionLostError(Exception):
    """The replica or the connection to it is lost."""


class UnreachableError(ConnectionLostError):
    """No replica is reachable, so the request was never started."""


class ClusterBackend:
    """A Ray Serve application at an address. Thread-safe."""

    uses_gradio_queue = False

    def __init__(self, address: str, models: LoadedModels) -> None:
        self.address, self.models = address, models
        self._url = urlsplit(address)
        self._back_off_until = 0.0

    def run(self, card: ModelCard, work: RemoteFunction, *arguments: Any) -> Any:
        """Run on a replica with this model."""
        with closing(
            self._progress_frames(RemoteCall.for_model(card, function_name(work), arguments), Event())
        ) as frames:
            for letter, payload in frames:
                if letter == ANSWER:
                    return decode(payload)
        raise AssertionError("no answer and no error")

    def stream(self, card: ModelCard, request: TranslationRequest, stop: Event) -> Generator[Progress]:
        """Yield progress. Closing the iterator or setting `stop` closes the connection, which cancels the work."""
        last_step = 0
        with closing(self._progress_frames(RemoteCall.for_model(card, STREAM, (request,)), stop)) as frames:
            for letter, payload in frames:
                if letter == ANSWER:
                    yield last_progress(decode(payload))
                elif (progress := decode_progress(payload)).step > last_step:  # a retry repeats the steps
                    last_step = progress.step
                    yield progress

    def model_info(self, card: ModelCard) -> ModelInfo:
        """Read the model information from the local folder."""
        return self.models.model_info(card)

    def health_problems(self) -> Mapping[str, str]:
        """Return the problems of the cluster's proxy and applications."""
        try:
            with closing(self._connection(1.0)) as connection:
                connection.request("GET", "/-/routes")
                with closing(connection.getresponse()) as response:
                    body = response.read().strip()
        except (OSError, http.client.HTTPException):
            return {"cluster": "does not answer"}
        return {} if response.status == 200 and body not in (b"", b"{}") else {"cluster": "has no application"}

    # ------------------------------------------------------------ one call, with one retry if its machine is lost

    def _progress_frames(self, call: RemoteCall, stop: Event) -> Generator[tuple[bytes, bytes]]:
        """Yield progress frames, then the answer's frame. Ends early once `stop` is set."""
        if time.monotonic() < self._back_off_until:
            raise PageError("text", "cluster_gone")
        try:
            yield from self._frames(call, stop)
            return
        except UnreachableError:
            pass  # the application may still be starting
        except ConnectionLostError as error:
            LOG.warning("A machine was lost (%s); its request is sent again.", error)
        stop.wait(RETRY_DELAY_SECONDS)
        try:
            yield from self._frames(call, stop)
        except UnreachableError as error:
            self._back_off_until = time.monotonic() + BACK_OFF_SECONDS
            LOG.warning("The cluster at %s cannot be reached (%s).", self._url.netloc, error)
            raise PageError("text", "cluster_gone") from error
        except ConnectionLostError as error:
            raise PageError("text", "cluster_lost") from error

    def _frames(self, call: RemoteCall, stop: Event) -> Generator[tuple[bytes, bytes]]:
        with ExitStack() as stack:
            connection = stack.enter_context(closing(self._connection(CONNECT_TIMEOUT_SECONDS)))
            try:
                connection.connect()
            except OSError as error:
                raise UnreachableError(type(error).__name__) from error
            try:
                response = self._open_response(connection, call, stop)
                if response is None:
                    return
                stack.enter_context(closing(response))  # the response may own the socket
                if response.status == 503:
                    raise PageError("text", "cluster_busy")
                if response.status == 404:  # the proxy runs without an application
                    raise UnreachableError("no application")
                if response.status != 200:
                    raise ConnectionLostError(f"status {response.status}")
                while not stop.is_set():
                    frame = read_frame(response.read)
                    if frame is None:
                        raise ConnectionLostError("the answer is incomplete")
                    letter, payload = frame
                    if letter == ERROR:
                        raise PageError(*decode(payload))
                    if letter == INTERNAL_ERROR:
                        raise RuntimeError("The remote machine reports an internal error; its log has the details.")
                    if letter in (PROGRESS, ANSWER):
                        yield letter, payload
                    if letter == ANSWER:
                        return
                    assert letter in (PROGRESS, HEARTBEAT)  # noqa: S101 - exhaustive
            except (OSError, EOFError, http.client.HTTPException) as error:
                raise ConnectionLostError(type(error).__name__) from error

    def _open_response(
        self, connection: http.client.HTTPConnection, call: RemoteCall, stop: Event
    ) -> http.client.HTTPResponse | None:
        """Send the request and wait for the response headers. Returns None once `stop` is set."""
        connection.request("POST", "/", encode_call(call), {MODEL_ID_HEADER: call.model_id})
        sock, deadline = connection.sock, time.monotonic() + QUEUE_TIMEOUT_SECONDS
        while not select.select([sock], [], [], POLL_SECONDS)[0]:
            if stop.is_set():
                return None
            if time.monotonic() > deadline:
                raise PageError("text", "cluster_busy")
        sock.settimeout(QUEUE_TIMEOUT_SECONDS)
        response = connection.getresponse()
        sock.settimeout(HEARTBEAT_TIMEOUT_SECONDS)
        return response

    def _connection(self, seconds: float) -> http.client.HTTPConnection:
        connection_class = http.client.HTTPSConnection if self._url.scheme == "https" else http.client.HTTPConnection
        return connection_class(self._url.hostname or "", self._url.port, timeout=seconds)
