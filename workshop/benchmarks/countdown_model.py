"""A random model that ends its sentences: it counts down.

Weights of pure chance never end a sentence, or always at once; everyday lines, however, differ in length, and how an
engine copes with that decides how fast it is. Here each word of the vocabulary belongs to a length. A sentence of n
words is made of words of length n, and the model answers n, n − 1, …, 1, end. Only the output layer is fitted to that,
in closed form: a linear discriminant between the decoder's vectors before each number. Everything else stays chance,
and has its usual cost.
"""

from __future__ import annotations

import math
import random
from dataclasses import replace
from itertools import islice

import torch
from torch import Tensor

from headlight.model.text.tokenizer import Tokenizer
from workshop.benchmarks.random_models import UNLIKELY_LOGIT, random_model
from workshop.benchmarks.shapes import Shape

MAX_WORDS = 40  # words
MEDIAN, SPREAD = 9.0, 0.5  # of the words in a line: log-normal
EXAMPLES_PER_LENGTH = 8  # sentences of each length to fit


class CountdownModel:
    """The model, its words, and lines to translate."""

    def __init__(self, shape: Shape, tokenizer: Tokenizer, seed: int = 0) -> None:
        self.tokenizer = tokenizer
        self.dice = random.Random(seed)  # noqa: S311 - no secrets here
        words = _whole_words(tokenizer)
        self.first = words[:MAX_WORDS]  # [n − 1]: the id that begins an answer of n words
        self.numbers = words[MAX_WORDS : 2 * MAX_WORDS]  # [n − 1]: the id that says n later on
        rest = words[2 * MAX_WORDS :]
        self.groups = [rest[length::MAX_WORDS] for length in range(MAX_WORDS)]  # [n − 1]: ids of length n
        if not all(self.groups):
            raise ValueError(f"{len(words)} whole words are too few for {MAX_WORDS} lengths: take a larger vocabulary.")
        self.model = random_model(replace(shape.config, tie_output=False))
        self._separate()
        self._fit()

    def sample_lines(self, count: int) -> list[str]:
        """Texts of everyday lengths."""
        lengths = (round(self.dice.lognormvariate(math.log(MEDIAN), SPREAD)) for _ in range(1_000 * count))
        fitting = islice((length for length in lengths if 1 <= length <= MAX_WORDS), count)
        return [self.tokenizer.decode(self._sentence(length)) for length in fitting]

    def expected_output(self, length: int) -> list[int]:
        """Expected output for a sentence of this length."""
        counted = [self.numbers[n - 1] for n in range(length - 1, 0, -1)]
        return [self.first[length - 1], *counted, self.model.config.end_id]

    def _sentence(self, length: int) -> list[int]:
        return [self.dice.choice(self.groups[length - 1]) for _ in range(length)]

    def _separate(self) -> None:
        """Words of one length share a direction; a number is the same wherever it stands."""
        table = self.model.encoder.embedding.table.weight
        for group in self.groups:
            table[group] = 0.3 * table[group] + torch.randn(table.shape[1]) * self.model.config.d_model**-0.5
        table[self.first] = table[self.numbers]

    @torch.inference_mode()
    def _fit(self) -> None:
        """Σ⁻¹μ for each number, with μ the mean of the vectors before it and Σ their spread around their means."""
        words, config = self.model.decoder.output.words, self.model.config
        before: dict[int, list[Tensor]] = {}
        for length in range(1, MAX_WORDS + 1):
            answer = self.expected_output(length)
            sources = torch.tensor([[*self._sentence(length), config.end_id] for _ in range(EXAMPLES_PER_LENGTH)])
            targets = torch.tensor([[config.start_id, *answer[:-1]]] * EXAMPLES_PER_LENGTH)
            state = self.model.decoder.new_state(self.model.encode(sources, padded=False), cached=False)
            vectors = self.model.decoder.run_layers(self.model.decoder.embedding(targets), state)
            for place, number in enumerate(answer):
                before.setdefault(number, []).extend(vectors[:, place])
        clouds = {number: torch.stack(vectors) for number, vectors in before.items()}
        means = torch.stack([cloud.mean(dim=0) for cloud in clouds.values()])  # [numbers, d_model]
        around = torch.cat([cloud - cloud.mean(dim=0) for cloud in clouds.values()])
        spread = around.T @ around / len(around) + 1e-3 * torch.eye(config.d_model)
        rows = torch.linalg.solve(spread, means.T).T
        words.bias.fill_(UNLIKELY_LOGIT)
        words.weight[list(clouds)] = rows
        words.bias[list(clouds)] = -(rows * means).sum(dim=1) / 2


def _whole_words(tokenizer: Tokenizer) -> list[int]:
    """Ids of entries that are whole words."""
    texts = [tokenizer.decode([token_id]) for token_id in range(tokenizer.vocabulary_size)]
    return [token_id for token_id, text in enumerate(texts) if text.isalpha() and tokenizer.encode(text) == [token_id]]
