"""A replica of known speed for `scale.py`. It sleeps instead of computing, so one machine can run dozens."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.requests import Request
from starlette.responses import Response


class SleepingReplica:
    """A replica that returns the same frame for every call, after a delay in seconds."""

    def __init__(self, seconds: float, frame: bytes) -> None:
        self.seconds, self.frame = seconds, frame

    async def __call__(self, request: Request) -> Response:
        """Return the frame after the delay."""
        await request.body()
        await asyncio.sleep(self.seconds)
        return Response(self.frame, media_type="application/octet-stream")


def make_application(replicas: int, seconds: float, frame: bytes) -> Any:
    """Return a Ray Serve application of sleeping replicas, each of which handles one call at a time."""
    from ray import serve

    deployment: Any = serve.deployment(
        name="answers",
        num_replicas=replicas,
        max_ongoing_requests=1,
        max_queued_requests=1000,
        ray_actor_options={"num_cpus": 0.01},
        health_check_period_s=30,
        health_check_timeout_s=60,
    )(SleepingReplica)
    return deployment.bind(seconds, frame)
