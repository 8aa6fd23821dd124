"""Memory of the process: garbage collection, and the arenas of the C library."""

from __future__ import annotations

import ctypes
import gc
import os
import platform

M_ARENA_MAX = -8  # the option of `mallopt`
MAX_ARENAS = 2


def freeze_heap() -> None:
    """Freeze all current objects, so that later collections, which stop all threads, skip them.

    Imported libraries create 300,000 objects. Scanning them takes 0.2 s and delays running requests.
    """
    gc.collect()
    gc.freeze()


def limit_arenas() -> None:
    """Make all threads share two arenas of `malloc`, unless `MALLOC_ARENA_MAX` is set. Only glibc has arenas.

    By default there are up to eight per core. Each keeps memory that its threads have freed, so a page that translates
    all day would grow for hours.
    """
    if platform.libc_ver()[0] == "glibc" and "MALLOC_ARENA_MAX" not in os.environ:
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, MAX_ARENAS)
