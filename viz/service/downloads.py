"""Model downloads. Concurrent requests for one model share the download and its progress.

If the leading request is cancelled, the next waiting request resumes the download.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Event

from headlight.model.families.hub import DownloadPlan, DownloadProgress, HubError, fetch
from headlight.viz.service.single_flight import Leader, SingleFlight

OnProgress = Callable[[DownloadProgress], None]


def _is_shared_error(error: Exception) -> bool:
    """Whether the error applies to every request for the model. A cancellation affects only one request."""
    return isinstance(error, HubError) and error.kind != "stopped"


class Downloads:
    """Running downloads by model id. Thread-safe."""

    def __init__(self, confirm: Callable[[DownloadPlan], bool] | None = None) -> None:
        self._confirm = confirm  # called before a download; False rejects it
        self._flights: SingleFlight[Path] = SingleFlight(shares=_is_shared_error)

    def fetch(self, name: str, on_progress: OnProgress | None = None, stop: Event | None = None) -> Path:
        """Download a model, or wait for another request's download. Returns the model's folder."""
        stop = stop or Event()
        result = self._flights.get_or_lead(name, stop=stop, on_progress=on_progress)
        if result is None:
            raise HubError("stopped", repository=name)
        if isinstance(result, Path):
            return result
        with result as lead:
            folder = fetch(name, confirm=self._confirm, on_progress=_fan_out(lead, on_progress), stop=stop)
            lead.finish(folder)
            return folder

    def waiter_count(self, name: str) -> int:
        """Return the number of requests that wait for another request's download."""
        return self._flights.waiter_count(name)

    def names(self) -> set[str]:
        """Return the ids of the models that are being downloaded."""
        return {str(name) for name in self._flights.keys()}  # noqa: SIM118 - not a dict


def _fan_out(lead: Leader[Path], on_progress: OnProgress | None) -> OnProgress:
    """Return a progress callback that also reports to the waiting requests."""

    def report(progress: DownloadProgress) -> None:
        lead.report_progress(progress)
        if on_progress is not None:
            on_progress(progress)

    return report
