"""Greedy speculative decoding: a cheap decoder drafts, the exact decoder verifies.

The draft decoder (the same decoder with weights of 8 or 16 bits) generates the whole sentence. One pass of the
exact decoder over the draft then computes the exact token at every position. Tokens before the first mismatch are
accepted, the mismatch is replaced by the exact token, and drafting resumes after it. The result equals that of the
exact decoder. A bad draft decoder costs time but does not change the result. The method follows Leviathan et al. 2023
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
# predict the token at that position.
Verifier = Callable[[Sequence[int], Sequence[Sequence[int]]], Tensor]
MAX_LOGITS_PER_BATCH = 1 << 25  # logits per verification pass: 128 MB
# Tokens of a draft after a rejection: 8, plus 4 per verified token divided by the number of drafts of the sentence.
FIRST_DRAFT_LENGTH, DRAFT_GROWTH = 8, 4
MAX_LENGTH_DIFFERENCE = 8  # maximum difference in tokens between prefixes that are continued together
# A fast draft decoder saves a quarter of a step. A rejected token costs the steps of half a sentence and a verification
# pass. Saving and cost are equal at one rejection in 47 tokens for sentences of 20 tokens, in 117 for sentences of 60.
# Switch when rejections exceed the expected number by two standard deviations, because two in sixty can be chance.
MAX_REJECTION_RATE, MIN_REJECTIONS = 1 / 100, 2  # rejections per verified token; minimum number of rejections


class DraftModels:
    """Two draft decoders: a fast one while its rejection rate is low, then an accurate one. Only one is in memory."""

    def __init__(self, fast: DecoderStep, make_accurate: Callable[[], DecoderStep]) -> None:
        self._fast: DecoderStep | None = fast
        self._make_accurate = make_accurate
        self.verified_tokens = 0  # of the fast decoder
        self.rejected_tokens = 0  # of the fast decoder

    @property
    def current(self) -> DecoderStep:
        """Current draft decoder."""
        return self._fast or self._accurate

    @cached_property
    def _accurate(self) -> DecoderStep:
        """The accurate decoder, created when the fast one is discarded."""
        return self._make_accurate()

    def record(self, decoder: DecoderStep, verified_tokens: int, rejected_tokens: int) -> None:
        """Record verified and rejected tokens of a draft decoder."""
        if decoder is not self._fast:
            return
        self.verified_tokens += verified_tokens
        self.rejected_tokens += rejected_tokens
        # Near-ties are a property of the model, so the switch is permanent and frees the fast decoder's memory.
        expected = MAX_REJECTION_RATE * self.verified_tokens
        if self.rejected_tokens >= MIN_REJECTIONS and self.rejected_tokens > expected + 2 * math.sqrt(expected):
            self._fast = None


class SpeculativeSearch:
    """Greedy search with the methods of `SingleHypothesisSearch`. Each `advance` drafts one token."""

    def __init__(
        self, inputs: SearchInputs, verify: Verifier, *, drafters: DraftModels | None = None, scored: bool
    ) -> None:
        self.drafters = drafters or DraftModels(inputs.decoder, lambda: inputs.decoder)
        self.inputs = inputs
        self.verify = verify
        self.scored = scored
        self.results: list[list[Candidate]] = [[] for _ in inputs.limits]
        self.verification_passes = 0
        self._initial_state = DecoderState(inputs.state.cross, inputs.state.mask, None)  # no tokens written yet
        self._best = [HypothesisState(sentence) for sentence in range(len(inputs.limits))]
        self._draft_counts = [0] * len(inputs.limits)
        self._pending: list[list[HypothesisState]] = []  # verified prefixes, in groups of similar length
        # None between two drafts, so that a discarded decoder is freed before the next one is loaded.
        self._draft: SingleHypothesisSearch | None = SingleHypothesisSearch(
            inputs._replace(decoder=self.drafters.current), choose_best, scored=scored
        )
        self._draft_sentences = list(range(len(inputs.limits)))  # sentences of the current draft

    @property
    def rows(self) -> list[HypothesisState]:
        """Unfinished hypotheses."""
        return [self.best(sentence) for sentence, candidates in enumerate(self.results) if not candidates]

    def advance(self) -> bool:
        """Draft one token, and verify complete drafts. Return False if all sentences are finished."""
        if self._draft is None or not self._draft.rows:
            if not self._pending:
                return False
            self._draft = self._next_draft(self._pending.pop())
        self._draft.advance()
        if not self._draft.rows:
            self._verify(self._draft)
            self._draft = None
        return True

    def best(self, sentence: int) -> HypothesisState:
        """Return the current hypothesis of a sentence. Its last tokens may be unverified."""
        verified_state = self._best[sentence]
        if self._draft is None or sentence not in self._draft_sentences:
            return verified_state
        draft_state = self._draft.best(sentence)
        return draft_state if len(draft_state.ids) >= len(verified_state.ids) else verified_state

    # ------------------------------------------------------------ verifying

    def _verify(self, draft: SingleHypothesisSearch) -> None:
        """Verify the drafts with the exact decoder: accept complete matches, else keep the matching prefix."""
        corrected_hypotheses: list[HypothesisState] = []
        for sentences in self._verification_batches(draft):
            rows = [draft.best(sentence) for sentence in sentences]
            logits = self.verify(sentences, [row.ids for row in rows])
            self.verification_passes += 1
            for row, row_logits in zip(rows, logits, strict=True):
                verified_state, complete = self._accept(row, row_logits[: len(row.ids)])
                previous_length = len(self._best[row.sentence].ids)
                is_rejected = verified_state.ids != row.ids
                self.drafters.record(draft.inputs.decoder, len(verified_state.ids) - previous_length, is_rejected)
                self._best[row.sentence] = verified_state
                if complete:
                    score = verified_state.log_probability / len(verified_state.ids)
                    is_end = verified_state.ids[-1] in self.inputs.ends
                    self.results[row.sentence] = [
                        Candidate(verified_state.ids, verified_state.token_log_probabilities, score, is_end)
                    ]
                else:
                    corrected_hypotheses.append(verified_state)
        self._draft_sentences = []
        self._pending += group_by_length(corrected_hypotheses)

    def _verification_batches(self, draft: SingleHypothesisSearch) -> Iterable[list[int]]:
        """Split the drafted sentences into batches, because the logits of many long drafts need much memory."""
        longest = max(len(draft.best(sentence).ids) for sentence in self._draft_sentences)
        count = max(1, MAX_LOGITS_PER_BATCH // (longest * self.inputs.vocabulary))
        return [self._draft_sentences[first : first + count] for first in range(0, len(self._draft_sentences), count)]

    def _accept(self, row: HypothesisState, logits: Tensor) -> tuple[HypothesisState, bool]:
        """Return the draft up to and including the first corrected token, and whether this completes the sentence."""
        prefixes = [HypothesisState(row.sentence, row.ids[:index]) for index in range(len(row.ids))]
        allowed_logits = logits.clone()  # rules change it in place, and probabilities include forbidden tokens
        for rule in self.inputs.rules:
            rule(allowed_logits, prefixes)
        exact_ids = choose_best(allowed_logits, prefixes).tolist()
        mismatch = next((index for index, token in enumerate(exact_ids) if token != row.ids[index]), None)
        ids = row.ids if mismatch is None else [*row.ids[:mismatch], exact_ids[mismatch]]
        token_log_probabilities: list[float] = []
        if self.scored:
            log_probabilities = logits[: len(ids)].float().log_softmax(dim=-1)
            indices = torch.tensor(ids, device=logits.device)[:, None]
            token_log_probabilities = log_probabilities.gather(1, indices)[:, 0].tolist()
        complete = ids[-1] in self.inputs.ends or len(ids) >= self.inputs.limits[row.sentence]
        return HypothesisState(row.sentence, ids, sum(token_log_probabilities), token_log_probabilities), complete

    # ------------------------------------------------------------ drafting

    def _next_draft(self, hypotheses: list[HypothesisState]) -> SingleHypothesisSearch:
        """Start a draft that continues prefixes of similar length.

        The first step of the draft decoder reads the first tokens of every prefix, as many as the shortest has. Longer
        prefixes are forced token by token, so all rows stay in one batch.
        """
        rows = torch.tensor([row.sentence for row in hypotheses], device=self.inputs.device)
        cross = [KeyValues(keys[rows], values[rows]) for keys, values in self._initial_state.cross]
        mask = None if self._initial_state.mask is None else self._initial_state.mask[rows]
        state = DecoderState(cross, mask, [KeyValueCache() for _ in cross])
        limits = list(self.inputs.limits)
        for row in hypotheses:
            self._draft_counts[row.sentence] += 1
            # After a rejection drafts are short, because further rejections are likely.
            if self._draft_counts[row.sentence] > 1:
                draft_length = FIRST_DRAFT_LENGTH + DRAFT_GROWTH * len(row.ids) // self._draft_counts[row.sentence]
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
        inputs = self.inputs._replace(decoder=self.drafters.current, state=state, limits=limits)
        self._draft_sentences = [row.sentence for row in hypotheses]
        return SingleHypothesisSearch(inputs, choose, scored=self.scored, initial_states=copies)


def group_by_length(rows: Iterable[HypothesisState]) -> list[list[HypothesisState]]:
    """Group hypotheses, shortest first. Lengths within a group differ by at most `MAX_LENGTH_DIFFERENCE` tokens."""
    groups: list[list[HypothesisState]] = []
    for row in sorted(rows, key=lambda row: len(row.ids)):
        if groups and len(row.ids) - len(groups[-1][0].ids) <= MAX_LENGTH_DIFFERENCE:
            groups[-1].append(row)
        else:
            groups.append([row])
    return groups
