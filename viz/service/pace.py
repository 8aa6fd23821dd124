"""How long a computation of each kind takes at present: a moving average, for estimates of waiting times."""

from __future__ import annotations

FIRST_GUESS_S = 0.5  # before anything was measured
WEIGHT = 1 / 16  # of the newest measurement
MAX_GROWTH = 4  # a computation that loads a model first takes a hundred times as long as the next one


class Pace:
    """Seconds by kind. The owner holds a lock around each call."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}

    def of(self, kind: str) -> float:
        """The expected seconds of one computation."""
        return self._seconds.get(kind, FIRST_GUESS_S)

    def note(self, kind: str, seconds: float) -> None:
        """One computation took so long."""
        before = self.of(kind)
        self._seconds[kind] = before + WEIGHT * (min(seconds, MAX_GROWTH * before) - before)
