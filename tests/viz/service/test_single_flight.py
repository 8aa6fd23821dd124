"""Concurrent identical work is done once; progress, results and errors reach all waiters."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from headlight.viz.service.lru import ByteLru
from headlight.viz.service.single_flight import Leader, SingleFlight
from tests.waiting import until


def led(flights: SingleFlight[str], key: str = "a", **given: Callable[..., object]) -> Leader[str]:
    found = flights.get_or_lead(key, **given)  # type: ignore[arg-type]
    assert isinstance(found, Leader)
    return found


def test_waiters_get_progress_and_result() -> None:
    flights: SingleFlight[str] = SingleFlight()
    heard: list[int] = []
    with led(flights) as lead, ThreadPoolExecutor(1) as pool:
        waits = pool.submit(flights.get_or_lead, "a", on_progress=heard.append)
        for number in (1, 2, 3):
            lead.report_progress(number)
            until(lambda number=number: number in heard)  # type: ignore[misc]
        lead.finish("made")
        assert waits.result(60) == "made"
    assert heard == [1, 2, 3]
    assert flights.keys() == set()


@pytest.mark.parametrize("shared", [True, False])
def test_waiters_get_only_shared_errors(shared: bool) -> None:
    flights: SingleFlight[str] = SingleFlight(shares=lambda error: shared)
    with ThreadPoolExecutor(1) as pool:
        lead = led(flights)
        waits = pool.submit(flights.get_or_lead, "a")
        until(lambda: flights.waiter_count("a") == 1)
        with pytest.raises(OSError, match="made up"), lead:
            raise OSError("made up")
        if shared:
            with pytest.raises(OSError, match="made up"):
                waits.result(60)
        else:
            assert isinstance(waits.result(60), Leader)


def test_waiter_uses_cached_result_or_becomes_leader() -> None:
    flights: SingleFlight[str] = SingleFlight(only_stored=True)
    kept: dict[str, str] = {}
    for keep, expected in ((kept.clear, Leader), (lambda: kept.update(a="kept"), str)):
        with ThreadPoolExecutor(1) as pool:
            with led(flights, keep=lambda made, keep=keep: keep()) as lead:
                waits = pool.submit(flights.get_or_lead, "a", find=lambda: kept.get("a"))
                until(lambda: flights.waiter_count("a") == 1)
                lead.finish("made")
            found = waits.result(60)
            assert isinstance(found, expected)
        if isinstance(found, Leader):
            found.finish("")


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
