"""Streams of parallel text from two files or one TSV, optionally gzipped, with cleaning.

Cleaning keeps only a hash of each pair in memory, so a corpus may be larger than memory.
"""

from __future__ import annotations

import gzip
import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import NamedTuple, TextIO, cast

from headlight.model.errors import TrainingError

WORD = re.compile(r"n't|\w+")
FIRST_EAST_ASIAN = "\u2e80"  # first code point of Chinese characters and punctuation


class Pair(NamedTuple):
    """A sentence and its translation."""

    source: str
    target: str


@dataclass(frozen=True, kw_only=True)
class CorpusSpec:
    """Path of a corpus, relative to the data folder, and its weight in an epoch."""

    source: str  # a file of sentences; without `target`, a TSV of source and target columns
    target: str | None = None
    weight: float = 1.0  # 2: every pair twice per epoch; 0.25: a different quarter each epoch
    fold_target_case: bool = False  # lower-case targets, whose case was restored by rules
    source_tag: str = ""  # prefix of each source, which marks the style of this corpus
    source_column: int = 0  # column in a TSV, counted from 0
    target_column: int = 1
    header: bool = False  # whether the first line names the columns
    one_in: int = 0  # n: only every n-th pair, for validation
    but_one_in: int = 0  # n: all pairs except every n-th, for training
    having: tuple[str, ...] = ()  # only pairs whose source has one of these words; "n't" is a word
    joined: int = 0  # number of random pairs that are joined to one text, to learn longer texts

    def __post_init__(self) -> None:
        parts = {self.one_in, self.but_one_in}
        if parts != {0} and (min(parts) != 0 or max(parts) < 2):
            raise TrainingError(f"{self.source}: set either one_in or but_one_in, to 2 or more.")
        if not isinstance(self.having, tuple) or not all(self.having):
            raise TrainingError(f'{self.source}: having must be a list of words, such as ["not", "never"].')
        if self.joined < 0 or self.joined == 1:
            raise TrainingError(f"{self.source}: joined is {self.joined}, but must be 2 or more. Or omit it.")
        if not self.weight > 0:
            raise TrainingError(f"{self.source}: its weight is {self.weight}, but must be above 0. Or omit it.")
        if min(self.source_column, self.target_column) < 0 or self.source_column == self.target_column:
            raise TrainingError(f"{self.source}: source_column and target_column must be two columns, counted from 0.")

    @property
    def files(self) -> tuple[str, ...]:
        """The files of the corpus."""
        return (self.source,) if self.target is None else (self.source, self.target)


@dataclass(frozen=True, kw_only=True)
class Cleaning:
    """Limits on the pairs to train on."""

    max_characters: int = 500  # of the longer side
    max_ratio: float = 4.0  # between the lengths in characters; Chinese text is short and needs a higher limit
    ratio_slack: int = 12  # length difference in characters that is accepted at any ratio
    duplicates: bool = False  # whether duplicates are kept

    def __post_init__(self) -> None:
        if self.max_characters < 1 or self.max_ratio < 1 or self.ratio_slack < 0:
            raise TrainingError("cleaning: max_characters and max_ratio must be at least 1, ratio_slack at least 0.")

    def find_rejection_reason(self, pair: Pair) -> str | None:
        """Return the reason to drop a pair, or None."""
        short, long = sorted((len(pair.source), len(pair.target)))
        if not short:
            return "blank"
        if long > self.max_characters:
            return "too long"
        if long > short * self.max_ratio and long - short > self.ratio_slack:
            return "length ratio"
        return None


@dataclass
class CleaningReport:
    """Numbers of pairs read, kept, and dropped per reason."""

    read: int = 0
    kept: int = 0
    dropped: dict[str, int] = field(
        default_factory=lambda: {"blank": 0, "too long": 0, "length ratio": 0, "duplicate": 0}
    )

    def __str__(self) -> str:
        reasons = ", ".join(f"{reason} {count:,}" for reason, count in self.dropped.items())
        return f"{self.kept:,} of {self.read:,} pairs kept; dropped: {reasons}"


class Cleaner:
    """Drops invalid pairs, and pairs that are duplicates within or across corpora."""

    def __init__(self, cleaning: Cleaning) -> None:
        self.cleaning = cleaning
        self.pair_digests: set[bytes] = set()
        self.digest = hashlib.sha256()  # of all kept pairs, in order

    def clean(self, pairs: Iterable[Pair], report: CleaningReport) -> Iterator[Pair]:
        """Yield the normalised pairs to train on."""
        for raw_pair in pairs:
            report.read += 1
            pair = Pair(normalise_line(raw_pair.source), normalise_line(raw_pair.target))
            reason = self.cleaning.find_rejection_reason(pair)
            line = f"{pair.source}\t{pair.target}\n".encode()
            if reason is None and not self.cleaning.duplicates:
                key = hashlib.blake2b(line, digest_size=12).digest()
                reason = "duplicate" if key in self.pair_digests else None
                self.pair_digests.add(key)
            if reason is not None:
                report.dropped[reason] += 1
                continue
            report.kept += 1
            self.digest.update(line)
            yield pair


def normalise_line(line: str) -> str:
    """Normalise to NFC, and replace each run of white space, including tabs and line ends, by one space."""
    return " ".join(unicodedata.normalize("NFC", line).split())


def read_pairs(spec: CorpusSpec, folder: Path) -> Iterator[Pair]:
    """Return the pairs of a corpus in order, selected and changed as specified, but not cleaned."""
    pairs = _read_two_files(spec, folder) if spec.target is not None else _read_tsv(spec, folder)
    if spec.one_in:
        pairs = (pair for number, pair in enumerate(pairs) if number % spec.one_in == 0)
    if spec.but_one_in:
        pairs = (pair for number, pair in enumerate(pairs) if number % spec.but_one_in)
    if spec.having:
        words = frozenset(spec.having)
        pairs = (pair for pair in pairs if not words.isdisjoint(_words(pair.source)))
    if spec.fold_target_case:
        pairs = (Pair(pair.source, pair.target.lower()) for pair in pairs)
    if spec.source_tag:
        pairs = (Pair(f"{spec.source_tag} {pair.source}", pair.target) for pair in pairs if pair.source.strip())
    return join_pairs(pairs, spec.joined) if spec.joined else pairs


def join_pairs(pairs: Iterable[Pair], count: int) -> Iterator[Pair]:
    """Shuffle pairs with a fixed seed, and join each `count` of them to one text. The remainder is dropped."""
    shuffled = list(pairs)
    Random(count).shuffle(shuffled)  # noqa: S311 (no secret)
    for first in range(0, len(shuffled) - count + 1, count):
        sources, targets = zip(*shuffled[first : first + count], strict=True)
        yield Pair(_join_sentences(sources), _join_sentences(targets))


def _join_sentences(sentences: Iterable[str]) -> str:
    """Join sentences with spaces, without a space after a Chinese sentence."""
    text = ""
    for sentence in sentences:
        last_character = text[-1:]
        text += (" " if last_character and last_character < FIRST_EAST_ASIAN else "") + sentence.strip()
    return text


def read_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a file, gzipped or not, without line ends."""
    with _open_text(path) as file:
        while line := _read_line(file, path):
            yield line.rstrip("\r\n")


def _read_two_files(spec: CorpusSpec, folder: Path) -> Iterator[Pair]:
    names = [folder / name for name in spec.files]
    with _open_text(names[0]) as sources, _open_text(names[1]) as targets:
        while True:
            source, target = (_read_line(file, name) for file, name in zip((sources, targets), names, strict=True))
            if not source and not target:
                return
            if not source or not target:
                raise TrainingError(
                    f"{names[0]} and {names[1]} are not parallel: {names[0 if not source else 1]} ends first. "
                    "Line n of one must be the translation of line n of the other."
                )
            yield Pair(source, target)


def _read_tsv(spec: CorpusSpec, folder: Path) -> Iterator[Pair]:
    name = folder / spec.source
    needed = max(spec.source_column, spec.target_column) + 1
    with _open_text(name) as file:
        number = 0
        while line := _read_line(file, name):
            number += 1
            if spec.header and number == 1:
                continue
            columns = line.rstrip("\r\n").split("\t")
            if len(columns) < needed:
                if not line.strip():
                    columns = [""] * needed
                else:
                    raise TrainingError(
                        f"{name}, line {number}: {len(columns)} column(s), but {needed} are needed. "
                        "Separate source and target by a tab, or give two files."
                    )
            yield Pair(columns[spec.source_column], columns[spec.target_column])


def _open_text(path: Path) -> TextIO:
    gzipped = path.with_name(path.name + ".gz")
    if not path.exists() and gzipped.exists():
        path = gzipped
    try:
        if path.suffix == ".gz":
            return cast("TextIO", gzip.open(path, "rt", encoding="utf-8", newline="\n"))
        return path.open(encoding="utf-8", newline="\n")  # sentences may contain other line separators
    except FileNotFoundError as error:
        raise TrainingError(
            f"{path} does not exist. Check its name (training starts from the folder given by --data), "
            "or download a public dataset with: python -m headlight data get NAME"
        ) from error
    except OSError as error:
        raise TrainingError(f"{path} cannot be read: {error.strerror or error}.") from error


def _read_line(file: TextIO, path: Path) -> str:
    try:
        return file.readline()
    except UnicodeDecodeError as error:
        raise TrainingError(f"{path} is not UTF-8 ({error.reason}). Convert it to UTF-8, e.g. with iconv.") from error
    except (EOFError, gzip.BadGzipFile, OSError) as error:
        raise TrainingError(f"{path} is damaged or cut short: {error}. Download it again.") from error


def _words(text: str) -> list[str]:
    """Return lower-case words, with "n't" separate from its verb."""
    return WORD.findall(text.lower().replace("n't", " n't"))
