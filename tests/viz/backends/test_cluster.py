"""A real cluster of two replicas, started once in a separate process that is stopped with all of its children."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from threading import Event

import httpx
import pytest

from headlight.model.experiments.queries import measure_negation
from headlight.model.records import Progress, Translation, TranslationRequest
from headlight.viz.backends.choice import choose_backend
from headlight.viz.errors import PageError
from headlight.viz.service.service import Service
from headlight.viz.settings import Settings
from tests.viz.backends.real_cluster import PATIENCE, RealCluster, expect_same, real_cluster, soon

TEXT = "ich mochte ein bier"
SLOW = {"text": TEXT, "seed": 7}
TOY = Settings(model="toy")


class Running:
    """The cluster, a service that uses it, and a local service."""

    def __init__(self, cluster: RealCluster) -> None:
        self.cluster, self.notes, self.address = cluster, cluster.notes, cluster.address
        self.settings = replace(TOY, backend="ray", ray_address=self.address, cache_mb=0)
        self.page, self.here = Service(self.settings, choose_backend), Service(TOY)

    def update(self) -> None:
        assert self.cluster.ask("update") == "ready", "the cluster has ended"

    def replicas(self, version: int) -> list[int]:
        return [int(path.name.rpartition("-")[2]) for path in self.notes.glob(f"replica-{version}-*")]

    def read_notes(self) -> dict[int, list[str]]:
        """The notes of each process, by its id."""
        results = [path for path in self.notes.iterdir() if path.name.isdecimal()]
        return {int(path.name): path.read_text(encoding="utf-8").splitlines() for path in results}

    def forget(self) -> None:
        for path in self.notes.iterdir():
            if path.name.isdecimal():
                path.unlink()

    def request(self, **more: object) -> TranslationRequest:
        return self.page.check(SLOW | more)

    def expect_right(self, actual: Translation | None, request: TranslationRequest) -> None:
        expect_same(actual, self.here.translate(request))


@pytest.fixture
def running() -> Iterator[Running]:
    pytest.importorskip("ray.serve", reason="Ray Serve is not installed, so no real cluster is tried")
    with real_cluster("tests.viz.backends.slow_replicas") as cluster:
        yield Running(cluster)


@pytest.mark.cluster
def test_real_cluster_lifecycle(running: Running) -> None:
    """One test, for one start."""
    answers_are_those_of_this_process(running)
    what_is_no_call_is_refused(running)
    who_leaves_ends_the_work(running)
    too_many_are_told_so_and_all_others_get_their_answer(running)
    an_update_loses_no_answer(running)
    a_killed_replica_loses_no_answer_and_none_comes_twice(running)


def answers_are_those_of_this_process(running: Running) -> None:
    page = running.page
    assert page.backend.health_problems() == {}
    for options in ({"beam_size": 3}, {"seed": 1}):
        request = page.check({"text": TEXT, **options})
        *before, last = page.stream(request, Event())
        running.expect_right(last.translation, request)
        expected = list(Service(TOY).stream(request, Event()))
        assert [each.text for each in before] == [each.text for each in expected[:-1]]
        running.expect_right(page.translate(request), request)
    assert (
        page.run_on_classifier(measure_negation, "good").denied
        == running.here.run_on_classifier(measure_negation, "good").denied
    )
    with pytest.raises(PageError) as error:
        page.translate(replace(request, capture=("encoder.nothing",)))
    assert "encoder.nothing" in str(error.value)
    assert all(key[0] == "model info" for key in page.loaded.cache.keys())  # type: ignore[index]  # noqa: SIM118


def what_is_no_call_is_refused(running: Running) -> None:
    for body in (b"", b"\x80\x04}", b"{}"):
        assert httpx.post(running.address, content=body, timeout=PATIENCE).status_code == 400


def who_leaves_ends_the_work(running: Running) -> None:
    running.forget()
    stop = Event()
    with closing(running.page.stream(running.request(), stop)) as steps:
        assert next(steps).step == 1
        stop.set()
        assert next(steps, None) is None
    soon(lambda: [lines for lines in running.read_notes().values() if lines[-1:] == ["over"]], "the work goes on")
    ((_, *lines),) = running.read_notes().values()
    assert "done" not in lines


def too_many_are_told_so_and_all_others_get_their_answer(running: Running) -> None:
    requests = [running.request(max_length=20 + number) for number in range(32)]

    def ask(request: TranslationRequest) -> Translation | str:
        try:
            return list(running.page.stream(request, Event()))[-1].translation or "nothing"
        except PageError as error:
            return error.word

    with ThreadPoolExecutor(len(requests)) as pool:
        results = list(pool.map(ask, requests))
    answered = [
        (each, request) for each, request in zip(results, requests, strict=True) if isinstance(each, Translation)
    ]
    assert {each for each in results if isinstance(each, str)} == {"cluster_busy"}
    assert 4 <= len(answered) < len(requests)
    for each, request in answered:
        running.expect_right(each, request)


def an_update_loses_no_answer(running: Running) -> None:
    over = Event()

    def ask_until_the_end(number: int) -> int:
        count = 0
        while not over.is_set() or count < 3:
            request = running.request(seed=100 + 1000 * number + count)
            running.expect_right(running.page.translate(request), request)
            count += 1
        return count

    with ThreadPoolExecutor(3) as pool:
        futures = [pool.submit(ask_until_the_end, number) for number in (1, 2)]
        slow = pool.submit(lambda: list(running.page.stream(running.request(), Event())))
        try:
            running.update()
        finally:
            over.set()
        assert all(each.result(PATIENCE) >= 3 for each in futures)
        running.expect_right(slow.result(PATIENCE)[-1].translation, running.request())
    assert len(running.replicas(2)) >= 2
    soon(lambda: not any(alive(number) for number in running.replicas(1)), "old replicas stay")


def alive(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return True


def a_killed_replica_loses_no_answer_and_none_comes_twice(running: Running) -> None:
    running.forget()
    results: list[Progress] = []
    for progress in running.page.stream(running.request(), Event()):
        results.append(progress)
        if len(results) == 2:
            (worker,) = running.read_notes()
            os.kill(worker, signal.SIGKILL)
    assert len(running.read_notes()) == 2, "another replica has not taken over"
    assert [each.step for each in results[:-1]] == list(range(1, len(results)))
    assert [each.translation is not None for each in results] == [False] * (len(results) - 1) + [True]
    running.expect_right(results[-1].translation, running.request())


@pytest.mark.cluster
def test_replicas_scale_with_load(running: Running) -> None:
    assert running.cluster.ask("scale") == "ready", "the cluster has ended"

    def replicas() -> int:
        return int(running.cluster.ask("count"))

    soon(lambda: replicas() == 1, "there is more than one replica while nobody asks")
    over = Event()

    def ask_until_the_end(number: int) -> int:
        count = 0
        while not over.is_set():
            request = running.request(max_length=20 + number)
            running.expect_right(list(running.page.stream(request, Event()))[-1].translation, request)
            count += 1
        return count

    with ThreadPoolExecutor(8) as pool:  # two are answered by one replica, and eight may wait
        futures = [pool.submit(ask_until_the_end, number) for number in range(8)]
        try:
            soon(lambda: replicas() == 3 or any(each.done() for each in futures), "no further replica starts")
        finally:
            over.set()
        assert all(each.result(PATIENCE) for each in futures)
    assert len(running.read_notes()) >= 2, "a further replica has not answered"
    soon(lambda: replicas() == 1, "no replica ends while nobody asks")
