"""Integers, ordinals and years as German, English and Chinese words."""

from __future__ import annotations

from headlight.model.text.number_words import SMALL, TENS

DIGITS = "零一二三四五六七八九"
DE_ORDINALS = {1: "ersten", 3: "dritten", 7: "siebten", 8: "achten"}
EN_ORDINALS = {
    1: "first", 2: "second", 3: "third", 5: "fifth", 8: "eighth", 9: "ninth", 12: "twelfth", 20: "twentieth",
    30: "thirtieth",
}  # fmt: skip


def german(number: int, *, final: bool = True) -> str:
    """Spell a number up to 999,999: `siebenundvierzig`. A final 1 is `eins`, or `ein` if a word follows."""
    ones, tens = SMALL["de"].split(), TENS["de"].split()
    if number == 1:
        return "eins" if final else "ein"
    if number < 20:
        return ones[number]
    if number < 100:
        unit = number % 10
        return (german(unit, final=False) + "und" if unit else "") + tens[number // 10 - 2]
    for size, name in ((1000, "tausend"), (100, "hundert")):
        if number >= size:
            count, rest = divmod(number, size)
            prefix = "" if count == 1 else german(count, final=False)
            return prefix + name + (german(rest, final=final) if rest else "")
    raise AssertionError(number)


def english(number: int, *, joined: bool = True) -> str:
    """Spell a number up to 999,999: `one hundred and five`. Without `joined`, omit "and"."""
    ones, tens = SMALL["en"].split(), TENS["en"].split()
    if number < 20:
        return ones[number]
    if number < 100:
        return tens[number // 10 - 2] + (f"-{ones[number % 10]}" if number % 10 else "")
    link = " and " if joined else " "
    if number < 1000:
        rest = number % 100
        return f"{ones[number // 100]} hundred" + (link + english(rest) if rest else "")
    thousands, rest = divmod(number, 1000)
    prefix = f"{english(thousands, joined=joined)} thousand"
    if not rest:
        return prefix
    return prefix + (link if rest < 100 else " ") + english(rest, joined=joined)


def chinese(number: int, *, counting: bool = False) -> str:
    """Spell a number up to 99,999,999: `三千零五十`. With `counting`, before a measure word, 2 is 两."""
    if number == 2 and counting:
        return "两"
    if number < 10:
        return DIGITS[number]
    if number < 20:
        return "十" + (DIGITS[number % 10] if number % 10 else "")
    for size, name in ((10_000, "万"), (1000, "千"), (100, "百"), (10, "十")):
        if number >= size:
            count, rest = divmod(number, size)
            prefix = chinese(count, counting=size > 10) + name
            if not rest:
                return prefix
            zero = "零" if rest < size // 10 else ""
            suffix = ("一" if 10 <= rest < 20 else "") + chinese(rest)
            return prefix + zero + suffix
    raise AssertionError(number)


def chinese_digits(text: str) -> str:
    """Spell a number digit by digit, as in years: `1987` → `一九八七`."""
    return "".join(DIGITS[int(digit)] for digit in text)


def german_ordinal(number: int) -> str:
    """Return the dative ordinal of a number up to 99: `dritten`."""
    return DE_ORDINALS.get(number) or german(number) + ("ten" if number < 20 else "sten")


def english_ordinal(number: int) -> str:
    """Return the ordinal of a number up to 99: `twenty-first`."""
    if number in EN_ORDINALS:
        return EN_ORDINALS[number]
    if number < 20:
        return english(number) + "th"
    return f"{english(number - number % 10)}-{english_ordinal(number % 10)}" if number % 10 else f"{number}th"


def english_year(year: int) -> str:
    """Spell a year from 1100 to 2099: `nineteen eighty-seven`, `two thousand and five`."""
    century, rest = divmod(year, 100)
    if 2000 <= year < 2010:
        return "two thousand" + (f" and {english(rest)}" if rest else "")
    if not rest:
        return f"{english(century)} hundred"
    return f"{english(century)} {'oh ' if rest < 10 else ''}{english(rest)}"


def german_year(year: int) -> str:
    """Spell a year from 1100 to 2099: `neunzehnhundertsiebenundachtzig`, `zweitausendfünf`."""
    if year >= 2000:
        return german(year)
    century, rest = divmod(year, 100)
    return f"{german(century)}hundert" + (german(rest) if rest else "")


def english_suffix(number: int) -> str:
    """Return a number with its ordinal suffix: `1st`, `22nd`, `13th`."""
    if 10 <= number % 100 <= 20:
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"
