"""chrF against manual values and sacreBLEU."""

from __future__ import annotations

import pytest
from sacrebleu.metrics.chrf import CHRF

from headlight.model.measures.chrf import chrf


def test_chrf_by_hand() -> None:
    # 1 of 1 and 1 of 2 characters: P = 1, R = 1/2; longer n-grams do not exist
    assert chrf("a", "ab") == pytest.approx(100 * 5 * (1 * 1 / 2) / (4 * 1 + 1 / 2))
    assert chrf("ab", "ab") == 100
    assert chrf("ab", "cd") == 0
    assert chrf("", "cd") == 0


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("I have a dog.", "I had a big dog"),
        ("x", "xyz"),
        ("Good night", "Good morning, everybody"),
        ("我是", "我是你的"),
    ],
)
def test_chrf_matches_sacrebleu(text: str, reference: str) -> None:
    assert chrf(text, reference) == pytest.approx(CHRF().sentence_score(text, [reference]).score, abs=1e-9)
