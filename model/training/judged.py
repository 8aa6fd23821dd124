"""Sentences without a label, judged by larger classifiers: a small one learns their probabilities (arXiv:1503.02531).

A whole review tells only that it praises or complains; of its sentences nobody says it. A teacher does, and "0.6" tells
more than a label would.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from headlight.model.errors import TrainingError
from headlight.model.text.cleaning import fold
from headlight.model.training.corpora import CorpusSpec, read_pairs
from headlight.model.training.files import write_text
from headlight.model.training.unseen import letters
from headlight.model.translate.judge import Judge

SENTENCE_END = re.compile(r"(?<=[.!?])[\"')]*\s+")
SHORTEST, LONGEST = 3, 40  # words of a sentence


def write_judged(path: Path, spec: CorpusSpec, data: Path, teachers: Sequence[Path], apart: Collection[str]) -> str:
    """Write `probability<tab>sentence` for the sentences of these texts but `apart`: the mean of what teachers say."""
    sentences = list(sentences_of((pair.source for pair in read_pairs(spec, data)), apart))
    if not sentences:
        raise TrainingError(f"No sentence of {SHORTEST} to {LONGEST} words is in these texts. Check the column.")
    judged = np.mean([_positive(folder, sentences) for folder in teachers], axis=0)
    rows = [f"{value:.3f}\t{sentence}\n" for value, sentence in zip(judged.tolist(), sentences, strict=True)]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, "label\ttext\n" + "".join(rows))
    sure = np.mean(np.abs(judged - 0.5) > 0.4)
    return f"{path}: {len(rows):,} sentences, {sure:.0%} of them below 0.1 or above 0.9"


def sentences_of(texts: Iterable[str], apart: Collection[str]) -> Iterator[str]:
    """The sentences of texts but `apart`, folded, each once: signs and capitals don't count."""
    seen = set(apart)
    for text in texts:
        for sentence in SENTENCE_END.split(fold(text)):
            key = letters(sentence)
            if SHORTEST <= len(sentence.split()) <= LONGEST and key not in seen:
                seen.add(key)
                yield sentence.strip()


def _positive(folder: Path, sentences: Sequence[str]) -> list[float]:
    """The probability of the last class, which is the positive one, of each sentence."""
    judge = Judge.load(folder)
    if len(judge.model.config.classes) != 2:
        raise TrainingError(f"{folder} knows {len(judge.model.config.classes)} classes. A teacher has to know two.")
    return [each[-1] for each in judge.probabilities(sentences)]
