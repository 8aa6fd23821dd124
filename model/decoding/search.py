"""Search algorithms that advance one token at a time.

    search = BeamSearch(...)
    while search.advance():
        ...                     # read search.best(0), or stop
    search.results[0]           # candidates of the first sentence, best first

Nothing runs between two steps, so a caller can stop at any time and read the results so far. Finished sentences are
removed from the batch, several at a time. Call within `torch.inference_mode()`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from headlight.model.core.transformer import DecoderState
from headlight.model.decoding.generation_defaults import GenerationDefaults
from headlight.model.decoding.step import FORBIDDEN, NO_DEFAULTS, DecoderStep, HypothesisState, Rule

COMPACT_BELOW = 7 / 8  # compacting the batch costs more than computing up to 1/8 finished rows


class Candidate(NamedTuple):
    """A translation that a search has completed."""

    ids: list[int]  # including the end token, if it was reached
    token_log_probabilities: list[float]  # one per id; empty if scores are not computed
    score: float
    ended: bool

    @property
    def log_probability(self) -> float:
        """Log probability of all ids together."""
        return sum(self.token_log_probabilities)


@dataclass(slots=True)
class SearchNode:
    """A candidate token of a beam, in the tree of one sentence."""

    parent: int  # index of the parent node; -1: the start token
    step: int  # number of preceding tokens
    id: int  # token id
    log_probability: float
    score: float
    outcome: Literal["kept", "finished", "dropped"]


class SearchInputs(NamedTuple):
    """Inputs of a search."""

    decoder: DecoderStep
    state: DecoderState  # cached, one row per sentence
    rules: Sequence[Rule]
    limits: Sequence[int]  # per sentence: maximum number of tokens, including the end token
    start_id: int
    ends: frozenset[int]  # tokens that end a sentence
    vocabulary: int  # number of tokens in the vocabulary
    device: torch.device


class SingleHypothesisSearch:
    """Greedy search and sampling: one hypothesis per sentence.

    `initial_states` contains prefixes of equal length for some of the sentences, in the order of the state's rows.
    """

    def __init__(
        self,
        inputs: SearchInputs,
        choose: Callable[[Tensor, Sequence[HypothesisState]], Tensor],
        *,
        scored: bool,
        initial_states: Sequence[HypothesisState] | None = None,
    ) -> None:
        self.inputs = inputs
        self.choose = choose
        self.scored = scored  # whether to compute probabilities, which costs a pass over the vocabulary
        self.rows = (
            [HypothesisState(sentence) for sentence in range(len(inputs.limits))]
            if initial_states is None
            else list(initial_states)
        )
        self.all_rows = {row.sentence: row for row in self.rows}
        self.next_ids = torch.tensor([[inputs.start_id, *row.ids] for row in self.rows], device=inputs.device)
        self.results: list[list[Candidate]] = [[] for _ in inputs.limits]

    def advance(self) -> bool:
        """Generate one token for every unfinished sentence. Return False if all are finished."""
        if not self.rows:
            return False
        inputs = self.inputs
        logits = inputs.decoder(self.next_ids, inputs.state)[:, -1]  # [rows, vocabulary]
        log_probabilities = logits.float().log_softmax(dim=-1) if self.scored else None
        for rule in inputs.rules:
            rule(logits, self.rows)
        token_ids = self.choose(logits, self.rows)  # [rows]
        if log_probabilities is not None:
            chosen_log_probabilities = log_probabilities.gather(1, token_ids[:, None])[:, 0]
            for row, log_probability in zip(self.rows, chosen_log_probabilities.tolist(), strict=True):
                if not self.results[row.sentence]:
                    row.log_probability += log_probability
                    row.token_log_probabilities.append(log_probability)
        self._extend(token_ids)
        return True

    def best(self, sentence: int) -> HypothesisState:
        """Return the current hypothesis of a sentence."""
        return self.all_rows[sentence]

    def _extend(self, token_ids: Tensor) -> None:
        for row, token in zip(self.rows, token_ids.tolist(), strict=True):
            if self.results[row.sentence]:
                continue  # finished, but still in the batch
            row.ids.append(token)
            is_end = token in self.inputs.ends
            if is_end or len(row.ids) >= self.inputs.limits[row.sentence]:
                score = row.log_probability / len(row.ids)
                self.results[row.sentence] = [Candidate(row.ids, row.token_log_probabilities, score, is_end)]
        open_rows = [index for index, row in enumerate(self.rows) if not self.results[row.sentence]]
        self.next_ids = token_ids[:, None]
        if not open_rows:
            self.rows = []
        elif len(open_rows) <= COMPACT_BELOW * len(self.rows):
            keep = torch.tensor(open_rows, device=token_ids.device)
            self.inputs.state.select(keep)
            self.next_ids = self.next_ids[keep]
            self.rows = [self.rows[index] for index in open_rows]


class BeamSearch:
    """Beam search: several hypotheses per sentence, whose best continuations survive (Graves 2012, arXiv:1211.3711).

    A sentence is finished when it has `width` finished hypotheses, and no unfinished hypothesis would score better than
    the worst of them if it ended now. Finished hypotheses rank before truncated ones, regardless of score, because a
    model that repeats itself assigns each repetition a higher probability. Generation defaults can change both rules.
    """

    def __init__(
        self,
        inputs: SearchInputs,
        *,
        width: int,
        length_penalty: float,
        keep_tree: bool,
        defaults: GenerationDefaults = NO_DEFAULTS,
    ) -> None:
        self.inputs = inputs
        self.generation_defaults = defaults
        self.width = width
        self.candidates_per_step = (1 + len(inputs.ends)) * width
        self.length_penalty = length_penalty
        sentences = len(inputs.limits)
        self.results: list[list[Candidate]] = [[] for _ in range(sentences)]
        self.trees: list[list[SearchNode]] = [[] for _ in range(sentences)]
        self.keep_tree = keep_tree
        # One row per sentence until the first step yields several hypotheses.
        self.rows = [HypothesisState(sentence) for sentence in range(sentences)]
        self._best = list(self.rows)
        self.next_ids = torch.full((sentences, 1), inputs.start_id, device=inputs.device)

    def advance(self) -> bool:
        """Extend every unfinished hypothesis by one token. Return False if all sentences are finished."""
        if not self.rows:
            return False
        inputs = self.inputs
        logits = inputs.decoder(self.next_ids, inputs.state)[:, -1].float()  # [rows, vocabulary]
        log_probabilities = logits.log_softmax(dim=-1)
        if self.generation_defaults.counted != "before":
            logits = log_probabilities
        for rule in inputs.rules:
            rule(logits, self.rows)
        if self.generation_defaults.counted == "renormalised":
            logits = log_probabilities = logits.log_softmax(dim=-1)
        # With one end token, 2 × width tokens per row suffice, because each of the width rows ends at most once.
        best, tokens = logits.topk(min(self.candidates_per_step, logits.shape[-1]), dim=-1)
        values = log_probabilities.gather(1, tokens).masked_fill(best == FORBIDDEN, FORBIDDEN)
        self._extend(values.tolist(), tokens.tolist())
        return True

    def best(self, sentence: int) -> HypothesisState:
        """Return the currently best hypothesis of a sentence, open or finished."""
        return self._best[sentence]

    def _extend(self, values: list[list[float]], tokens: list[list[int]]) -> None:
        """Continue the hypotheses. `values` and `tokens`: log probabilities and ids of each row's best tokens."""
        rows: list[HypothesisState] = []
        origins: list[int] = []  # per new row: index of the old row that it continues
        position = 0
        while position < len(self.rows):
            sentence, first = self.rows[position].sentence, position
            while position < len(self.rows) and self.rows[position].sentence == sentence:
                position += 1
            candidates = [
                (self.rows[origin].log_probability + value, origin, token)
                for origin in range(first, position)
                for value, token in zip(values[origin], tokens[origin], strict=True)
                if value > FORBIDDEN
            ]
            candidates.sort(key=lambda candidate: -candidate[0])
            survivors = self._select_survivors(sentence, candidates[: self.candidates_per_step])
            rows += [row for row, _ in survivors]
            origins += [origin for _, origin in survivors]
        if rows and origins != list(range(len(self.rows))):
            order = torch.tensor(origins, device=self.inputs.device)
            same_sentences = [row.sentence for row in rows] == [row.sentence for row in self.rows]
            (self.inputs.state.reorder if same_sentences else self.inputs.state.select)(order)
        self.rows = rows
        self.next_ids = torch.tensor([[row.ids[-1]] for row in rows], device=self.inputs.device).view(-1, 1)

    def _select_survivors(
        self, sentence: int, candidates: list[tuple[float, int, int]]
    ) -> list[tuple[HypothesisState, int]]:
        """Split candidates into surviving, finished and dropped ones. Return survivors and their old rows."""
        survivors: list[tuple[HypothesisState, int]] = []
        finished, limit = self.results[sentence], self.inputs.limits[sentence]
        for rank, (log_probability, origin, token) in enumerate(candidates):
            parent = self.rows[origin]
            length = len(parent.ids) + 1
            score = log_probability / length**self.length_penalty
            is_end = token in self.inputs.ends
            complete = is_end or length >= limit
            ids = [*parent.ids, token]
            token_log_probabilities = [*parent.token_log_probabilities, log_probability - parent.log_probability]
            if (complete and rank >= self.width) or len(survivors) == self.width:
                self._add_node(sentence, parent, token, log_probability, score, "dropped")
            elif complete:
                self._add_node(sentence, parent, token, log_probability, score, "finished")
                finished.append(Candidate(ids, token_log_probabilities, score, is_end))
            else:
                node = self._add_node(sentence, parent, token, log_probability, score, "kept")
                survivors.append(
                    (HypothesisState(sentence, ids, log_probability, token_log_probabilities, node), origin)
                )
        ended_first = self.generation_defaults.ended_first
        finished.sort(key=lambda candidate: (-candidate.ended if ended_first else 0, -candidate.score))
        del finished[self.width :]
        leader = survivors[0][0] if survivors else None
        best_reachable = leader.log_probability / len(leader.ids) ** self.length_penalty if leader else FORBIDDEN
        if finished and finished[0].score >= best_reachable:
            leader = HypothesisState(
                sentence, finished[0].ids, finished[0].log_probability, finished[0].token_log_probabilities
            )
        if leader is not None:
            self._best[sentence] = leader
        if self.generation_defaults.patience == "longest" and leader and survivors:
            best_reachable = survivors[0][0].log_probability / limit**self.length_penalty
        if len(finished) == self.width and (
            self.generation_defaults.patience == "none" or finished[-1].score >= best_reachable
        ):
            self._drop_survivors(sentence, survivors)
            survivors = []
        return survivors

    def _drop_survivors(self, sentence: int, survivors: list[tuple[HypothesisState, int]]) -> None:
        """Mark the remaining hypotheses as dropped."""
        for row, _ in survivors if self.keep_tree else ():
            self.trees[sentence][row.node].outcome = "dropped"

    def _add_node(
        self,
        sentence: int,
        parent: HypothesisState,
        token: int,
        log_probability: float,
        score: float,
        outcome: Literal["kept", "finished", "dropped"],
    ) -> int:
        if not self.keep_tree:
            return -1
        tree = self.trees[sentence]
        tree.append(SearchNode(parent.node, len(parent.ids), token, log_probability, score, outcome))
        return len(tree) - 1
