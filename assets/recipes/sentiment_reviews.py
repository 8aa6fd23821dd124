"""Labels of film reviews and of cuttings from them, by models that have not learnt those; `sentiment` learns them.

    pip install -r requirements-train.txt scikit-learn==1.9.1
    PYTHONPATH=. python assets/recipes/sentiment_reviews.py --data DATA

A review's own label does not tell how plainly it praises, and a small model learns the odd ones by heart. So runs of
up to three words are weighed by how much more often they praise than complain (naive Bayes within logistic regression:
Wang and Manning 2012), and trees put that beside what a larger model said of the sentences (`judged/imdb.tsv`). A fifth
of the reviews at a time is judged by what the other four fifths taught (the larger model had seen cuttings of all).
Two tables come out, `probability<tab>text`:

- `judged/reviews.tsv`: the reviews, without quotes behind a sentence's end; half of a probability is their own label,
  half that judgement;
- `judged/cuttings.tsv`: up to three cuttings of each, about 40 to 180 words in whole sentences; a fifth and four fifths.
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

from headlight.model.text.cleaning import normalise_review
from headlight.model.training.corpora import CorpusSpec, read_pairs
from headlight.model.files import write_file
from workshop.data.judged_reviews import SENTENCE_END
from workshop.data.new_lines import text_fingerprint

Floats = npt.NDArray[np.float64]
COLUMNS = {"source_column": 1, "target_column": 0, "header": True}
REVIEWS = CorpusSpec(source="sentiment/imdb/train.tsv.gz", but_one_in=20, **COLUMNS)
SENTENCES = CorpusSpec(source="judged/imdb.tsv", **COLUMNS)
WORD = re.compile(r"n't|\w+|[!?]")
FOLDS = 5
CUTTINGS, SHORTEST, LONGEST = 3, 40, 180  # of a review, and the words that one is meant to have
ENOUGH = 0.6  # of the words that a cutting was meant to have: near the end of a review there may be fewer
OWN_LABEL = {"reviews": 0.5, "cuttings": 0.2}  # its share


class Piece(NamedTuple):
    """A review, or a cutting of one."""

    kind: str  # a key of `OWN_LABEL`
    sentences: Sequence[str]
    label: int  # of the whole review: 1 praises
    fold: int  # all pieces of a review are in one


def main() -> None:
    """Write both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    said = {text_fingerprint(pair.source): float(pair.target) for pair in read_pairs(SENTENCES, arguments.data)}
    pieces = list(pieces_of(arguments.data, Random(arguments.seed)))  # noqa: S311 (no secret)
    labels, folds = np.array([each.label for each in pieces]), np.array([each.fold for each in pieces])
    whole = np.array([each.kind == "reviews" for each in pieces])
    counts = word_runs(pieces, whole)
    by_words = judged_apart(counts, labels, folds, whole)
    evidence = np.column_stack([by_words, relative(by_words, counts), of_sentences(pieces, said)])
    chances = weighed(evidence, labels, folds)
    for kind, own in OWN_LABEL.items():
        chosen = [place for place, piece in enumerate(pieces) if piece.kind == kind]
        right = np.mean((chances[chosen] > 0.5) == labels[chosen])
        print(f"{kind}: {len(chosen):,}; their review's label is told in {right:.2%}")
        rows = (
            f"{own * labels[place] + (1 - own) * chances[place]:.3f}\t{' '.join(pieces[place].sentences)}\n"
            for place in chosen
        )
        write_file(arguments.data / "judged" / f"{kind}.tsv", "label\ttext\n" + "".join(rows))


def pieces_of(data: Path, random: Random) -> Iterator[Piece]:
    """Every review, and behind it its cuttings."""
    for pair in read_pairs(REVIEWS, data):
        sentences = [each for each in SENTENCE_END.split(normalise_review(pair.source)) if each.strip()]
        label, own_fold = int(pair.target), random.randrange(FOLDS)
        yield Piece("reviews", sentences, label, own_fold)
        for _ in range(CUTTINGS):
            size, first = random.uniform(SHORTEST, LONGEST), random.randrange(len(sentences))
            cutting: list[str] = []
            while first < len(sentences) and words_in(cutting) < size:
                cutting.append(sentences[first])
                first += 1
            if words_in(cutting) >= ENOUGH * size:
                yield Piece("cuttings", cutting, label, own_fold)


def words_in(sentences: Sequence[str]) -> int:
    """Counted by the spaces between them."""
    return sum(len(sentence.split()) for sentence in sentences)


def word_runs(pieces: Sequence[Piece], whole: npt.NDArray[np.bool_]) -> csr_matrix:
    """Which runs of one to three words a piece has, of those that four reviews have, `[pieces, runs]`."""
    vectoriser = CountVectorizer(
        ngram_range=(1, 3), tokenizer=WORD.findall, token_pattern=None, lowercase=False, binary=True, min_df=4,
        dtype=np.float32,
    )  # fmt: skip
    texts = [" ".join(piece.sentences) for piece in pieces]
    vectoriser.fit(text for text, is_whole in zip(texts, whole, strict=True) if is_whole)
    return vectoriser.transform(texts)


def judged_apart(counts: csr_matrix, labels: Floats, folds: Floats, whole: npt.NDArray[np.bool_]) -> Floats:
    """Log odds of praise by the runs of words, of the pieces of each fifth from the whole reviews of the others."""
    log_odds = np.zeros(len(labels))
    for held_out in range(FOLDS):
        known = whole & (folds != held_out)
        praise, blame = (1 + counts[known & (labels == label)].sum(axis=0).A1 for label in (1, 0))
        leaning = np.log(praise / praise.sum() / (blame / blame.sum())).astype(np.float32)  # [runs]
        fitted = LogisticRegression(C=0.3, solver="liblinear", dual=True, max_iter=200, random_state=1)
        fitted.fit(counts[known] @ diags_array(leaning), labels[known])
        judged = folds == held_out
        log_odds[judged] = counts[judged] @ (leaning * fitted.coef_[0]) + fitted.intercept_[0]
    return log_odds


def relative(log_odds: Floats, counts: csr_matrix) -> Floats:
    """The same for each run of words, on a scale that long and short pieces share, and how many there are."""
    runs = counts.sum(axis=1).A1
    return np.column_stack([log_odds / np.sqrt(runs + 1) * 10, np.log(runs + 1)])


def of_sentences(pieces: Sequence[Piece], said: dict[str, float]) -> Floats:
    """What was said of the sentences of each piece, as log odds, `[pieces, 7]`; zeros where nothing was."""
    table = np.zeros((len(pieces), 7))
    for row, piece in zip(table, pieces, strict=True):
        known = [said[key] for key in map(text_fingerprint, piece.sentences) if key in said]
        if known:
            chances = np.clip(known, 0.01, 0.99)
            odds = np.log(chances / (1 - chances))
            count = len(odds)
            row[:3] = odds.mean(), odds[-2:].mean(), odds[:2].mean()  # the end weighs most, then the beginning
            row[3:] = odds.min(), odds.max(), odds.sum() / np.sqrt(count), count
    return table


def weighed(evidence: Floats, labels: Floats, folds: Floats) -> Floats:
    """The probability of praise of each piece, by trees that saw the pieces of the other fifths."""
    chances = np.zeros(len(labels))
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
        chances[folds == held_out] = trees.predict_proba(evidence[folds == held_out])[:, 1]
    return chances


if __name__ == "__main__":
    main()
