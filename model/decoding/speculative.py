"""Greedy speculative decoding: a cheap decoder drafts, the exact model verifies.

The draft decoder (the same decoder with weights of 8 or 16 bits) writes to the end of the sentence. One pass of the
exact decoder over the draft then gives the exact token at every position. Tokens before the first mismatch are
accepted, the mismatch is replaced by the exact token, and drafting resumes after it. The result equals that of the
exact model alone; a bad draft decoder costs time but does not change it. The method follows Leviathan et al. 2023
(arXiv:2211.17192) and Chen et al. 2023 (arXiv:2302.01318), who use it for sampling.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

import torch
from torch import Tensor

from headlight.model.core.attention import KeyValueCache, KeyValues
from headlight.model.core.transformer import DecoderState
from headlight.model.decoding.search import Candidate, SearchInputs, SingleHypothesisSearch
from headlight.model.decoding.step import DecoderStep, HypothesisState, choose_best

# The exact decoder: sentence indices and their drafts → logits `[rows, tokens, vocabulary]`. The logits at a position
# score the token at that position.
Verify = Callable[[Sequence[int], Sequence[Sequence[int]]], Tensor]
MAX_LOGITS_PER_BATCH = 1 << 25  # logits per verification pass: 128 MB
# Length in tokens of a draft after a rejection, and its growth per verified token.
FIRST_DRAFT_LENGTH, DRAFT_GROWTH = 8, 4
MAX_LENGTH_DIFFERENCE = 8  # maximum difference in tokens between prefixes that are continued together
# A cheap draft decoder saves a quarter of a step; a rejected token costs half a sentence of steps and a pass. The two
# break even at one rejection in 47 tokens for sentences of 20 tokens, and at one in 117 for sentences of 60.
# Switch when rejections exceed the expected number by two standard deviations: two in sixty can be chance.
MAX_REJECTION_RATE, MIN_REJECTIONS = 1 / 100, 2  # rejections per verified token; minimum number of rejections


class DraftModels:
    """Two draft decoders: a cheap one while its rejection rate is low, then an accurate one. Only one is in memory."""

    def __init__(self, light: DecoderStep, steady: Callable[[], DecoderStep]) -> None:
        self._light: DecoderStep | None = light
        self._make_steady = steady
        self.words = 0  # verified tokens of the light decoder
        self.wrong = 0  # rejected tokens of the light decoder

    @property
    def current(self) -> DecoderStep:
        """Current draft decoder."""
        return self._light or self._steady

    @cached_property
    def _steady(self) -> DecoderStep:
        """The accurate decoder, created when the light one is discarded."""
        return self._make_steady()

    def record(self, drafter: DecoderStep, words: int, wrong: int) -> None:
        """Record verified and rejected tokens of a draft decoder."""
        if drafter is not self._light:
            return
        self.words += words
        self.wrong += wrong
        # Near-ties are a property of the model, so the switch is permanent and frees the cheap decoder's memory.
        expected = MAX_REJECTION_RATE * self.words
        if self.wrong >= MIN_REJECTIONS and self.wrong > expected + 2 * math.sqrt(expected):
            self._light = None


class SpeculativeSearch:
    """A search like greedy `SingleHypothesisSearch`, whose `advance` drafts a token."""

    def __init__(self, plan: SearchInputs, exact: Verify, *, drafters: DraftModels | None = None, scored: bool) -> None:
        self.drafters = drafters or DraftModels(plan.decoder, lambda: plan.decoder)
        self.plan = plan
        self.exact = exact
        self.scored = scored
        self.results: list[list[Candidate]] = [[] for _ in plan.limits]
        self.verification_passes = 0
        self._start = DecoderState(plan.state.cross, plan.state.mask, None)  # no tokens written yet
        self._best = [HypothesisState(sentence) for sentence in range(len(plan.limits))]
        self._rounds = [0] * len(plan.limits)
        self._waiting: list[list[HypothesisState]] = []  # verified prefixes, in groups of similar length
        # None between two drafts, so that a discarded decoder is freed before the next one is loaded.
        self._draft: SingleHypothesisSearch | None = SingleHypothesisSearch(
            plan._replace(decoder=self.drafters.current), choose_best, scored=scored
        )
        self._drafted = list(range(len(plan.limits)))  # sentences of the current draft

    @property
    def rows(self) -> list[HypothesisState]:
        """Unfinished hypotheses."""
        return [self.best(sentence) for sentence, outcome in enumerate(self.results) if not outcome]

    def advance(self) -> bool:
        """Draft one token, and verify complete drafts. Return False if no sentence is open."""
        if self._draft is None or not self._draft.rows:
            if not self._waiting:
                return False
            self._draft = self._next_draft(self._waiting.pop())
        self._draft.advance()
        if not self._draft.rows:
            self._verify(self._draft)
            self._draft = None
        return True

    def best(self, sentence: int) -> HypothesisState:
        """Return the current hypothesis of a sentence. Its last tokens may be unverified."""
        verified = self._best[sentence]
        if self._draft is None or sentence not in self._drafted:
            return verified
        drafted = self._draft.best(sentence)
        return drafted if len(drafted.ids) >= len(verified.ids) else verified

    # ------------------------------------------------------------ verifying

    def _verify(self, draft: SingleHypothesisSearch) -> None:
        """Verify the drafts with the exact model: accept complete matches, keep the matching prefix of the others."""
        corrected: list[HypothesisState] = []
        for sentences in self._verification_batches(draft):
            rows = [draft.best(sentence) for sentence in sentences]
            logits = self.exact(sentences, [row.ids for row in rows])
            self.verification_passes += 1
            for row, row_logits in zip(rows, logits, strict=True):
                verified, complete = self._accept(row, row_logits[: len(row.ids)])
                previous_length = len(self._best[row.sentence].ids)
                rejected = verified.ids != row.ids
                self.drafters.record(draft.plan.decoder, len(verified.ids) - previous_length, rejected)
                self._best[row.sentence] = verified
                if complete:
                    score = verified.log_probability / len(verified.ids)
                    is_end = verified.ids[-1] in self.plan.ends
                    self.results[row.sentence] = [
                        Candidate(verified.ids, verified.token_log_probabilities, score, is_end)
                    ]
                else:
                    corrected.append(verified)
        self._drafted = []
        self._waiting += group_by_length(corrected)

    def _verification_batches(self, draft: SingleHypothesisSearch) -> Iterable[list[int]]:
        """Split the drafted sentences into batches, because the logits of many long drafts need much memory."""
        longest = max(len(draft.best(sentence).ids) for sentence in self._drafted)
        count = max(1, MAX_LOGITS_PER_BATCH // (longest * self.plan.vocabulary))
        return [self._drafted[first : first + count] for first in range(0, len(self._drafted), count)]

    def _accept(self, row: HypothesisState, logits: Tensor) -> tuple[HypothesisState, bool]:
        """Return the draft up to and including the first corrected token, and whether this completes the sentence."""
        prefixes = [HypothesisState(row.sentence, row.ids[:index]) for index in range(len(row.ids))]
        allowed = logits.clone()  # rules change it in place, and probabilities include forbidden tokens
        for rule in self.plan.rules:
            rule(allowed, prefixes)
        exact_ids = choose_best(allowed, prefixes).tolist()
        mismatch = next((index for index, token in enumerate(exact_ids) if token != row.ids[index]), None)
        ids = row.ids if mismatch is None else [*row.ids[:mismatch], exact_ids[mismatch]]
        gains: list[float] = []
        if self.scored:
            log_probabilities = logits[: len(ids)].float().log_softmax(dim=-1)
            gains = log_probabilities.gather(1, torch.tensor(ids, device=logits.device)[:, None])[:, 0].tolist()
        complete = ids[-1] in self.plan.ends or len(ids) >= self.plan.limits[row.sentence]
        return HypothesisState(row.sentence, ids, sum(gains), gains), complete

    # ------------------------------------------------------------ drafting

    def _next_draft(self, hypotheses: list[HypothesisState]) -> SingleHypothesisSearch:
        """Start a draft that continues prefixes of similar length.

        The draft decoder reads the length of the shortest prefix in one step. Longer prefixes are forced token by
        token, so all rows stay in one batch.
        """
        rows = torch.tensor([row.sentence for row in hypotheses], device=self.plan.device)
        cross = [KeyValues(keys[rows], values[rows]) for keys, values in self._start.cross]
        mask = None if self._start.mask is None else self._start.mask[rows]
        state = DecoderState(cross, mask, [KeyValueCache() for _ in cross])
        limits = list(self.plan.limits)
        for row in hypotheses:
            self._rounds[row.sentence] += 1
            # After a rejection drafts are short, because further rejections are likely.
            if self._rounds[row.sentence] > 1:
                draft_length = FIRST_DRAFT_LENGTH + DRAFT_GROWTH * len(row.ids) // self._rounds[row.sentence]
                limits[row.sentence] = min(limits[row.sentence], len(row.ids) + draft_length)
        shortest = min(len(row.ids) for row in hypotheses)
        prefixes = {row.sentence: row.ids for row in hypotheses}

        def choose(logits: Tensor, rows: Sequence[HypothesisState]) -> Tensor:
            token_ids = choose_best(logits, rows)
            for index, row in enumerate(rows):
                if len(row.ids) < len(prefixes[row.sentence]):
                    token_ids[index] = prefixes[row.sentence][len(row.ids)]
            return token_ids

        copies = [
            HypothesisState(
                row.sentence,
                row.ids[:shortest],
                sum(row.token_log_probabilities[:shortest]),
                row.token_log_probabilities[:shortest],
            )
            for row in hypotheses
        ]
        plan = self.plan._replace(decoder=self.drafters.current, state=state, limits=limits)
        self._drafted = [row.sentence for row in hypotheses]
        return SingleHypothesisSearch(plan, choose, scored=self.scored, initial_states=copies)


def group_by_length(rows: Iterable[HypothesisState]) -> list[list[HypothesisState]]:
    """Group rows, shortest first. Lengths within a group differ by at most `MAX_LENGTH_DIFFERENCE` tokens."""
    groups: list[list[HypothesisState]] = []
    for row in sorted(rows, key=lambda row: len(row.ids)):
        if groups and len(row.ids) - len(groups[-1][0].ids) <= MAX_LENGTH_DIFFERENCE:
            groups[-1].append(row)
        else:
            groups.append([row])
    return groups
