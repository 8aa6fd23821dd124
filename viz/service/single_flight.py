"""Single flight: concurrent requests with equal keys share one computation.

    result = flights.get_or_lead(key, find=lambda: cache.get(key), keep=lambda value: cache.put(key, value))
    if isinstance(result, Leader):
        with result as lead:
            result = lead.finish(make())

If a leader ends without a result or a shared error, the next waiting request becomes the leader.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from threading import Condition, Event
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

Result = TypeVar("Result")

POLL_SECONDS = 0.05  # seconds between two checks whether a waiting request is cancelled


@dataclass(eq=False)
class _Flight(Generic[Result]):
    """A running computation."""

    last_heartbeat: float  # time of the leader's last heartbeat
    progress: Any = None
    is_finished: bool = False
    result: Result | None = None
    error: Exception | None = None
    waiter_count: int = 0


def _share_every_error(error: Exception) -> bool:
    return True


class SingleFlight(Generic[Result]):
    """Running computations by key. Thread-safe."""

    def __init__(
        self,
        *,
        leader_timeout_s: float = math.inf,
        shares: Callable[[Exception], bool] = _share_every_error,
        only_stored: bool = False,
    ) -> None:
        """Configure how requests share computations.

        `leader_timeout_s`: seconds without a call of `heartbeat` or `finish` until a leader is replaced.
        `shares`: whether an error of the leader is also raised for the waiting requests.
        `only_stored`: waiting requests get the result from `find`, or become the leader.
        """
        self.leader_timeout_s = leader_timeout_s
        self.changed = Condition()  # guards the flights, and the data of `find` and `keep`
        self._shares, self._only_stored = shares, only_stored
        self._flights: dict[Hashable, _Flight[Result]] = {}

    def get_or_lead(
        self,
        key: Hashable,
        *,
        find: Callable[[], Result | None] = lambda: None,
        keep: Callable[[Result], None] = lambda value: None,
        stop: Event | None = None,
        on_progress: Callable[[Any], None] | None = None,
    ) -> Result | Leader[Result] | None:
        """Return the result of `find` or of another request, else a `Leader`; `None` once `stop` is set.

        `find` and `keep` are called under the lock. `keep` receives the result if this request leads. `on_progress`
        receives the leader's progress while this request waits.
        """
        while stop is None or not stop.is_set():
            with self.changed:
                result = find()
                if result is not None:
                    return result
                flight = self._flights.get(key)
                if flight is None or self._is_stuck(flight):
                    self._flights[key] = flight = _Flight(time.monotonic())
                    return Leader(self, key, flight, keep)
            self._wait(flight, stop, on_progress)
            if flight.error is not None:
                raise flight.error
            # `find` may not return the result, which may be too large for the cache.
            if flight.result is not None and not self._only_stored:
                return flight.result
        return None

    def waiter_count(self, key: Hashable) -> int:
        """Return the number of requests that wait for this key."""
        with self.changed:
            flight = self._flights.get(key)
            return flight.waiter_count if flight else 0

    def keys(self) -> set[Hashable]:
        """Return the keys of all running computations."""
        with self.changed:
            return set(self._flights)

    def _wait(self, flight: _Flight[Result], stop: Event | None, on_progress: Callable[[Any], None] | None) -> None:
        last_progress = None
        with self.changed:
            flight.waiter_count += 1
        try:
            while not flight.is_finished and not self._is_stuck(flight) and not (stop is not None and stop.is_set()):
                with self.changed:
                    self.changed.wait_for(
                        lambda last=last_progress: flight.is_finished or flight.progress is not last,  # type: ignore[misc]
                        POLL_SECONDS,
                    )
                    progress = flight.progress
                if on_progress is not None and progress is not last_progress:
                    on_progress(progress)
                last_progress = progress
        finally:
            with self.changed:
                flight.waiter_count -= 1

    def _is_stuck(self, flight: _Flight[Result]) -> bool:
        return time.monotonic() - flight.last_heartbeat > self.leader_timeout_s


class Leader(Generic[Result]):
    """The leader of a flight, used as a `with` block. If it ends without a result, the next waiter becomes leader."""

    def __init__(
        self,
        flights: SingleFlight[Result],
        key: Hashable,
        flight: _Flight[Result],
        keep: Callable[[Result], None],
    ) -> None:
        self._flights, self._key, self._flight, self._keep = flights, key, flight, keep

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # `GeneratorExit` and `KeyboardInterrupt` are not `Exception`s: they cancel only this request.
        shared_error = error if isinstance(error, Exception) and self._flights._shares(error) else None
        self._complete(None, shared_error)

    def heartbeat(self) -> None:
        """Reset the timeout after which a waiting request takes over."""
        self._flight.last_heartbeat = time.monotonic()

    def report_progress(self, progress: Any) -> None:
        """Report progress to the waiting requests."""
        with self._flights.changed:
            self._flight.progress = progress
            self._flights.changed.notify_all()

    def finish(self, result: Result) -> Result:
        """Pass the result to the waiting requests and to `keep`."""
        self._complete(result, None)
        return result

    def _complete(self, result: Result | None, error: Exception | None) -> None:
        flights, flight = self._flights, self._flight
        with flights.changed:
            if flight.is_finished:
                return
            flight.is_finished, flight.result, flight.error = True, result, error
            if flights._flights.get(self._key) is flight:  # a stuck leader may have been replaced
                del flights._flights[self._key]
            if result is not None:
                self._keep(result)
            flights.changed.notify_all()
