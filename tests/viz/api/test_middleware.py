"""The middleware: limits, forwarding, and errors of the app."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Iterable
from typing import Any

import pytest

from headlight.viz.api.endpoints import ENDPOINTS
from headlight.viz.api.middleware import RequestGuard, app_kwargs
from headlight.viz.settings import Settings
from tests.viz.serving import assert_clean

MOST = 4000
SETTINGS = Settings(max_request_kb=4)
CALL = "/gradio_api/call/translate"


class Visit:
    """One request through the middleware to a small app that repeats what reached it."""

    def __init__(self, *, fails: Exception | None = None, after: str = "", below: str = "") -> None:
        self.fails, self.after, self.below = fails, after, below
        self.sent: list[Any] = []
        self.reached: dict[str, Any] | None = None
        self.read = 0

    async def app(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            self.reached = dict(scope)
            return
        body = b""
        while True:
            message = await receive()
            body += message["body"]
            if not message["more_body"]:
                break
        self.reached = {"body": body, "then": await receive(), "length": dict(scope["headers"]).get(b"content-length")}
        if self.after:
            headers = [(b"content-type", self.after.encode())]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": b"begun\n", "more_body": True})
        if self.fails:
            raise self.fails
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"fine"})

    def __call__(self, path: str, parts: Iterable[bytes], *, method: str = "POST", **headers: str) -> tuple[int, Any]:
        """Status and JSON, or text, of the answer."""
        waiting = list(parts)
        all_headers = {"content_type": "application/json"} | headers
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "root_path": self.below,
            "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in all_headers.items()],
        }

        async def receive() -> Any:
            if not waiting:
                return {"type": "http.disconnect"}
            self.read += 1
            return {"type": "http.request", "body": waiting.pop(0), "more_body": bool(waiting)}

        async def send(message: Any) -> None:
            self.sent.append(message)

        asyncio.run(RequestGuard(self.app, settings=SETTINGS, endpoints=ENDPOINTS)(scope, receive, send))
        if not self.sent:
            return 0, None
        text = b"".join(message.get("body", b"") for message in self.sent).decode()
        return self.sent[0]["status"], json.loads(text) if text.startswith("{") else text


def test_request_passes_unchanged_with_disconnects() -> None:
    visit = Visit()
    assert visit(CALL, [b'{"data": ["a", "", 1,', b' 1.0, "", "", "", "", [], 0.0]}']) == (200, "fine")
    assert visit.reached == {
        "body": b'{"data": ["a", "", 1, 1.0, "", "", "", "", [], 0.0]}',
        "then": {"type": "http.disconnect"},
        "length": None,
    }


def test_missing_arguments_get_defaults() -> None:
    visit = Visit()
    visit(CALL, [b'{"data": ["\\ud800"], "session_hash": "s"}'], content_length="41")
    assert visit.reached is not None
    assert json.loads(visit.reached["body"]) == {
        "data": ["\ud800", "", 1, 1.0, "", "", "", "", [], 0.0],
        "session_hash": "s",
    }
    assert int(visit.reached["length"]) == len(visit.reached["body"])


def test_limits_apply_below_root_path() -> None:
    assert Visit(below="/somewhere")(f"/somewhere{CALL}", [b"{"])[0] == 400
    assert Visit()(f"/somewhere{CALL}", [b"{"])[0] == 404


@pytest.mark.parametrize("size", [MOST + 1, 10**30, "9" * 5000])  # Python converts at most 4300 digits
def test_declared_too_large_body_is_not_read(size: int | str) -> None:
    visit = Visit()
    status, values = visit(CALL, [b"x"] * 9, content_length=str(size))
    assert (status, values["word"], visit.read, visit.reached) == (413, "too_large", 0, None)
    assert (b"connection", b"close") in visit.sent[0]["headers"]


def test_body_without_length_is_read_up_to_limit() -> None:
    visit = Visit()
    status, values = visit(CALL, [b" " * 1000] * 99, transfer_encoding="chunked")
    assert (status, values["word"], visit.read, visit.reached) == (413, "too_large", 5, None)


def test_wrong_content_length_is_detected() -> None:
    assert Visit()("/gradio_api/mcp", [b"x" * 3000] * 2, content_length="5", content_type="text/plain")[0] == 413


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
def test_limit_applies_to_every_method(method: str) -> None:
    assert Visit()("/gradio_api/mcp/", [b"x" * 3000] * 2, method=method, transfer_encoding="chunked")[0] == 413


@pytest.mark.parametrize("method", ["PUT", "PATCH", "TRACE"])
def test_other_methods_are_rejected(method: str) -> None:
    assert Visit()("/", [b"{}"], method=method)[0] == 404


def test_body_at_limit_passes() -> None:
    body = b'"' + b"x" * (MOST - 2) + b'"'
    assert Visit()("/gradio_api/mcp", [body], content_length=str(MOST)) == (200, "fine")
    assert Visit()("/gradio_api/mcp", [body + b" "])[0] == 413


def test_non_json_upload_passes() -> None:
    assert Visit()("/gradio_api/mcp", [b"\xff{"], content_type="multipart/form-data") == (200, "fine")
    assert Visit()("/gradio_api/mcp", [b"\xff{"], content_type="Application/JSON")[0] == 400


def test_disconnect_during_upload_is_handled() -> None:
    visit = Visit()
    assert visit(CALL, []) == (0, None)
    assert visit.reached is None


def test_lifespan_events_pass_unchanged() -> None:
    visit = Visit()
    asyncio.run(RequestGuard(visit.app, settings=SETTINGS, endpoints={})({"type": "lifespan"}, None, None))  # type: ignore[arg-type]
    assert visit.reached == {"type": "lifespan"}


def test_internal_error_is_logged_and_hidden(caplog: pytest.LogCaptureFixture) -> None:
    visit = Visit(fails=ZeroDivisionError("/home/secret/x.py"))
    status, values = visit("/static/x forged", [b"{}"], method="GET")
    assert (status, values["word"]) == (500, "our_fault")
    assert_clean(json.dumps(values))
    assert "/home/secret/x.py" in caplog.text
    assert caplog.records[0].getMessage() == 'A request failed: GET "/static/x forged".'
    status, _ = Visit()("/static/x\nforged", [b"{}"], method="GET")  # it would become a line of the log
    assert status == 404
    assert "\nforged" not in caplog.text


def test_failing_stream_ends_with_error_event() -> None:
    status, text = Visit(fails=ZeroDivisionError("secret"), after="text/event-stream; charset=utf-8")(
        "/gradio_api/mcp", [b"{}"]
    )
    assert status == 200
    start, event, data, *_ = text.splitlines()
    assert (start, event) == ("begun", "event: error")
    assert json.loads(data.removeprefix("data: "))["word"] == "our_fault"
    assert "secret" not in text


def test_started_response_is_not_restarted() -> None:
    visit = Visit(fails=ZeroDivisionError("secret"), after="text/html")
    assert visit("/gradio_api/mcp", [b"{}"]) == (200, "begun\n")
    assert [message["type"] for message in visit.sent] == ["http.response.start", "http.response.body"]


def test_error_is_utf8_json_with_length() -> None:
    visit = Visit()
    visit("/gradio_api/call/v2/translate", ['{"text": "a", "größe": 1}'.encode()])
    start, body = visit.sent
    headers = dict(start["headers"])
    assert headers[b"content-type"] == b"application/json"
    assert int(headers[b"content-length"]) == len(body["body"])
    assert "größe" in json.loads(body["body"])["error"]


def test_middleware_is_configured_by_settings() -> None:
    (standing,) = app_kwargs(Settings(max_request_kb=7))["middleware"]
    assert standing.kwargs["settings"].max_request_kb == 7
    assert standing.kwargs["endpoints"] is ENDPOINTS
    others = {"other": inspect.signature(lambda text: text)}
    assert app_kwargs(Settings(), endpoints=others)["middleware"][0].kwargs["endpoints"] is others
