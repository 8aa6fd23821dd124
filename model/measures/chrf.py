"""chrF: the F-score of character n-grams, n = 1 to 6, in two texts (Popović 2015, https://aclanthology.org/W15-3049).

    chrF = (1 + β²) · P · R / (β² · P + R),  β = 2

P and R are the means of precision and recall over the lengths n that occur in both texts. Spaces are ignored. The
result equals sacreBLEU's for one sentence. The page uses it to compare back-translations, and sacreBLEU is only a
development dependency.
"""

from __future__ import annotations

from collections import Counter

MAX_LENGTH = 6  # characters of an n-gram
BETA = 2  # recall counts twice as much as precision


def chrf(text: str, reference: str) -> float:
    """Return the chrF of two texts, from 0 to 100 for equal texts."""
    text_characters, reference_characters = "".join(text.split()), "".join(reference.split())
    precision = recall = 0.0
    orders = 0
    for length in range(1, MAX_LENGTH + 1):
        text_counts, reference_counts = (
            _count_ngrams(text_characters, length),
            _count_ngrams(reference_characters, length),
        )
        if not text_counts or not reference_counts:
            continue
        shared_count = sum((text_counts & reference_counts).values())
        precision += shared_count / sum(text_counts.values())
        recall += shared_count / sum(reference_counts.values())
        orders += 1
    if not orders or not precision or not recall:
        return 0.0
    precision, recall = precision / orders, recall / orders
    return 100 * (1 + BETA**2) * precision * recall / (BETA**2 * precision + recall)


def _count_ngrams(text: str, length: int) -> Counter[str]:
    return Counter(text[start : start + length] for start in range(len(text) - length + 1))
