"""Monolingual lines for back-translation that no other file contains.

In back-translation (https://arxiv.org/abs/1511.06709), a model of the opposite direction generates the source of
monolingual text. The target is human text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from headlight.model.training.corpora import read_lines

NON_WORD = re.compile(r"\W+")


def new_lines(files: Sequence[Path], known_files: Sequence[Path], min_words: int, max_words: int) -> Iterator[str]:
    """Yield distinct lines within the word limits that are not in `known_files`, ignoring punctuation and case."""
    lines = (line for path in files for line in read_lines(path))
    return _filter_unseen_lines(lines, read_line_fingerprints(known_files), min_words, max_words)


def read_line_fingerprints(files: Sequence[Path]) -> set[str]:
    """Return the fingerprints of all lines in the files."""
    return {make_fingerprint(line) for path in files for line in read_lines(path)}


def _filter_unseen_lines(lines: Iterable[str], fingerprints: set[str], min_words: int, max_words: int) -> Iterator[str]:
    for line in lines:
        key = make_fingerprint(line)
        if key and key not in fingerprints and min_words <= len(line.split()) <= max_words:
            fingerprints.add(key)
            yield line


def make_fingerprint(line: str) -> str:
    """Return only the letters and digits of a line, in lower case."""
    return NON_WORD.sub("", line.casefold())
