"""Generated sentences: correct numbers, times and dates, one translation per source, disjoint test sets."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from headlight.model.errors import TrainingError
from headlight.model.training.corpora import read_lines
from workshop.data.__main__ import main
from workshop.data.new_lines import make_fingerprint
from workshop.data.templates import amounts, times
from workshop.data.templates.frames import (
    LANGUAGES,
    SLOT,
    FrameGroup,
    SentenceFrame,
    Value,
    fill,
    finish,
    read_table,
)
from workshop.data.templates.generate import PAIRS, SLOTS, generate_pairs, split_pairs, write_templates
from workshop.data.templates.numerals import (
    chinese,
    chinese_digits,
    english,
    english_ordinal,
    english_suffix,
    english_year,
    german,
    german_ordinal,
    german_year,
)
from workshop.data.templates.sentences import KINDS


@pytest.mark.parametrize(
    ("number", "de", "en", "zh"),
    [
        (0, "null", "zero", "零"),
        (2, "zwei", "two", "二"),
        (10, "zehn", "ten", "十"),
        (16, "sechzehn", "sixteen", "十六"),
        (20, "zwanzig", "twenty", "二十"),
        (21, "einundzwanzig", "twenty-one", "二十一"),
        (100, "hundert", "one hundred", "一百"),
        (105, "hundertfünf", "one hundred and five", "一百零五"),
        (112, "hundertzwölf", "one hundred and twelve", "一百一十二"),
        (201, "zweihunderteins", "two hundred and one", "两百零一"),
        (210, "zweihundertzehn", "two hundred and ten", "两百一十"),
        (1000, "tausend", "one thousand", "一千"),
        (1012, "tausendzwölf", "one thousand and twelve", "一千零一十二"),
        (2020, "zweitausendzwanzig", "two thousand and twenty", "两千零二十"),
        (3521, "dreitausendfünfhunderteinundzwanzig", "three thousand five hundred and twenty-one", "三千五百二十一"),
        (22_222, "zweiundzwanzigtausendzweihundertzweiundzwanzig",
         "twenty-two thousand two hundred and twenty-two", "两万两千两百二十二"),
        (120_003, "hundertzwanzigtausenddrei", "one hundred and twenty thousand and three", "十二万零三"),
    ],
)  # fmt: skip
def test_numbers_in_words(number: int, de: str, en: str, zh: str) -> None:
    assert (german(number), english(number), chinese(number)) == (de, en, zh)


def test_number_forms_ordinals_and_years() -> None:
    assert german(1, final=False) == "ein"
    assert german(101, final=False) == "hundertein"
    assert english(105, joined=False) == "one hundred five"
    assert [chinese(2, counting=True), chinese(12, counting=True)] == ["两", "十二"]
    assert [german_ordinal(day) for day in (1, 2, 3, 7, 8, 16, 20, 31)] == [
        "ersten", "zweiten", "dritten", "siebten", "achten", "sechzehnten", "zwanzigsten", "einunddreißigsten",
    ]  # fmt: skip
    assert [english_ordinal(day) for day in (1, 4, 12, 20, 21, 30)] == [
        "first", "fourth", "twelfth", "twentieth", "twenty-first", "thirtieth",
    ]  # fmt: skip
    assert [english_suffix(day) for day in (1, 2, 3, 11, 13, 22, 30)] == [
        "1st", "2nd", "3rd", "11th", "13th", "22nd", "30th",
    ]  # fmt: skip
    assert [english_year(year) for year in (1907, 1987, 1900, 2000, 2005, 2013)] == [
        "nineteen oh seven", "nineteen eighty-seven", "nineteen hundred", "two thousand", "two thousand and five",
        "twenty thirteen",
    ]  # fmt: skip
    assert [german_year(year) for year in (1987, 1900, 2005)] == [
        "neunzehnhundertsiebenundachtzig", "neunzehnhundert", "zweitausendfünf",
    ]  # fmt: skip
    assert chinese_digits("1987") == "一九八七"


class FixedRandom(Random):
    """A generator that returns the given numbers."""

    def __init__(self, *numbers: int) -> None:
        super().__init__(0)
        self.numbers = list(numbers)

    def randint(self, a: int, b: int) -> int:
        assert a <= self.numbers[0] <= b
        return self.numbers.pop(0)

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        return self.numbers.pop(0)


@pytest.mark.parametrize(
    ("hour", "minute", "de", "en", "zh"),
    [
        (7, 0, "sieben Uhr", "seven o'clock", "七点"),
        (1, 0, "ein Uhr", "one o'clock", "一点"),
        (12, 5, "fünf nach zwölf", "five past twelve", "十二点零五分"),
        (5, 20, "zwanzig nach fünf", "twenty past five", "五点二十分"),
        (7, 15, "Viertel nach sieben", "a quarter past seven", "七点一刻"),
        (3, 25, "fünf vor halb vier", "twenty-five past three", "三点二十五分"),
        (7, 30, "halb acht", "half past seven", "七点半"),
        (12, 30, "halb eins", "half past twelve", "十二点半"),
        (3, 35, "fünf nach halb vier", "twenty-five to four", "三点三十五分"),
        (7, 45, "Viertel vor acht", "a quarter to eight", "七点四十五分"),
        (2, 50, "zehn vor drei", "ten to three", "两点五十分"),
    ],
)
def test_clock_times_in_words(hour: int, minute: int, de: str, en: str, zh: str) -> None:
    value = times.clock_words(FixedRandom(hour, minute), ("de", "en"))
    assert tuple(value[language][0] for language in LANGUAGES) == (de, en, zh)


def test_sums_are_correct() -> None:
    random = Random(1)
    for _ in range(50):
        first, second, result = (
            int(part.replace(",", "")) if part[0].isdigit() else _number(part)
            for part in amounts.addition(random, ("de", "en"))["en"][0].replace(" is ", " plus ").split(" plus ")
        )
        assert first + second == result


def _number(words: str) -> int:
    return next(number for number in range(200) if english(number) == words)


def test_frames_have_equal_slots_in_all_languages() -> None:
    for kind in KINDS:
        for frame in kind.frames:
            assert len(frame.texts) > 1, frame
            slots = {form: sorted(set(SLOT.findall(form))) for forms in frame.texts.values() for form in forms}
            assert len({str(each) for each in slots.values()}) == 1, slots
            assert {name for name, _ in next(iter(slots.values()))} <= SLOTS.keys(), frame


@pytest.mark.parametrize("languages", PAIRS)
def test_sources_are_unique_and_test_is_disjoint(languages: tuple[str, str]) -> None:
    train, test = split_pairs(languages, 4000, seed=1)
    assert len({pair.source for pair in train + test}) == len(train + test)
    assert not {pair.target for pair in train} & {pair.target for pair in test}
    assert 300 < len(test) < 500
    assert split_pairs(languages, 4000, seed=1) == (train, test)
    assert split_pairs(languages, 4000, seed=2) != (train, test)
    assert not [pair for pair in train + test if "{" in "".join(pair) or "  " in "".join(pair) or ".." in pair.target]
    # Sources that differ only in punctuation and case must have one translation.
    meanings: dict[str, set[str]] = {}
    for pair in train + test:
        meanings.setdefault(pair.source.casefold(), set()).add(make_fingerprint(pair.target))
    assert [source for source, targets in meanings.items() if len(targets) > 1] == []


def test_excluded_lines_are_not_generated() -> None:
    train, test = split_pairs(("de", "en"), 500, seed=1)
    excluded = {make_fingerprint(train[0].source), make_fingerprint(test[0].target)}
    pairs = [pair for part in split_pairs(("de", "en"), 500, seed=1, excluded=excluded) for pair in part]
    assert train[0] not in pairs
    assert test[0] not in pairs
    assert train[1] in pairs


def test_frames_without_slots_are_generated() -> None:
    pairs = list(zip(range(10), generate_pairs(("de", "en"), 3), strict=False))
    assert len(pairs) == 10
    kind = FrameGroup("one", 1.0, (SentenceFrame({"de": ("Ja. // Jawohl.",), "en": ("Yes.",)}),))
    pair = fill(kind, kind.frames[0], {}, Random(1), ("de", "en")).pair
    assert pair.target == "Yes."


def test_table_with_too_many_columns_raises() -> None:
    table: tuple[Value, ...] = read_table("eins // ein | one | -")
    assert table == ({"de": ("eins", "ein"), "en": ("one",)},)
    with pytest.raises(ValueError, match="4 columns"):
        read_table("a | b | c | d")


def test_finish_applies_language_conventions() -> None:
    assert finish("we meet at 7 p.m..", "en") == "We meet at 7 p.m."
    assert finish("我住 在 New York 。", "zh") == "我住在New York。"


def test_templates_command_writes_parallel_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    excluded = tmp_path / "apart.en"
    excluded.write_text("Today is Monday.\n", encoding="utf-8")
    command = [
        "templates",
        "--data",
        str(tmp_path),
        "--pairs",
        "zh-en",
        "--count",
        "800",
        "--apart",
        str(excluded),
    ]
    assert main(command) == 0
    folder = tmp_path / "templates" / "zh-en"
    assert "to train on" in capsys.readouterr().out
    for part in ("train", "test"):
        sources, targets = (list(read_lines(folder / f"{part}.{language}")) for language in ("zh", "en"))
        assert len(sources) == len(targets) > 50
        assert "Today is Monday." not in targets


def test_unknown_language_pair_raises(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="no templates for de-zh"):
        write_templates(tmp_path, (("de", "zh"),), 10, 1)
