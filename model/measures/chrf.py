"""chrF: how many runs of one to six letters a text shares with another (Popović 2015, https://aclanthology.org/W15-3049).

    chrF = (1 + β²) · P · R / (β² · P + R),  β = 2

P and R are the means of precision and recall over the run lengths that both texts are long enough for. Spaces do not
count. This is what sacreBLEU gives for one sentence, without that package: a translation read back is compared by it
while the page waits.
"""

from __future__ import annotations

from collections import Counter

LONGEST = 6  # letters of a run
BETA = 2  # recall counts so many times as much


def chrf(text: str, reference: str) -> float:
    """How alike two texts are, from 0 to 100."""
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
