"""The cached status of the Hub: reachable or not."""

from __future__ import annotations

import time
from threading import Lock

from headlight.model.families.hub import is_reachable

FRESH = {True: 60.0, False: 10.0}  # seconds that a result is cached; failures expire sooner, to notice a recovery
AGAIN = 1.0  # minimum seconds between two checks requested by visitors


class Reach:
    """Checks of the Hub, one at a time, with a cached result. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: bool | None = None
        self._at = 0.0

    def look(self, *, again: bool = False) -> bool:
        """Return whether the Hub responds. `again`: check again if the last check is older than a second."""
        with self._lock:
            age = time.monotonic() - self._at
            if self._known is None or age > (AGAIN if again else FRESH[self._known]):
                self._note(is_reachable())
            return bool(self._known)

    def lost(self) -> None:
        """Record that a request to the Hub has failed."""
        with self._lock:
            self._note(False)

    def _note(self, known: bool) -> None:
        self._known, self._at = known, time.monotonic()
