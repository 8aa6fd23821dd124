"""Variants of sentences as people type them."""

from __future__ import annotations

import csv

import pytest

from headlight.model.checkpoints.shipped import ASSETS
from headlight.model.text.adaptation import adapt_text
from headlight.model.text.respelling import is_careless
from headlight.model.training.as_typed import VARIANTS, as_typed, use_traditional


def read_column(name: str, language: str) -> list[str]:
    with (ASSETS / "corpora" / name).open(encoding="utf-8", newline="") as file:
        return [row[language] for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]


@pytest.mark.parametrize("language", VARIANTS)
def test_every_sentence_has_a_variant_that_stays_the_same(language: str) -> None:
    sentences = read_column("typed.tsv", language)
    variants = [as_typed(sentence, language, number) for number, sentence in enumerate(sentences)]
    assert all(variant != sentence for variant, sentence in zip(variants, sentences, strict=True))
    assert variants == [as_typed(sentence, language, number) for number, sentence in enumerate(sentences)]
    careless = sum(is_careless(variant, language) for variant in variants)
    assert 0.8 * len(variants) < careless
    assert not any(is_careless(sentence, language) for sentence in sentences)


def test_the_kinds_of_variants() -> None:
    german = [as_typed("Schöne Grüße, und die Straße ist weiß.", "de", number) for number in range(6)]
    assert german[0] == "schöne grüße, und die straße ist weiß"
    assert german[1] == "schoene gruesse, und die strasse ist weiss"
    assert german[2] == "Schoene Gruesse, und die Strasse ist weiss."
    assert german[4] == "schone grusse und die strasse ist weiss"
    assert german[5] == "Schöne Grüße, und die Straße ist weiß"
    assert as_typed("I'm late, don't wait.", "en", 4) == "im late dont wait"
    assert as_typed("你好，我们来了。", "zh", 1) == "你好,我们来了."
    assert as_typed("你好，我们来了。", "zh", 3) == "你好 我们来了"
    assert as_typed("Wo ist er", "de", 5) == "wo ist er"  # the sixth kind would change nothing


def test_traditional_characters_are_read_as_the_simplified_ones() -> None:
    for sentence in read_column("typed.tsv", "zh"):
        assert adapt_text(as_typed(sentence, "zh", 2), "zh").read.rstrip("。！？") == sentence.rstrip("。！？")
    assert as_typed("我们回家，后来的事只有他知道。", "zh", 2) == "我們回家，後來的事只有他知道"
    assert use_traditional is VARIANTS["zh"][2][0]
