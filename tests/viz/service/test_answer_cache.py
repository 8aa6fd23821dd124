"""The answer cache: size limit, shared computations, and correct keys."""

from __future__ import annotations

import gc
import pickle
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier, Event

import pytest

from headlight.model.records import KINDS, Translation, TranslationRequest
from headlight.viz.service.single_flight import Leader
from headlight.viz.service.translation_cache import CacheKey, TranslationCache, translation_bytes
from tests.tiny import SENTENCES, tiny_translator
from tests.waiting import until

TRANSLATOR = tiny_translator()
ANSWERS = [TRANSLATOR.translate(text) for text in SENTENCES]
SIZES = [translation_bytes(answer) for answer in ANSWERS]
PLENTY = 10**9


def key(place: int, revision: str = "r") -> CacheKey:
    return CacheKey(revision, ANSWERS[place].request)


def answer_function(place: int, calls: list[int]) -> Callable[[], Translation]:
    def compute() -> Translation:
        calls.append(place)
        return ANSWERS[place]

    return compute


def test_answer_is_computed_once_and_cached() -> None:
    cache, calls = TranslationCache(PLENTY), []
    assert (
        cache.get_or_compute(key(0), answer_function(0, calls))
        is cache.get_or_compute(key(0), answer_function(0, calls))
        is ANSWERS[0]
    )
    assert calls == [0]
    assert cache.bytes == SIZES[0]


@pytest.mark.parametrize(
    "other",
    [
        CacheKey("r", replace(ANSWERS[0].request, text="Ja!")),
        CacheKey("r", replace(ANSWERS[0].request, options=replace(ANSWERS[0].request.options, seed=1))),
        CacheKey("r", replace(ANSWERS[0].request, prefix="The")),
        CacheKey("s", ANSWERS[0].request),
    ],
    ids=["text", "seed", "prefix", "revision"],
)
def test_differing_requests_are_computed_separately(other: CacheKey) -> None:
    cache, calls = TranslationCache(PLENTY), []
    cache.get_or_compute(key(0), answer_function(0, calls))
    assert cache.get_or_compute(other, answer_function(1, calls)) is ANSWERS[1]
    assert calls == [0, 1]


def test_least_recently_used_answer_is_evicted_first() -> None:
    cache, calls = TranslationCache(SIZES[0] + SIZES[2] + SIZES[3]), []
    for place in (0, 2, 3, 0):
        cache.get_or_compute(key(place), answer_function(place, calls))
    cache.get_or_compute(key(4), answer_function(4, calls))  # evicts only 2
    calls.clear()
    cache.get_or_compute(key(0), answer_function(0, calls))
    assert calls == []
    cache.get_or_compute(key(2), answer_function(2, calls))
    assert calls == [2]


def test_cache_size_is_counted_and_limited() -> None:
    limit = max(SIZES) + min(SIZES)
    cache = TranslationCache(limit)
    lengths = []
    for place in (0, 1, 2, 3, 4, 5, 6, 2, 0, 5):
        cache.get_or_compute(key(place), answer_function(place, []))
        assert cache.bytes <= limit
        lengths.append(len(cache))
    assert max(lengths) > 1
    cached = [place for place in range(len(SENTENCES)) if cache.get_or_lead(key(place)) is ANSWERS[place]]
    assert cache.bytes == sum(SIZES[place] for place in cached)


def test_too_large_answer_is_returned_but_not_cached() -> None:
    cache, calls = TranslationCache(SIZES[2] - 1), []
    assert cache.get_or_compute(key(2), answer_function(2, calls)) is ANSWERS[2]
    assert cache.get_or_compute(key(2), answer_function(2, calls)) is ANSWERS[2]
    assert (calls, len(cache), cache.bytes) == ([2, 2], 0, 0)
    cache.get_or_compute(key(1), answer_function(1, calls))
    cache.get_or_compute(key(2), answer_function(2, calls))
    assert cache.get_or_lead(key(1)) is ANSWERS[1]  # it evicts nothing


def test_record_size_estimates() -> None:
    def cost(beam: int) -> tuple[int, int]:
        answer = TRANSLATOR.translate(SENTENCES[2], beam_size=beam, n_best=beam, max_length=47)
        arrays = [answer.attention.of(kind) for kind in KINDS] + list(answer.positions.values())
        records = (answer.source_tokens, answer.target_tokens, answer.tree, answer.hypotheses)
        packed = pickle.dumps(records)
        gc.collect()
        tracemalloc.start()
        copies = pickle.loads(packed)  # noqa: S301 - made above
        spent = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        assert copies == records
        return spent, translation_bytes(answer) - sum(array.nbytes for array in arrays)

    for beam in (1, 7):
        spent, estimate = cost(beam)
        assert 0.7 * spent < estimate < 1.5 * spent + 4096


@pytest.mark.parametrize("limit", [PLENTY, 0], ids=["cached", "too large to cache"])
def test_concurrent_identical_requests_are_computed_once(limit: int) -> None:
    cache, calls, go = TranslationCache(limit), [], Event()
    visitors = 11
    start = Barrier(visitors)

    def slow() -> Translation:
        calls.append(0)
        assert go.wait(60)
        return ANSWERS[0]

    def visit() -> Translation:
        start.wait(60)
        return cache.get_or_compute(key(0), slow)

    with ThreadPoolExecutor(visitors) as pool:
        visits = [pool.submit(visit) for _ in range(visitors)]
        until(lambda: cache.waiter_count(key(0)) == visitors - 1)
        go.set()
        assert all(visit.result(60) is ANSWERS[0] for visit in visits)
    assert calls == [0]


def test_different_requests_run_concurrently() -> None:
    cache = TranslationCache(PLENTY)
    both = Barrier(2)

    def make(place: int) -> Translation:
        both.wait(60)  # passed only if both are computed at once
        return ANSWERS[place]

    with ThreadPoolExecutor(2) as pool:
        visits = [pool.submit(cache.get_or_compute, key(place), lambda place=place: make(place)) for place in (3, 5)]
        assert [visit.result(60) for visit in visits] == [ANSWERS[3], ANSWERS[5]]


def test_waiter_takes_over_cancelled_computation() -> None:
    cache, calls = TranslationCache(PLENTY), []
    lead = cache.get_or_lead(key(0))
    assert isinstance(lead, Leader)
    with ThreadPoolExecutor(3) as pool:
        with lead:
            visits = [pool.submit(cache.get_or_compute, key(0), answer_function(0, calls)) for _ in range(3)]
            until(lambda: cache.waiter_count(key(0)) == 3)
        assert [visit.result(60) for visit in visits] == [ANSWERS[0]] * 3
    assert calls == [0]


def test_error_reaches_all_waiters_and_is_not_cached() -> None:
    cache, calls = TranslationCache(PLENTY), []
    lead = cache.get_or_lead(key(0))
    assert isinstance(lead, Leader)
    with ThreadPoolExecutor(2) as pool:

        def fail() -> None:
            with lead:
                until(lambda: cache.waiter_count(key(0)) == 1)
                raise ZeroDivisionError("expected failure")

        failing = pool.submit(fail)
        waiter = pool.submit(cache.get_or_compute, key(0), answer_function(0, calls))
        for visit in (failing, waiter):
            with pytest.raises(ZeroDivisionError, match="expected failure"):
                visit.result(60)
    assert calls == []
    assert cache.get_or_compute(key(0), answer_function(0, calls)) is ANSWERS[0]


def test_waiting_request_can_be_cancelled() -> None:
    cache, cancelled = TranslationCache(PLENTY), Event()
    lead = cache.get_or_lead(key(0))
    assert isinstance(lead, Leader)
    with lead, ThreadPoolExecutor(1) as pool:
        visit = pool.submit(cache.get_or_lead, key(0), cancelled)
        until(lambda: cache.waiter_count(key(0)) == 1)
        cancelled.set()
        assert visit.result(60) is None
    assert isinstance(cache.get_or_lead(key(0)), Leader)


def test_silent_leader_is_abandoned() -> None:
    cache, calls = TranslationCache(PLENTY, leader_timeout_s=0.0), []
    dead = cache.get_or_lead(key(0))
    assert isinstance(dead, Leader)
    assert cache.get_or_compute(key(0), answer_function(0, calls)) is ANSWERS[0]
    dead.finish(ANSWERS[0])  # late, after another took over
    assert calls == [0]
    assert (len(cache), cache.bytes) == (1, SIZES[0])


def test_concurrent_visitors_get_their_own_answers() -> None:
    cache = TranslationCache(max(SIZES) + min(SIZES))  # entries are evicted all the time
    start = Barrier(8)

    def visit(seed: int) -> list[bool]:
        start.wait(60)
        places = [(seed * 5 + step * (seed + 1)) % len(SENTENCES) for step in range(200)]
        return [cache.get_or_compute(key(place), answer_function(place, [])) is ANSWERS[place] for place in places]

    with ThreadPoolExecutor(8) as pool:
        assert all(all(visit) for visit in pool.map(visit, range(8)))


def test_cache_key_ignores_visitor() -> None:
    one, other = TranslationRequest(text="Ja."), TranslationRequest(text="Ja.")
    assert CacheKey("r", one) == CacheKey("r", other)
