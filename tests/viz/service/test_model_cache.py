"""The model cache: size limit, models in use, and shared loads."""

from __future__ import annotations

import random
import weakref
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from threading import Barrier, Event, Lock
from time import monotonic

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from headlight import Translator
from headlight.viz.service.model_cache import ModelCache
from headlight.viz.settings import MODELS

SIZES = {"a": 2, "b": 3, "c": 5, "d": 7, "e": 11, "f": 101}


@dataclass(eq=False)
class Thing:
    """Something that weighs."""

    key: str

    @property
    def weight(self) -> int:
        return SIZES[self.key]


def cache_of(limit: int) -> ModelCache[Thing]:
    return ModelCache(limit, lambda thing: thing.weight)


def use(cache: ModelCache[Thing], *keys: str) -> list[Thing]:
    found = []
    for key in keys:
        with cache.use(key, lambda key=key: Thing(key)) as thing:
            found.append(thing)
    return found


def test_model_is_loaded_once_and_cached() -> None:
    cache = cache_of(100)
    first, second = use(cache, "a", "a")
    assert first is second
    assert cache.bytes == 2


def test_least_recently_used_models_are_evicted_as_needed() -> None:
    cache = cache_of(2 + 3 + 5)
    use(cache, "a", "b", "c", "a", "d")
    assert cache.keys() == ["a", "d"]  # b and c made room for d, which needs both


def test_model_in_use_is_evicted_only_after_release() -> None:
    cache = cache_of(7)
    with cache.use("c", lambda: Thing("c")) as held:
        use(cache, "d", "a")
        assert cache.keys() == ["c", "a"]
        assert use(cache, "c") == [held]
        use(cache, "d")
        assert cache.keys() == ["c", "d"]
        assert cache.bytes == 12
    assert cache.keys() == ["d"]


def test_last_used_model_stays_even_if_too_large() -> None:
    cache = cache_of(7)
    assert len(set(use(cache, "f", "f"))) == 1
    assert cache.keys() == ["f"]
    use(cache, "a")
    assert cache.keys() == ["a"]


def test_model_with_two_users_stays_until_both_release() -> None:
    cache = cache_of(1)
    with cache.use("a", lambda: Thing("a")) as thing:
        with cache.use("a", lambda: Thing("a")) as same:
            assert same is thing
        use(cache, "b")
        assert cache.keys() == ["a", "b"]
    assert cache.keys() == ["b"]


def test_error_in_block_releases_model() -> None:
    cache = cache_of(1)
    with pytest.raises(ZeroDivisionError), cache.use("a", lambda: Thing("a")):
        raise ZeroDivisionError
    use(cache, "b")
    assert cache.keys() == ["b"]


def test_concurrent_requests_share_one_load() -> None:
    cache, loads, start = cache_of(100), [], Barrier(7)

    def load() -> Thing:
        loads.append(1)
        return Thing("a")

    def ask(_: int) -> Thing:
        start.wait(60)
        with cache.use("a", load) as thing:
            return thing

    with ThreadPoolExecutor(7) as pool:
        assert len(set(pool.map(ask, range(7)))) == 1
    assert len(loads) == 1


def test_load_does_not_block_other_models() -> None:
    cache, both = cache_of(100), Barrier(2)

    def ask(key: str) -> str:
        def load() -> Thing:
            both.wait(60)  # passed only if both load at once
            return Thing(key)

        with cache.use(key, load) as thing:
            return thing.key

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(ask, "ab")) == ["a", "b"]


def test_failed_load_is_retried_by_next_waiter() -> None:
    cache, loading, go = cache_of(100), Event(), Event()

    def fail() -> Thing:
        loading.set()
        assert go.wait(60)
        raise OSError("made up")

    def ask_in_vain() -> None:
        with cache.use("a", fail):
            raise AssertionError

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(ask_in_vain)
        assert loading.wait(60)
        second = pool.submit(use, cache, "a")
        go.set()
        with pytest.raises(OSError, match="made up"):
            first.result(60)
        assert second.result(60)[0].key == "a"
    assert cache.keys() == ["a"]


def test_model_of_unknown_size_is_not_cached() -> None:
    cache: ModelCache[str] = ModelCache(100, {"sound": 1}.__getitem__)
    with pytest.raises(KeyError), cache.use("x", lambda: "odd"):
        raise AssertionError
    with cache.use("x", lambda: "sound") as found:
        assert found == "sound"


def test_evicted_model_frees_memory() -> None:
    cache: ModelCache[Translator] = ModelCache(1, lambda translator: translator.weight_bytes)

    def translate(key: str) -> weakref.ref[object]:
        with cache.use(key, lambda: Translator.load(MODELS / "toy")) as translator:
            translator.translate("ich mochte ein bier")
            return weakref.ref(translator.model)

    first, second = translate("first"), translate("second")
    assert first() is None
    assert second() is not None


class Visitors(RuleBasedStateMachine):
    """Borrow and give back in any order; a plain model of the cache says what must be on it."""

    LIMIT = 13

    def __init__(self) -> None:
        super().__init__()
        self.cache = cache_of(self.LIMIT)
        self.order: list[str] = []
        self.held: list[tuple[str, ExitStack]] = []
        self.things: dict[str, Thing] = {}

    @rule(key=st.sampled_from(sorted(SIZES)))
    def hold(self, key: str) -> None:
        stack = ExitStack()
        thing = stack.enter_context(self.cache.use(key, lambda: Thing(key)))
        if key in self.order:
            assert thing is self.things[key]
            self.order.remove(key)
        self.things[key] = thing
        self.order.append(key)
        self.held.append((key, stack))
        self.settle()

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def give_back(self, data: st.DataObject) -> None:
        place = data.draw(st.integers(0, len(self.held) - 1))
        self.held.pop(place)[1].close()
        self.settle()

    def settle(self) -> None:
        """The rule in the plainest words."""
        used = {key for key, _ in self.held}
        while sum(SIZES[key] for key in self.order) > self.LIMIT:
            leaving = next((key for key in self.order[:-1] if key not in used), None)
            if leaving is None:
                return
            self.order.remove(leaving)

    @invariant()
    def all_is_as_it_must_be(self) -> None:
        assert self.cache.keys() == self.order
        assert self.cache.bytes == sum(SIZES[key] for key in self.order)
        assert {key for key, _ in self.held} <= set(self.order)

    def teardown(self) -> None:
        for _, stack in self.held:
            stack.close()


Visitors.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestVisitors = Visitors.TestCase


def test_concurrent_use_keeps_models_and_loads_once() -> None:
    cache, start, lock = cache_of(13), Barrier(8), Lock()
    loading: Counter[str] = Counter()
    alive: Counter[str] = Counter()  # how many hold it
    faults: list[str] = []

    def load(key: str) -> Thing:
        with lock:
            loading[key] += 1
            if loading[key] > 1:
                faults.append(f"{key} is loaded twice at once")
            if alive[key]:
                faults.append(f"{key} is loaded again while it is held")
        thing = Thing(key)
        with lock:
            loading[key] -= 1
        return thing

    def visit(seed: int) -> None:
        chance = random.Random(seed)  # noqa: S311 - which model comes next is no secret
        start.wait(60)
        end = monotonic() + 60
        for _ in range(300):
            assert monotonic() < end
            key = chance.choice("abcdef")
            with cache.use(key, lambda key=key: load(key)) as thing:
                with lock:
                    alive[key] += 1
                if thing.key != key or key not in cache.keys():  # noqa: SIM118
                    faults.append(f"{key} left while it was held")
                with lock:
                    alive[key] -= 1

    with ThreadPoolExecutor(8) as pool:
        for each in [pool.submit(visit, seed) for seed in range(8)]:
            each.result(120)
    assert faults == []
    assert cache.bytes <= 13 or len(cache.keys()) == 1
