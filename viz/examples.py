"""The sentences that the page offers: some of our own for each model that may be here."""

from __future__ import annotations

from typing import NamedTuple


class Example(NamedTuple):
    """`name` has words of its own: `example_NAME`."""

    name: str
    model: str
    text: str


EXAMPLES = (
    Example("relative", "de-en", "Der Hund, den ich gestern gesehen habe, schläft jetzt unter dem Tisch."),
    Example("verb_last", "de-en", "Ich habe das Buch gelesen, das du mir gegeben hast."),
    Example("separable", "de-en", "Morgen früh stehe ich um sechs Uhr auf und rufe dich an."),
    Example("question", "de-en", "Können Sie mir sagen, wo der Bahnhof ist?"),
    Example(
        "long",
        "de-en",
        "Als wir gestern Abend nach einer langen Fahrt endlich nach Hause kamen, stand die Tür offen, und in der Küche "
        "saß mein Bruder, den ich lange nicht gesehen hatte, mit seiner Tochter am Tisch und aß eine Suppe.",
    ),
    Example("english", "en-de", "The man I met yesterday wants to buy a house by the sea."),
    Example("chinese", "zh-en", "我昨天看到的那只狗在桌子底下睡觉。"),
    Example("toy", "toy", "ich mochte ein bier"),
)
