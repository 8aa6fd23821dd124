"""Metrics and logs, without visitors' texts."""

from __future__ import annotations

import ast
import asyncio
import io
import json
import logging
import re
import socket
import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families

from headlight.model.translate.translator import Translator
from headlight.viz.errors import PageError
from headlight.viz.server import metrics, warm_up
from headlight.viz.server.gradio_queue import find_queue, install_queue
from headlight.viz.server.logs import JsonFormatter
from headlight.viz.server.metrics import ServerMonitor, format_prometheus, serve_metrics
from headlight.viz.service.request_queue import Visitor
from headlight.viz.service.service import Service
from headlight.viz.settings import Settings, SettingsError
from tests.waiting import until

TYPED = "Ein Mann liest."
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def watch() -> ServerMonitor:
    service = Service(Settings(model="toy", line=1, concurrency=1))
    page: Any = SimpleNamespace(max_threads=1, is_running=True)

    async def built() -> None:  # the queue makes its locks for the loop that runs
        install_queue(page, service.request_queue)

    asyncio.run(built())
    return ServerMonitor(page, service)


@pytest.fixture
def address(watch: ServerMonitor) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = serve_metrics(watch.page, watch.service, Settings(metrics_port=port))
    assert server is not None
    yield f"http://127.0.0.1:{port}"
    server.shutdown()
    server.server_close()


def read(address: str) -> tuple[int, str]:
    try:
        with urlopen(address) as answer:  # noqa: S310 - ours
            return answer.status, answer.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()


def values(watch: ServerMonitor) -> dict[tuple[str, ...], float]:
    text = format_prometheus(watch).decode()
    assert TYPED not in text
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_answers_are_counted_by_model_outcome_and_stage(watch: ServerMonitor) -> None:
    service = watch.service
    request = service.check({"text": TYPED})
    tokens = len(service.translate(request).source_tokens)
    service.translate(request)
    service.translate_with_source(request, "api")
    (cached,) = service.stream(request, Event())
    assert cached.translation is not None
    steps = service.stream(service.check({"text": TYPED, "beam_size": 2}), Event())
    next(steps)
    steps.close()
    with pytest.raises(PageError):
        service.check({"text": " "})
    counted = values(watch)
    answers = {name[1:]: count for name, count in counted.items() if name[0] == "headlight_answers_total"}
    assert answers == {
        ("toy", "made", "view"): 1,
        ("toy", "cached", "view"): 1,
        ("toy", "cached", "api"): 1,
        ("toy", "cached", "page"): 1,
        ("toy", "stopped", "page"): 1,
    }
    assert counted["headlight_refused_total", "blank_text"] == 1
    assert counted["headlight_tokens_total", "read"] == tokens
    assert counted["headlight_cache_entries", "answers"] == 1
    assert counted["headlight_cache_bytes", "models"] == service.loaded.cache.bytes > 0
    for stage in ("encode", "decode", "capture"):
        counts = [
            count for (name, *labels), count in counted.items() if name.endswith("_bucket") and labels[1:] == [stage]
        ]
        assert counts == sorted(counts)  # each counts those below it, too
        assert counts[-1] == counted["headlight_stage_seconds_count", stage] == 1
        assert counted["headlight_stage_seconds_sum", stage] > 0


def test_failures_and_rejections_are_counted(watch: ServerMonitor, monkeypatch: pytest.MonkeyPatch) -> None:
    service = watch.service
    request = service.check({"text": TYPED})
    monkeypatch.setattr(Translator, "stream", lambda *_: iter([1 / 0 for _ in "1"]))
    monkeypatch.setattr(service, "run_on_translator", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        next(service.stream(request, Event()))
    with pytest.raises(ZeroDivisionError):
        service.translate_with_source(request, "api")
    service.request_queue.close()
    with pytest.raises(PageError):
        service.request_queue.enqueue(Visitor())
    counted = values(watch)
    assert counted["headlight_answers_total", "toy", "failed", "page"] == 1
    assert counted["headlight_answers_total", "toy", "failed", "api"] == 1
    assert counted["headlight_refused_total", "leaving"] == 1


def test_queue_metrics_and_readiness(watch: ServerMonitor, address: str) -> None:
    find_queue(watch.page).last_heartbeat = float("inf")  # whatever the machine does meanwhile, it beats
    until(lambda: read(f"{address}/ready")[0] == 200)
    assert read(f"{address}/ready") == (200, '{"status": "ok"}')
    with urlopen(Request(f"{address}/health", method="HEAD")) as answer:  # noqa: S310 - ours
        assert (answer.status, answer.read()) == (200, b"")
    line = watch.service.request_queue
    with line.enqueue(Visitor("192.0.2.1", "a")), line.enqueue(Visitor("192.0.2.2", "b")):
        counted = values(watch)
        assert [counted["headlight_queue", state] for state in ("running", "waiting", "typing")] == [1, 1, 0]
        assert read(f"{address}/ready") == (503, '{"status": "no", "queue": "full"}')
        assert read(f"{address}/health")[0] == 200
    line.close()
    assert read(f"{address}/ready") == (503, '{"status": "no", "leaving": "shutting down"}')
    assert "headlight_queue" in read(f"{address}/metrics")[1]
    assert read(f"{address}/config")[0] == 404


def test_server_is_ready_once_the_default_model_has_answered(
    watch: ServerMonitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    find_queue(watch.page).last_heartbeat = float("inf")
    monkeypatch.setattr(warm_up, "RETRY_SECONDS", 0.0)
    go, attempts = Event(), []

    def run(*arguments: Any) -> None:
        assert go.wait(60)
        attempts.append(arguments)
        if len(attempts) == 1:
            raise PageError("text", "cluster_gone")
        if len(attempts) == 2:
            raise ZeroDivisionError

    monkeypatch.setattr(watch.service, "run_on_translator", run)
    monitor = replace(watch, warm_up=warm_up.WarmUp(watch.service))
    assert monitor.warm_up is not None
    monitor.warm_up.start()
    assert monitor.readiness_problems() == {"model": "has not answered yet"}
    assert monitor.health_problems() == {}
    go.set()
    until(monitor.warm_up.done.is_set)
    watch.page.is_running = False  # the model may answer before the page's port is open
    assert monitor.readiness_problems() == {"page": "is not served yet"}
    watch.page.is_running = True
    assert monitor.readiness_problems() == {}
    assert len(attempts) == 3
    assert watch.service.usage_metrics.snapshot().answers == {}  # it is no visitor


def test_page_without_a_model_to_wait_for_is_ready(watch: ServerMonitor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch.service, "default", "")
    assert warm_up.WarmUp(watch.service).done.is_set()
    monkeypatch.undo()
    monkeypatch.setattr(type(watch.service.backend), "uses_gradio_queue", True)
    assert warm_up.WarmUp(watch.service).done.is_set()


def test_metrics_are_served_to_this_machine_only(watch: ServerMonitor) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = Settings(host="0.0.0.0", metrics_port=port)  # noqa: S104
    server = serve_metrics(watch.page, watch.service, settings)
    assert server is not None
    assert server.server_address[0] == "127.0.0.1"
    server.shutdown()
    server.server_close()
    with pytest.raises(SettingsError, match="HEADLIGHT_METRICS_HOST"):
        serve_metrics(watch.page, watch.service, replace(settings, metrics_host="no address"))


def test_blocked_event_loop_is_unhealthy(watch: ServerMonitor, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = find_queue(watch.page)
    len(queue)
    monkeypatch.setattr(metrics, "STALLED_AFTER_SECONDS", 600.0)  # a slow machine is not a stuck loop
    assert watch.health_problems() == {}
    queue.last_heartbeat -= metrics.STALLED_AFTER_SECONDS + 7
    assert list(watch.health_problems()) == list(watch.readiness_problems()) == ["loop"]
    assert len(queue) == 0  # Gradio's loop asks
    assert watch.health_problems() == {}


def test_used_port_and_missing_package_are_reported(watch: ServerMonitor, monkeypatch: pytest.MonkeyPatch) -> None:
    assert serve_metrics(watch.page, watch.service, Settings()) is None
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        settings = Settings(metrics_port=taken.getsockname()[1])
        with pytest.raises(SettingsError, match="HEADLIGHT_METRICS_PORT"):
            serve_metrics(watch.page, watch.service, settings)
    if socket.has_ipv6:
        with suppress(OSError), socket.socket(socket.AF_INET6) as free:
            free.bind(("::1", 0))
            place = Settings(metrics_host="[::1]", metrics_port=free.getsockname()[1])
            free.close()
            server = serve_metrics(watch.page, watch.service, place)
            assert server is not None
            assert read(f"http://[::1]:{place.metrics_port}/health")[0] == 200
            server.shutdown()
            server.server_close()
    monkeypatch.setitem(__import__("sys").modules, "prometheus_client", None)
    with pytest.raises(SettingsError, match="headlight-attention\\[metrics\\]"):
        serve_metrics(watch.page, watch.service, settings)


def test_json_logs_contain_answers_without_texts(watch: ServerMonitor) -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    log = logging.getLogger("headlight")
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        watch.service.translate(watch.service.check({"text": TYPED}))
        try:
            raise ValueError(TYPED)
        except ValueError:
            log.exception("A call failed: %s.", TYPED, extra={"values": {"function": "f"}})
    finally:
        log.removeHandler(handler)
        log.setLevel(level)
    assert TYPED not in stream.getvalue()
    records = [json.loads(line) for line in stream.getvalue().splitlines()]
    (answer,) = (line for line in records if line["message"] == "An answer was given.")
    fault = records[-1]
    assert (answer["model"], answer["cached"], answer["beam"]) == ("toy", False, 1)
    assert answer["seconds"] >= 0
    assert answer["written"] > 0
    assert (fault["level"], fault["error"], fault["function"]) == ("error", "ValueError", "f")
    assert "test_json_logs" in fault["at"][-1]


def test_log_messages_are_not_only_placeholders() -> None:
    # Values in messages can contain text of visitors, so JSON logs omit them. The rest must still be understandable.
    for path in [*(ROOT / "model").rglob("*.py"), *(ROOT / "viz").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
                continue
            caller, message = node.func.value, node.args[0]
            if not (
                isinstance(caller, ast.Name) and caller.id in ("LOG", "logger") and isinstance(message, ast.Constant)
            ):
                continue
            text = re.sub(r"%[a-z.0-9]*", "", str(message.value))
            assert len(re.findall(r"[A-Za-z]{2,}", text)) >= 2, f"{path}:{node.lineno}"


@pytest.mark.parametrize("fault", [None, RuntimeError("a fault of ours")])
def test_disconnecting_scraper_logs_nothing(
    watch: ServerMonitor,
    address: str,
    fault: RuntimeError | None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    request_started, left, over, end = Event(), Event(), Event(), metrics._Server.shutdown_request

    def readiness_problems(self: ServerMonitor) -> dict[str, str]:
        request_started.set()
        assert left.wait(60)
        if fault is not None:
            raise fault
        return {}

    def shutdown_request(self: metrics._Server, request: Any) -> None:
        end(self, request)
        over.set()

    monkeypatch.setattr(ServerMonitor, "readiness_problems", readiness_problems)
    monkeypatch.setattr(metrics._Server, "shutdown_request", shutdown_request)
    with socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2]))) as asking:
        asking.sendall(b"GET /ready HTTP/1.0\r\n\r\n")
        asking.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # it closes with a reset
        assert request_started.wait(60)  # the request was read
    left.set()
    assert over.wait(60)
    logged = capsys.readouterr().err
    assert ("a fault of ours" in logged) == ("Traceback" in logged) == (fault is not None)
