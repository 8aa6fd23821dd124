"""Items about the decoder: what it reads and writes, which cells are masked, which side asks, the order of words."""

from __future__ import annotations

import numpy as np

from headlight.model.training.build_lesson.sentence_numbers import deciding_words, next_words
from headlight.model.training.build_lesson.trained import ALIGNED
from headlight.viz.lessons.quiz.case import Case, Item, label
from headlight.viz.lessons.quiz.question import Question, outcomes

MASK_ROWS = 5
SHIFT_ROWS = 5
Cells = frozenset[tuple[int, int]]


def mask(case: Case) -> Question:
    """Return a mask to draw: the cells that training hides from each row."""
    words = [label(word) for word in case.inputs[:MASK_ROWS]]
    hidden = case.head_values("decoder.shares")[:MASK_ROWS, :MASK_ROWS] == 0
    square = np.ones(hidden.shape, dtype=bool)
    return Question(
        "cells",
        outcomes(
            right=cells(hidden),
            itself=cells(np.triu(square)),
            turned=cells(np.tril(square, -1)),
            next=cells(np.eye(MASK_ROWS, k=1, dtype=bool)),
        ),
        values={"words": " ".join(case.pair.target), "count": MASK_ROWS},
        rows=tuple(words),
        columns=tuple(words),
    )


def cells(mask: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> Cells:
    """Return the cells of a grid that are true."""
    return frozenset((int(row), int(column)) for row, column in np.argwhere(mask))


def shift(case: Case) -> Question:
    """Return the word that each row of the decoder must write in training, to click."""
    inputs = [label(word) for word in case.inputs[:SHIFT_ROWS]]
    columns = case.shuffle((inputs[0], *(label(word) for word in case.outputs[:SHIFT_ROWS])))
    predicted = [label(word) for word in next_words(case.pair)[:SHIFT_ROWS]]
    return Question(
        "cells",
        outcomes(
            right=frozenset((row, columns.index(word)) for row, word in enumerate(predicted)),
            same=frozenset((row, columns.index(word)) for row, word in enumerate(inputs)),
            before=frozenset((row, columns.index(inputs[max(0, row - 1)])) for row in range(SHIFT_ROWS)),
        ),
        values={"source": case.pair.text, "words": " ".join(case.pair.target), "count": SHIFT_ROWS},
        rows=tuple(inputs),
        columns=columns,
        one_per_row=True,
    )


def sides(case: Case) -> Question | None:
    """Return the size of a table of weights in cross-attention, to choose."""
    count = case.random.randrange(2, len(case.inputs))
    weights = case.head_values("cross.shares")[:count]  # [words read, Chinese words]
    rows, columns = weights.shape
    if columns in (rows, rows - 1):
        return None
    answers = {
        "right": (rows, columns),
        "turned": (columns, rows),
        "decoder": (rows, rows),
        "encoder": (columns, columns),
        "late": (rows - 1, columns),
    }
    sizes = {name: f"{first} × {second}" for name, (first, second) in answers.items()}
    return Question(
        "choice",
        outcomes(**sizes),
        values={"source": case.pair.text, "count": columns, "words": " ".join(case.inputs[1:count])},
        options=case.shuffle(tuple(sizes.values())),
    )


def query(case: Case) -> Question | None:
    """Return the words of which one has the query, at the step that writes the next word."""
    row = case.random.randrange(1, len(case.pair.target))
    write = case.outputs[row]
    looked = case.pair.source[int(case.trace["cross.shares"][:, row].mean(0).argmax())]
    translated = next((word for word in case.pair.source if ALIGNED.get(word) == write), looked)
    words = {"right": case.inputs[row], "written": write, "source": translated, "first": case.inputs[0]}
    if len(set(words.values())) < len(words) or write not in ALIGNED.values():
        return None
    answers = {name: label(word) for name, word in words.items()}
    return Question(
        "choice",
        outcomes(**answers),
        values={"source": case.pair.text, "words": " ".join(case.inputs[1 : row + 1]), "word": write},
        options=case.shuffle(tuple(answers.values())),
    )


def order(case: Case) -> Question | None:
    """Return a map to draw: for each row of the decoder the Chinese word whose translation it writes.

    Rows are named by the word read only: with the word to write beside it, the glosses would answer the question.
    """
    links = deciding_words(case.pair)
    rows = sorted(links)
    content = [key for key, word in enumerate(case.pair.source) if word in ALIGNED]
    if sorted(links.values()) != content:
        return None
    return Question(
        "cells",
        outcomes(
            right=frozenset((index, links[row]) for index, row in enumerate(rows)),
            straight=frozenset(enumerate(content)),
            read=frozenset((index, links.get(row - 1, 0)) for index, row in enumerate(rows)),
        ),
        values={"source": case.pair.text, "words": " ".join(case.pair.target)},
        rows=tuple(label(case.inputs[row]) for row in rows),
        columns=case.pair.source,
        one_per_row=True,
    )


DECODER_ITEMS = (
    Item("order", "order", order, words=6),
    Item("shift", "shift", shift, words=6),
    Item("mask", "shift", mask),
    Item("sides", "direction", sides, words=6),
    Item("query", "direction", query, words=6),
)
