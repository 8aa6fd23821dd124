"""Counts of a school class's quiz answers, without names: one number per question and kind of answer.

A class has a code, which students type, and a secret, with which the teacher reads and deletes the counts. No address
or time of an answer is stored; the address that created a class is in memory until the class expires. The counts are in
this process, or in the shared cache if one is configured. The numbers of classes and answers are limited, and a class
expires after `CLASS_TTL_SECONDS`.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Protocol

from headlight.viz.errors import PageError, repr_short
from headlight.viz.service.record_codec import DecodeError
from headlight.viz.service.shared_cache import SharedCache

LETTERS = "BCDFGHJKLMNPQRSTVWXZ"  # without vowels, so that codes are not words
CODE_LENGTH = 5
MAX_CLASSES = 200
MAX_CLASSES_PER_ADDRESS = 20
MAX_ANSWERS = 20_000  # per class: 500 students with 39 questions
CLASS_TTL_SECONDS = 72 * 3600  # three days, because some questions are asked again after two
SECRET, TOTAL = "secret", "total"  # fields of a class in the shared cache, besides the kinds of answers


class ClassStore(Protocol):
    """Storage of classes by code."""

    def create(self, code: str, digest: str, address: str) -> bool:
        """Store an empty class. Return False if the code is taken."""

    def read(self, code: str) -> Mapping[str, str | int] | None:
        """Return the digest of the secret as `SECRET`, and the counts. None: the class does not exist."""

    def add(self, code: str, name: str) -> None:
        """Count an answer."""

    def delete(self, code: str) -> None:
        """Delete a class."""


class ClassScores:
    """All classes. Thread-safe."""

    def __init__(self, shared: SharedCache | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._store: ClassStore = MemoryClasses(clock) if shared is None else SharedClasses(shared, clock)

    def create(self, address: str) -> tuple[str, str]:
        """Return the code and the secret of a new class. Raise a `PageError` if there are too many."""
        secret = secrets.token_urlsafe(12).replace("-", "x")  # the permalink separates its parts by "-"
        while True:
            code = "".join(secrets.choice(LETTERS) for _ in range(CODE_LENGTH))
            if self._store.create(code, _digest(secret), address):
                return code, secret

    def check(self, code: object) -> str:
        """Return the code of a class as it is stored. Raise a `PageError` if it does not exist."""
        self._find(code)
        return str(code).upper()

    def add(self, code: object, name: str) -> None:
        """Count an answer. Raise a `PageError` if the class has expired or is full."""
        values = self._find(code)
        if int(values.get(TOTAL, 0)) >= MAX_ANSWERS:
            raise PageError("code", "class_full", {"limit": MAX_ANSWERS})
        self._store.add(str(code).upper(), name)

    def counts(self, code: object, secret: object) -> dict[str, int]:
        """Return the number of answers of each kind, for the owner of the secret."""
        values = self._find_with_secret(code, secret)
        return {name: int(count) for name, count in values.items() if name not in (SECRET, TOTAL)}

    def delete(self, code: object, secret: object) -> None:
        """Delete a class, for the owner of the secret."""
        self._find_with_secret(code, secret)
        self._store.delete(str(code).upper())

    def _find(self, code: object) -> Mapping[str, str | int]:
        is_code = isinstance(code, str) and len(code) == CODE_LENGTH and set(code.upper()) <= set(LETTERS)
        values = self._store.read(str(code).upper()) if is_code else None
        if values is None:
            raise _make_class_gone_error(code)
        return values

    def _find_with_secret(self, code: object, secret: object) -> Mapping[str, str | int]:
        values = self._find(code)
        if not hmac.compare_digest(_digest(secret), str(values[SECRET])):
            raise _make_class_gone_error(code)
        return values


def _make_class_gone_error(code: object) -> PageError:
    return PageError("code", "class_gone", {"given": repr_short(code), "hours": CLASS_TTL_SECONDS // 3600})


def _digest(secret: object) -> str:
    return hashlib.sha256(str(secret).encode("utf-8", "replace")).hexdigest()


@dataclass
class StoredClass:
    """A class in the memory of this process."""

    digest: str
    address: str
    ends_at: float  # in seconds of the clock
    counts: Counter[str] = field(default_factory=Counter)  # by kind of answer


class MemoryClasses:
    """Classes in the memory of this process."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._classes: dict[str, StoredClass] = {}
        self._lock = Lock()

    def create(self, code: str, digest: str, address: str) -> bool:
        """See `ClassStore.create`. Raises `PageError` at the limit of all classes or of one address."""
        with self._lock:
            self._drop_expired()
            from_address = sum(stored.address == address for stored in self._classes.values())
            for count, limit in ((from_address, MAX_CLASSES_PER_ADDRESS), (len(self._classes), MAX_CLASSES)):
                if count >= limit:
                    raise PageError("code", "classes_full", {"limit": limit})
            if code in self._classes:
                return False
            self._classes[code] = StoredClass(digest, address, self._clock() + CLASS_TTL_SECONDS)
            return True

    def read(self, code: str) -> Mapping[str, str | int] | None:
        """See `ClassStore.read`."""
        with self._lock:
            self._drop_expired()
            stored = self._classes.get(code)
            return None if stored is None else {**stored.counts, SECRET: stored.digest, TOTAL: stored.counts.total()}

    def add(self, code: str, name: str) -> None:
        """See `ClassStore.add`."""
        with self._lock:
            if code in self._classes:
                self._classes[code].counts[name] += 1

    def delete(self, code: str) -> None:
        """See `ClassStore.delete`."""
        with self._lock:
            self._classes.pop(code, None)

    def _drop_expired(self) -> None:
        now = self._clock()
        for code in [code for code, stored in self._classes.items() if stored.ends_at <= now]:
            del self._classes[code]


class SharedClasses:
    """Classes in the shared cache, for all page processes. The cache deletes them when they expire.

    Each process limits the classes that it creates, so that the cache contains no addresses.
    """

    def __init__(self, shared: SharedCache, clock: Callable[[], float]) -> None:
        self._shared = shared
        self._created = MemoryClasses(clock)

    def create(self, code: str, digest: str, address: str) -> bool:
        """See `ClassStore.create`."""
        if not self._created.create(code, digest, address):
            return False
        is_new = False
        try:
            is_new = bool(self._run_command("hsetnx", _make_key(code), SECRET, digest))
            if is_new:
                self._run_command("expire", _make_key(code), CLASS_TTL_SECONDS)
        finally:
            if not is_new:
                self._created.delete(code)
        return is_new

    def read(self, code: str) -> Mapping[str, str | int] | None:
        """See `ClassStore.read`."""
        values = {
            name.decode(): value.decode() for name, value in self._run_command("hgetall", _make_key(code)).items()
        }
        return values if SECRET in values else None

    def add(self, code: str, name: str) -> None:
        """See `ClassStore.add`. A class that was deleted in the meantime stays deleted."""
        for field_name in (name, TOTAL):
            self._run_command("hincrby", _make_key(code), field_name, 1)
        if not self._run_command("hexists", _make_key(code), SECRET):
            self._run_command("delete", _make_key(code))

    def delete(self, code: str) -> None:
        """See `ClassStore.delete`."""
        self._run_command("delete", _make_key(code))
        self._created.delete(code)

    def _run_command(self, command: str, *arguments: str | int) -> Any:
        try:
            result = self._shared.command(command, *arguments)
        except DecodeError:
            result = None
        if result is None:
            raise PageError("code", "class_unreachable")
        return result


def _make_key(code: str) -> str:
    return f"headlight:class:{code}"
