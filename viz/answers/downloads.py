"""Model downloads. Concurrent requests for one model share the download and its progress.

When the leading request stops, the next one that waits continues the download.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Event

from headlight.model.foreign.hub import HubError, Plan, Progress, fetch
from headlight.viz.answers.single_flight import Lead, SingleFlight

Report = Callable[[Progress], None]


def _is_of_the_model(error: Exception) -> bool:
    """Whether the error is shared by every request for the model. A stop concerns one visitor alone."""
    return isinstance(error, HubError) and error.kind != "stopped"


class Downloads:
    """The downloads that run now, by id. Threads may share it."""

    def __init__(self, confirm: Callable[[Plan], bool] | None = None) -> None:
        self._confirm = confirm  # called before a download begins
        self._flights: SingleFlight[Path] = SingleFlight(shares=_is_of_the_model)

    def fetch(self, name: str, on_progress: Report | None = None, stop: Event | None = None) -> Path:
        """The folder of a model, after waiting while another request fetches it."""
        stop = stop or Event()
        found = self._flights.enter(name, left=stop, on_progress=on_progress)
        if found is None:
            raise HubError("stopped", repository=name)
        if isinstance(found, Path):
            return found
        with found as lead:
            folder = fetch(name, confirm=self._confirm, on_progress=_told(lead, on_progress), stop=stop)
            lead.done(folder)
            return folder

    def waiting(self, name: str) -> int:
        """How many requests wait for a download that another one makes."""
        return self._flights.waiting(name)

    def names(self) -> set[str]:
        """The ids of the models that are being downloaded."""
        return {str(name) for name in self._flights.keys()}  # noqa: SIM118 - no dict


def _told(lead: Lead[Path], on_progress: Report | None) -> Report:
    """A progress callback that also reaches the requests that wait."""

    def tell(progress: Progress) -> None:
        lead.tell(progress)
        if on_progress is not None:
            on_progress(progress)

    return tell
