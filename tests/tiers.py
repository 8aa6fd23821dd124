"""Two tiers of tests: `make test` leaves out those marked `slow`, `make test-all` runs all.

A test is slow from 3 CPU seconds on. `slow(after=8)` marks a test of many cases: its first eight stay fast. In a
browser nearly every test is slow, so a mark names the others: `journey`, a visitor's way through a part of the page.
What protects a promise to users stays fast, whatever it costs.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

IN_A_BROWSER = Path(__file__).parent / "browser"


def sort_into_tiers(items: list[pytest.Item]) -> None:
    """Mark as slow what the marks in the files mean."""
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
