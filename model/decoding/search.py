"""Search algorithms that advance one token at a time.

    search = Beam(...)
    while search.advance():
        ...                     # look at search.best(0), stop, whatever
    search.results[0]           # candidates of the first sentence, best first

Nothing runs between two steps, so a caller can stop at any time and read the results so far.
Sentences that are finished leave the batch, a few at a time. Call within `torch.inference_mode()`.
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
    """One translation that a search arrived at."""

    ids: list[int]  # with the end token, if it was reached
    token_log_probabilities: list[float]  # the log probability of each; empty where scores are not kept
    score: float
    ended: bool

    @property
    def log_probability(self) -> float:
        """Of all ids together."""
        return sum(self.token_log_probabilities)


@dataclass(slots=True)
class SearchNode:
    """One continuation that a beam considered."""

    parent: int
    step: int
    id: int
    log_probability: float
    score: float
    outcome: Literal["kept", "finished", "dropped"]


class SearchInputs(NamedTuple):
    """Inputs of a search."""

    decoder: DecoderStep
    state: DecoderState  # cached, one row a sentence
    rules: Sequence[Rule]
    limits: Sequence[int]  # of each sentence: the most tokens it may have, the end token among them
    start_id: int
    ends: frozenset[int]  # each of these tokens ends a sentence
    vocabulary: int  # how many words there are to choose from
    device: torch.device


class SingleHypothesisSearch:
    """Greedy search and sampling: one hypothesis per sentence.

    `begun` holds prefixes of equal length for some of the sentences, in the order of the state's rows.
    """

    def __init__(
        self,
        plan: SearchInputs,
        choose: Callable[[Tensor, Sequence[HypothesisState]], Tensor],
        *,
        scored: bool,
        begun: Sequence[HypothesisState] | None = None,
    ) -> None:
        self.plan = plan
        self.choose = choose
        self.scored = scored  # whether probabilities are wanted: they cost a pass over the vocabulary
        self.rows = (
            [HypothesisState(sentence) for sentence in range(len(plan.limits))] if begun is None else list(begun)
        )
        self.all_rows = {row.sentence: row for row in self.rows}
        self.next_ids = torch.tensor([[plan.start_id, *row.ids] for row in self.rows], device=plan.device)
        self.results: list[list[Candidate]] = [[] for _ in plan.limits]

    def advance(self) -> bool:
        """Write one word in every open sentence; False when none is open any more."""
        if not self.rows:
            return False
        plan = self.plan
        logits = plan.decoder(self.next_ids, plan.state)[:, -1]  # [rows, vocabulary]
        log_probabilities = logits.float().log_softmax(dim=-1) if self.scored else None
        for rule in plan.rules:
            rule(logits, self.rows)
        chosen = self.choose(logits, self.rows)  # [rows]
        if log_probabilities is not None:
            gained = log_probabilities.gather(1, chosen[:, None])[:, 0]
            for row, log_probability in zip(self.rows, gained.tolist(), strict=True):
                if not self.results[row.sentence]:
                    row.log_probability += log_probability
                    row.token_log_probabilities.append(log_probability)
        self._extend(chosen)
        return True

    def best(self, sentence: int) -> HypothesisState:
        """Tokens so far."""
        return self.all_rows[sentence]

    def _extend(self, chosen: Tensor) -> None:
        for row, token in zip(self.rows, chosen.tolist(), strict=True):
            if self.results[row.sentence]:
                continue  # finished, but still in the batch
            row.ids.append(token)
            ended = token in self.plan.ends
            if ended or len(row.ids) >= self.plan.limits[row.sentence]:
                score = row.log_probability / len(row.ids)
                self.results[row.sentence] = [Candidate(row.ids, row.token_log_probabilities, score, ended)]
        open_rows = [place for place, row in enumerate(self.rows) if not self.results[row.sentence]]
        self.next_ids = chosen[:, None]
        if not open_rows:
            self.rows = []
        elif len(open_rows) <= COMPACT_BELOW * len(self.rows):
            keep = torch.tensor(open_rows, device=chosen.device)
            self.plan.state.select(keep)
            self.next_ids = self.next_ids[keep]
            self.rows = [self.rows[place] for place in open_rows]


class BeamSearch:
    """Several hypotheses a sentence; the best continuations of all of them go on (Graves 2012, arXiv:1211.3711).

    A sentence is finished when it has as many finished hypotheses as the beam is wide, and no open one could still
    reach a better score than the worst of them if it ended now. Finished hypotheses rank before truncated ones,
    regardless of score, because a model in a loop assigns each repetition a higher probability. Generation defaults can
    change both rules.
    """

    def __init__(
        self,
        plan: SearchInputs,
        *,
        width: int,
        length_penalty: float,
        keep_tree: bool,
        defaults: GenerationDefaults = NO_DEFAULTS,
    ) -> None:
        self.plan = plan
        self.generation_defaults = defaults
        self.width = width
        self.reach = (1 + len(plan.ends)) * width
        self.length_penalty = length_penalty
        sentences = len(plan.limits)
        self.results: list[list[Candidate]] = [[] for _ in range(sentences)]
        self.trees: list[list[SearchNode]] = [[] for _ in range(sentences)]
        self.keep_tree = keep_tree
        # One row a sentence until the first step has shown more than one way to begin.
        self.rows = [HypothesisState(sentence) for sentence in range(sentences)]
        self._best = list(self.rows)
        self.next_ids = torch.full((sentences, 1), plan.start_id, device=plan.device)

    def advance(self) -> bool:
        """Continue every open hypothesis by one word; False when no sentence is open any more."""
        if not self.rows:
            return False
        plan = self.plan
        logits = plan.decoder(self.next_ids, plan.state)[:, -1].float()  # [rows, vocabulary]
        log_probabilities = logits.log_softmax(dim=-1)
        if self.generation_defaults.counted != "before":
            logits = log_probabilities
        for rule in plan.rules:
            rule(logits, self.rows)
        if self.generation_defaults.counted == "renormalised":
            logits = log_probabilities = logits.log_softmax(dim=-1)
        # 2 × width continuations per row suffice: with one end token, at most width of them can be ends.
        best, tokens = logits.topk(min(self.reach, logits.shape[-1]), dim=-1)
        values = log_probabilities.gather(1, tokens).masked_fill(best == FORBIDDEN, FORBIDDEN)
        self._extend(values.tolist(), tokens.tolist())
        return True

    def best(self, sentence: int) -> HypothesisState:
        """The currently best hypothesis, open or finished."""
        return self._best[sentence]

    def _extend(self, values: list[list[float]], tokens: list[list[int]]) -> None:
        rows: list[HypothesisState] = []
        origins: list[int] = []  # of each new row: the old row that it continues
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
            survivors = self._select_survivors(sentence, candidates[: self.reach])
            rows += [row for row, _ in survivors]
            origins += [origin for _, origin in survivors]
        if rows and origins != list(range(len(self.rows))):
            order = torch.tensor(origins, device=self.plan.device)
            same_places = [row.sentence for row in rows] == [row.sentence for row in self.rows]
            (self.plan.state.reorder if same_places else self.plan.state.select)(order)
        self.rows = rows
        self.next_ids = torch.tensor([[row.ids[-1]] for row in rows], device=self.plan.device).view(-1, 1)

    def _select_survivors(
        self, sentence: int, candidates: list[tuple[float, int, int]]
    ) -> list[tuple[HypothesisState, int]]:
        """Split candidates into surviving, finished and dropped ones."""
        survivors: list[tuple[HypothesisState, int]] = []
        finished, limit = self.results[sentence], self.plan.limits[sentence]
        for rank, (log_probability, origin, token) in enumerate(candidates):
            old = self.rows[origin]
            length = len(old.ids) + 1
            score = log_probability / length**self.length_penalty
            ended = token in self.plan.ends
            complete = ended or length >= limit
            ids, gains = [*old.ids, token], [*old.token_log_probabilities, log_probability - old.log_probability]
            if (complete and rank >= self.width) or len(survivors) == self.width:
                self._add_node(sentence, old, token, log_probability, score, "dropped")
            elif complete:
                self._add_node(sentence, old, token, log_probability, score, "finished")
                finished.append(Candidate(ids, gains, score, ended))
            else:
                node = self._add_node(sentence, old, token, log_probability, score, "kept")
                survivors.append((HypothesisState(sentence, ids, log_probability, gains, node), origin))
        first = self.generation_defaults.ended_first
        finished.sort(key=lambda candidate: (-candidate.ended if first else 0, -candidate.score))
        del finished[self.width :]
        leader = survivors[0][0] if survivors else None
        reachable = leader.log_probability / len(leader.ids) ** self.length_penalty if leader else FORBIDDEN
        if finished and finished[0].score >= reachable:
            leader = HypothesisState(
                sentence, finished[0].ids, finished[0].log_probability, finished[0].token_log_probabilities
            )
        if leader is not None:
            self._best[sentence] = leader
        if self.generation_defaults.patience == "longest" and leader and survivors:
            reachable = survivors[0][0].log_probability / limit**self.length_penalty
        if len(finished) == self.width and (
            self.generation_defaults.patience == "none" or finished[-1].score >= reachable
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
        old: HypothesisState,
        token: int,
        log_probability: float,
        score: float,
        outcome: Literal["kept", "finished", "dropped"],
    ) -> int:
        if not self.keep_tree:
            return -1
        tree = self.trees[sentence]
        tree.append(SearchNode(old.node, len(old.ids), token, log_probability, score, outcome))
        return len(tree) - 1
