"""Labels film reviews and excerpts of them with models that were not trained on them. `sentiment` learns the labels.

    pip install -r requirements-train.txt scikit-learn==1.9.1
    PYTHONPATH=. python assets/recipes/sentiment_reviews.py --data DATA

The label of a review does not state how clear it is, and a small model memorises unusual reviews. Runs of up to three
words are therefore weighted by their frequency in positive and negative reviews (naive Bayes features in logistic
regression: Wang and Manning 2012), and boosted trees combine this with the labels that a larger model gave to the
sentences (`judged/imdb.tsv`). Each fifth of the reviews is labelled by models trained on the other four fifths (the
larger model has seen excerpts of all). The script writes two tables, `probability<tab>text`:

- `judged/reviews.tsv`: the reviews, without quotation marks after a sentence; the probability is the mean of the
  review's label and the prediction;
- `judged/cuttings.tsv`: up to three excerpts of each review, about 40 to 180 words in whole sentences; one fifth of the
  probability is the label of the review.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, diags_array
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from headlight.model.files import write_file
from headlight.model.text.cleaning import normalise_review
from headlight.model.training.corpora import CorpusSpec, read_pairs
from workshop.data.judged_reviews import SENTENCE_END
from workshop.data.new_lines import make_fingerprint

Floats = npt.NDArray[np.float64]
COLUMNS = {"source_column": 1, "target_column": 0, "header": True}
REVIEWS = CorpusSpec(source="sentiment/imdb/train.tsv.gz", but_one_in=20, **COLUMNS)
SENTENCES = CorpusSpec(source="judged/imdb.tsv", **COLUMNS)
WORD = re.compile(r"n't|\w+|[!?]")
FOLDS = 5
EXCERPTS, MIN_WORDS, MAX_WORDS = 3, 40, 180  # excerpts per review, and the range of their intended lengths
MIN_SHARE = 0.6  # of the intended length: excerpts near the end of a review may be shorter
LABEL_SHARES = {"reviews": 0.5, "cuttings": 0.2}  # weight of the review's label in the probability


class Piece(NamedTuple):
    """A review, or an excerpt of one."""

    kind: str  # a key of `LABEL_SHARES`
    sentences: Sequence[str]
    label: int  # of the whole review; 1: positive
    fold: int  # the same for all pieces of a review


def main() -> None:
    """Write both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    sentence_labels = {
        make_fingerprint(pair.source): float(pair.target) for pair in read_pairs(SENTENCES, arguments.data)
    }
    pieces = list(read_pieces(arguments.data, Random(arguments.seed)))  # noqa: S311 - not a secret
    labels, folds = np.array([each.label for each in pieces]), np.array([each.fold for each in pieces])
    whole = np.array([each.kind == "reviews" for each in pieces])
    counts = word_runs(pieces, whole)
    by_words = predict_by_words(counts, labels, folds, whole)
    evidence = np.column_stack(
        [by_words, scale_by_length(by_words, counts), summarise_sentences(pieces, sentence_labels)]
    )
    probabilities = combine(evidence, labels, folds)
    for kind, label_share in LABEL_SHARES.items():
        indices = [index for index, piece in enumerate(pieces) if piece.kind == kind]
        accuracy = np.mean((probabilities[indices] > 0.5) == labels[indices])
        print(f"{kind}: {len(indices):,}; {accuracy:.2%} are predicted like the label of their review")
        rows = (
            f"{label_share * labels[index] + (1 - label_share) * probabilities[index]:.3f}\t"
            f"{' '.join(pieces[index].sentences)}\n"
            for index in indices
        )
        write_file(arguments.data / "judged" / f"{kind}.tsv", "label\ttext\n" + "".join(rows))


def read_pieces(data: Path, random: Random) -> Iterator[Piece]:
    """Yield each review, followed by its excerpts."""
    for pair in read_pairs(REVIEWS, data):
        sentences = [each for each in SENTENCE_END.split(normalise_review(pair.source)) if each.strip()]
        label, fold = int(pair.target), random.randrange(FOLDS)
        yield Piece("reviews", sentences, label, fold)
        for _ in range(EXCERPTS):
            size, first = random.uniform(MIN_WORDS, MAX_WORDS), random.randrange(len(sentences))
            excerpt: list[str] = []
            while first < len(sentences) and count_words(excerpt) < size:
                excerpt.append(sentences[first])
                first += 1
            if count_words(excerpt) >= MIN_SHARE * size:
                yield Piece("cuttings", excerpt, label, fold)


def count_words(sentences: Sequence[str]) -> int:
    """Count words by spaces."""
    return sum(len(sentence.split()) for sentence in sentences)


def word_runs(pieces: Sequence[Piece], whole: npt.NDArray[np.bool_]) -> csr_matrix:
    """Return which runs of one to three words each piece has, `[pieces, runs]`. Runs need four reviews."""
    vectoriser = CountVectorizer(
        ngram_range=(1, 3), tokenizer=WORD.findall, token_pattern=None, lowercase=False, binary=True, min_df=4,
        dtype=np.float32,
    )  # fmt: skip
    texts = [" ".join(piece.sentences) for piece in pieces]
    vectoriser.fit(text for text, is_whole in zip(texts, whole, strict=True) if is_whole)
    return vectoriser.transform(texts)


def predict_by_words(counts: csr_matrix, labels: Floats, folds: Floats, whole: npt.NDArray[np.bool_]) -> Floats:
    """Predict the log-odds of each fold's pieces from their runs of words, with a model of the other folds' reviews."""
    log_odds = np.zeros(len(labels))
    for held_out in range(FOLDS):
        known = whole & (folds != held_out)
        positive, negative = (1 + counts[known & (labels == label)].sum(axis=0).A1 for label in (1, 0))
        log_ratios = np.log(positive / positive.sum() / (negative / negative.sum())).astype(np.float32)  # [runs]
        model = LogisticRegression(C=0.3, solver="liblinear", dual=True, max_iter=200, random_state=1)
        model.fit(counts[known] @ diags_array(log_ratios), labels[known])
        judged = folds == held_out
        log_odds[judged] = counts[judged] @ (log_ratios * model.coef_[0]) + model.intercept_[0]
    return log_odds


def scale_by_length(log_odds: Floats, counts: csr_matrix) -> Floats:
    """Return the log-odds scaled by the number of runs, so that lengths are comparable, and the log of that number."""
    runs = counts.sum(axis=1).A1
    return np.column_stack([log_odds / np.sqrt(runs + 1) * 10, np.log(runs + 1)])


def summarise_sentences(pieces: Sequence[Piece], sentence_labels: dict[str, float]) -> Floats:
    """Summarise the log-odds of the sentences of each piece, `[pieces, 7]`; zero if none is labelled."""
    table = np.zeros((len(pieces), 7))
    for row, piece in zip(table, pieces, strict=True):
        known = [sentence_labels[key] for key in map(make_fingerprint, piece.sentences) if key in sentence_labels]
        if known:
            probabilities = np.clip(known, 0.01, 0.99)
            odds = np.log(probabilities / (1 - probabilities))
            count = len(odds)
            row[:3] = odds.mean(), odds[-2:].mean(), odds[:2].mean()  # mean, end, beginning
            row[3:] = odds.min(), odds.max(), odds.sum() / np.sqrt(count), count
    return table


def combine(evidence: Floats, labels: Floats, folds: Floats) -> Floats:
    """Predict the probability of the positive class for each piece, with trees trained on the other folds."""
    probabilities = np.zeros(len(labels))
    for held_out in range(FOLDS):
        trees = HistGradientBoostingClassifier(
            max_iter=150,
            learning_rate=0.06,
            max_leaf_nodes=12,
            min_samples_leaf=200,
            early_stopping=False,
            random_state=1,
        )
        trees.fit(evidence[folds != held_out], labels[folds != held_out])
        probabilities[folds == held_out] = trees.predict_proba(evidence[folds == held_out])[:, 1]
    return probabilities


if __name__ == "__main__":
    main()
