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
class FakeModel:
    """A model with a size in bytes, for the cache."""

    key: str

    @property
    def weight(self) -> int:
        return SIZES[self.key]


def model_cache(limit: int) -> ModelCache[FakeModel]:
    return ModelCache(limit, lambda thing: thing.weight)


def use(cache: ModelCache[FakeModel], *keys: str) -> list[FakeModel]:
    models = []
    for key in keys:
        with cache.use(key, lambda key=key: FakeModel(key)) as model:
            models.append(model)
    return models


def test_model_is_loaded_once_and_cached() -> None:
    cache = model_cache(100)
    first, second = use(cache, "a", "a")
    assert first is second
    assert cache.bytes == 2


def test_least_recently_used_models_are_evicted_as_needed() -> None:
    cache = model_cache(2 + 3 + 5)
    use(cache, "a", "b", "c", "a", "d")
    assert cache.keys() == ["a", "d"]  # b and c made room for d, which needs both


def test_model_in_use_is_evicted_only_after_release() -> None:
    cache = model_cache(7)
    with cache.use("c", lambda: FakeModel("c")) as model:
        use(cache, "d", "a")
        assert cache.keys() == ["c", "a"]
        assert use(cache, "c") == [model]
        use(cache, "d")
        assert cache.keys() == ["c", "d"]
        assert cache.bytes == 12
    assert cache.keys() == ["d"]


def test_last_used_model_stays_even_if_too_large() -> None:
    cache = model_cache(7)
    assert len(set(use(cache, "f", "f"))) == 1
    assert cache.keys() == ["f"]
    use(cache, "a")
    assert cache.keys() == ["a"]


def test_model_with_two_users_stays_until_both_release() -> None:
    cache = model_cache(1)
    with cache.use("a", lambda: FakeModel("a")) as model:
        with cache.use("a", lambda: FakeModel("a")) as same:
            assert same is model
        use(cache, "b")
        assert cache.keys() == ["a", "b"]
    assert cache.keys() == ["b"]


def test_error_in_block_releases_model() -> None:
    cache = model_cache(1)
    with pytest.raises(ZeroDivisionError), cache.use("a", lambda: FakeModel("a")):
        raise ZeroDivisionError
    use(cache, "b")
    assert cache.keys() == ["b"]


def test_concurrent_requests_share_one_load() -> None:
    cache, loads, start = model_cache(100), [], Barrier(7)

    def load() -> FakeModel:
        loads.append(1)
        return FakeModel("a")

    def ask(_: int) -> FakeModel:
        start.wait(60)
        with cache.use("a", load) as model:
            return model

    with ThreadPoolExecutor(7) as pool:
        assert len(set(pool.map(ask, range(7)))) == 1
    assert len(loads) == 1


def test_load_does_not_block_other_models() -> None:
    cache, both = model_cache(100), Barrier(2)

    def ask(key: str) -> str:
        def load() -> FakeModel:
            both.wait(60)  # passed only if both load at once
            return FakeModel(key)

        with cache.use(key, load) as model:
            return model.key

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(ask, "ab")) == ["a", "b"]


def test_failed_load_is_retried_by_next_waiter() -> None:
    cache, loading, go = model_cache(100), Event(), Event()

    def fail() -> FakeModel:
        loading.set()
        assert go.wait(60)
        raise OSError("expected failure")

    def use_failing() -> None:
        with cache.use("a", fail):
            raise AssertionError

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(use_failing)
        assert loading.wait(60)
        second = pool.submit(use, cache, "a")
        go.set()
        with pytest.raises(OSError, match="expected failure"):
            first.result(60)
        assert second.result(60)[0].key == "a"
    assert cache.keys() == ["a"]


def test_model_of_unknown_size_is_not_cached() -> None:
    cache: ModelCache[str] = ModelCache(100, {"known": 1}.__getitem__)
    with pytest.raises(KeyError), cache.use("x", lambda: "unknown"):
        raise AssertionError
    with cache.use("x", lambda: "known") as model:
        assert model == "known"


def test_evicted_model_frees_memory() -> None:
    cache: ModelCache[Translator] = ModelCache(1, lambda translator: translator.weight_bytes)

    def translate(key: str) -> weakref.ref[object]:
        with cache.use(key, lambda: Translator.load(MODELS / "toy")) as translator:
            translator.translate("ich mochte ein bier")
            return weakref.ref(translator.model)

    first, second = translate("first"), translate("second")
    assert first() is None
    assert second() is not None


class ModelCacheMachine(RuleBasedStateMachine):
    """Use and release models in any order; compare with a simple reference implementation of the cache."""

    LIMIT = 13

    def __init__(self) -> None:
        super().__init__()
        self.cache = model_cache(self.LIMIT)
        self.order: list[str] = []
        self.in_use: list[tuple[str, ExitStack]] = []
        self.models: dict[str, FakeModel] = {}

    @rule(key=st.sampled_from(sorted(SIZES)))
    def use(self, key: str) -> None:
        stack = ExitStack()
        model = stack.enter_context(self.cache.use(key, lambda: FakeModel(key)))
        if key in self.order:
            assert model is self.models[key]
            self.order.remove(key)
        self.models[key] = model
        self.order.append(key)
        self.in_use.append((key, stack))
        self.evict()

    @precondition(lambda self: self.in_use)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        place = data.draw(st.integers(0, len(self.in_use) - 1))
        self.in_use.pop(place)[1].close()
        self.evict()

    def evict(self) -> None:
        """Evict the least recently used models that are not in use until the rest fits."""
        used = {key for key, _ in self.in_use}
        while sum(SIZES[key] for key in self.order) > self.LIMIT:
            evicted = next((key for key in self.order[:-1] if key not in used), None)
            if evicted is None:
                return
            self.order.remove(evicted)

    @invariant()
    def cache_matches_reference(self) -> None:
        assert self.cache.keys() == self.order
        assert self.cache.bytes == sum(SIZES[key] for key in self.order)
        assert {key for key, _ in self.in_use} <= set(self.order)

    def teardown(self) -> None:
        for _, stack in self.in_use:
            stack.close()


ModelCacheMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestModelCacheMachine = ModelCacheMachine.TestCase


def test_concurrent_use_keeps_models_and_loads_once() -> None:
    cache, start, lock = model_cache(13), Barrier(8), Lock()
    loading: Counter[str] = Counter()
    users: Counter[str] = Counter()  # of each model
    faults: list[str] = []

    def load(key: str) -> FakeModel:
        with lock:
            loading[key] += 1
            if loading[key] > 1:
                faults.append(f"{key} is loaded twice at once")
            if users[key]:
                faults.append(f"{key} is loaded again while it is in use")
        model = FakeModel(key)
        with lock:
            loading[key] -= 1
        return model

    def visit(seed: int) -> None:
        chance = random.Random(seed)  # noqa: S311 - the order of models is not secret
        start.wait(60)
        end = monotonic() + 60
        for _ in range(300):
            assert monotonic() < end
            key = chance.choice("abcdef")
            with cache.use(key, lambda key=key: load(key)) as model:
                with lock:
                    users[key] += 1
                if model.key != key or key not in cache.keys():  # noqa: SIM118
                    faults.append(f"{key} was evicted while it was in use")
                with lock:
                    users[key] -= 1

    with ThreadPoolExecutor(8) as pool:
        for each in [pool.submit(visit, seed) for seed in range(8)]:
            each.result(120)
    assert faults == []
    assert cache.bytes <= 13 or len(cache.keys()) == 1
