"""Reasons by word: functions by text match those by position."""

from __future__ import annotations

from dataclasses import replace

import pytest

import headlight
from headlight.model.errors import RequestError
from headlight.model.experiments.account import word_account
from headlight.model.experiments.effects import summarise_effects
from headlight.model.experiments.reasons import find_likeliest_rival, find_rival, find_token
from headlight.model.experiments.score_parts import Cell, score_parts
from headlight.model.records import Translation
from headlight.model.translate.translator import Translator
from tests.tiny import SENTENCES, tiny_translator

PLACE = 2


@pytest.fixture(scope="module")
def translator() -> Translator:
    return tiny_translator()


@pytest.fixture(scope="module")
def answer(translator: Translator) -> Translation:
    return translator.translate(SENTENCES[0], max_length=9)


def test_find_token_returns_first_token_with_text(translator: Translator, answer: Translation) -> None:
    word = answer.target_tokens[PLACE].text.strip()
    place = [token.text.strip() for token in answer.target_tokens].index(word)
    assert find_token(answer.target_tokens, f" {word} ") == place
    assert find_token(answer.target_tokens, PLACE) == PLACE
    with pytest.raises(RequestError, match=r"is not a token here\. The tokens are:") as error_info:
        find_token(answer.target_tokens, "xyzzy")
    assert word in str(error_info.value)
    assert find_rival(translator.target_tokenizer, None) is None
    assert find_rival(translator.target_tokenizer, 7) == 7
    assert find_rival(translator.target_tokenizer, word) == translator.target_tokenizer.encode(word)[0]
    with pytest.raises(RequestError, match="empty"):
        find_rival(translator.target_tokenizer, "")


def test_rival_of_several_tokens_or_unknown_characters_names_them(translator: Translator, answer: Translation) -> None:
    tokenizer = translator.target_tokenizer
    words = [tokenizer.label(each).strip() for each in range(tokenizer.vocabulary_size)]
    token_id, word = next((each, word) for each, word in enumerate(words) if word and tokenizer.encode(word) == [each])
    assert find_rival(tokenizer, f" {word} ", single=True) == token_id
    ids = tokenizer.encode(f"{word}xyzzy")
    assert find_rival(tokenizer, f"{word}xyzzy") == ids[0]  # without `single`, the first token counts
    with pytest.raises(RequestError, match=f"“{word}xyzzy” is {len(ids)} tokens: ") as error_info:
        find_rival(tokenizer, f"{word}xyzzy", single=True)
    assert " + ".join(tokenizer.label(each).strip() for each in ids) in str(error_info.value)
    for single in (True, False):
        with pytest.raises(RequestError, match="has no “狗”"):
            find_rival(tokenizer, "狗", single=single)
    with pytest.raises(RequestError, match="empty"):
        find_rival(tokenizer, "  ", single=True)
    with pytest.raises(RequestError, match="is the word itself"):
        find_rival(tokenizer, word, replace(answer.target_tokens[PLACE], id=token_id), single=True)


def test_word_is_a_token_or_its_position(translator: Translator, answer: Translation) -> None:
    translation = answer
    tokens = translation.target_tokens
    assert find_token(tokens, -1) == len(tokens) - 1
    for word in (len(tokens), True, 1.5):
        with pytest.raises(RequestError, match="word must be"):
            find_token(tokens, word)  # type: ignore[arg-type]
    with pytest.raises(RequestError, match="is the word itself"):
        headlight.account(translator, translation, 0, rival=tokens[0].id)
    for rival in (True, 1.5, ["a"]):
        for function in (headlight.effects, headlight.account):
            with pytest.raises(RequestError, match="rival must be a word"):
                function(translator, translation, 0, rival=rival)  # type: ignore[arg-type]


def test_functions_by_text_match_functions_by_position(translator: Translator, answer: Translation) -> None:
    place = find_token(answer.target_tokens, answer.target_tokens[PLACE].text)
    word = answer.target_tokens[place].text
    by_text, by_position = (
        headlight.effects(translator, answer, word, top=3),
        summarise_effects(translator, answer, place, 3),
    )
    assert by_text.strongest == by_position.strongest
    assert len(by_text.strongest) == 3
    against = headlight.effects(translator, answer, place, rival=7, top=1).strongest
    assert against == summarise_effects(translator, answer, place, 1, 7).strongest
    rival = find_likeliest_rival(answer, place)
    assert rival != answer.target_tokens[place].id
    assert headlight.account(translator, answer, word) == word_account(translator, answer, place, rival)
    source = answer.source_tokens[1].text
    column = find_token(answer.source_tokens, source)
    parts = headlight.score_parts(translator, answer, "cross", 1, 0, word, source, side="query")
    assert parts == score_parts(translator, answer, Cell("cross", 1, 0, place, column), "query")
