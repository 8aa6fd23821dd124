"""Garbage collection. A full collection stops all threads."""

from __future__ import annotations

import gc


def freeze_heap() -> None:
    """Freeze all current objects, so that later collections skip them.

    Imported libraries create 300,000 objects. Scanning them takes 0.2 s and delays running requests.
    """
    gc.collect()
    gc.freeze()
