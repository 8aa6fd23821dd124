"""Intermediate results of the finished model for any sentence of the lesson, also with a masked or replaced word."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headlight.model.records import FloatArray
from headlight.model.training.build_lesson.expressions import run_expression
from headlight.model.training.build_lesson.fit import translate
from headlight.model.training.build_lesson.lesson_file import read_file
from headlight.model.training.build_lesson.model import decode, encode, forward
from headlight.model.training.build_lesson.parts import ALL_PARTS
from headlight.model.training.build_lesson.sentences import (
    OBJECTS,
    PAIRS,
    PERSONS,
    TARGET_WORDS,
    VERBS,
    SentencePair,
    make_batch,
)

CLASSES = (tuple(PERSONS), tuple(VERBS), tuple(OBJECTS))


@cache
@torch.no_grad()
def sentence_trace(pair: SentencePair) -> dict[str, FloatArray]:
    """Return all intermediate results of a sentence, without the axes of models and pairs."""
    results = forward(ALL_PARTS, read_file().final, make_batch([pair]))
    return {name: tensor[0, 0].numpy() for name, tensor in results.items()}


@cache
@torch.no_grad()
def padded_trace(pair: SentencePair) -> dict[str, FloatArray]:
    """Return the results of a sentence in a batch with a longer one. Scores of padding are not masked."""
    longest = max(PAIRS, key=lambda other: len(other.source))
    results = forward(ALL_PARTS, read_file().final, make_batch([pair, longest]))
    return {name: tensor[0, 0].numpy() for name, tensor in results.items()}


@cache
@torch.no_grad()
def probabilities_without(pair: SentencePair) -> FloatArray:
    """Return the probabilities of the written words if cross-attention masks a Chinese word.

    The result is [Chinese words + 1, written words]: one row per masked word, and a last row without mask.
    """
    count = len(pair.source)
    weights, batch = read_file().final, make_batch([pair] * (count + 1))
    trace: dict[str, Tensor] = {}
    memory = encode(ALL_PARTS, weights, batch.source, batch.source_is_word, trace)
    hidden = torch.cat([torch.eye(count), torch.zeros(1, count)]).bool()
    decode(ALL_PARTS, weights, (batch.decoder_ids, batch.decoder_is_word), (memory, ~hidden), trace)
    probabilities = trace["logits"][0].softmax(-1)  # [sentences, written words, vocabulary]
    return probabilities.gather(-1, batch.labels[..., None])[..., 0].numpy()


@cache
@torch.no_grad()
def deciding_words(pair: SentencePair) -> dict[int, int]:
    """Return the index of the Chinese word that decides each written word: replacing it changes the written word.

    Written words that no replacement changes are missing.
    """
    replacements = [(key, other) for key, word in enumerate(pair.source) for other in _other_words(word)]
    sources = [(*pair.source[:key], other, *pair.source[key + 1 :]) for key, other in replacements]
    pairs = [pair, *(SentencePair(source, pair.target) for source in sources)]
    before, *after = translate(ALL_PARTS, read_file().final, pairs)
    return {
        row: key
        for (key, _), words in zip(replacements, after, strict=True)
        for row, word in enumerate(before)
        if row >= len(words) or words[row] != word
    }


def _other_words(word: str) -> list[str]:
    """Return the other persons, verbs or objects for a word of this class."""
    return [other for group in CLASSES if word in group for other in group if other != word]


def next_words(pair: SentencePair) -> tuple[str, ...]:
    """Return the word with the highest probability at each decoder row."""
    return tuple(TARGET_WORDS[index] for index in sentence_trace(pair)["logits"].argmax(-1))


def run_on_scores(line: str, scores: np.ndarray[Any, Any]) -> FloatArray:
    """Run a line of PyTorch on the scores `s`: [queries, keys]."""
    result: Tensor = run_expression(line, {"s": torch.tensor(scores)})
    return result.numpy()
