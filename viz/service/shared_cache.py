"""Translation cache in Redis or Valkey, shared by page processes.

    with shared.slot(key, rule, stop) as slot:
        answer = slot.cached or slot.publish(make())

The cache is optional: if it is slow, full or down, `cached` is None. After a failure, no command is sent for
`BACK_OFF_SECONDS`. The Redis server limits its size (`maxmemory` with `allkeys-lru`).
"""

from __future__ import annotations

import hashlib
import logging
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

from headlight import __version__
from headlight.model.records import ReliabilityRule, Translation
from headlight.viz.service.record_codec import (
    FORMAT,
    DecodeError,
    canonical_text,
    decode_translation,
    encode_translation,
)
from headlight.viz.service.translation_cache import CacheKey
from headlight.viz.settings import SettingsError

TTL_SECONDS = 86_400  # one day
MAX_ANSWER_BYTES = 16_000_000  # larger answers are not stored
CONNECT_TIMEOUT, RESPONSE_TIMEOUT = 0.3, 1.0  # seconds until the cache is considered down
BACK_OFF_SECONDS = 10.0  # seconds without commands after a failure
LOCK_TTL_SECONDS = 5.0  # a lock expires after this time unless its process renews it
POLL_SECONDS = 0.03  # seconds between two lookups while another process computes

LOG = logging.getLogger(__name__)


class SharedSlot:
    """A lookup in the shared cache: the cached answer, or the lock to compute it."""

    def __init__(
        self, shared: SharedCache | None = None, name: str = "", translation: Translation | None = None
    ) -> None:
        self.cached = translation
        self._shared, self._name = shared, name

    def publish(self, translation: Translation) -> Translation:
        """Store an answer for all processes and return it."""
        if self._shared is not None and not self._shared.is_backing_off:
            self._shared.store(self._name, translation)
        return translation


NOT_SHARED = SharedSlot()  # used if no shared cache is configured


class SharedCache:
    """A client of the cache at a URL. Thread-safe."""

    def __init__(self, url: str) -> None:
        try:
            import valkey
        except ImportError as error:
            raise SettingsError(
                "HEADLIGHT_CACHE_URL is set, but the package valkey is not installed. "
                "Run `pip install 'headlight-attention[cluster]'`, or unset it."
            ) from error
        try:
            self._client: Any = valkey.Valkey.from_url(
                url, socket_connect_timeout=CONNECT_TIMEOUT, socket_timeout=RESPONSE_TIMEOUT
            )
        except ValueError as error:
            raise SettingsError(
                "HEADLIGHT_CACHE_URL must be an address such as redis://127.0.0.1:6379/0. Change or unset it."
            ) from error
        self._errors: tuple[type[Exception], ...] = (valkey.ValkeyError, OSError)
        self._back_off_until = 0.0

    @property
    def is_backing_off(self) -> bool:
        """Whether the cache is in back-off after a failure."""
        return time.monotonic() < self._back_off_until

    def command(self, command: str, *arguments: Any, **options: Any) -> Any:
        """Run a command. Returns None during back-off."""
        if self.is_backing_off:
            return None
        try:
            return getattr(self._client, command)(*arguments, **options)
        except self._errors as error:
            self._back_off_until = time.monotonic() + BACK_OFF_SECONDS
            LOG.warning(
                "The shared cache does not answer (%s); for %.0f s we go on without.",
                type(error).__name__,
                BACK_OFF_SECONDS,
            )
            return None

    def store(self, name: str, translation: Translation) -> None:
        """Store an answer unless it is too large or cannot be encoded."""
        try:
            encoded = encode_translation(translation)
        except DecodeError:
            LOG.exception("An answer cannot be shared.")
            return
        if len(encoded) <= MAX_ANSWER_BYTES:
            self.command("set", name, encoded, ex=TTL_SECONDS)

    @contextmanager
    def slot(self, key: CacheKey, rule: ReliabilityRule | None, stop: Event | None = None) -> Iterator[SharedSlot]:
        """Wait for the answer from another process, or acquire the lock to compute it."""
        name, token = cache_name(key), secrets.token_hex(8)
        result = self._find(name, rule)
        is_leader = result is None and self._try_lock(name, token)
        while result is None and not is_leader and not self.is_backing_off and not (stop is not None and stop.is_set()):
            time.sleep(POLL_SECONDS)
            result = self._find(name, rule)
            is_leader = result is None and self._try_lock(name, token)
        done = Event()
        # A thread renews the lock, because a remote call blocks until it ends.
        if is_leader:
            Thread(target=self._keep_lock_alive, args=(name, done), name="shared answers", daemon=True).start()
        try:
            yield SharedSlot(self, name, result)
        finally:
            done.set()
            if is_leader and self.command("get", f"{name}:lead") == token.encode():
                self.command("delete", f"{name}:lead")

    def _keep_lock_alive(self, name: str, done: Event) -> None:
        """Renew the lock of this process until `done` is set."""
        while not done.wait(LOCK_TTL_SECONDS / 4):
            self.command("pexpire", f"{name}:lead", round(1000 * LOCK_TTL_SECONDS))

    def _try_lock(self, name: str, token: str) -> bool:
        return bool(self.command("set", f"{name}:lead", token, nx=True, px=round(1000 * LOCK_TTL_SECONDS)))

    def _find(self, name: str, rule: ReliabilityRule | None) -> Translation | None:
        encoded = self.command("get", name)
        try:
            return decode_translation(encoded, rule) if encoded else None
        except DecodeError:
            self.command("delete", name)
            return None


def cache_name(key: CacheKey) -> str:
    """Return the Redis key of an answer: a hash, so that it reveals no user text."""
    # The version is part of the key, because versions may compute different answers.
    digest = hashlib.sha256(f"{__version__}\n{key.revision}\n{canonical_text(key.request)}".encode()).hexdigest()
    return f"headlight:{FORMAT}:{digest}"
