"""The cached status of the Hub: reachable or not."""

from __future__ import annotations

import time
from threading import Lock

from headlight.model.families.hub import is_reachable

CACHE_SECONDS = {True: 60.0, False: 10.0}  # by result; a failure expires sooner, to notice a recovery
MIN_RECHECK_SECONDS = 1.0  # minimum seconds between two checks requested by visitors


class HubReachability:
    """Checks of the Hub, one at a time, with a cached result. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._is_reachable: bool | None = None
        self._checked_at = 0.0

    def check(self, *, refresh: bool = False) -> bool:
        """Return whether the Hub responds. `refresh`: check again if the last check is older than a second."""
        with self._lock:
            age = time.monotonic() - self._checked_at
            if self._is_reachable is None or age > (
                MIN_RECHECK_SECONDS if refresh else CACHE_SECONDS[self._is_reachable]
            ):
                self._store(is_reachable())
            return bool(self._is_reachable)

    def mark_unreachable(self) -> None:
        """Record that a request to the Hub has failed."""
        with self._lock:
            self._store(False)

    def _store(self, is_hub_reachable: bool) -> None:
        self._is_reachable, self._checked_at = is_hub_reachable, time.monotonic()
