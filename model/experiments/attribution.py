"""Attribution of a target word to source words: eleven methods besides raw attention.

    for answer in attributions(translator, translation, places):
        answer.name, answer.scores, answer.seconds

Scores stand for the words of the source (`source_words`), in the order of the sentence. A method that gives numbers for
tokens gives a word the sum of its tokens; a written word of several tokens has the mean of their rows of attention, and
its log probability is the sum of theirs.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from headlight.model.errors import not_choice, not_whole
from headlight.model.experiments.erasure import losses_without, one_by_one
from headlight.model.experiments.gradients import (
    MOST_POINTS,
    Integrated,
    attention_gradient,
    input_gradient,
    integrated_gradients,
)
from headlight.model.experiments.trace import run_trace
from headlight.model.measures.aligning import AligningHead, most_informative
from headlight.model.measures.changed_words import Written, words_written
from headlight.model.measures.mixing import flow, mixing_of_attention, mixing_of_contributions, rollout
from headlight.model.measures.norms import cross_lengths
from headlight.model.measures.traced import Numbers, Trace
from headlight.model.records import Translation
from headlight.model.translate.outline import Outline
from headlight.model.translate.translator import Translator


@dataclass(frozen=True, eq=False)
class Question:
    """One written word of one translation."""

    translator: Any  # a `Translator`; to put the question alone, an `Outline`
    translation: Translation
    places: tuple[int, ...]  # the tokens of the written word
    head: tuple[int, int]  # the one head of cross-attention
    aligning: AligningHead
    seconds: float = math.inf  # that integrated gradients may take: then they are what they are by then
    points: int = MOST_POINTS  # gradients that they may take

    @cached_property
    def words(self) -> list[Written]:
        """The words of the source. Each special token is one word."""
        return source_words(self.translation)

    @cached_property
    def trace(self) -> Trace:
        """The traced forward pass that several methods share."""
        return run_trace(self.translator, self.translation)

    @property
    def cross(self) -> Numbers:
        """The mean of the word's rows, `[layer, head, source]`."""
        mean: Numbers = self.translation.attention.cross[:, :, list(self.places)].mean(axis=2, dtype=np.float64)
        return mean

    def rows_of(self, shares: Numbers) -> Numbers:
        """The mean of the word's rows of a `[target, source]` table."""
        mean: Numbers = shares[list(self.places)].mean(axis=0)
        return mean


class Gap(NamedTuple):
    """Completeness gap of integrated gradients, in nats."""

    missed: float
    whole: float  # y(sentence) − y(nothing)


@dataclass(frozen=True)
class Attribution:
    """One method's answer."""

    name: str
    scores: tuple[float | None, ...]  # of each word of the source; None: this method does not ask it
    seconds: float  # duration, including the shared trace
    gap: Gap | None = None  # of integrated gradients


def _aligned(question: Question) -> Numbers:
    layer, head, shift = question.aligning
    rows = [min(place + shift, len(question.translation.target_tokens) - 1) for place in question.places]
    found: Numbers = question.translation.attention.cross[layer, head, rows].mean(axis=0, dtype=np.float64)
    return found


def _flow(question: Question) -> list[float | None]:
    mixing = mixing_of_attention(question.translation.attention)
    groups = [word.places for word in question.words]
    rows = len(question.places)
    return [
        float(each) for each in np.mean([flow(mixing, place, groups, rows=rows) for place in question.places], axis=0)
    ]


PER_TOKEN: dict[str, Callable[[Question], Numbers]] = {  # scores of the source's tokens
    "average": lambda question: question.cross.mean(axis=(0, 1)),
    "maximum": lambda question: question.cross.max(axis=(0, 1)),
    "head": lambda question: question.cross[question.head],
    "aligning": _aligned,
    "rollout": lambda question: question.rows_of(rollout(mixing_of_attention(question.translation.attention))[0]),
    "norms": lambda question: question.rows_of(cross_lengths(question.trace)),
    "alti": lambda question: question.rows_of(rollout(mixing_of_contributions(question.trace))[0]),
    "attention_gradient": lambda question: attention_gradient(
        question.translator, question.translation, question.places
    ),
    "input_gradient": lambda question: input_gradient(question.translator, question.translation, question.places),
}


def _integrated(question: Question) -> Integrated:
    return integrated_gradients(
        question.translator, question.translation, question.places, question.seconds, question.points
    )


def _erased(question: Question) -> list[float | None]:
    places = erasable(question.translation)
    sets = one_by_one([question.words[place].places for place in places])
    losses = losses_without(question.translator, question.translation, question.places, sets)
    found: list[float | None] = [None] * len(question.words)
    for place, loss in zip(places, losses, strict=True):
        found[place] = loss
    return found


PER_WORD: dict[str, Callable[[Question], list[float | None]]] = {"flow": _flow, "erasure": _erased}
METHODS = (
    "average",
    "maximum",
    "head",
    "aligning",
    "rollout",
    "flow",
    "norms",
    "alti",
    "attention_gradient",
    "input_gradient",
    "integrated",
    "erasure",
)


def question_of(
    translator: Outline,
    translation: Translation,
    places: Sequence[int],
    *,
    head: tuple[int, int] | None = None,
    aligning: AligningHead | None = None,
    seconds: float = math.inf,
    points: int | None = None,
) -> Question:
    """The question about the written word whose tokens are at `places`.

    Without `head` it is the one that looks hardest at one token; without `aligning`, the one that tells most of this
    sentence.
    """
    tokens = len(translation.target_tokens)
    if not places:
        raise not_whole("places", None, 0, tokens - 1)
    for place in places:
        if not 0 <= place < tokens:
            raise not_whole("places", place, 0, tokens - 1)
    layers, heads = translation.attention.cross.shape[:2]
    if head is None:
        rows = translation.attention.cross[:, :, list(places)].mean(axis=2).max(axis=-1)
        layer, number = np.unravel_index(int(rows.argmax()), rows.shape)
        head = (int(layer), int(number))
    for name, place, count in (("layer", head[0], layers), ("head", head[1], heads)):
        if not 0 <= place < count:
            raise not_whole(name, place, 0, count - 1)
    aligning = aligning or most_informative(translation)
    return Question(translator, translation, tuple(places), head, aligning, seconds, points or MOST_POINTS)


def attribute(question: Question, name: str) -> Attribution:
    """One method's answer, and how long it took."""
    if name not in METHODS:
        raise not_choice("method", name, METHODS)
    started = time.perf_counter()
    scores: list[float | None]
    gap = None
    if name in PER_WORD:
        scores = PER_WORD[name](question)
    else:
        if name == "integrated":
            found = _integrated(question)
            tokens, gap = found.scores, Gap(abs(found.gap), found.difference)
        else:
            tokens = PER_TOKEN[name](question)
        scores = [float(sum(tokens[place] for place in word.places)) for word in question.words]
    return Attribution(name, tuple(scores), time.perf_counter() - started, gap)


def attributions(
    translator: Translator, translation: Translation, places: Sequence[int], methods: Sequence[str] = METHODS
) -> Iterator[Attribution]:
    """Each method's answer in turn. Closing the iterator ends the work."""
    question = question_of(translator, translation, places)
    for name in methods:
        yield attribute(question, name)


def source_words(translation: Translation) -> list[Written]:
    """The words of the source, each special token by itself."""
    return words_written(translation.source_tokens, translation.source_text)


def erasable(translation: Translation) -> list[int]:
    """The words of the source that can be hidden: all but special tokens, and those that are hidden already."""
    hidden = set(translation.attention.hidden)
    return [
        place
        for place, word in enumerate(source_words(translation))
        if not translation.source_tokens[word.places[0]].special and not hidden & set(word.places)
    ]
