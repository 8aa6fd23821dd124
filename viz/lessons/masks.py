"""Lesson on masks: draws padding and causal masks, then removes them from the live model and from a toy in training."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from headlight.model.core.attention import softmax_where
from headlight.model.core.masks import causal_mask, padding_mask
from headlight.model.core.transformer import DecoderLayer
from headlight.model.experiments.masking import EVERYTHING, ReadsAnew, Way, Written, read_ahead, write_in_all_ways
from headlight.model.training.mistakes import LooksEverywhere
from headlight.model.training.watched_settings import CORPUS, WatchedRun
from headlight.viz.labels import labels
from headlight.viz.lessons.controls import Choice, Slider
from headlight.viz.lessons.drawn import Bars, Beside, Cell, Drawn, Found, Heat, Line, Lines, Say, Table, Text, Texts
from headlight.viz.lessons.experiment import Experiment, Given
from headlight.viz.lessons.lesson import Ask, Code, Lesson, Show, Step
from headlight.viz.lessons.lesson import Written as WrittenFor
from headlight.viz.lessons.neighbours import languages_of, plain_request
from headlight.viz.lessons.padded import MOST_PLACES, MOST_WRITTEN, crossing, drawn, few_tokens, largest, padding
from headlight.viz.lessons.training import trains

MOST_AHEAD = 12  # later tokens that a row may be shown
ROUNDING = 1e-4  # what moves less has not moved
CLEAR = 0.05  # of a loss

# For each model, a sentence whose translation changes if everything is recomputed without the mask.
EXAMPLES = {
    "de-en": "Freut mich sehr, Sie nun persönlich kennenzulernen.",
    "en-de": "If I had more time, I would learn Italian.",
    "en-zh": "To speak German well, you have to practise a lot.",
    "zh-en": "虽然下雨，孩子们还在花园里玩。",
    "fr-en": "Mets ton manteau, il fait froid dehors !",
    "toy": "Zieh deinen Mantel an, draußen ist es kalt!",
}


def causal(given: Given) -> Found:
    """Teacher-forced translation with a relaxed causal mask."""
    ahead = given.values["ahead"]
    sentence, target = few_tokens(given)
    counts = sorted({*range(min(MOST_AHEAD, len(target)) + 1), ahead})
    *readings, unmasked = given.run(read_ahead, sentence, target, [*counts, EVERYTHING])
    before, now = readings[0], readings[counts.index(ahead)]
    layer, head = largest(unmasked.ahead)
    tokens = [label.text for label in labels(given.translation.target_tokens)]
    columns = [label.text for label in labels(given.translation.decoder_tokens)]
    where = {"layer": layer + 1, "head": head + 1}
    heats = [
        Heat(Say(name, where), reading.weights[layer, head], tokens, columns, "share")
        for name, reading in (("with", before), ("now", now))
    ]
    bars = [
        Bars(Say(name), tokens, np.exp(reading.log_probabilities).tolist(), most=1.0)
        for name, reading in (("chances_with", before), ("chances_now", now))
    ]
    losses = Lines(
        Say("losses"), counts, [Line(Say("loss"), [reading.loss for reading in readings])], Say("ahead"),
        mark=ahead, floor=0.0,
    )  # fmt: skip
    numbers: dict[str, Cell] = {
        "ahead": ahead, "before": before.loss, "after": now.loss, "after_all": unmasked.loss,
        "share": f"{now.ahead.mean():.0%}", "layer": layer + 1, "head": head + 1, "tokens": len(target),
    }  # fmt: skip
    holds = (went(before.loss, now.loss) if ahead else "masked",)
    return Found((Beside(heats), losses, Beside(bars)), numbers, holds, right=went(before.loss, unmasked.loss))


def went(before: float, after: float) -> str:
    """Message about the loss."""
    return "stays" if abs(after - before) < CLEAR else "rises" if after > before else "falls"


def writing(given: Given) -> Found:
    """Translations with the causal mask and, in two ways, without it."""
    languages, model = languages_of(given), given.request.model or given.service.default
    own = given.values["sentence"] == "own"
    text = given.request.text if own else EXAMPLES.get(model, given.request.text)
    few_tokens(given)
    found: dict[Way, Written] = given.run(write_in_all_ways, plain_request(given, text), MOST_WRITTEN)
    tokenizer = given.outline.target_tokenizer
    texts = {way: tokenizer.decode(written.ids) for way, written in found.items()}
    tokens = {way: [label.text for label in labels(tokenizer.written_tokens(each.ids))] for way, each in found.items()}
    same = agreeing(found["masked"], found["anew"])
    moved = {way: apart(found["masked"], each) for way, each in found.items() if way != "masked"}
    lines: list[list[Cell]] = [
        [str(place + 1), *(chance(tokens[way], found[way], place) for way in found)]
        for place in range(min(max(len(each.ids) for each in found.values()), same + 3))
    ]
    columns = (Say("place"), *map(Say, found))
    figures: list[Drawn] = [
        Texts((Text(Say("sentence"), text, language=languages[0]),)),
        Texts([Text(Say(f"by_{way}"), texts[way] or "—", language=languages[1]) for way in found]),
        Table(Say("word_by_word"), columns, lines, lit=same if same < len(lines) else None),
    ]
    numbers: dict[str, Cell] = {
        "kept": moved["kept"], "anew": moved["anew"],
        "place": same + 1, "agreed": same, "count": len(found["masked"].ids),
    }  # fmt: skip
    changes = found["masked"].ids != found["anew"].ids
    felt = [way for way in moved if moved[way] > ROUNDING or found[way].ids != found["masked"].ids]
    right = "both" if len(felt) == 2 else felt[0] if felt else "neither"
    stays = "same" if own and model in EXAMPLES else "alike"  # "same": the words point to the example
    return Found(figures, numbers, ("changes" if changes else stays,), right)


def agreeing(one: Written, other: Written) -> int:
    """How many tokens are the same from the beginning on."""
    pairs = enumerate(zip(one.ids, other.ids, strict=False))
    return next((place for place, (left, right) in pairs if left != right), min(len(one.ids), len(other.ids)))


def apart(one: Written, other: Written) -> float:
    """How far their log probabilities lie apart at most, up to the first token that differs."""
    count = min(agreeing(one, other) + 1, len(one.ids), len(other.ids))  # the words before it are still the same
    return float(np.abs(one.log_probabilities[:count] - other.log_probabilities[:count]).max(initial=0.0))


def chance(tokens: Sequence[str], written: Written, place: int) -> str:
    """A written token and its probability."""
    return f"{tokens[place]} {math.exp(written.log_probabilities[place]):.3f}" if place < len(tokens) else ""


def trained(given: Given) -> Found:
    """Toys that are trained with the causal mask and without it."""
    corpus = given.values["corpus"]
    picture, models = trains(WatchedRun(corpus=corpus, mistake="unmasked"), WatchedRun(corpus=corpus))
    beginning = models[-1][0]
    pairs = CORPUS[corpus].pairs
    numbers: dict[str, Cell] = {
        "pairs": pairs, "tokens": beginning.tokens, "steps": beginning.run.steps,
        "floor": f"{guessing(pairs, beginning.tokens):.3f}",
    }  # fmt: skip
    return Found((picture,), numbers, holds=(corpus,))


def guessing(pairs: int, tokens: int) -> float:
    """Minimum loss per token of a model that must guess among `count` equally likely translations."""
    return pairs * math.log(pairs) / tokens


STEPS = (
    Step(
        "drawn",
        code=Code(softmax_where, "torch.finfo"),
        formula=r"1 + 2 + \ldots + n = \frac{n (n + 1)}{2}",
        numbers=(r"n = @written \to @causal",),
        experiment=Experiment(drawn, (Slider("places", 0, MOST_PLACES, 4),)),
        see="mistakes.live.0.set-mistake-late_mask",
        claims=("padding_hides_columns_and_the_future_a_corner",),
    ),
    Step(
        "causal",
        code=Code(causal_mask, ".tril("),
        formula=r"\text{loss} = -\frac{1}{n} \sum_i \ln p_i",
        numbers=(r"@before \to @after",),
        experiment=Experiment(causal, (Slider("ahead", 0, MOST_AHEAD, MOST_AHEAD),)),
        ask=Ask("found", options=("falls", "stays", "rises")),
        claims=("seeing_the_answer_costs", "no_mask_is_the_mask_that_is_missing"),
    ),
    Step(
        "writing",
        code=Code(ReadsAnew.__call__, "torch.cat"),
        formula=r"w_{t+1} = \text{argmax}\, p(w | w_1, \ldots, w_t)",
        numbers=(r"\max |\ln p - \ln p_{\text{mask}}| = @kept, \quad @anew",),
        experiment=Experiment(writing, (Choice("sentence", ("own", "example"), "own"),)),
        ask=Ask("found", options=("kept", "anew", "both", "neither")),
        claims=("kept_words_never_see_the_future", "examples_become_other_sentences"),
    ),
    Step(
        "trained",
        code=Code(LooksEverywhere.may_look, "torch.ones("),
        formula=r"\frac{n \ln n}{\text{tokens}} \le \text{loss}",
        numbers=(r"\frac{@pairs \ln @pairs}{@tokens} = @floor",),
        otherwise=(WrittenFor(("mini",), ""),),
        experiment=Experiment(trained, (Choice("corpus", ("guess", "mini"), "guess"),)),
        claims=("a_leak_beats_the_best_guess", "what_leaked_is_not_learnt"),
    ),
    Step(
        "padding",
        code=Code(padding_mask, "ids != pad_id"),
        formula=r"\max |x_{\text{batch}} - x_{\text{alone}}|",
        numbers=(r"@without \to @with",),
        experiment=Experiment(padding, (Slider("places", 0, MOST_PLACES, 16),)),
        claims=("a_batch_is_as_good_as_alone", "padding_leaks_without_its_mask"),
    ),
    Step(
        "cross",
        code=Code(DecoderLayer.forward, "mask=source_mask"),
        formula=r"\ln p(\text{own}) = @log_with \to @log_without",
        experiment=Experiment(crossing, (Slider("places", 0, MOST_PLACES, 16),)),
        claims=("cross_attention_needs_its_own_mask",),
    ),
)

PICTURE = Show("weights", "encoder.layers.1.self_attention.scores")
MASKS_LESSON = Lesson("masks", minutes=7, picture=(PICTURE,), steps=STEPS)
