"""Translation cache in Redis or Valkey, shared by page processes.

    with shared.slot(key, rule, stop) as slot:
        answer = slot.cached or slot.publish(make())

The cache is optional: if it is slow, full or down, `cached` is None. After a failure, no command is sent for
`BACK_OFF_SECONDS`. The Redis server limits its size (`maxmemory` with `allkeys-lru`).

The server is not trusted: entries are decoded without running code, checked, and deleted if they are wrong. With
`HEADLIGHT_CACHE_KEY`, entries are signed, so the server cannot change an answer. It can still delete and delay them:
a lock that its process does not renew expires, and no process renews one for more than `MAX_LOCK_SECONDS`.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from threading import Event, Thread
from typing import Any

from headlight import __version__, model
from headlight.model.records import ReliabilityRule, Translation
from headlight.viz.service.record_codec import (
    FORMAT,
    DecodeError,
    decode_translation,
    encode_translation,
    make_canonical_text,
)
from headlight.viz.service.translation_cache import CacheKey
from headlight.viz.settings import SettingsError

TTL_SECONDS = 86_400  # one day
MAX_ANSWER_BYTES = 16_000_000  # larger answers are not stored
CONNECT_TIMEOUT_SECONDS, RESPONSE_TIMEOUT_SECONDS = 0.3, 1.0  # seconds until the cache is considered down
BACK_OFF_SECONDS = 10.0  # seconds without commands after a failure
LOCK_TTL_SECONDS = 5.0  # a lock expires after this time unless its process renews it
MAX_LOCK_SECONDS = 120.0  # a process that computes for longer shares its answer, but others stop waiting for it
POLL_SECONDS = 0.03  # seconds between two lookups while another process computes

SIGNATURE_BYTES = hashlib.sha256().digest_size
# Set the expiry of a lock in milliseconds, only if the token is that of its owner. Zero deletes it.
_EXPIRE_OWN_LOCK = "if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('pexpire', KEYS[1], ARGV[2]) end"

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
    """A client of the cache at a URL. Thread-safe. `key`: the secret that signs entries, if any."""

    def __init__(self, url: str, key: str = "") -> None:
        self._key = key.encode()
        try:
            import valkey
        except ImportError as error:
            raise SettingsError(
                "HEADLIGHT_CACHE_URL is set, but the package valkey is not installed. "
                "Run `pip install 'headlight-attention[cluster]'`, or unset it."
            ) from error
        try:
            self._client: Any = valkey.Valkey.from_url(
                url, socket_connect_timeout=CONNECT_TIMEOUT_SECONDS, socket_timeout=RESPONSE_TIMEOUT_SECONDS
            )
            self._client.connection_pool.make_connection()  # without connecting; checks the options of the URL
        except (ValueError, TypeError) as error:
            raise SettingsError(
                "HEADLIGHT_CACHE_URL must be an address such as redis://127.0.0.1:6379/0. Change or unset it."
            ) from error
        self._errors: tuple[type[Exception], ...] = (valkey.ValkeyError, OSError)
        self._response_error: type[Exception] = valkey.ResponseError
        self._back_off_until = 0.0

    @property
    def is_backing_off(self) -> bool:
        """Whether the cache is in back-off after a failure."""
        return time.monotonic() < self._back_off_until

    def command(self, command: str, *arguments: Any, **options: Any) -> Any:
        """Run a command. Returns None during back-off. Raises `DecodeError` if a key has a value of another type."""
        if self.is_backing_off:
            return None
        try:
            return getattr(self._client, command)(*arguments, **options)
        except self._errors as error:
            if isinstance(error, self._response_error) and "WRONGTYPE" in str(error):
                raise DecodeError(str(error)) from error
            self._back_off_until = time.monotonic() + BACK_OFF_SECONDS
            LOG.warning(
                "The shared cache does not answer (%s); it is not used for %.0f s.",
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
            self.command("set", name, self._sign(name, encoded) + encoded, ex=TTL_SECONDS)

    def name(self, key: CacheKey) -> str:
        """Return the Redis key of an answer: a hash, so that it reveals no user text.

        With a secret key, the hash of a guessed text cannot be computed without that key.
        """
        # Versions may compute different answers.
        text = f"{compute_code_version()}\n{key.revision}\n{make_canonical_text(key.request)}".encode()
        digest = hmac.digest(self._key, text, "sha256") if self._key else hashlib.sha256(text).digest()
        return f"headlight:{FORMAT}:{digest.hex()}"

    def _sign(self, name: str, encoded: bytes) -> bytes:
        """Return the signature of an entry under its name; empty without a key."""
        return hmac.digest(self._key, name.encode() + b"\n" + encoded, "sha256") if self._key else b""

    @contextmanager
    def slot(self, key: CacheKey, rule: ReliabilityRule | None, stop: Event | None = None) -> Iterator[SharedSlot]:
        """Wait for the answer from another process, or acquire the lock to compute it."""
        name, token = self.name(key), secrets.token_hex(8)
        result = self._find(name, key, rule)
        is_leader = result is None and self._try_lock(name, token)
        while result is None and not is_leader and not self.is_backing_off and not (stop is not None and stop.is_set()):
            time.sleep(POLL_SECONDS)
            result = self._find(name, key, rule)
            is_leader = result is None and self._try_lock(name, token)
        done = Event()
        # A thread renews the lock, because a remote call blocks until it ends.
        if is_leader:
            Thread(target=self._keep_lock_alive, args=(name, token, done), name="shared answers", daemon=True).start()
        try:
            yield SharedSlot(self, name, result)
        finally:
            done.set()
            if is_leader:
                self._expire_own_lock(name, token, 0)

    def _keep_lock_alive(self, name: str, token: str, done: Event) -> None:
        """Renew the lock of this process until `done` is set, or it is held for too long."""
        end = time.monotonic() + MAX_LOCK_SECONDS
        while not done.wait(LOCK_TTL_SECONDS / 4) and time.monotonic() < end:
            self._expire_own_lock(name, token, LOCK_TTL_SECONDS)

    def _expire_own_lock(self, name: str, token: str, seconds: float) -> None:
        with suppress(DecodeError):  # another value has replaced the lock
            self.command("eval", _EXPIRE_OWN_LOCK, 1, f"{name}:lead", token, round(1000 * seconds))

    def _try_lock(self, name: str, token: str) -> bool:
        """Acquire the lock. A lock of another process gets an expiry if it has none, or one that is too late."""
        lock, ttl_ms = f"{name}:lead", round(1000 * LOCK_TTL_SECONDS)
        if self.command("set", lock, token, nx=True, px=ttl_ms):
            return True
        remaining_ms = self.command("pttl", lock)
        if remaining_ms is not None and (remaining_ms == -1 or remaining_ms > ttl_ms):
            self.command("pexpire", lock, ttl_ms)
        return False

    def _find(self, name: str, key: CacheKey, rule: ReliabilityRule | None) -> Translation | None:
        """Return the answer of a request. Deletes an entry that is wrong."""
        try:
            entry = self.command("getrange", name, 0, SIGNATURE_BYTES + MAX_ANSWER_BYTES)
            return self._read(name, entry, key, rule) if entry else None
        except DecodeError as error:
            LOG.warning("An entry of the shared cache is wrong (%s) and was deleted.", error)
            self.command("delete", name)
            return None

    def _read(self, name: str, entry: bytes, key: CacheKey, rule: ReliabilityRule | None) -> Translation:
        length = len(self._sign(name, b""))
        encoded = entry[length:]
        if len(encoded) > MAX_ANSWER_BYTES:
            raise DecodeError("it is too large")
        if not hmac.compare_digest(entry[:length], self._sign(name, encoded)):
            raise DecodeError("its signature is wrong")
        translation = decode_translation(encoded, rule)
        if translation.request != key.request:
            raise DecodeError("it answers another request")
        return translation


@cache
def compute_code_version() -> str:
    """Return the version with a digest of the code that computes answers, which may change between two releases."""
    digest = hashlib.sha256()
    folder = Path(model.__file__).parent
    for path in sorted(folder.rglob("*.py")):
        digest.update(f"{path.relative_to(folder).as_posix()}\n".encode() + path.read_bytes())
    return f"{__version__}+{digest.hexdigest()[:16]}"
