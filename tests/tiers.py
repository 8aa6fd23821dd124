"""Two tiers of tests: `make test` skips tests marked `slow`, `make test-all` runs all.

A test is slow from 3 CPU seconds on. `slow(after=8)` marks a test of many cases: its first eight stay fast. Browser
tests are slow unless they are marked `journey`: the main steps of a visitor in one part of the page. Tests of
documented promises to users are never marked slow.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

IN_A_BROWSER = Path(__file__).parent / "browser"


def sort_into_tiers(items: list[pytest.Item]) -> None:
    """Mark tests as slow, according to their marks and folder."""
    cases: Counter[str] = Counter()
    for item in items:
        if IN_A_BROWSER in item.path.parents and not item.get_closest_marker("journey"):
            item.add_marker("slow")
        mark = item.get_closest_marker("slow")
        if mark and "after" in mark.kwargs:
            function = item.nodeid.partition("[")[0]
            cases[function] += 1
            if cases[function] <= mark.kwargs["after"]:
                item.own_markers.remove(mark)
