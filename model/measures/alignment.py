"""Word alignment: links from attention or from annotators, and the alignment error rate.

A link is a pair (source word, target word), counted from 0. A head links each target word to the source word with the
highest weight. The alignment error rate (Och and Ney 2003) compares these links with annotated ones. It is

    AER = 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|)

for a head's links A, the sure links S and the possible links P ⊇ S. Its confidence interval shows how much it depends
on the choice of sentences: it contains the rates of 95% of the bootstrap samples of the sentences.
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
Spans = Sequence[tuple[int, int]]  # start and end of each word of a sentence, in characters
LINK_PATTERN = re.compile(r"(?P<source>\d+)(?P<sure>[-?])(?P<target>\d+)(?P<possible>p?)", flags=re.ASCII)
BOOTSTRAP_SAMPLES = 1000  # resamples of the sentences for a confidence interval
PERCENTILES = (2.5, 97.5)


class GoldLinks(NamedTuple):
    """Links by annotators: sure links, and possible links, which include the sure ones."""

    sure: Links
    possible: Links

    def reversed(self) -> GoldLinks:
        """Exchange source and target of all links."""
        return GoldLinks(reverse_links(self.sure), reverse_links(self.possible))


class ConfidenceInterval(NamedTuple):
    """Lower and upper bound of the rates of 95% of the samples."""

    low: float
    high: float


@dataclass(frozen=True)
class AlignmentCounts:
    """Counts of the alignment error rate. They add up over sentences."""

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
        """Alignment error rate: 0 is perfect, 1 means that no link is correct."""
        total = self.linked + self.sure
        return 1 - (self.linked_and_sure + self.linked_and_possible) / total if total else 0.0

    @property
    def precision(self) -> float:
        """Share of the head's links that are possible links; 1 without links."""
        return self.linked_and_possible / self.linked if self.linked else 1.0

    @property
    def recall(self) -> float:
        """Share of the sure links that the head has; 1 without sure links."""
        return self.linked_and_sure / self.sure if self.sure else 1.0


def reverse_links(links: Iterable[Link]) -> Links:
    """Exchange source and target of the links."""
    return frozenset((target, source) for source, target in links)


def count_errors(links: Links, gold: GoldLinks) -> AlignmentCounts:
    """Compare a head's links for one sentence with the annotators' links."""
    return AlignmentCounts(len(links), len(gold.sure), len(links & gold.sure), len(links & gold.possible))


def error_bounds(
    sentences: Sequence[AlignmentCounts], samples: int = BOOTSTRAP_SAMPLES, seed: int = 0
) -> ConfidenceInterval:
    """Return the interval of the rates of 95% of the bootstrap samples. The same seed gives the same samples."""
    if not sentences:
        return ConfidenceInterval(0.0, 0.0)
    counts = np.array([astuple(sentence_counts) for sentence_counts in sentences], dtype=np.float64)  # [sentences, 4]
    uniform = np.full(len(sentences), 1 / len(sentences))
    draws = np.random.default_rng(seed).multinomial(len(sentences), uniform, size=samples)  # [samples, sentences]
    linked, sure, linked_and_sure, linked_and_possible = (draws @ counts).T
    totals = linked + sure
    rates = np.where(totals > 0, 1 - (linked_and_sure + linked_and_possible) / np.maximum(totals, 1), 0.0)
    low, high = np.percentile(rates, PERCENTILES)
    return ConfidenceInterval(float(low), float(high))


def links_f1(first: Iterable[Links], second: Iterable[Links]) -> float:
    """Return the F1 score of two annotations of the same sentences: 1 if their links are equal."""
    pairs = list(zip(first, second, strict=True))
    total = sum(len(first_links) + len(second_links) for first_links, second_links in pairs)
    return 2 * sum(len(first_links & second_links) for first_links, second_links in pairs) / total if total else 1.0


def word_weights(
    weights: FloatArray, rows: Sequence[Token], row_words: Spans, columns: Sequence[Token], column_words: Spans
) -> FloatArray:
    """Merge attention between tokens, `[…, rows, columns]`, to that between words, `[…, row words, column words]`.

    The weights of a word's tokens are summed over keys and averaged over queries. A token that overlaps two words
    belongs to both, in proportion to its characters. Special tokens belong to no word, so a row may sum to less than
    one.
    """
    to_columns = _word_token_shares(columns, column_words)  # [column words, columns]
    to_rows = _word_token_shares(rows, row_words)  # [row words, rows]
    shares = to_rows.sum(axis=1, keepdims=True)
    means = np.divide(to_rows, shares, out=np.zeros_like(to_rows), where=shares > 0)
    merged_weights: FloatArray = (means @ weights @ to_columns.T).astype(np.float32)
    return merged_weights


def attention_links(
    weights: FloatArray,
    rows: Sequence[Token],
    row_words: Spans,
    columns: Sequence[Token],
    column_words: Spans,
    shift: int = 0,
) -> Links:
    """Link each target word to the source word with the highest weight.

    With `shift` 1, the weights of a target token come from the next row, in which it is the query.
    """
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
    """Return the index of the source word with the highest weight for each target word.

    `weights` may have any number of heads, `[…, rows, columns]`. The result is `[…, row words]`, and empty if either
    sentence has no words.
    """
    if shift not in (0, 1):
        raise range_error("shift", shift, 0, 1)
    row_count = weights.shape[-2]
    shifted_weights = weights[..., np.minimum(np.arange(row_count) + shift, row_count - 1), :] if shift else weights
    merged_weights = word_weights(shifted_weights, rows, row_words, columns, column_words)
    return merged_weights.argmax(axis=-1) if merged_weights.size else np.zeros((*weights.shape[:-2], 0), dtype=np.int64)


def count_head_errors(
    weights: FloatArray,
    rows: Sequence[Token],
    row_words: Spans,
    columns: Sequence[Token],
    column_words: Spans,
    gold: GoldLinks,
) -> dict[tuple[int, int, int], AlignmentCounts]:
    """Count the alignment errors of every cross-attention head, `[layer, head, rows, columns]`, at both row shifts.

    The keys of the result are layer, head and shift.
    """
    results = {}
    for shift in (0, 1):
        sources = strongest_words(weights, rows, row_words, columns, column_words, shift)  # [layer, head, row words]
        for layer, heads in enumerate(sources):
            for head, words in enumerate(heads):
                links = frozenset((int(source), target) for target, source in enumerate(words))
                results[layer, head, shift] = count_errors(links, gold)
    return results


def parse_links(text: str, source_words: int, target_words: int) -> GoldLinks:
    """Parse links such as `0-0 1?2`: a sure link from source word 0 to target word 0, and a possible link from 1 to 2.

    A possible link may also be written as `1-2p`.

    Raises:
        CommandError: an entry is not a link, or a word does not exist.
    """
    sure, possible = set[Link](), set[Link]()
    for entry in text.split():
        match = LINK_PATTERN.fullmatch(entry)
        if match is None:
            raise CommandError(f"{entry!r} is not a link. Write 3-4 for a sure link or 3?4 for a possible one.")
        link = (int(match["source"]), int(match["target"]))
        for side, index, word_count in zip(("source", "target"), link, (source_words, target_words), strict=True):
            if index >= word_count:
                raise CommandError(f"{entry!r}: the {side} has {word_count} words, counted from 0. Correct the link.")
        possible.add(link)
        if match["sure"] == "-" and not match["possible"]:
            sure.add(link)
    return GoldLinks(frozenset(sure), frozenset(possible))


def _word_token_shares(tokens: Sequence[Token], words: Spans) -> FloatArray:
    """Return the share of each token's characters that belong to each word, `[words, tokens]`."""
    table = np.zeros((len(words), len(tokens)), dtype=np.float32)
    for index, token in enumerate(tokens):
        if token.special or token.end <= token.start:  # a space token belongs to no word
            continue
        for word, (start, end) in enumerate(words):
            shared_characters = min(end, token.end) - max(start, token.start)
            if shared_characters > 0:
                table[word, index] = shared_characters / (token.end - token.start)
    return table
