"""Words of a Chinese sentence that its translation leaves out.

Chinese sub-words are often parts of words, and many translated sub-words get little attention. Therefore neighbouring
single characters are joined into words, and particles, classifiers and other words without an English counterpart are
skipped. A word is left out if three conditions hold: it gets hardly any attention, the back-translation has none of its
characters, and the reverse model finds it unlikely given the translation. Without a back-translation, no word is
reported.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from headlight.model.records import BackTranslation, FloatArray, Span
from headlight.model.text.function_words import FUNCTION_WORDS
from headlight.model.text.number_words import HAN

UNEXPECTED_BELOW = math.log(0.05)  # log probability of a word's least likely token, given the translation
# Characters of determiners and classifiers: 这家, 一只, 每条.
DETERMINERS = "这那哪每几某各半两第整" + HAN
CLASSIFIERS = (
    "个只条本张件位把些座双辆块杯次号岁点份片瓶封台首场门颗朵匹套节顿趟遍声家种句口艘棵间层站班群幅支枝根头届部架段滴排"
)
_LIGHT_WORDS = """
们 儿 子 头 途 么 请 来 去 到 话 好 很 挺 真 完 见 住 掉 开 啦 哦 嗯 哎 呗 便 即 并 且 令 使 叫 正 连 却 先 快 帮 供 等
算 弄 有点 一点 只是 还是 就是 不是 是不是 里面 上面 起来 出来 下来 下去 过来 过去 所有 本来 到底 只要 一直 之间 来说
的话 好了 来着 这样 那样
"""  # adverbs, complements and parts of words that English omits or expresses with the neighbouring word
WITHOUT_COUNTERPART = frozenset(_LIGHT_WORDS.split()) | frozenset(FUNCTION_WORDS["zh"].split())


class ChineseWord(NamedTuple):
    """A word of a sentence: the characters from `start` to `end`, and the indices of its tokens."""

    start: int
    end: int
    tokens: tuple[int, ...]


def omitted_chinese_words(
    text: str,
    pieces: Sequence[ChineseWord],
    cross: FloatArray,
    back: BackTranslation | None,
    *,
    attended_from: float,
) -> list[Span]:
    """Return the spans of the words that the translation leaves out; neighbouring words share a span.

    Args:
        text: The sentence.
        pieces: Its sub-words, in order.
        cross: Cross-attention, `[layer, head, target, source]`.
        back: The back-translation, with the sentence's probabilities given the translation.
        attended_from: Minimum attention of an attended word.
    """
    if back is None or not cross.size:
        return []
    weights = cross.mean(axis=(0, 1), dtype=np.float64)  # [target, source]
    spans: list[Span] = []
    for word in _join_characters(text, pieces):
        characters = text[word.start : word.end]
        if not _has_counterpart(characters) or set(characters) & set(back.text):
            continue
        if weights[:, list(word.tokens)].sum(axis=1).max() >= attended_from:
            continue
        probabilities = [
            token.probability
            for token in back.tokens
            if token.probability is not None and token.start < word.end and word.start < token.end
        ]
        if math.log(max(min(probabilities, default=1.0), 1e-9)) >= UNEXPECTED_BELOW:
            continue
        if spans and spans[-1].end == word.start:
            spans[-1] = Span(spans[-1].start, word.end)
        else:
            spans.append(Span(word.start, word.end))
    return spans


def _join_characters(text: str, pieces: Sequence[ChineseWord]) -> list[ChineseWord]:
    """Join neighbouring single characters into one word, because the vocabulary lacks many words."""
    words: list[ChineseWord] = []
    is_joinable = False  # whether the last word consists of single characters that may continue
    for piece in pieces:
        is_single = piece.end - piece.start == 1 and _has_counterpart(text[piece.start : piece.end])
        if is_single and is_joinable and words[-1].end == piece.start:
            words[-1] = ChineseWord(words[-1].start, piece.end, words[-1].tokens + piece.tokens)
        else:
            words.append(piece)
        is_joinable = is_single
    return words


def _has_counterpart(word: str) -> bool:
    """Whether a translation into English needs a word for this word; false for text that is not Chinese."""
    if word in WITHOUT_COUNTERPART or not all("\u4e00" <= character <= "\u9fff" for character in word):
        return False
    return not (word[-1] in CLASSIFIERS and set(word[:-1]) <= set(DETERMINERS))
