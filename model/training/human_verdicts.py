"""Verdicts of human readers on whether translations are right. A reliability rule is fitted to them.

A verdict is about one sentence and one translation, its "answer". A table contains both texts, or only their
fingerprint if the licence of the sentences forbids copies.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from headlight.model.errors import TrainingError

RIGHT, WRONG = "right", "wrong"
TEXT_COLUMNS = {"sentence", "answer"}
FINGERPRINT_DIGITS = 16  # hexadecimal


def fingerprint(sentence: str, answer: str) -> str:
    """Return the digest of a sentence and its answer, which does not reveal the texts."""
    return hashlib.sha256(f"{sentence}\t{answer}".encode()).hexdigest()[:FINGERPRINT_DIGITS]


def read_mistakes(path: Path, direction: str) -> Mapping[str, str]:
    """Read what is wrong in wrong answers: fingerprint → kind. The table has texts, and a column `kind`."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return {
        fingerprint(row["sentence"], row["answer"]): row["kind"]
        for row in rows
        if row["direction"] == direction and row["verdict"] == WRONG
    }


def read_verdicts(paths: Iterable[Path], direction: str) -> Mapping[str, bool]:
    """Read verdicts: fingerprint → whether the answer is right.

    The tables have the columns `direction`, `verdict`, and `fingerprint` or `sentence` and `answer`.
    """
    results: dict[str, bool] = {}
    for path in paths:
        with path.open(encoding="utf-8", newline="") as file:
            table = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
            rows, columns = list(table), set(table.fieldnames or ())
        if not {"direction", "verdict"} <= columns or not (columns >= TEXT_COLUMNS or "fingerprint" in columns):
            raise TrainingError(
                f"{path.name} needs the columns direction, verdict, and fingerprint or sentence and answer."
            )
        for row in rows:
            if not row["verdict"]:
                continue  # no verdict yet
            if row["verdict"] not in (RIGHT, WRONG):
                raise TrainingError(f"{path.name}: a verdict is {row['verdict']!r}, but must be {RIGHT} or {WRONG}.")
            if row["direction"] == direction:
                digest = row.get("fingerprint") or fingerprint(row["sentence"], row["answer"])
                results[digest] = row["verdict"] == RIGHT
    return results
