"""Whole numbers in words: German, English and Chinese, each with the other ways to say them."""

from __future__ import annotations

from headlight.model.text.number_words import SMALL, TENS

DIGITS = "零一二三四五六七八九"
DE_ORDINALS = {1: "ersten", 3: "dritten", 7: "siebten", 8: "achten"}
EN_ORDINALS = {
    1: "first", 2: "second", 3: "third", 5: "fifth", 8: "eighth", 9: "ninth", 12: "twelfth", 20: "twentieth",
    30: "thirtieth",
}  # fmt: skip


def german(number: int, *, final: bool = True) -> str:
    """`siebenundvierzig`; a final one is `eins` if nothing follows, else `ein`. Up to 999,999."""
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
            many, rest = divmod(number, size)
            head = "" if many == 1 else german(many, final=False)
            return head + name + (german(rest, final=final) if rest else "")
    raise AssertionError(number)


def english(number: int, *, joined: bool = True) -> str:
    """`one hundred and five`; without the "and" if not `joined`. Up to 999,999."""
    ones, tens = SMALL["en"].split(), TENS["en"].split()
    if number < 20:
        return ones[number]
    if number < 100:
        return tens[number // 10 - 2] + (f"-{ones[number % 10]}" if number % 10 else "")
    link = " and " if joined else " "
    if number < 1000:
        rest = number % 100
        return f"{ones[number // 100]} hundred" + (link + english(rest) if rest else "")
    many, rest = divmod(number, 1000)
    head = f"{english(many, joined=joined)} thousand"
    if not rest:
        return head
    return head + (link if rest < 100 else " ") + english(rest, joined=joined)


def chinese(number: int, *, counting: bool = False) -> str:
    """`三千零五十`; 2 is 两 before a measure word. Up to 99,999,999."""
    if number == 2 and counting:
        return "两"
    if number < 10:
        return DIGITS[number]
    if number < 20:
        return "十" + (DIGITS[number % 10] if number % 10 else "")
    for size, name in ((10_000, "万"), (1000, "千"), (100, "百"), (10, "十")):
        if number >= size:
            many, rest = divmod(number, size)
            head = chinese(many, counting=size > 10) + name
            if not rest:
                return head
            gap = "零" if rest < size // 10 else ""
            tail = ("一" if 10 <= rest < 20 else "") + chinese(rest)
            return head + gap + tail
    raise AssertionError(number)


def chinese_digits(text: str) -> str:
    """`1987` → `一九八七`, as years are read."""
    return "".join(DIGITS[int(digit)] for digit in text)


def german_ordinal(number: int) -> str:
    """`dritten`, as after "am". Up to 99."""
    return DE_ORDINALS.get(number) or german(number) + ("ten" if number < 20 else "sten")


def english_ordinal(number: int) -> str:
    """`twenty-first`. Up to 99."""
    if number in EN_ORDINALS:
        return EN_ORDINALS[number]
    if number < 20:
        return english(number) + "th"
    return f"{english(number - number % 10)}-{english_ordinal(number % 10)}" if number % 10 else f"{number}th"


def english_year(year: int) -> str:
    """`nineteen eighty-seven`, `two thousand and five`; 1100 to 2099."""
    century, rest = divmod(year, 100)
    if 2000 <= year < 2010:
        return "two thousand" + (f" and {english(rest)}" if rest else "")
    if not rest:
        return f"{english(century)} hundred"
    return f"{english(century)} {'oh ' if rest < 10 else ''}{english(rest)}"


def german_year(year: int) -> str:
    """`neunzehnhundertsiebenundachtzig`, `zweitausendfünf`; 1100 to 2099."""
    if year >= 2000:
        return german(year)
    century, rest = divmod(year, 100)
    return f"{german(century)}hundert" + (german(rest) if rest else "")


def english_suffix(number: int) -> str:
    """`1st`, `22nd`, `13th`."""
    if 10 <= number % 100 <= 20:
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"
