"""Finds the numbers of a text, in digits or in words (German, English, Chinese), and compares source and translation.

A number has a value and its place in the text. Words that are numbers only sometimes ("ein", "second", 一) are unsure:
they may answer a number of the other side, but none has to answer them. Clock times are one number each, in minutes of
half a day, so that "halb neun", "8:30" and 八点半 are equal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

LANGUAGES = ("de", "en", "zh")
HALF_DAY = 720  # minutes
SMALL = {
    "de": "null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn "
    "siebzehn achtzehn neunzehn",
    "en": "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen",
}
TENS = {
    "de": "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig",
    "en": "twenty thirty forty fifty sixty seventy eighty ninety",
}
GERMAN_ORDINALS = {"dritt": "drei", "siebt": "sieben", "acht": "acht"}
ENGLISH_ORDINALS = {
    "third": "three", "fifth": "five", "eighth": "eight", "ninth": "nine", "twelfth": "twelve", "second": "two",
    "first": "one",
}  # fmt: skip
UNSURE = {  # often no number, or one that the other language does not name
    "de": {"ein": 1, "eins": 1, "eine": 1, "einen": 1, "einem": 1, "einer": 1, "dutzend": 12, "beide": 2, "beiden": 2,
           "zweimal": 2, "hundert": 100, "tausend": 1000, "hunderte": 100, "tausende": 1000, "erste": 1, "ersten": 1,
           "achte": 8, "achten": 8, "zweite": 2, "zweiten": 2, "zweiter": 2, "zweites": 2},
    "en": {"one": 1, "dozen": 12, "both": 2, "twice": 2, "second": 2, "seconds": 2, "hundred": 100, "hundreds": 100,
           "thousand": 1000, "thousands": 1000, "first": 1},
}  # fmt: skip
HAN = "零〇一二两三四五六七八九十百千万亿"
HAN_DIGITS = {sign: value for value, sign in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
HAN_UNITS = {"十": 10, "百": 100, "千": 1000}
HAN_OTHER = re.compile(  # signs of numbers that name none, or one of another kind: weekdays, months, set phrases
    f"(?:星期|周|礼拜)[一二三四五六]|百分之|[{HAN}]+月|(?<![{HAN}])(?:万一|千万|十分)(?![{HAN}])|三明治|四川|四周|百货"
)
DIGITS = re.compile(
    r"\d+ (?:Euro|euros?|Dollars?|dollars?) \d\d(?!\d)|\d{1,2}:\d{2}|\d+(?:[.,  ]\d{3})+(?!\d)|\d+(?:[.,]\d+)?"
)
WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
CLOCK = {
    "de": re.compile(
        r"(?P<before>halb)\s+(?P<hour>\w+)|(?P<minute>\w+)\s+(?P<side>vor|nach)\s+(?P<past>\w+)"
        r"|(?P<whole>\w+(?:[:.]\d\d)?)\s+Uhr(?:\s+(?P<rest>\w+))?",
        re.IGNORECASE,
    ),
    "en": re.compile(
        r"(?P<minute>half|a quarter|quarter|[\w-]+)\s+(?P<side>past|after|to|before)\s+(?P<past>\w+)"
        r"|(?P<whole>\w+)\s+o['’]clock|(?P<half>\d{1,2}:\d\d|\d{1,2})\s*[ap]\.?m\b",
        re.IGNORECASE,
    ),
    "zh": re.compile(
        rf"(?P<whole>[\d{HAN}]+)点(?:(?P<half>半)|(?P<quarter>[一三])刻|(?P<rest>[\d{HAN}]+)分?)?(?!儿|心)"
    ),
}
SPOKEN = (5, 10, 15, 20, 25, 30)  # minutes before or after an hour, as people say them
QUARTERS = {"viertel": 15, "quarter": 15, "a quarter": 15, "half": 30}


class Number(NamedTuple):
    """One number of a text, where it stands, and whether the other side must have it."""

    value: float
    start: int
    end: int
    sure: bool = True
    clock: bool = False  # the value is a time: minutes of half a day


def numbers_in(text: str, language: str) -> list[Number]:
    """All numbers of a text, in order. Of other languages than `LANGUAGES` digits alone."""
    found = list(_clocks(text, language))
    taken = [(each.start, each.end) for each in found]
    for number in (*_digits(text, language), *(_han(text) if language == "zh" else _words(text, language))):
        if not any(start < number.end and number.start < end for start, end in taken):
            found.append(number)
    return sorted(found, key=lambda number: number.start)


def unanswered(source: Sequence[Number], target: Sequence[Number]) -> tuple[list[Number], list[Number]]:
    """The sure numbers of each side that the other side does not have, counted as often as they stand."""
    left, here = list(target), list[Number]()
    for number in sorted(source, key=lambda each: not each.sure):
        answer = next((other for other in left if _equal(number, other)), None)
        if answer is not None:
            left.remove(answer)
        elif number.sure:
            here.append(number)
    # One side may say a number twice, or in parts: what is named on the other side at all is answered.
    here = [number for number in here if not any(_equal(number, other) for other in target)]
    there = [number for number in left if number.sure and not any(_equal(number, other) for other in source)]
    return sorted(here, key=lambda each: each.start), sorted(there, key=lambda each: each.start)


def _equal(one: Number, other: Number) -> bool:
    if one.clock == other.clock:
        return one.value == other.value
    clock, plain = (one, other) if one.clock else (other, one)
    return clock.value == (plain.value * 60) % HALF_DAY and plain.value <= 24  # "um sieben", "at 7:00"


def _digits(text: str, language: str) -> Iterator[Number]:
    for match in DIGITS.finditer(text):
        written = match.group()
        if ":" in written:
            hour, minute = map(int, written.split(":"))
            yield Number((60 * hour + minute) % HALF_DAY, *match.span(), clock=True)
            continue
        if " " in written and written.split()[1].isalpha():  # "3 Euro 20"
            whole, _, cents = written.split()
            yield Number(float(f"{whole}.{cents}"), *match.span())
            continue
        # What groups thousands in German marks decimals in English, and the other way round.
        groups = "." if language == "de" else ","
        grouped = re.fullmatch(rf"\d+(?:[{groups}  ]\d{{3}})+", written) is not None
        plain = re.sub(r"[.,  ]", "", written) if grouped else written.replace(",", ".")
        if plain.count(".") > 1 or not re.fullmatch(r"[\d.]+", plain):
            plain = re.sub(r"\D", "", plain)
        yield Number(float(plain), *match.span(), sure=written != "1")


def _clocks(text: str, language: str) -> Iterator[Number]:
    if language not in CLOCK:
        return
    for match in CLOCK[language].finditer(text):
        parts = {name: value for name, value in match.groupdict().items() if value}
        minutes = _minutes(parts, language)
        if minutes is not None:
            yield Number(minutes % HALF_DAY, *match.span(), clock=True)


def _minutes(parts: dict[str, str], language: str) -> int | None:
    """The time that a match of `CLOCK` names, if its words are numbers."""

    def number(name: str) -> int | None:
        written = parts.get(name, "")
        if written.lower() in QUARTERS:
            return QUARTERS[written.lower()]
        if re.fullmatch(r"\d{1,2}", written):
            return int(written)
        value = _han_value(written) if language == "zh" else _word_value(written.lower(), language)
        return None if value is None else int(value)

    for name in ("whole", "half"):
        if match := re.fullmatch(r"(\d{1,2})[:.](\d\d)", parts.get(name, "")):
            return 60 * int(match[1]) + int(match[2])
    if "before" in parts:
        hour = number("hour")
        return None if hour is None or not 0 < hour <= 12 else 60 * hour - 30
    if "side" in parts:
        hour, minute = number("past"), number("minute")
        if hour is None or minute is None or not 0 < hour <= 24 or minute not in SPOKEN:
            return None  # "two to one" is a score
        return 60 * hour + (-minute if parts["side"].lower() in ("vor", "to", "before") else minute)
    hour = number("whole") if "whole" in parts else number("half")
    if hour is None or hour > 24:
        return None
    if language == "zh":
        rest = 30 if "half" in parts else 15 * {"一": 1, "三": 3}[parts["quarter"]] if "quarter" in parts else None
        return 60 * hour + (rest if rest is not None else number("rest") or 0)
    return 60 * hour + (number("rest") or 0)


def _words(text: str, language: str) -> Iterator[Number]:
    if language not in SMALL:
        return
    run: list[re.Match[str]] = []  # words of one English number: "three hundred and fifty"
    for match in WORD.finditer(text):
        word = match.group().lower()
        if language == "en":
            joined = bool(run) and not text[run[-1].end() : match.start()].strip()
            part = _word_value(word, "en") is not None or (word == "and" and joined and _big(run[-1].group()))
            if part and (not run or joined):
                run.append(match)
                continue
            yield from _english_run(run, text)
            run = [match] if part else []
            continue
        value = _word_value(word, language)
        if value is not None:
            yield Number(value, *match.span(), sure=word not in UNSURE[language])
    yield from _english_run(run, text)


def _english_run(run: list[re.Match[str]], text: str) -> Iterator[Number]:
    while run and run[-1].group().lower() == "and":
        run.pop()
    total, part, start = 0.0, 0.0, 0
    for place, match in enumerate(run):
        word = match.group().lower()
        value = _word_value(word, "en")
        if value is None:
            continue
        if word in ("hundred", "thousand", "million") and place > start:
            part = max(part, 1) * value
            if value > 100:
                total, part = total + part, 0
        elif part and not (part % 100 == 0 and value < 100):  # "two two": a telephone number, a score
            yield Number(total + part, run[start].start(), run[place - 1].end(), sure=total + part != 1)
            total, part, start = 0.0, value, place
        else:
            part += value
    if run:
        whole = text[run[start].start() : run[-1].end()].lower()
        yield Number(total + part, run[start].start(), run[-1].end(), sure=whole not in UNSURE["en"])


def _big(word: str) -> bool:
    return word.lower() in ("hundred", "thousand")


@cache
def _word_value(word: str, language: str) -> float | None:
    """What one word counts; None where it is no number."""
    if word in UNSURE[language]:
        return UNSURE[language][word]
    return _german(word) if language == "de" else _english(word)


@cache
def _table(language: str) -> dict[str, int]:
    small = {word: value for value, word in enumerate(SMALL[language].split())}
    return small | {word: 10 * value for value, word in enumerate(TENS[language].split(), 2)}


def _german(word: str) -> float | None:
    table = _table("de")
    if word in table and word != "ein":
        return table[word]
    if match := re.fullmatch(r"(.+?)(?:s?te[nrsm]?)", word):
        stem = GERMAN_ORDINALS.get(word.rstrip("nrsm").removesuffix("e"), match[1])
        if stem != word and (value := _german(stem)) is not None and value != 1:
            return value
    for unit, size in (("tausend", 1000), ("hundert", 100)):
        before, found, after = word.partition(unit)
        if found:
            most = 1 if before in ("", "ein") else _german(before)
            rest = 0 if not after else 1 if after in ("ein", "eins") else _german(after.removeprefix("und"))
            return None if most is None or rest is None else most * size + rest
    unit, und, ten = word.partition("und")
    if und and unit in table and table[unit] < 10 and ten in table and table[ten] >= 20:
        return table[unit] + table[ten]
    return None


def _english(word: str) -> float | None:
    table = _table("en")
    ten, _, unit = word.partition("-")
    if unit:
        value = _english(unit)
        return table[ten] + value if ten in table and table[ten] >= 20 and value is not None and value < 10 else None
    if word in table:
        return table[word]
    if word in ("million", "hundredth", "thousandth"):
        return {"million": 1e6, "hundredth": 100, "thousandth": 1000}[word]
    if word in ENGLISH_ORDINALS:
        return table[ENGLISH_ORDINALS[word]]
    if word.endswith("ieth"):
        return table.get(word.removesuffix("ieth") + "y")
    return table.get(word.removesuffix("th")) if word.endswith("th") else None


def _han(text: str) -> Iterator[Number]:
    hidden = HAN_OTHER.sub(lambda match: "·" * len(match.group()), text)
    for match in re.finditer(f"[{HAN}]+", hidden):
        value = _han_value(match.group())
        if value is not None:
            # One sign alone often belongs to a word or to a name: 一 most of all.
            next_to = hidden[match.end() : match.end() + 1]
            yield Number(value, *match.span(), sure=match.group() not in "一万千百十" and next_to not in {"些", "边"})


def _han_value(signs: str) -> float | None:
    if not signs or not set(signs) <= set(HAN):
        return None
    if not set(signs) & set("十百千万亿"):
        return float("".join(str(HAN_DIGITS[sign]) for sign in signs))
    total, section, digit = 0.0, 0.0, 0.0
    for sign in signs:
        if sign in HAN_DIGITS:
            digit = HAN_DIGITS[sign]
        elif sign in HAN_UNITS:
            section, digit = section + (digit or 1) * HAN_UNITS[sign], 0
        else:
            total, section, digit = (total + section + digit or 1) * (10_000 if sign == "万" else 1e8), 0, 0
    return total + section + digit
