"""Links between words: read off attention, read from what people drew, and counted."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from headlight.model.commands.heads import CORPORA, error_rates, read_gold
from headlight.model.commands.main import main
from headlight.model.errors import CommandError, RequestError
from headlight.model.measures.alignment import Errors, Gold, count_errors, links_of, parse_gold, word_weights, words_of
from headlight.model.records import Token
from headlight.model.text.segmentation import word_indices
from headlight.model.translate.translator import Translator
from tests.tiny import tiny_translator

SOURCE = (
    Token("Rote", 5, 0, 4, word=0),
    Token("Hun", 6, 5, 8, word=1),
    Token("de", 7, 8, 10, word=1),
    Token("</s>", 2, 10, 10, special=True),
)
TARGET = (Token("Red", 8, 0, 3, word=0), Token("dogs", 9, 4, 8, word=1), Token("</s>", 2, 8, 8, special=True))
WEIGHTS = np.array(
    [
        [0.4, 0.3, 0.2, 0.1],  # Red: "Hunde" gets 0.3 + 0.2
        [0.1, 0.2, 0.3, 0.4],  # dogs
        [0.9, 0.0, 0.0, 0.1],  # the end
    ],
    dtype=np.float32,
)


def test_words_are_put_together_of_their_tokens() -> None:
    assert words_of(SOURCE) == ["Rote", "Hunde"]
    assert words_of(TARGET) == ["Red", "dogs"]


def test_a_word_is_looked_at_by_the_sum_of_its_tokens_and_looks_by_their_mean() -> None:
    assert np.allclose(word_weights(WEIGHTS, TARGET, SOURCE), [[0.4, 0.5], [0.1, 0.5]])
    turned = word_weights(np.ascontiguousarray(WEIGHTS.T), SOURCE, TARGET)
    assert np.allclose(turned, [[0.4, 0.1], [(0.3 + 0.2) / 2, (0.2 + 0.3) / 2]])


def test_links_go_to_the_best_word_of_the_row_or_of_the_row_after() -> None:
    assert links_of(WEIGHTS, TARGET, SOURCE) == {(1, 0), (1, 1)}
    assert links_of(WEIGHTS, TARGET, SOURCE, shift=1) == {(1, 0), (0, 1)}
    with pytest.raises(RequestError, match="shift must be a whole number from 0 to 1, but 2"):
        links_of(WEIGHTS, TARGET, SOURCE, shift=2)


def test_error_rate_by_hand() -> None:
    gold = Gold(sure=frozenset({(0, 0), (1, 1)}), possible=frozenset({(0, 0), (1, 1), (0, 1)}))
    assert count_errors(frozenset({(0, 0), (1, 1)}), gold).rate == 0
    assert count_errors(frozenset({(0, 0), (0, 1)}), gold).rate == pytest.approx(1 - (1 + 2) / (2 + 2))
    assert count_errors(frozenset({(1, 0)}), gold).rate == 1
    assert (count_errors(frozenset({(0, 0)}), gold) + Errors(1, 0, 0, 0)).rate == pytest.approx(1 - 2 / (2 + 2))


def test_drawn_links_name_words_and_say_which_of_equal_ones() -> None:
    source, target = ["mit", "dem", "Rad", "als", "mit", "dem"], ["by", "bike", "than", "by", "=", "a"]
    gold = parse_gold("Rad=bike mit=by mit#2~by#2", source, target)
    assert gold.sure == {(2, 1), (0, 0)}
    assert gold.possible == {(2, 1), (0, 0), (4, 3)}
    for wrong, complaint in (("Rad", "is no link"), ("Bad=bike", "stands 0 time"), ("mit#3=by", "stands 2 time")):
        with pytest.raises(CommandError, match=complaint):
            parse_gold(wrong, source, target)


def test_every_drawn_link_names_words_that_are_there_and_few_words_have_none() -> None:
    rows = read_gold(CORPORA / "mini.tsv", CORPORA / "alignments.tsv", "de", "en")
    assert len(rows) == 43
    for german, english, written in rows:
        sides = [_words(german), _words(english)]
        gold = parse_gold(written, *sides)
        linked = {word for _, word in gold.possible}
        assert len(sides[1]) - len(linked) <= 1, english
        assert len(gold.sure) >= 0.5 * len(sides[1]), english


def _words(text: str) -> list[str]:
    spans = [(place, place + 1) for place, character in enumerate(text) if character != " "]
    words: dict[int, str] = {}
    for (start, end), word in zip(spans, word_indices(text, spans), strict=True):
        words[word] = words.get(word, "") + text[start:end]
    return [words[word] for word in sorted(words)]


def test_rates_are_of_every_head_and_shift_and_are_those_of_its_maps() -> None:
    translator = tiny_translator()
    rows = read_gold(CORPORA / "mini.tsv", CORPORA / "alignments.tsv", "de", "en")[:3]
    rates = error_rates(translator, rows)
    layers, heads = translator.translate(rows[0][0], target=rows[0][1]).attention.cross.shape[:2]
    assert len(rates) == layers * heads * 2
    assert len({errors.linked for errors in rates.values()}) == 1  # each target word has one link
    assert len({errors.rate for errors in rates.values()}) > 1
    swapped = [(english, german, written) for german, english, written in rows]
    assert error_rates(translator, swapped, reverse=True).keys() == rates.keys()


def test_the_command_prints_the_best_head_first(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(Translator, "load", lambda *_: tiny_translator())
    assert main(["heads", "--model", str(tmp_path), "--output", str(tmp_path / "heads.json")]) == 0
    rates = [float(line.split()[-1]) for line in capsys.readouterr().out.splitlines()[2:]]
    assert rates == sorted(rates)
    kept = json.loads((tmp_path / "heads.json").read_text(encoding="utf-8"))
    assert [each["error_rate"] for each in kept] == pytest.approx(rates[: len(kept)], abs=6e-4)
    assert set(kept[0]) == {"layer", "head", "shift", "error_rate"}
    assert main(["heads", "--model", str(tmp_path), "--corpus", str(tmp_path / "none.tsv")]) != 0


@pytest.mark.parametrize(
    ("links", "source", "complaint"),
    [
        ("line\tlinks\n7\tDas=The\n", "fr", "has no column 'fr'. Its columns are: de, en, zh"),
        ("line\tlinks\n99999\tDas=The\n", "de", "line '99999' is none of"),
        ("line\tlinks\nseven\tDas=The\n", "de", "line 'seven' is none of"),
        ("line\tlinks\n", "de", "has no lines below its columns"),
        ("row\tlinks\n7\tDas=The\n", "de", "has no column 'line'"),
    ],
)
def test_tables_that_do_not_fit_are_named(tmp_path: Path, links: str, source: str, complaint: str) -> None:
    (tmp_path / "links.tsv").write_text(links, encoding="utf-8")
    with pytest.raises(CommandError, match=re.escape(complaint)):
        read_gold(CORPORA / "mini.tsv", tmp_path / "links.tsv", source, "en")
