"""The questions of the quiz: keys, clear options, phrases. A plain translator computes every key again."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from headlight.model.training.build_lesson.sentence_numbers import sentence_trace
from headlight.model.training.build_lesson.sentences import PAIRS
from headlight.viz.figure_phrases import LANGUAGES, phrases
from headlight.viz.lessons.quiz.case import CLEAR_PAIRS, Case, Item
from headlight.viz.lessons.quiz.forms import FORMS, ITEMS, read_quiz
from headlight.viz.lessons.quiz.question import MIN_GAP, TOLERANCE, Question
from tests.viz.lessons import plain_translator as plain

DICTIONARY = {"我": "I", "喜欢": "like", "书": "book", "诗": "poem", "你": "you", "读": "read", "他们": "they"}
MISCONCEPTIONS = {"direction", "softmax", "scale", "padding", "explanation", "shift", "order"}
SEEDS = 1000
ROUNDING = 0.005  # of a number with two decimals
LINES: Mapping[str, Callable[[Any], Any]] = {
    "s.softmax(-2)": lambda s: np.array([plain.softmax(list(column)) for column in s.T]).T,
    "s / s.sum(-1, keepdim=True)": lambda s: [[number / sum(row) for number in row] for row in s],
    "s.exp() / s.sum(-1, keepdim=True)": lambda s: [[math.exp(number) / sum(row) for number in row] for row in s],
    "s.exp() / s.exp().sum()": lambda s: np.exp(s) / sum(math.exp(number) for row in s for number in row),
}


def draw(item: Item, seed: int | str) -> tuple[Question, Case]:
    """A question and the case that it was made from."""
    cases = []

    def make(case: Case) -> Question | None:
        cases.append(case)
        return item.make(case)

    return replace(item, make=make).question(seed), cases[-1]


def places(case: Case, *words: Any) -> list[int]:
    return [case.pair.source.index(word) for word in words]


def raw_scores(case: Case) -> Any:
    x = plain.embedded_source(case.pair.source)
    return np.array(plain.head_scores("encoder", case.head, x, x))


def scaled(case: Case) -> Any:
    return raw_scores(case) / math.sqrt(2)


# Each returns the right numbers, options or cells, computed from the case by the plain translator.


def dot(question: Question, case: Case) -> Any:
    asking, other = places(case, question.values["asking"], question.values["other"])
    vectors = np.array(question.tables[0].cells)
    x = plain.embedded_source(case.pair.source)
    query, key = (
        x[place] @ plain.part(f"encoder.{name}", case.head) for name, place in (("query", asking), ("key", other))
    )
    assert vectors[0, :2] == pytest.approx(query, abs=1e-6)  # two decimals are exact, so that a sum by hand is
    assert vectors[1, 2:] == pytest.approx(key, abs=1e-6)
    return [vectors[0, 0] * vectors[1, 2] + vectors[0, 1] * vectors[1, 3]]


def swapped(question: Question, case: Case) -> Any:
    row, column = places(case, question.values["row"], question.values["column"])
    assert np.array(question.tables[0].cells) == pytest.approx(raw_scores(case), abs=ROUNDING + 1e-6)
    assert question.tables[0].cells[column][row] == pytest.approx(question.key[0], abs=ROUNDING + 1e-6)  # type: ignore[misc]
    return [raw_scores(case)[column, row]]


def softmax(question: Question, case: Case) -> Any:
    (row,) = places(case, question.values["asking"])
    by_hand = plain.softmax(list(question.tables[0].cells[0]))  # of the numbers with two decimals
    assert by_hand == pytest.approx(question.key, abs=TOLERANCE / 2)
    return plain.softmax(list(scaled(case)[row]))


def padding(question: Question, case: Case) -> Any:
    row, column = places(case, question.values["asking"], question.values["other"])
    count = len(case.pair.source)
    printed = question.tables[0].cells[0]
    assert len(printed) == 6
    assert list(printed[:count]) == pytest.approx(scaled(case)[row], abs=ROUNDING + 1e-6)
    assert plain.softmax(list(printed[:count]))[column] == pytest.approx(question.key[0], abs=TOLERANCE / 2)  # type: ignore[misc]
    return [plain.softmax(list(scaled(case)[row]))[column]]


def scale(question: Question, case: Case) -> Any:
    row, first, second = places(case, *(question.values[name] for name in ("asking", "first", "second")))
    weights = plain.softmax(list(scaled(case)[row]))
    ratio = weights[first] / weights[second]
    numbers = sorted(float(option) for option in question.options)
    assert np.diff(numbers).min() >= MIN_GAP
    printed = question.tables[0].cells[0]
    by_hand = math.exp((printed[0] - printed[1]) / math.sqrt(2))
    assert min(numbers, key=lambda number: abs(number - by_hand)) == min(
        numbers, key=lambda number: abs(number - ratio)
    )
    return [option for option in question.options if abs(float(option) - by_hand) <= ROUNDING + 1e-9]


def bug(question: Question, case: Case) -> Any:
    printed = np.array(question.tables[0].cells)
    right = []
    for line in question.options:
        weights = np.array(LINES[line](scaled(case)))
        sums = np.stack([weights.sum(1), weights.sum(0)], axis=1)
        is_same = np.abs(sums - printed).max() <= ROUNDING + 1e-4
        if is_same:
            assert weights.min() == pytest.approx(question.values["smallest"], abs=1e-4)
            assert weights.min() < 0 or np.abs(sums[:, 0] - 1).max() > TOLERANCE  # the test fails
        right += [line] if is_same else []
    return right


def explains(question: Question, case: Case) -> Any:
    printed = np.array(question.tables[0].cells)
    read = ("start", *case.pair.target)
    for row, word in enumerate(case.pair.target):  # the row is not named: find it by its numbers
        without = [plain.probabilities(case.pair.source, read, key)[row][word] for key in range(len(printed))]
        if np.abs(printed[:, 1] - without).max() <= ROUNDING + 1e-4:
            assert plain.probabilities(case.pair.source, read)[row][word] == pytest.approx(
                question.values["probability"], abs=1e-4
            )
            assert int(printed[:, 0].argmax()) != int(np.argmin(without))
            ordered = sorted(without)
            assert ordered[1] - ordered[0] > 0.1
            return ["abcdef"[int(np.argmin(without))]]
    raise AssertionError("no row of the sentence has these numbers")


def sides(question: Question, case: Case) -> Any:
    read = ["start", *str(question.values["words"]).split()]
    assert question.values["count"] == len(case.pair.source)
    return [option for option in question.options if option == f"{len(read)} × {len(case.pair.source)}"]


def query(question: Question, case: Case) -> Any:
    read = ("start", *str(question.values["words"]).split())
    states = plain.decoder_states(read)
    assert plain.likeliest(plain.probabilities(case.pair.source, read)[-1]) == question.values["word"]
    changed = plain.decoder_states((*read[:-1], "end"))
    assert not np.allclose(states[-1], changed[-1])  # the query's state is that of the last word
    assert np.allclose(states[:-1], changed[:-1])
    return [option for option in question.options if option.removeprefix("@") == read[-1]]


def mask(question: Question, case: Case) -> Any:
    read = ("start", *case.pair.target)[: len(question.rows)]
    hidden = set()
    for column in range(len(read)):
        changed = plain.decoder_states((*read[:column], "end", *read[column + 1 :]))
        states = plain.decoder_states(read)
        hidden |= {(row, column) for row in range(len(read)) if np.allclose(states[row], changed[row])}
    assert hidden == {(row, column) for row in range(len(read)) for column in range(row + 1, len(read))}
    return hidden


def shift(question: Question, case: Case) -> Any:
    rows = plain.probabilities(case.pair.source, ("start", *case.pair.target))[: len(question.rows)]
    outputs = [plain.likeliest(row) for row in rows]
    assert outputs == list(case.pair.target[: len(outputs)])
    columns = [column.removeprefix("@") for column in question.columns]
    assert len(set(columns)) == len(columns)
    return {(row, columns.index(word)) for row, word in enumerate(outputs)}


def order(question: Question, case: Case) -> Any:
    read = ("start", *case.pair.target)
    predicted = [plain.likeliest(row) for row in plain.probabilities(case.pair.source, read)]
    outputs = [predicted[read.index(row.removeprefix("@"))] for row in question.rows]
    assert sorted(outputs) == sorted(DICTIONARY[word] for word in case.pair.source if word in DICTIONARY)
    return {
        (row, column)
        for row, word in enumerate(outputs)
        for column, source in enumerate(question.columns)
        if DICTIONARY.get(source) == word
    }


CHECKS: dict[str, Callable[[Question, Case], Any]] = {
    check.__name__: check
    for check in (dot, swapped, softmax, bug, scale, padding, explains, order, shift, mask, sides, query)
}


def check_question(item: Item, seed: int | str) -> None:
    question, case = draw(item, seed)
    expected = CHECKS[item.name](question, case)
    mistakes = [outcome.answer for outcome in question.outcomes[1:]]
    assert question.outcomes[0].name == "right"
    assert len(mistakes) >= 2
    if question.kind == "numbers":
        assert list(question.key) == pytest.approx(list(expected), abs=1e-4)
        gaps = [np.abs(np.subtract(mistake, question.key)).max() for mistake in mistakes]  # type: ignore[call-overload]
        assert min(gaps) > 2 * TOLERANCE
    elif question.kind == "choice":
        assert expected == [question.key]
        assert len(set(question.options)) == len(question.options)
        assert {question.key, *mistakes} <= set(question.options)
    else:
        assert question.key == frozenset(expected)
        assert question.key not in mistakes


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.name)
def test_a_thousand_seeds_have_no_wrong_key_and_no_second_right_answer(item: Item) -> None:
    for seed in range(SEEDS):
        check_question(item, seed)


def test_the_plain_translator_has_the_same_weights_and_translations() -> None:
    for pair in PAIRS[::9]:
        trace = sentence_trace(pair)
        read = ("start", *pair.target)
        shares = plain.head_weights("cross", 1, plain.decoder_states(read), plain.encode(pair.source), plain.everything)
        assert trace["cross.shares"][1] == pytest.approx(np.array(shares), abs=1e-4)
        outputs = [plain.likeliest(row) for row in plain.probabilities(pair.source, read)]
        assert outputs == [*pair.target, "end"]


def test_forms_ask_the_same_with_other_numbers() -> None:
    answer = json.loads(json.dumps(read_quiz({})))
    forms = answer["forms"]
    assert answer["items"] == [item.name for item in ITEMS]
    assert len(ITEMS) == 12
    for item in ITEMS:
        asked = [forms[form][item.name] for form in FORMS]
        assert len({question["kind"] for question in asked}) == 1
        printed = [
            (question["values"], question["tables"], question["options"], question["rows"]) for question in asked
        ]
        assert len({json.dumps(each) for each in printed}) == len(FORMS), item.name
        tables = {json.dumps(question["tables"]) for question in asked}
        assert len(tables) == (len(FORMS) if asked[0]["tables"] else 1), item.name
    assert {item.misconception for item in ITEMS} == MISCONCEPTIONS
    assert all(len(set(pair.source)) == len(pair.source) for pair in CLEAR_PAIRS)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_question_and_every_mistake_has_its_words(language: str) -> None:
    table = phrases(language)
    used = set()
    for item in ITEMS:
        used |= {f"quiz_name_{item.name}", f"quiz_ask_{item.name}"}
        for seed in range(40):
            question = item.question(seed)
            for key in [f"quiz_ask_{item.name}", *(f"quiz_why_{item.name}_{each.name}" for each in question.outcomes)]:
                used.add(key)
                assert "{" not in table[key].format(**question.values), key
            labels = [*question.rows, *question.columns, *question.labels, *question.options]
            labels += [label for table in question.tables for label in (*table.rows, *table.columns)]
            for label in labels:
                for word in [word[1:] for word in label.split() if word.startswith("@")]:
                    assert f"quiz_word_{word}" in table
    own = {key for key in table if key.startswith(("quiz_name_", "quiz_ask_", "quiz_why_"))}
    assert own == used


def test_an_item_without_clear_cases_says_so() -> None:
    with pytest.raises(ValueError, match="no clear question"):
        Item("none", "order", lambda case: None).question(1)
