"""Lesson on masks: shows padding and causal masks, then removes them from the live model and from a toy in training."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from headlight.model.core.attention import masked_softmax
from headlight.model.core.masks import causal_mask, padding_mask
from headlight.model.core.transformer import DecoderLayer
from headlight.model.experiments.mask_removal import (
    ALL_LATER_TOKENS,
    CacheMode,
    GreedyOutput,
    UncachedDecoder,
    force_with_relaxed_mask,
    translate_in_all_modes,
)
from headlight.model.training.live_run_settings import CORPUS_BY_NAME, LiveRunSettings
from headlight.model.training.mistakes import NoCausalMask
from headlight.viz.lessons.batch_sentences import find_model_languages, plain_request
from headlight.viz.lessons.controls import Choice, Slider
from headlight.viz.lessons.experiment import Experiment, ExperimentInput
from headlight.viz.lessons.lesson import Code, FormulaVariant, Lesson, QuestionSpec, Step, TensorView
from headlight.viz.lessons.padding_masks import (
    MAX_PADDING,
    MAX_WRITTEN,
    find_head_with_most_leakage,
    get_ids_if_small,
    run_cross_attention_experiment,
    run_masks_experiment,
    run_padding_experiment,
)
from headlight.viz.lessons.recurrence import RECURRENCE_STEP
from headlight.viz.lessons.result_figures import (
    BarChart,
    CurveSeries,
    ExperimentResult,
    Heatmap,
    LinePlot,
    Phrase,
    ResultFigure,
    SideBySide,
    Table,
    TextBlock,
    TextColumns,
    TextPhraseOrNumber,
)
from headlight.viz.lessons.training_steps import choose_corpus, make_training_figure
from headlight.viz.token_labels import token_labels

MAX_LOOK_AHEAD = 12  # later tokens that a row may attend to
EQUAL_TOLERANCE = 1e-4  # smaller changes of a log probability count as none
MIN_LOSS_CHANGE = 0.05  # smaller changes of the loss count as none

# For each model, a sentence whose translation changes if the decoder recomputes all tokens without the mask.
EXAMPLES = {
    "de-en": "Freut mich sehr, Sie nun persönlich kennenzulernen.",
    "en-de": "If I had more time, I would learn Italian.",
    "en-zh": "To speak German well, you have to practise a lot.",
    "zh-en": "虽然下雨，孩子们还在花园里玩。",
    "toy": "Zieh deinen Mantel an, draußen ist es kalt!",
}


def run_causal_mask_experiment(inputs: ExperimentInput) -> ExperimentResult:
    """Force the translation through the decoder with a relaxed causal mask."""
    sentence, target = get_ids_if_small(inputs)
    later = len(target) - 1  # tokens after the first row's
    ahead = min(inputs.values["ahead"], later)
    counts = sorted({*range(min(MAX_LOOK_AHEAD, later) + 1), ahead})
    *readings, unmasked = inputs.run(force_with_relaxed_mask, sentence, target, [*counts, ALL_LATER_TOKENS])
    masked, relaxed = readings[0], readings[counts.index(ahead)]
    layer, head = find_head_with_most_leakage(unmasked.attention_ahead)
    tokens = [label.text for label in token_labels(inputs.translation.target_tokens)]
    columns = [label.text for label in token_labels(inputs.translation.decoder_tokens)]
    position = {"layer": layer + 1, "head": head + 1}
    heatmaps = [
        Heatmap(Phrase(name, position), reading.weights[layer, head], inputs.row_names, columns, "share")
        for name, reading in (("with", masked), ("now", relaxed))
    ]
    charts = [
        BarChart(Phrase(name), tokens, np.exp(reading.log_probabilities).tolist(), most=1.0)
        for name, reading in (("chances_with", masked), ("chances_now", relaxed))
    ]
    losses = LinePlot(
        Phrase("losses"), counts, [CurveSeries(Phrase("loss"), [reading.loss for reading in readings])],
        Phrase("ahead"), mark=ahead, floor=0.0,
    )  # fmt: skip
    numbers: dict[str, TextPhraseOrNumber] = {
        "ahead": ahead, "before": masked.loss, "after": relaxed.loss, "after_all": unmasked.loss,
        "share": f"{relaxed.attention_ahead.mean():.0%}", "layer": layer + 1, "head": head + 1, "tokens": len(target),
    }  # fmt: skip
    facts = (classify_loss_change(masked.loss, relaxed.loss) if ahead else "masked",)
    return ExperimentResult(
        (SideBySide(heatmaps), losses, SideBySide(charts)),
        numbers,
        facts,
        correct_option=classify_loss_change(masked.loss, unmasked.loss),
    )


def classify_loss_change(before: float, after: float) -> str:
    """Name the change of the loss: "stays", "rises" or "falls"."""
    return "stays" if abs(after - before) < MIN_LOSS_CHANGE else "rises" if after > before else "falls"


def run_generation_experiment(inputs: ExperimentInput) -> ExperimentResult:
    """Translate with the causal mask and, in two ways, without it."""
    languages, model = find_model_languages(inputs), inputs.request.model or inputs.service.default
    is_own_sentence = inputs.values["sentence"] == "own"
    text = inputs.request.text if is_own_sentence else EXAMPLES.get(model, inputs.request.text)
    get_ids_if_small(inputs)
    results: dict[CacheMode, GreedyOutput] = inputs.run(
        translate_in_all_modes, plain_request(inputs, text), MAX_WRITTEN
    )
    tokenizer = inputs.model_info.target_tokenizer
    texts = {mode: tokenizer.decode(output.ids) for mode, output in results.items()}
    tokens = {
        mode: [label.text for label in token_labels(tokenizer.written_tokens(output.ids))]
        for mode, output in results.items()
    }
    common_length = count_common_prefix(results["masked"], results["anew"])
    gaps = {
        mode: find_max_log_probability_gap(results["masked"], output)
        for mode, output in results.items()
        if mode != "masked"
    }
    rows: list[list[TextPhraseOrNumber]] = [
        [str(index + 1), *(format_token_with_probability(tokens[mode], results[mode], index) for mode in results)]
        for index in range(min(max(len(output.ids) for output in results.values()), common_length + 3))
    ]
    columns = (Phrase("place"), *map(Phrase, results))
    figures: list[ResultFigure] = [
        TextColumns((TextBlock(Phrase("sentence"), text, language=languages[0]),)),
        TextColumns([TextBlock(Phrase(f"by_{mode}"), texts[mode] or "—", language=languages[1]) for mode in results]),
        Table(
            Phrase("word_by_word"), columns, rows, highlighted_row=common_length if common_length < len(rows) else None
        ),
    ]
    numbers: dict[str, TextPhraseOrNumber] = {
        "kept": gaps["kept"], "anew": gaps["anew"],
        "place": common_length + 1, "agreed": common_length, "count": len(results["masked"].ids),
    }  # fmt: skip
    is_changed = results["masked"].ids != results["anew"].ids
    affected = [mode for mode in gaps if gaps[mode] > EQUAL_TOLERANCE or results[mode].ids != results["masked"].ids]
    correct = "both" if len(affected) == 2 else affected[0] if affected else "neither"
    unchanged = "same" if is_own_sentence and model in EXAMPLES else "alike"  # "same": the words point to the example
    return ExperimentResult(figures, numbers, ("changes" if is_changed else unchanged,), correct)


def count_common_prefix(first: GreedyOutput, second: GreedyOutput) -> int:
    """Count the tokens up to the first difference."""
    pairs = enumerate(zip(first.ids, second.ids, strict=False))
    return next((index for index, (left, right) in pairs if left != right), min(len(first.ids), len(second.ids)))


def find_max_log_probability_gap(first: GreedyOutput, second: GreedyOutput) -> float:
    """Return the largest gap between log probabilities, up to and including the first different token."""
    # The first different token still has the same prefix in both outputs.
    count = min(count_common_prefix(first, second) + 1, len(first.ids), len(second.ids))
    return float(np.abs(first.log_probabilities[:count] - second.log_probabilities[:count]).max(initial=0.0))


def format_token_with_probability(tokens: Sequence[str], output: GreedyOutput, position: int) -> str:
    """Return a generated token with its probability, or an empty string past the end."""
    return f"{tokens[position]} {math.exp(output.log_probabilities[position]):.3f}" if position < len(tokens) else ""


def run_training_experiment(inputs: ExperimentInput) -> ExperimentResult:
    """Prepare two toys for training, one with the causal mask and one without."""
    corpus = choose_corpus(inputs, inputs.values["corpus"])
    figure, models = make_training_figure(
        LiveRunSettings(corpus=corpus, mistake="unmasked"), LiveRunSettings(corpus=corpus)
    )
    header = models[-1][0]
    pairs = CORPUS_BY_NAME[corpus].pairs
    numbers: dict[str, TextPhraseOrNumber] = {
        "pairs": pairs, "tokens": header.tokens, "steps": header.run.steps,
        "floor": f"{compute_best_guess_loss(pairs, header.tokens):.3f}",
    }  # fmt: skip
    return ExperimentResult((figure,), numbers, facts=(inputs.values["corpus"],))


def compute_best_guess_loss(pairs: int, tokens: int) -> float:
    """Return the minimum loss per token of a model that guesses among `pairs` equally likely translations."""
    return pairs * math.log(pairs) / tokens


STEPS = (
    Step(
        "drawn",
        code=Code(masked_softmax, "torch.finfo"),
        formula=r"1 + 2 + \ldots + n = \frac{n (n + 1)}{2}",
        numbers=(r"n = @written \to @causal",),
        experiment=Experiment(run_masks_experiment, (Slider("places", 0, MAX_PADDING, 4),)),
        follow_up="mistakes.live.0.set-mistake-late_mask",
        claims=("padding_hides_columns_and_the_future_a_corner",),
    ),
    Step(
        "causal",
        code=Code(causal_mask, ".tril("),
        formula=r"\text{loss} = -\frac{1}{n} \sum_i \ln p_i",
        numbers=(r"@before \to @after",),
        experiment=Experiment(run_causal_mask_experiment, (Slider("ahead", 0, MAX_LOOK_AHEAD, MAX_LOOK_AHEAD),)),
        question=QuestionSpec("experiment", options=("falls", "stays", "rises")),
        claims=("seeing_the_answer_costs", "no_mask_is_the_mask_that_is_missing"),
    ),
    RECURRENCE_STEP,
    Step(
        "writing",
        code=Code(UncachedDecoder.__call__, "torch.cat"),
        formula=r"w_{t+1} = \text{argmax}\, p(w | w_1, \ldots, w_t)",
        numbers=(r"\max |\ln p - \ln p_{\text{mask}}| = @kept, \quad @anew",),
        experiment=Experiment(run_generation_experiment, (Choice("sentence", ("own", "example"), "own"),)),
        question=QuestionSpec("experiment", options=("kept", "anew", "both", "neither")),
        claims=("kept_words_never_see_the_future", "examples_become_other_sentences"),
    ),
    Step(
        "trained",
        code=Code(NoCausalMask.attention_mask, "torch.ones("),
        formula=r"\frac{n \ln n}{\text{tokens}} \le \text{loss}",
        numbers=(r"\frac{@pairs \ln @pairs}{@tokens} = @floor",),
        formula_variants=(FormulaVariant(("mini",), ""),),
        experiment=Experiment(run_training_experiment, (Choice("corpus", ("guess", "mini"), "guess"),)),
        claims=("a_leak_beats_the_best_guess", "what_leaked_is_not_learnt"),
    ),
    Step(
        "padding",
        code=Code(padding_mask, "ids != pad_id"),
        formula=r"\max |x_{\text{batch}} - x_{\text{alone}}|",
        numbers=(r"@without \to @with",),
        experiment=Experiment(run_padding_experiment, (Slider("places", 0, MAX_PADDING, 16),)),
        claims=("a_batch_is_as_good_as_alone", "padding_leaks_without_its_mask"),
    ),
    Step(
        "cross",
        code=Code(DecoderLayer.forward, "mask=source_mask"),
        formula=r"\ln p(\text{own}) = @log_with \to @log_without",
        experiment=Experiment(run_cross_attention_experiment, (Slider("places", 0, MAX_PADDING, 16),)),
        claims=("cross_attention_needs_its_own_mask",),
    ),
)

PICTURE = TensorView("weights", "encoder.layers.1.self_attention.scores")
MASKS_LESSON = Lesson("masks", minutes=9, picture=(PICTURE,), steps=STEPS)
