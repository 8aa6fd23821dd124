"""Decoding rules mask tokens in place; the forced prefix takes precedence."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from headlight.model.decoding.generation_defaults import GenerationDefaults
from headlight.model.decoding.step import (
    FORBIDDEN,
    ForbidTokens,
    ForcePrefix,
    HypothesisState,
    NoRepeatNgrams,
    choose_best,
    get_forbidden_ids,
    make_rules,
)
from headlight.model.records import DecodingOptions
from tests.sizes import TARGET_VOCABULARY, small_config

CPU = torch.device("cpu")
VOCABULARY = 7


def forbidden(logits: Tensor) -> list[list[int]]:
    """The forbidden tokens of each row."""
    return [torch.nonzero(row == -math.inf)[:, 0].tolist() for row in logits]


def rows(*ids: Sequence[int]) -> list[HypothesisState]:
    return [HypothesisState(sentence, list(token_ids)) for sentence, token_ids in enumerate(ids)]


def logits_for(number: int) -> Tensor:
    return torch.arange(number * VOCABULARY, dtype=torch.float32).view(number, VOCABULARY)


def test_forbid_tokens_masks_only_its_tokens() -> None:
    logits = logits_for(3)
    ForbidTokens([2, 5], CPU)(logits, rows([], [1], [1, 2]))
    assert forbidden(logits) == [[2, 5]] * 3
    others = [0, 1, 3, 4, 6]
    assert torch.equal(logits[:, others], logits_for(3)[:, others])


def test_forbid_tokens_without_tokens_changes_nothing() -> None:
    logits = logits_for(2)
    ForbidTokens([], CPU)(logits, rows([], []))
    assert torch.equal(logits, logits_for(2))


@pytest.mark.parametrize(
    ("special", "expected"),
    [
        ({"pad_id": 0, "start_id": 1, "end_id": 2}, [0, 1]),
        ({"pad_id": 3, "start_id": 3, "end_id": 0}, [3]),  # as in Marian: padding is the start token
        ({"pad_id": 1, "start_id": 2, "end_id": 2}, [1]),  # as in BART: the end token is the start token
    ],
)
def test_padding_and_start_are_forbidden_and_end_is_allowed(special: dict[str, int], expected: list[int]) -> None:
    config = small_config(**special)
    assert get_forbidden_ids(config) == expected
    logits = torch.zeros(1, config.target_vocabulary)
    for rule in make_rules(config, DecodingOptions(), [[]], CPU):
        rule(logits, rows([5]))
    assert forbidden(logits) == [expected]


@pytest.mark.parametrize(
    ("length", "prefix", "expected"),
    [
        (1, [], []),
        (1, [4, 6, 4], [4, 6]),  # no repeated token
        (2, [4], []),
        (2, [4, 5, 4], [5]),  # "4 5" exists already
        (2, [4, 5, 4, 6, 4], [5, 6]),
        (2, [4, 4], [4]),  # n-grams may overlap
        (2, [4, 5, 6], []),
        (3, [1, 2, 3, 1, 2], [3]),
        (3, [1, 2], []),
        (3, [1, 2, 3, 2, 1], []),
        (4, [1, 2, 3, 1, 2], []),
    ],
)
def test_no_repeat_forbids_completing_repeated_ngrams(length: int, prefix: list[int], expected: list[int]) -> None:
    logits = logits_for(1)
    NoRepeatNgrams(length)(logits, rows(prefix))
    assert forbidden(logits) == [expected]


def test_no_repeat_treats_rows_separately() -> None:
    logits = logits_for(3)
    NoRepeatNgrams(2)(logits, rows([3, 1, 3], [2, 2], [1, 3, 2]))
    assert forbidden(logits) == [[1], [2], []]


def test_force_prefix_allows_one_token_until_prefix_ends() -> None:
    prefixes = [[5, 3], [], [6]]
    forced = ForcePrefix(prefixes)
    table: list[list[int | None]] = [[5, None, 6], [3, None, None], [None, None, None]]
    for step, expected in enumerate(table):
        logits = logits_for(3)
        forced(logits, rows(*([1] * step for _ in prefixes)))
        allowed = [sorted(set(range(VOCABULARY)) - set(row)) for row in forbidden(logits)]
        assert allowed == [list(range(VOCABULARY)) if token is None else [token] for token in expected]


def test_force_prefix_uses_sentence_index_of_row() -> None:
    logits = logits_for(3)
    ForcePrefix([[1], [2]])(logits, [HypothesisState(1), HypothesisState(0), HypothesisState(1)])
    assert choose_best(logits, []).tolist() == [2, 1, 2]


def test_forced_token_overrides_other_rules() -> None:
    config = small_config()
    rules = make_rules(config, DecodingOptions(no_repeat=1), [[5, 5, config.pad_id]], CPU)
    for prefix, token in (([5], 5), ([5, 5], config.pad_id)):
        logits = torch.zeros(1, config.target_vocabulary)
        for rule in rules:
            rule(logits, rows(prefix))
        assert choose_best(logits, []).tolist() == [token]
        assert torch.isfinite(logits).sum() == 1


def test_other_rules_apply_after_prefix() -> None:
    config = small_config()
    logits = torch.zeros(1, config.target_vocabulary)
    for rule in make_rules(config, DecodingOptions(no_repeat=1), [[5, 6]], CPU):
        rule(logits, rows([5, 6]))
    assert forbidden(logits) == [[config.pad_id, config.start_id, 5, 6]]


def test_rules_depend_on_options_and_are_ordered() -> None:
    def kinds(options: DecodingOptions, prefixes: list[list[int]]) -> list[type]:
        return [type(rule) for rule in make_rules(small_config(), options, prefixes, CPU)]

    assert kinds(DecodingOptions(), [[], []]) == [ForbidTokens]
    assert kinds(DecodingOptions(no_repeat=3), [[]]) == [ForbidTokens, NoRepeatNgrams]
    assert kinds(DecodingOptions(no_repeat=3), [[], [4]]) == [ForbidTokens, NoRepeatNgrams, ForcePrefix]


def test_choose_best_selects_largest_logit() -> None:
    logits = torch.tensor([[0.0, 3.0, 1.0], [2.0, -1.0, -5.0], [-math.inf, -4.0, -math.inf]])
    assert choose_best(logits, []).tolist() == [1, 0, 1]


# ------------------------------------------------------------ generation defaults of models


def allowed_tokens(
    defaults: GenerationDefaults, states: list[HypothesisState], limits: Sequence[int] = (9, 9, 9)
) -> torch.Tensor:
    """Whether each token is allowed, `[rows, vocabulary]`."""
    logits = torch.randn(len(states), TARGET_VOCABULARY)
    for rule in make_rules(small_config(), DecodingOptions(), [[]], CPU, defaults, limits):
        rule(logits, states)
    return logits > FORBIDDEN


def test_generation_defaults_set_forbidden_tokens() -> None:
    config = small_config()
    assert get_forbidden_ids(config) == get_forbidden_ids(config, GenerationDefaults()) == [0, 1]
    assert get_forbidden_ids(config, GenerationDefaults(never=())) == []
    assert get_forbidden_ids(config, GenerationDefaults(never=((7,), (config.end_id,), (5, 3)))) == [7]
    assert allowed_tokens(GenerationDefaults(never=()), [HypothesisState(0)]).all()
    assert (~allowed_tokens(GenerationDefaults(never=((7,),)), [HypothesisState(0)])).nonzero().tolist() == [[0, 7]]


def test_forbidden_sequence_applies_only_after_its_prefix() -> None:
    allowed = allowed_tokens(GenerationDefaults(never=((4, 5, 9), (5, 8))), rows([4, 5], [5], [4, 5, 6]))
    assert (~allowed).nonzero().tolist() == [[0, 8], [0, 9], [1, 8]]


def test_end_is_forbidden_below_minimum_length() -> None:
    assert (
        ~allowed_tokens(GenerationDefaults(never=(), least_length=2), rows([4], [4, 5], [4, 5, 6]))
    ).nonzero().tolist() == [[0, 2]]


def test_last_token_before_limit_is_forced() -> None:
    allowed = allowed_tokens(GenerationDefaults(never=(), forced_end=2), rows([4, 4], [4, 4], [4]), limits=(4, 3, 3))
    assert allowed.sum(dim=1).tolist() == [TARGET_VOCABULARY, 1, TARGET_VOCABULARY]
    assert allowed[1].nonzero().tolist() == [[2]]
