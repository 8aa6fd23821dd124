"""The initial selection: a content word that attends to its source word."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from headlight import Translator
from headlight.model.checkpoints.alignment_heads import cross_heads
from headlight.model.commands.heads import links_table
from headlight.model.measures.alignment_head import AlignmentHead, CrossHeads
from headlight.model.measures.roles import head_roles
from headlight.model.records import Attention, Token, Translation, TranslationRequest
from headlight.model.text.function_words import is_content
from headlight.model.text.gold_links import read_links
from headlight.model.translate.opening import Opening, late_heads, opening
from headlight.viz.service.examples import EXAMPLES
from headlight.viz.settings import MODELS

SOURCES = ("Ich", "habe", "Bier", "getrunken")
TARGETS = ("I", "drank", "beer")
# Of each example, words that translate each other: all that fit, since another processor may write another word.
PAIRS = {
    "relative": {"dog Hund", "saw gesehen", "yesterday gestern", "sleeping schläft", "table Tisch"},
    "verb_last": {"book Buch", "read gelesen", "gave gegeben"},
    "separable": {"tomorrow morgen", "morning früh", "call an"},
    "question": {"tell sagen", "station Bahnhof", "train Bahnhof"},
    "long": {
        "man Mann", "red roten", "hat Hut", "sitting sitzt", "bench Bank", "reading liest", "newspaper Zeitung",
        "two zwei", "children Kinder", "play spielen", "playing spielen", "ball Ball",
    },
    "idiom": {"understand verstehe", "station Bahnhof"},
    "english": {"Frau woman", "wohnt lives", "Fahrrad bicycle", "nebenan door"},
    "chinese": {"like 喜欢", "book 书", "books 书", "bought 买", "yesterday 昨天"},
    "into_chinese": {"喜欢 like", "书 book", "本书 book", "买 bought", "昨天 yesterday"},
    "french": {"know sais", "come venir", "tomorrow demain", "night soir", "evening soir"},
}  # fmt: skip


def look(translation: Translation, measured: CrossHeads, source: str, target: str) -> tuple[Opening, int]:
    """What is opened on, and the column on which its row looks most."""
    found = opening(translation, head_roles(translation)["cross"], measured, source=source, target=target)
    assert found is not None
    assert found.row is not None
    return found, int(translation.attention.cross[found].argmax())


# ---------------------------------------------------------------- what ships


@pytest.mark.parametrize("name", [each.name for each in EXAMPLES if each.model != "toy"])
def test_each_example_opens_on_a_word_and_the_word_that_it_translates(name: str) -> None:
    example = next(each for each in EXAMPLES if each.name == name)
    measured = cross_heads(MODELS / example.model)
    translation = Translator.load(MODELS / example.model, "cpu").translate(example.text, beam_size=4)
    found, column = look(translation, measured, *example.model.split("-"))
    assert found.row is not None
    written, read = translation.target_tokens[found.row], translation.source_tokens[column]
    assert f"{written.text} {read.text}" in PAIRS[name]
    assert translation.attention.cross[found][column] >= 0.9
    assert (found.layer, found.head) not in late_heads(head_roles(translation)["cross"], measured)


@pytest.mark.parametrize("model", ["de-en", "en-de", "zh-en", "en-zh"])
def test_what_is_opened_on_is_a_link_that_people_drew(model: str) -> None:
    source, target = model.split("-")
    pairs = read_links(links_table(source, target), source, target)[::4]
    translator, measured = Translator.load(MODELS / model, "cpu"), cross_heads(MODELS / model)
    right = 0
    for pair in pairs:
        translation = translator.translate(pair.source.text, target=pair.target.text)
        found, column = look(translation, measured, source, target)
        assert found.row is not None
        words = [
            [place for place, (start, end) in enumerate(spans) if start < token.end and token.start < end]
            for spans, token in (
                (pair.source.spans, translation.source_tokens[column]),
                (pair.target.spans, translation.target_tokens[found.row]),
            )
        ]
        right += any((one, other) in pair.gold.possible for one in words[0] for other in words[1])
    assert right >= 0.95 * len(pairs)


# ---------------------------------------------------------------- the rule, by hand


def sentence(words: tuple[str, ...]) -> tuple[Token, ...]:
    text, tokens = " ".join(words), []
    for place, word in enumerate(words):
        start = text.index(word)
        tokens.append(Token(word, place, start, start + len(word), word=place))
    return (*tokens, Token("</s>", 99, len(text), len(text), special=True))


def pointing(*columns: int, weight: float = 0.96) -> np.ndarray:
    """Rows that give this weight to these columns, and share out the rest."""
    columns_of_all = len(SOURCES) + 1
    rows = np.full((len(columns), columns_of_all), (1 - weight) / (columns_of_all - 1), dtype=np.float32)
    rows[np.arange(len(columns)), columns] = weight
    return rows


def translated(*heads: np.ndarray) -> Translation:
    """A made-up answer of one layer, whose right links are I-Ich, drank-getrunken, beer-Bier."""
    cross = np.stack(heads)[None]
    empty = np.zeros((0, 0, 0, 0), dtype=np.float32)
    start = Token("<s>", 1, 0, 0, special=True)
    return Translation(
        TranslationRequest(text=" ".join(SOURCES)), " ".join(SOURCES), " ".join(TARGETS), sentence(SOURCES),
        sentence(TARGETS), start, Attention(empty, empty, cross), {}, -0.5, -2.0, "end",
    )  # fmt: skip


OWN, LATE = pointing(0, 3, 2, 4), pointing(4, 0, 3, 2)


def chosen(translation: Translation, measured: CrossHeads) -> Opening | None:
    return opening(translation, head_roles(translation)["cross"], measured, source="de", target="en")


def test_a_head_that_is_read_one_word_late_is_not_opened_on() -> None:
    measured = CrossHeads((AlignmentHead(0, 0, 1),), {(0, 0): 9.0, (0, 1): 0.1})
    found = chosen(translated(LATE, OWN, OWN), measured)
    assert found is not None
    assert (found.layer, found.head) == (0, 1)
    assert found.row in (1, 2)  # "drank" and "beer": "I" is no content word


def test_of_several_the_head_that_the_model_misses_most_gives_its_strongest_look() -> None:
    clear, clearer = pointing(0, 3, 2, 4), pointing(0, 3, 2, 4, weight=0.92)
    clearer[2] = pointing(2, weight=0.98)[0]
    measured = CrossHeads((AlignmentHead(0, 0, 0),), {(0, 0): 0.2, (0, 1): 0.7})
    assert chosen(translated(clear, clearer), measured) == Opening(0, 1, 2)


def test_a_look_that_does_not_agree_with_its_word_is_passed_over() -> None:
    wrong = pointing(0, 2, 3, 4)  # "drank" on Bier, "beer" on getrunken
    measured = CrossHeads((AlignmentHead(0, 0, 0),), {(0, 0): 0.1, (0, 1): 0.7})
    found = chosen(translated(OWN, wrong), measured)
    assert found is not None
    assert found.head == 0


def test_without_a_clear_look_the_strongest_that_agrees_is_shown() -> None:
    faint = pointing(0, 3, 2, 4, weight=0.7)
    wrong = pointing(1, 2, 3, 4)
    found = chosen(translated(wrong, faint), CrossHeads((AlignmentHead(0, 1, 0),)))
    assert found is not None
    assert (found.head, found.row) in {(1, 1), (1, 2)}


def test_a_model_without_cross_attention_opens_on_nothing() -> None:
    empty = np.zeros((0, 0, 0, 0), dtype=np.float32)
    translation = replace(translated(OWN), attention=Attention(empty, empty, empty))
    assert opening(translation, [], CrossHeads()) is None


@pytest.mark.parametrize(
    ("word", "language", "content"),
    [
        ("schläft", "de", True), (" the", "en", False), ("The", "eng_Latn", False), ("的", "zh", False),
        ("书", "zho_Hans", True), (",", "de", False),
        ("</s>", "xx", True), ("die", "xx", True), ("don’t", "en", False), ("qu'il", "fr", False),
    ],
)  # fmt: skip
def test_content_words_are_all_but_function_words_and_signs(word: str, language: str, *, content: bool) -> None:
    assert is_content(word, language) is content
