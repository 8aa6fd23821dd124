"""A Ray Serve application that runs models for page processes.

Start it with `serve run headlight.viz.backends.replica:application` or `headlight serve`. Each replica is a process
with one core by default, and caches the most recently used models. Requests are routed to a replica that has loaded
their model. Replicas are added while requests wait.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any
from urllib.parse import unquote

from ray import serve
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from headlight.viz.backends.remote_calls import (
    HEARTBEAT,
    INTERNAL_ERROR,
    RemoteCall,
    decode_call,
    encode_frame,
    run_call,
)
from headlight.viz.errors import PageError
from headlight.viz.service.catalogue import Catalogue
from headlight.viz.service.loaded_models import LoadedModels
from headlight.viz.service.memory import freeze_heap, limit_arenas
from headlight.viz.service.record_codec import DecodeError
from headlight.viz.settings import read_settings

MAX_MODELS = 3  # maximum number of models in a replica's memory
MAX_ONGOING_REQUESTS = 2  # concurrent requests per replica: one computes while another waits for memory
MAX_QUEUED_REQUESTS = 64  # maximum number of waiting requests; more are rejected
HEARTBEAT_SECONDS = 1.0  # seconds between two heartbeats

LOG = logging.getLogger(__name__)


class Replica:
    """A replica, which loads models of the catalogue and runs calls."""

    def __init__(self) -> None:
        limit_arenas()
        self.loaded = LoadedModels(Catalogue(read_settings()), 0)
        self.threads = ThreadPoolExecutor(MAX_ONGOING_REQUESTS + 1, thread_name_prefix="answers")
        freeze_heap()

    @serve.multiplexed(max_num_models_per_replica=MAX_MODELS)  # type: ignore[untyped-decorator]
    async def model(self, model_id: str) -> Any:
        """Return the loaded model of a call, downloaded from the Hub if necessary."""
        return await asyncio.get_running_loop().run_in_executor(self.threads, self._load, model_id)

    def _load(self, model_id: str) -> Any:
        kind, revision, name = unquote(model_id).split(":", 2)
        catalogue = self.loaded.catalogue
        card = catalogue.card(name, kind)
        if not card.downloaded:
            card = catalogue.fetch(name)
        if card.revision != revision:  # the answers would be cached under the wrong revision
            LOG.warning("%s has the revision %s here, but %s was requested.", name, card.revision, revision)
            raise PageError("model", "model_cannot_load", {"given": name})
        return self.loaded.load(card)

    async def __call__(self, request: Request) -> Response:
        """Respond to a call with its frames."""
        try:
            call = decode_call(await request.body())
        except DecodeError:
            return JSONResponse({"error": "The body is not a call of a page."}, status_code=400)
        return StreamingResponse(self.stream_frames(call), media_type="application/octet-stream")

    async def stream_frames(self, call: RemoteCall) -> AsyncIterator[bytes]:
        """Stream frames from a worker thread, with heartbeats. A disconnect cancels the work within one step."""
        loop, cancelled = asyncio.get_running_loop(), Event()
        queue: asyncio.Queue[bytes | None] = asyncio.Queue()

        def load() -> Any:
            return asyncio.run_coroutine_threadsafe(self.model(call.model_id), loop).result()

        def compute() -> None:
            try:
                for frame in run_call(call, load, cancelled.is_set):
                    loop.call_soon_threadsafe(queue.put_nowait, frame)
            except BaseException:
                LOG.exception("A call failed.")
                loop.call_soon_threadsafe(queue.put_nowait, encode_frame(INTERNAL_ERROR))
                raise
            finally:
                loop.call_soon_threadsafe(queue.put_nowait, None)

        computation = loop.run_in_executor(self.threads, compute)
        try:
            while True:
                try:
                    output = await asyncio.wait_for(queue.get(), HEARTBEAT_SECONDS)
                except TimeoutError:
                    output = encode_frame(HEARTBEAT)
                if output is None:
                    break
                yield output
            await computation
        finally:
            cancelled.set()


deployment: Any = serve.deployment(
    name="answers",
    max_ongoing_requests=MAX_ONGOING_REQUESTS,
    max_queued_requests=MAX_QUEUED_REQUESTS,
    autoscaling_config={"min_replicas": 1, "max_replicas": 4, "target_ongoing_requests": 1.5},
    ray_actor_options={"num_cpus": 1},
    graceful_shutdown_timeout_s=120,  # let long requests finish
    health_check_period_s=5,
    health_check_timeout_s=30,
)(Replica)
application = deployment.bind()
