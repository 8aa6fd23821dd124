"""Word alignment: links from attention or from annotators, and the alignment error rate.

A link is a pair (word of the source, word of the target), counted from 0. A head links each written word to the source
word with the highest weight. The alignment error rate (Och and Ney 2003) measures such links:

    AER = 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|)

for a head's links A, the sure links S and the possible links P ⊇ S. Its bounds show how much it depends on the choice
of sentences: 95% of the rates of many samples of the sentences, drawn with replacement, lie between them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from typing import NamedTuple

import numpy as np

from headlight.model.errors import CommandError, range_error
from headlight.model.records import FloatArray, Token

Link = tuple[int, int]
Links = frozenset[Link]
Spans = Sequence[tuple[int, int]]  # where each word of a sentence starts and ends
LINK_PATTERN = re.compile(r"(?P<source>\d+)(?P<sure>[-?])(?P<target>\d+)(?P<possible>p?)", flags=re.ASCII)
BOOTSTRAP_SAMPLES = 1000
PERCENTILES = (2.5, 97.5)  # per cent


class GoldLinks(NamedTuple):
    """Hand-drawn links: the sure ones, and the possible ones, which include the sure ones."""

    sure: Links
    possible: Links

    def reversed(self) -> GoldLinks:
        """The same links from target to source."""
        return GoldLinks(reverse_links(self.sure), reverse_links(self.possible))


class ConfidenceInterval(NamedTuple):
    """The two rates between which 95% of the samples lie."""

    low: float
    high: float


@dataclass(frozen=True)
class AlignmentCounts:
    """The counts of the alignment error rate. They add up over sentences."""

    linked: int = 0  # |A|
    sure: int = 0  # |S|
    linked_and_sure: int = 0
    linked_and_possible: int = 0

    def __add__(self, other: AlignmentCounts) -> AlignmentCounts:
        return AlignmentCounts(
            self.linked + other.linked,
            self.sure + other.sure,
            self.linked_and_sure + other.linked_and_sure,
            self.linked_and_possible + other.linked_and_possible,
        )

    @property
    def rate(self) -> float:
        """The alignment error rate: 0 is perfect, 1 has no link right."""
        most = self.linked + self.sure
        return 1 - (self.linked_and_sure + self.linked_and_possible) / most if most else 0.0

    @property
    def precision(self) -> float:
        """Precision: share of the head's links that are possible links; 1 without links."""
        return self.linked_and_possible / self.linked if self.linked else 1.0

    @property
    def recall(self) -> float:
        """Recall: share of the sure links that the head has; 1 without sure links."""
        return self.linked_and_sure / self.sure if self.sure else 1.0


def reverse_links(links: Iterable[Link]) -> Links:
    """The same links with source and target exchanged."""
    return frozenset((target, source) for source, target in links)


def count_errors(links: Links, gold: GoldLinks) -> AlignmentCounts:
    """The counts of one sentence: a head's links against the hand-drawn ones."""
    return AlignmentCounts(len(links), len(gold.sure), len(links & gold.sure), len(links & gold.possible))


def error_bounds(
    sentences: Sequence[AlignmentCounts], samples: int = BOOTSTRAP_SAMPLES, seed: int = 0
) -> ConfidenceInterval:
    """Between which rates 95% of the samples of these sentences lie; the same seed gives the same samples."""
    if not sentences:
        return ConfidenceInterval(0.0, 0.0)
    counts = np.array([astuple(each) for each in sentences], dtype=np.float64)  # [sentences, 4]
    even = np.full(len(sentences), 1 / len(sentences))
    drawn = np.random.default_rng(seed).multinomial(len(sentences), even, size=samples)  # [samples, sentences]
    linked, sure, linked_and_sure, linked_and_possible = (drawn @ counts).T
    most = linked + sure
    rates = np.where(most > 0, 1 - (linked_and_sure + linked_and_possible) / np.maximum(most, 1), 0.0)
    low, high = np.percentile(rates, PERCENTILES)
    return ConfidenceInterval(float(low), float(high))


def links_f1(first: Iterable[Links], second: Iterable[Links]) -> float:
    """The F1 score of two annotations of the same sentences: 1 if their links are the same."""
    pairs = list(zip(first, second, strict=True))
    drawn = sum(len(one) + len(other) for one, other in pairs)
    return 2 * sum(len(one & other) for one, other in pairs) / drawn if drawn else 1.0


def word_weights(
    weights: FloatArray, rows: Sequence[Token], row_words: Spans, columns: Sequence[Token], column_words: Spans
) -> FloatArray:
    """Attention between tokens, `[…, rows, columns]`, as attention between words: `[…, row words, column words]`.

    The weights of a word's tokens are summed over keys and averaged over queries. A token across the border of two
    words belongs to both, in proportion to its characters. Special tokens are not words, so a row may sum to less than
    one.
    """
    to_columns = _word_token_shares(columns, column_words)  # [column words, columns]
    to_rows = _word_token_shares(rows, row_words)  # [row words, rows]
    shares = to_rows.sum(axis=1, keepdims=True)
    means = np.divide(to_rows, shares, out=np.zeros_like(to_rows), where=shares > 0)
    merged: FloatArray = (means @ weights @ to_columns.T).astype(np.float32)
    return merged


def attention_links(
    weights: FloatArray,
    rows: Sequence[Token],
    row_words: Spans,
    columns: Sequence[Token],
    column_words: Spans,
    shift: int = 0,
) -> Links:
    """The source word with the highest weight of each written word. With `shift` 1, the weights come from the next row,
    in which the written token is the query."""
    result = strongest_words(weights, rows, row_words, columns, column_words, shift)
    return frozenset((int(column), row) for row, column in enumerate(result))


def strongest_words(
    weights: FloatArray,
    rows: Sequence[Token],
    row_words: Spans,
    columns: Sequence[Token],
    column_words: Spans,
    shift: int = 0,
) -> np.ndarray:
    """The same of any number of heads, `[…, rows, columns]` → the place of a source word for each written word,
    `[…, row words]`; without any words, nothing."""
    if shift not in (0, 1):
        raise range_error("shift", shift, 0, 1)
    count = weights.shape[-2]
    moved = weights[..., np.minimum(np.arange(count) + shift, count - 1), :] if shift else weights
    merged = word_weights(moved, rows, row_words, columns, column_words)
    return merged.argmax(axis=-1) if merged.size else np.zeros((*weights.shape[:-2], 0), dtype=np.int64)


def count_heads(
    weights: FloatArray,
    rows: Sequence[Token],
    row_words: Spans,
    columns: Sequence[Token],
    column_words: Spans,
    gold: GoldLinks,
) -> dict[tuple[int, int, int], AlignmentCounts]:
    """The counts of every head of cross-attention, `[layer, head, rows, columns]`, in both readings of a row: by layer,
    head and shift."""
    results = {}
    for shift in (0, 1):
        sources = strongest_words(weights, rows, row_words, columns, column_words, shift)  # [layer, head, row words]
        for layer, heads in enumerate(sources):
            for head, words in enumerate(heads):
                links = frozenset((int(source), target) for target, source in enumerate(words))
                results[layer, head, shift] = count_errors(links, gold)
    return results


def parse_links(text: str, source_words: int, target_words: int) -> GoldLinks:
    """`0-0 1?2`: a sure link of word 0 to word 0, and a possible link of source word 1 to target word 2, which may be
    written `1-2p` as well."""
    sure, possible = set[Link](), set[Link]()
    for entry in text.split():
        match = LINK_PATTERN.fullmatch(entry)
        if match is None:
            raise CommandError(f"{entry!r} is no link: write 3-4 for a sure one, or 3?4 for a possible one.")
        link = (int(match["source"]), int(match["target"]))
        for side, place, words in zip(("source", "target"), link, (source_words, target_words), strict=True):
            if place >= words:
                raise CommandError(f"{entry!r}: the {side} has {words} words, counted from 0. Mend the link.")
        possible.add(link)
        if match["sure"] == "-" and not match["possible"]:
            sure.add(link)
    return GoldLinks(frozenset(sure), frozenset(possible))


def _word_token_shares(tokens: Sequence[Token], words: Spans) -> FloatArray:
    """`[words, tokens]`: the share of each token's characters that are part of the word."""
    table = np.zeros((len(words), len(tokens)), dtype=np.float32)
    for place, token in enumerate(tokens):
        if token.special or token.end <= token.start:  # a space token is part of no word
            continue
        for word, (start, end) in enumerate(words):
            shared = min(end, token.end) - max(start, token.start)
            if shared > 0:
                table[word, place] = shared / (token.end - token.start)
    return table
