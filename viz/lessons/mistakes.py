"""Lesson on famous mistakes: applies each mistake to a copy of the live model and to a toy in training."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from headlight.model.core.attention import MultiHeadAttention, masked_softmax
from headlight.model.core.blocks import Embedding, Residual
from headlight.model.core.masks import causal_mask
from headlight.model.core.positions import AddedPositions, sinusoidal_table
from headlight.model.core.transformer import Decoder
from headlight.model.records import FloatArray, Kind, Translation
from headlight.model.training import mistakes
from headlight.model.training.live_run_settings import LiveRunSettings
from headlight.model.training.mistake_experiments import MistakeResult, MistakeTestResult, run_tests, try_mistakes
from headlight.model.training.mistake_tests import TEST_BY_MISTAKE
from headlight.model.training.mistakes import (
    MISTAKES,
    apply_mistakes,
    compute_loss_of_probabilities,
    cross_entropy,
    with_mistakes,
)
from headlight.viz.lessons.controls import Button, Choice, PositionPicker
from headlight.viz.lessons.experiment import Experiment, ExperimentInput
from headlight.viz.lessons.lesson import Code, Lesson, QuestionSpec, Step, TensorView
from headlight.viz.lessons.result_figures import (
    CodeListing,
    CodeListings,
    ExperimentResult,
    Heatmap,
    Phrase,
    ResultFigure,
    SideBySide,
    Table,
    TextBlock,
    TextColumns,
    TextPhraseOrNumber,
)
from headlight.viz.lessons.source import make_source_listing
from headlight.viz.lessons.train import make_untrained_numbers
from headlight.viz.lessons.training_steps import choose_corpus, make_training_figure
from headlight.viz.token_labels import row_labels, token_labels

MASK_MISTAKES = ("late_mask", "ahead", "unmasked")  # visible in the decoder's self-attention
GAME_MISTAKES = tuple(name for name, mistake in MISTAKES.items() if not mistake.in_training)  # visible in a translation

# Per mistake: the correct function and the wrong one, both with text from the highlighted line.
HighlightedLine = tuple[Callable[..., Any], str]
CODE_LINES: Mapping[str, tuple[HighlightedLine, HighlightedLine]] = {
    "exponent": ((sinusoidal_table, "wavelengths ="), (mistakes.IntegerDivisionPositions.rows, "pairs // self.width")),
    "replaced": (
        (AddedPositions.forward, "embedded + rows"),
        (mistakes.PositionsReplaceEmbedding.forward, "rows.expand_as"),
    ),
    "unscaled": ((Embedding.forward, "* self.scale"), (mistakes.UnscaledEmbedding.forward, "self.table(ids))")),
    "swapped": (
        (MultiHeadAttention.forward, "self.query(x))), memory"),
        (mistakes.SwappedCrossAttention.forward, "self.key(x)"),
    ),
    "late_mask": (
        (masked_softmax, "torch.finfo"),
        (mistakes.MaskAfterSoftmax.weighted_values, "masked_fill(~allowed, 0.0)"),
    ),
    "residual": ((Residual.forward, "self.carried(x) +"), (mistakes.NoResidual.forward, "return self.stream(")),
    "norm": ((Residual.forward, "self.norm("), (mistakes.UntrainedNorm.forward, "nn.LayerNorm(x.shape")),
    "ahead": ((causal_mask, ".tril("), (mistakes.OffByOneMask.attention_mask, ".tril(")),
    "unmasked": ((Decoder.attention_mask, "causal_mask("), (mistakes.NoCausalMask.attention_mask, "torch.ones(")),
    "softmax": ((cross_entropy, "F.cross_entropy"), (compute_loss_of_probabilities, "logits.softmax")),
}
MISTAKE = Choice("mistake", tuple(MISTAKES), "exponent", as_menu=True)
MORE_MISTAKES = PositionPicker("also", max_selected=len(MISTAKES), adds_selected=True)


def run_live_model_experiment(inputs: ExperimentInput) -> ExperimentResult:
    """Make one or several mistakes in a copy of the visitor's model."""
    config = inputs.small_model_info.model.config
    main, selected = inputs.values["mistake"], inputs.values["also"]
    other_names = [name for name in MISTAKES if name != main and MISTAKES[name].applies(config)]
    added_names = [name for index, name in enumerate(MISTAKES) if index in selected and name in other_names]
    names = [*([main] if MISTAKES[main].applies(config) else []), *added_names]
    option_labels = [
        Phrase(f"lesson_mistakes_control_mistake_{name}") if name in other_names else None for name in MISTAKES
    ]
    labels = {"also": option_labels}
    if not names:
        return ExperimentResult((), facts=("absent",), position_labels=labels)
    result: MistakeResult
    tests: dict[str, MistakeTestResult]
    result, tests = inputs.run(run_tests, inputs.own_translation, names)
    figures = (
        *make_result_figures(inputs, result, names),
        make_results_table(tests) if len(names) > 1 else make_code_listings(names[0], tests),
    )
    numbers = make_sentence_numbers(inputs, result) | {"count": len(names)}
    fact = names[0] if len(names) == 1 else "several" if result.forced is not None else "stopped"
    return ExperimentResult(figures, numbers, facts=(fact,), position_labels=labels)


def make_code_listings(name: str, tests: Mapping[str, MistakeTestResult]) -> CodeListings:
    """Return the correct source, the wrong one, and the test that catches the mistake."""
    (right, right_line), (wrong, wrong_line) = CODE_LINES[name]
    texts = {"wrong": tests[name].wrong[1], "right": tests[name].right[1]}
    return CodeListings(
        (
            CodeListing(Phrase("right_code"), make_source_listing(right, right_line)),
            CodeListing(Phrase("wrong_code"), make_source_listing(wrong, wrong_line)),
            CodeListing(
                Phrase("test"), make_source_listing(TEST_BY_MISTAKE[name], "assert"), Phrase("test_says", texts)
            ),
        )
    )


def make_results_table(tests: Mapping[str, MistakeTestResult]) -> Table:
    """Return the result of each mistake's test, for several mistakes at once."""
    rows: list[list[TextPhraseOrNumber]] = [
        [Phrase(f"lesson_mistakes_control_mistake_{name}"), test.wrong[1]] for name, test in tests.items()
    ]
    return Table(Phrase("tests"), (Phrase("the_test"), Phrase("now")), rows)


def make_result_figures(inputs: ExperimentInput, result: MistakeResult, names: Sequence[str]) -> list[ResultFigure]:
    """Return the translation, the numbers and an attention map, without the mistakes and with them."""
    correct = inputs.own_translation
    text = result.error if result.generated is None else result.generated.text
    texts = TextColumns((TextBlock(Phrase("before"), correct.text), TextBlock(Phrase("now"), text or "—")))
    if result.forced is None:
        return [texts]
    rows: list[list[TextPhraseOrNumber]] = [
        [Phrase("log_p"), correct.log_probability, result.forced.log_probability],
        [Phrase("loss"), result.right_loss, result.loss],
        [
            Phrase("least_row"),
            *(float(translation.attention.decoder.sum(axis=-1).min()) for translation in (correct, result.forced)),
        ],
    ]
    table = Table(Phrase("numbers"), [Phrase("what"), Phrase("before"), Phrase("now")], rows)
    kind: Kind = "decoder" if set(names) & set(MASK_MISTAKES) else "cross"
    correct_maps, broken_maps = correct.attention.of(kind), result.forced.attention.of(kind)
    layer, head = find_clearest_head(correct_maps if kind == "cross" else abs(broken_maps - correct_maps))
    heatmaps = tuple(
        Heatmap(
            Phrase(f"{label}_{kind}", {"layer": layer + 1, "head": head + 1}),
            *head_map(translation, kind, layer, head),
            scale="share",
        )
        for label, translation in (("before", correct), ("now", result.forced))
    )
    return [texts, table, SideBySide(heatmaps)]


def head_map(translation: Translation, kind: Kind, layer: int, head: int) -> tuple[FloatArray, list[str], list[str]]:
    """Return the weights of one head and its row and column labels."""
    attention = translation.attention_map(kind, layer, head)
    rows = [label.read + label.text for label in row_labels(attention)]
    columns = [label.text for label in token_labels(attention.columns)]
    return attention.weights, rows, columns  # also of cells that the correct model masks


def find_clearest_head(numbers: FloatArray) -> tuple[int, int]:
    """Return the layer and head with the largest mean row maximum; `numbers` is `[layer, head, query, key]`."""
    sharpness = numbers.max(axis=-1).mean(axis=-1)  # [layer, head]
    layer, head = np.unravel_index(int(sharpness.argmax()), sharpness.shape)
    return int(layer), int(head)


def make_sentence_numbers(inputs: ExperimentInput, result: MistakeResult) -> dict[str, Any]:
    """Return the values for the step's phrases."""
    numbers: dict[str, Any] = {"before": inputs.own_translation.log_probability, "after": "–", "error": result.error}
    if result.forced is not None:
        numbers |= {"after": result.forced.log_probability, "loss": result.loss, "right_loss": result.right_loss}
    return numbers


def run_training_experiment(inputs: ExperimentInput) -> ExperimentResult:
    """Prepare two toys for training side by side, with the mistake and without it."""
    name, corpus = inputs.values["mistake"], choose_corpus(inputs, "toy")
    figure, models = make_training_figure(LiveRunSettings(corpus=corpus, mistake=name), LiveRunSettings(corpus=corpus))
    correct = models[-1]
    numbers = make_untrained_numbers(*correct)
    # The second softmax gets probabilities, at best one 1 and zeros, so the loss cannot fall below this minimum.
    floor = math.log(math.e + correct[0].vocabulary - 1) - 1
    return ExperimentResult((figure,), numbers | {"floor": f"{floor:.3f}"}, facts=(name,))


def run_game_experiment(inputs: ExperimentInput) -> ExperimentResult:
    """Make a random mistake, which the visitor identifies."""
    config = inputs.small_model_info.model.config
    possible = [name for name in GAME_MISTAKES if MISTAKES[name].applies(config)]
    name = random.Random(1 + inputs.values["game"]).choice(possible)  # noqa: S311 - a game
    result: MistakeResult = inputs.run(try_mistakes, inputs.own_translation, [name])
    return ExperimentResult(
        tuple(make_result_figures(inputs, result, [name])), make_sentence_numbers(inputs, result), correct_option=name
    )


STEPS = (
    Step(
        "live",
        code=Code(with_mistakes, "apply_mistakes(copy"),
        formula=r"\ln p(\text{own}) = @before \to @after",
        experiment=Experiment(run_live_model_experiment, (MISTAKE, MORE_MISTAKES)),
        claims=(
            "one_speed_loses_the_order", "vectors_without_words_are_one", "unscaled_words_drown",
            "swapped_lengths_do_not_fit", "late_masks_leave_the_words", "without_the_stream_nothing_is_left",
            "a_new_norm_costs", "looking_ahead_costs",
            "looking_everywhere_costs", "two_softmaxes_change_the_loss_alone", "costs_do_not_add_up",
        ),
    ),
    Step(
        "trained",
        code=Code(mistakes.make_loss, "SoftmaxTwice if wrong"),
        formula=r"\text{loss} = -\frac{1}{n} \sum_i \ln p_i",
        experiment=Experiment(run_training_experiment, (MISTAKE,)),
        claims=(
            "half_of_them_go_unnoticed", "two_softmaxes_have_a_floor",
            "looking_ahead_looks_perfect", "looking_everywhere_looks_perfect",
        ),
    ),
    Step(
        "game",
        code=Code(apply_mistakes, "module.__class__ = kind"),
        formula=r"\ln p(\text{own}) = @before \to @after",
        experiment=Experiment(run_game_experiment, (Button("game"),)),
        question=QuestionSpec("experiment", options=GAME_MISTAKES, hides_answer=False, ask_per_setting=True),
        claims=("every_game_has_one_answer",),
    ),
)  # fmt: skip

MISTAKES_LESSON = Lesson(
    "mistakes", minutes=8, picture=(TensorView("weights", "decoder.layers.0.self_attention.scores"),), steps=STEPS
)
