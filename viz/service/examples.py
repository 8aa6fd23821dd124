"""Example sentences of the page for each bundled model."""

from __future__ import annotations

from typing import NamedTuple


class Example(NamedTuple):
    """An example sentence. Its label is the phrase `example_NAME`."""

    name: str
    model: str
    text: str


EXAMPLES = (
    Example("relative", "de-en", "Der Hund, den ich gestern gesehen habe, schläft unter dem Tisch."),
    Example("verb_last", "de-en", "Ich habe das Buch gelesen, das du mir gegeben hast."),
    Example("separable", "de-en", "Ich rufe dich morgen früh an, sobald ich aufstehe."),
    Example("question", "de-en", "Können Sie mir sagen, wo der Bahnhof ist?"),
    Example(
        "long",
        "de-en",
        "Ein Mann mit einem roten Hut sitzt auf einer Bank und liest eine Zeitung, während zwei Kinder mit einem "
        "Ball spielen.",
    ),
    Example("idiom", "de-en", "Ich verstehe nur Bahnhof."),  # translated literally, which is wrong
    Example("english", "en-de", "The woman who lives next door gave me her old bicycle."),
    Example("chinese", "zh-en", "我喜欢你昨天买的书。"),
    Example("into_chinese", "en-zh", "I like the book that you bought yesterday."),
    Example("toy", "toy", "ich mochte ein bier"),
)
