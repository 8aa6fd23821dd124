"""Values of number words: German, English and French numerals, including ordinals, and Chinese numerals."""

from __future__ import annotations

import re
from functools import cache

SMALL = {  # number words from zero, in order
    "de": "null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn "
    "siebzehn achtzehn neunzehn",
    "en": "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen",
    "fr": "zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize",
}
TENS = {  # number words from twenty, in order
    "de": "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig",
    "en": "twenty thirty forty fifty sixty seventy eighty ninety",
    "fr": "vingt trente quarante cinquante soixante septante huitante nonante",
}
GERMAN_SPELLINGS = {  # without umlauts and ß
    "fuenf": "fünf", "funf": "fünf", "zwoelf": "zwölf", "zwolf": "zwölf", "dreissig": "dreißig",
}  # fmt: skip
GERMAN_ORDINALS = {"dritt": "drei", "siebt": "sieben", "acht": "acht"}
ENGLISH_ORDINALS = {
    "third": "three", "fifth": "five", "eighth": "eight", "ninth": "nine", "twelfth": "twelve", "second": "two",
    "first": "one",
}  # fmt: skip
FRENCH_ORDINALS = {"cinqu": "cinq", "neuv": "neuf"}
UNSURE: dict[str, dict[str, float]] = {  # words that are often not numbers, or whose number a translation may omit
    "de": {"ein": 1, "eins": 1, "eine": 1, "einen": 1, "einem": 1, "einer": 1, "dutzend": 12, "beide": 2, "beiden": 2,
           "zweimal": 2, "hundert": 100, "tausend": 1000, "hunderte": 100, "tausende": 1000, "erste": 1, "ersten": 1,
           "achte": 8, "achten": 8, "zweite": 2, "zweiten": 2, "zweiter": 2, "zweites": 2, "millionen": 10**6,
           "milliarden": 10**9, "anderthalb": 1.5, "eineinhalb": 1.5},
    "en": {"one": 1, "dozen": 12, "both": 2, "twice": 2, "second": 2, "seconds": 2, "hundred": 100, "hundreds": 100,
           "thousand": 1000, "thousands": 1000, "first": 1, "millions": 10**6, "billions": 10**9},
    "fr": {"un": 1, "une": 1, "premier": 1, "première": 1, "premiers": 1, "premières": 1, "second": 2, "seconde": 2,
           "deuxième": 2, "neuf": 9, "dizaine": 10, "dizaines": 10, "douzaine": 12, "douzaines": 12, "quinzaine": 15,
           "vingtaine": 20, "trentaine": 30, "cinquantaine": 50, "centaine": 100, "centaines": 100, "cent": 100,
           "cents": 100, "mille": 1000, "millier": 1000, "milliers": 1000},
}  # fmt: skip
SCALES = {  # words that multiply the preceding number
    "de": {"mio": 10**6, "million": 10**6, "millionen": 10**6, "mrd": 10**9, "milliarde": 10**9, "milliarden": 10**9,
           "billion": 10**12, "billionen": 10**12},
    "en": {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12},
    "fr": {"cent": 100, "cents": 100, "mille": 1000, "mil": 1000, "million": 10**6, "millions": 10**6,
           "milliard": 10**9, "milliards": 10**9},
}  # fmt: skip
HAN = "零〇一二两三四五六七八九十百千万亿"
HAN_DIGITS = {sign: value for value, sign in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
HAN_UNITS = {"十": 10, "百": 100, "千": 1000}
HAN_SCALES = {"万": 10**4, "亿": 10**8}


@cache
def parse_word(word: str, language: str) -> float | None:
    """Return the value of a word, or None if it is not a number."""
    if word in UNSURE[language]:
        return UNSURE[language][word]
    if language == "de":
        for spelling, usual in GERMAN_SPELLINGS.items():
            word = word.replace(spelling, usual)
    return {"de": _parse_german, "en": _parse_english, "fr": _parse_french}[language](word)


def parse_han(signs: str) -> float | None:
    """Return the value of Chinese numerals, digit by digit or with units, or None if they are not a number."""
    if not signs or not set(signs) <= set(HAN):
        return None
    if not set(signs) & set("十百千万亿"):
        return float("".join(str(HAN_DIGITS[numeral]) for numeral in signs))
    total, section, digit = 0.0, 0.0, 0.0
    for numeral in signs:
        if numeral in HAN_DIGITS:
            digit = HAN_DIGITS[numeral]
        elif numeral in HAN_UNITS:
            section, digit = section + (digit or 1) * HAN_UNITS[numeral], 0
        else:
            total, section, digit = (total + section + digit or 1) * HAN_SCALES[numeral], 0, 0
    unit = (HAN_UNITS | HAN_SCALES).get(signs[-2:-1], 0)
    if digit and unit >= 100:  # 一百五: the next smaller unit is omitted
        digit *= unit / 10
    return total + section + digit


@cache
def _build_table(language: str) -> dict[str, int]:
    small = {word: value for value, word in enumerate(SMALL[language].split())}
    return small | {word: 10 * value for value, word in enumerate(TENS[language].split(), 2)}


def _parse_german(word: str) -> float | None:
    table = _build_table("de")
    if word in table and word != "ein":
        return table[word]
    if word.endswith("einhalb") and (whole := table.get(word.removesuffix("einhalb"))) is not None:
        return whole + 0.5
    if match := re.fullmatch(r"(.+?)(?:s?te[nrsm]?)", word):
        stem = GERMAN_ORDINALS.get(word.rstrip("nrsm").removesuffix("e"), match[1])
        if stem != word and (value := _parse_german(stem)) is not None and value != 1:
            return value
    for unit, size in (("tausend", 1000), ("hundert", 100)):
        prefix, separator, suffix = word.partition(unit)
        if separator:
            factor = 1 if prefix in ("", "ein") else _parse_german(prefix)
            remainder = (
                0 if not suffix else 1 if suffix in ("ein", "eins") else _parse_german(suffix.removeprefix("und"))
            )
            return None if factor is None or remainder is None else factor * size + remainder
    unit, conjunction, ten = word.partition("und")
    if conjunction and unit in table and table[unit] < 10 and ten in table and table[ten] >= 20:
        return table[unit] + table[ten]
    return None


def _parse_english(word: str) -> float | None:
    table = _build_table("en")
    ten, _, unit = word.partition("-")
    if unit:
        value = _parse_english(unit)
        return table[ten] + value if ten in table and table[ten] >= 20 and value is not None and value < 10 else None
    if word in table:
        return table[word]
    if word in ("million", "billion", "trillion"):
        return SCALES["en"][word]
    if word in ("hundredth", "thousandth"):
        return {"hundredth": 100, "thousandth": 1000}[word]
    if word in ENGLISH_ORDINALS:
        return table[ENGLISH_ORDINALS[word]]
    if word.endswith("ieth"):
        return table.get(word.removesuffix("ieth") + "y")
    return table.get(word.removesuffix("th")) if word.endswith("th") else None


def _parse_french(word: str) -> float | None:
    """Return the value of a word, or of several words joined by hyphens: "quatre-vingt-dix-sept"."""
    table, total, part = _build_table("fr"), 0.0, 0.0
    ordinal = word.removesuffix("s").removesuffix("ième")
    if ordinal != word.removesuffix("s"):
        word = next(
            (component for component in (ordinal, f"{ordinal}e") if _parse_french(component) is not None), ordinal
        )
        head, hyphen, last = word.rpartition("-")
        word = f"{head}{hyphen}{FRENCH_ORDINALS.get(last, last)}"
    for component in word.split("-"):
        atom = "vingt" if component == "vingts" else component
        if atom == "et" and part:
            continue
        value = table.get("un" if atom == "une" else atom, SCALES["fr"].get(atom))
        if value is None:
            return None
        if atom == "vingt" and part % 100 == 4:
            part += 76
        elif value == 100:
            part = max(part, 1) * value
        elif value >= 1000:
            total, part = total + max(part, 1) * value, 0
        elif not adds_in_french(part, value):
            return None
        else:
            part += value
    return total + part


def adds_in_french(part: float, value: float) -> bool:
    """Whether the next word continues a number below a thousand: "soixante dix", but not "deux deux"."""
    remainder = part % 100
    if remainder in (60, 80):
        return value < 20
    if remainder == 0:
        return value < 100
    return (remainder % 10 == 0 and remainder > 10 and value < 10) or (remainder == 10 and 7 <= value < 10)
