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


def new_lines(files: Sequence[Path], known: Sequence[Path], shortest: int, longest: int) -> Iterator[str]:
    """Yield distinct lines of `files` within the word limits that are not in `known`, ignoring punctuation and case."""
    seen = line_fingerprints(known)
    return _unseen((line for path in files for line in read_lines(path)), seen, shortest, longest)


def line_fingerprints(files: Sequence[Path]) -> set[str]:
    """Return the fingerprints of all lines in the files."""
    return {text_fingerprint(line) for path in files for line in read_lines(path)}


def _unseen(lines: Iterable[str], seen: set[str], shortest: int, longest: int) -> Iterator[str]:
    for line in lines:
        key = text_fingerprint(line)
        if key and key not in seen and shortest <= len(line.split()) <= longest:
            seen.add(key)
            yield line


def text_fingerprint(line: str) -> str:
    """Return only the letters and digits of a line, in lower case."""
    return NON_WORD.sub("", line.casefold())
