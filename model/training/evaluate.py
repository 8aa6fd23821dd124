"""Scores of a finished model: BLEU, chrF and decoding speed of a translator, or a classifier's confusion matrix."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from headlight.model.errors import TrainingError
from headlight.model.files import write_file
from headlight.model.training.corpora import CorpusSpec, read_lines, read_pairs

Translate = Callable[[list[str]], list[str]]


@dataclass(frozen=True, kw_only=True)
class Scores:
    """sacreBLEU scores of a test file, cased and detokenised, and the translation speed."""

    bleu: float
    bleu_signature: str
    chrf: float
    chrf_signature: str
    sentences: int
    seconds: float
    sentences_per_second: float
    words_per_second: float  # words of the translations, separated by spaces

    def __str__(self) -> str:
        return (
            f"BLEU {self.bleu:.2f}  ({self.bleu_signature})\n"
            f"chrF {self.chrf:.2f}  ({self.chrf_signature})\n"
            f"{self.sentences:,} sentences in {self.seconds:.1f} s: "
            f"{self.sentences_per_second:.1f} sentences/s, {self.words_per_second:.0f} words/s"
        )

    def to_json(self) -> str:
        """Serialise all fields as JSON, for a model card."""
        return json.dumps(asdict(self), indent=2) + "\n"


def read_test(source: Path, target: Path) -> tuple[list[str], list[str]]:
    """Read the sources and references of a test set, without cleaning."""
    if source.parent != target.parent:
        pairs = list(read_pairs(CorpusSpec(source=str(source), target=str(target)), Path()))
    else:
        pairs = list(read_pairs(CorpusSpec(source=source.name, target=target.name), source.parent))
    if not pairs:
        raise TrainingError(f"{source} has no sentences to translate.")
    return [pair.source.rstrip("\r\n") for pair in pairs], [pair.target.rstrip("\r\n") for pair in pairs]


def evaluate_translations(
    translate: Translate,
    sources: list[str],
    references: list[str],
    *,
    language: str = "",
    hypotheses_path: Path | None = None,
) -> Scores:
    """Translate, score, and optionally write the translations, one per line."""
    started = time.perf_counter()
    hypotheses = translate(sources)
    seconds = time.perf_counter() - started
    if hypotheses_path is not None:
        write_file(hypotheses_path, "".join(f"{line}\n" for line in hypotheses))
    return score_translations(hypotheses, references, language=language, seconds=seconds)


def choose_bleu_tokenizer(language: str) -> str:
    """Return the name of sacreBLEU's tokenizer for a language. In Chinese, each character is a word."""
    return "zh" if language == "zh" else "13a"


def score_translations(
    hypotheses: Sequence[str], references: Sequence[str], *, language: str = "", seconds: float = 0.0
) -> Scores:
    """Score existing translations. `seconds`: the time that they took."""
    if len(hypotheses) != len(references):
        raise TrainingError(
            f"There are {len(hypotheses):,} translations, but {len(references):,} references. "
            "Give files with the same number of lines."
        )
    try:
        from sacrebleu.metrics.bleu import BLEU
        from sacrebleu.metrics.chrf import CHRF
    except ImportError as error:
        raise TrainingError("Scoring needs sacreBLEU: pip install -r requirements-train.txt") from error
    bleu, chrf = BLEU(tokenize=choose_bleu_tokenizer(language)), CHRF()
    bleu_score, chrf_score = bleu.corpus_score(hypotheses, [references]), chrf.corpus_score(hypotheses, [references])
    words = sum(len(line.split()) for line in hypotheses)
    return Scores(
        bleu=bleu_score.score,
        bleu_signature=str(bleu.get_signature()),
        chrf=chrf_score.score,
        chrf_signature=str(chrf.get_signature()),
        sentences=len(hypotheses),
        seconds=seconds,
        sentences_per_second=len(hypotheses) / seconds if seconds else 0.0,
        words_per_second=words / seconds if seconds else 0.0,
    )


# ------------------------------------------------------------ classifiers


@dataclass(frozen=True)
class Classification:
    """The confusion matrix of a classifier: `confusion[true, predicted]` counts texts."""

    classes: tuple[str, ...]
    confusion: npt.NDArray[np.int64]

    @property
    def accuracy(self) -> float:
        """The share of texts with a correct prediction."""
        return float(np.trace(self.confusion) / max(1, self.confusion.sum()))

    def to_json(self) -> str:
        """Serialise all fields, for a model card."""
        values = {"accuracy": self.accuracy, "classes": self.classes, "confusion": self.confusion.tolist()}
        return json.dumps(values, indent=2) + "\n"

    def __str__(self) -> str:
        width = max(len(name) for name in (*self.classes, "true \\ predicted"))
        rows = [["true \\ predicted", *self.classes]]
        rows += [
            [name, *(f"{count:,}" for count in row)] for name, row in zip(self.classes, self.confusion, strict=True)
        ]
        table = "\n".join("  ".join(cell.rjust(width) for cell in row) for row in rows)
        return f"accuracy {100 * self.accuracy:.2f}% of {int(self.confusion.sum()):,} texts\n{table}"


class LabelledTexts(NamedTuple):
    """Texts with labels, and optionally with kinds, such as "negation"."""

    labels: list[int]  # class indices
    texts: list[str]
    kinds: list[str]  # empty if the table has no kinds

    def accuracy_by_kind(self, predictions: Sequence[int]) -> dict[str, float]:
        """Return the accuracy per kind, in the order of the table."""
        right: dict[str, list[bool]] = {}
        for label, kind, prediction in zip(self.labels, self.kinds, predictions, strict=True):
            right.setdefault(kind, []).append(label == prediction)
        return {kind: sum(values) / len(values) for kind, values in right.items()}


def read_labelled(path: Path) -> LabelledTexts:
    """Read a whole TSV with the columns `label`, `text` and optionally `kind`, named in the first line."""
    pairs = list(read_pairs(CorpusSpec(source=path.name), path.parent))
    if not pairs or (pairs[0].source, pairs[0].target.strip()) != ("label", "text"):
        raise TrainingError(f"{path} must begin with the line: label, a tab, text. Labels are 0 and 1.")
    invalid = sorted({pair.source for pair in pairs[1:]} - {"0", "1"})
    if invalid or len(pairs) == 1:
        problem = f"contains the label {invalid[0]!r}" if invalid else "contains no text"
        raise TrainingError(f"{path} {problem}. Write one text per line, after 0 or 1 and a tab.")
    header, *rows = ([*line.split("\t"), ""] for line in read_lines(path))
    kinds = [row[2] for row in rows] if header[2] == "kind" else []
    return LabelledTexts(
        [int(pair.source) for pair in pairs[1:]], [pair.target.rstrip("\r\n") for pair in pairs[1:]], kinds
    )


def make_confusion_matrix(labels: Sequence[int], predictions: Sequence[int], classes: Sequence[str]) -> Classification:
    """Count how often each class was predicted for each true class."""
    if len(labels) != len(predictions):
        raise TrainingError(f"There are {len(labels):,} labels, but {len(predictions):,} predictions.")
    invalid = sorted({*labels, *predictions} - set(range(len(classes))))
    if invalid:
        raise TrainingError(f"Label {invalid[0]} is not one of the {len(classes)} classes, counted from 0.")
    confusion = np.zeros((len(classes), len(classes)), dtype=np.int64)
    np.add.at(confusion, (np.asarray(labels, dtype=np.int64), np.asarray(predictions, dtype=np.int64)), 1)
    return Classification(tuple(classes), confusion)
