"""The 84 sentence pairs of the lesson, Chinese to English. Relative clauses have a different word order in English."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import torch
from torch import Tensor

PERSONS = {"我": "I", "你": "you", "他们": "they"}
VERBS = {"喜欢": "like", "读": "read"}  # verbs with one form for all persons of the lesson
OBJECTS = {"书": "book", "诗": "poem"}
START, END, IGNORED = "start", "end", -1  # IGNORED: label at padding, which the loss ignores
MAIN = "我喜欢你读的书"
HELD_OUT = (
    "他们读我喜欢的诗",
    "你喜欢他们读的书",
    "我读你喜欢的诗",
    "他们喜欢你读的诗",
    "你读我读的书",
    "我喜欢他们喜欢的书",
    "他们读诗",
    "我喜欢书",
)


@dataclass(frozen=True)
class SentencePair:
    """The words of a sentence and of its translation."""

    source: tuple[str, ...]
    target: tuple[str, ...]

    @property
    def text(self) -> str:
        """Return the Chinese sentence."""
        return "".join(self.source)


def sentence_pairs() -> tuple[SentencePair, ...]:
    """Return all pairs: 12 without a relative clause and 72 with one."""
    pairs = []
    combinations = product(PERSONS.items(), VERBS.items(), OBJECTS.items())
    for (source_subject, subject), (source_verb, verb), (source_noun, noun) in combinations:
        pairs.append(SentencePair((source_subject, source_verb, source_noun), (subject, verb, "the", noun)))
        for (source_person, person), (source_clause_verb, clause_verb) in product(PERSONS.items(), VERBS.items()):
            source = (source_subject, source_verb, source_person, source_clause_verb, "的", source_noun)
            pairs.append(SentencePair(source, (subject, verb, "the", noun, person, clause_verb)))
    return tuple(pairs)


def _vocabulary(sentences: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the words in the order of their first use."""
    return tuple(dict.fromkeys(word for sentence in sentences for word in sentence))


PAIRS = sentence_pairs()
SOURCE_WORDS = _vocabulary([pair.source for pair in PAIRS])
TARGET_WORDS = (START, END, *_vocabulary([pair.target for pair in PAIRS]))
HELD_OUT_PAIRS = tuple(pair for pair in PAIRS if pair.text in HELD_OUT)
TRAINING_PAIRS = tuple(pair for pair in PAIRS if pair.text not in HELD_OUT)
MAIN_PAIR = next(pair for pair in PAIRS if pair.text == MAIN)


@dataclass(frozen=True)
class Batch:
    """Padded ids of several pairs."""

    source: Tensor  # [pairs, source words]
    source_is_word: Tensor  # bool, [pairs, source words]
    decoder_ids: Tensor  # [pairs, target words]: start, then the target
    decoder_is_word: Tensor  # bool, [pairs, target words]
    labels: Tensor  # [pairs, target words]: the word to predict in each row; `IGNORED` at padding


def make_batch(pairs: Sequence[SentencePair]) -> Batch:
    """Return the padded ids of pairs."""
    sources = [[SOURCE_WORDS.index(word) for word in pair.source] for pair in pairs]
    targets = [[TARGET_WORDS.index(word) for word in pair.target] for pair in pairs]
    start, end = TARGET_WORDS.index(START), TARGET_WORDS.index(END)
    return Batch(
        source=_pad_rows(sources, 0),
        source_is_word=_pad_rows([[1] * len(ids) for ids in sources], 0).bool(),
        decoder_ids=_pad_rows([[start, *ids] for ids in targets], end),
        decoder_is_word=_pad_rows([[1] * (len(ids) + 1) for ids in targets], 0).bool(),
        labels=_pad_rows([[*ids, end] for ids in targets], IGNORED),
    )


def _pad_rows(rows: Sequence[list[int]], value: int) -> Tensor:
    length = max(map(len, rows))
    return torch.tensor([row + [value] * (length - len(row)) for row in rows])
