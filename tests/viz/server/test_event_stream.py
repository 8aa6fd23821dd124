"""Event streams: immediate messages, disconnects, slow readers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator, Mapping
from threading import Event
from typing import Any

import pytest
from starlette.types import Message

from headlight.viz.server import event_stream
from headlight.viz.server.event_stream import MessageStream, stream_response
from headlight.viz.server.visitors import HAS_LEFT

PATIENCE = 30.0


class Reader:
    """One end of a connection: what arrived, and the moments at which it leaves or stops reading."""

    def __init__(self) -> None:
        self.arrived: list[Message] = []
        self.leaves = asyncio.Event()
        self.reads = asyncio.Event()
        self.reads.set()

    async def receive(self) -> Message:
        await self.leaves.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        await self.reads.wait()
        self.arrived.append(message)

    @property
    def texts(self) -> list[str]:
        bodies = [each["body"].decode() for each in self.arrived if each["type"] == "http.response.body"]
        return [line.removeprefix("data: ") for line in "".join(bodies).split("\n\n") if line]

    async def hears(self, function: MessageStream) -> None:
        await stream_response(function, {"text": "asked"}, None, self.receive, self.send)


def within(work: Callable[[Reader], Awaitable[None]]) -> Reader:
    """Run it with a reader; nothing may hang."""

    async def run() -> Reader:
        reader = Reader()
        await asyncio.wait_for(work(reader), PATIENCE)
        return reader

    return asyncio.run(run())


def test_all_messages_arrive_before_end() -> None:
    def counts(values: Mapping[str, Any], stop: Event) -> Generator[str]:
        yield from (f"{values['text']} {number}" for number in range(3))

    reader = within(lambda reader: reader.hears(counts))
    assert reader.texts == ["asked 0", "asked 1", "asked 2"]
    assert dict(reader.arrived[0]["headers"])[b"content-type"].startswith(b"text/event-stream")
    assert reader.arrived[-1] == {"type": "http.response.body", "body": b""}


def test_messages_are_streamed_immediately() -> None:
    let = Event()

    def waits(values: Mapping[str, Any], stop: Event) -> Generator[str]:
        yield "first"
        assert let.wait(PATIENCE)
        yield "second"

    async def work(reader: Reader) -> None:
        asking = asyncio.create_task(reader.hears(waits))
        while reader.texts != ["first"]:
            await asyncio.sleep(0.005)
        let.set()
        await asking

    assert within(work).texts == ["first", "second"]


def test_disconnect_stops_function() -> None:
    seen: list[bool] = []

    def goes_on(values: Mapping[str, Any], stop: Event) -> Generator[str]:
        try:
            yield "begun"
            assert stop.wait(PATIENCE)
            seen.append(HAS_LEFT.get()())
        finally:
            seen.append(True)

    async def work(reader: Reader) -> None:
        asking = asyncio.create_task(reader.hears(goes_on))
        while not reader.texts:
            await asyncio.sleep(0.005)
        reader.leaves.set()
        await asking

    within(work)
    assert seen == [True, True]


def test_slow_reader_does_not_block_others(monkeypatch: pytest.MonkeyPatch) -> None:
    done = Event()
    monkeypatch.setattr(event_stream, "SEND_TIMEOUT_SECONDS", 0.05)

    def takes_a_turn(values: Mapping[str, Any], stop: Event) -> Generator[str]:
        yield "a" * 1000
        yield "b" * 1000
        done.set()

    async def work(reader: Reader) -> None:
        reader.reads.clear()
        await reader.hears(takes_a_turn)  # given up after a while

    assert within(work).arrived == []
    assert done.is_set()


def test_error_ends_stream_and_is_propagated() -> None:
    closed = Event()

    def breaks(values: Mapping[str, Any], stop: Event) -> Generator[str]:
        try:
            yield "one"
            raise RuntimeError("broken")
        finally:
            closed.set()

    with pytest.raises(RuntimeError, match="broken"):
        within(lambda reader: reader.hears(breaks))
    assert closed.is_set()


def test_idle_stream_sends_keepalive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "KEEP_ALIVE_SECONDS", 0.01)
    let = Event()

    def thinks(values: Mapping[str, Any], stop: Event) -> Generator[str]:
        assert let.wait(PATIENCE)
        yield "at last"

    async def work(reader: Reader) -> None:
        asking = asyncio.create_task(reader.hears(thinks))
        while len(reader.arrived) < 4:
            await asyncio.sleep(0.005)
        let.set()
        await asking

    reader = within(work)
    assert {each["body"] for each in reader.arrived[1:4]} == {event_stream.KEEP_ALIVE_COMMENT}
    assert reader.texts[-1] == "at last"


def test_disconnect_before_first_message_is_detected() -> None:
    def asks(values: Mapping[str, Any], stop: Event) -> Generator[str]:
        assert stop.wait(PATIENCE)
        return
        yield

    async def work(reader: Reader) -> None:
        reader.leaves.set()
        await reader.hears(asks)

    assert within(work).texts == []


def test_shutdown_stops_and_closes_running_function() -> None:
    started_event, stopped, closed = Event(), Event(), Event()

    def works(values: Mapping[str, Any], stop: Event) -> Generator[str]:
        try:
            started_event.set()
            if stop.wait(PATIENCE):
                stopped.set()
            yield "nobody waits for this"
        finally:
            closed.set()

    async def work(reader: Reader) -> None:
        asking = asyncio.create_task(reader.hears(works))
        while not started_event.is_set():
            await asyncio.sleep(0.005)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        while not closed.is_set():
            await asyncio.sleep(0.005)

    within(work)
    assert stopped.is_set()
