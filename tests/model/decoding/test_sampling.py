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

CHANCES = (0.1, 0.4, 0.05, 0.25, 0.2)


@pytest.fixture(scope="module")
def translator() -> Translator:
    return tiny_translator()


def logits_of(*chances: float) -> Tensor:
    return torch.tensor([[math.log(chance) if chance else -math.inf for chance in chances]])


def probabilities(logits: Tensor, **options: Any) -> Tensor:
    given: dict[str, Any] = {"temperature": 1.0}
    return Sampler(DecodingOptions(**(given | options)), len(logits)).probabilities(logits)


def ids_of(translation: Translation) -> list[int]:
    return [token.id for token in translation.target_tokens]


# ---------------------------------------------------------------- hand-worked


@pytest.mark.parametrize(
    ("options", "kept"),
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
        ({"top_k": 3, "top_p": 0.46}, {1}),  # of the three best, 0.4 / 0.85 = 0.4706 falls to the first
        ({"top_k": 3, "top_p": 0.48}, {1, 3}),
    ],
)
def test_chance_decides_among_the_best_k_that_together_reach_p(options: dict[str, Any], kept: set[int]) -> None:
    total = sum(CHANCES[token] for token in kept)
    expected = [CHANCES[token] / total if token in kept else 0.0 for token in range(5)]
    given = probabilities(logits_of(*CHANCES), **options)
    assert_close(given, torch.tensor([expected]), within=1e-6)
    assert set(torch.nonzero(given[0])[:, 0].tolist()) == kept


def test_of_equally_likely_words_top_k_keeps_k() -> None:
    given = probabilities(logits_of(0.2, 0.2, 0.2, 0.2, 0.2), top_k=3)
    assert sorted(given[0].tolist()) == pytest.approx([0, 0, 1 / 3, 1 / 3, 1 / 3])


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0, 10.0])
def test_temperature_divides_the_logits(temperature: float) -> None:
    powers = [chance ** (1 / temperature) for chance in CHANCES]
    expected = torch.tensor([[power / sum(powers) for power in powers]])
    assert_close(probabilities(logits_of(*CHANCES), temperature=temperature), expected, within=1e-6)


@pytest.mark.parametrize("temperature", [1e-3, 1e-30, 1e-40, 5e-324])
def test_the_coldest_temperature_leaves_the_best_word_alone(temperature: float) -> None:
    logits = torch.tensor([[-80.0, 0.25, -math.inf, 0.5], [1000.0, 3.0, 2.0, -math.inf]])
    assert probabilities(logits, temperature=temperature).tolist() == [[0, 0, 0, 1], [1, 0, 0, 0]]


@pytest.mark.parametrize("options", [{"top_k": 3}, {"top_p": 0.9}, {"top_k": 4, "top_p": 0.99}, {"temperature": 10.0}])
def test_a_forbidden_word_has_no_chance_whatever_the_options(options: dict[str, Any]) -> None:
    given = probabilities(logits_of(0.5, 0.0, 0.5, 0.0), **options)
    assert_close(given, torch.tensor([[1 / 2, 0, 1 / 2, 0]]), within=1e-6)
    assert given[0, 1] == given[0, 3] == 0.0


def test_each_row_is_cut_by_its_own_chances() -> None:
    both = torch.cat([logits_of(0.7, 0.2, 0.1), logits_of(0.1, 0.45, 0.45)])
    expected = torch.tensor([[1.0, 0, 0], [0, 1 / 2, 1 / 2]])
    assert_close(probabilities(both, top_p=0.6), expected, within=1e-6)


# ---------------------------------------------------------------- the dice


def draws(times: int, *, seed: int = 0, sentences: Sequence[int] = (0,)) -> list[list[int]]:
    """What is drawn at each of so many steps, for each sentence, from `CHANCES`."""
    sample = Sampler(DecodingOptions(temperature=1.0, seed=seed), max(sentences) + 1)
    logits = logits_of(*CHANCES).expand(len(sentences), -1)
    return [sample(logits, [HypothesisState(sentence) for sentence in sentences]).tolist() for _ in range(times)]


def test_words_come_as_often_as_they_are_likely() -> None:
    times = 4000
    counts = Counter(chosen for (chosen,) in draws(times))
    for token, chance in enumerate(CHANCES):
        deviation = math.sqrt(times * chance * (1 - chance))
        assert abs(counts[token] - times * chance) < 5 * deviation, token


def test_the_seed_alone_decides_what_is_drawn() -> None:
    assert draws(50, seed=3) == draws(50, seed=3)
    assert draws(50, seed=3) != draws(50, seed=4)


def test_a_sentence_has_dice_of_its_own() -> None:
    alone = [chosen for (chosen,) in draws(50)]
    together = draws(50, sentences=(0, 1, 2))
    assert [row[1] for row in together] == alone
    later = draws(50, sentences=(2,))  # others have left the batch
    assert [chosen for (chosen,) in later] == alone


# ---------------------------------------------------------------- sentences


def test_the_same_seed_gives_the_same_sentence_and_other_seeds_give_others(translator: Translator) -> None:
    def sampled(seed: int) -> list[int]:
        return ids_of(translator.translate(SENTENCES[0], temperature=1.0, seed=seed))

    assert sampled(1) == sampled(1)
    assert len({tuple(sampled(seed)) for seed in range(5)}) == 5


@pytest.mark.parametrize("options", [{"temperature": 1e-4}, {"temperature": 5e-324}, {"temperature": 1.0, "top_k": 1}])
def test_almost_without_chance_sampling_is_greedy(translator: Translator, options: dict[str, Any]) -> None:
    greedy = translator.translate_batch(SENTENCES)
    for seed in (0, 1):
        sampled = translator.translate_batch(SENTENCES, seed=seed, **options)
        assert [ids_of(one) for one in sampled] == [ids_of(one) for one in greedy]


@pytest.mark.parametrize("options", [{}, {"top_k": 11}, {"top_p": 0.7}])
def test_a_sentence_draws_the_same_words_alone_and_in_a_batch(translator: Translator, options: dict[str, Any]) -> None:
    together = translator.translate_batch(SENTENCES, temperature=0.8, seed=5, **options)
    for text, one in zip(SENTENCES, together, strict=True):
        assert ids_of(translator.translate(text, temperature=0.8, seed=5, **options)) == ids_of(one)


def test_sampling_never_writes_padding_or_the_start_however_warm(translator: Translator) -> None:
    config = translator.model.config
    written = set[int]()
    for seed in range(3):
        for one in translator.translate_batch(SENTENCES, temperature=10.0, seed=seed):
            written |= set(ids_of(one))
    assert len(written) > 100
    assert not written & {config.pad_id, config.start_id}
