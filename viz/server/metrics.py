"""Monitoring endpoints on a separate port: `/metrics` (Prometheus), `/health` and `/ready`.

By default, only this machine reaches the port, which responds even if the page is busy. The metrics contain no text,
address or session of a visitor.
"""

from __future__ import annotations

import json
import socket
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import gradio as gr

from headlight.viz.server.gradio_queue import find_queue
from headlight.viz.server.warm_up import WarmUp
from headlight.viz.service.service import Service
from headlight.viz.service.usage_metrics import BUCKETS
from headlight.viz.settings import Settings, SettingsError

STALLED_AFTER_SECONDS = 10.0  # seconds without a heartbeat of the page's event loop
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True)
class ServerMonitor:
    """Health, readiness and metrics of a page and its service."""

    page: gr.Blocks
    service: Service
    warm_up: WarmUp | None = None  # None: ready without a first answer

    def health_problems(self) -> dict[str, str]:
        """Return the reasons to replace the process; empty if it is healthy."""
        queue = find_queue(self.page)
        silent_seconds = time.monotonic() - queue.last_heartbeat if queue is not None else 0.0
        return {"loop": f"silent for {silent_seconds:.0f} s"} if silent_seconds > STALLED_AFTER_SECONDS else {}

    def readiness_problems(self) -> dict[str, str]:
        """Return the reasons not to route new visitors here; empty if the server is ready."""
        queue = self.service.request_queue
        problems = self.health_problems()
        if queue.closed:
            problems["leaving"] = "shutting down"
        elif queue.is_full:
            problems["queue"] = "full"
        elif self.warm_up is not None and not self.warm_up.done.is_set():
            problems["model"] = "has not answered yet"
        elif self.warm_up is not None and not self.page.is_running:
            problems["page"] = "is not served yet"
        if backend_problems := self.service.backend.health_problems():
            problems |= backend_problems
        return problems

    def metrics(self) -> Iterator[tuple[str, str, str, list[tuple[dict[str, str], float]]]]:
        """Yield the name, type, description and labelled values of every metric except histograms."""
        service, snapshot = self.service, self.service.usage_metrics.snapshot()
        queue_counts = service.request_queue.counts()
        names = ("model", "purpose", "outcome")
        answers = [(dict(zip(names, labels, strict=True)), float(count)) for labels, count in snapshot.answers.items()]
        description = "Answers by model, purpose (page: visitors, api: API clients, view: other views) and outcome."
        yield "headlight_answers", "counter", description, answers
        yield (
            "headlight_refused",
            "counter",
            "Rejected requests, by the key of the error.",
            _with_label("word", snapshot.rejected),
        )
        yield "headlight_tokens", "counter", "Tokens read and written.", _with_label("side", snapshot.tokens)
        yield (
            "headlight_queue",
            "gauge",
            "Requests that run, wait, or wait while their visitor types.",
            _with_label("state", queue_counts),
        )
        sizes = {"answers": service.answer_cache.bytes, "models": service.loaded.cache.bytes}
        yield "headlight_cache_bytes", "gauge", "Bytes in the caches.", _with_label("cache", sizes)
        counts = {"answers": len(service.answer_cache), "models": len(service.loaded.cache.keys())}
        yield "headlight_cache_entries", "gauge", "Answers and models in the caches.", _with_label("cache", counts)


def _with_label(label: str, values: Mapping[str, float]) -> list[tuple[dict[str, str], float]]:
    return [({label: name}, value) for name, value in values.items()]


class _Collector:
    """Exports the metrics to `prometheus_client`, which reads them at scrape time."""

    def __init__(self, monitor: ServerMonitor) -> None:
        self.monitor = monitor

    def collect(self) -> Iterator[Any]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        kinds = {"counter": CounterMetricFamily, "gauge": GaugeMetricFamily}
        for name, kind, description, values in self.monitor.metrics():
            family = kinds[kind](name, description, labels=sorted({label for labels, _ in values for label in labels}))
            for labels, value in values:
                family.add_metric([labels[label] for label in sorted(labels)], value)
            yield family
        stages = HistogramMetricFamily("headlight_stage_seconds", "Seconds of an answer by stage.", labels=["stage"])
        bounds = [*(str(bound) for bound in BUCKETS), "+Inf"]
        for name, stage in self.monitor.service.usage_metrics.snapshot().stages.items():
            stages.add_metric([name], list(zip(bounds, stage.counts, strict=True)), stage.seconds)
        yield stages


def format_prometheus(monitor: ServerMonitor) -> bytes:
    """Return all metrics in Prometheus' text format."""
    from prometheus_client import CollectorRegistry, generate_latest

    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(monitor))
    result: bytes = generate_latest(registry)
    return result


class _MetricsHandler(BaseHTTPRequestHandler):
    timeout = 10  # seconds until an idle connection is closed, which frees its thread

    def __init__(self, monitor: ServerMonitor, *arguments: Any) -> None:
        self.monitor = monitor
        super().__init__(*arguments)

    def do_HEAD(self) -> None:  # used by some load balancers
        self.do_GET()

    def do_GET(self) -> None:
        if self.path == "/metrics":
            self._respond(200, METRICS_TYPE, format_prometheus(self.monitor))
        elif self.path in ("/health", "/ready"):
            problems = self.monitor.health_problems() if self.path == "/health" else self.monitor.readiness_problems()
            body = json.dumps({"status": "no" if problems else "ok", **problems}).encode()
            self._respond(503 if problems else 200, "application/json", body)
        else:
            self._respond(404, "text/plain", b"/metrics, /health and /ready are here.\n")

    def log_message(self, format: str, *values: Any) -> None:  # noqa: A002 - name in the base class
        """Log nothing, because monitoring polls every few seconds."""

    def _respond(self, status: int, media_type: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", media_type)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


class _Server(ThreadingHTTPServer):
    """A threaded server on an IPv4 or IPv6 address."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], *arguments: Any) -> None:
        if ":" in address[0]:
            self.address_family = socket.AF_INET6
        super().__init__(address, *arguments)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log an error, unless a monitoring client has disconnected."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def serve_metrics(page: gr.Blocks, service: Service, settings: Settings) -> ThreadingHTTPServer | None:
    """Serve the endpoints on the configured port. Returns `None` if it is unset. Raises `SettingsError` on failure."""
    if settings.metrics_port is None:
        return None
    try:
        import prometheus_client  # noqa: F401 - checked at startup, not at the first request
    except ImportError as error:
        raise SettingsError(
            "HEADLIGHT_METRICS_PORT is set, but prometheus-client is not installed. "
            "Run `pip install 'headlight-attention[metrics]'`, or unset it."
        ) from error
    host = settings.metrics_host.strip("[]")
    warm_up = WarmUp(service)
    monitor = ServerMonitor(page, service, warm_up)
    try:
        server = _Server((host, settings.metrics_port), partial(_MetricsHandler, monitor))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not an address"
        raise SettingsError(
            f"The metrics cannot be served at {host[:80]!r}, port {settings.metrics_port}: {reason}. "
            "Change or unset HEADLIGHT_METRICS_HOST or HEADLIGHT_METRICS_PORT."
        ) from error
    warm_up.start()
    Thread(target=server.serve_forever, name="metrics", daemon=True).start()
    return server
