"""Distillation: unlabelled sentences with probabilities from larger classifiers (arXiv:1503.02531).

A review has one label, but its sentences have none. The teacher labels each sentence, and "0.6" tells
more than a label would.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from headlight.model.errors import TrainingError
from headlight.model.text.cleaning import normalise_review
from headlight.model.training.corpora import CorpusSpec, read_lines, read_pairs
from headlight.model.training.files import write_text
from headlight.model.translate.judge import Judge
from workshop.data.new_lines import text_fingerprint

SENTENCE_END = re.compile(r"(?<=[.!?])[\"')]*\s+")
MIN_WORDS, MAX_WORDS = 3, 40  # words of a sentence


def write_distilled(path: Path, spec: CorpusSpec, data: Path, teachers: Sequence[Path], apart: Collection[str]) -> str:
    """Write `probability<tab>sentence` for the sentences of these texts but `apart`: the mean of what teachers say."""
    judges = [_teacher(folder) for folder in teachers]
    sentences = list(distinct_sentences((pair.source for pair in read_pairs(spec, data)), apart))
    if not sentences:
        raise TrainingError(f"No sentence of {MIN_WORDS} to {MAX_WORDS} words is in these texts. Check the column.")
    judged = np.mean([[each[-1] for each in judge.probabilities(sentences)] for judge in judges], axis=0)
    rows = [f"{value:.3f}\t{sentence}\n" for value, sentence in zip(judged.tolist(), sentences, strict=True)]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, "label\ttext\n" + "".join(rows))
    sure = np.mean(np.abs(judged - 0.5) > 0.4)
    praise = " and ".join(sorted({repr(judge.model.config.classes[-1]) for judge in judges}))
    return f"{path}: sentences: {len(rows):,}; below 0.1 or above 0.9: {sure:.0%}; taken for praise: {praise}"


def distinct_sentences(texts: Iterable[str], apart: Collection[str] = ()) -> Iterator[str]:
    """The sentences of texts but `apart`, folded, each once: signs and capitals don't count."""
    seen = set(apart)
    for text in texts:
        for sentence in SENTENCE_END.split(normalise_review(text)):
            key = text_fingerprint(sentence)
            if MIN_WORDS <= len(sentence.split()) <= MAX_WORDS and key not in seen:
                seen.add(key)
                yield sentence.strip()


def sentence_fingerprints(files: Sequence[Path]) -> set[str]:
    """Every sentence of tables with a header, whose second column has the texts, as `letters` writes it."""
    texts = (line.split("\t")[1] for path in files for line in read_lines(path) if "\t" in line)
    return {text_fingerprint(sentence) for text in texts for sentence in SENTENCE_END.split(normalise_review(text))}


def _teacher(folder: Path) -> Judge:
    """A classifier of two classes, of which a text has one; the last one is praise."""
    judge = Judge.load(folder)
    config = judge.model.config
    if len(config.classes) != 2 or not config.exclusive:
        named = ", ".join(config.classes[:5])
        raise TrainingError(f"{folder} knows these classes: {named}. A teacher knows two, of which a text has one.")
    return judge
