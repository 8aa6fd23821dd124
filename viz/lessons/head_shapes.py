"""Step of the lesson on heads: what `view` and `transpose` do to each number of a batch."""

from __future__ import annotations

import numpy as np

from headlight.model.core.attention import MultiHeadAttention
from headlight.model.experiments.head_shapes import (
    D_MODEL,
    HEAD_WIDTH,
    HEADS,
    SENTENCES,
    TOKENS,
    HeadShapes,
    IntArray,
    find_indices,
    head_shapes,
)
from headlight.viz.lessons.controls import Slider
from headlight.viz.lessons.experiment import Experiment, ExperimentInput
from headlight.viz.lessons.lesson import Code, QuestionSpec, Step
from headlight.viz.lessons.result_figures import ExperimentResult, Phrase, TextOrPhrase, TextPhraseOrNumber
from headlight.viz.lessons.worked_figures import NumberBlock, NumberBlocks

NUMBER = Slider("number", 0, SENTENCES * TOKENS * D_MODEL - 1, 7)


def run_shapes_experiment(inputs: ExperimentInput) -> ExperimentResult:
    """Follow one number of a tiny batch through the split into heads, and through a view without the transpose."""
    shapes = head_shapes()
    number = int(shapes.batch.flat[inputs.values["number"]])
    sentence, token, dimension = find_indices(shapes.batch, number)
    viewed, split, mixed = (find_indices(tensor, number) for tensor in (shapes.viewed, shapes.transposed, shapes.mixed))
    view = f"x.view({SENTENCES}, {TOKENS}, {HEADS}, {HEAD_WIDTH})"
    wrong_view = f"x.view({SENTENCES}, {HEADS}, {TOKENS}, {HEAD_WIDTH})"
    figures = (
        make_number_blocks("batch", "x", shapes.batch, number),
        make_number_blocks("viewed", view, shapes.viewed, number),
        make_number_blocks("transposed", f"{view}.transpose(1, 2)", shapes.transposed, number),
        make_number_blocks("mixed", wrong_view, shapes.mixed, number),
    )
    numbers: dict[str, TextPhraseOrNumber] = {
        "number": number, "sentence": sentence + 1, "own_token": token + 1, "dimension": dimension,
        "own_head": split[1] + 1, "mixed_head": mixed[1] + 1, "mixed_row": mixed[2] + 1, "width": HEAD_WIDTH,
        "head_index": split[1], "rest": split[3],
        "from": join_indices((sentence, token, dimension)), "viewed": join_indices(viewed),
        "split": join_indices(split), "mixed": join_indices(mixed),
        "misplaced": int((shapes.mixed != shapes.transposed).sum()), "total": shapes.batch.size,
    }  # fmt: skip
    return ExperimentResult(figures, numbers, correct_option=find_wrong_view_option(shapes))


def find_wrong_view_option(shapes: HeadShapes) -> str:
    """Return the effect of the view without the transpose: "error", the "same" tensor, or "mixed" numbers."""
    if shapes.mixed.shape != shapes.transposed.shape:
        return "error"
    return "same" if np.array_equal(shapes.mixed, shapes.transposed) else "mixed"


def join_indices(place: tuple[int, ...]) -> str:
    """Format indices for a formula."""
    return ", ".join(map(str, place))


def make_number_blocks(name: str, code: str, tensor: IntArray, number: int) -> NumberBlocks:
    """Return a tensor as blocks of its last two axes. The colour of a cell is the head of its number."""
    shape = tensor.shape
    blocks = []
    for sentence, rows in enumerate(tensor):
        parts = rows if len(shape) > 3 else rows[None]
        for index, part in enumerate(parts):
            values = part.tolist()
            blocks.append(
                NumberBlock(
                    label_block(name, sentence + 1, index + 1),
                    [[str(value) for value in row] for row in values],
                    [[value % 10 // HEAD_WIDTH for value in row] for row in values],
                )
            )
    sizes = ", ".join(map(str, shape))
    return NumberBlocks(
        Phrase(f"{name}_title"), code, Phrase(f"{name}_shape", {"shape": f"[{sizes}]"}), blocks, str(number)
    )


def label_block(tensor: str, sentence: int, index: int) -> TextOrPhrase:
    """Name a block by the indices of its leading axes."""
    values = {"sentence": sentence, "index": index}
    return Phrase({"batch": "of_sentence", "viewed": "of_token"}.get(tensor, "of_head"), values)


SHAPES_STEP = Step(
    "shapes",
    code=Code(MultiHeadAttention.split_heads, "x.view(batch, tokens, self.heads, self.head_width)"),
    formula=r"[b, t, d] \to [b, t, h, i] \to [b, h, t, i] \\ d = h \cdot d_k + i",
    numbers=(
        r"[@from] \to [@viewed] \to [@split]",
        r"@dimension = @head_index \cdot @width + @rest",
        r"[1, n, @d_model] \to [1, n, @heads, @head_width]",
        r"\to [1, @heads, n, @head_width]",
    ),
    experiment=Experiment(run_shapes_experiment, (NUMBER,)),
    question=QuestionSpec("experiment", options=("error", "same", "mixed")),
    claims=("numbers_name_their_place", "a_view_without_the_transpose_mixes_tokens"),
)
