"""Concurrent identical work is done once; progress, results and errors reach all waiters."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from headlight.viz.service.lru import ByteLru
from headlight.viz.service.single_flight import Leader, SingleFlight
from tests.waiting import until


def lead_flight(flights: SingleFlight[str], key: str = "a", **callbacks: Callable[..., object]) -> Leader[str]:
    leader = flights.get_or_lead(key, **callbacks)  # type: ignore[arg-type]
    assert isinstance(leader, Leader)
    return leader


def test_waiters_get_progress_and_result() -> None:
    flights: SingleFlight[str] = SingleFlight()
    progress: list[int] = []
    with lead_flight(flights) as lead, ThreadPoolExecutor(1) as pool:
        waiter = pool.submit(flights.get_or_lead, "a", on_progress=progress.append)
        for number in (1, 2, 3):
            lead.report_progress(number)
            until(lambda number=number: number in progress)  # type: ignore[misc]
        lead.finish("result")
        assert waiter.result(60) == "result"
    assert progress == [1, 2, 3]
    assert flights.keys() == set()


@pytest.mark.parametrize("shared", [True, False])
def test_waiters_get_only_shared_errors(shared: bool) -> None:
    flights: SingleFlight[str] = SingleFlight(shares=lambda error: shared)
    with ThreadPoolExecutor(1) as pool:
        lead = lead_flight(flights)
        waiter = pool.submit(flights.get_or_lead, "a")
        until(lambda: flights.waiter_count("a") == 1)
        with pytest.raises(OSError, match="expected failure"), lead:
            raise OSError("expected failure")
        if shared:
            with pytest.raises(OSError, match="expected failure"):
                waiter.result(60)
        else:
            assert isinstance(waiter.result(60), Leader)


def test_waiter_uses_cached_result_or_becomes_leader() -> None:
    flights: SingleFlight[str] = SingleFlight(only_stored=True)
    cache: dict[str, str] = {}
    for keep, expected in ((cache.clear, Leader), (lambda: cache.update(a="kept"), str)):
        with ThreadPoolExecutor(1) as pool:
            with lead_flight(flights, keep=lambda result, keep=keep: keep()) as lead:
                waiter = pool.submit(flights.get_or_lead, "a", find=lambda: cache.get("a"))
                until(lambda: flights.waiter_count("a") == 1)
                lead.finish("result")
            outcome = waiter.result(60)
            assert isinstance(outcome, expected)
        if isinstance(outcome, Leader):
            outcome.finish("")


def test_replaced_entry_is_counted_once_and_evicted_last() -> None:
    cache: ByteLru[str] = ByteLru(11)
    for key, size in (("a", 2), ("b", 3), ("a", 5), ("c", 3)):
        cache.put(key, key * size, size)
    assert (cache.keys(), cache.bytes, cache.peek("a")) == (["b", "a", "c"], 11, "aaaaa")
    cache.put("d", "d", 1)
    assert (cache.keys(), cache.bytes, len(cache)) == (["a", "c", "d"], 9, 3)


def test_peek_keeps_order_and_get_changes_it() -> None:
    cache: ByteLru[int] = ByteLru(2)
    cache.put("a", 1, 1)
    cache.put("b", 2, 1)
    assert (cache.peek("a"), cache.keys()) == (1, ["a", "b"])
    assert (cache.get("a"), cache.get("z"), cache.keys()) == (1, None, ["b", "a"])
