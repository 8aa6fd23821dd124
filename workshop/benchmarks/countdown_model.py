"""A random model that ends its sentences by counting down.

A model with random weights ends a sentence never or immediately, but everyday lines differ in length, which affects
the speed of an engine. In this model, each word of the vocabulary is assigned to a length. A sentence of n words
contains words of length n, and the model outputs n, n − 1, …, 1, end. Only the output layer is fitted, in closed form:
a linear discriminant between the decoder's vectors before each number. The other weights are random, so the model has
the usual cost.
"""

from __future__ import annotations

import math
import random
from dataclasses import replace
from itertools import islice

import torch
from torch import Tensor

from headlight.model.text.tokenizer import Tokenizer
from workshop.benchmarks.random_models import UNLIKELY_LOGIT, make_random_model
from workshop.benchmarks.shapes import Shape

MAX_WORDS = 40  # per line
MEDIAN, LOG_STD = 9.0, 0.5  # log-normal distribution of the words per line
EXAMPLES_PER_LENGTH = 8  # sentences per length for the fit


class CountdownModel:
    """The model, its vocabulary by length, and lines to translate."""

    def __init__(self, shape: Shape, tokenizer: Tokenizer, seed: int = 0) -> None:
        self.tokenizer = tokenizer
        self.rng = random.Random(seed)  # noqa: S311 - no secrets here
        words = _find_whole_words(tokenizer)
        self.first_ids = words[:MAX_WORDS]  # [n − 1]: the first id of an output of n words
        self.number_ids = words[MAX_WORDS : 2 * MAX_WORDS]  # [n − 1]: the id of n at later positions
        group_words = words[2 * MAX_WORDS :]
        self.word_ids_by_length = [
            group_words[length::MAX_WORDS] for length in range(MAX_WORDS)
        ]  # [n − 1]: ids of length n
        if not all(self.word_ids_by_length):
            raise ValueError(f"{len(words)} whole words are too few for {MAX_WORDS} lengths. Use a larger vocabulary.")
        self.model = make_random_model(replace(shape.config, tie_output=False))
        self._separate()
        self._fit()

    def sample_lines(self, count: int) -> list[str]:
        """Return texts with the length distribution of everyday lines."""
        lengths = (round(self.rng.lognormvariate(math.log(MEDIAN), LOG_STD)) for _ in range(1_000 * count))
        valid_lengths = islice((length for length in lengths if 1 <= length <= MAX_WORDS), count)
        return [self.tokenizer.decode(self._sentence(length)) for length in valid_lengths]

    def make_countdown(self, length: int) -> list[int]:
        """Return the expected output ids for a sentence of this length."""
        countdown = [self.number_ids[n - 1] for n in range(length - 1, 0, -1)]
        return [self.first_ids[length - 1], *countdown, self.model.config.end_id]

    def _sentence(self, length: int) -> list[int]:
        return [self.rng.choice(self.word_ids_by_length[length - 1]) for _ in range(length)]

    def _separate(self) -> None:
        """Shift words of one length in a common direction, and embed a number equally at every position."""
        table = self.model.encoder.embedding.table.weight
        for group in self.word_ids_by_length:
            table[group] = 0.3 * table[group] + torch.randn(table.shape[1]) * self.model.config.d_model**-0.5
        table[self.first_ids] = table[self.number_ids]

    @torch.inference_mode()
    def _fit(self) -> None:
        """Set the output weights of each number to Σ⁻¹μ, with the mean μ and covariance Σ of the vectors before it."""
        words, config = self.model.decoder.output.words, self.model.config
        vectors_by_token: dict[int, list[Tensor]] = {}
        for length in range(1, MAX_WORDS + 1):
            answer = self.make_countdown(length)
            sources = torch.tensor([[*self._sentence(length), config.end_id] for _ in range(EXAMPLES_PER_LENGTH)])
            targets = torch.tensor([[config.start_id, *answer[:-1]]] * EXAMPLES_PER_LENGTH)
            state = self.model.decoder.new_state(self.model.encode(sources, padded=False), cached=False)
            vectors = self.model.decoder.run_layers(self.model.decoder.embedding(targets), state)
            for position, token_id in enumerate(answer):
                vectors_by_token.setdefault(token_id, []).extend(vectors[:, position])
        clouds = {token_id: torch.stack(vectors) for token_id, vectors in vectors_by_token.items()}
        means = torch.stack([cloud.mean(dim=0) for cloud in clouds.values()])  # [numbers, d_model]
        centred = torch.cat([cloud - cloud.mean(dim=0) for cloud in clouds.values()])
        covariance = centred.T @ centred / len(centred) + 1e-3 * torch.eye(config.d_model)
        weights = torch.linalg.solve(covariance, means.T).T
        words.bias.fill_(UNLIKELY_LOGIT)
        words.weight[list(clouds)] = weights
        words.bias[list(clouds)] = -(weights * means).sum(dim=1) / 2


def _find_whole_words(tokenizer: Tokenizer) -> list[int]:
    """Return the ids of tokens that are whole words."""
    texts = [tokenizer.decode([token_id]) for token_id in range(tokenizer.vocabulary_size)]
    return [token_id for token_id, text in enumerate(texts) if text.isalpha() and tokenizer.encode(text) == [token_id]]
