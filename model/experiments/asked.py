"""Functions of a model that the page calls in addition to translating.

Records go in and records come out, so that each of them may run in another process, or on another machine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from headlight.model.core.blocks import Embedding
from headlight.model.experiments.attribution import Attribution, attribute, question_of
from headlight.model.experiments.encodings import numbers_of
from headlight.model.experiments.faithfulness import erasing_curve
from headlight.model.experiments.importance import Part
from headlight.model.experiments.inside import lifted_most, moved_by_keys
from headlight.model.experiments.normalising import Activations, activations
from headlight.model.experiments.order import Shuffled, shuffled
from headlight.model.experiments.pruning import heads_off
from headlight.model.experiments.trace import norm_of, run_trace
from headlight.model.measures.aligning import AligningHead
from headlight.model.measures.traced import Numbers
from headlight.model.records import FloatArray, Judgement, Kind, Translation, TranslationRequest
from headlight.model.translate.judge import Judge
from headlight.model.translate.translator import Translator

PLAIN, DENIED = "The film was {}.", "The film was not {}."


class AskedWord(NamedTuple):
    """A written word by the places of its tokens, and the heads that two methods read."""

    places: tuple[int, ...]
    head: tuple[int, int]
    aligning: AligningHead
    seconds: float  # that integrated gradients may take


def attribute_word(translator: Translator, translation: Translation, word: AskedWord, method: str) -> Attribution:
    """Attribution of a target word to source words by one method."""
    head, aligning, seconds = word.head, word.aligning, word.seconds
    question = question_of(translator, translation, word.places, head=head, aligning=aligning, seconds=seconds)
    return attribute(question, method)


def hide_in_order(
    translator: Translator, translation: Translation, places: Sequence[int], order: Sequence[int]
) -> list[float]:
    """Probability of the target word as source words are masked one by one in this order."""
    return erasing_curve(question_of(translator, translation, places), order)


@dataclass(frozen=True, eq=False)
class RowMoves:
    """What one head writes at one place, key by key, and how far that moves the written word."""

    written: Numbers  # [keys, d_model]
    moved: Numbers | None  # [keys], in logits; None for the encoder, which has no direct effect on logits
    lifted: tuple[tuple[int, float], ...]  # the tokens that all keys together raise most


def moves_of_row(
    translator: Translator, translation: Translation, kind: Kind, layer: int, head: int, row: int, count: int
) -> RowMoves:
    """One row of one head; `count` tokens that it raises."""
    trace = run_trace(translator, translation)
    written, moved = moved_by_keys(translator, translation, kind, layer, head, row, trace)
    if moved is None:
        return RowMoves(written, None, ())
    lifted = lifted_most(translator, trace, kind, layer, row, written.sum(axis=0), count)
    return RowMoves(written, moved, tuple(lifted))


def first_change(
    translator: Translator, request: TranslationRequest, text: str, order: Sequence[Part], first: int, last: int
) -> int | None:
    """With how many heads of the order off, from `first` to before `last`, another text than `text` is written."""
    for count in range(first, last):
        if translator.translate(replace(request, interventions=heads_off(order[:count]))).text != text:
            return count
    return None


def position_table(translator: Translator, length: int) -> FloatArray:
    """Learned position table; the first layer's if layers differ."""
    embedding: Embedding = translator.model.encoder.embedding
    table = numbers_of(embedding.positions.picture(length))
    return table[0] if table.ndim == 4 else table


def normed(translator: Translator, path: str, vectors: FloatArray) -> FloatArray:
    """Apply the norm at `path` to these vectors, `[tokens, d_model]`."""
    norm = translator.model.get_submodule(path)
    return np.asarray(norm_of(norm, vectors.astype(np.float64)).normed(vectors), dtype=np.float32)


def attended(translator: Translator, path: str, mixed: FloatArray) -> FloatArray:
    """Output projection at `path`, applied to each head: `[heads, tokens, width]`."""
    output: Any = translator.model.get_submodule(path)
    joined = np.swapaxes(mixed, 0, 1).reshape(mixed.shape[1], -1)  # [tokens, heads × width]
    result = joined @ output.weight.detach().float().cpu().numpy().T
    if output.bias is not None:
        result = result + output.bias.detach().float().cpu().numpy()
    return np.asarray(result, dtype=np.float32)


def activations_of(translator: Translator, rows: Sequence[Sequence[int]]) -> Activations:
    """What enters the encoder's last feed-forward network, for sentences by their ids."""
    return activations(translator.model, rows)


def both_orders(translator: Translator, ids: Sequence[int], seed: int) -> tuple[Shuffled, Shuffled]:
    """A sentence and its shuffled tokens through the encoder: with its positions, and without."""
    with_them = shuffled(translator.model, ids, seed, positions=True)
    return with_them, shuffled(translator.model, ids, seed, positions=False)


# ------------------------------------------------------------ of a classifier


class Erased(NamedTuple):
    """Loss of each class's log-odds when a token's word is erased, and its cost."""

    changes: tuple[tuple[float, ...], ...] | None  # [class][token]; None: more work than was allowed
    work: float  # multiplications; infinite if the text is too long


def judge_and_erase(judge: Judge, text: str, most_tokens: int, most_work: float) -> tuple[Judgement, Erased]:
    """The verdict and the contribution of each word, for texts within the limits of tokens and cost."""
    judgement = judge.judge(text)
    work = judge.erasure(judgement) if len(judgement.tokens) <= most_tokens else math.inf
    return judgement, Erased(judge.erased(judgement) if work <= most_work else None, work)


@dataclass(frozen=True)
class Denied:
    """One word, plain and denied."""

    word: str
    plain: float  # log-odds
    denied: float
    looks: FloatArray  # [layers, heads]: how much of the word's row goes to "not"
    without: FloatArray  # [layers, heads]: change of the negated log-odds without that head


def denied(judge: Judge, word: str) -> Denied:
    """Classify a sentence with a word and with its negation, with all heads and without each head."""
    plain, judgement = judge.judge(PLAIN.format(word)), judge.judge(DENIED.format(word))
    texts = [token.text.strip() for token in judgement.tokens]
    at, by = texts.index(word), texts.index("not")
    layers, heads = judgement.attention.shape[:2]
    without = np.zeros((layers, heads), dtype=np.float32)
    for layer in range(layers):
        for head in range(heads):
            with judge.without_head(layer, head):
                without[layer, head] = judge.judge(DENIED.format(word)).log_odds - judgement.log_odds
    return Denied(word, plain.log_odds, judgement.log_odds, judgement.attention[:, :, at, by], without)
