"""Model functions that the page calls in addition to translation.

Arguments and results are plain records, so that each function can run in another process or on another machine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from headlight.model.core.blocks import Embedding
from headlight.model.experiments.attribution import Attribution, attribute, attribution_query
from headlight.model.experiments.encodings import to_numpy
from headlight.model.experiments.faithfulness import measure_erasure_curve
from headlight.model.experiments.importance import AttentionPart
from headlight.model.experiments.logit_lens import key_contributions, promoted_tokens
from headlight.model.experiments.normalisation import Activations, collect_activations
from headlight.model.experiments.pruning import switch_off
from headlight.model.experiments.trace import run_trace, trace_norm
from headlight.model.experiments.word_order import ShuffleResult, encode_shuffled
from headlight.model.measures.alignment_head import AlignmentHead
from headlight.model.measures.trace_records import Float64Array
from headlight.model.records import FloatArray, Judgement, Kind, Translation, TranslationRequest
from headlight.model.translate.judge import Judge
from headlight.model.translate.translator import Translator

PLAIN_SENTENCE, NEGATED_SENTENCE = "The film was {}.", "The film was not {}."


class WordQuery(NamedTuple):
    """A written word, and the heads of two attribution methods."""

    positions: tuple[int, ...]  # token indices of the word
    head: tuple[int, int]  # layer and head of the method "head"
    alignment_head: AlignmentHead  # head of the method "aligning"
    seconds: float  # time limit of integrated gradients


def attribute_word(translator: Translator, translation: Translation, word: WordQuery, method: str) -> Attribution:
    """Attribute a written word to source words by one method."""
    query = attribution_query(
        translator,
        translation,
        word.positions,
        head=word.head,
        alignment_head=word.alignment_head,
        seconds=word.seconds,
    )
    return attribute(query, method)


def measure_word_erasure_curve(
    translator: Translator, translation: Translation, positions: Sequence[int], order: Sequence[int]
) -> list[float]:
    """Return the probability of a written word as source words are masked one by one in this order."""
    return measure_erasure_curve(attribution_query(translator, translation, positions), order)


@dataclass(frozen=True, eq=False)
class RowContributions:
    """The output of one head at one position, per key, and its effect on the logit of the written token."""

    outputs: Float64Array  # [keys, d_model]
    logit_changes: Float64Array | None  # [keys]; None for the encoder, which has no direct effect on logits
    promoted_tokens: tuple[tuple[int, float], ...]  # ids with the largest logit increases by the sum over all keys


def compute_row_contributions(
    translator: Translator, translation: Translation, kind: Kind, layer: int, head: int, row: int, count: int
) -> RowContributions:
    """Compute the contributions of one row of one head, with the `count` tokens whose logits it raises most."""
    trace = run_trace(translator, translation)
    outputs, effects = key_contributions(translator, translation, kind, layer, head, row, trace)
    if effects is None:
        return RowContributions(outputs, None, ())
    promoted = promoted_tokens(translator, trace, kind, layer, row, outputs.sum(axis=0), count)
    return RowContributions(outputs, effects, tuple(promoted))


def find_first_change(
    translator: Translator,
    request: TranslationRequest,
    text: str,
    order: Sequence[AttentionPart],
    first: int,
    last: int,
) -> int | None:
    """Switch off more and more heads of `order`, and return the first count at which the output is not `text`.

    The counts are range(`first`, `last`). The result is None if no count changes the output.
    """
    for count in range(first, last):
        if translator.translate(replace(request, interventions=switch_off(order[:count]))).text != text:
            return count
    return None


def position_table(translator: Translator, length: int) -> FloatArray:
    """Return the learned position table, of the first layer if layers differ."""
    embedding: Embedding = translator.model.encoder.embedding
    table = to_numpy(embedding.positions.as_array(length))
    return table[0] if table.ndim == 4 else table


def apply_norm(translator: Translator, path: str, vectors: FloatArray) -> FloatArray:
    """Apply the norm at `path` to these vectors, `[tokens, d_model]`."""
    norm = translator.model.get_submodule(path)
    return np.asarray(trace_norm(norm, vectors.astype(np.float64)).apply_to_inputs(vectors), dtype=np.float32)


def apply_output_projection(translator: Translator, path: str, head_values: FloatArray) -> FloatArray:
    """Apply the output projection at `path` to the heads together: `[heads, tokens, width]` → `[tokens, d_model]`."""
    output: Any = translator.model.get_submodule(path)
    joined = np.swapaxes(head_values, 0, 1).reshape(head_values.shape[1], -1)  # [tokens, heads × width]
    result = joined @ output.weight.detach().float().cpu().numpy().T
    if output.bias is not None:
        result = result + output.bias.detach().float().cpu().numpy()
    return np.asarray(result, dtype=np.float32)


def get_parameter_rows(translator: Translator, path: str, row: int | None) -> FloatArray:
    """Return a parameter of the model by its path, or one of its rows."""
    owner, _, name = path.rpartition(".")
    parameter: Any = getattr(translator.model.get_submodule(owner), name)
    selected = parameter if row is None else parameter[row]
    return np.atleast_1d(selected.detach().float().cpu().numpy())


def capture_encoder_activations(translator: Translator, rows: Sequence[Sequence[int]]) -> Activations:
    """Return the inputs of the encoder's last feed-forward network, for sentences as ids."""
    return collect_activations(translator.model, rows)


def encode_both_orders(translator: Translator, ids: Sequence[int], seed: int) -> tuple[ShuffleResult, ShuffleResult]:
    """Encode a sentence and its shuffled tokens, with positions and without."""
    with_positions = encode_shuffled(translator.model, ids, seed, positions=True)
    return with_positions, encode_shuffled(translator.model, ids, seed, positions=False)


# ------------------------------------------------------------ classifiers


class ErasureEffects(NamedTuple):
    """Change of each class's log-odds when the word of a token is erased, and the cost of the computation."""

    changes: tuple[tuple[float, ...], ...] | None  # [class][token]; None if the limits are exceeded
    work: float  # number of multiplications; infinite if the text is too long


def judge_with_erasure(judge: Judge, text: str, max_tokens: int, max_work: float) -> tuple[Judgement, ErasureEffects]:
    """Classify a text, and measure the effect of erasing each word if the text is within both limits."""
    judgement = judge.judge(text)
    work = judge.erasure_cost(judgement) if len(judgement.tokens) <= max_tokens else math.inf
    return judgement, ErasureEffects(judge.erasure_effects(judgement) if work <= max_work else None, work)


@dataclass(frozen=True)
class NegationResult:
    """The effect of negating one word."""

    word: str
    plain: float  # log-odds
    denied: float  # log-odds with "not"
    attention_to_not: FloatArray  # [layers, heads]: attention from the word to "not"
    log_odds_without_head: FloatArray  # [layers, heads]: change of the negated log-odds without that head


def measure_negation(judge: Judge, word: str) -> NegationResult:
    """Classify a sentence with a word, and its negation with all heads and without each head."""
    plain, judgement = judge.judge(PLAIN_SENTENCE.format(word)), judge.judge(NEGATED_SENTENCE.format(word))
    texts = [token.text.strip() for token in judgement.tokens]
    word_index, not_index = texts.index(word), texts.index("not")
    layers, heads = judgement.attention.shape[:2]
    changes = np.zeros((layers, heads), dtype=np.float32)
    for layer in range(layers):
        for head in range(heads):
            with judge.without_head(layer, head):
                changes[layer, head] = judge.judge(NEGATED_SENTENCE.format(word)).log_odds - judgement.log_odds
    return NegationResult(
        word, plain.log_odds, judgement.log_odds, judgement.attention[:, :, word_index, not_index], changes
    )
