"""Load: many visitors, programs, slow clients and typists, as ratios to one visitor alone.

A ratio compares medians of one run. The visitor is measured before and after each kind of load, because the speed of
the machine varies.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import socket
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx

from workshop.benchmarks.classroom import sentences
from workshop.trust.checks import Check, Log, Options
from workshop.trust.page_process import API_CALL, CALL, STREAM, PageProcess, run_page

SCHOOL_ADDRESS, NEIGHBOUR_ADDRESS, PROGRAM_ADDRESS = "203.0.113.5", "198.51.100.7", "192.0.2.9"
TIMEOUT_SECONDS = 600.0  # for one answer
RETRIED_ERRORS = {"line_full", "cluster_busy"}
MAX_IDLE_RATIO = 1.5  # slowdown of a neighbour while sockets are idle
MAX_CROWD_RATIO = 8.0  # slowdown of a neighbour during a crowd; the server runs two computations at once
MAX_QUEUE_RATIO = 3.0  # slowdown of a crowd, compared with the same requests one after another
IDLE_SOCKETS, HALF_HEADERS = 1000, 200
KEYS_PER_SECOND = 4
READING_SECONDS = 2.0  # Live waits while anybody translates, so a neighbour without pauses would stop it
MIN_LIVE_SHARE = 0.1  # of the keys that typists get an answer for


class Visitor:
    """A visitor of the page in an event loop, with the outcomes and seconds of the requests."""

    def __init__(self, client: httpx.AsyncClient, address: str, session: str = "s") -> None:
        self.client, self.address, self.session = client, address, session
        self.outcomes: Counter[str] = Counter()
        self.seconds: list[float] = []

    async def ask(self, text: str, **values: Any) -> None:
        """Request a translation until it is answered; a full queue is retried, as the page does."""
        start = time.perf_counter()
        while True:
            message = await self._message(text, values)
            if message.get("word") not in RETRIED_ERRORS:
                break
            self.outcomes["refused"] += 1
            await asyncio.sleep(min(message.get("values", {}).get("seconds", 2), 5))
        kind = message.get("what")
        self.outcomes[{"answer": "answered", "busy": "busy"}.get(str(kind), f"error {message.get('word')}")] += 1
        self.seconds.append(time.perf_counter() - start)

    async def _message(self, text: str, values: dict[str, Any]) -> dict[str, Any]:
        body = {"session": self.session, "values": {"turn": 1, "text": text, **values}}
        reply = await self.client.post(STREAM, json=body, headers={"x-forwarded-for": self.address})
        messages = [json.loads(line[6:]) for line in reply.text.splitlines() if line.startswith("data: ")]
        return dict(messages[-1]) if messages else {"what": "error", "word": str(reply.status_code)}

    async def run_program(self, text: str) -> None:
        """Call the endpoint `/translate` as a program does."""
        start, headers = time.perf_counter(), {"x-forwarded-for": self.address}
        reply = await self.client.post(f"{API_CALL}translate", json={"data": [text]}, headers=headers)
        if reply.status_code == 503:
            self.outcomes["refused"] += 1
            return
        event = reply.json()["event_id"]
        events = await self.client.get(f"{API_CALL}translate/{event}", headers=headers)
        self.outcomes["answered" if "event: complete" in events.text else "error"] += 1
        self.seconds.append(time.perf_counter() - start)


def compute_percentile(values: list[float], fraction: float) -> float:
    """Return a percentile of the nearest rank."""
    return sorted(values)[max(0, math.ceil(fraction * len(values)) - 1)]


class Bench:
    """A running page under load, compared with a single visitor."""

    def __init__(self, page: PageProcess, client: httpx.AsyncClient, count: int) -> None:
        self.page, self.client, self.count = page, client, count
        self.texts = sentences()

    async def measure_alone(self) -> list[float]:
        """Return the latencies in seconds of a visitor without load."""
        visitor = Visitor(self.client, NEIGHBOUR_ADDRESS, "alone")
        for text in itertools.islice(self.texts, self.count):
            await visitor.ask(text)
        return visitor.seconds

    async def measure_neighbour(self, load: Callable[[], Awaitable[Any]], pause: float = 0.0) -> tuple[Any, float]:
        """Run a load; return its result, and the median of a neighbour during it as a ratio to alone.

        The neighbour reads each translation for `pause` seconds.
        """
        before, neighbour = await self.measure_alone(), Visitor(self.client, NEIGHBOUR_ADDRESS, "beside")
        task = asyncio.ensure_future(load())
        while not task.done() or len(neighbour.seconds) < self.count:
            await neighbour.ask(next(self.texts))
            await asyncio.sleep(pause)
        alone = statistics.median([*before, *await self.measure_alone()])
        if set(neighbour.outcomes) - {"answered", "refused"}:
            raise RuntimeError(f"The neighbour got {dict(neighbour.outcomes)}.")
        return await task, statistics.median(neighbour.seconds) / alone

    async def run_crowd(
        self, visitors: list[Visitor], requests: int, act: Callable[[Visitor, str], Awaitable[None]]
    ) -> str:
        """Let all visitors send their requests one after another, and describe the outcomes."""

        async def visit(visitor: Visitor, texts: list[str]) -> None:
            for text in texts:
                await act(visitor, text)

        lists = [list(itertools.islice(self.texts, requests)) for _ in visitors]
        await asyncio.gather(*map(visit, visitors, lists))
        return format_outcomes(visitors)


def format_outcomes(visitors: list[Visitor]) -> str:
    """Describe the outcomes of a crowd."""
    outcomes = sum((visitor.outcomes for visitor in visitors), Counter[str]())
    return ", ".join(f"{count:,} {name}" for name, count in sorted(outcomes.items()))


async def check_crowds(bench: Bench, options: Options, log: Log) -> list[Check]:
    """Check a class at one address, visitors at many addresses, and programs at one address."""
    pupils, visitors, programs = (12, 10, 12) if options.quick else (60, 50, 64)
    visits = 2 if options.quick else 6
    kinds: list[tuple[str, list[Visitor], int, Callable[[Visitor, str], Awaitable[None]]]] = [
        (
            f"a class of {pupils} at one address",
            [Visitor(bench.client, SCHOOL_ADDRESS, f"p{n}") for n in range(pupils)],
            1,
            Visitor.ask,
        ),
        (
            f"{visitors} addresses × {visits} sentences",
            [Visitor(bench.client, f"203.0.113.{n + 10}", f"v{n}") for n in range(visitors)],
            visits,
            Visitor.ask,
        ),
        (
            f"{programs} programs at one address",
            [Visitor(bench.client, PROGRAM_ADDRESS, f"a{n}") for n in range(programs)],
            1,
            Visitor.run_program,
        ),
    ]
    checks = []
    for name, crowd, requests, act in kinds:
        alone = statistics.median(await bench.measure_alone())
        outcome, ratio = await bench.measure_neighbour(
            lambda crowd=crowd, requests=requests, act=act: bench.run_crowd(crowd, requests, act)
        )
        waits = [seconds / alone for visitor in crowd for seconds in visitor.seconds]
        p50, p95 = compute_percentile(waits, 0.5), compute_percentile(waits, 0.95)
        request_count = len(crowd) * requests
        answered = sum(visitor.outcomes["answered"] for visitor in crowd)
        bound = MAX_QUEUE_RATIO * request_count
        has_many_addresses = "addresses" in name  # the neighbour is then one of many, without a bound
        checks.append(
            Check(
                "load",
                name,
                f"every request answered, p95 ≤ {bound:,.0f} × alone"
                + ("" if has_many_addresses else f", a neighbour ≤ {MAX_CROWD_RATIO:g} ×"),
                f"{outcome}; p50 {p50:.1f} ×, p95 {p95:.1f} ×; a neighbour {ratio:.1f} ×",
                answered == request_count and p95 <= bound and (has_many_addresses or ratio <= MAX_CROWD_RATIO),
            )
        )
        log(str(checks[-1]))
    return checks


async def check_slow_clients(bench: Bench, options: Options, log: Log) -> list[Check]:
    """Open connections that send nothing or half a header, while a neighbour asks."""
    idle, half = (100, 20) if options.quick else (IDLE_SOCKETS, HALF_HEADERS)
    host, port = bench.page.url.removeprefix("http://").rstrip("/").split(":")
    sockets: list[socket.socket] = []

    async def open_all() -> None:
        for number in range(idle + half):
            connection = socket.create_connection((host, int(port)), timeout=30)
            sockets.append(connection)
            if number >= idle:
                connection.sendall(b"POST /gradio_api/call/translate HTTP/1.1\r\nhost: localhost\r\nx-half: ")
            await asyncio.sleep(0)

    _, ratio = await bench.measure_neighbour(open_all)
    deadline = time.monotonic() + 60
    while bench.page.usage().descriptors > 100 and time.monotonic() < deadline:
        await asyncio.sleep(1)
    open_descriptors = bench.page.usage().descriptors
    for connection in sockets:
        connection.close()
    log(f"slow clients: {ratio:.2f}, {open_descriptors} descriptors")
    return [
        Check(
            "load",
            f"{idle:,} idle sockets and {half} half headers",
            f"a neighbour ≤ {MAX_IDLE_RATIO:g} × alone, all closed after a minute",
            f"a neighbour {ratio:.2f} ×, {open_descriptors} descriptors left",
            ratio <= MAX_IDLE_RATIO and open_descriptors <= 100,
        )
    ]


async def call_in_turn(client: httpx.AsyncClient, name: str, values: dict[str, Any], session: str) -> dict[str, Any]:
    """Call a function of a widget until its turn has come; a full queue is retried."""
    body = {"session": session, "ticket": "", "values": values}
    while True:
        reply = (await client.post(f"{CALL}{name}", json=body, headers={"x-forwarded-for": PROGRAM_ADDRESS})).json()
        if reply.get("what") == "waiting":
            body["ticket"] = reply["ticket"]
        elif reply.get("word") in RETRIED_ERRORS:
            body["ticket"] = ""
            await asyncio.sleep(2)
        else:
            return dict(reply)


async def check_typists_and_importance(bench: Bench, options: Options, log: Log) -> list[Check]:
    """Check visitors that type with Live on, and one address that computes long analyses."""
    typists, keys = (4, 8) if options.quick else (10, 40)

    crowd = [Visitor(bench.client, f"203.0.113.{100 + number}", f"t{number}") for number in range(typists)]

    async def type_sentence(visitor: Visitor) -> None:
        text = next(bench.texts)
        for length in range(1, keys + 1):
            start = time.monotonic()
            await visitor.ask(text[: max(3, length)], live=True, beam_size=1)
            await asyncio.sleep(max(0.0, 1 / KEYS_PER_SECOND - (time.monotonic() - start)))

    async def type_all() -> None:
        await asyncio.gather(*map(type_sentence, crowd))

    _, ratio = await bench.measure_neighbour(type_all, READING_SECONDS)
    answered = sum(visitor.outcomes["answered"] for visitor in crowd)
    errors = [name for visitor in crowd for name in visitor.outcomes if name.startswith("error")]
    checks = [
        Check(
            "load",
            f"{typists} typists with Live, {keys} keys each",
            f"each key answered or “busy”, {MIN_LIVE_SHARE:.0%} answered, a neighbour ≤ {MAX_CROWD_RATIO:g} × alone",
            f"{format_outcomes(crowd)}; a neighbour {ratio:.1f} ×",
            not errors and answered >= MIN_LIVE_SHARE * typists * keys and ratio <= MAX_CROWD_RATIO,
        )
    ]
    analyses = 4 if options.quick else 20

    async def analyse(number: int) -> bool:
        """Measure the importance of every head, one batch per call, as the page does."""
        values: dict[str, Any] = {"request": {"text": next(bench.texts), "model": "de-en"}, "first": 0}
        while True:
            reply = await call_in_turn(bench.client, "measure_importance", values, f"i{number}")
            if "losses" not in reply:
                return False
            if reply["next"] >= reply["all"]:
                return True
            values["first"] = reply["next"]

    async def analyse_all() -> list[bool]:
        return list(await asyncio.gather(*(analyse(number) for number in range(analyses))))

    done, ratio = await bench.measure_neighbour(analyse_all)
    checks.append(
        Check(
            "load",
            f"{analyses} × importance of all heads from one address",
            f"every one answered, a neighbour ≤ {MAX_CROWD_RATIO:g} × alone",
            f"{sum(done)} answered; a neighbour {ratio:.1f} ×",
            all(done) and ratio <= MAX_CROWD_RATIO,
        )
    )
    for check_result in checks:
        log(str(check_result))
    return checks


async def _check(page: PageProcess, options: Options, log: Log) -> list[Check]:
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=page.url, timeout=TIMEOUT_SECONDS, limits=limits) as client:
        bench = Bench(page, client, 4 if options.quick else 10)
        await bench.measure_alone()  # loads the models
        return [
            *await check_slow_clients(bench, options, log),
            *await check_crowds(bench, options, log),
            *await check_typists_and_importance(bench, options, log),
        ]


def check(options: Options, log: Log) -> Iterator[Check]:
    """Measure all kinds of load on one page."""
    with (
        tempfile.TemporaryDirectory() as folder,
        run_page(Path(folder), before=["bash", "-c", 'ulimit -n 4096; exec "$@"', "-"]) as page,
    ):
        yield from asyncio.run(_check(page, options, log))
