"""Patterns of Python in the syntax of JavaScript."""

from __future__ import annotations

import re

import pytest

from headlight.viz.static_site.browser_patterns import BOUNDARY, browser_pattern


@pytest.mark.parametrize(
    ("pattern", "source"),
    [
        (r"(?P<mark>[.,])\d{3}(?P=mark)", r"(?<mark>[.,])[\p{Nd}]{3}\k<mark>"),
        (r"[\w-]+\w", r"[\p{L}\p{N}_-]+[\p{L}\p{N}_]"),
        (r"[^\W\d_]+[^\W_]", r"[\p{L}\p{Nl}\p{No}]+[\p{L}\p{N}]"),
        (r"\s[\s-]", r"[\s\x1c-\x1f\x85][\s\x1c-\x1f\x85-]"),
        (r"(?<![\d.])a\.\b", rf"(?<![\p{{Nd}}.])a\.{BOUNDARY}"),
    ],
)
def test_classes_and_names_are_converted(pattern: str, source: str) -> None:
    assert browser_pattern(re.compile(pattern)) == (source, "u")


def test_case_is_kept_as_a_flag() -> None:
    assert browser_pattern(re.compile("uhr", re.IGNORECASE)) == ("uhr", "iu")
