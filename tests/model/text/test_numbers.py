"""Numbers of a text: digits, words and clock times in three languages, and which of two sides the other one lacks."""

from __future__ import annotations

import random

import pytest

from headlight.model.text.numbers import numbers_in, unanswered
from headlight.model.training.templates.numerals import chinese, english, german


@pytest.mark.parametrize(("language", "write"), [("de", german), ("en", english), ("zh", chinese)])
def test_every_number_in_words_is_read_as_what_it_was_written_from(language: str, write: object) -> None:
    chosen = random.Random(1)  # noqa: S311 - the same numbers in every run
    for number in [*range(1300), *(chosen.randrange(10**6) for _ in range(300))]:
        text = write(number)  # type: ignore[operator]
        assert [each.value for each in numbers_in(text, language)] == [number], text


@pytest.mark.parametrize(
    ("language", "text", "values"),
    [
        ("de", "Das Dorf hat 2.300 Einwohner.", [2300]),
        ("en", "It has 2.300 residents.", [2.3]),  # a point marks decimals in English
        ("de", "Es kostet 7,80 Euro.", [7.8]),
        ("en", "It costs 7.80 euros.", [7.8]),
        ("de", "Es kostet 3 Euro 20.", [3.2]),
        ("zh", "只剩百分之十五的电了。", [15]),
        ("zh", "从六月二十二日开始，星期三关门。", [22]),  # neither the month nor the weekday
        ("de", "am zweiundzwanzigsten Juni", [22]),
        ("en", "on the twenty-second of June", [22]),
        ("en", "It ended two to one.", [2, 1]),
    ],
)
def test_values_by_hand(language: str, text: str, values: list[float]) -> None:
    assert [each.value for each in numbers_in(text, language)] == values


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("de", "Der Laden macht um halb neun auf."), ("en", "The shop opens at half past eight.")),
        (("de", "um Viertel vor sechs"), ("en", "at a quarter to six")),
        (("de", "um Viertel vor acht"), ("en", "at quarter before eight")),
        (("de", "um zwanzig nach sieben"), ("zh", "七点二十分")),
        (("de", "um 14:15 Uhr"), ("en", "at 2:15 p.m.")),
        (("zh", "八点半开门"), ("en", "opens at 8:30")),
        (("de", "um sieben Uhr"), ("en", "at seven")),
        (("de", "Ein Mann und eine Frau"), ("en", "A man and a woman")),
        (("de", "zum zweiten Mal"), ("en", "for the second time")),
    ],
)
def test_sides_that_say_the_same_lack_nothing(one: tuple[str, str], other: tuple[str, str]) -> None:
    (here, first), (there, second) = one, other
    assert unanswered(numbers_in(first, here), numbers_in(second, there)) == ([], [])


def test_a_number_that_differs_is_told_with_its_place() -> None:
    german_text, english_text = "Es sind achtzehn Jungen.", "There are eight boys."
    here, there = unanswered(numbers_in(german_text, "de"), numbers_in(english_text, "en"))
    assert [german_text[each.start : each.end] for each in here] == ["achtzehn"]
    assert [english_text[each.start : each.end] for each in there] == ["eight"]
    assert unanswered(numbers_in("halb neun", "de"), numbers_in("at 2:30", "en"))[0]
