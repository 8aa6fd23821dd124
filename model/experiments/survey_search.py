"""Queries over a survey, part by part in constant memory: looks of heads from one word to another, and statistics.

A look goes from the word of a row (a source word in the encoder, else the word being written) to the word of the key
with the highest weight.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from headlight.model.errors import CommandError
from headlight.model.experiments.survey import ALIGNMENT_COLUMNS, LOOK_SCALE
from headlight.model.experiments.survey_files import HEADS, SENTENCES, find_complete_parts, polars, require_complete
from headlight.model.measures.alignment import AlignmentCounts, ConfidenceInterval, error_bounds
from headlight.model.records import KINDS, Kind

MAX_EXAMPLES = 3  # sentences per head


class Head(NamedTuple):
    """A head. Layers and heads are counted from 0."""

    kind: Kind
    layer: int
    head: int


@dataclass
class LookStatistics:
    """Counts of a head's looks from one word to another, in sentences with both words."""

    head: Head
    looks: int = 0
    total: int = 0  # rows of the first word
    weight: float = 0.0  # summed over `looks`
    examples: list[tuple[float, int, str, str]] = field(default_factory=list)  # weight, sentence, source, target

    @property
    def share(self) -> float:
        """The share of rows that look at the second word."""
        return self.looks / self.total if self.total else 0.0


def find_looks(folder: Path, start: str, end: str, min_weight: float = 0.3) -> list[LookStatistics]:
    """Find the heads that look from one word to another with a weight of at least `min_weight`, most frequent first.

    Words are compared without case. `</s>` and other special tokens are separate words.
    """
    plan = require_complete(folder)
    if "looks" not in plan.measures:
        raise CommandError(f"{folder} was surveyed without looks, which a search needs. Add looks to --measure.")
    row_word, key_word = start.casefold(), end.casefold()
    results: dict[Head, LookStatistics] = {}
    for heads, sentences in _tables(folder):
        texts = {row["sentence"]: row for row in sentences.iter_rows(named=True) if not row["refused"]}
        # Sentence → kind → words of the rows, words of the keys.
        sides = {number: {kind: _words(row, kind) for kind in KINDS} for number, row in texts.items()}
        matches = {
            (number, kind)
            for number, kinds in sides.items()
            for kind, (rows, keys) in kinds.items()
            if row_word in rows and key_word in keys
        }
        if not matches:
            continue
        for row in heads.select("sentence", "kind", "layer", "head", "looks_at", "looks_with").iter_rows(named=True):
            if (row["sentence"], row["kind"]) not in matches:
                continue
            rows, keys = sides[row["sentence"]][row["kind"]]
            head = Head(row["kind"], row["layer"], row["head"])
            statistics = results.setdefault(head, LookStatistics(head))
            _count_looks(statistics, row, rows, keys, row_word, key_word, min_weight, texts[row["sentence"]])
    return sorted(
        (entry for entry in results.values() if entry.looks),
        key=lambda entry: (-entry.share, -entry.weight, entry.head),
    )


def _count_looks(
    statistics: LookStatistics,
    row: dict[str, Any],
    rows: list[str],
    keys: list[str],
    row_word: str,
    key_word: str,
    min_weight: float,
    text: Any,
) -> None:
    key_indices = np.frombuffer(row["looks_at"], dtype="<u2")
    weights = np.frombuffer(row["looks_with"], dtype=np.uint8) / LOOK_SCALE
    for index, word in enumerate(rows):
        if word != row_word:
            continue
        statistics.total += 1
        if keys[key_indices[index]] == key_word and weights[index] >= min_weight:
            statistics.looks += 1
            statistics.weight += float(weights[index])
            example = (float(weights[index]), row["sentence"], text["source"], text["target"])
            statistics.examples = sorted({*statistics.examples, example}, key=lambda entry: (-entry[0], entry[1]))[
                :MAX_EXAMPLES
            ]


def _words(row: dict[str, Any], kind: str) -> tuple[list[str], list[str]]:
    """Return the case-folded words of the rows and of the keys of one kind."""
    source, target = ([word.casefold() for word in row[side]] for side in ("read", "written"))
    if kind == "encoder":
        return source, source
    return (target, source) if kind == "cross" else (target, ["<s>", *target[:-1]])


# ---------------------------------------------------------------- statistics


@dataclass
class SurveySummary:
    """Statistics of the heads of one kind."""

    sentences: int
    means: dict[str, np.ndarray]  # measure → mean over sentences with a value, [layer, head]
    spreads: dict[str, np.ndarray]  # measure → standard deviation between sentences, [layer, head]
    roles: list[list[dict[str, int]]]  # [layer][head]: role → number of sentences


def summarise(folder: Path) -> dict[Kind, SurveySummary]:
    """Compute means and standard deviations of every measure, and count the roles of each head."""
    require_complete(folder)
    totals: dict[tuple[str, str], list[np.ndarray]] = {}
    roles: dict[Head, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    shapes: dict[str, tuple[int, int]] = {}
    sentence_counts: dict[str, int] = defaultdict(int)
    for heads, _ in _tables(folder):
        for kind in KINDS:
            table = heads.filter(polars().col("kind") == kind)
            if not len(table):
                continue
            shape = shapes.setdefault(kind, (table["layer"].max() + 1, table["head"].max() + 1))
            sentence_counts[kind] += len(table) // (shape[0] * shape[1])
            for name in _measure_columns(table):
                values = table[name].to_numpy().astype(np.float64).reshape(-1, *shape)  # [sentence, layer, head]
                present = ~np.isnan(values)
                filled = np.where(present, values, 0)
                sums = [present.sum(axis=0), filled.sum(axis=0), (filled**2).sum(axis=0)]
                previous = totals.setdefault((kind, name), [np.zeros(shape) for _ in sums])
                totals[kind, name] = [old + new for old, new in zip(previous, sums, strict=True)]
            if "role" in table.columns:
                for layer, head, name in table.select("layer", "head", "role").iter_rows():
                    roles[Head(kind, layer, head)][name] += 1
    results = {}
    for kind in (kind for kind in KINDS if kind in shapes):
        means, spreads = {}, {}
        for (total_kind, name), (count, total, squares) in totals.items():
            if total_kind == kind:
                divisor = np.where(count > 0, count, np.nan)
                means[name] = total / divisor
                spreads[name] = np.sqrt(np.maximum(squares / divisor - means[name] ** 2, 0))
        layers, head_count = shapes[kind]
        role_counts = [[dict(roles[Head(kind, layer, head)]) for head in range(head_count)] for layer in range(layers)]
        results[kind] = SurveySummary(sentence_counts[kind], means, spreads, role_counts)
    return results


class AlignmentResult(NamedTuple):
    """The alignment error of a cross-attention head, whose rows are read with or without a shift."""

    layer: int
    head: int
    shift: int  # 0: a row aligns the token that it writes; 1: the token that it has read
    errors: AlignmentCounts
    bounds: ConfidenceInterval


def rank_heads(folder: Path) -> list[AlignmentResult]:
    """Rank the cross-attention heads by alignment error rate, with bounds; empty if no links were surveyed."""
    if "alignment" not in require_complete(folder).measures:
        return []
    counts: dict[tuple[int, int, int], list[AlignmentCounts]] = defaultdict(list)
    for heads, _ in _tables(folder):
        table = heads.filter(polars().col("kind") == "cross").select("layer", "head", *ALIGNMENT_COLUMNS)
        for layer, head, linked, sure, *right in table.iter_rows():
            for shift in (0, 1):
                counts[layer, head, shift].append(AlignmentCounts(linked, sure, *right[2 * shift : 2 * shift + 2]))
    ranked = []
    for (layer, head, shift), errors in counts.items():
        total = sum(errors, AlignmentCounts())
        ranked.append(AlignmentResult(layer, head, shift, total, error_bounds(errors)))
    return sorted(ranked, key=lambda result: result.errors.rate)


def _measure_columns(table: Any) -> list[str]:
    keys = {"sentence", "kind", "layer", "head", "role", "looks_at", "looks_with", *ALIGNMENT_COLUMNS}
    return [name for name in table.columns if name not in keys]


def _tables(folder: Path) -> Iterator[tuple[Any, Any]]:
    """Yield the tables of heads and of sentences, one part at a time."""
    for heads, sentences in zip_longest(find_complete_parts(folder, HEADS), find_complete_parts(folder, SENTENCES)):
        yield polars().read_parquet(heads), polars().read_parquet(sentences)
