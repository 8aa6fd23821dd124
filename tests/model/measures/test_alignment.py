"""Word links: from attention, from annotations, and their counts."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from headlight.model.commands.heads import (
    LINKS_FOLDER,
    HeadReading,
    choose_best_heads,
    count_heads,
    find_links_table,
    sum_counts,
)
from headlight.model.commands.main import main
from headlight.model.errors import CommandError, RequestError
from headlight.model.measures.alignment import (
    AlignmentCounts,
    GoldLinks,
    attention_links,
    count_errors,
    error_bounds,
    links_f1,
    parse_links,
    reverse_links,
    word_weights,
)
from headlight.model.records import FloatArray, Token
from headlight.model.text.gold_links import LENGTH_BANDS, AlignedPair, parse_segmented, read_links
from headlight.model.translate.translator import Translator
from tests.tiny import tiny_translator

SOURCE = (
    Token("Rote", 5, 0, 4, word=0),
    Token("Hun", 6, 5, 8, word=1),
    Token("de", 7, 8, 10, word=1),
    Token("</s>", 2, 10, 10, special=True),
)
TARGET = (Token("Red", 8, 0, 3, word=0), Token("dogs", 9, 4, 8, word=1), Token("</s>", 2, 8, 8, special=True))
SOURCE_WORDS, TARGET_WORDS = ((0, 4), (5, 10)), ((0, 3), (4, 8))
WEIGHTS = np.array(
    [
        [0.4, 0.3, 0.2, 0.1],  # Red: "Hunde" gets 0.3 + 0.2
        [0.1, 0.2, 0.3, 0.4],  # dogs
        [0.9, 0.0, 0.0, 0.1],  # </s>
    ],
    dtype=np.float32,
)


def test_word_weights_sum_over_keys_and_average_over_queries() -> None:
    assert np.allclose(word_weights(WEIGHTS, TARGET, TARGET_WORDS, SOURCE, SOURCE_WORDS), [[0.4, 0.5], [0.1, 0.5]])
    transposed = word_weights(np.ascontiguousarray(WEIGHTS.T), SOURCE, SOURCE_WORDS, TARGET, TARGET_WORDS)
    assert np.allclose(transposed, [[0.4, 0.1], [(0.3 + 0.2) / 2, (0.2 + 0.3) / 2]])


def test_token_across_words_is_divided_by_characters() -> None:
    columns = (Token("狗在", 5, 0, 2, word=0), Token("花园", 6, 2, 4, word=1), Token("里", 7, 4, 5, word=2))
    words = ((0, 1), (1, 2), (2, 5))  # 狗 | 在 | 花园里
    rows = (Token("dog", 8, 0, 3, word=0),)
    weights = np.array([[0.5, 0.3, 0.2]], dtype=np.float32)
    merged = word_weights(weights, rows, ((0, 3),), columns, words)
    assert np.allclose(merged, [[0.5 / 2, 0.5 / 2, 0.3 + 0.2]])
    transposed = word_weights(np.ascontiguousarray(weights.T), columns, words, rows, ((0, 3),))
    assert np.allclose(transposed, [[0.5], [0.5], [(0.3 + 0.2) / 2]])  # half a token counts like a whole one


def test_links_take_best_word_of_the_row_or_the_shifted_row() -> None:
    sides = (TARGET, TARGET_WORDS, SOURCE, SOURCE_WORDS)
    assert attention_links(WEIGHTS, *sides) == {(1, 0), (1, 1)}
    assert attention_links(WEIGHTS, *sides, shift=1) == {(1, 0), (0, 1)}
    with pytest.raises(RequestError, match="shift must be a whole number from 0 to 1, but 2"):
        attention_links(WEIGHTS, *sides, shift=2)


def test_error_rate_by_hand() -> None:
    gold = GoldLinks(sure=frozenset({(0, 0), (1, 1)}), possible=frozenset({(0, 0), (1, 1), (0, 1)}))
    assert count_errors(frozenset({(0, 0), (1, 1)}), gold).rate == 0
    assert count_errors(frozenset({(0, 0), (0, 1)}), gold).rate == pytest.approx(1 - (1 + 2) / (2 + 2))
    assert count_errors(frozenset({(1, 0)}), gold).rate == 1
    assert (count_errors(frozenset({(0, 0)}), gold) + AlignmentCounts(1, 0, 0, 0)).rate == pytest.approx(
        1 - 2 / (2 + 2)
    )


def test_error_bounds_by_hand() -> None:
    right, wrong = AlignmentCounts(2, 2, 2, 2), AlignmentCounts(2, 2, 0, 0)
    bounds = error_bounds(
        [right, wrong]
    )  # a quarter of all samples contains the right one twice, a quarter the wrong one
    assert bounds == (0, 1)
    assert error_bounds([right, right, right]) == (0, 0)
    assert error_bounds([wrong]) == (1, 1)
    assert error_bounds([]) == (0, 0)


def test_error_bounds_are_binomial_and_narrow_with_more_sentences() -> None:
    right, wrong = AlignmentCounts(1, 1, 1, 1), AlignmentCounts(1, 1, 0, 0)
    bounds = error_bounds([right, wrong] * 50, samples=4000)  # error rate of 100 sentences: 0.5 ± 1.96 · 0.05
    assert bounds.low == pytest.approx(0.5 - 1.96 * 0.05, abs=0.011)
    assert bounds.high == pytest.approx(0.5 + 1.96 * 0.05, abs=0.011)
    wider = error_bounds([right, wrong] * 5)
    assert wider.low < bounds.low
    assert wider.high > bounds.high
    assert error_bounds([right, wrong] * 5) == wider  # the same seed


def test_agreement_by_hand() -> None:
    first, second = [frozenset({(0, 0), (1, 1)}), frozenset({(0, 0)})], [frozenset({(0, 0)}), frozenset({(0, 1)})]
    assert links_f1(first, second) == pytest.approx(2 * 1 / (3 + 2))
    assert links_f1(first, first) == 1
    assert links_f1([frozenset()], [frozenset()]) == 1


def test_links_are_parsed_as_sure_or_possible() -> None:
    gold = parse_links("2-1 0-0 4?3 1-2p", 5, 4)
    assert gold.sure == {(2, 1), (0, 0)}
    assert gold.possible == {(2, 1), (0, 0), (4, 3), (1, 2)}
    assert gold.reversed() == (reverse_links(gold.sure), reverse_links(gold.possible))
    assert gold.reversed().sure == {(1, 2), (0, 0)}
    for invalid, message in (
        ("2", "'2' is not a link. Write 3-4"),
        ("a-b", "is not a link"),
        ("-1-2", "is not a link"),
        ("5-0", "'5-0': the source has 5 words"),
        ("0?4", "the target has 4 words"),
    ):
        with pytest.raises(CommandError, match=message):
            parse_links(invalid, 5, 4)


@pytest.mark.parametrize(
    ("marked", "text", "words"),
    [
        ("Er hat 3,5 km, oder?", "Er hat 3,5 km, oder?", ["Er", "hat", "3,5", "km", ",", "oder", "?"]),
        ("昨天 晚上 ， 我 没有 睡 。", "昨天晚上，我没有睡。", ["昨天", "晚上", "，", "我", "没有", "睡", "。"]),
        ("我 用 Python 3 编程。", "我用Python 3编程。", ["我", "用", "Python", "3", "编程", "。"]),
        ("don't  stop", "don't stop", ["don't", "stop"]),
        ("", "", []),
    ],
)
def test_segmented_text_loses_only_added_spaces(marked: str, text: str, words: list[str]) -> None:
    segmented = parse_segmented(marked)
    assert segmented.text == text
    assert list(segmented.words) == words


@pytest.mark.parametrize(("name", "source"), [("de-en", "de"), ("zh-en", "zh")])
def test_bundled_links_match_readme(name: str, source: str) -> None:
    pairs = read_links(LINKS_FOLDER / f"{name}.tsv", source, "en")
    assert len(pairs) == 120
    for pair in pairs:
        assert 8 <= pair.length <= 25
        linked_words = {word for _, word in pair.gold.possible}
        assert len(pair.target.spans) - len(linked_words) <= 5, pair.target.text
        assert len(pair.gold.sure) >= 0.5 * len(pair.source.spans), pair.source.text
    band_counts = [sum(low <= pair.length <= high for pair in pairs) for low, high in LENGTH_BANDS]
    readme = (LINKS_FOLDER / "README.md").read_text(encoding="utf-8")
    row = next(line for line in readme.splitlines() if line.startswith(f"| {name}.tsv |"))
    passes = [[pair.gold for pair in read_links(LINKS_FOLDER / f"{name}.tsv", source, "en", each)] for each in PASSES]
    sure = links_f1(*([gold.sure for gold in each] for each in passes))
    every = links_f1(*([gold.possible for gold in each] for each in passes))
    links = sum(len(pair.gold.sure) for pair in pairs), sum(len(pair.gold.possible) for pair in pairs)
    assert row == (
        f"| {name}.tsv | {' / '.join(map(str, band_counts))} | {links[0]:,} | {links[1] - links[0]:,} "
        f"| {sure:.3f} | {every:.3f} |"
    )


PASSES = ("first", "second")


def test_short_sentences_have_links() -> None:
    pairs = read_links(LINKS_FOLDER / "de-en-short.tsv", "de", "en")
    assert len(pairs) == 43
    by_words = {
        (pair.source.words[source], pair.target.words[target]) for pair in pairs for source, target in pair.gold.sure
    }
    assert {("Kind", "child"), ("Hunde", "dogs")} & by_words == {("Kind", "child")}


def test_table_can_be_read_in_both_directions() -> None:
    forward = read_links(LINKS_FOLDER / "de-en.tsv", "de", "en")
    backward = read_links(LINKS_FOLDER / "de-en.tsv", "en", "de")
    assert backward == [pair.reversed() for pair in forward]
    assert backward[0].source == forward[0].target
    assert backward[0].gold.sure == reverse_links(forward[0].gold.sure) != forward[0].gold.sure
    assert find_links_table("en", "zh") == find_links_table("zh", "en") == LINKS_FOLDER / "zh-en.tsv"
    with pytest.raises(CommandError, match="no links between 'fr' and 'en'"):
        find_links_table("fr", "en")


class PlantedTranslator:
    """A translator with random heads and one head that follows the gold links, shifted by `reading.shift` rows."""

    def __init__(self, pairs: list[AlignedPair], reading: HeadReading) -> None:
        self.pairs = {pair.source.text: pair for pair in pairs}
        self.reading = reading

    def translate(self, text: str, target: str) -> Any:
        pair = self.pairs[text]
        assert target == pair.target.text
        sides = [
            (
                *(Token("x", 5, start, end, word=word) for word, (start, end) in enumerate(side.spans)),
                Token("</s>", 2, len(side.text), len(side.text), special=True),
            )
            for side in (pair.source, pair.target)
        ]
        cross = np.random.default_rng(len(text)).random((2, 3, len(sides[1]), len(sides[0]))).astype(np.float32)
        planted: FloatArray = cross[self.reading.layer, self.reading.head]
        for source, word in sorted(pair.gold.possible, key=lambda link: link in pair.gold.sure):
            planted[word + self.reading.shift] = np.eye(len(sides[0]), dtype=np.float32)[source]
        return SimpleNamespace(
            source_tokens=sides[0],
            target_tokens=sides[1],
            attention=SimpleNamespace(cross=cross / cross.sum(-1)[..., None]),
        )


@pytest.mark.parametrize("planted", [HeadReading(1, 2, 0), HeadReading(0, 1, 1)])
def test_planted_head_has_lowest_error_rate(planted: HeadReading) -> None:
    pairs = read_links(LINKS_FOLDER / "zh-en.tsv", "zh", "en")[::5]
    counts = count_heads(cast("Translator", PlantedTranslator(pairs, planted)), pairs)
    assert len(counts) == 2 * 3 * 2
    assert {len(each) for each in counts.values()} == {len(pairs)}
    best, second, *_ = sorted(counts, key=lambda head: sum_counts(counts[head]).rate)
    assert best == planted
    assert sum_counts(counts[best]).rate < 0.25  # a row has one link, but words can have several sure links
    assert sum_counts(counts[second]).rate > 0.7
    entries = choose_best_heads(counts, [pair.length for pair in pairs], count=2)
    assert (entries[0]["layer"], entries[0]["head"], entries[0]["shift"]) == planted
    assert entries[0]["error_rate"] == round(sum_counts(counts[planted][1::2]).rate, 3)
    assert entries[0]["chosen_by"] == round(sum_counts(counts[planted][::2]).rate, 3)
    assert entries[0]["low"] < entries[0]["error_rate"] < entries[0]["high"]
    assert set(entries[0]["by_words"]) == {"8-12", "13-18", "19-25"}


def test_error_rate_is_measured_on_held_out_sentences() -> None:
    right, wrong = AlignmentCounts(2, 2, 2, 2), AlignmentCounts(2, 2, 0, 0)
    lucky, steady = HeadReading(0, 0, 0), HeadReading(1, 0, 0)
    counts = {steady: [right, right, wrong, right], lucky: [right, wrong, right, wrong]}
    entries = choose_best_heads(counts, [8, 13, 8, 14])
    assert [(each["layer"], each["chosen_by"], each["error_rate"]) for each in entries] == [
        (0, 0.0, 1.0),
        (1, 0.5, 0.0),
    ]
    assert entries[0]["by_words"] == {"13-18": {"error_rate": 1.0, "low": 1.0, "high": 1.0}}


def test_every_head_and_shift_is_counted_in_both_directions() -> None:
    translator = tiny_translator()
    pairs = read_links(LINKS_FOLDER / "de-en-short.tsv", "de", "en")[:3]
    counts = count_heads(translator, pairs)
    cross = translator.translate(pairs[0].source.text, target=pairs[0].target.text).attention.cross
    assert len(counts) == cross.shape[0] * cross.shape[1] * 2
    assert {sum_counts(each).linked for each in counts.values()} == {sum(len(pair.target.spans) for pair in pairs)}
    assert len({sum_counts(each).rate for each in counts.values()}) > 1
    back = count_heads(translator, [pair.reversed() for pair in pairs])
    assert back.keys() == counts.keys()
    assert {sum_counts(each).linked for each in back.values()} == {sum(len(pair.source.spans) for pair in pairs)}


def test_heads_command_sorts_by_error_rate_and_writes_report(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(Translator, "load", lambda *_: tiny_translator())
    folder = tmp_path / "de-en"
    folder.mkdir()
    short = ["--links", str(LINKS_FOLDER / "de-en-short.tsv")]
    assert main(["heads", "--model", str(folder), *short, "--output", str(tmp_path / "heads.json")]) == 0
    lines = capsys.readouterr().out.splitlines()
    end = lines.index("Chosen on every other sentence, measured on the rest:")
    rates = [float(line.split()[3]) for line in lines[3:end]]
    assert rates == sorted(rates)
    entries = json.loads((tmp_path / "heads.json").read_text(encoding="utf-8"))["heads"]
    assert [each["chosen_by"] for each in entries] == sorted(each["chosen_by"] for each in entries)
    assert set(entries[0]) == {"layer", "head", "shift", "chosen_by", "error_rate", "low", "high", "by_words"}
    printed = [float(line.split()[3]) for line in lines[-len(entries) :]]
    assert printed == [each["error_rate"] for each in entries]
    assert main(["heads", "--model", str(folder), "--links", str(tmp_path / "none.tsv")]) != 0
    assert main(["heads", "--model", str(tmp_path), *short]) != 0
    assert "does not contain its languages. Add --source and --target." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("table", "source", "message"),
    [
        ("de\ten\tlinks\nJa.\tYes.\t0-0\n", "fr", "has no column 'fr'. Its columns are: de, en, links"),
        ("de\ten\tlinks\nJa.\tYes.\t0-0\nNein.\tNo.\t0-2\n", "de", "line 3: '0-2': the target has 2 words"),
        ("de\ten\tlinks\nJa.\tYes.\tJa=Yes\n", "de", "line 2: 'Ja=Yes' is not a link"),
        ("de\ten\tlinks\n", "de", "has no rows below its column names"),
        ("de\ten\nJa.\tYes.\n", "de", "has no column 'links'"),
    ],
)
def test_invalid_table_raises(tmp_path: Path, table: str, source: str, message: str) -> None:
    (tmp_path / "links.tsv").write_text(table, encoding="utf-8")
    with pytest.raises(CommandError, match=re.escape(message)):
        read_links(tmp_path / "links.tsv", source, "en")


def test_unreadable_table_raises(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="cannot be read"):
        read_links(tmp_path / "none.tsv", "de", "en")
    (tmp_path / "old.tsv").write_bytes("de\ten\tlinks\nTür\tdoor\t0-0\n".encode("latin-1"))
    with pytest.raises(CommandError, match="is not UTF-8 text"):
        read_links(tmp_path / "old.tsv", "de", "en")
