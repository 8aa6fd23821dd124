"""The initial selection: a content word that attends to its source word."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from headlight import Translator
from headlight.model.checkpoints.alignment_heads import cross_heads
from headlight.model.commands.heads import find_links_table
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
# Word pairs of each example that are translations; several, because translations differ between processors.
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
}  # fmt: skip


def opening_and_column(translation: Translation, heads: CrossHeads, source: str, target: str) -> tuple[Opening, int]:
    """The initial selection, and the source token with its row's largest weight."""
    selection = opening(translation, head_roles(translation)["cross"], heads, source=source, target=target)
    assert selection is not None
    assert selection.row is not None
    return selection, int(translation.attention.cross[selection].argmax())


# ---------------------------------------------------------------- bundled models


@pytest.mark.parametrize("name", [each.name for each in EXAMPLES if each.model != "toy"])
def test_example_opens_on_word_and_its_source_word(name: str) -> None:
    example = next(each for each in EXAMPLES if each.name == name)
    heads = cross_heads(MODELS / example.model)
    translation = Translator.load(MODELS / example.model, "cpu").translate(example.text, beam_size=4)
    selection, column = opening_and_column(translation, heads, *example.model.split("-"))
    assert selection.row is not None
    target_token, source_token = translation.target_tokens[selection.row], translation.source_tokens[column]
    assert f"{target_token.text} {source_token.text}" in PAIRS[name]
    assert translation.attention.cross[selection][column] >= 0.9
    assert (selection.layer, selection.head) not in late_heads(head_roles(translation)["cross"], heads)


@pytest.mark.parametrize("model", ["de-en", "en-de", "zh-en", "en-zh"])
def test_openings_are_gold_alignment_links(model: str) -> None:
    source, target = model.split("-")
    pairs = read_links(find_links_table(source, target), source, target)[::4]
    translator, heads = Translator.load(MODELS / model, "cpu"), cross_heads(MODELS / model)
    right = 0
    for pair in pairs:
        translation = translator.translate(pair.source.text, target=pair.target.text)
        selection, column = opening_and_column(translation, heads, source, target)
        assert selection.row is not None
        words = [
            [place for place, (start, end) in enumerate(spans) if start < token.end and token.start < end]
            for spans, token in (
                (pair.source.spans, translation.source_tokens[column]),
                (pair.target.spans, translation.target_tokens[selection.row]),
            )
        ]
        right += any((one, other) in pair.gold.possible for one in words[0] for other in words[1])
    assert right >= 0.95 * len(pairs)


# ---------------------------------------------------------------- selection on constructed attention


def sentence(words: tuple[str, ...]) -> tuple[Token, ...]:
    text, tokens = " ".join(words), []
    for place, word in enumerate(words):
        start = text.index(word)
        tokens.append(Token(word, place, start, start + len(word), word=place))
    return (*tokens, Token("</s>", 99, len(text), len(text), special=True))


def attention_rows(*columns: int, weight: float = 0.96) -> np.ndarray:
    """Rows with this weight at these columns and the rest spread evenly."""
    columns_of_all = len(SOURCES) + 1
    rows = np.full((len(columns), columns_of_all), (1 - weight) / (columns_of_all - 1), dtype=np.float32)
    rows[np.arange(len(columns)), columns] = weight
    return rows


def make_translation(*heads: np.ndarray) -> Translation:
    """A constructed translation with one layer; correct links are I-Ich, drank-getrunken, beer-Bier."""
    cross = np.stack(heads)[None]
    empty = np.zeros((0, 0, 0, 0), dtype=np.float32)
    start = Token("<s>", 1, 0, 0, special=True)
    return Translation(
        TranslationRequest(text=" ".join(SOURCES)), " ".join(SOURCES), " ".join(TARGETS), sentence(SOURCES),
        sentence(TARGETS), start, Attention(empty, empty, cross), {}, -0.5, -2.0, "end",
    )  # fmt: skip


CORRECT, LATE = attention_rows(0, 3, 2, 4), attention_rows(4, 0, 3, 2)


def open_translation(translation: Translation, heads: CrossHeads) -> Opening | None:
    return opening(translation, head_roles(translation)["cross"], heads, source="de", target="en")


def test_late_head_is_not_selected() -> None:
    heads = CrossHeads((AlignmentHead(0, 0, 1),), {(0, 0): 9.0, (0, 1): 0.1})
    opening = open_translation(make_translation(LATE, CORRECT, CORRECT), heads)
    assert opening is not None
    assert (opening.layer, opening.head) == (0, 1)
    assert opening.row in (1, 2)  # "drank" and "beer": "I" is a function word


def test_most_important_head_and_its_largest_weight_are_selected() -> None:
    clear, clearer = attention_rows(0, 3, 2, 4), attention_rows(0, 3, 2, 4, weight=0.92)
    clearer[2] = attention_rows(2, weight=0.98)[0]
    heads = CrossHeads((AlignmentHead(0, 0, 0),), {(0, 0): 0.2, (0, 1): 0.7})
    assert open_translation(make_translation(clear, clearer), heads) == Opening(0, 1, 2)


def test_wrong_links_are_skipped() -> None:
    wrong = attention_rows(0, 2, 3, 4)  # "drank" on Bier, "beer" on getrunken
    heads = CrossHeads((AlignmentHead(0, 0, 0),), {(0, 0): 0.1, (0, 1): 0.7})
    opening = open_translation(make_translation(CORRECT, wrong), heads)
    assert opening is not None
    assert opening.head == 0


def test_largest_correct_weight_is_selected_if_none_is_clear() -> None:
    faint = attention_rows(0, 3, 2, 4, weight=0.7)
    wrong = attention_rows(1, 2, 3, 4)
    opening = open_translation(make_translation(wrong, faint), CrossHeads((AlignmentHead(0, 1, 0),)))
    assert opening is not None
    assert (opening.head, opening.row) in {(1, 1), (1, 2)}


def test_model_without_cross_attention_has_no_opening() -> None:
    empty = np.zeros((0, 0, 0, 0), dtype=np.float32)
    translation = replace(make_translation(CORRECT), attention=Attention(empty, empty, empty))
    assert opening(translation, [], CrossHeads()) is None


@pytest.mark.parametrize(
    ("word", "language", "content"),
    [
        ("schläft", "de", True), (" the", "en", False), ("The", "eng_Latn", False), ("的", "zh", False),
        ("书", "zho_Hans", True), (",", "de", False),
        ("</s>", "xx", True), ("die", "xx", True), ("don’t", "en", False), ("qu'il", "fr", False),
    ],
)  # fmt: skip
def test_function_words_and_punctuation_are_not_content(word: str, language: str, *, content: bool) -> None:
    assert is_content(word, language) is content
