"""Word segmenters for languages without spaces. Only learning a vocabulary needs them, not encoding or decoding."""

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
    """Return the segmenter of these languages, or None if spaces separate words."""
    return segment_chinese if "zh" in languages else None


def segment_chinese(text: str) -> list[str]:
    """Segment a Chinese sentence into words with jieba."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # jieba locates its files with a deprecated function
            import jieba
    except ImportError as error:
        raise TrainingError(
            "Chinese segmentation needs jieba: pip install -r requirements-train.txt. "
            "Or set tokenizer.segmented to false."
        ) from error
    jieba.setLogLevel(logging.ERROR)
    return list(jieba.cut(text))


def measure_boundary_recall(tokenizer: Tokenizer, lines: Iterable[str], segment: Segment) -> tuple[int, int]:
    """Return the number of word boundaries without a space that are token boundaries, and the number of all of them."""
    matches = total = 0
    for line in lines:
        marked = insert_boundaries(segment(line)).split("\n")
        boundaries = set(accumulate(map(len, marked[:-1])))
        ends = {token.end for token in tokenizer.source_tokens(line) if not token.special}
        matches, total = matches + len(boundaries & ends), total + len(boundaries)
    return matches, total
