"""Objects that exist at startup are excluded from garbage collection; later ones are not. Threads share arenas."""

from __future__ import annotations

import gc
import os
import platform
import subprocess
import sys
import weakref

import pytest

from headlight.viz.service.memory import MAX_ARENAS, freeze_heap

# Eight threads at once hold memory of their own; prints the number of arenas.
THREADS = """
import ctypes, sys, threading
from headlight.viz.service.memory import limit_arenas
if sys.argv[1] == "limited":
    limit_arenas()
all_hold = threading.Barrier(8)
def hold():
    kept = bytearray(50_000)
    all_hold.wait()
threads = [threading.Thread(target=hold) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
libc = ctypes.CDLL(None)
libc.stdout_file = ctypes.c_void_p.in_dll(libc, "stdout")
libc.malloc_info(0, libc.stdout_file)
libc.fflush(None)
"""


class Cycle:
    def __init__(self) -> None:
        self.itself = self


def test_existing_objects_are_frozen_and_new_garbage_is_collected() -> None:
    before, garbage = weakref.ref(existing := Cycle()), weakref.ref(Cycle())
    freeze_heap()
    try:
        assert garbage() is None  # existing garbage is collected, not frozen
        assert gc.get_freeze_count() > 1000
        del existing
        later = weakref.ref(Cycle())
        gc.collect()
        assert before() is not None
        assert later() is None
    finally:
        gc.unfreeze()
    gc.collect()
    assert before() is None


def arena_count(way: str, **variables: str) -> int:
    environment = {name: value for name, value in os.environ.items() if name != "MALLOC_ARENA_MAX"} | variables
    command = [sys.executable, "-c", THREADS, way]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.count(
        "<heap nr="
    )


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has arenas")
def test_threads_share_arenas() -> None:
    assert arena_count("limited") <= MAX_ARENAS < arena_count("unlimited")
    assert arena_count("limited", MALLOC_ARENA_MAX="6") > MAX_ARENAS
