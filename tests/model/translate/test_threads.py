"""Threads share one translator: independent results and an unchanged model."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import numpy as np
import pytest

from headlight.model.records import KINDS, Intervention, Translation
from headlight.model.translate.packed_model import StepWeights
from headlight.model.translate.translator import Translator
from tests.tiny import SENTENCES, count_hooks, tiny_translator

RUNS = 20  # of each thread
REMOVE = (Intervention(kind="cross", layer=1, head=None, action="remove"),)
UNIFORM = (
    Intervention(kind="decoder", layer=0, head=3, action="uniform"),
    Intervention(kind="encoder", layer=1, head=None, action="scale", amount=0.2),
)
OPTION_SETS: list[dict[str, Any]] = [
    {},
    {"interventions": REMOVE},
    {"beam_size": 2, "capture": ("**.cross_attention.scores",)},
    {"interventions": UNIFORM},
]


@pytest.fixture
def _frequent_switches() -> Iterator[None]:
    """Switch threads a hundred times as often as by default, to provoke races."""
    default = sys.getswitchinterval()
    sys.setswitchinterval(5e-5)
    yield
    sys.setswitchinterval(default)


def assert_same(one: Translation, other: Translation) -> None:
    assert one.target_tokens == other.target_tokens
    for kind in KINDS:
        assert np.array_equal(one.attention.of(kind), other.attention.of(kind))
    assert set(one.captured) == set(other.captured)
    for name, array in one.captured.items():
        assert np.array_equal(array, other.captured[name]), name


def run_in_threads(work: Callable[[int], None], threads: int) -> None:
    """Run all threads at once; raise their errors here."""
    barrier = Barrier(threads)

    def start(place: int) -> None:
        barrier.wait(timeout=60)
        work(place)

    with ThreadPoolExecutor(threads) as pool:
        for future in [pool.submit(start, place) for place in range(threads)]:
            future.result()


@pytest.mark.usefixtures("_frequent_switches")
@pytest.mark.parametrize("weights", ["plain", "float16"])
def test_threads_with_interventions_get_own_results(weights: StepWeights) -> None:
    translator = tiny_translator(step_weights=weights)
    texts = SENTENCES[:3]
    expected = [[translator.translate(text, max_length=6, **way) for text in texts] for way in OPTION_SETS]
    tokens = {tuple(token.id for answer in answers for token in answer.target_tokens) for answers in expected}
    assert len(tokens) == len(OPTION_SETS)  # results differ, so that a mix-up is detected

    def work(place: int) -> None:
        for run in range(RUNS):
            text = run % len(texts)
            assert_same(translator.translate(texts[text], max_length=6, **OPTION_SETS[place]), expected[place][text])

    run_in_threads(work, len(OPTION_SETS))
    assert count_hooks(translator.model) == 0


@pytest.mark.usefixtures("_frequent_switches")
def test_streaming_and_translating_threads_are_independent() -> None:
    translator = tiny_translator()
    expected = [translator.translate(SENTENCES[0], max_length=5, **way) for way in OPTION_SETS]

    def work(place: int) -> None:
        for run in range(RUNS // 2):
            if run % 2:
                *_, last = translator.stream(SENTENCES[0], max_length=5, **OPTION_SETS[place])
                assert last.translation is not None
                assert_same(last.translation, expected[place])
            else:
                next(translator.stream(SENTENCES[0], **OPTION_SETS[place]))  # an abandoned stream
                assert_same(translator.translate(SENTENCES[0], max_length=5, **OPTION_SETS[place]), expected[place])

    run_in_threads(work, len(OPTION_SETS))
    assert count_hooks(translator.model) == 0


@pytest.mark.usefixtures("_frequent_switches")
@pytest.mark.parametrize("positions", ["sinusoidal", "rotary"])
def test_position_tables_grow_safely_in_threads(positions: str) -> None:
    """Positions beyond 64 need a larger table, which all threads create at once."""
    options: dict[str, Any] = {"max_length": 200, "positions": positions, "ends": -50.0}
    expected = tiny_translator(**options).translate(SENTENCES[2], max_length=70)
    assert len(expected.target_tokens) == 70
    translator = tiny_translator(**options)
    answers = dict[int, Translation]()

    def work(place: int) -> None:
        answers[place] = translator.translate(SENTENCES[2], max_length=70)

    run_in_threads(work, 4)
    for answer in answers.values():
        assert_same(answer, expected)


def test_translating_does_not_change_translator() -> None:
    translator = tiny_translator(step_weights="float32")

    def state(translator: Translator) -> list[tuple[str, set[str]]]:
        return [("", set(vars(translator))), *((name, set(vars(m))) for name, m in translator.model.named_modules())]

    before = state(translator)
    for way, text in itertools.product(OPTION_SETS, SENTENCES[:2]):
        translator.translate(text, max_length=6, **way)
    assert state(translator) == before
