"""Counts of classes: who may see them, their limits, their end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from threading import Thread
from typing import Any

import pytest

from headlight.viz.errors import PageError
from headlight.viz.lessons.quiz.class_calls import STAGES, counter_key, make_class_calls
from headlight.viz.lessons.quiz.forms import FORMS, ITEMS, read_quiz
from headlight.viz.page import Page, build_page
from headlight.viz.server.visitors import VISITOR
from headlight.viz.service import class_scores as module
from headlight.viz.service.class_scores import CLASS_TTL_SECONDS, CODE_LENGTH, LETTERS, ClassScores
from headlight.viz.service.request_queue import Visitor
from headlight.viz.settings import Settings
from headlight.viz.tabs.learn import build

ANSWER = {"stage": "before", "form": "A", "item": "dot", "outcome": "turned"}
Calls = dict[str, Callable[[dict[str, Any]], dict[str, Any]]]


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def scores(clock: Clock) -> ClassScores:
    return ClassScores(clock=clock)


@pytest.fixture
def calls(scores: ClassScores) -> Calls:
    writing, reading = make_class_calls(scores)
    return {call.__name__: call for call in (*writing, *reading)}  # type: ignore[attr-defined, misc]


def word(call: Callable[[], object]) -> str:
    with pytest.raises(PageError) as caught:
        call()
    return caught.value.word


def test_a_class_counts_answers_and_shows_them_to_the_owner_of_the_secret(calls: Calls) -> None:
    group = calls["make_class"]({})
    assert len(group["code"]) == CODE_LENGTH
    assert set(group["code"]) <= set(LETTERS)
    assert calls["join_class"]({"code": group["code"].lower()}) == {"code": group["code"]}
    for outcome in ("turned", "right", "turned", "unknown"):
        assert calls["add_class_answer"](group | ANSWER | {"outcome": outcome}) == {}
    expected = {"before.A.dot.turned": 2, "before.A.dot.right": 1, "before.A.dot.unknown": 1}
    assert calls["read_class"](group) == {"counts": expected}
    assert calls["delete_class"](group) == {}
    assert word(lambda: calls["read_class"](group)) == "class_gone"
    assert word(lambda: calls["add_class_answer"](group | ANSWER)) == "class_gone"


@pytest.mark.parametrize("secret", [None, "", "wrong", 5, ["x"]])
def test_without_the_secret_counts_are_neither_shown_nor_deleted(calls: Calls, secret: object) -> None:
    group = calls["make_class"]({})
    for name in ("read_class", "delete_class"):
        values = {"code": group["code"]} | ({} if secret is None else {"secret": secret})
        assert word(lambda name=name, values=values: calls[name](values)) == "class_gone"  # type: ignore[misc]
    assert calls["read_class"](group) == {"counts": {}}


@pytest.mark.parametrize("code", [None, "", "AAAAA", "BBBBB", "BBBB", 7, ["B"] * 5, "x" * 999, "\ud800BBBB"])
def test_unknown_codes_say_so(calls: Calls, code: object) -> None:
    assert word(lambda: calls["join_class"]({"code": code})) == "class_gone"
    assert word(lambda: calls["add_class_answer"](ANSWER | {"code": code})) == "class_gone"


@pytest.mark.parametrize("name", ANSWER)
@pytest.mark.parametrize("value", [None, "", "no such", 3, ["dot"], "a" * 999])
def test_only_known_answers_are_counted(calls: Calls, name: str, value: object) -> None:
    group = calls["make_class"]({})
    with pytest.raises(PageError) as caught:
        calls["add_class_answer"](group | ANSWER | {name: value})
    assert caught.value.field == name
    assert calls["read_class"](group) == {"counts": {}}


def test_the_number_of_different_counts_is_bounded() -> None:
    """One name for each stage, form, question and outcome: a class takes little memory, whatever is sent."""
    forms = read_quiz({})["forms"]
    names = {
        counter_key({"stage": stage, "form": form, "item": item.name, "outcome": outcome})
        for stage in STAGES
        for form in FORMS
        for item in ITEMS
        for outcome in [each["name"] for each in forms[form][item.name]["outcomes"]] + ["other", "unknown"]
    }
    assert 3 * 3 * 12 * 5 <= len(names) <= 3 * 3 * 12 * 8


def test_a_class_ends_by_itself(calls: Calls, clock: Clock) -> None:
    group = calls["make_class"]({})
    clock.now += CLASS_TTL_SECONDS - 1
    assert calls["add_class_answer"](group | ANSWER) == {}
    clock.now += 1
    assert word(lambda: calls["read_class"](group)) == "class_gone"


def test_classes_and_answers_are_limited(
    scores: ClassScores, calls: Calls, monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    monkeypatch.setattr(module, "MAX_CLASSES", 5)
    monkeypatch.setattr(module, "MAX_CLASSES_PER_ADDRESS", 2)
    monkeypatch.setattr(module, "MAX_ANSWERS", 3)
    group = calls["make_class"]({})
    calls["make_class"]({})
    assert word(lambda: calls["make_class"]({})) == "classes_full"  # of this address
    VISITOR.set(Visitor("other"))
    for address in ("b", "b", "c"):
        scores.create(address)
    assert word(lambda: calls["make_class"]({})) == "classes_full"  # of all
    for _ in range(3):
        calls["add_class_answer"](group | ANSWER)
    assert word(lambda: calls["add_class_answer"](group | ANSWER)) == "class_full"
    clock.now += CLASS_TTL_SECONDS
    assert calls["make_class"]({})["code"]


def test_answers_of_many_students_at_once_are_all_counted(calls: Calls) -> None:
    group = calls["make_class"]({})

    def answer() -> None:
        for _ in range(200):
            calls["add_class_answer"](group | ANSWER)

    threads = [Thread(target=answer) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert calls["read_class"](group)["counts"] == {"before.A.dot.turned": 1600}


class SilentCache:
    """A shared cache that does not answer."""

    def command(self, *arguments: object) -> None:
        return None


def test_a_cache_that_does_not_answer_is_named() -> None:
    scores = ClassScores(SilentCache())  # type: ignore[arg-type]
    for _ in range(module.MAX_CLASSES_PER_ADDRESS + 1):  # a failure does not count
        assert word(lambda: scores.create("a")) == "class_unreachable"
    assert word(lambda: scores.add("BBBBB", "name")) == "class_unreachable"


def test_calls_that_write_wait_in_the_request_queue_with_its_limits_for_each_address() -> None:
    async def build_blocks() -> Page:  # in a loop: outside, Gradio leaves some open
        return build_page(Settings(model="toy"), {"learn": build})

    calls = asyncio.run(build_blocks()).calls.calls
    waiting = {name for name, call in calls.items() if "class" in name and call.computes}
    assert waiting == {"make_class", "join_class", "add_class_answer"}
    assert not any(calls[name].computes for name in ("read_quiz", "read_class", "delete_class"))
