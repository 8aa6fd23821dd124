"""chrF: the F-score of runs of one to six letters in two texts (Popović 2015, https://aclanthology.org/W15-3049).

    chrF = (1 + β²) · P · R / (β² · P + R),  β = 2

P and R are the means of precision and recall over the run lengths that occur in both texts. Spaces do not count. The
result equals sacreBLEU's for one sentence. The page compares back-translations by it, and sacreBLEU is installed for
development alone.
"""

from __future__ import annotations

from collections import Counter

LONGEST = 6  # letters of a run
BETA = 2  # recall counts twice as much as precision


def chrf(text: str, reference: str) -> float:
    """The chrF of two texts, from 0 to 100 for equal ones."""
    own, other = "".join(text.split()), "".join(reference.split())
    precision = recall = 0.0
    orders = 0
    for length in range(1, LONGEST + 1):
        here, there = _runs(own, length), _runs(other, length)
        if not here or not there:
            continue
        shared = sum((here & there).values())
        precision += shared / sum(here.values())
        recall += shared / sum(there.values())
        orders += 1
    if not orders or not precision or not recall:
        return 0.0
    precision, recall = precision / orders, recall / orders
    return 100 * (1 + BETA**2) * precision * recall / (BETA**2 * precision + recall)


def _runs(text: str, length: int) -> Counter[str]:
    return Counter(text[start : start + length] for start in range(len(text) - length + 1))
