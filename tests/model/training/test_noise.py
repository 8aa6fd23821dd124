"""Typing noise in sources: deterministic by seed and epoch, without changes of names and numbers."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest

from headlight.model.errors import TrainingError
from headlight.model.training import noise
from headlight.model.training.noise import add_noise, noisy_sources
from tests.model.training.examples import CORPORA, make_recipe
from tests.model.training.test_run import make_run

TEXTS = [f"Heute treffen wir uns um {hour} Uhr 45 in München, nicht wahr?" for hour in range(400)]


def test_noise_depends_only_on_seed_and_epoch() -> None:
    first = noisy_sources(TEXTS, "de", 0.5, seed=1, epoch=0)
    assert first == noisy_sources(TEXTS, "de", 0.5, seed=1, epoch=0)
    assert first != noisy_sources(TEXTS, "de", 0.5, seed=1, epoch=1)
    assert first != noisy_sources(TEXTS, "de", 0.5, seed=2, epoch=0)
    assert 0.4 < len(first) / len(TEXTS) < 0.6
    assert all(TEXTS[row] != text for row, text in first.items())
    assert noisy_sources(TEXTS, "de", 0.0, seed=1, epoch=0) == {}


def test_careless_noise_combines_habits() -> None:
    careless = noisy_sources(TEXTS, "de", 1.0, seed=1, epoch=0, careless=1.0)
    small = sum(text == text.lower() for text in careless.values())
    small_without_end = sum(text == text.lower() and text[-1] != "?" for text in careless.values())
    assert 0.7 < small / len(TEXTS) < 0.9
    assert 0.7 < small_without_end / small < 0.9
    spellings = {
        word for text in careless.values() for word in ("münchen", "muenchen", "munchen") if word in text.lower()
    }
    assert spellings == {"münchen", "muenchen", "munchen"}
    ordinary = noisy_sources(TEXTS, "de", 1.0, seed=1, epoch=0)
    assert sum(text == text.lower() and text[-1] != "?" for text in ordinary.values()) < 0.2 * len(TEXTS)
    assert {f" {row} " in text for row, text in careless.items()} == {True}


@pytest.mark.parametrize("value", [-0.1, 1.5])
def test_careless_share_must_be_a_share(value: float) -> None:
    with pytest.raises(TrainingError, match=rf"noise.careless is {value:g}, but must be in \[0, 1\]"):
        noise.NoiseSettings(share=0.3, careless=value)


def test_careless_noise_of_each_language() -> None:
    for language, text, typed in (
        ("en", "I don't know, Tom.", "i dont know tom"),
        ("zh", "你好，我明天来。", "你好我明天来"),
        ("fr", "Où est la gare ?", "où est la gare "),
    ):
        assert typed in {add_noise(text, language, Random(seed), careless=1.0) for seed in range(300)}


def test_noise_keeps_numbers() -> None:
    for row, text in noisy_sources(TEXTS, "de", 1.0, seed=1, epoch=0).items():
        assert f" {row} " in text, text
        assert " 45 " in text, text


@pytest.mark.parametrize(
    ("change", "before", "after"),
    [
        (noise.lower_case, "Kommt Anna?", "kommt anna?"),
        (noise.upper_case, "Kommt Anna?", "KOMMT ANNA?"),
        (noise.lower_first, "Kommt Anna?", "kommt Anna?"),
        (noise.drop_final_punctuation, "Ich weiß.", "Ich weiß"),
        (noise.drop_final_punctuation, "我知道。", "我知道"),
        (noise.drop_commas, "Ja, es kostet 3,50 Euro, glaube ich.", "Ja es kostet 3,50 Euro glaube ich."),
        (noise.drop_apostrophes, "I don't know, it's Tom’s.", "I dont know, its Toms."),
        (noise.transliterate_umlauts, "Schöne Grüße aus Österreich", "Schoene Gruesse aus Oesterreich"),
        (noise.strip_umlauts, "Schöne Grüße", "Schone Grusse"),
        (noise.use_half_width_punctuation, "是吗？好，再见！", "是吗?好,再见!"),
        (noise.misspell("en"), "I receive it.", "I recieve it."),
        (noise.misspell("zh"), "我已经走了", "我以经走了"),
    ],
)
def test_noise_functions_match_examples(change: noise.NoiseFunction, before: str, after: str) -> None:
    assert change(before, Random(1)) == after


def test_typo_changes_one_word_and_no_name() -> None:
    text = "Susanne Ziegler wartet in Oberhausen"
    for seed in range(40):
        noisy = noise.add_typo(text, Random(seed))
        assert noisy.replace(noisy.split()[2], "wartet") == text
        assert noisy.split()[2][0] == "w"
        assert sorted(set(noisy.split()[2]) - set("wartet")) == []
    assert noise.add_typo("Anna und Ali", Random(1)) == "Anna und Ali"
    assert noise.add_typo("我不知道", Random(1)) == "我不知道"


def test_noise_never_empties_text() -> None:
    assert all(add_noise("?!", "en", Random(seed)) for seed in range(30))


def test_unlisted_language_gets_latin_noise() -> None:
    assert any(add_noise("Où est la gare ?", "fr", Random(seed)) != "Où est la gare ?" for seed in range(10))


def test_share_above_one_is_rejected() -> None:
    with pytest.raises(TrainingError, match=r"noise\.share is 1\.5"):
        make_recipe(noise={"share": 1.5})


def test_epoch_has_noisy_sources_and_unchanged_targets(tmp_path: Path) -> None:
    run = make_run(make_recipe(noise={"share": 0.5}, steps=1), CORPORA, tmp_path)
    plain = run.data.plain
    epochs = [run.data(epoch) for epoch in (0, 1, 0)]
    assert np.array_equal(epochs[0].source.ids, epochs[2].source.ids)
    assert not np.array_equal(epochs[0].source.ids, epochs[1].source.ids)
    assert epochs[0].target is plain.target
    texts = [pair.source for pair in run.data.text.pairs]
    recipe = run.recipe
    noisy = noisy_sources(texts, recipe.source_language, 0.5, recipe.seed, 0)
    assert noisy
    for row, text in enumerate(texts):
        expected = run.tokenizers.source.encode(noisy.get(row, text))
        assert epochs[0].source[row].tolist() == expected


def test_noise_works_with_subword_dropout(tmp_path: Path) -> None:
    recipe = make_recipe(noise={"share": 1.0}, tokenizer={"vocabulary": 400, "source_dropout": 0.2}, steps=1)
    run = make_run(recipe, CORPORA, tmp_path)
    decoded = [run.tokenizers.source.decode(ids.tolist()) for ids in run.data(0).source]
    texts = [pair.source for pair in run.data.text.pairs]
    noisy = noisy_sources(texts, recipe.source_language, 1.0, recipe.seed, 0)
    assert decoded == [noisy.get(row, text) for row, text in enumerate(texts)]
