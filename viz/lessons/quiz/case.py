"""A random sentence of the tiny translator with its intermediate results, and items that make questions from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random

from headlight.model.records import FloatArray
from headlight.model.training.build_lesson.sentence_numbers import sentence_trace
from headlight.model.training.build_lesson.sentences import END, PAIRS, START, SentencePair
from headlight.viz.lessons.quiz.question import Question, is_clear

MAX_DRAWS = 500  # random cases per question
HEADS = 2
# Without repeated words, so that a word identifies a position.
CLEAR_PAIRS = tuple(pair for pair in PAIRS if len(set(pair.source)) == len(pair.source))


@dataclass(frozen=True)
class Case:
    """A sentence pair, a head, and random numbers for further choices."""

    pair: SentencePair
    head: int
    random: Random

    @cached_property
    def trace(self) -> dict[str, FloatArray]:
        """Return the intermediate results of the sentence."""
        return sentence_trace(self.pair)

    def head_values(self, name: str) -> FloatArray:
        """Return a traced tensor of the head: [words, 2] or [queries, keys]."""
        values: FloatArray = self.trace[name][self.head]
        return values

    @property
    def inputs(self) -> tuple[str, ...]:
        """Return the words that the decoder's rows read."""
        return (START, *self.pair.target)

    @property
    def outputs(self) -> tuple[str, ...]:
        """Return the words that the decoder's rows must write."""
        return (*self.pair.target, END)

    def sample_two(self, count: int) -> tuple[int, int]:
        """Return two different random numbers below `count`."""
        first, second = self.random.sample(range(count), 2)
        return first, second

    def shuffle(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the names in random order."""
        return tuple(self.random.sample(list(names), len(names)))


@dataclass(frozen=True)
class Item:
    """An item of the question bank. `misconception` is a row of the table in docs/teaching.md.

    `make` returns the question of a case, or None for a case without a clear answer. `words`: length of the sentence.
    """

    name: str
    misconception: str
    make: Callable[[Case], Question | None]
    words: int = 0

    def question(self, seed: str | int) -> Question:
        """Return the first clear question of the random cases of a seed."""
        random = Random(f"{self.name} {seed}")  # noqa: S311 - for numbers of an exercise
        pairs = [pair for pair in CLEAR_PAIRS if self.words in (0, len(pair.source))]
        for _ in range(MAX_DRAWS):
            question = self.make(Case(random.choice(pairs), random.randrange(HEADS), random))
            if question is not None and is_clear(question):
                return question
        raise ValueError(f"The item {self.name} found no clear question in {MAX_DRAWS} draws. Widen its conditions.")


def label(word: str) -> str:
    """Return a word, or for the start and end tokens the key of their phrase: "@start"."""
    return f"@{word}" if word in (START, END) else word
