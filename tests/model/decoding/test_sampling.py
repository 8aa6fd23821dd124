"""Sampling with a seed: allowed tokens, correct frequencies, independence of the batch."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from headlight.model.decoding.step import HypothesisState, Sampler
from headlight.model.records import DecodingOptions, Translation
from headlight.model.translate.translator import Translator
from tests.compare import assert_close
from tests.tiny import SENTENCES, tiny_translator

PROBABILITIES = (0.1, 0.4, 0.05, 0.25, 0.2)


@pytest.fixture(scope="module")
def translator() -> Translator:
    return tiny_translator()


def to_logits(*chances: float) -> Tensor:
    return torch.tensor([[math.log(chance) if chance else -math.inf for chance in chances]])


def probabilities(logits: Tensor, **options: Any) -> Tensor:
    defaults: dict[str, Any] = {"temperature": 1.0}
    return Sampler(DecodingOptions(**(defaults | options)), len(logits)).probabilities(logits)


def target_ids(translation: Translation) -> list[int]:
    return [token.id for token in translation.target_tokens]


# ---------------------------------------------------------------- hand-computed probabilities


@pytest.mark.parametrize(
    ("options", "allowed"),
    [
        ({}, {0, 1, 2, 3, 4}),
        ({"top_k": 1}, {1}),
        ({"top_k": 2}, {1, 3}),
        ({"top_k": 4}, {0, 1, 3, 4}),
        ({"top_k": 5}, {0, 1, 2, 3, 4}),
        ({"top_k": 1000}, {0, 1, 2, 3, 4}),
        ({"top_p": 1e-9}, {1}),
        ({"top_p": 0.39}, {1}),  # 0.4 is enough
        ({"top_p": 0.41}, {1, 3}),  # 0.4 is not, 0.4 + 0.25 is
        ({"top_p": 0.64}, {1, 3}),
        ({"top_p": 0.66}, {1, 3, 4}),
        ({"top_p": 0.86}, {0, 1, 3, 4}),
        ({"top_p": 0.96}, {0, 1, 2, 3, 4}),
        ({"top_k": 3, "top_p": 0.46}, {1}),  # 0.4 / 0.85 = 0.4706 of the top three
        ({"top_k": 3, "top_p": 0.48}, {1, 3}),
    ],
)
def test_top_k_and_top_p_select_tokens(options: dict[str, Any], allowed: set[int]) -> None:
    total = sum(PROBABILITIES[token] for token in allowed)
    expected = [PROBABILITIES[token] / total if token in allowed else 0.0 for token in range(5)]
    actual = probabilities(to_logits(*PROBABILITIES), **options)
    assert_close(actual, torch.tensor([expected]), tolerance=1e-6)
    assert set(torch.nonzero(actual[0])[:, 0].tolist()) == allowed


def test_top_p_stops_at_an_exact_sum() -> None:
    """Halves and quarters are exact in float32: one half is enough for a half."""
    logits = to_logits(0.25, 0.5, 0.25)
    assert probabilities(logits, top_p=0.5).tolist() == [[0, 1, 0]]
    assert probabilities(logits, top_p=0.75)[0].tolist() == pytest.approx([1 / 3, 2 / 3, 0])


def test_top_k_breaks_ties() -> None:
    actual = probabilities(to_logits(0.2, 0.2, 0.2, 0.2, 0.2), top_k=3)
    assert sorted(actual[0].tolist()) == pytest.approx([0, 0, 1 / 3, 1 / 3, 1 / 3])


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0, 10.0])
def test_temperature_divides_the_logits(temperature: float) -> None:
    powers = [chance ** (1 / temperature) for chance in PROBABILITIES]
    expected = torch.tensor([[power / sum(powers) for power in powers]])
    assert_close(probabilities(to_logits(*PROBABILITIES), temperature=temperature), expected, tolerance=1e-6)


@pytest.mark.parametrize("temperature", [1e-3, 1e-30, 1e-40, 5e-324])
def test_tiny_temperature_selects_best_token(temperature: float) -> None:
    logits = torch.tensor([[-80.0, 0.25, -math.inf, 0.5], [1000.0, 3.0, 2.0, -math.inf]])
    assert probabilities(logits, temperature=temperature).tolist() == [[0, 0, 0, 1], [1, 0, 0, 0]]


@pytest.mark.parametrize("options", [{"top_k": 3}, {"top_p": 0.9}, {"top_k": 4, "top_p": 0.99}, {"temperature": 10.0}])
def test_forbidden_tokens_have_zero_probability(options: dict[str, Any]) -> None:
    actual = probabilities(to_logits(0.5, 0.0, 0.5, 0.0), **options)
    assert_close(actual, torch.tensor([[1 / 2, 0, 1 / 2, 0]]), tolerance=1e-6)
    assert actual[0, 1] == actual[0, 3] == 0.0


def test_top_p_treats_rows_separately() -> None:
    both = torch.cat([to_logits(0.7, 0.2, 0.1), to_logits(0.1, 0.45, 0.45)])
    expected = torch.tensor([[1.0, 0, 0], [0, 1 / 2, 1 / 2]])
    assert_close(probabilities(both, top_p=0.6), expected, tolerance=1e-6)


# ---------------------------------------------------------------- random draws


def draws(times: int, *, seed: int = 0, sentences: Sequence[int] = (0,)) -> list[list[int]]:
    """Tokens drawn from the probabilities above: [step][sentence]."""
    sample = Sampler(DecodingOptions(temperature=1.0, seed=seed), max(sentences) + 1)
    logits = to_logits(*PROBABILITIES).expand(len(sentences), -1)
    return [sample(logits, [HypothesisState(sentence) for sentence in sentences]).tolist() for _ in range(times)]


def test_frequencies_match_probabilities() -> None:
    times = 4000
    counts = Counter(token_id for (token_id,) in draws(times))
    for token, chance in enumerate(PROBABILITIES):
        deviation = math.sqrt(times * chance * (1 - chance))
        assert abs(counts[token] - times * chance) < 5 * deviation, token


def test_draws_depend_on_seed() -> None:
    assert draws(50, seed=3) == draws(50, seed=3)
    assert draws(50, seed=3) != draws(50, seed=4)


def test_sentences_have_independent_generators() -> None:
    alone = [token_id for (token_id,) in draws(50)]
    together = draws(50, sentences=(0, 1, 2))
    assert [row[1] for row in together] == alone
    later = draws(50, sentences=(2,))  # others have left the batch
    assert [token_id for (token_id,) in later] == alone


# ---------------------------------------------------------------- sentences


def test_seed_determines_sampled_sentence(translator: Translator) -> None:
    def sampled(seed: int) -> list[int]:
        return target_ids(translator.translate(SENTENCES[0], temperature=1.0, seed=seed))

    assert sampled(1) == sampled(1)
    assert len({tuple(sampled(seed)) for seed in range(5)}) == 5


@pytest.mark.parametrize("options", [{"temperature": 1e-4}, {"temperature": 5e-324}, {"temperature": 1.0, "top_k": 1}])
def test_near_deterministic_sampling_is_greedy(translator: Translator, options: dict[str, Any]) -> None:
    greedy = translator.translate_batch(SENTENCES)
    for seed in (0, 1):
        sampled = translator.translate_batch(SENTENCES, seed=seed, **options)
        assert [target_ids(one) for one in sampled] == [target_ids(one) for one in greedy]


@pytest.mark.parametrize("options", [{}, {"top_k": 11}, {"top_p": 0.7}])
def test_sampling_does_not_depend_on_batch(translator: Translator, options: dict[str, Any]) -> None:
    together = translator.translate_batch(SENTENCES, temperature=0.8, seed=5, **options)
    for text, one in zip(SENTENCES, together, strict=True):
        assert target_ids(translator.translate(text, temperature=0.8, seed=5, **options)) == target_ids(one)


def test_sampling_never_gives_padding_or_start(translator: Translator) -> None:
    config = translator.model.config
    sampled_ids = set[int]()
    for seed in range(3):
        for one in translator.translate_batch(SENTENCES, temperature=10.0, seed=seed):
            sampled_ids |= set(target_ids(one))
    assert len(sampled_ids) > 100
    assert not sampled_ids & {config.pad_id, config.start_id}
