"""Items about the decoder: its inputs and outputs, the causal mask, cross-attention and the order of words."""

from __future__ import annotations

import numpy as np

from headlight.model.training.build_lesson.sentence_numbers import deciding_words, next_words
from headlight.model.training.build_lesson.trained import ALIGNED
from headlight.viz.lessons.quiz.case import Case, Item, label
from headlight.viz.lessons.quiz.question import Question, make_outcomes

MASK_ROWS = 5
SHIFT_ROWS = 5
Cells = frozenset[tuple[int, int]]


def make_mask_question(case: Case) -> Question:
    """Ask for the causal mask: the cells that are hidden from each row in training."""
    words = [label(word) for word in case.inputs[:MASK_ROWS]]
    hidden = case.head_values("decoder.shares")[:MASK_ROWS, :MASK_ROWS] == 0
    square = np.ones(hidden.shape, dtype=bool)
    return Question(
        "cells",
        make_outcomes(
            right=list_true_cells(hidden),
            itself=list_true_cells(np.triu(square)),
            turned=list_true_cells(np.tril(square, -1)),
            next=list_true_cells(np.eye(MASK_ROWS, k=1, dtype=bool)),
        ),
        values={"words": " ".join(case.pair.target), "count": MASK_ROWS},
        rows=tuple(words),
        columns=tuple(words),
    )


def list_true_cells(mask: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> Cells:
    """Return the positions of the true cells of a grid."""
    return frozenset((int(row), int(column)) for row, column in np.argwhere(mask))


def make_shift_question(case: Case) -> Question:
    """Ask for the word that each row of the decoder must predict in training."""
    inputs = [label(word) for word in case.inputs[:SHIFT_ROWS]]
    columns = case.shuffle((inputs[0], *(label(word) for word in case.outputs[:SHIFT_ROWS])))
    predicted = [label(word) for word in next_words(case.pair)[:SHIFT_ROWS]]
    return Question(
        "cells",
        make_outcomes(
            right=frozenset((row, columns.index(word)) for row, word in enumerate(predicted)),
            same=frozenset((row, columns.index(word)) for row, word in enumerate(inputs)),
            before=frozenset((row, columns.index(inputs[max(0, row - 1)])) for row in range(SHIFT_ROWS)),
        ),
        values={"source": case.pair.text, "words": " ".join(case.pair.target), "count": SHIFT_ROWS},
        rows=tuple(inputs),
        columns=columns,
        one_per_row=True,
    )


def make_sides_question(case: Case) -> Question | None:
    """Ask for the size of a weight matrix of cross-attention."""
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
        make_outcomes(**sizes),
        values={"source": case.pair.text, "count": columns, "words": " ".join(case.inputs[1:count])},
        options=case.shuffle(tuple(sizes.values())),
    )


def make_query_question(case: Case) -> Question | None:
    """Ask for the word whose query is used at the step that predicts the next word."""
    row = case.random.randrange(1, len(case.pair.target))
    next_word = case.outputs[row]
    most_attended = case.pair.source[int(case.trace["cross.shares"][:, row].mean(0).argmax())]
    translated = next((word for word in case.pair.source if ALIGNED.get(word) == next_word), most_attended)
    words = {"right": case.inputs[row], "written": next_word, "source": translated, "first": case.inputs[0]}
    if len(set(words.values())) < len(words) or next_word not in ALIGNED.values():
        return None
    answers = {name: label(word) for name, word in words.items()}
    return Question(
        "choice",
        make_outcomes(**answers),
        values={"source": case.pair.text, "words": " ".join(case.inputs[1 : row + 1]), "word": next_word},
        options=case.shuffle(tuple(answers.values())),
    )


def make_order_question(case: Case) -> Question | None:
    """Ask for the Chinese word whose translation each row of the decoder predicts.

    A row is named only by its input word, because the glosses of the output word would reveal the answer.
    """
    links = deciding_words(case.pair)
    rows = sorted(links)
    content = [key for key, word in enumerate(case.pair.source) if word in ALIGNED]
    if sorted(links.values()) != content:
        return None
    return Question(
        "cells",
        make_outcomes(
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
    Item("order", "order", make_order_question, words=6),
    Item("shift", "shift", make_shift_question, words=6),
    Item("mask", "shift", make_mask_question),
    Item("sides", "direction", make_sides_question, words=6),
    Item("query", "direction", make_query_question, words=6),
)
