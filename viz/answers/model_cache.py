"""Loaded models, bounded by bytes: the least recently used one that nobody holds leaves first.

    with shelf.borrow("de-en", load) as translator:
        translator.translate(text)

Who asks first loads; who asks for the same in the meantime waits for that, and nobody waits for another's. A model in
use never leaves, nor does the one that was used last, even where it alone is larger than the limit: it would only be
loaded again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Condition
from typing import Generic, TypeVar

Model = TypeVar("Model")


@dataclass
class _Entry(Generic[Model]):
    """A model with what it weighs, and by how many it is held."""

    model: Model
    bytes: int
    holders: int = 0


class ModelCache(Generic[Model]):
    """Models by key. `weigh` tells how many bytes one takes. Threads may share it."""

    def __init__(self, limit_bytes: int, weigh: Callable[[Model], int]) -> None:
        self.limit_bytes = limit_bytes
        self._weigh = weigh
        self._books: OrderedDict[Hashable, _Entry[Model]] = OrderedDict()  # the least recently used first
        self._loading: set[Hashable] = set()
        self._changed = Condition()

    @property
    def bytes(self) -> int:
        """Of all models that stand here."""
        with self._changed:
            return self._bytes()

    def keys(self) -> list[Hashable]:
        """Which models stand here, the least recently used first."""
        with self._changed:
            return list(self._books)

    def find(self, key: Hashable) -> Model | None:
        """A model that stands here now; for those who hold it already. It takes no lock: a forked process may ask."""
        book = self._books.get(key)
        return None if book is None else book.model

    @contextmanager
    def borrow(self, key: Hashable, load: Callable[[], Model]) -> Iterator[Model]:
        """The model of this key, loaded where it is not here; it stays until the end of the block.

        Where loading fails, whoever waited for it tries again.
        """
        book = self._take(key) or self._load(key, load)
        try:
            yield book.model
        finally:
            with self._changed:
                book.holders -= 1
                self._make_room()

    def _take(self, key: Hashable) -> _Entry[Model] | None:
        """The model that is here, after waiting for it if somebody loads it; or nothing, and it is ours to load."""
        with self._changed:
            self._changed.wait_for(lambda: key not in self._loading)
            book = self._books.get(key)
            if book is None:
                self._loading.add(key)
                return None
            self._books.move_to_end(key)
            book.holders += 1
            self._make_room()  # the one that was used last until now may leave, where it is too large
            return book

    def _load(self, key: Hashable, load: Callable[[], Model]) -> _Entry[Model]:
        try:
            model = load()
            book = _Entry(model, self._weigh(model), holders=1)
        except BaseException:
            with self._changed:
                self._loading.discard(key)
                self._changed.notify_all()
            raise
        with self._changed:
            self._loading.discard(key)
            self._books[key] = book
            self._make_room()
            self._changed.notify_all()
        return book

    def _make_room(self) -> None:
        *others, _ = self._books.items() or [(None, None)]
        for key, book in others:
            if self._bytes() <= self.limit_bytes:
                return
            if book is not None and book.holders == 0:
                del self._books[key]

    def _bytes(self) -> int:
        return sum(book.bytes for book in self._books.values())
