"""Sentences in four scripts for training vocabularies, and unusual ones for tokenizing."""

from __future__ import annotations

import io
import json
import random
from functools import cache
from typing import Any

import sentencepiece
import tokenizers

LATIN = (
    "Der alte Müller fährt früh am Morgen über die Brücke in die große Stadt.",
    "Am Abend erzählt er den Kindern, was er unterwegs gehört und gesehen hat.",
    "Öffne bitte die Tür, draußen steht jemand mit einem schweren Koffer!",
    "Wie viele Äpfel kosten heute fünf Euro, und wie süß schmecken sie?",
    "The train was late again, so we walked home through the quiet rain.",
    "My sister keeps three grey cats and one very old, very lazy dog.",
    "Nobody knew why the light in the small window never went out.",
    "Let us meet at the corner at half past seven; bring the blue lamp.",
    "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich.",
    "It's cold, isn't it? We'll take the 9:45 bus - or stay in bed.",
)
CYRILLIC = (
    "Утром над рекой стоял густой туман, и лодка шла очень тихо.",
    "Старый учитель читал детям длинную сказку о храбром медведе.",
    "Мы долго искали ключ, а он лежал в кармане зимнего пальто.",
    "Завтра будет дождь, поэтому возьми с собой большой зонтик.",
    "Сколько стоит билет до последней станции этой дороги?",
    "Кошка спит на окне, собака ждёт хозяина у двери дома.",
)
HAN = (
    "昨天晚上下了一场大雨，今天早上的空气很清新。",
    "我的朋友在城里开了一家小书店，每天都有很多人去看书。",
    "这条河很长，河边有许多老树和几座石桥。",
    "请把窗户打开，让阳光照进房间里来。",
    "孩子们在花园里跑来跑去，老人坐在长椅上喝茶。",
    "明天我们坐火车去北方看雪，你也一起来吧！",
)
DEVANAGARI = (
    "आज सुबह से हल्की बारिश हो रही है और सड़कें भीगी हैं।",
    "मेरी दादी हर शाम बच्चों को एक नई कहानी सुनाती हैं।",
    "बाज़ार में ताज़े फल और सब्ज़ियाँ बहुत सस्ती मिलती हैं।",
    "कल हम पहाड़ों की ओर जाएँगे और नदी के किनारे रुकेंगे।",
    "क्या तुमने वह पुरानी किताब पढ़ी जो मेज़ पर रखी थी?",
)
LINES = LATIN + CYRILLIC + HAN + DEVANAGARI
# Characters that are replaced, dropped or unknown, or that are easily split at the wrong place.
ODD = (
    *("½", "ﬁ", "ﬀ", "Ｆ", "ｕ", "１", "①", "Ⅳ", "㎏", "™", "…", "‰", "ｶﾞ", "각", "ａ", "Å", "Ω", "é", "ñ", "ǆ", "ß"),
    *("e\u0301", "n\u0303", "ᄀ\u1161", "\u3000", "\u00a0", "\u2009", "\u200b", "\u00ad", "\ufeff"),
    *(
        " ",
        "  ",
        "   ",
        "▁",
        "▁▁",
        "🙂",
        "👩\u200d👩\u200d👧",
        "👨\U0001f3fd\u200d🚀",
        "🇩🇪",
        "❤\ufe0f",
        "☃",
        "ꙮ",
        "𝔸",
        "𐍈",
    ),
    *("<unk>", "<0x41>", "@", "#", "%", "°", "“", "”", "’", "'", "-", "–", "_", "\\", "{", "}", "~", "\u0301", "\x07"),
    *("\t", "\n", "\r\n"),
)


def learn(lines: tuple[str, ...] = LINES, **options: Any) -> bytes:
    """A SentencePiece model trained on these lines."""
    return _learn(lines, tuple(sorted(options.items())))


@cache
def _learn(lines: tuple[str, ...], options: tuple[tuple[str, Any], ...]) -> bytes:
    defaults: dict[str, Any] = {"vocab_size": 431, "character_coverage": 0.995, "hard_vocab_limit": False}
    buffer = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines * 2), model_writer=buffer, minloglevel=2, **(defaults | dict(options))
    )
    return buffer.getvalue()


@cache
def learn_bytes(size: int = 600) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """A byte-level BPE vocabulary of `LINES`: ids of pieces, from four special tokens to the mask, and merges."""
    tokenizer = tokenizers.ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    tokenizer.train_from_iterator(LINES * 2, vocab_size=size - 1, special_tokens=special, show_progress=False)
    model = json.loads(tokenizer.to_str())["model"]
    return model["vocab"] | {"<mask>": len(model["vocab"])}, [(left, right) for left, right in model["merges"]]


def odd_texts(count: int, seed: int = 0) -> list[str]:
    """Random stretches of sentences with unusual characters inserted, and texts of unusual characters only."""
    rng = random.Random(seed)  # noqa: S311 - the same in every run
    texts = ["", " ", "▁", "a", " a", "a ", "½", "\u200b", *LINES]
    while len(texts) < count:
        line = rng.choice(LINES)
        start = rng.randrange(len(line))
        parts = list(line[start : start + rng.randrange(50)]) if rng.random() < 0.6 else []
        for _ in range(rng.randrange(1, 6)):
            parts.insert(rng.randint(0, len(parts)), rng.choice(ODD))
        texts.append("".join(parts))
    return texts
