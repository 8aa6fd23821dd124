"""Examples of the page are translated correctly by the bundled models, or are marked as wrong."""

from __future__ import annotations

import pytest

from headlight.viz.figure_phrases import phrase
from headlight.viz.service.examples import EXAMPLES, Example
from headlight.viz.service.service import Service
from headlight.viz.settings import Settings

# All correct translations.
RIGHT = {
    "relative": {"The dog I saw yesterday is sleeping under the table.", "The dog that I saw yesterday is sleeping under the table.", "The dog I saw yesterday sleeps under the table."},  # noqa: E501
    "verb_last": {"I read the book you gave me.", "I've read the book you gave me.", "I have read the book you gave me.", "I have read the book that you gave me.", "I read the book that you gave me."},  # noqa: E501
    "separable": {"I'll call you tomorrow morning as soon as I get up.", "I'll call you tomorrow morning when I get up.", "I'll call you early tomorrow, as soon as I get up."},  # noqa: E501
    "question": {"Can you tell me where the station is?", "Could you tell me where the station is?", "Can you tell me where the train station is?", "Could you tell me where the train station is?"},  # noqa: E501
    "long": {"A man in a red hat is sitting on a bench reading a newspaper while two children play with a ball.", "A man with a red hat is sitting on a bench reading a newspaper while two children play with a ball.", "A man in a red hat sits on a bench and reads a newspaper while two children play with a ball.", "A man with a red hat sits on a bench and reads a newspaper while two children play with a ball.", "A man in a red hat is sitting on a bench and reading a newspaper while two children are playing with a ball.", "A man with a red hat is sitting on a bench and reading a newspaper while two children are playing with a ball."},  # noqa: E501
    "english": {"Die Frau, die nebenan wohnt, hat mir ihr altes Fahrrad gegeben.", "Die Frau, die nebenan wohnt, gab mir ihr altes Fahrrad.", "Die Frau, die nebenan wohnt, hat mir ihr altes Fahrrad geschenkt."},  # noqa: E501
    "chinese": {"I like the book you bought yesterday.", "I like the book that you bought yesterday.", "I like the books you bought yesterday."},  # noqa: E501
    "into_chinese": {"我喜欢你昨天买的那本书。", "我喜欢你昨天买的书。"},
    "toy": {"i want a beer ."},
}  # fmt: skip
WRONG = {"idiom": "wrong"}  # example: the word in its title that marks it


@pytest.fixture(scope="module")
def service() -> Service:
    return Service(Settings())


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_examples_are_correct_or_marked_as_wrong(service: Service, example: Example) -> None:
    answer = service.translate(service.check({"text": example.text, "model": example.model}, model_defaults=True))
    if example.name in WRONG:
        assert WRONG[example.name] in phrase(f"example_{example.name}")
        assert not {"Greek", "Dutch", "word", "thing", "nothing"} & set(
            answer.text.strip(".").split()
        )  # if the translation is correct, remove the mark
    else:
        assert answer.text in RIGHT[example.name]
        assert answer.reliability is None or answer.reliability.grade != "doubt"


def test_first_example_of_every_translator_is_correct() -> None:
    first = {}
    for example in EXAMPLES:
        first.setdefault(example.model, example.name)
    assert not set(first.values()) & WRONG.keys()
