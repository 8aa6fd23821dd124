"""A least-recently-used cache, bounded by bytes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class ByteLru(Generic[Value]):
    """Values by key, with their sizes. Not thread-safe: callers hold a lock.

    Values for which `in_use` is true are never evicted, nor is the most recently used one, even if it exceeds the
    limit.
    """

    def __init__(self, limit_bytes: int, in_use: Callable[[Value], bool] = lambda value: False) -> None:
        self.limit_bytes = limit_bytes
        self.bytes = 0
        self._in_use = in_use
        self._entries: OrderedDict[Hashable, tuple[Value, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def keys(self) -> list[Hashable]:
        """Return all keys, least recently used first."""
        return list(self._entries)

    def get(self, key: Hashable) -> Value | None:
        """Return the value and mark it as used."""
        if key in self._entries:
            self._entries.move_to_end(key)
        return self.peek(key)

    def peek(self, key: Hashable) -> Value | None:
        """Return the value without marking it as used."""
        entry = self._entries.get(key)
        return None if entry is None else entry[0]

    def pop(self, key: Hashable) -> Value | None:
        """Remove and return the value."""
        value, size = self._entries.pop(key, (None, 0))
        self.bytes -= size
        return value

    def put(self, key: Hashable, value: Value, size: int) -> None:
        """Store or replace a value, and evict others until the limit is met."""
        self.pop(key)
        self._entries[key] = value, size
        self.bytes += size
        self.evict()

    def evict(self) -> None:
        """Evict unused values, least recently used first, until the limit is met or only values in use remain."""
        for key in list(self._entries)[:-1]:
            if self.bytes <= self.limit_bytes:
                return
            value, size = self._entries[key]
            if not self._in_use(value):
                del self._entries[key]
                self.bytes -= size
