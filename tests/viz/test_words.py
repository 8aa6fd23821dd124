"""Every word on the page has its twin in the other language, and every word that is asked for is there."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from headlight.viz.answers.examples import EXAMPLES
from headlight.viz.errors import ERROR_WORDS
from headlight.viz.figures import FIGURES
from headlight.viz.figures import figure_words as english_figures
from headlight.viz.tabs import TABS
from headlight.viz.words import LANGUAGES, WORDS, figure_words, say, words

WIDGETS = Path(__file__).resolve().parents[2] / "viz" / "widgets"
VISIBLE = re.compile(r"[A-Za-z一-鿿]{2,}")
CALL = re.compile(r"""\bt\(\s*(['"`])(?P<key>[^'"`]+)\1""")
CHOICE = re.compile(r"""\bt\((?P<inside>[^()`]*\?[^()`]*)\)""")
PLACES = re.compile(r"\{(\w+)\}")


def asked_for() -> set[str]:
    """The keys, and the beginnings of keys, that our modules name."""
    found = set()
    for path in WIDGETS.rglob("*.js"):
        source = path.read_text(encoding="utf-8")
        found |= {match["key"] for match in CALL.finditer(source)}
        for match in CHOICE.finditer(source):
            found |= set(re.findall(r"[?:]\s*'(\w+)'", match["inside"]))
    return found


def test_both_tables_have_one_shape() -> None:
    english, chinese = words("en"), words("zh")
    assert set(english) == set(chinese)
    for key, text in english.items():
        assert text.strip(), key
        assert chinese[key].strip(), key
        assert set(PLACES.findall(text)) == set(PLACES.findall(chinese[key])), key


def test_every_phrase_that_a_module_says_is_in_the_tables() -> None:
    known = set(words("en"))
    for key in asked_for():
        beginning = key.split("${")[0]
        if "${" in key:
            assert any(each.startswith(beginning) for each in known), key
        else:
            assert key in known, key


def test_modules_hold_no_words_of_their_own() -> None:
    """Text reaches the page by `make(…, 'text')` or `textContent = 'text'`: none of it may be written out."""
    assigned = r"(?:textContent|placeholder|title|ariaLabel) = (['\"`])(?P<text>[^'\"`]*)\1"
    literal = re.compile(assigned + r"|make\('\w+', \{[^{}]*\}, '(?P<child>[^']*)'")
    said = []
    for path in sorted(WIDGETS.rglob("*.js")):
        for match in literal.finditer(path.read_text(encoding="utf-8")):
            text = match["text"] or match["child"] or ""
            if VISIBLE.search(text.replace("Headlight", "")) and "${" not in text:
                said.append(f"{path.name}: {text}")
    assert not said


def test_errors_are_said_in_every_language() -> None:
    for word, text in ERROR_WORDS.items():
        assert set(PLACES.findall(words("en")[f"error_{word}"])) == set(PLACES.findall(text)), word


@pytest.mark.parametrize("language", LANGUAGES)
def test_figures_find_all_their_words(language: str) -> None:
    for name in FIGURES:
        found = figure_words(name, language)
        assert set(english_figures()[name]) <= set(found), name


def test_english_figures_say_what_their_modules_say() -> None:
    for name, own in english_figures().items():
        assert {key: figure_words(name, "en")[key] for key in own} == own


def test_every_tab_and_example_has_a_name() -> None:
    for name in TABS:
        assert f"tab_{name}" in words("en")
    for example in EXAMPLES:
        assert f"example_{example.name}" in words("en")


def test_values_are_filled_in() -> None:
    assert say("one_head", "zh", layer=3, head=5) == "第 3 层 · 5 号头"


def test_tables_are_tidy_json() -> None:
    for language in LANGUAGES:
        text = (WORDS / f"{language}.json").read_text(encoding="utf-8")
        assert text == json.dumps(json.loads(text), ensure_ascii=False, indent=1) + "\n"
