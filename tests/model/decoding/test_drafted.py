"""Drafted decoding always gives the exact model's greedy translation."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor

from headlight.model.core.config import POSITION_NAMES
from headlight.model.core.masks import pad_sequences
from headlight.model.core.transformer import DecoderState, Transformer
from headlight.model.decoding import speculative
from headlight.model.decoding.generation_defaults import GenerationDefaults
from headlight.model.decoding.search import SearchInputs, SingleHypothesisSearch
from headlight.model.decoding.speculative import (
    MAX_REJECTION_RATE,
    MIN_REJECTIONS,
    DraftModels,
    SpeculativeSearch,
    group_by_length,
)
from headlight.model.decoding.step import HypothesisState, choose_best, make_rules
from headlight.model.records import DecodingOptions
from headlight.model.translate.capture import logits_without_capture
from tests.tiny import SENTENCES, run_to_the_end, tiny_model, tokenizers

CPU = torch.device("cpu")
LIMITS = [3, 9, 14, 1, 20, 14]
Decoder = Callable[[Tensor, DecoderState], Tensor]


def search_inputs(
    model: Transformer, decoder: Decoder, prefixes: list[list[int]], **options: Any
) -> tuple[SearchInputs, Any]:
    """Search inputs for several sentences of different lengths, and the exact model that verifies drafts."""
    rows = [[token.id for token in tokenizers()[0].source_tokens(text)] for text in SENTENCES][: len(LIMITS)]
    prefixes = [*prefixes, *[[] for _ in rows[len(prefixes) :]]]
    config = model.config
    memory = model.encode(pad_sequences(rows, config.pad_id))
    state = model.decoder.new_state(memory, cached=True)
    defaults = GenerationDefaults(least_length=options.pop("least", 0), forced_end=options.pop("forced_end", None))
    rules = make_rules(config, DecodingOptions(**options), prefixes, CPU, defaults, LIMITS[: len(rows)])
    ends = frozenset({config.end_id})
    plan = SearchInputs(
        decoder, state, rules, LIMITS[: len(rows)], config.start_id, ends, config.target_vocabulary, CPU
    )
    return plan, partial(logits_without_capture, model, memory, state.cross)


def greedy_ids(model: Transformer, prefixes: list[list[int]], **options: Any) -> list[list[int]]:
    plan, _ = search_inputs(model, model.decoder, prefixes, **options)
    return [
        hypotheses[0].ids
        for hypotheses in run_to_the_end(SingleHypothesisSearch(plan, choose_best, scored=False)).results
    ]


def random_draft(vocabulary: int) -> Decoder:
    generator = torch.Generator().manual_seed(3)
    return lambda ids, state: torch.rand(*ids.shape, vocabulary, generator=generator)


def constant_draft(word: int, vocabulary: int) -> Decoder:
    def draft(ids: Tensor, state: DecoderState) -> Tensor:
        logits = torch.zeros(*ids.shape, vocabulary)
        logits[..., word] = 5.0
        return logits

    return draft


def sometimes_wrong_draft(model: Transformer) -> Decoder:
    """The model itself with its cache, but without its best token at every third length."""

    def draft(ids: Tensor, state: DecoderState) -> Tensor:
        logits: Tensor = model.decoder(ids, state)
        if state.length % 3 == 0:
            logits = logits.scatter(-1, logits.argmax(dim=-1, keepdim=True), float("-inf"))
        return logits

    return draft


def drafts(model: Transformer) -> dict[str, Decoder]:
    words, end = model.config.target_vocabulary, model.config.end_id
    return {
        "right": model.decoder,
        "random": random_draft(words),
        "one word": constant_draft(words - 1, words),
        "cut short": constant_draft(end, words),
        "sometimes wrong": sometimes_wrong_draft(model),
    }


@pytest.mark.slow(after=8)
@pytest.mark.parametrize("kind", ["right", "random", "one word", "cut short", "sometimes wrong"])
@pytest.mark.parametrize(
    ("prefixes", "options"),
    [
        ([], {}),
        ([], {"no_repeat": 2}),
        ([[7, 8], [], [9]], {"no_repeat": 3}),
        ([], {"least": 6}),
        ([], {"forced_end": 2, "least": 3}),
    ],
    ids=["plain", "no repeat", "forced words", "least length", "forced end"],
)
def test_result_matches_exact_model_for_any_draft(
    kind: str, prefixes: list[list[int]], options: dict[str, Any]
) -> None:
    with torch.inference_mode():
        model = tiny_model(ends=1.0)
        plan, exact = search_inputs(model, drafts(model)[kind], prefixes, **options)
        search = run_to_the_end(SpeculativeSearch(plan, exact, scored=False))
        assert [hypotheses[0].ids for hypotheses in search.results] == greedy_ids(model, prefixes, **options)
    assert not search.rows
    if kind == "right":
        assert search.verification_passes == 1


@pytest.mark.parametrize("positions", POSITION_NAMES)
def test_drafts_continue_at_correct_position_for_every_encoding(positions: str) -> None:
    with torch.inference_mode():
        model = tiny_model(positions=positions, ends=1.0)
        plan, exact = search_inputs(model, sometimes_wrong_draft(model), [])
        hypotheses = run_to_the_end(SpeculativeSearch(plan, exact, scored=False)).results
        assert [candidates[0].ids for candidates in hypotheses] == greedy_ids(model, [])


def test_probabilities_match_exact_model() -> None:
    with torch.inference_mode():
        model = tiny_model(ends=1.0)
        plan, exact = search_inputs(model, random_draft(model.config.target_vocabulary), [])
        drafted = [candidates[0] for candidates in run_to_the_end(SpeculativeSearch(plan, exact, scored=True)).results]
        plain = run_to_the_end(
            SingleHypothesisSearch(search_inputs(model, model.decoder, [])[0], choose_best, scored=True)
        ).results
    for candidate, (other,) in zip(drafted, plain, strict=True):
        assert candidate.token_log_probabilities == pytest.approx(other.token_log_probabilities, abs=1e-5)
        assert (candidate.score, candidate.ended) == (pytest.approx(other.score, abs=1e-5), other.ended)


def test_small_batches_need_more_passes_with_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    with torch.inference_mode():
        model = tiny_model(ends=1.0)
        plan, exact = search_inputs(model, model.decoder, [])
        monkeypatch.setattr(speculative, "MAX_LOGITS_PER_BATCH", 1)
        search = run_to_the_end(SpeculativeSearch(plan, exact, scored=False))
        assert [hypotheses[0].ids for hypotheses in search.results] == greedy_ids(model, [])
    assert search.verification_passes == len(plan.limits)


def test_wrong_drafts_stay_short() -> None:
    """A draft that is always wrong costs a few steps per token, not a whole sentence."""
    calls = 0

    def count(draft: Decoder) -> Decoder:
        def counted(ids: Tensor, state: DecoderState) -> Tensor:
            nonlocal calls
            calls += 1
            return draft(ids, state)

        return counted

    with torch.inference_mode():
        model = tiny_model(ends=-50.0)
        words = model.config.target_vocabulary
        plan, exact = search_inputs(model, count(constant_draft(words - 1, words)), [])
        plan = plan._replace(limits=[400] + [1] * (len(plan.limits) - 1))
        search = SpeculativeSearch(plan, exact, scored=False)
        while search.advance() and len(search.best(0).ids) < 60:
            pass
    assert calls < 400 + 60 * (speculative.FIRST_DRAFT_LENGTH + 2 * speculative.DRAFT_GROWTH) * 2


def test_drafted_tokens_are_visible_and_replaced_if_wrong() -> None:
    with torch.inference_mode():
        model = tiny_model(ends=1.0)
        plan, exact = search_inputs(model, sometimes_wrong_draft(model), [])
        search = SpeculativeSearch(plan, exact, scored=True)
        lengths, drafts_shown = [0], []
        while search.advance():
            lengths.append(len(search.best(4).ids))
            drafts_shown.append(list(search.best(4).ids))
            assert len(search.best(4).token_log_probabilities) == len(search.best(4).ids)
        assert lengths[1:4] == [1, 2, 3]
        final = search.results[4][0].ids
    assert search.best(4).ids == final
    assert any(words != final[: len(words)] for words in drafts_shown)  # a wrong draft was visible and then replaced


def test_hypotheses_are_grouped_by_similar_length() -> None:
    rows = [HypothesisState(sentence, [7] * length) for sentence, length in enumerate((20, 3, 11, 12, 4, 40))]
    groups = group_by_length(rows)
    assert [[len(row.ids) for row in group] for group in groups] == [[3, 4, 11], [12, 20], [40]]
    assert group_by_length([]) == []


def test_verified_tokens_are_kept_in_one_batch() -> None:
    """Drafts fail at different lengths; sentences stay in one batch, and verified tokens stay visible."""

    def draft(ids: Tensor, state: DecoderState) -> Tensor:
        logits: Tensor = model.decoder(ids, state)
        for row in range(len(logits)):
            if state.length in (3 + row, 9 + row):
                logits[row] = logits[row].scatter(-1, logits[row].argmax(dim=-1, keepdim=True), float("-inf"))
        return logits

    with torch.inference_mode():
        model = tiny_model(ends=-50.0)
        plan, exact = search_inputs(model, draft, [])
        plan = plan._replace(limits=[14] * len(plan.limits))
        search, verified = SpeculativeSearch(plan, exact, scored=True), [0] * len(plan.limits)
        while search.advance():
            passes = search.verification_passes
            for sentence in range(len(plan.limits)):
                assert len(search.best(sentence).ids) >= verified[sentence]
                if passes:
                    verified[sentence] = max(verified[sentence], len(search._best[sentence].ids))
        words = [hypotheses[0].ids for hypotheses in search.results]
        alone = run_to_the_end(
            SingleHypothesisSearch(
                search_inputs(model, model.decoder, [])[0]._replace(limits=plan.limits), choose_best, scored=False
            )
        )
    assert words == [hypotheses[0].ids for hypotheses in alone.results]
    assert search.verification_passes <= 5  # six sentences with two wrong tokens each


@pytest.mark.parametrize("light", ["random", "one word", "cut short", "sometimes wrong"])
def test_light_drafter_errors_are_corrected(light: str) -> None:
    with torch.inference_mode():
        model = tiny_model(ends=1.0)
        plan, exact = search_inputs(model, model.decoder, [])
        drafters = DraftModels(drafts(model)[light], lambda: model.decoder)
        search = run_to_the_end(SpeculativeSearch(plan, exact, drafters=drafters, scored=False))
        assert [hypotheses[0].ids for hypotheses in search.results] == greedy_ids(model, [])
    assert drafters.rejected_tokens > 0
    assert search.verification_passes <= 1 + len(LIMITS)  # one of the light drafter, and at most one per group


def test_light_drafter_is_replaced_after_too_many_rejections() -> None:
    light, steady = random_draft(5), random_draft(5)
    drafters = DraftModels(light, lambda: steady)
    drafters.record(light, int(MIN_REJECTIONS / MAX_REJECTION_RATE), MIN_REJECTIONS)
    drafters.record(steady, 1, 100)  # rejections of the other drafter do not count
    assert drafters.current is light
    drafters.record(light, 50, 1)  # 3 of 250 rejections are too few
    assert drafters.current is light
    drafters.record(light, 10, 4)
    assert drafters.current is steady
    drafters.record(light, 1000, 0)
    assert drafters.current is steady


def test_single_rejection_keeps_light_drafter() -> None:
    light = random_draft(5)
    drafters = DraftModels(light, lambda: pytest.fail("The second drafter must not be created."))
    drafters.record(light, 1, 1)
    assert drafters.current is light


def test_replaced_drafter_is_freed_before_next_is_created() -> None:
    with torch.inference_mode():
        model = tiny_model(ends=1.0)
        plan, exact = search_inputs(model, model.decoder, [])
        seen: list[Any] = []

        def steady() -> Any:
            gc.collect()
            seen.append(light())
            return model.decoder

        drafter = random_draft(5)
        light = weakref.ref(drafter)
        drafters = DraftModels(drafter, steady)
        del drafter
        search = run_to_the_end(SpeculativeSearch(plan, exact, drafters=drafters, scored=False))
        assert [hypotheses[0].ids for hypotheses in search.results] == greedy_ids(model, [])
    assert seen == [None]
