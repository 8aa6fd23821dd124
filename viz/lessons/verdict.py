"""Beyond translation: the classifier's verdict, word by word, and how "not" meets "bad"."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

import numpy as np

from headlight.model.core.classifier import SelfAttentionClassifier
from headlight.model.experiments.asked import DENIED, PLAIN, Denied, denied, judge_and_erase
from headlight.model.records import Judgement
from headlight.model.text.cleaning import is_blank
from headlight.model.translate.judge import Judge
from headlight.viz.errors import PageError
from headlight.viz.labels import shorten, visible
from headlight.viz.lessons.controls import Choice, Places, Text
from headlight.viz.lessons.drawn import Bars, Beside, Cell, Found, Heat, Say, Table
from headlight.viz.lessons.experiment import Experiment, Given
from headlight.viz.lessons.lesson import Ask, Code, Lesson, Show, Step

REVIEWS = {
    "mixed": "The pictures are wonderful, but the story is dull.",
    "denial": "It is not bad at all, and I was never bored.",
    "praise": "A quiet film with a warm heart.",
}
OPPOSITES = ("good", "bad")
CLEAR = 1.0  # of log-odds

REVIEW = Choice("review", (*REVIEWS, "own"), "mixed")
OWN = Text("own", longest=160, start="I did not like it, and nobody laughed.", when=("review", "own"))


@dataclass(frozen=True)
class Word:
    """One word of a review, its index, and the results of two methods."""

    number: int
    label: str
    share: float  # of the log-odds, of all its tokens
    erased: float  # loss of log-odds without it


def read(given: Given) -> tuple[Judgement, list[Word]]:
    """The verdict on the chosen review, and its words."""
    text = text_of(given)
    if is_blank(text):
        raise PageError("text", "blank_text")
    judgement, erased = given.run_judge(judge_and_erase, text, sys.maxsize, math.inf)
    effects = erased.changes[-1]
    words = []
    for number in dict.fromkeys(token.word for token in judgement.tokens if token.word is not None):
        places = [place for place, token in enumerate(judgement.tokens) if token.word == number]
        label = "".join(judgement.tokens[place].text for place in places)
        share = sum(judgement.shares[place] for place in places)
        words.append(Word(number, shorten(visible(label)), share, effects[places[0]]))
    return judgement, words


def text_of(given: Given) -> str:
    """The chosen review, or the visitor's own."""
    name = given.values["review"]
    return str(given.values["own"]) if name == "own" else REVIEWS[name]


def chance(log_odds: float) -> float:
    """The probability of praise."""
    return float(1 / (1 + np.exp(-log_odds)))


def erase(given: Given) -> Found:
    """Words left out of a review, and the verdict on the rest."""
    judgement, words = read(given)
    gone = [words[place] for place in given.values["erased"] if place < len(words)]
    rest: float = given.run_judge(Judge.without_words, judgement, [word.number for word in gone])
    effects = [word.erased for word in words]
    strongest = words[int(np.argmax(np.abs(effects)))]
    bars = Bars(
        Say("effects"), [word.label for word in words], effects, digits=2, lit=[words.index(word) for word in gone]
    )
    verdicts = Bars(Say("verdict"), [Say("whole"), Say("rest")], [judgement.log_odds, rest], digits=2)
    numbers: dict[str, Cell] = {
        "probability": chance(judgement.log_odds), "rest": chance(rest), "count": len(gone),
        "word": strongest.label, "effect": _signed(strongest.erased),
        "log_odds": judgement.log_odds, "log_odds_rest": rest,
    }  # fmt: skip
    flips = (judgement.log_odds > 0) != (rest > 0)
    holds = "none" if not gone else "flips" if flips else "stays"
    shown = {"erased": [word.label for word in words]}
    return Found((verdicts, bars), numbers, (holds,), shown=shown)


def _signed(number: float) -> str:
    return f"{number:+.2f}".replace("-", "−")


def shares(given: Given) -> Found:
    """Contribution of each word to the verdict, next to the loss without the word."""
    judgement, words = read(given)
    names = [word.label for word in words]
    held = np.array([word.share for word in words])
    erased = np.array([word.erased for word in words])
    most = float(np.abs(np.concatenate([held, erased])).max())
    pictures = [
        Bars(Say(name), names, [float(each) for each in values], most=most, digits=2)
        for name, values in (("erased", erased), ("shares", held))
    ]
    about_mean = Bars(Say("about_mean"), names, [float(each) for each in held - held.mean()], digits=3)
    numbers: dict[str, Cell] = {
        "shares_spread": float(held.std()), "erased_spread": float(erased.std()),
        "sum": judgement.log_odds - judgement.bias, "bias": judgement.bias, "log_odds": judgement.log_odds,
        "word": names[int(np.abs(erased).argmax())],
    }  # fmt: skip
    return Found((Beside(pictures), about_mean), numbers)


def denial(given: Given) -> Found:
    """What "not" does before praise and before blame."""
    good, bad = (given.run_judge(denied, word) for word in OPPOSITES)
    rows: list[list[Cell]] = [
        [text.format(each.word), _signed(log_odds), f"{chance(log_odds):.3f}"]
        for each in (good, bad)
        for text, log_odds in ((PLAIN, each.plain), (DENIED, each.denied))
    ]
    table = Table(Say("verdicts"), (Say("review"), Say("log_odds"), Say("chance")), rows)
    moves = [each.denied - each.plain for each in (good, bad)]
    bars = Bars(Say("moved"), list(OPPOSITES), moves, digits=2)
    numbers: dict[str, Cell] = {"good": _signed(moves[0]), "bad": _signed(moves[1])}
    right = "opposite" if moves[0] < -CLEAR and moves[1] > CLEAR else ""
    return Found((table, bars), numbers, right=right)


def heads(given: Given) -> Found:
    """Attention from the negated word in the layer that attends most to "not", and the effect of ablating each head."""
    found: Denied = given.run_judge(denied, given.values["word"])
    layers, count = found.without.shape
    names = [str(head + 1) for head in range(count)]
    where = int(found.looks.mean(axis=1).argmax())
    looks = [float(weight) for weight in found.looks[where]]
    bars = Bars(Say("looks", {"word": found.word, "where": str(where + 1)}), names, looks, most=1.0, digits=2)
    rows = [Say("layer", {"layer": str(layer + 1)}) for layer in range(layers)]
    heat = Heat(Say("without"), found.without, rows, names, digits=1, most=float(np.abs(found.without).max()))
    turned = np.sign(found.denied) * found.without  # below zero: the verdict comes closer to its opposite
    layer, head = np.unravel_index(int(turned.argmin()), turned.shape)
    numbers: dict[str, Cell] = {
        "word": found.word, "where": where + 1, "looking": sum(weight > 0.5 for weight in looks), "count": count,
        "layer": int(layer) + 1, "head": int(head) + 1, "before": found.denied,
        "after": found.denied + float(found.without[layer, head]),
    }  # fmt: skip
    return Found((bars, heat), numbers)


VERDICT = Lesson(
    "verdict",
    minutes=5,
    picture=(Show("memory", "encoder.memory"),),
    steps=(
        Step(
            "erase",
            code=Code(Judge.without_words, "token.word not in words"),
            formula=r"p = \frac{1}{1 + e^{-z}}",
            numbers=(r"z = @log_odds, \quad p = @probability", r"z' = @log_odds_rest, \quad p' = @rest"),
            experiment=Experiment(erase, (REVIEW, OWN, Places("erased"))),
            tab="sentiment",
            claims=("erasing_is_asking_again",),
        ),
        Step(
            "shares",
            code=Code(SelfAttentionClassifier.shares, "x @ self.verdict.weight[0]"),
            formula=r"z = b + \sum_t s_t",
            numbers=(r"@bias + @sum = @log_odds",),
            experiment=Experiment(shares, (REVIEW, OWN)),
            tab="sentiment",
            claims=("shares_add_up_to_the_verdict", "shares_hardly_tell_words_apart"),
        ),
        Step(
            "denial",
            code=Code(Judge.judge, "log_odds = sum(shares) + bias"),
            formula=r"\Delta z = z(\text{not } w) - z(w)",
            numbers=(r"\Delta z(\text{good}) = @good", r"\Delta z(\text{bad}) = @bad"),
            experiment=Experiment(denial),
            ask=Ask("found", options=("down", "up", "opposite")),
            claims=("not_turns_both_ways",),
        ),
        Step(
            "heads",
            code=Code(Judge.without_head, "scale_heads(head, 0.0)"),
            formula=r"w_{h} = 0",
            numbers=(r"z = @before \to @after",),
            experiment=Experiment(heads, (Choice("word", OPPOSITES, "bad"),)),
            claims=("a_layer_looks_for_not", "one_head_matters_most"),
        ),
    ),
)
