"""Shared parts of all searches: hypothesis state and token rules.

A rule is a small class that is called with the logits of the next word, `[rows, vocabulary]`, and the rows; it may
write −∞ for forbidden tokens. The logits belong to the step, so rules change them in place. A rule decides which tokens
can be chosen, not their score: log probabilities are taken before the rules run, unless the generation defaults
set `counted`.
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
    """One hypothesis while it is written."""

    sentence: int  # which sentence of the batch
    ids: list[int] = field(default_factory=list)  # written so far, without the start token
    log_probability: float = 0.0  # of all ids together
    token_log_probabilities: list[float] = field(default_factory=list)  # of each id; only where scores are kept
    node: int = -1  # its newest node in the sentence's tree


class Rule(Protocol):
    """A constraint on the next token."""

    def __call__(self, logits: Tensor, rows: Sequence[HypothesisState]) -> None:
        """Write −∞ into `logits`, `[rows, vocabulary]`, for the forbidden tokens of each row."""


class ForbidTokens:
    """Some tokens are never written, such as padding and the start."""

    def __init__(self, ids: Sequence[int], device: torch.device) -> None:
        self.ids = torch.tensor(ids, dtype=torch.long, device=device)

    def __call__(self, logits: Tensor, rows: Sequence[HypothesisState]) -> None:
        logits.index_fill_(1, self.ids, FORBIDDEN)


class NoRepeatNgrams:
    """Forbids repeated n-grams of `length` tokens, because small models fall into loops."""

    def __init__(self, length: int) -> None:
        self.length = length

    def __call__(self, logits: Tensor, rows: Sequence[HypothesisState]) -> None:
        before = self.length - 1
        for position, row in enumerate(rows):
            ids = row.ids
            if len(ids) < self.length:
                continue
            tail = ids[len(ids) - before :]
            for start in range(len(ids) - before):
                if ids[start : start + before] == tail:
                    logits[position, ids[start + before]] = FORBIDDEN


class ForbidSequences:
    """Forbids token sequences."""

    def __init__(self, runs: Sequence[tuple[int, ...]]) -> None:
        self.runs = runs

    def __call__(self, logits: Tensor, rows: Sequence[HypothesisState]) -> None:
        for position, row in enumerate(rows):
            for run in self.runs:
                if tuple(row.ids[1 - len(run) :]) == run[:-1]:
                    logits[position, run[-1]] = FORBIDDEN


class MinLength:
    """Enforces a minimum length."""

    def __init__(self, length: int, ends: Iterable[int]) -> None:
        self.length = length
        self.ends = sorted(ends)

    def __call__(self, logits: Tensor, rows: Sequence[HypothesisState]) -> None:
        for position, row in enumerate(rows):
            if len(row.ids) < self.length:
                logits[position, self.ends] = FORBIDDEN


class ForceEndAtLimit:
    """Forces the last token at the length limit."""

    def __init__(self, token: int, limits: Sequence[int]) -> None:
        self.token = token
        self.limits = limits

    def __call__(self, logits: Tensor, rows: Sequence[HypothesisState]) -> None:
        for position, row in enumerate(rows):
            if len(row.ids) == self.limits[row.sentence] - 1:
                logits[position] = FORBIDDEN
                logits[position, self.token] = 0.0  # any finite number: nothing else is left to choose


class ForcePrefix:
    """Forces a prefix. Applied last, so it overrides other rules."""

    def __init__(self, prefixes: Sequence[Sequence[int]]) -> None:
        self.prefixes = prefixes

    def __call__(self, logits: Tensor, rows: Sequence[HypothesisState]) -> None:
        for position, row in enumerate(rows):
            prefix, step = self.prefixes[row.sentence], len(row.ids)
            if step < len(prefix):
                logits[position] = FORBIDDEN
                logits[position, prefix[step]] = 0.0  # any finite number: nothing else is left to choose


def end_ids(config: TransformerConfig, defaults: GenerationDefaults = NO_DEFAULTS) -> frozenset[int]:
    """The tokens that end a translation."""
    return frozenset(defaults.ends or (config.end_id,))


def forbidden_sequences(config: TransformerConfig, defaults: GenerationDefaults = NO_DEFAULTS) -> list[int]:
    """Tokens that are never generated: those of the generation defaults, else padding and the start token.

    End tokens stay allowed.
    """
    if defaults.never is None:
        return sorted({config.pad_id, config.start_id} - end_ids(config, defaults))
    return sorted({run[0] for run in defaults.never if len(run) == 1} - end_ids(config, defaults))


def make_rules(
    config: TransformerConfig,
    options: DecodingOptions,
    prefixes: Sequence[Sequence[int]],
    device: torch.device,
    defaults: GenerationDefaults = NO_DEFAULTS,
    limits: Sequence[int] = (),
) -> list[Rule]:
    """The rules that a request and the model's generation defaults ask for, in the order in which they act."""
    rules: list[Rule] = []
    if never := forbidden_sequences(config, defaults):
        rules.append(ForbidTokens(never, device))
    if runs := [run for run in defaults.never or () if len(run) > 1]:
        rules.append(ForbidSequences(runs))
    if options.no_repeat:
        rules.append(NoRepeatNgrams(options.no_repeat))
    if defaults.least_length:
        rules.append(MinLength(defaults.least_length, end_ids(config, defaults)))
    if defaults.forced_end is not None:
        rules.append(ForceEndAtLimit(defaults.forced_end, limits))
    if any(prefixes):
        rules.append(ForcePrefix(prefixes))
    return rules


# ---------------------------------------------------------------- choosing one word a row


def choose_best(logits: Tensor, rows: Sequence[HypothesisState]) -> Tensor:
    """Greedy: the likeliest word of each row, `[rows]`."""
    return logits.max(dim=-1).indices  # the first of equals, like argmax, in half its time


class Sampler:
    """Samples the next token with temperature, top-k and top-p. Each sentence has its own generator."""

    def __init__(self, options: DecodingOptions, sentences: int) -> None:
        self.options = options
        self.dice = [torch.Generator().manual_seed(options.seed) for _ in range(sentences)]

    def __call__(self, logits: Tensor, rows: Sequence[HypothesisState]) -> Tensor:
        probabilities = self.probabilities(logits).cpu()
        chosen = [
            torch.multinomial(row_probabilities, 1, generator=self.dice[row.sentence])
            for row_probabilities, row in zip(probabilities, rows, strict=True)
        ]
        return torch.cat(chosen).to(logits.device)

    def probabilities(self, logits: Tensor) -> Tensor:
        """Softmax at a temperature, cut to the top k, then to the fewest words that together reach p."""
        logits = logits.float()
        # The best becomes 0 first: divided by a tiny temperature, all of them would be infinite.
        logits = (logits - logits.max(dim=-1, keepdim=True).values) / max(self.options.temperature, 1e-30)
        if 0 < self.options.top_k < logits.shape[-1]:
            best, ids = logits.topk(self.options.top_k, dim=-1)
            logits = torch.full_like(logits, FORBIDDEN).scatter_(1, ids, best)
        probabilities = logits.softmax(dim=-1)
        if self.options.top_p < 1:
            ordered, order = probabilities.sort(dim=-1, descending=True, stable=True)
            already = ordered.cumsum(dim=-1) - ordered  # cumulative probability of the more likely tokens
            ordered = ordered.masked_fill(already >= self.options.top_p, 0.0)
            probabilities = torch.zeros_like(probabilities).scatter_(1, order, ordered)
            probabilities = probabilities / probabilities.sum(dim=-1, keepdim=True)
        return probabilities
