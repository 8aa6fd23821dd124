"""Greedy and beam search match a reference search that runs the full model at each step."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, get_args

import pytest
import torch
from torch import Tensor

from headlight.model.core.config import POSITION_NAMES
from headlight.model.core.transformer import DecoderState, Transformer
from headlight.model.decoding.generation_defaults import GenerationDefaults, Patience
from headlight.model.decoding.search import BeamSearch, SearchInputs, SingleHypothesisSearch
from headlight.model.decoding.step import ForcePrefix, NoRepeatNgrams, Sampler, choose_best, make_rules
from headlight.model.records import DecodingOptions
from tests.compare import assert_close
from tests.tiny import MAX_LENGTH, SENTENCES, Toy, run_to_the_end, tiny_model, tokenizers

CPU = torch.device("cpu")


class ReferenceResult(NamedTuple):
    """A result of the reference search."""

    ids: list[int]
    log_probability: float
    score: float
    ended: bool


def reference_beam_search(
    following: Callable[[list[int]], list[float]],
    width: int,
    limit: int,
    end: int,
    penalty: float,
    patience: str = "bound",
) -> list[ReferenceResult]:
    """A minimal beam search: `following` returns `log p` of each next token after a prefix."""
    beam: list[tuple[float, list[int]]] = [(0.0, [])]
    results: list[ReferenceResult] = []
    for length in range(1, limit + 1):
        candidates = [
            (total + gain, [*ids, token])
            for total, ids in beam
            for token, gain in enumerate(following(ids))
            if gain > -math.inf
        ]
        candidates = sorted(candidates, key=lambda candidate: -candidate[0])[: 2 * width]
        beam = []
        for rank, (total, ids) in enumerate(candidates):
            if ids[-1] == end or length == limit:
                if rank < width:
                    results.append(ReferenceResult(ids, total, total / length**penalty, ids[-1] == end))
            elif len(beam) < width:
                beam.append((total, ids))
        results = sorted(results, key=lambda one: (not one.ended, -one.score))[:width]
        if not beam:
            break
        bound = {"none": -math.inf, "bound": beam[0][0] / length**penalty, "longest": beam[0][0] / limit**penalty}
        if len(results) == width and results[-1].score >= bound[patience]:
            break
    return results


def uncached_following(model: Transformer, source: list[int]) -> Callable[[list[int]], list[float]]:
    """`log p` of each next token by the full decoder without a cache; padding and start are excluded."""
    config = model.config
    memory = model.encode(torch.tensor([source]))

    def following(ids: list[int]) -> list[float]:
        state = model.decoder.new_state(memory, cached=False)
        logits = model.decoder(torch.tensor([[config.start_id, *ids]]), state)[0, -1]
        gains: list[float] = logits.log_softmax(dim=-1).tolist()
        gains[config.pad_id] = gains[config.start_id] = -math.inf
        return gains

    return following


def sources() -> list[list[int]]:
    return [[token.id for token in tokenizers()[0].source_tokens(text)] for text in SENTENCES]


def plan_for(
    model: Transformer, rows: Sequence[Sequence[int]], limits: Sequence[int], decoder: Any = None, **options: Any
) -> SearchInputs:
    """Search inputs for these sources in one batch."""
    longest = max(map(len, rows))
    ids = torch.tensor([[*row, *[model.config.pad_id] * (longest - len(row))] for row in rows])
    state = model.decoder.new_state(model.encode(ids), cached=True)
    rules = make_rules(model.config, DecodingOptions(**options), [[] for _ in rows], CPU)
    config = model.config
    return SearchInputs(
        decoder or model.decoder,
        state,
        rules,
        limits,
        config.start_id,
        frozenset({config.end_id}),
        config.target_vocabulary,
        CPU,
    )


def greedy(plan: SearchInputs) -> SingleHypothesisSearch:
    search: SingleHypothesisSearch = run_to_the_end(SingleHypothesisSearch(plan, choose_best, scored=True))
    return search


def beam(plan: SearchInputs, width: int, penalty: float = 1.0) -> BeamSearch:
    search: BeamSearch = run_to_the_end(BeamSearch(plan, width=width, length_penalty=penalty, keep_tree=True))
    return search


class CountingDecoder:
    """A decoder that records the number of rows of each step."""

    def __init__(self, model: Transformer) -> None:
        self.decoder = model.decoder
        self.rows: list[int] = []

    def __call__(self, ids: Tensor, state: DecoderState) -> Tensor:
        self.rows.append(len(ids))
        logits: Tensor = self.decoder(ids, state)
        return logits


@pytest.fixture(scope="module")
def model() -> Transformer:
    return tiny_model()


# ---------------------------------------------------------------- exhaustive search


def all_sentences(toy: Toy, sentence: int, limit: int, penalty: float) -> list[ReferenceResult]:
    """All sentences within the limit, best first: finished ones, then truncated ones."""
    results = []
    for length in range(1, limit + 1):
        for ids in itertools.product(range(toy.vocabulary), repeat=length):
            is_finished = ids[-1] == toy.END
            if toy.END not in ids[:-1] and (is_finished or length == limit):
                gains = [toy.log_probabilities(sentence, ids[:step])[ids[step]] for step in range(length)]
                results.append(ReferenceResult(list(ids), sum(gains), sum(gains) / length**penalty, is_finished))
    return sorted(results, key=lambda one: (not one.ended, -one.score))


@pytest.mark.parametrize("penalty", [0.0, 0.6, 1.0, 2.0])
@pytest.mark.parametrize("vocabulary", [3, 4])
@torch.inference_mode()
def test_exhaustive_beam_finds_all_sentences_in_order(vocabulary: int, penalty: float) -> None:
    limit = 4
    for seed in range(3):
        toy = Toy(vocabulary, seed)
        expected = all_sentences(toy, 0, limit, penalty)
        search = beam(toy.plan([limit]), width=len(expected), penalty=penalty)
        assert [candidate.ids for candidate in search.results[0]] == [one.ids for one in expected]
        for candidate, one in zip(search.results[0], expected, strict=True):
            assert candidate.log_probability == pytest.approx(one.log_probability, abs=1e-5)
            assert candidate.score == pytest.approx(one.score, abs=1e-5)
            assert candidate.ended == one.ended


@torch.inference_mode()
def test_length_penalty_decides_between_short_and_long() -> None:
    """Two sentences: one ends immediately with 0.4, one takes two likely steps after 0.35."""
    a, end = 2, Toy.END
    table: dict[tuple[int, ...], list[float]] = {
        (): [0.0, 0.4, 0.35, 0.25],
        (a,): [0.0, 0.01, 0.98, 0.01],
        (a, a): [0.0, 0.98, 0.01, 0.01],
    }

    class Table(Toy):
        def log_probabilities(self, sentence: int, prefix: Sequence[int]) -> list[float]:
            chances = table.get(tuple(prefix), [0.0, 1.0, 0.0, 0.0])
            return [math.log(chance) if chance else -math.inf for chance in chances]

    long = math.log(0.35 * 0.98 * 0.98)
    for penalty, ids, score in (
        (0.0, [end], math.log(0.4)),  # log p itself
        (1.0, [a, a, end], long / 3),  # for each token
        (2.0, [a, a, end], long / 9),
    ):
        best = beam(Table().plan([9]), width=2, penalty=penalty).results[0][0]
        assert best.ids == ids
        assert best.score == pytest.approx(score, abs=1e-5)


@torch.inference_mode()
def test_ties_go_to_the_better_hypothesis_then_to_the_better_token() -> None:
    """Of equal scores, those of the earlier row come first, in the order of its tokens; finished ones keep it."""
    a, b, c, end = 2, 3, 4, Toy.END
    search = BeamSearch(Toy(5, 0).plan([9]), width=2, length_penalty=1.0, keep_tree=True)
    search._extend([[-1.0, -1.0, -1.0]], [[b, a, c]])
    assert [row.ids for row in search.rows] == [[b], [a]]
    search._extend([[-1.0, -1.0], [-1.0, -1.0]], [[c, a], [b, c]])
    assert [row.ids for row in search.rows] == [[b, c], [b, a]]
    search._extend([[-1.0, -2.0], [-1.0, -2.0]], [[end, a], [end, b]])
    assert [candidate.ids for candidate in search.results[0]] == [[b, c, end], [b, a, end]]


@pytest.mark.parametrize("width", [1, 2, 3, 5])
@torch.inference_mode()
def test_batched_beam_matches_reference_search(width: int) -> None:
    for seed in range(8):
        toy, limits = Toy(5, seed), [7, 3, 11, 1]
        search = beam(toy.plan(limits), width, penalty=0.7)
        for sentence, limit in enumerate(limits):

            def following(ids: list[int], sentence: int = sentence, toy: Toy = toy) -> list[float]:
                return toy.log_probabilities(sentence, ids)

            expected = reference_beam_search(following, width, limit, Toy.END, 0.7)
            assert [candidate.ids for candidate in search.results[sentence]] == [one.ids for one in expected]


@torch.inference_mode()
def test_patience_decides_when_a_full_list_of_results_ends_the_search() -> None:
    widths, limit, penalty = (2, 3), 11, 2.0
    results: dict[str, list[list[list[int]]]] = {}
    for patience in get_args(Patience):
        defaults = GenerationDefaults(patience=patience)
        for seed, width in itertools.product(range(12), widths):
            toy = Toy(5, seed)
            search = BeamSearch(
                toy.plan([limit]), width=width, length_penalty=penalty, keep_tree=False, defaults=defaults
            )
            ids = [candidate.ids for candidate in run_to_the_end(search).results[0]]

            def following(ids: list[int], toy: Toy = toy) -> list[float]:
                return toy.log_probabilities(0, ids)

            expected = reference_beam_search(following, width, limit, Toy.END, penalty, patience)
            assert ids == [one.ids for one in expected]
            results.setdefault(patience, []).append(ids)
    assert results["none"] != results["bound"] != results["longest"]


# ---------------------------------------------------------------- full model at each step


@pytest.mark.slow(after=8)
@pytest.mark.parametrize("norm_first", [False, True], ids=["post-norm", "pre-norm"])
@pytest.mark.parametrize("positions", POSITION_NAMES)
@torch.inference_mode()
def test_cached_steps_match_uncached_decoder(positions: str, norm_first: bool) -> None:
    model = tiny_model(positions=positions, norm_first=norm_first, final_norm=norm_first, ends=0.0)
    config = model.config
    ids = torch.tensor(sources()[0])[None].repeat(2, 1)
    ids[1, 5:] = config.pad_id
    memory = model.encode(ids)
    cached, uncached = model.decoder.new_state(memory, cached=True), model.decoder.new_state(memory, cached=False)
    decoder_ids = torch.full((2, 1), config.start_id)
    for step in range(40):  # long enough for the caches to grow
        logits = model.decoder(decoder_ids[:, -1:], cached)[:, 0]
        expected = model.decoder(decoder_ids, uncached)[:, -1]
        assert_close(logits, expected, of=f"logits of step {step}")
        assert torch.equal(logits.argmax(dim=-1), expected.argmax(dim=-1))
        decoder_ids = torch.cat(
            [decoder_ids, logits.topk(3).indices[:, step % 3, None]], dim=1
        )  # varied, to avoid a loop


@pytest.mark.slow(after=2)
@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"positions": "rotary", "ends": 2.0},
        {"positions": "relative", "norm_first": True, "final_norm": True, "norm": "rms", "activation": "swiglu"},
        {"positions": "alibi", "tie_output": True},
        {"positions": "learned", "position_width": 4, "seed": 3},
    ],
    ids=str,
)
@torch.inference_mode()
def test_greedy_and_beam_match_reference_search(fields: dict[str, Any]) -> None:
    model = tiny_model(**fields)
    rows, limits = sources(), [13] * len(SENTENCES)
    fast, wide = greedy(plan_for(model, rows, limits)), beam(plan_for(model, rows, limits), 4, penalty=0.8)
    for sentence, source in enumerate(rows):
        following, end = uncached_following(model, source), model.config.end_id
        (expected,) = reference_beam_search(following, 1, limits[sentence], end, 1.0)
        (candidate,) = fast.results[sentence]
        assert (candidate.ids, candidate.ended) == (expected.ids, expected.ended)
        assert candidate.log_probability == pytest.approx(expected.log_probability, abs=1e-4)
        for hypothesis, one in zip(
            wide.results[sentence], reference_beam_search(following, 4, limits[sentence], end, 0.8), strict=True
        ):
            assert hypothesis.ids == one.ids
            assert hypothesis.score == pytest.approx(one.score, abs=1e-4)


@torch.inference_mode()
def test_tiny_model_finishes_some_and_truncates_other_sentences(model: Transformer) -> None:
    """Other tests rely on both cases."""
    results = greedy(plan_for(model, sources(), [24] * len(SENTENCES))).results
    assert [candidate.ended for (candidate,) in results].count(True) == 3
    assert len({len(candidate.ids) for (candidate,) in results}) > 3
    assert len({token for (candidate,) in results for token in candidate.ids}) > 9


@pytest.mark.parametrize("seed", [2, 3, 7, 11])
@pytest.mark.parametrize("positions", ["sinusoidal", "rotary"])
@torch.inference_mode()
def test_beam_of_one_matches_greedy(positions: str, seed: int) -> None:
    model = tiny_model(positions=positions, seed=seed)
    limits = [MAX_LENGTH] * len(SENTENCES)
    narrow, plain = beam(plan_for(model, sources(), limits), 1), greedy(plan_for(model, sources(), limits))
    for (hypothesis,), (candidate,) in zip(narrow.results, plain.results, strict=True):
        assert hypothesis.ids == candidate.ids
        assert hypothesis.token_log_probabilities == pytest.approx(candidate.token_log_probabilities, abs=1e-5)
        assert hypothesis.score == pytest.approx(candidate.score, abs=1e-5)
        assert hypothesis.ended == candidate.ended


# ---------------------------------------------------------------- batches


@pytest.mark.parametrize("width", [0, 1, 3], ids=["greedy", "beam 1", "beam 3"])
@torch.inference_mode()
def test_search_does_not_depend_on_batch(model: Transformer, width: int) -> None:
    rows, limits = sources(), [24, 5, 31, 17, 1, 29, 13]
    search = greedy if width == 0 else lambda plan: beam(plan, width)
    together = search(plan_for(model, rows, limits)).results
    for source, limit, candidates in zip(rows, limits, together, strict=True):
        alone = search(plan_for(model, [source], [limit])).results[0]
        assert [one.ids for one in alone] == [candidate.ids for candidate in candidates]
        for one, candidate in zip(alone, candidates, strict=True):
            assert one.token_log_probabilities == pytest.approx(candidate.token_log_probabilities, abs=1e-5)


@torch.inference_mode()
def test_finished_sentences_leave_the_batch(model: Transformer) -> None:
    limits = [24, 5, 31, 17, 1, 29, 13]
    counter = CountingDecoder(model)
    search = greedy(plan_for(model, sources(), limits, counter))
    lengths = [len(candidate.ids) for (candidate,) in search.results]
    assert counter.rows == [sum(length > step for length in lengths) for step in range(max(lengths))]
    assert counter.rows[0] == len(SENTENCES) > counter.rows[1] > counter.rows[-1] == 1


@torch.inference_mode()
def test_large_batch_removes_finished_sentences_in_groups(model: Transformer) -> None:
    """Finished sentences stay until they are an eighth of the batch, without effect on results."""
    rows = sources() * 3
    limits = [2 + place for place in range(len(rows))]  # from the second step on, each step finishes one
    counter = CountingDecoder(model)
    search = greedy(plan_for(model, rows, limits, counter))
    lengths = [len(candidate.ids) for (candidate,) in search.results]
    unfinished = [sum(length > step for length in lengths) for step in range(max(lengths))]
    assert all(computed >= needed for computed, needed in zip(counter.rows, unfinished, strict=True))
    assert all(needed > 7 / 8 * computed for computed, needed in zip(counter.rows, unfinished, strict=True))
    assert counter.rows != unfinished
    for source, limit, (candidate,) in zip(rows, limits, search.results, strict=True):
        (alone,) = greedy(plan_for(model, [source], [limit])).results[0]
        assert alone.ids == candidate.ids
        assert alone.token_log_probabilities == pytest.approx(candidate.token_log_probabilities, abs=1e-5)


@torch.inference_mode()
def test_hypotheses_of_a_finished_sentence_leave_the_batch(model: Transformer) -> None:
    limits, width = [24, 5, 31, 17, 1, 29, 13], 3
    counter = CountingDecoder(model)
    together = beam(plan_for(model, sources(), limits, counter), width)
    expected: list[int] = []
    for source, limit in zip(sources(), limits, strict=True):
        alone = CountingDecoder(model)
        beam(plan_for(model, [source], [limit], alone), width)
        expected = [sum(pair) for pair in itertools.zip_longest(expected, alone.rows, fillvalue=0)]
    assert counter.rows == expected
    assert counter.rows[0] == len(SENTENCES)  # one row per sentence at the first step
    assert counter.rows[1] == width * (len(SENTENCES) - 1)  # one sentence ends after one step
    assert all(together.results)


@torch.inference_mode()
def test_no_step_runs_after_completion() -> None:
    for search in (
        SingleHypothesisSearch(Toy().plan([2, 3]), choose_best, scored=False),
        BeamSearch(Toy().plan([2, 3]), width=2, length_penalty=1.0, keep_tree=False),
    ):
        toy: Any = search.inputs.decoder
        run_to_the_end(search)
        steps = len(toy.__self__.rows)
        assert search.advance() is False
        assert len(toy.__self__.rows) == steps <= 3


# ---------------------------------------------------------------- limits


@pytest.mark.parametrize("width", [0, 1, 4])
@torch.inference_mode()
def test_sentences_respect_their_own_limit(width: int) -> None:
    limits = [1, 6, 2, 13]
    for seed in range(5):
        plan = Toy(7, seed).plan(limits)
        for limit, candidates in zip(limits, (beam(plan, width) if width else greedy(plan)).results, strict=True):
            assert candidates
            for candidate in candidates:
                assert len(candidate.ids) == limit or candidate.ended
                assert len(candidate.ids) <= limit
                assert candidate.ended == (candidate.ids[-1] == Toy.END)
                assert Toy.END not in candidate.ids[:-1]


@torch.inference_mode()
def test_beam_results_are_sorted_with_finished_first() -> None:
    kinds = set()
    for seed in range(20):
        (candidates,) = beam(Toy(6, seed).plan([3]), 4).results
        assert len(candidates) == 4
        for first, second in itertools.pairwise(candidates):
            assert (not first.ended, -first.score) <= (not second.ended, -second.score)
        kinds.add(tuple(candidate.ended for candidate in candidates))
    assert len(kinds) > 2  # several combinations of both


# ---------------------------------------------------------------- rules in a search


@pytest.mark.parametrize("width", [0, 1, 3])
@torch.inference_mode()
def test_forced_prefix_is_scored_by_model(width: int) -> None:
    """Rules do not change the scores; prefixes may differ between sentences of a batch."""
    toy, prefixes = Toy(5), [[2, 2, 2], [], [3, 2]]
    plan = toy.plan([6, 6, 6], [NoRepeatNgrams(1), ForcePrefix(prefixes)])
    for sentence, candidates in enumerate((beam(plan, width) if width else greedy(plan)).results):
        for candidate in candidates:
            assert candidate.ids[: len(prefixes[sentence])] == prefixes[sentence]
            expected = [
                toy.log_probabilities(sentence, candidate.ids[:step])[token] for step, token in enumerate(candidate.ids)
            ]
            assert candidate.token_log_probabilities == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("width", [0, 1, 4])
@torch.inference_mode()
def test_no_repeat_applies_to_every_hypothesis(width: int) -> None:
    for seed in range(5):
        plan = Toy(4, seed).plan([12], [NoRepeatNgrams(2)])
        (candidates,) = (beam(plan, width) if width else greedy(plan)).results
        for candidate in candidates:
            pairs = list(itertools.pairwise(candidate.ids))
            assert len(set(pairs)) == len(pairs)


@torch.inference_mode()
def test_hypotheses_end_if_only_end_is_allowed() -> None:
    for width in (0, 1, 4):
        plan = Toy(4).plan([12], [NoRepeatNgrams(1)])  # three different tokens and the end
        (candidates,) = (beam(plan, width) if width else greedy(plan)).results
        assert candidates
        for candidate in candidates:
            assert candidate.ended
            assert len(candidate.ids) <= 4


# ---------------------------------------------------------------- intermediate results


@torch.inference_mode()
def test_greedy_and_sampling_only_append_tokens() -> None:
    for choose in (choose_best, Sampler(DecodingOptions(temperature=1.0), 2)):
        search = SingleHypothesisSearch(Toy(9).plan([8, 8]), choose, scored=True)
        before: list[int] = []
        while search.advance():
            row = search.best(0)
            assert row.ids[: len(before)] == before
            assert len(row.token_log_probabilities) == len(row.ids)
            assert row.log_probability == pytest.approx(sum(row.token_log_probabilities))
            before = list(row.ids)
        assert search.results[0][0].ids == before


@torch.inference_mode()
def test_unscored_search_gives_same_tokens() -> None:
    for seed in range(5):
        unscored = run_to_the_end(SingleHypothesisSearch(Toy(9, seed).plan([8, 8]), choose_best, scored=False))
        scored = greedy(Toy(9, seed).plan([8, 8]))
        assert [one.ids for (one,) in unscored.results] == [one.ids for (one,) in scored.results]
        assert all(one.token_log_probabilities == [] for (one,) in unscored.results)


@torch.inference_mode()
def test_beam_reports_best_hypothesis_at_each_step() -> None:
    changes = stays = 0
    for seed in range(10):
        search = BeamSearch(Toy(6, seed).plan([9]), width=3, length_penalty=1.0, keep_tree=False)
        before = list[int]()
        while search.advance():
            leader = search.best(0)
            running = [(row.log_probability / len(row.ids), row.ids) for row in search.rows]
            finished = [(candidate.score, candidate.ids) for candidate in search.results[0]]
            if search.rows:  # in the last step, truncated hypotheses may have higher scores
                assert leader.ids == max(running + finished)[1]
            stays += leader.ids == before
            changes += leader.ids != before and leader.ids[:-1] != before
            before = leader.ids
        assert search.best(0).ids in [candidate.ids for candidate in search.results[0]]
    assert changes > 0  # the best hypothesis may change
    assert stays > 0  # a finished hypothesis may stay best while others continue
