"""Hypothesis state and token rules, used by every search.

A rule is called with the logits of the next token, `[rows, vocabulary]`, and the rows, and writes −∞ for forbidden
tokens. Each step computes new logits, so rules change them in place. Rules decide which tokens can be chosen, not their
scores: log probabilities are computed before the rules run, unless the generation defaults set `counted`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor

from headlight.model.core.config import TransformerConfig
from headlight.model.core.transformer import DecoderState
from headlight.model.decoding.generation_defaults import GenerationDefaults
from headlight.model.records import DecodingOptions

FORBIDDEN = float("-inf")
NO_DEFAULTS = GenerationDefaults()
DecoderStep = Callable[[Tensor, DecoderState], Tensor]  # ids [rows, 1] → logits [rows, 1, vocabulary]


@dataclass(slots=True)
class HypothesisState:
    """An unfinished hypothesis."""

    sentence: int  # index of the sentence in the batch
    ids: list[int] = field(default_factory=list)  # tokens so far, without the start token
    log_probability: float = 0.0  # of all ids together
    token_log_probabilities: list[float] = field(default_factory=list)  # one per id; empty if scores are not computed
    node: int = -1  # index of its newest node in the sentence's tree


class Rule(Protocol):
    """A constraint on the next token."""

    def __call__(self, logits: Tensor, rows: Sequence[HypothesisState]) -> None:
        """Write −∞ into `logits`, `[rows, vocabulary]`, for the forbidden tokens of each row."""


class ForbidTokens:
    """A rule that forbids tokens, such as padding and the start token."""

    def __init__(self, ids: Sequence[int], device: torch.device) -> None:
        self.ids = torch.tensor(ids, dtype=torch.long, device=device)

    def __call__(self, logits: Tensor, rows: Sequence[HypothesisState]) -> None:
        logits.index_fill_(1, self.ids, FORBIDDEN)


class NoRepeatNgrams:
    """A rule that forbids repeated n-grams of `length` tokens, because small models fall into loops."""

    def __init__(self, length: int) -> None:
        self.length = length

    def __call__(self, logits: Tensor, rows: Sequence[HypothesisState]) -> None:
        prefix_length = self.length - 1
        for position, row in enumerate(rows):
            ids = row.ids
            if len(ids) < self.length:
                continue
            tail = ids[len(ids) - prefix_length :]
            for start in range(len(ids) - prefix_length):
                if ids[start : start + prefix_length] == tail:
                    logits[position, ids[start + prefix_length]] = FORBIDDEN


class ForbidSequences:
    """A rule that forbids token sequences."""

    def __init__(self, sequences: Sequence[tuple[int, ...]]) -> None:
        self.sequences = sequences

    def __call__(self, logits: Tensor, rows: Sequence[HypothesisState]) -> None:
        for position, row in enumerate(rows):
            for sequence in self.sequences:
                if tuple(row.ids[1 - len(sequence) :]) == sequence[:-1]:
                    logits[position, sequence[-1]] = FORBIDDEN


class MinLength:
    """A rule that forbids end tokens before a minimum length."""

    def __init__(self, length: int, ends: Iterable[int]) -> None:
        self.length = length
        self.ends = sorted(ends)

    def __call__(self, logits: Tensor, rows: Sequence[HypothesisState]) -> None:
        for position, row in enumerate(rows):
            if len(row.ids) < self.length:
                logits[position, self.ends] = FORBIDDEN


class ForceEndAtLimit:
    """A rule that forces an end token at the length limit."""

    def __init__(self, token: int, limits: Sequence[int]) -> None:
        self.token = token
        self.limits = limits

    def __call__(self, logits: Tensor, rows: Sequence[HypothesisState]) -> None:
        for position, row in enumerate(rows):
            if len(row.ids) == self.limits[row.sentence] - 1:
                logits[position] = FORBIDDEN
                logits[position, self.token] = 0.0  # any finite number, because all other tokens are forbidden


class ForcePrefix:
    """A rule that forces a prefix. It runs last, so it overrides the other rules."""

    def __init__(self, prefixes: Sequence[Sequence[int]]) -> None:
        self.prefixes = prefixes

    def __call__(self, logits: Tensor, rows: Sequence[HypothesisState]) -> None:
        for position, row in enumerate(rows):
            prefix, step = self.prefixes[row.sentence], len(row.ids)
            if step < len(prefix):
                logits[position] = FORBIDDEN
                logits[position, prefix[step]] = 0.0  # any finite number, because all other tokens are forbidden


def end_ids(config: TransformerConfig, defaults: GenerationDefaults = NO_DEFAULTS) -> frozenset[int]:
    """Return the tokens that end a translation."""
    return frozenset(defaults.ends or (config.end_id,))


def get_forbidden_ids(config: TransformerConfig, defaults: GenerationDefaults = NO_DEFAULTS) -> list[int]:
    """Return the tokens that are never generated: those of the generation defaults, else padding and the start token.

    End tokens stay allowed.
    """
    if defaults.never is None:
        return sorted({config.pad_id, config.start_id} - end_ids(config, defaults))
    return sorted({sequence[0] for sequence in defaults.never if len(sequence) == 1} - end_ids(config, defaults))


def make_rules(
    config: TransformerConfig,
    options: DecodingOptions,
    prefixes: Sequence[Sequence[int]],
    device: torch.device,
    defaults: GenerationDefaults = NO_DEFAULTS,
    limits: Sequence[int] = (),
) -> list[Rule]:
    """Create the rules of a request and of the model's generation defaults, in the order in which they run."""
    rules: list[Rule] = []
    if forbidden_ids := get_forbidden_ids(config, defaults):
        rules.append(ForbidTokens(forbidden_ids, device))
    if sequences := [sequence for sequence in defaults.never or () if len(sequence) > 1]:
        rules.append(ForbidSequences(sequences))
    if options.no_repeat:
        rules.append(NoRepeatNgrams(options.no_repeat))
    if defaults.least_length:
        rules.append(MinLength(defaults.least_length, end_ids(config, defaults)))
    if defaults.forced_end is not None:
        rules.append(ForceEndAtLimit(defaults.forced_end, limits))
    if any(prefixes):
        rules.append(ForcePrefix(prefixes))
    return rules


# ---------------------------------------------------------------- choosing one token per row


def choose_best(logits: Tensor, rows: Sequence[HypothesisState]) -> Tensor:
    """Choose the most likely token of each row, `[rows]`."""
    return logits.max(dim=-1).indices  # the first of equal logits, like argmax, but twice as fast


class Sampler:
    """Sampler with temperature, top-k and top-p. Each sentence has its own random generator."""

    def __init__(self, options: DecodingOptions, sentences: int) -> None:
        self.options = options
        self.generators = [torch.Generator().manual_seed(options.seed) for _ in range(sentences)]

    def __call__(self, logits: Tensor, rows: Sequence[HypothesisState]) -> Tensor:
        probabilities = self.probabilities(logits).cpu()
        token_ids = [
            torch.multinomial(row_probabilities, 1, generator=self.generators[row.sentence])
            for row_probabilities, row in zip(probabilities, rows, strict=True)
        ]
        return torch.cat(token_ids).to(logits.device)

    def probabilities(self, logits: Tensor) -> Tensor:
        """Apply the temperature, keep the top k tokens, then the fewest tokens that together reach probability p."""
        logits = logits.float()
        # Shift the highest logit to 0 first: divided by a tiny temperature, the logits would be infinite.
        logits = (logits - logits.max(dim=-1, keepdim=True).values) / max(self.options.temperature, 1e-30)
        if 0 < self.options.top_k < logits.shape[-1]:
            best, ids = logits.topk(self.options.top_k, dim=-1)
            logits = torch.full_like(logits, FORBIDDEN).scatter_(1, ids, best)
        probabilities = logits.softmax(dim=-1)
        if self.options.top_p < 1:
            sorted_probabilities, order = probabilities.sort(dim=-1, descending=True, stable=True)
            # Cumulative probability of the more likely tokens.
            preceding = sorted_probabilities.cumsum(dim=-1) - sorted_probabilities
            sorted_probabilities = sorted_probabilities.masked_fill(preceding >= self.options.top_p, 0.0)
            probabilities = torch.zeros_like(probabilities).scatter_(1, order, sorted_probabilities)
            probabilities = probabilities / probabilities.sum(dim=-1, keepdim=True)
        return probabilities
