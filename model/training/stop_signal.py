"""Requests to stop a training session before its run is finished: by a signal, or after a time limit."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class StopSignal:
    """Requests a stop on a signal or after a time limit. A second Ctrl-C stops immediately."""

    def __init__(self, minutes: float | None) -> None:
        self.end = None if minutes is None else time.monotonic() + 60 * minutes  # seconds, monotonic
        self.reason: str | None = None

    def is_set(self) -> bool:
        """Whether the run should write a checkpoint and stop."""
        if self.end is not None and time.monotonic() >= self.end:
            self.reason = self.reason or "the time is up"
        return self.reason is not None

    @contextmanager
    def handle_signals(self) -> Iterator[None]:
        """Convert Ctrl-C and SIGTERM to stop requests inside the `with` block."""

        def on_signal(number: int, _: FrameType | None) -> None:
            if self.reason is not None and number == signal.SIGINT:
                raise KeyboardInterrupt
            self.reason = signal.Signals(number).name

        previous_handlers = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in previous_handlers.items():
                signal.signal(number, handler)
