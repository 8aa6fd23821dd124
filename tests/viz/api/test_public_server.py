"""The page as a public server, tested with real requests, also hostile ones."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from threading import Event, Lock
from typing import Any

import httpx
import pytest

from headlight.model.translate.translator import Translator
from headlight.viz.api import middleware, streams
from headlight.viz.browser_files.static_files import FOLDER
from headlight.viz.server import gradio_queue, job_results
from headlight.viz.service.backend import LocalBackend
from headlight.viz.settings import Settings
from headlight.viz.tabs.translate import TranslateWidget
from tests.viz.api.site import CLOSED, JSON, Site, opened
from tests.viz.serving import GRADIO_WARNS, assert_clean
from tests.waiting import until

pytestmark = [pytest.mark.filterwarnings(f"ignore:{message}") for message in GRADIO_WARNS]
ROOT = Path(__file__).resolve().parents[3]
SETTINGS = Settings(model="toy", concurrency=2, line=8, max_answer_mb=1, cache_mb=0)
CROWD, OTHER = "203.0.113.5", "198.51.100.7"
BEER = "ich mochte ein bier"


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """Serve a page that also accepts requests through Gradio's queue, as on ZeroGPU."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LocalBackend, "uses_gradio_queue", True)
        with opened(SETTINGS) as running:
            yield running


# ---------------------------------------------------------------- addresses


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/gradio_api/upload"),
        ("GET", "/gradio_api/upload_progress?upload_id=a"),
        ("GET", "/gradio_api/file=/etc/passwd"),
        ("HEAD", "/gradio_api/file=README.md"),
        ("GET", "/gradio_api/file/README.md"),
        ("GET", "/gradio_api/proxy=https://example.org/"),
        ("GET", "/gradio_api/stream/s/1/1/playlist.m3u8"),
        ("POST", "/gradio_api/stream/e"),
        ("GET", "/gradio_api/deep_link"),
        ("POST", "/gradio_api/vibe-edit"),
        ("GET", "/gradio_api/vibe-code/"),
        ("POST", "/gradio_api/vibe-starter-queries"),
        ("POST", "/gradio_api/process_recording"),
        ("GET", "/gradio_api/custom_component/1/client/component/index.js"),
        ("GET", "/gradio_api/runs"),
        ("POST", "/gradio_api/run-history/connect"),
        ("GET", "/gradio_api/run-history/records"),
        ("GET", "/monitoring"),
        ("GET", "/monitoring/anything"),
        ("GET", "/gradio_api/queue/status"),
        ("GET", "/pwa_icon/99999"),
        ("GET", "/docs"),
        ("GET", "/openapi.json"),
        ("POST", "/login"),
        ("PUT", "/"),
        ("GET", "/elsewhere"),
        ("GET", "/x/gradio_api/info"),
        ("GET", "/static/%1f"),
    ],
)
def test_unneeded_gradio_routes_are_removed(site: Site, method: str, path: str) -> None:
    reply = site.http.request(method, path, files={"files": b"x"} if "upload" in path and method == "POST" else None)
    assert reply.status_code == 404
    assert_clean(reply.text)


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/config",
        "/theme.css",
        "/favicon.ico",
        "/manifest.json",
        "/robots.txt",
        "/gradio_api/info",
        "/gradio_api/startup-events",
        "/gradio_api/openapi.json",
        "/static/img/logo_nosize.svg",
    ],
)
def test_needed_routes_exist(site: Site, path: str) -> None:
    assert site.http.get(path).status_code == 200


def test_all_files_named_by_the_page_exist(site: Site) -> None:
    text = site.http.get("/").text
    named = set(re.findall(r'(?:src|href)="\.?(/[^"]+)"', text))
    named |= {f"/{each}" for each in re.findall(r'href="(gradio_api/headlight/[^"]+)"', text)}  # our icon and manifest
    assert len(named) > 2
    assert {path: site.http.get(path).status_code for path in named} == dict.fromkeys(named, 200)


def test_api_page_reports_no_tools_and_no_statistics(site: Site) -> None:
    schema, summary = site.http.get("/gradio_api/mcp/schema"), site.http.get("/monitoring/summary")
    assert 300 <= schema.status_code < 400  # neither an error, which browsers log, nor a list of tools
    assert (summary.status_code, summary.json()) == (200, {"functions": {}})


@pytest.mark.parametrize("content_type", ["text/plain", "text/plain; application/json", "multipart/form-data", ""])
@pytest.mark.parametrize(
    "path", ["call/model_cards", "call/find_change", "stream/stream_messages", "stream/fetch_model"]
)
def test_cross_site_calls_are_rejected(site: Site, path: str, content_type: str) -> None:
    """Browsers preflight cross-site JSON, but send these content types without a preflight."""
    headers = {"origin": "https://elsewhere.example", "content-type": content_type}
    reply = site.http.post(f"/{FOLDER}/{path}", content=b'{"session": "s", "values": {}}', headers=headers)
    assert (reply.status_code, reply.json()["word"]) == (422, "wrong_field")
    assert reply.json()["values"] == {"name": "content-type"}


@pytest.mark.parametrize("path", ["/", "/config", "/elsewhere", "/gradio_api/mcp/schema", "/assets/none.js"])
def test_every_response_has_security_headers(site: Site, path: str) -> None:
    headers = site.http.get(path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
    assert policy.pop("frame-ancestors") == "'self' https://huggingface.co"
    assert policy["default-src"] == "'self'"
    assert policy["object-src"] == "'none'"
    assert (policy["base-uri"], policy["form-action"]) == ("'none'", "'self'")  # `default-src` does not apply to them
    assert "unsafe" not in policy["script-src"]
    assert not re.search(r"https?:|\*|//", " ".join(policy.values()))  # no outside host


def test_policy_lists_the_hash_of_each_inline_script_of_the_page(site: Site) -> None:
    reply = site.http.get("/")
    scripts = re.findall(r"<script>(.*?)</script>|<script data-[a-z-]+>(.*?)</script>", reply.text, re.DOTALL)
    digests = {hashlib.sha256((one or other).encode()).digest() for one, other in scripts}
    hashes = {f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests}
    (policy,) = (part for part in reply.headers["content-security-policy"].split("; ") if part.startswith("script-src"))
    assert hashes
    assert set(policy.split()) == {"script-src", "'self'"} | hashes
    assert "<base" not in reply.text
    assert not re.search(r"<[^>]*\son\w+=", re.sub(r"<script.*?</script>", "", reply.text, flags=re.DOTALL))


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"session": {}}, 422),
        ({"session": "s" * 65}, 422),
        ({"values": None}, 422),
        ({"values": [1]}, 422),
        ({"values": "{}"}, 422),
        ({"values": {}, "ticket": {"a": 1}}, 200),
    ],
)
def test_malformed_widget_call_is_rejected(
    site: Site, caplog: pytest.LogCaptureFixture, changes: dict[str, Any], status: int
) -> None:
    reply = site.http.post(f"/{FOLDER}/call/classify_review", json={"session": "s", "values": {}} | changes)
    assert (reply.status_code, reply.json()["word"]) == (status, "missing" if status == 200 else "wrong_field")
    assert_clean(reply.text)
    assert caplog.text == ""


@pytest.mark.parametrize(
    "path", ["call/__init__", "call/stream_messages", "stream/classify_review", "call/%20", "call/classify_review/x"]
)
def test_call_of_unknown_function_is_rejected(site: Site, path: str) -> None:
    reply = site.http.post(f"/{FOLDER}/{path}", json={"values": {}})
    assert (reply.status_code, reply.json()["word"] in ("unknown_endpoint", "nothing_here")) == (404, True)


def test_outdated_page_is_asked_to_reload(site: Site) -> None:
    for path in ("component_server", "component_server/"):
        reply = site.http.post(f"/gradio_api/{path}", json={"component_id": 1, "fn_name": "judge", "data": "{}"})
        assert (reply.status_code, reply.json()["word"]) == (404, "unknown_endpoint")


def test_url_with_unprintable_character_returns_404(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    reply = site.http.post("/gradio_api/run/%00", json={"data": [], "fn_index": 1})
    assert (reply.status_code, reply.json()["word"], caplog.text) == (404, "nothing_here", "")


def test_stream_with_two_session_hashes_checks_the_used_one(site: Site) -> None:
    assert site.join({}, session="mine").status_code == 200
    both = "/gradio_api/queue/data?session_hash=mine&session_hash="
    with site.http.stream("GET", both + "another") as reply:
        assert CLOSED in next(reply.iter_text())  # nothing is owed to that one
    assert site.http.get(both).status_code == 404
    assert "process_completed" in site.messages("mine")


def test_slow_request_body_times_out(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    assert middleware.REQUEST_TIMEOUT_SECONDS <= 60  # a slow body holds a connection
    monkeypatch.setattr(middleware, "REQUEST_TIMEOUT_SECONDS", 0.2)

    with closing(HTTPConnection(site.http.base_url.host, site.http.base_url.port, timeout=60)) as visitor:
        visitor.request("POST", "/gradio_api/call/translate", b'{"data":', JSON | {"content-length": "14"})
        reply = visitor.getresponse()  # the rest never comes
        assert (reply.status, json.load(reply)["word"], reply.headers["connection"]) == (408, "too_slow", "close")


def test_deferred_answer_is_sent_unchanged(site: Site) -> None:
    widget: TranslateWidget = site.page.calls.calls["fetch_deferred"].function.__self__  # type: ignore[attr-defined]
    name = widget.deferred_answers.store('{"what":"answer","text":"ä"}')
    replies = [
        site.http.post(f"/{FOLDER}/call/fetch_deferred", json={"values": {"name": each}}) for each in (name, "unknown")
    ]
    assert replies[0].content == '{"what":"answer","text":"ä"}'.encode()
    assert replies[1].json()["word"] == "no_answer"


def test_form_data_is_rejected(site: Site) -> None:
    reply = site.http.post(f"/{FOLDER}/call/classify_review", files={"a": b"x"}, data={"values": "1"})
    assert reply.status_code == 400


@pytest.mark.parametrize("path", ["run/false_1", "run/predict", "api/false", "run/tell"])
def test_unnamed_function_is_not_callable(site: Site, caplog: pytest.LogCaptureFixture, path: str) -> None:
    reply = site.http.post(f"/gradio_api/{path}", json={"data": []})
    assert reply.status_code == (200 if path == "run/false_1" else 404)  # which stops work without a listener
    assert_clean(reply.text)
    assert caplog.text == ""


@pytest.mark.parametrize(
    "event_data", [None, [1], "x", 7, {}, {"request": None}, {"request": "null"}, {"request": "[1]"}], ids=str
)
def test_malformed_event_is_rejected(site: Site, capfd: Any, event_data: Any) -> None:
    reply = site.join(event_data, session="strange")
    if isinstance(event_data, dict):
        text = site.messages("strange")
        assert '\\"what\\":\\"error\\"' in text
        assert '"error":null' not in text
    else:
        assert (reply.status_code, reply.json()["word"]) == (422, "wrong_field")
    assert "Traceback" not in capfd.readouterr().err


def test_turn_number_with_thousands_of_digits_is_rejected(site: Site) -> None:
    site.join({"request": '{"turn":' + "9" * 5000 + ',"text":"a"}'}, session="digits")
    assert '\\"word\\":\\"not_json\\"' in site.messages("digits")


def test_long_session_hash_is_rejected(site: Site) -> None:
    assert site.join({}, session="s" * 65).status_code == 422


# ---------------------------------------------------------------- the line


class PausedModel:
    """Hold all model calls until they are released, except for one sentence."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.go, self.lock, self.running, self.most = Event(), Lock(), 0, 0
        translate: Callable[..., Any] = Translator.translate
        stream: Callable[..., Any] = Translator.stream

        def hold(request: Any) -> None:
            with self.lock:
                self.running += 1
                self.most = max(self.most, self.running)
            if getattr(request, "text", request) != BEER:
                self.go.wait(60)
            with self.lock:
                self.running -= 1

        def slowly(translator: Translator, request: Any, *rest: Any, **options: Any) -> Any:
            hold(request)
            return translate(translator, request, *rest, **options)

        def stream_slowly(translator: Translator, request: Any, **options: Any) -> Any:
            hold(request)
            return stream(translator, request, **options)

        monkeypatch.setattr(Translator, "translate", slowly)
        monkeypatch.setattr(Translator, "stream", stream_slowly)

    def until(self, running: int) -> None:
        until(lambda: self.running >= running)


def exporting(text: str, form: str = "csv") -> dict[str, Any]:
    return {"form": form, "theme": "light", "language": "en", "request": {"text": text, "model": "toy"}}


def test_crowd_of_one_address_queues_without_delaying_others(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    paused = PausedModel(monkeypatch)
    with ThreadPoolExecutor(24) as pool:
        futures = [
            pool.submit(
                site.ask, "export", exporting(f"ein {'bier ' * (1 + number)}"), session=f"s{number}", address=CROWD
            )
            for number in range(24)
        ]
        paused.until(1)
        assert '"i want a beer ."' in site.answer(site.call(BEER, OTHER))
        until(lambda: sum(each.done() for each in futures) >= 23)  # all except the running one have a response
        paused.go.set()
        responses = [each.result() for each in futures]
    words = [each.get("word", each.get("what", "answer")) for each in responses]
    assert paused.most <= 2  # one of the crowd, and the neighbour
    assert words.count("answer") == 1
    assert words.count("waiting") == 4  # half of the line
    assert words.count("line_full") == 24 - 5
    before = sorted(each["before"] for each in responses if each.get("what") == "waiting")
    assert before == [0, 1, 2, 3]


def test_retried_request_keeps_queue_position(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    paused = PausedModel(monkeypatch)
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(site.ask, "export", exporting("ein bier"), session="one")
        paused.until(1)
        waits = site.ask("export", exporting("zwei bier"), session="one")
        assert (waits["what"], type(waits["before"])) == ("waiting", int)
        paused.go.set()
        first.result()
        again = site.ask("export", exporting("zwei bier"), session="one", ticket=waits["ticket"])
    assert again["name"].endswith(".csv")


def test_page_receives_queue_position(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    paused = PausedModel(monkeypatch)
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(site.ask, "export", exporting("ein bier"), session="page")
        paused.until(1)
        site.join({"request": json.dumps({"turn": 3, "text": BEER, "model": "toy"})}, session="page")
        waits = '\\"what\\":\\"waiting\\",\\"before\\":'
        text = site.messages("page", lambda text: paused.go.set() if waits in text else None)
        first.result()
    assert waits in text
    assert "i want a beer ." in text


def test_queued_translation_streams_queue_position(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    paused = PausedModel(monkeypatch)
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(site.ask, "export", exporting("ein bier"), session="told")
        paused.until(1)
        values = {"turn": 3, "text": BEER, "model": "toy"}
        messages = site.stream_messages(
            values, session="told", then=lambda each: paused.go.set() if each["what"] == "waiting" else None
        )
        first.result()
    assert {each["turn"] for each in messages} == {3}
    assert messages[0]["what"] == "waiting"
    assert messages[-1]["text"] == "i want a beer ."


def test_leaving_the_queue_frees_its_slot(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    paused, line = PausedModel(monkeypatch), site.page._queue.request_queue

    def leave(message: Any) -> None:
        assert (message["what"], theirs()) == ("waiting", 2)
        raise InterruptedError

    def theirs() -> int:
        return sum(place.visitor.session == "leaver" for place in (*line._waiting, *line._running))

    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(site.ask, "export", exporting("ein bier"), session="leaver")
        paused.until(1)
        with pytest.raises(InterruptedError):
            site.stream_messages({"turn": 1, "text": BEER, "model": "toy"}, session="leaver", then=leave)
        until(lambda: theirs() == 1)
        paused.go.set()
        first.result()


@pytest.mark.parametrize("values", [{}, {"text": " "}, {"turn": 1, "text": "x" * 501}, {"turn": {}, "text": BEER}])
def test_malformed_translation_request_is_rejected(site: Site, values: Any) -> None:
    message = site.stream_messages(values, session="strange")[-1]
    assert message["what"] == ("answer" if "turn" in values and values["text"] == BEER else "error")
    assert isinstance(message.get("turn", 0), int)


def test_too_large_answer_is_not_sent(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headlight.viz.tabs.translate.MEGABYTE", 1000)
    (*_, message) = site.stream_messages({"turn": 1, "text": BEER, "model": "toy"}, session="large")
    assert (message["what"], message["word"], message["values"]["limit"]) == ("error", "answer_too_large", 1)


def test_too_large_file_is_not_sent(site: Site) -> None:
    response = site.ask("export", exporting(BEER, "html"))
    assert (response["what"], response["word"], response["values"]["limit"]) == ("error", "answer_too_large", 1)
    assert site.ask("export", exporting(BEER))["name"].endswith(".csv")


# ---------------------------------------------------------------- disconnected clients


def test_jobs_without_listener_are_not_started(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    paused = PausedModel(monkeypatch)
    monkeypatch.setattr(site.page._queue.request_queue, "max_waiting", 1000)
    events = [site.call(f"ein {'cola ' * (1 + number % 7)}", CROWD) for number in range(20)]
    assert '"i want a beer ."' in site.answer(site.call(BEER, OTHER))
    assert paused.most == 1
    queue = site.page._queue
    assert (len(queue), len(queue._held)) == (0, 20)
    paused.go.set()
    assert all("event: complete" in site.answer(event) for event in events)
    nothing_is_left(queue)


def test_unclaimed_job_expires(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gradio_queue, "RETENTION_SECONDS", 0.05)
    event, queue = site.call(BEER, CROWD), site.page._queue
    until(lambda: event not in queue.results)
    assert "Send the request again" in site.answer(event)
    nothing_is_left(queue)
    assert job_results.RETENTION_SECONDS >= 600


def nothing_is_left(queue: gradio_queue.SubscriberQueue) -> None:
    until(lambda: not queue.event_ids_to_events)
    until(lambda: not {*queue.pending_event_ids_session, *queue.pending_messages_per_session})
    assert (queue._held, queue._held_bytes, queue._held_jobs) == ({}, {}, {})
    assert (queue.results._pending, len(queue.results._results)) == ({}, 0)


def test_known_session_is_served_while_its_stream_opens(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = site.page._queue

    def ask(turn: int) -> str:
        values = {"turn": turn, "text": BEER, "model": "toy"}
        return str(site.join({"request": json.dumps(values)}, session="known").json()["event_id"])

    def until_over(job: str) -> None:
        until(lambda: job not in queue.event_ids_to_events)

    ask(1)
    assert "i want a beer ." in site.messages("known")
    until_over(ask(2))  # and its messages were not requested yet
    ask(3)
    time.sleep(0.1)
    assert len(queue._held) == 1  # one job ahead, and no more
    text = site.messages("known")
    assert text.count("process_completed") == 2
    assert text.index('\\"turn\\":2') < text.index('\\"turn\\":3')

    monkeypatch.setattr(gradio_queue, "RESULT_TTL_SECONDS", 0.0)
    until_over(ask(4))
    until(lambda: "known" not in {*queue.pending_event_ids_session, *queue.pending_messages_per_session})


def test_jobs_beyond_capacity_are_rejected_immediately(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(address: str) -> list[Any]:
        reply = site.http.post(
            "/gradio_api/call/translate", json={"data": [BEER]}, headers={"x-forwarded-for": address}
        )
        return [reply.status_code, reply.json().get("word"), reply.headers.get("retry-after")]

    monkeypatch.setattr(gradio_queue, "MAX_HELD_BYTES", 7 * gradio_queue.JOB_BYTES)
    event = site.call(BEER, CROWD)
    assert refused(CROWD) == [503, "line_full", "30"]  # one address fills a quarter
    assert '"i want a beer ."' in site.answer(event)  # received results are preserved
    assert '"i want a beer ."' in site.answer(site.call(BEER, CROWD))
    monkeypatch.setattr(gradio_queue, "MAX_HELD_BYTES", 0)
    assert refused(OTHER) == [503, "line_full", "30"]
    monkeypatch.undo()
    paused = PausedModel(monkeypatch)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(site.ask, "export", exporting("ein bier"), session="one")
        paused.until(1)
        monkeypatch.setattr(site.page._queue.request_queue, "max_wait_s", 0.0)
        *details, retry = refused(OTHER)
        assert (details, int(retry) > 0) == ([503, "line_full"], True)
        paused.go.set()
        running.result()


def test_result_is_fetched_once_and_streams_end(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    paused = PausedModel(monkeypatch)
    event_id = site.call("ein bier")
    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(site.answer, event_id) for _ in range(2)]
        paused.until(1)
        paused.go.set()
        texts = [each.result() for each in both]
    assert sum("event: complete" in text for text in texts) == 1
    reply = site.http.get(f"/gradio_api/call/translate/{event_id}")
    assert (reply.status_code, reply.json()["word"]) == (404, "no_answer")


# ---------------------------------------------------------------- streams that end


def test_stream_closed_before_job_id_is_reported(site: Site) -> None:
    # The answer to a job may overtake the answer to its request; the browser then opens a stream for a finished job.
    site.join({}, session="quick")
    assert "process_completed" in site.messages("quick")
    with site.http.stream("GET", "/gradio_api/queue/data", params={"session_hash": "quick"}) as reply:
        assert (reply.status_code, reply.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
        assert next(reply.iter_text()) == 'data: {"msg":"close_stream","event_id":null}\n\n'


@pytest.mark.parametrize("over", [False, True], ids=["after its news", "after none"])
def test_job_during_stream_close_gets_id_after_disconnect(
    site: Site, monkeypatch: pytest.MonkeyPatch, over: bool
) -> None:
    # A browser with its old stream would not open one for this job and would wait forever.
    monkeypatch.setattr(streams, "CLOSE_TIMEOUT_SECONDS", 600.0)
    if not over:
        site.join({}, session="again")
    with ThreadPoolExecutor(1) as pool:
        with site.http.stream("GET", "/gradio_api/queue/data", params={"session_hash": "again"}) as reply:
            text, more = "", reply.iter_text()  # once the iterator goes, httpx lets go, too
            while CLOSED not in text:
                text += next(more)
            assert ("process_completed" in text) is not over
            joined = pool.submit(site.join, {}, session="again")
            time.sleep(0.5)
            assert not joined.done()
        assert joined.result().status_code == 200
    assert "process_completed" in site.messages("again")


def test_client_that_never_disconnects_delays_only_itself(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "CLOSE_TIMEOUT_SECONDS", 0.2)
    assert site.http.get("/gradio_api/queue/data", params={"session_hash": "holding"}).text.endswith("\n\n")
    assert site.join({}, session="holding").status_code == 200
    assert "process_completed" in site.messages("holding")


def test_many_sessions_do_not_drop_messages(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    paused = PausedModel(monkeypatch)
    with ThreadPoolExecutor(1) as pool:
        event_id = site.call("ein bier", OTHER)
        answer = pool.submit(site.answer, event_id)
        paused.until(1)
        news = site.page._queue.pending_messages_per_session
        for number in range(2001):  # one more than Gradio would remember
            news[f"crowd{number}"] = asyncio.Queue()  # as each job of a new session does
        paused.go.set()
        assert "event: complete" in answer.result()
    until(lambda: len(news) < 2001)  # the answer is sent before its job is over


def test_result_is_kept_for_disconnected_client(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    paused = PausedModel(monkeypatch)
    queue = site.page._queue
    event_id = site.call("zwei bier", OTHER)
    with site.http.stream("GET", f"/gradio_api/call/translate/{event_id}"):
        paused.until(1)
    until(lambda: not queue.results.reader_count)
    paused.go.set()
    assert "event: complete" in site.answer(event_id)
    nothing_is_left(queue)


# ---------------------------------------------------------------- the end


@pytest.mark.slow(after=1)
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGTERM to send")
@pytest.mark.parametrize("first_of_its_container", [False, True])
def test_shutdown_finishes_running_jobs_and_rejects_new_ones(tmp_path: Path, first_of_its_container: bool) -> None:
    # The first process of a container hears only the signals that it has handlers for.
    alone = ["unshare", "--pid", "--fork", "--mount-proc"] if first_of_its_container else []
    if alone and (
        not shutil.which("unshare") or subprocess.run([*alone, "true"], capture_output=True, check=False).returncode
    ):
        pytest.skip("this system lets nobody make a process space of its own")
    # A model that does not answer while a file exists; it is stopped in the meantime.
    halt = tmp_path / "halt"
    slow = (
        "import time, runpy\n"
        "from pathlib import Path\n"
        "from headlight.model.translate.translator import Translator\n"
        "def slow(method):\n"
        "    def slowly(*given, **options):\n"
        "        print('working', flush=True)\n"
        f"        while Path({str(halt)!r}).exists(): time.sleep(0.02)\n"
        "        return method(*given, **options)\n"
        "    return slowly\n"
        "Translator.translate = slow(Translator.translate)\n"
        "Translator.stream = slow(Translator.stream)\n"
        "runpy.run_path('app.py', run_name='__main__')\n"
    )
    environment = os.environ | {"HEADLIGHT_MODEL": "toy", "HEADLIGHT_HOST": "127.0.0.1", "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        [*alone, sys.executable, "-c", slow],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    try:
        text = ""
        while "http://" not in text:
            text = process.stdout.readline()
            assert text, "it did not start"
        url, served = text.split()[-1], process.pid
        if alone:
            served = int(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text())
            assert Path(f"/proc/{served}/status").read_text().split("NSpid:")[1].split()[:2] == [str(served), "1"]
        with httpx.Client(base_url=url, timeout=60) as http, ThreadPoolExecutor(2) as pool:
            opened = pool.submit(http.get, "/gradio_api/heartbeat/visitor")  # as every page that is open
            halt.touch()
            event_id = http.post("/gradio_api/call/translate", json={"data": [BEER]}).json()["event_id"]
            answer = pool.submit(lambda: http.get(f"/gradio_api/call/translate/{event_id}").text)
            while "working" not in process.stdout.readline():
                assert process.poll() is None
            os.kill(served, signal.SIGTERM)
            deadline = time.monotonic() + 60
            try:
                while (refused := http.post("/gradio_api/call/translate", json={"data": [BEER]})).status_code == 200:
                    assert time.monotonic() < deadline
            finally:
                halt.unlink()
            assert (refused.status_code, refused.json()["word"]) == (503, "leaving")
            assert '"i want a beer ."' in answer.result()
            assert "ALIVE" in opened.result().text
        assert process.wait(60) == 0
        assert "Traceback" not in process.stdout.read()
    finally:
        if alone:
            subprocess.run(["pkill", "-KILL", "-P", str(process.pid)], check=False)
        process.kill()
        process.communicate()
