"""Garbage collection. A full collection stops all threads."""

from __future__ import annotations

import gc


def freeze_heap() -> None:
    """Freeze all current objects: the garbage collector skips them from now on.

    Imported libraries have 300,000 objects. Scanning them takes 0.2 s and delays running requests.
    """
    gc.collect()
    gc.freeze()
