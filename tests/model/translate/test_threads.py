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
WAYS: list[dict[str, Any]] = [
    {},
    {"interventions": REMOVE},
    {"beam_size": 2, "capture": ("**.cross_attention.scores",)},
    {"interventions": UNIFORM},
]


@pytest.fixture
def _restless() -> Iterator[None]:
    """Threads take turns a hundred times as often as usual, so that whatever can collide does."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(5e-5)
    yield
    sys.setswitchinterval(usual)


def assert_same(one: Translation, other: Translation) -> None:
    assert one.target_tokens == other.target_tokens
    for kind in KINDS:
        assert np.array_equal(one.attention.of(kind), other.attention.of(kind))
    assert set(one.captured) == set(other.captured)
    for name, array in one.captured.items():
        assert np.array_equal(array, other.captured[name]), name


def in_threads(work: Callable[[int], None], threads: int) -> None:
    """All at once; whatever fails in one of them fails here."""
    barrier = Barrier(threads)

    def start(place: int) -> None:
        barrier.wait(timeout=60)
        work(place)

    with ThreadPoolExecutor(threads) as pool:
        for future in [pool.submit(start, place) for place in range(threads)]:
            future.result()


@pytest.mark.usefixtures("_restless")
@pytest.mark.parametrize("weights", ["plain", "float16"])
def test_four_threads_two_of_them_intervening_each_get_their_own_answer(weights: StepWeights) -> None:
    translator = tiny_translator(step_weights=weights)
    texts = SENTENCES[:3]
    expected = [[translator.translate(text, max_length=6, **way) for text in texts] for way in WAYS]
    tokens = {tuple(token.id for answer in answers for token in answer.target_tokens) for answers in expected}
    assert len(tokens) == len(WAYS)  # a mix-up would be seen

    def work(place: int) -> None:
        for run in range(RUNS):
            text = run % len(texts)
            assert_same(translator.translate(texts[text], max_length=6, **WAYS[place]), expected[place][text])

    in_threads(work, len(WAYS))
    assert count_hooks(translator.model) == 0


@pytest.mark.usefixtures("_restless")
def test_threads_that_stream_and_threads_that_translate_go_side_by_side() -> None:
    translator = tiny_translator()
    expected = [translator.translate(SENTENCES[0], max_length=5, **way) for way in WAYS]

    def work(place: int) -> None:
        for run in range(RUNS // 2):
            if run % 2:
                *_, last = translator.stream(SENTENCES[0], max_length=5, **WAYS[place])
                assert last.translation is not None
                assert_same(last.translation, expected[place])
            else:
                next(translator.stream(SENTENCES[0], **WAYS[place]))  # and left alone
                assert_same(translator.translate(SENTENCES[0], max_length=5, **WAYS[place]), expected[place])

    in_threads(work, len(WAYS))
    assert count_hooks(translator.model) == 0


@pytest.mark.usefixtures("_restless")
@pytest.mark.parametrize("positions", ["sinusoidal", "rotary"])
def test_tables_that_grow_on_the_way_are_right_in_every_thread(positions: str) -> None:
    """Positions beyond 64 make a new table: the first long sentences of all threads make it at once."""
    options: dict[str, Any] = {"max_length": 200, "positions": positions, "ends": -50.0}
    expected = tiny_translator(**options).translate(SENTENCES[2], max_length=70)
    assert len(expected.target_tokens) == 70
    translator = tiny_translator(**options)
    answers = dict[int, Translation]()

    def work(place: int) -> None:
        answers[place] = translator.translate(SENTENCES[2], max_length=70)

    in_threads(work, 4)
    for answer in answers.values():
        assert_same(answer, expected)


def test_a_translator_is_left_as_it_was() -> None:
    translator = tiny_translator(step_weights="float32")

    def state(translator: Translator) -> list[tuple[str, set[str]]]:
        return [("", set(vars(translator))), *((name, set(vars(m))) for name, m in translator.model.named_modules())]

    before = state(translator)
    for way, text in itertools.product(WAYS, SENTENCES[:2]):
        translator.translate(text, max_length=6, **way)
    assert state(translator) == before
