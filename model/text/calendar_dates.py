"""Months and short dates in a text, as numbers, so that "November", 十一月 and "3.11.2024" are comparable."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

MONTHS = {  # names in order; alternatives are separated by |
    "de": "Januar|Jänner Februar|Feber März|Maerz April Mai Juni Juli August September Oktober November Dezember",
    "en": "January February March April May June July August September October November December",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
}
HAN_MONTHS = ["一", "二", "三", "四", "五", "六", "七", "八", "九", "十", "十一", "十二"]
AMBIGUOUS_NAMES = {
    "de": {"august"},
    "en": {"march", "april", "may", "june", "august"},
}  # months that are also first names or other words
MONTH_CONTEXT = {  # text before an ambiguous name that shows that it is a month
    "de": re.compile(
        r"(?:\b(?:im|anfang|mitte|ende|bis|seit|letzten|nächsten|diesen|diesem|jeden)\s+|\d\.?\s*)$", re.I
    ),
    "en": re.compile(
        r"(?:\b(?:in|of|since|until|till|during|last|next|early|late|mid)[\s-]+|\d(?:st|nd|rd|th)?\s+)$", re.I
    ),
}
FOLLOWING_DAY = re.compile(r"\s+(?:the\s+)?\d")
MONTH_NAMES = {
    language: re.compile(rf"\b(?:{names.replace(' ', '|')})\b", re.IGNORECASE) for language, names in MONTHS.items()
}
SHORT_NAMES = re.compile(r"\b(Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b\.?(?=\s+\d)")
# It matches neither 二三月, February or March, nor 3个月, a duration of three months.
HAN_MONTH = re.compile(
    r"(?<![\d.一二三四五六七八九十])(?P<digits>1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])\s?月(?![亮饼球薪])"
)
SHORT_DATE = re.compile(r"(?<![\d.])(\d{1,2})\.\s?(\d{1,2})\.(?:\s?(\d{4}|\d\d)\b)?(?!\d)")


class DatePart(NamedTuple):
    """A month, or the day or year of a short date. `sure`: the word has no other meaning here."""

    value: int
    start: int
    end: int
    sure: bool = True


def find_date_parts(text: str, language: str) -> Iterator[DatePart]:
    """Yield the months of a text, and the days and years of dates in digits."""
    for match in SHORT_DATE.finditer(text):
        day, month, year = match.groups()
        # Without a year, "3.11." is a decimal at the end of a sentence in other languages.
        if 1 <= int(day) <= 31 and 1 <= int(month) <= 12 and (year or language == "de"):
            yield DatePart(int(day), *match.span(1))
            yield DatePart(int(month), *match.span(2))
            if year:
                yield DatePart(int(year) + 2000 * (len(year) == 2), *match.span(3), len(year) == 4)
    if language == "zh":
        for match in HAN_MONTH.finditer(re.sub("[０-９]", lambda digit: chr(ord(digit.group()) - 0xFEE0), text)):
            digits = match["digits"]
            yield DatePart(int(digits) if digits.isdigit() else HAN_MONTHS.index(digits) + 1, *match.span())
    elif language in MONTHS:
        yield from _find_month_names(text, language)


def _find_month_names(text: str, language: str) -> Iterator[DatePart]:
    for match in MONTH_NAMES[language].finditer(text):
        word = match.group()
        value = next(
            index for index, names in enumerate(MONTHS[language].lower().split(), 1) if word.lower() in names.split("|")
        )
        before, after = text[: match.start()], text[match.end() :]
        sure = word.islower() if language == "fr" else True  # "Mars" is a planet, "Avril" a first name
        if word.lower() in AMBIGUOUS_NAMES.get(language, ()):
            sure = bool(MONTH_CONTEXT[language].search(before) or FOLLOWING_DAY.match(after))
            if not sure and word.islower():  # "may", "march"
                continue
        yield DatePart(value, *match.span(), sure)
    if language == "en":
        for match in SHORT_NAMES.finditer(text):
            value = [name[:3] for name in MONTHS["en"].split()].index(match[1][:3]) + 1
            yield DatePart(value, *match.span(1), sure=False)
