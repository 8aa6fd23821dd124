"""The model cache: loaded models, bounded by bytes. The least recently used idle model is evicted first.

    with cache.use("de-en", load) as translator:
        translator.translate(text)

The first request loads a model and concurrent ones wait for it; different models load in parallel. Models in use are
not evicted, nor is the most recently used one, even if it exceeds the limit: the next request would load it again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from headlight.viz.service.lru import ByteLru
from headlight.viz.service.single_flight import Leader, SingleFlight

Model = TypeVar("Model")


@dataclass
class _Entry(Generic[Model]):
    """A model with its size and the number of requests that use it."""

    model: Model
    bytes: int
    users: int = 0


class ModelCache(Generic[Model]):
    """Models by key. `count_bytes` returns the size of a model. Thread-safe."""

    def __init__(self, limit_bytes: int, count_bytes: Callable[[Model], int]) -> None:
        self._count_bytes = count_bytes
        self._models: ByteLru[_Entry[Model]] = ByteLru(limit_bytes, in_use=lambda entry: entry.users > 0)
        # If loading fails, each waiting request retries, because memory may be free by then.
        self._flights: SingleFlight[_Entry[Model]] = SingleFlight(shares=lambda error: False, only_stored=True)

    @property
    def bytes(self) -> int:
        """Size of all cached models."""
        with self._flights.changed:
            return self._models.bytes

    def keys(self) -> list[Hashable]:
        """Return the keys of all cached models, least recently used first."""
        with self._flights.changed:
            return self._models.keys()

    @contextmanager
    def use(self, key: Hashable, load: Callable[[], Model]) -> Iterator[Model]:
        """Yield the model of this key, loaded if necessary. It stays cached until the end of the block."""
        result = self._flights.get_or_lead(
            key, find=lambda: self._acquire(key), keep=lambda loaded: self._store(key, loaded)
        )
        entry = self._load(result, load) if isinstance(result, Leader) else result
        assert entry is not None  # noqa: S101 - None is only returned to cancellable requests
        try:
            yield entry.model
        finally:
            with self._flights.changed:
                entry.users -= 1
                self._models.evict()

    def _acquire(self, key: Hashable) -> _Entry[Model] | None:
        entry = self._models.get(key)
        if entry is not None:
            entry.users += 1
            self._models.evict()  # the model used before may exceed the limit and can now be evicted
        return entry

    def _load(self, lead: Leader[_Entry[Model]], load: Callable[[], Model]) -> _Entry[Model]:
        with lead:
            model = load()
            return lead.finish(_Entry(model, self._count_bytes(model), users=1))

    def _store(self, key: Hashable, entry: _Entry[Model]) -> None:
        self._models.put(key, entry, entry.bytes)
