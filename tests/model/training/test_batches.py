"""Batches contain every sentence as often as expected, by length, and depend only on seed and epoch."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch

from headlight.model.errors import TrainingError
from headlight.model.training.batches import (
    RaggedArray,
    Sentences,
    SpecialIds,
    compute_batch_cost,
    make_batch,
    plan_epoch,
    plan_validation_batches,
    target_tokens,
)
from headlight.model.training.checkpoints import RunProgress
from headlight.model.training.loop import training_steps
from headlight.model.training.recipe import Batching
from tests.model.training.examples import random_sentences

BATCHING = Batching(batch_tokens=89, max_sentence_tokens=14)


def row_counts(sentences: Sentences, epoch: int, seed: int = 1) -> Counter[int]:
    return Counter(int(row) for rows in plan_epoch(sentences, BATCHING, seed, epoch) for row in rows)


@pytest.mark.parametrize("epoch", [0, 1, 7])
def test_epoch_has_every_sentence_once(epoch: int) -> None:
    assert row_counts(random_sentences(101), epoch) == Counter(range(101))


def test_corpus_weights_repeat_or_subsample() -> None:
    sentences = random_sentences(120, weights=(1.0, 2.0, 0.25))
    corpora = [np.flatnonzero(sentences.corpus == number).tolist() for number in range(3)]
    parts = []
    for epoch in range(4):
        counts = row_counts(sentences, epoch)
        assert [counts[row] for row in corpora[0]] == [1] * 40
        assert [counts[row] for row in corpora[1]] == [2] * 40
        parts.append({row for row in corpora[2] if counts[row]})
    assert [len(part) for part in parts] == [10] * 4
    assert set.union(*parts) == set(corpora[2])  # a quarter each epoch: all after four


def test_batches_respect_token_limit_with_little_padding() -> None:
    sentences = random_sentences(1009)
    plan = plan_epoch(sentences, BATCHING, seed=1, epoch=0)
    costs = [compute_batch_cost(sentences, rows) for rows in plan]
    assert max(costs) <= BATCHING.batch_tokens
    real = sum(int(each.lengths.sum()) + len(each) for each in (sentences.source, sentences.target))
    assert real / sum(costs) > 0.9


def test_plan_depends_only_on_seed_and_epoch() -> None:
    sentences = random_sentences(101)
    plans = [
        [rows.tolist() for rows in plan_epoch(sentences, BATCHING, *key)] for key in ((1, 0), (1, 0), (1, 1), (2, 0))
    ]
    assert plans[0] == plans[1]
    assert plans[0] != plans[2]
    assert plans[0] != plans[3]


def test_too_long_sentences_are_dropped_and_empty_plan_raises() -> None:
    sentences = random_sentences(101)
    short = Batching(batch_tokens=89, max_sentence_tokens=7)
    rows = np.concatenate(plan_epoch(sentences, short, seed=1, epoch=0))
    assert 0 < len(rows) < 101
    assert max(sentences.source.lengths[rows].max(), sentences.target.lengths[rows].max()) == 6  # 7 with the end token
    with pytest.raises(TrainingError, match="max_sentence_tokens"):
        plan_epoch(sentences, Batching(batch_tokens=89, max_sentence_tokens=1), seed=1, epoch=0)


def test_steps_resume_from_any_position() -> None:
    sentences = random_sentences(53)
    batching = Batching(batch_tokens=89, max_sentence_tokens=14, accumulate=3)
    uninterrupted = training_steps(lambda _: sentences, batching, 1, RunProgress())
    steps = [next(uninterrupted)[1] for _ in range(31)]
    assert steps[-1].epoch >= 2
    for number in (0, 3, 11, 29):
        position = RunProgress(epoch=steps[number].epoch, batch=steps[number].batch)
        _, following = next(training_steps(lambda _: sentences, batching, 1, position))
        assert [rows.tolist() for rows in following.rows] == [rows.tolist() for rows in steps[number + 1].rows]


def test_batch_has_start_end_and_padding() -> None:
    sentences = Sentences(RaggedArray([[7, 8, 9], [5]]), RaggedArray([[4], [6, 3]]), np.zeros(2, np.int32), (1.0,))
    batch = make_batch(sentences, np.array([0, 1]), SpecialIds(pad=0, start=1, source_end=2, target_end=11))
    assert batch.source.tolist() == [[7, 8, 9, 2], [5, 2, 0, 0]]
    assert batch.source_mask is not None
    assert batch.source_mask.tolist() == [[[[True, True, True, True]]], [[[True, True, False, False]]]]
    assert batch.target.tolist() == [[1, 4, 0], [1, 6, 3]]
    assert batch.words.tolist() == [4, 11, 6, 3, 11]
    assert batch.word_indices.tolist() == [0, 1, 3, 4, 5]
    assert target_tokens(sentences, np.array([0, 1])) == 5
    assert compute_batch_cost(sentences, np.array([0, 1])) == 14


def test_batch_without_padding_needs_no_mask() -> None:
    sentences = random_sentences(17)
    batch = make_batch(sentences, np.array([3, 3]), SpecialIds(0, 1, 2, 2))
    assert batch.source_mask is None
    assert torch.equal(batch.source[0], batch.source[1])


def test_validation_has_every_pair_once() -> None:
    sentences = random_sentences(101, weights=(0.5, 3.0))
    rows = np.concatenate(list(plan_validation_batches(sentences, 89)))
    assert sorted(rows.tolist()) == list(range(101))


def test_ragged_arrays_concatenate() -> None:
    rows = [[3, 4], [], [5], [6, 7, 8]]
    joined = RaggedArray.concatenate([RaggedArray(rows[:1]), RaggedArray(rows[1:])])
    assert [joined[number].tolist() for number in range(len(joined))] == rows
    assert joined.lengths.tolist() == [2, 0, 1, 3]
