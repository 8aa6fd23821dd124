"""Streams yield word by word, end with the translation, and leave no state behind if closed early."""

from __future__ import annotations

import contextvars
import itertools
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch

from headlight.model.core.probes import _active_watches
from headlight.model.errors import RequestError
from headlight.model.records import KINDS, Intervention, Progress, Token, Translation
from headlight.model.text.tokenizer import Tokenizer
from headlight.model.translate.translator import Translator
from tests.tiny import SENTENCES, count_hooks, tiny_translator

TEXT = SENTENCES[0]
INTERVENTIONS = (
    Intervention(kind="cross", layer=1, head=2, action="remove"),
    Intervention(kind="decoder", layer=0, head=None, action="uniform"),
    Intervention(kind="encoder", layer=0, head=1, action="scale", amount=0.5),
)
OPTION_SETS: list[dict[str, Any]] = [
    {},
    {"beam_size": 3, "n_best": 2},
    {"temperature": 1.0, "seed": 3},
    {"prefix": "The dog", "no_repeat": 2},
    {"target": "The dog sleeps."},
    {"interventions": INTERVENTIONS},
    {"interventions": INTERVENTIONS, "beam_size": 2, "capture": ("**.logits",)},
    {"max_length": 1},
]


@pytest.fixture(scope="module")
def translator() -> Translator:
    return tiny_translator()


def assert_same(one: Translation, other: Translation) -> None:
    assert (one.request, one.text, one.stopped, one.source_tokens) == (
        other.request,
        other.text,
        other.stopped,
        other.source_tokens,
    )
    assert one.target_tokens == other.target_tokens
    assert (one.score, one.log_probability) == (other.score, other.log_probability)
    assert [hypothesis.ids for hypothesis in one.hypotheses] == [hypothesis.ids for hypothesis in other.hypotheses]
    assert one.tree == other.tree
    for kind in KINDS:
        assert np.array_equal(one.attention.of(kind), other.attention.of(kind))
    assert set(one.captured) == set(other.captured)


def final_translation(stream: Iterator[Progress]) -> Translation:
    *_, last = stream
    assert last.translation is not None
    return last.translation


@pytest.mark.parametrize("options", OPTION_SETS, ids=lambda way: " ".join(way) or "greedy")
def test_final_progress_matches_translate(translator: Translator, options: dict[str, Any]) -> None:
    *before, last = translator.stream(TEXT, **options)
    assert all(progress.translation is None for progress in before)
    assert last.translation is not None
    assert_same(last.translation, translator.translate(TEXT, **options))
    assert (last.text, last.tokens) == (last.translation.text, last.translation.target_tokens)
    assert [progress.step for progress in [*before, last]] == list(range(1, len(before) + 2))


@pytest.mark.parametrize("options", [{}, {"temperature": 1.0}, {"interventions": INTERVENTIONS}], ids=str)
def test_progress_grows_by_one_token(translator: Translator, options: dict[str, Any]) -> None:
    *reports, last = translator.stream(TEXT, **options)
    assert len(reports) == len(last.tokens) > 3
    for progress in reports:
        prefix = last.tokens[: progress.step]
        assert [token.id for token in progress.tokens] == [token.id for token in prefix]
        chances = [token.probability for token in prefix]
        assert [token.probability for token in progress.tokens] == pytest.approx(chances, abs=1e-5)
        assert progress.text == translator.target_tokenizer.decode(token.id for token in prefix)


def test_progress_text_is_computed_lazily(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    plain = Tokenizer.written_tokens

    def counted(tokenizer: Tokenizer, ids: Sequence[int]) -> tuple[Token, ...]:
        calls.append(len(ids))
        return plain(tokenizer, ids)

    monkeypatch.setattr(Tokenizer, "written_tokens", counted)
    stream = translator.stream(TEXT)
    first = next(stream)
    before = len(calls)  # tokenizing the source calls it, too
    second, third = next(stream), next(stream)
    assert len(calls) == before
    assert (len(second.tokens), len(third.tokens), len(first.tokens)) == (2, 3, 1)
    assert calls[before:] == [2, 3, 1]
    assert len(second.text) <= len(third.text)
    assert len(calls) == before + 3  # once each


def test_beam_reports_best_hypothesis_until_result(translator: Translator) -> None:
    *reports, last = translator.stream(TEXT, beam_size=4)
    assert [progress.step for progress in reports] == list(range(1, len(reports) + 1))
    assert all(len(progress.tokens) <= progress.step for progress in reports)
    assert reports[-1].text == last.text
    assert all(token.probability is not None for progress in reports for token in progress.tokens)


def test_progress_has_model_probabilities_without_rules(translator: Translator) -> None:
    *reports, last = translator.stream(TEXT, prefix=(9, 9, 9), no_repeat=1, max_length=6)
    chances = [token.probability for token in last.tokens]
    assert [token.probability for token in reports[-1].tokens] == pytest.approx(chances, abs=1e-5)


def test_forced_target_has_one_report(translator: Translator) -> None:
    assert len(list(translator.stream(TEXT, target="The dog."))) == 1


# ---------------------------------------------------------------- closed and cancelled streams


class CountingStep:
    """A decoder's step that counts its calls."""

    def __init__(self, step: Any) -> None:
        self.step = step
        self.calls = 0

    def __call__(self, *arguments: Any) -> Any:
        self.calls += 1
        return self.step(*arguments)


@pytest.mark.parametrize("options", [{}, {"beam_size": 3}], ids=str)
def test_closed_stream_runs_no_further_step(options: dict[str, Any]) -> None:
    translator = tiny_translator()
    translator.step = counted = CountingStep(translator.step)
    stream: Any = translator.stream(TEXT, **options)
    assert counted.calls == 0  # nothing runs before the first `next`
    for calls in (1, 2, 3):
        next(stream)
        assert counted.calls == calls
    stream.close()
    assert list(stream) == []
    assert counted.calls == 3


def test_cancelled_translation_runs_no_further_step() -> None:
    translator = tiny_translator()
    translator.step = counted = CountingStep(translator.step)
    answer = translator.translate(TEXT, cancelled=lambda: counted.calls == 4)
    assert counted.calls == len(answer.target_tokens) == 4
    assert answer.stopped == "cancelled"


@pytest.mark.parametrize("ending", ["close", "throw", "forget"])
def test_abandoned_stream_leaves_no_state(translator: Translator, ending: str) -> None:
    plain = translator.translate(TEXT)
    for steps in (0, 1, 3):
        stream: Any = translator.stream(TEXT, interventions=INTERVENTIONS)
        for _ in range(steps):
            next(stream)
            assert count_hooks(translator.model) == 0
            assert _active_watches.get() == ()
            assert not torch.is_inference_mode_enabled()
        if ending == "close":
            stream.close()
        elif ending == "throw":
            with pytest.raises(KeyboardInterrupt):
                stream.throw(KeyboardInterrupt)
        del stream
        assert_same(translator.translate(TEXT), plain)


def test_timing_excludes_consumer(translator: Translator) -> None:
    start = time.perf_counter()
    reports = []
    for progress in translator.stream(TEXT, max_length=4):
        reports.append(progress)
        time.sleep(0.05)
    timing = final_translation(iter(reports)).timing
    assert time.perf_counter() - start > 0.2
    assert 0 < timing.encode + timing.decode + timing.capture < time.perf_counter() - start - 0.15


# ---------------------------------------------------------------- contexts and threads


@pytest.mark.parametrize("options", OPTION_SETS, ids=lambda way: " ".join(way) or "greedy")
def test_steps_may_run_in_different_contexts(translator: Translator, options: dict[str, Any]) -> None:
    expected = translator.translate(TEXT, **options)
    stream = translator.stream(TEXT, **options)
    for _ in itertools.count():
        context = contextvars.copy_context()
        progress = context.run(next, stream)
        assert context.get(_active_watches, ()) == ()
        assert count_hooks(translator.model) == 0
        if progress.translation is not None:
            assert_same(progress.translation, expected)
            break


@pytest.mark.parametrize("options", OPTION_SETS, ids=lambda way: " ".join(way) or "greedy")
def test_steps_may_run_in_different_threads(translator: Translator, options: dict[str, Any]) -> None:
    expected = translator.translate(TEXT, **options)
    stream = translator.stream(TEXT, **options)
    with ThreadPoolExecutor(1) as first, ThreadPoolExecutor(1) as second:
        for pool in itertools.cycle((first, second)):
            progress = pool.submit(next, stream).result()
            assert pool.submit(_active_watches.get).result() == ()
            assert count_hooks(translator.model) == 0
            if progress.translation is not None:
                assert_same(progress.translation, expected)
                break


def test_interleaved_streams_are_independent(translator: Translator) -> None:
    ways: list[dict[str, Any]] = [
        {"interventions": INTERVENTIONS},
        {},
        {"beam_size": 2},
        {"interventions": INTERVENTIONS[:1]},
    ]
    streams = [translator.stream(TEXT, max_length=9, **options) for options in ways]
    answers: list[Translation | None] = [None] * len(ways)
    while None in answers:
        for place, stream in enumerate(streams):
            progress = next(stream, None)
            if progress is not None and progress.translation is not None:
                answers[place] = progress.translation
    for options, answer in zip(ways, answers, strict=True):
        assert answer is not None
        assert_same(answer, translator.translate(TEXT, max_length=9, **options))


def test_error_is_raised_at_first_step(translator: Translator) -> None:
    stream = translator.stream("  ")
    with pytest.raises(RequestError, match="no text yet"):
        next(stream)
    assert list(stream) == []
