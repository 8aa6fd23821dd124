"""Numbers in texts: digits, words and clock times in three languages, and differences of two texts."""

from __future__ import annotations

import random

import pytest

from headlight.model.text.number_words import SMALL, TENS
from headlight.model.text.numbers import find_numbers, unmatched_numbers
from workshop.data.templates.numerals import chinese, english, german


@pytest.mark.parametrize(("language", "write"), [("de", german), ("en", english), ("zh", chinese)])
def test_number_words_are_parsed(language: str, write: object) -> None:
    rng = random.Random(1)  # noqa: S311 - the same numbers in every run
    for number in [*range(1300), *(rng.randrange(10**6) for _ in range(300))]:
        text = write(number)  # type: ignore[operator]
        assert [each.value for each in find_numbers(text, language)] == [number], text


def french(number: int) -> str:
    """A number below a million in the French of France."""
    ones, tens = SMALL["fr"].split(), TENS["fr"].split()
    if number <= 16:
        return ones[number]
    if number < 20:
        return f"dix-{ones[number - 10]}"
    if number < 70:
        ten, one = tens[number // 10 - 2], number % 10
        return ten if not one else f"{ten} et un" if one == 1 else f"{ten}-{ones[one]}"
    if number < 80:
        return "soixante et onze" if number == 71 else f"soixante-{french(number - 60)}"
    if number < 100:
        return "quatre-vingts" if number == 80 else f"quatre-vingt-{french(number - 80)}"
    for size, name in ((1000, "mille"), (100, "cent")):
        if number >= size:
            count, rest = divmod(number, size)
            return " ".join([french(count)] * (count > 1) + [name] + [french(rest)] * (rest > 0))
    raise AssertionError(number)


def test_french_number_words_are_parsed_with_or_without_hyphens() -> None:
    rng = random.Random(2)  # noqa: S311 - the same numbers in every run
    for number in [*range(1300), *(rng.randrange(10**6) for _ in range(300))]:
        for text in (french(number), french(number).replace(" ", "-"), french(number).replace("-", " ")):
            assert [each.value for each in find_numbers(text, "fr")] == [number], text


@pytest.mark.parametrize(
    ("language", "text", "values"),
    [
        ("de", "Das Dorf hat 2.300 Einwohner.", [2300]),
        ("en", "It has 2.300 residents.", [2.3]),  # a point marks decimals in English
        ("de", "Es kostet 7,80 Euro.", [7.8]),
        ("en", "It costs 7.80 euros.", [7.8]),
        ("de", "Es kostet 3 Euro 20.", [3.2]),
        ("de", "fuenfundzwanzig, zwolfhundert, dreissig, am funften", [25, 1200, 30, 5]),  # typed without umlauts
        ("de", "am zwoelften Maerz", [12, 3]),
        ("zh", "只剩百分之十五的电了。", [15]),
        ("zh", "从六月二十二日开始，星期三关门。", [6, 22]),  # not the weekday
        ("de", "am zweiundzwanzigsten Juni", [22, 6]),
        ("en", "on the twenty-second of June", [22, 6]),
        ("zh", "大一点三岁，我一点一点地学，两点一起去，十一起事故，一点五个人", [3, 60, 120, 11, 60, 5]),
        ("zh", "周六九点，零下九度，七手八脚", [540, 9]),
        ("zh", "23欧元40欧分，十二欧元五十欧分，三块五，三块五个人", [23.4, 12.5, 3.5, 3, 5]),
        ("en", "23 euros and 40 cents, two dollars fifty, in 3 dollars 20 people", [23.4, 2.5, 3.2]),
        ("fr", "en mil neuf cent vingt", [1920]),
        ("zh", "十一月，11月，１１月，12 月，三个月，二三月，月亮", [11, 11, 11, 12, 3]),
        ("en", "May I march to the Mars bar, June?", [5, 6]),  # both are unsure
        ("en", "in may, on March 3, Nov. 11, 2024", [5, 3, 3, 11, 11, 2024]),
        ("fr", "le 2 août et le 3 mars", [2, 8, 3, 3]),
        ("de", "am 3.11., am 3.11.2024, am 03.11.24", [3, 11, 3, 11, 2024, 3, 11, 2024]),
        ("en", "It costs 3.11. Version 1.2.3", [3.11, 1.2, 3]),
        ("en", "It ended two to one.", [2, 1]),
        ("fr", "Le premier des trois mille deux cents.", [1, 3200]),
        ("fr", "le vingt-deuxième, le troisième, la neuvième, la cinquième", [22, 3, 9, 5]),
        ("fr", "Il est sept heures moins le quart, pas huit heures et demie.", [405, 510]),
        ("fr", "Rendez-vous à 14h15, ou à 8 h.", [135, 480]),
        ("fr", "En 1990, 300 personnes ont payé 1 250,50 euros.", [1990, 300, 1250.5]),
        ("de", "Im Jahr 2020 300 Leute", [2020, 300]),
        ("zh", "三点五公里，百分之三点五，一百五", [3.5, 3.5, 150]),
        ("zh", "三点零五分，三点五分，六点三刻", [185, 185, 405]),
        ("zh", "3万5千，1亿2000万，２．５万", [35000, 120_000_000, 25000]),
    ],
)
def test_values_by_hand(language: str, text: str, values: list[float]) -> None:
    assert [each.value for each in find_numbers(text, language)] == values


@pytest.mark.parametrize(
    ("source", "target"),
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
        (("de", "1.250 Euro"), ("en", "1,250 euros")),
        (("de", "1.250,50 Euro"), ("en", "1,250.5 euros")),
        (("de", "1.250 Euro"), ("fr", "1\u202f250 euros")),
        (("de", "1’250 Franken"), ("en", "1250 francs")),
        (("en", "1,250 yuan"), ("zh", "１２５０元")),
        (("en", "1,250 yuan"), ("zh", "１，２５０元")),
        (("en", "30,000 people"), ("zh", "3万人")),
        (("en", "two and a half million"), ("zh", "250万")),
        (("de", "3 Millionen Einwohner"), ("en", "3 million inhabitants")),
        (("de", "zwei Milliarden"), ("en", "two billion")),
        (("de", "2,5 Mio. Euro"), ("fr", "2,5 millions d'euros")),
        (("de", "zweieinhalb Stunden"), ("en", "two and a half hours")),
        (("zh", "两个半小时"), ("en", "two and a half hours")),
        (("de", "anderthalb Stunden"), ("en", "an hour and a half")),
        (("fr", "quatre-vingt-dix-sept ans"), ("en", "ninety-seven years")),
        (("fr", "deux ans et demi"), ("en", "two and a half years")),
        (("fr", "à sept heures et quart"), ("en", "at a quarter past seven")),
        (("fr", "à midi"), ("de", "um 12 Uhr")),
        (("fr", "J'attends depuis une heure."), ("en", "I have been waiting for an hour.")),
        (("fr", "un vélo neuf"), ("en", "a new bike")),
        (("zh", "请说慢一点。"), ("en", "Please speak a little slower.")),
        (("zh", "这一点也不难。"), ("en", "This is not difficult at all.")),
        (("zh", "晚上一点胃口也没有。"), ("en", "No appetite at all tonight.")),
        (("zh", "今天下午一点空都没有。"), ("en", "There is no free minute this afternoon.")),
        (("zh", "只要十分钟。"), ("en", "It only takes ten minutes.")),
        (("zh", "这兄弟俩十分像。"), ("en", "The two brothers are very much alike.")),
        (("zh", "我第二天买了一辆二手车。"), ("en", "The next day I bought a used car.")),
        (("zh", "课程星期一九点开始。"), ("en", "The course starts on Monday at nine o'clock.")),
        (("de", "12,50 Euro"), ("en", "twelve euros fifty")),
        (("zh", "会议一点开始。"), ("en", "The meeting begins at one o'clock.")),
        (("zh", "我的生日是11月3日。"), ("en", "My birthday is November 3.")),
        (("zh", "十一月很冷。"), ("de", "Der November ist kalt.")),
        (("de", "am 3.11.2024"), ("en", "on November 3, 2024")),
        (("fr", "le 11 novembre"), ("zh", "11月11日")),
        (("en", "He may come."), ("zh", "他可能来。")),
        (("en", "June called me."), ("zh", "琼给我打了电话。")),
        (("fr", "Mars est une planète."), ("en", "Mars is a planet.")),
    ],
)
def test_equal_numbers_match(source: tuple[str, str], target: tuple[str, str]) -> None:
    (source_language, source_text), (target_language, target_text) = source, target
    assert unmatched_numbers(
        find_numbers(source_text, source_language), find_numbers(target_text, target_language)
    ) == ([], [])


@pytest.mark.parametrize("text", ["下午一点见。", "现在一点钟。", "凌晨一点，一点半，一点二十分"])
def test_one_oclock_is_a_time_if_the_context_is(text: str) -> None:
    assert all(each.clock and each.required for each in find_numbers(text, "zh"))
    assert unmatched_numbers(find_numbers(text, "zh"), find_numbers("See you at two.", "en"))[0]


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (("fr", "Il a vingt-deux ans."), ("en", "He is twenty-three years old.")),
        (("de", "1.250 Euro"), ("en", "1.250 euros")),
        (("zh", "3万人"), ("en", "3,000 people")),
        (("de", "3 Millionen"), ("en", "3 billion")),
        (("fr", "à huit heures et demie"), ("en", "at eight")),
        (("zh", "11月很冷。"), ("en", "December is cold.")),
        (("de", "im Mai"), ("en", "in June")),
    ],
)
def test_different_numbers_do_not_match(source: tuple[str, str], target: tuple[str, str]) -> None:
    (source_language, source_text), (target_language, target_text) = source, target
    assert all(
        unmatched_numbers(find_numbers(source_text, source_language), find_numbers(target_text, target_language))
    )


def test_unmatched_numbers_have_offsets() -> None:
    german_text, english_text = "Es sind achtzehn Jungen.", "There are eight boys."
    missing_in_english, missing_in_german = unmatched_numbers(
        find_numbers(german_text, "de"), find_numbers(english_text, "en")
    )
    assert [german_text[each.start : each.end] for each in missing_in_english] == ["achtzehn"]
    assert [english_text[each.start : each.end] for each in missing_in_german] == ["eight"]
    assert unmatched_numbers(find_numbers("halb neun", "de"), find_numbers("at 2:30", "en"))[0]
