"""Waiting for what other threads do, without a guess at how long it takes."""

from __future__ import annotations

import time
from collections.abc import Callable


def until(holds: Callable[[], object]) -> None:
    """Ask again until it is so; a minute is the end of all hope."""
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)
