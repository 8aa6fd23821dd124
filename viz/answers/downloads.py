"""Downloads of models: equal ones at once are made once, and all who wait for one hear how far it is.

Who asks first makes it. Where that one stops, the next who waits goes on from what has come.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Condition, Event

from headlight.model.foreign.hub import HubError, Plan, Progress, fetch

GLANCE = 0.1  # seconds between two looks at whether one who waits has left

Report = Callable[[Progress], None]


@dataclass(eq=False)
class _Flight:
    """A download on its way."""

    news: Progress | None = None
    over: bool = False
    folder: Path | None = None
    error: HubError | None = None
    waiting: int = 0


class Downloads:
    """What is being fetched now, by id. Threads may share it."""

    def __init__(self, confirm: Callable[[Plan], bool] | None = None) -> None:
        self._confirm = confirm  # asked before anything comes
        self._flights: dict[str, _Flight] = {}
        self._changed = Condition()

    def fetch(self, name: str, on_progress: Report | None = None, stop: Event | None = None) -> Path:
        """The folder of a model, after waiting for it if somebody fetches it already."""
        stop = stop or Event()
        while True:
            with self._changed:
                flight = self._flights.get(name)
                leads = flight is None
                if flight is None:
                    flight = self._flights[name] = _Flight()
            if leads:
                return self._lead(name, flight, on_progress, stop)
            self._follow(name, flight, on_progress, stop)
            if flight.error is not None:
                raise flight.error
            if flight.folder is not None:
                return flight.folder

    def waiting(self, name: str) -> int:
        """How many wait for a download that somebody else makes."""
        with self._changed:
            flight = self._flights.get(name)
            return flight.waiting if flight else 0

    def names(self) -> set[str]:
        """The ids of all that is on its way."""
        with self._changed:
            return set(self._flights)

    def _lead(self, name: str, flight: _Flight, on_progress: Report | None, stop: Event) -> Path:
        def tell(news: Progress) -> None:
            with self._changed:
                flight.news = news
                self._changed.notify_all()
            if on_progress is not None:
                on_progress(news)

        try:
            flight.folder = fetch(name, confirm=self._confirm, on_progress=tell, stop=stop)
            return flight.folder
        except HubError as error:
            if error.kind != "stopped":  # that was this visitor's wish alone
                flight.error = error
            raise
        finally:
            with self._changed:
                del self._flights[name]
                flight.over = True
                self._changed.notify_all()

    def _follow(self, name: str, flight: _Flight, on_progress: Report | None, stop: Event) -> None:
        """Until it is over, tell what its leader was told."""
        told: Progress | None = None
        while True:
            with self._changed:
                flight.waiting += 1
                if not flight.over and flight.news is told:
                    self._changed.wait(GLANCE)
                flight.waiting -= 1
                news, over = flight.news, flight.over
            if stop.is_set():
                raise HubError("stopped", repository=name)
            if on_progress is not None and news is not None and news is not told:
                on_progress(news)
            told = news
            if over:
                return
