"""Translation cache in Redis or Valkey, shared by page processes.

    with shared.turn(key, rule, left) as turn:
        answer = turn.found or turn.keep(make())

Every process goes on without it: where the cache is slow, full or down, `found` is nothing, and after a failure it is
left alone for a while. How much it holds in all is the server's own setting (`maxmemory`, with `allkeys-lru`).
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
from headlight.viz.answers.answer_cache import Key
from headlight.viz.answers.stored import FORMAT, PackedError, pack_translation, told, unpack_translation
from headlight.viz.settings import SettingsError

SECONDS = 86_400  # an answer is kept for a day
LARGEST = 16_000_000  # bytes of one answer
CONNECT, ANSWER = 0.3, 1.0  # seconds until the cache counts as down
REST = 10.0  # seconds for which it is left alone then
LEAD = 5.0  # seconds without a sign of the process that computes, after which another one does
GLANCE = 0.03  # seconds between two looks for what another process computes

LOG = logging.getLogger(__name__)


class Turn:
    """A lookup in the shared cache: the cached answer, or the lock to compute it."""

    def __init__(self, shared: SharedAnswers | None = None, name: str = "", found: Translation | None = None) -> None:
        self.found = found
        self._shared, self._name = shared, name

    def keep(self, translation: Translation) -> Translation:
        """Give an answer to all processes."""
        if self._shared is not None and not self._shared.rests:
            self._shared.put(self._name, translation)
        return translation


ALONE = Turn()  # without a shared cache


class SharedAnswers:
    """The cache at an address. Threads may share it."""

    def __init__(self, url: str) -> None:
        try:
            import valkey
        except ImportError as error:
            raise SettingsError(
                "HEADLIGHT_CACHE_URL is set, but the package valkey is not installed. "
                "Run `pip install 'headlight-attention[cluster]'`, or unset it."
            ) from error
        try:
            self._client: Any = valkey.Valkey.from_url(url, socket_connect_timeout=CONNECT, socket_timeout=ANSWER)
        except ValueError as error:
            raise SettingsError(
                "HEADLIGHT_CACHE_URL must be an address such as redis://127.0.0.1:6379/0. Change or unset it."
            ) from error
        self._faults: tuple[type[Exception], ...] = (valkey.ValkeyError, OSError)
        self._rests_until = 0.0

    @property
    def rests(self) -> bool:
        """Whether the cache is in back-off after a failure."""
        return time.monotonic() < self._rests_until

    def ask(self, command: str, *given: Any, **options: Any) -> Any:
        """Run a command; returns None during back-off."""
        if self.rests:
            return None
        try:
            return getattr(self._client, command)(*given, **options)
        except self._faults as error:
            self._rests_until = time.monotonic() + REST
            LOG.warning(
                "The shared cache does not answer (%s); for %.0f s we go on without.", type(error).__name__, REST
            )
            return None

    def put(self, name: str, translation: Translation) -> None:
        """Store an answer, if it is one that can be stored."""
        try:
            packed = pack_translation(translation)
        except PackedError:
            LOG.exception("An answer cannot be shared.")
            return
        if len(packed) <= LARGEST:
            self.ask("set", name, packed, ex=SECONDS)

    @contextmanager
    def turn(self, key: Key, rule: ReliabilityRule | None, left: Event | None = None) -> Iterator[Turn]:
        """Wait for the answer from another process, or acquire the lock to compute it."""
        name, mark = name_of(key), secrets.token_hex(8)
        found = self._find(name, rule)
        leads = found is None and self._leads(name, mark)
        while found is None and not leads and not self.rests and not (left is not None and left.is_set()):
            time.sleep(GLANCE)
            found = self._find(name, rule)
            leads = found is None and self._leads(name, mark)
        over = Event()
        # A thread renews the lock, because a remote call blocks until it ends.
        if leads:
            Thread(target=self._sign, args=(name, over), name="shared answers", daemon=True).start()
        try:
            yield Turn(self, name, found)
        finally:
            over.set()
            if leads and self.ask("get", f"{name}:lead") == mark.encode():
                self.ask("delete", f"{name}:lead")

    def _sign(self, name: str, over: Event) -> None:
        """Renew this process's lead until the work is `over`."""
        while not over.wait(LEAD / 4):
            self.ask("pexpire", f"{name}:lead", round(1000 * LEAD))

    def _leads(self, name: str, mark: str) -> bool:
        return bool(self.ask("set", f"{name}:lead", mark, nx=True, px=round(1000 * LEAD)))

    def _find(self, name: str, rule: ReliabilityRule | None) -> Translation | None:
        packed = self.ask("get", name)
        try:
            return unpack_translation(packed, rule) if packed else None
        except PackedError:
            self.ask("delete", name)
            return None


def name_of(key: Key) -> str:
    """Redis key of an answer; a hash, so that it reveals no user text."""
    # Another version of the code may give other answers.
    digest = hashlib.sha256(f"{__version__}\n{key.revision}\n{told(key.request)}".encode()).hexdigest()
    return f"headlight:{FORMAT}:{digest}"
