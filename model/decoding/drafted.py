"""Greedy translation, drafted by something light and verified by the exact model.

A drafter (the same decoder on weights of 8 or 16 bits) writes to the end of the sentence. Then one pass of the exact
decoder over all of it says at every place which word it would have written itself. Up to the first place where they
differ everything stands; there the exact word is taken, and drafting goes on behind it. So the result is what the exact
model alone would have written, whatever the draft is: a bad drafter makes it late, never different (the idea: Leviathan
et al. 2023, arXiv:2211.17192, and Chen et al. 2023, arXiv:2302.01318, there for sampling).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

import torch
from torch import Tensor

from headlight.model.core.attention import KeysValues, KeysValuesCache
from headlight.model.core.transformer import DecoderState
from headlight.model.decoding.search import Candidate, OneByOne, Plan
from headlight.model.decoding.step import Row, choose_best

# Exact decoder: sentences of the batch and what is written of each → logits `[rows, tokens, vocabulary]`, those at a
# place being of the word that stands there.
Exact = Callable[[Sequence[int], Sequence[Sequence[int]]], Tensor]
AT_ONCE = 1 << 25  # numbers of logits that are verified at once: 128 MB
SHORT, LONGER = 8, 4  # words of a draft after a wrong one, and how many more for each word that stood so far


class Drafted:
    """A search like `OneByOne`, whose plan has the drafter as decoder: `advance` drafts a word."""

    def __init__(self, plan: Plan, exact: Exact, *, scored: bool) -> None:
        self.plan = plan
        self.exact = exact
        self.scored = scored
        self.results: list[list[Candidate]] = [[] for _ in plan.limits]
        self.passes_made = 0  # passes of the exact model, for those who count
        self._start = DecoderState(plan.state.cross, plan.state.mask, None)  # nothing written yet
        self._best = [Row(sentence) for sentence in range(len(plan.limits))]
        self._rounds = [0] * len(plan.limits)
        self._waiting: list[list[Row]] = []  # verified beginnings of one length, to be gone on with
        self._draft = OneByOne(plan, choose_best, scored=scored)
        self._drafted = list(range(len(plan.limits)))  # the sentences that the draft is about

    @property
    def rows(self) -> list[Row]:
        """What is still open."""
        return [self.best(sentence) for sentence, found in enumerate(self.results) if not found]

    def advance(self) -> bool:
        """Draft one more word, and verify drafts that are whole by it; False when no sentence is open any more."""
        if not self._draft.rows:
            if not self._waiting:
                return False
            self._go_on(self._waiting.pop())
        self._draft.advance()
        if not self._draft.rows:
            self._verify()
        return True

    def best(self, sentence: int) -> Row:
        """What is written so far, the newest words of it perhaps unverified."""
        return self._best[sentence] if sentence not in self._drafted else self._draft.best(sentence)

    # ------------------------------------------------------------ verifying

    def _verify(self) -> None:
        """Let the exact model read the drafts: what it would have written too is a result, of the rest a beginning."""
        corrected: list[Row] = []
        for sentences in self._portions():
            rows = [self._draft.best(sentence) for sentence in sentences]
            logits = self.exact(sentences, [row.ids for row in rows])
            self.passes_made += 1
            for row, found in zip(rows, logits, strict=True):
                verified, whole = self._verified(row, found[: len(row.ids)])
                self._best[row.sentence] = verified
                if whole:
                    score = verified.log_probability / len(verified.ids)
                    ended = verified.ids[-1] in self.plan.ends
                    self.results[row.sentence] = [Candidate(verified.ids, verified.gains, score, ended)]
                else:
                    corrected.append(verified)
        self._drafted = []
        corrected.sort(key=lambda row: len(row.ids))
        self._waiting += [list(alike) for _, alike in groupby(corrected, key=lambda row: len(row.ids))]

    def _portions(self) -> Iterable[list[int]]:
        """All drafted sentences at once, or, where their logits would need much memory, some after the others."""
        longest = max(len(self._draft.best(sentence).ids) for sentence in self._drafted)
        count = max(1, AT_ONCE // (longest * self.plan.vocabulary))
        return [self._drafted[first : first + count] for first in range(0, len(self._drafted), count)]

    def _verified(self, row: Row, logits: Tensor) -> tuple[Row, bool]:
        """The beginning of a draft that the exact model agrees with, and its own next word; whether that is all."""
        places = [Row(row.sentence, row.ids[:place]) for place in range(len(row.ids))]
        allowed = logits.clone()  # rules write into them; probabilities are of all words
        for rule in self.plan.rules:
            rule(allowed, places)
        chosen = choose_best(allowed, places).tolist()
        wrong = next((place for place, word in enumerate(chosen) if word != row.ids[place]), None)
        ids = row.ids if wrong is None else [*row.ids[:wrong], chosen[wrong]]
        gains: list[float] = []
        if self.scored:
            log_probabilities = logits[: len(ids)].float().log_softmax(dim=-1)
            gains = log_probabilities.gather(1, torch.tensor(ids, device=logits.device)[:, None])[:, 0].tolist()
        whole = ids[-1] in self.plan.ends or len(ids) >= self.plan.limits[row.sentence]
        return Row(row.sentence, ids, sum(gains), gains), whole

    # ------------------------------------------------------------ going on

    def _go_on(self, begun: list[Row]) -> None:
        """Draft further behind beginnings of one length, which the drafter reads in one step."""
        rows = torch.tensor([row.sentence for row in begun], device=self.plan.device)
        cross = [KeysValues(keys[rows], values[rows]) for keys, values in self._start.cross]
        mask = None if self._start.mask is None else self._start.mask[rows]
        state = DecoderState(cross, mask, [KeysValuesCache() for _ in cross])
        limits = list(self.plan.limits)
        for row in begun:
            self._rounds[row.sentence] += 1
            # Where drafts are often wrong, long ones are in vain.
            further = SHORT + LONGER * len(row.ids) // self._rounds[row.sentence]
            limits[row.sentence] = min(limits[row.sentence], len(row.ids) + further)
        copies = [Row(row.sentence, list(row.ids), row.log_probability, list(row.gains)) for row in begun]
        plan = self.plan._replace(state=state, limits=limits)
        self._draft = OneByOne(plan, choose_best, scored=self.scored, begun=copies)
        self._drafted = [row.sentence for row in begun]
