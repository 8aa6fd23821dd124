"""Waiting for a condition that another thread makes true."""

from __future__ import annotations

import time
from collections.abc import Callable


def until(condition: Callable[[], object]) -> None:
    """Poll until the condition is true; fail after a minute."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)
