"""Numbers in a text, in digits or in words (German, English, French, Chinese), and their comparison between texts.

A number has a value and a position in the text. Words that are only sometimes numbers ("ein", "second", 一) are unsure:
they may match a number of the other text, but they do not need a match. A clock time is one number, and a month is a
number from 1 to 12.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from headlight.model.text.calendar_dates import find_date_parts
from headlight.model.text.clock_times import HALF_DAY, find_clock_times
from headlight.model.text.number_words import (
    HAN,
    HAN_DIGITS,
    HAN_SCALES,
    HAN_UNITS,
    SCALES,
    SMALL,
    UNSURE,
    adds_in_french,
    parse_han,
    parse_word,
)

LANGUAGES = ("de", "en", "fr", "zh")
HAN_OTHER = re.compile(  # numerals that are not numbers: percentages, pairs of months, names
    f"百分之|[{HAN}]+月|(?<![{HAN}])(?:万一|千万|十分(?![钟之]))(?![{HAN}])|三明治|四川|四周|百货|二手"
)
# Words with numerals that would otherwise continue a number: 大一点三岁, 一点一点, 两点一起, 星期一九点; and idioms.
HAN_IDIOM = re.compile(
    "(?<!一)(?:星期|周|礼拜)[一二三四五六]|零下|七手八脚|乱七八糟|三心二意|一心一意|五颜六色|七上八下|四面八方|五花八门|三番五次"
    "|十全十美|千方百计|成千上万|四通八达|丢三落四|说三道四|不三不四|三三两两|"
    f"一点(?=一点)|(?<=[大小早晚快慢多少好高低长短远近轻重冷热])一点(?=[{HAN}])"
    f"|(?<![{HAN}第])一(?:起|定|样|直|共|般|些|切|下|会儿|旦|边)"
)
HAN_DECIMAL = re.compile(f"[{HAN}]+点[一二三四五六七八九][零〇一二三四五六七八九]*(?![{HAN}分刻半个位名人])")
DIGITS = re.compile(
    r"\d+ (?:Euro|euros?|Dollars?|dollars?) \d\d(?!\d)|\d{1,2}:\d{2}"
    r"|(?<!\d)\d{1,3}(?P<mark>[.,'’ \u00a0\u202f])\d{3}(?:(?P=mark)\d{3})*(?!\d)(?P<tail>[.,]\d+)?|\d+(?:[.,]\d+)?"
)
DECIMAL_MARKS = {"de": ",", "fr": ","}  # all other languages use a point
WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
HALVES = {  # expressions that add a half to the preceding number
    "de": re.compile("½"),
    "en": re.compile(r"½|\s+and\s+a\s+half\b", re.IGNORECASE),
    "fr": re.compile(r"½|(?:\s+an(?:née)?s|\s+kilos?|\s+mois)?\s+et\s+demie?\b", re.IGNORECASE),
    "zh": re.compile("(?:[个年岁天倍米斤磅码里吨升块]|公[斤里]|小时)半"),
}
SCALE_WORDS = {
    language: re.compile(rf"\s*(?P<scale>{'|'.join(sorted(words, key=len, reverse=True))})\b", re.IGNORECASE)
    for language, words in SCALES.items()
}
HAN_SCALE_NUMERALS = re.compile("[百千万亿]+")
AND = {"en": ("and",), "fr": ("et",)}
# The currency between whole units and hundredths: 23欧元40欧分, "zwölf Euro fünfzig", 三块五.
CURRENCY = re.compile(
    r"\s*(?:euros?|dollars?|francs?|franken|欧元|美元|元|块)\s*(?:(?:and|und|et)\s+|和)?", re.IGNORECASE
)
CENTS = re.compile(r"\s*(?:cents?\b|centimes?\b|rappen\b|欧分|美分|分钱)", re.IGNORECASE)
FULL_WIDTH = re.compile("[０-９](?:[０-９，．：]*[０-９])?")


class Number(NamedTuple):
    """A number in a text: its value, its position, and whether the other text must contain it."""

    value: float
    start: int
    end: int
    required: bool = True
    clock: bool = False  # the value is a time in minutes, modulo half a day


def find_numbers(text: str, language: str) -> list[Number]:
    """Find all numbers of a text, in order. In languages other than `LANGUAGES`, only digits are found."""
    text = FULL_WIDTH.sub(lambda match: "".join(chr(ord(digit) - 0xFEE0) for digit in match.group()), text)
    if language == "zh":
        text = HAN_IDIOM.sub(lambda match: "·" * len(match.group()), text)
    results = list(_find_han_decimals(text)) if language == "zh" else []
    for finder in (
        _find_dates,
        _find_clocks,
        _find_digits,
        _find_han_numbers if language == "zh" else _find_word_numbers,
    ):
        occupied_spans = [(earlier.start, earlier.end) for earlier in results]
        for number in finder(text, language):
            if not any(start < number.end and number.start < end for start, end in occupied_spans):
                results.append(number)
    return _join_money(sorted(results, key=lambda number: number.start), text)


def _join_money(numbers: Sequence[Number], text: str) -> list[Number]:
    """Join whole units of a currency and the following hundredths to one number."""
    results: list[Number] = []
    for number in numbers:
        last = results[-1] if results else None
        hundredths = _parse_hundredths(number, text)
        if last and hundredths and not last.clock and CURRENCY.fullmatch(text, last.end, number.start):
            results[-1] = Number(round(last.value + hundredths / 100, 2), last.start, number.end)
        else:
            results.append(number)
    return results


def _parse_hundredths(number: Number, text: str) -> float:
    """Return the number in hundredths of the preceding currency, or 0 if it does not mean hundredths."""
    if number.clock or not 0 < number.value < 100 or number.value % 1:
        return 0.0
    if CENTS.match(text, number.end) or (number.value >= 10 and not text[number.end : number.end + 1].isalnum()):
        return number.value
    # 三块五 is 3.50, but 三块五个 is not.
    return (
        number.value * 10 if text[number.start - 1] == "块" and not text[number.end : number.end + 1].isalnum() else 0.0
    )


def unmatched_numbers(source: Sequence[Number], target: Sequence[Number]) -> tuple[list[Number], list[Number]]:
    """Return the required numbers of each text that the other text lacks, once per occurrence."""
    remaining, source_only = list(target), list[Number]()
    for number in sorted(source, key=lambda item: not item.required):
        match = next((candidate for candidate in remaining if _is_same_number(number, candidate)), None)
        if match is not None:
            remaining.remove(match)
        elif number.required:
            source_only.append(number)
    # A text may repeat or split a number, so any occurrence in the other text counts as a match.
    source_only = [
        number for number in source_only if not any(_is_same_number(number, candidate) for candidate in target)
    ]
    target_only = [
        number
        for number in remaining
        if number.required and not any(_is_same_number(number, candidate) for candidate in source)
    ]
    return sorted(source_only, key=lambda item: item.start), sorted(target_only, key=lambda item: item.start)


def _is_same_number(first: Number, second: Number) -> bool:
    if first.clock == second.clock:
        return first.value == second.value
    clock_time, plain_number = (first, second) if first.clock else (second, first)
    # "um sieben" is "at 7:00".
    return clock_time.value == (plain_number.value * 60) % HALF_DAY and plain_number.value <= 24


def _find_dates(text: str, language: str) -> Iterator[Number]:
    for part in find_date_parts(text, language):
        yield Number(part.value, part.start, part.end, part.sure)


def _find_clocks(text: str, language: str) -> Iterator[Number]:
    for clock_time in find_clock_times(text, language):
        yield Number(clock_time.minutes, clock_time.start, clock_time.end, clock_time.sure, clock=True)


def _find_digits(text: str, language: str) -> Iterator[Number]:
    last = 0
    for match in DIGITS.finditer(text):
        digits = match.group()
        if match.start() < last:  # part of the previous number
            continue
        if ":" in digits:
            hour, minute = map(int, digits.split(":"))
            yield Number((60 * hour + minute) % HALF_DAY, *match.span(), clock=True)
            continue
        if " " in digits and digits.split()[1].isalpha():  # "3 Euro 20"
            whole, _, cents = digits.split()
            yield Number(float(f"{whole}.{cents}"), *match.span())
            continue
        value, last = _continue_number(text, match.end(), _parse_digits(match, language), language)
        yield Number(value, match.start(), last, required=digits != "1" or last > match.end())


def _parse_digits(match: re.Match[str], language: str) -> float:
    """Convert digits to a value. Thousands separators in German are decimal marks in English, and vice versa."""
    digits, mark, tail = match.group(), match["mark"], match["tail"]
    if mark is None:
        return float(digits.replace(",", "."))
    whole = digits.removesuffix(tail or "")
    if mark == DECIMAL_MARKS.get(language, ".") and whole.count(mark) == 1 and not tail:
        return float(whole.replace(mark, "."))
    return float(whole.replace(mark, "") + (tail or "").replace(",", "."))


def _continue_number(text: str, end: int, value: float, language: str) -> tuple[float, int]:
    """Return the number with its continuation (an added half, a word like "million"), and its end position."""
    if half := language in HALVES and HALVES[language].match(text, end):
        value, end = value + 0.5, half.end()
    if language == "zh":
        return _continue_han_number(text, end, value)
    if scale := language in SCALE_WORDS and SCALE_WORDS[language].match(text, end):
        value, end = value * SCALES[language][scale["scale"].lower()], scale.end()
    return value, end


def _continue_han_number(text: str, end: int, value: float) -> tuple[float, int]:
    """Continue a number with Chinese units: 3万5千, 1亿2000万."""
    total, part = 0.0, value
    while scale := HAN_SCALE_NUMERALS.match(text, end):
        for numeral in scale.group():
            part *= (HAN_UNITS | HAN_SCALES)[numeral]
        total, part, end = total + part, 0.0, scale.end()
        next_digits = re.compile(r"(\d+)[百千万]").match(text, end)
        if next_digits is None:
            break
        part, end = float(next_digits[1]), next_digits.end(1)
    return total + part, end


def _find_word_numbers(text: str, language: str) -> Iterator[Number]:
    if language not in SMALL:
        return
    if language == "de":
        yield from _find_german_words(text)
        return
    run: list[re.Match[str]] = []  # words of one number: "three hundred and fifty", "deux cent vingt et un"
    last = 0
    for match in WORD.finditer(text):
        if match.start() < last:
            continue
        word = match.group().lower()
        is_joined = bool(run) and not text[run[-1].end() : match.start()].strip()
        part = parse_word(word, language) is not None or (
            is_joined and word in AND[language] and _can_join(run[-1].group())
        )
        if part and (not run or is_joined):
            run.append(match)
            continue
        for number in _parse_run(run, text, language):
            last = number.end
            yield number
        run = [match] if part else []
    yield from _parse_run(run, text, language)


def _find_german_words(text: str) -> Iterator[Number]:
    last = 0
    for match in WORD.finditer(text):
        word = match.group().lower()
        value = parse_word(word, "de") if match.start() >= last else None
        if value is not None:
            value, last = _continue_number(text, match.end(), value, "de")
            yield Number(value, match.start(), last, required=word not in UNSURE["de"] or last > match.end())


def _parse_run(run: list[re.Match[str]], text: str, language: str) -> Iterator[Number]:
    while run and run[-1].group().lower() in AND[language]:
        run.pop()
    total, part, start = 0.0, 0.0, 0
    for index, match in enumerate(run):
        word = match.group().lower()
        value = parse_word(word, language)
        if value is None:
            continue
        if word in SCALES[language] and (index > start or value > 100):
            if value > 100:
                total, part = total + max(part, 1) * value, 0
            else:
                part = max(part, 1) * value
        elif language == "fr" and word in ("vingt", "vingts") and part % 100 == 4:
            part += 76
        elif part and not _can_add(part, value, language):  # "two two": a telephone number, a score
            yield Number(total + part, run[start].start(), run[index - 1].end(), required=total + part != 1)
            total, part, start = 0.0, value, index
        else:
            part += value
    if run:
        words = text[run[start].start() : run[-1].end()].lower()
        value, end = _continue_number(text, run[-1].end(), total + part, language)
        # "an hour and a half" is not a required number.
        sure = value != 1.5 if end > run[-1].end() else words not in UNSURE[language]
        yield Number(value, run[start].start(), end, required=sure)


def _can_add(part: float, value: float, language: str) -> bool:
    return adds_in_french(part, value) if language == "fr" else part % 100 == 0 and value < 100


def _can_join(word: str) -> bool:
    """Whether "and" or "et" may join this word to the following words of a number."""
    return word.lower() in ("hundred", "thousand", "million", "vingt", "trente", "quarante", "cinquante", "soixante")


def _find_han_decimals(text: str) -> Iterator[Number]:
    """Yield decimals such as 三点五, unless they are times of day."""
    for match in HAN_DECIMAL.finditer(text):
        whole, _, decimals = match.group().partition("点")
        value = parse_han(whole)
        if value is not None:
            digits = "".join(str(HAN_DIGITS[numeral]) for numeral in decimals)
            yield Number(float(f"{value:.0f}.{digits}"), *match.span())


def _find_han_numbers(text: str, language: str) -> Iterator[Number]:
    masked = HAN_OTHER.sub(lambda match: "·" * len(match.group()), text)
    for match in re.finditer("[俩仨]", masked):
        yield Number(2 if match.group() == "俩" else 3, *match.span(), required=False)
    for match in re.finditer(f"[{HAN}]+", masked):
        value = parse_han(match.group())
        if value is not None:
            # A single numeral, above all 一, often belongs to a word or a name.
            next_character = masked[match.end() : match.end() + 1]
            sure = match.group() not in "一万千百十" and next_character not in {"些", "边"}
            if masked[match.start() - 1 : match.start()] == "第" and next_character in {"天", "年", "日"}:
                sure = False  # "the next day"
            value, end = _continue_number(masked, match.end(), value, language)
            yield Number(value, match.start(), end, required=sure)
