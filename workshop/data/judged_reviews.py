"""Distillation: unlabelled sentences with probabilities from larger classifiers (arXiv:1503.02531).

A review has one label, but its sentences have none. The teachers label each sentence with a probability, which is more
informative than a class.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from headlight.model.errors import TrainingError
from headlight.model.files import write_file
from headlight.model.text.cleaning import normalise_review
from headlight.model.training.corpora import CorpusSpec, read_lines, read_pairs
from headlight.model.translate.judge import Judge
from workshop.data.new_lines import make_fingerprint

SENTENCE_END = re.compile(r"(?<=[.!?])[\"')]*\s+")
MIN_WORDS, MAX_WORDS = 3, 40  # per sentence


def write_distilled(
    path: Path, spec: CorpusSpec, data: Path, teachers: Sequence[Path], excluded: Collection[str]
) -> str:
    """Write `probability<tab>sentence` with the mean of the teachers, without the sentences in `excluded`.

    Returns a summary. Raises a `TrainingError` if the corpus has no sentence of a suitable length.
    """
    judges = [_load_teacher(folder) for folder in teachers]
    sentences = list(split_distinct_sentences((pair.source for pair in read_pairs(spec, data)), excluded))
    if not sentences:
        raise TrainingError(f"No sentence of {MIN_WORDS} to {MAX_WORDS} words is in these texts. Check the column.")
    probabilities = np.mean(
        [[class_probabilities[-1] for class_probabilities in judge.probabilities(sentences)] for judge in judges],
        axis=0,
    )
    rows = [f"{value:.3f}\t{sentence}\n" for value, sentence in zip(probabilities.tolist(), sentences, strict=True)]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, "label\ttext\n" + "".join(rows))
    confident = np.mean(np.abs(probabilities - 0.5) > 0.4)
    praise = " and ".join(sorted({repr(judge.model.config.classes[-1]) for judge in judges}))
    return f"{path}: sentences: {len(rows):,}; below 0.1 or above 0.9: {confident:.0%}; taken for praise: {praise}"


def split_distinct_sentences(texts: Iterable[str], excluded: Collection[str] = ()) -> Iterator[str]:
    """Yield the distinct sentences that are not in `excluded`, normalised. Punctuation and case are ignored."""
    fingerprints = set(excluded)
    for text in texts:
        for sentence in SENTENCE_END.split(normalise_review(text)):
            key = make_fingerprint(sentence)
            if MIN_WORDS <= len(sentence.split()) <= MAX_WORDS and key not in fingerprints:
                fingerprints.add(key)
                yield sentence.strip()


def read_sentence_fingerprints(files: Sequence[Path]) -> set[str]:
    """Return the fingerprints of all sentences in tables whose second column has the texts."""
    texts = (line.split("\t")[1] for path in files for line in read_lines(path) if "\t" in line)
    return {make_fingerprint(sentence) for text in texts for sentence in SENTENCE_END.split(normalise_review(text))}


def _load_teacher(folder: Path) -> Judge:
    """Load a classifier with two exclusive classes, of which the last is praise. Raise a `TrainingError` for others."""
    judge = Judge.load(folder)
    config = judge.model.config
    if len(config.classes) != 2 or not config.exclusive:
        class_names = ", ".join(config.classes[:5])
        raise TrainingError(f"{folder} has these classes: {class_names}. A teacher needs two exclusive classes.")
    return judge
