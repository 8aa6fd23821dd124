"""Clock times in a text, in minutes modulo half a day, so that "halb neun", "8:30" and 八点半 are equal."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from headlight.model.text.number_words import HAN, UNSURE, parse_han, parse_word

HALF_DAY = 720  # minutes
CLOCK_PATTERNS = {
    "de": re.compile(
        r"(?P<before>halb)\s+(?P<hour>\w+)|(?P<minute>\w+)\s+(?P<side>vor|nach)\s+(?P<past>\w+)"
        r"|(?P<whole>\w+(?:[:.]\d\d)?)\s+Uhr(?:\s+(?P<rest>\w+))?|(?P<noon>Mitternacht)",
        re.IGNORECASE,
    ),
    "en": re.compile(
        r"(?P<minute>half|a quarter|quarter|[\w-]+)\s+(?P<side>past|after|to|before)\s+(?P<past>\w+)"
        r"|(?P<whole>\w+)\s+o['’]clock|(?P<half>\d{1,2}:\d\d|\d{1,2})\s*[ap]\.?m\b|\b(?P<noon>noon|midday|midnight)\b",
        re.IGNORECASE,
    ),
    "fr": re.compile(
        r"\b(?:(?P<whole>\d{1,2})\s*h(?:eures?\b)?|(?P<said>[^\W\d_]+(?:-[^\W\d_]+)*)\s+heures?\b)"
        r"(?:\s+et\s+(?P<and>quart|demie?)\b|\s+moins\s+(?:(?:le|un)\s+)?(?P<less>quart|[\w-]+)"
        r"|\s*(?P<rest>\d\d)\b|\s+(?P<minutes>vingt-cinq|[^\W\d_]+))?"
        r"|\b(?P<noon>midi|minuit)\b(?:\s+et\s+(?P<later>quart|demie?)\b)?",
        re.IGNORECASE,
    ),
    "zh": re.compile(
        rf"(?P<whole>[\d{HAN}]+)点(?:(?P<half>半)|(?P<quarter>[一三])刻|(?P<rest>[\d{HAN}]+)(?![\d{HAN}个位名人])分?)?(?!儿|心)"
    ),
}
SPOKEN = (5, 10, 15, 20, 25, 30)  # minutes before or after an hour in spoken times
QUARTERS = {"viertel": 15, "quarter": 15, "a quarter": 15, "half": 30, "quart": 15, "demi": 30, "demie": 30}
TIMES_OF_DAY = frozenset(["上午", "中午", "下午", "早上", "晚上", "凌晨", "清晨", "夜里", "半夜", "午夜", "深夜"])
# After 一点: "not at all", as in 晚上一点胃口也没有.
NOT_AT_ALL = re.compile("[都也不没]|[^，。！？；、,.!?;]{1,5}[都也][没不]")


class ClockTime(NamedTuple):
    """A time of day with its position. `sure` is False if the words have other meanings, too."""

    minutes: int
    start: int
    end: int
    sure: bool = True


def find_clock_times(text: str, language: str) -> Iterator[ClockTime]:
    """Yield all times of day in a text."""
    if language not in CLOCK_PATTERNS:
        return
    for match in CLOCK_PATTERNS[language].finditer(text):
        parts = {name: value for name, value in match.groupdict().items() if value}
        minutes = _parse_minutes(parts, language)
        if minutes is not None:
            unsure = "noon" in parts or _is_a_little(match, text) or _is_an_hour(parts)
            yield ClockTime(minutes % HALF_DAY, *match.span(), not unsure)


def _is_a_little(match: re.Match[str], text: str) -> bool:
    """Whether 一点 probably means "a little", because its context does not indicate one o'clock."""
    preceding, following = text[max(0, match.start() - 2) : match.start()], text[match.end() :]
    is_time = following.startswith(("钟", "整")) or (preceding in TIMES_OF_DAY and not NOT_AT_ALL.match(following))
    return match.group() == "一点" and not is_time


def _is_an_hour(parts: Mapping[str, str]) -> bool:
    """Whether French "une heure" may be a duration."""
    return list(parts) == ["said"] and parts["said"].lower() in UNSURE["fr"]


def _parse_minutes(parts: dict[str, str], language: str) -> int | None:
    """Return the time of a match of `CLOCK_PATTERNS`, or None if its words are not numbers."""

    def parse_number(name: str) -> int | None:
        digits_or_word = parts.get(name, "")
        if digits_or_word.lower() in QUARTERS:
            return QUARTERS[digits_or_word.lower()]
        if re.fullmatch(r"\d{1,2}", digits_or_word):
            return int(digits_or_word)
        value = parse_han(digits_or_word) if language == "zh" else parse_word(digits_or_word.lower(), language)
        return None if value is None else int(value)

    if "noon" in parts:
        return parse_number("later") or 0
    if language == "fr":
        return _parse_french(parts, parse_number)
    for name in ("whole", "half"):
        if match := re.fullmatch(r"(\d{1,2})[:.](\d\d)", parts.get(name, "")):
            return 60 * int(match[1]) + int(match[2])
    if "before" in parts:
        hour = parse_number("hour")
        return None if hour is None or not 0 < hour <= 12 else 60 * hour - 30
    if "side" in parts:
        hour, minute = parse_number("past"), parse_number("minute")
        if hour is None or minute is None or not 0 < hour <= 24 or minute not in SPOKEN:
            return None  # "two to one" is a score
        return 60 * hour + (-minute if parts["side"].lower() in ("vor", "to", "before") else minute)
    hour = parse_number("whole") if "whole" in parts else parse_number("half")
    if hour is None or hour > 24:
        return None
    if language == "zh":
        added_minutes = (
            30 if "half" in parts else 15 * {"一": 1, "三": 3}[parts["quarter"]] if "quarter" in parts else None
        )
        return 60 * hour + (added_minutes if added_minutes is not None else parse_number("rest") or 0)
    return 60 * hour + (parse_number("rest") or 0)


def _parse_french(parts: Mapping[str, str], parse_number: Callable[[str], int | None]) -> int | None:
    hour = parse_number("whole") if "whole" in parts else parse_number("said")
    if hour is None or hour > 24:
        return None
    if "less" in parts:
        return 60 * hour - (parse_number("less") or 0)
    minutes = parse_number("minutes")  # in "à huit heures deux hommes", "deux" is not a minute
    return 60 * hour + (parse_number("and") or parse_number("rest") or (minutes if minutes in SPOKEN else 0) or 0)
