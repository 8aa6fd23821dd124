"""Segmenters for languages without spaces. A vocabulary is learnt with one; reading and writing text needs none."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate

from headlight.model.errors import TrainingError
from headlight.model.text.segmentation import insert_boundaries
from headlight.model.text.tokenizer import Tokenizer

Segment = Callable[[str], Sequence[str]]


def find_segmenter(languages: Iterable[str]) -> Segment | None:
    """The segmenter of these languages; None where spaces separate words."""
    return chinese_words if "zh" in languages else None


def chinese_words(text: str) -> list[str]:
    """The words of a Chinese sentence, as jieba finds them."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of its old way to find its own files
            import jieba
    except ImportError as error:
        raise TrainingError(
            "Words of Chinese are found by jieba: pip install -r requirements-train.txt. "
            "Or set tokenizer.segmented to false."
        ) from error
    jieba.setLogLevel(logging.ERROR)
    return list(jieba.cut(text))


def boundary_recall(tokenizer: Tokenizer, lines: Iterable[str], segment: Segment) -> tuple[int, int]:
    """How many of the borders that only a segmenter sees are borders of tokens, too; and how many there are."""
    matching = there = 0
    for line in lines:
        marked = insert_boundaries(segment(line)).split("\n")
        borders = set(accumulate(map(len, marked[:-1])))
        ends = {token.end for token in tokenizer.source_tokens(line) if not token.special}
        matching, there = matching + len(borders & ends), there + len(borders)
    return matching, there
