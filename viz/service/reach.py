"""Whether models of the Hub can be fetched at present: known from the last look, which holds for a while."""

from __future__ import annotations

import time
from threading import Lock

from headlight.model.families.hub import is_reachable

FRESH = {True: 60.0, False: 10.0}  # seconds that an answer holds: a network that is back is soon noticed
AGAIN = 1.0  # seconds between two looks of visitors who press a button


class Reach:
    """One look at a time. Threads may share it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: bool | None = None
        self._at = 0.0

    def look(self, *, again: bool = False) -> bool:
        """Whether the Hub answers; `again`: a visitor wants to know it anew."""
        with self._lock:
            age = time.monotonic() - self._at
            if self._known is None or age > (AGAIN if again else FRESH[self._known]):
                self._note(is_reachable())
            return bool(self._known)

    def lost(self) -> None:
        """A request to the Hub has failed."""
        with self._lock:
            self._note(False)

    def _note(self, known: bool) -> None:
        self._known, self._at = known, time.monotonic()
