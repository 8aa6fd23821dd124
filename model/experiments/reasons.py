"""Public functions that explain a written word: effects, accounts and parts of a score. Words are text or positions.

translator = headlight.Translator.load("de-en")
translation = translator.translate("Der Hund schläft.")
headlight.effects(translator, translation, "sleeping").strongest[0]
headlight.account(translator, translation, "sleeping", rival="asleep").source
headlight.score_parts(translator, translation, "cross", 2, 5, "sleeping", "schläft").parts[:3]
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from headlight.model.errors import RequestError, range_error, repr_short
from headlight.model.experiments.account import WordAccount, find_likeliest_rival, word_account
from headlight.model.experiments.effects import EffectSummary, summarise_effects
from headlight.model.experiments.score_parts import Cell, ScoreParts, Side
from headlight.model.experiments.score_parts import score_parts as cell_parts
from headlight.model.records import DEFAULT_TOP, Kind, Token, Translation
from headlight.model.text.vocabulary import Vocabulary
from headlight.model.translate.translator import Translator

_BYTE = re.compile("(⟨[0-9A-F]{2}⟩)+")  # label of a token that is a part of a character


def effects(
    translator: Translator,
    translation: Translation,
    word: str | int,
    rival: str | int | None = None,
    top: int = DEFAULT_TOP,
) -> EffectSummary:
    """Return the effect of each head on a written word, in nats. The `top` largest effects are also measured.

    With a `rival`, these are the effects on the lead of the word over the rival.

    Raises:
        RequestError: the word is not a token of the translation, or the rival is empty.
    """
    position = find_token(translation.target_tokens, word)
    token_id = find_rival(translator.target_tokenizer, rival, translation.target_tokens[position])
    return summarise_effects(translator, translation, position, top, token_id)


def account(
    translator: Translator, translation: Translation, word: str | int, rival: str | int | None = None
) -> WordAccount:
    """Return the contribution of each token to the lead of a written word over a rival.

    The default rival is the likeliest other token.

    Raises:
        RequestError: the word is not a token of the translation, or the rival is empty or the word itself.
    """
    position = find_token(translation.target_tokens, word)
    token_id = find_rival(translator.target_tokenizer, rival, translation.target_tokens[position])
    return word_account(
        translator, translation, position, find_likeliest_rival(translation, position) if token_id is None else token_id
    )


def score_parts(
    translator: Translator,
    translation: Translation,
    kind: Kind,
    layer: int,
    head: int,
    row: str | int,
    column: str | int,
    side: Side = "key",
) -> ScoreParts:
    """Return the parts of a cell's score, on the side of its key or of its query.

    Raises:
        RequestError: there is no such cell, or it is masked.
    """
    map_ = translation.attention_map(kind, layer, head)
    cell = Cell(kind, layer, head, find_token(map_.rows, row), find_token(map_.columns, column))
    return cell_parts(translator, translation, cell, side)


def find_token(tokens: Sequence[Token], word: str | int) -> int:
    """Return the position of the first token with this text, or validate a position.

    Raises:
        RequestError: no token has this text, or there is no such position.
    """
    if isinstance(word, int) and not isinstance(word, bool):
        if not -len(tokens) <= word < len(tokens):
            raise range_error("word", word, 0, len(tokens) - 1)
        return word % len(tokens)
    if not isinstance(word, str):
        raise _type_error("word", word, "a token or its position")
    texts = [token.text.strip() for token in tokens]
    if word.strip() not in texts:
        raise RequestError("no_such_token", field="word", given=word.strip(), tokens=" ".join(texts))
    return texts.index(word.strip())


def find_rival(
    tokenizer: Vocabulary, rival: str | int | None, word: Token | None = None, *, single: bool = False
) -> int | None:
    """Return the token ID of a rival, which is a text or a token ID.

    Args:
        tokenizer: Target vocabulary.
        rival: Text, of which the first token counts, or token ID.
        word: The written token, which cannot be its own rival.
        single: Whether the text must be a single token.

    Raises:
        RequestError: the text is empty or not in the vocabulary, the rival is the word, the text has several tokens
            although `single` is set, or the rival is neither a text nor an ID.
    """
    if rival is None:
        return None
    if isinstance(rival, bool) or not isinstance(rival, (int, str)):
        raise _type_error("rival", rival, "a word or a token's ID")
    token_id = rival if isinstance(rival, int) else _encode_rival(tokenizer, rival.strip(), single=single)
    if word is not None and token_id == word.id:
        raise RequestError("rival_is_word", field="rival", given=repr_short(word.text.strip()))
    return int(token_id)


def _type_error(name: str, value: object, needed: str) -> RequestError:
    return RequestError("wrong_type", field=name, name=name, given=repr_short(value), needed=needed)


def _encode_rival(tokenizer: Vocabulary, text: str, *, single: bool) -> int:
    ids = tokenizer.encode(text)
    if not ids:
        raise RequestError("empty_rival", field="rival")
    labels = [tokenizer.label(token_id).strip() for token_id in ids]
    if tokenizer.unknown_id in ids or any(map(_BYTE.fullmatch, labels)):
        raise RequestError("unknown_rival", field="rival", given=text)
    if single and len(ids) > 1:
        pieces = " + ".join(label for label in labels if label)
        raise RequestError("rival_in_pieces", field="rival", given=text, count=len(ids), tokens=pieces)
    return ids[0]
