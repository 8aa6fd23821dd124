"""The atlas: effects, lifts and deciles against a plain computation, and the stored ones against a new measurement."""

from __future__ import annotations

import json
from collections import Counter
from itertools import chain

import numpy as np
import pytest

from headlight.model.checkpoints.shipped import ASSETS
from headlight.model.commands.atlas import SENTENCES
from headlight.model.commands.steadiness import TEXTS, sample_sentences
from headlight.model.errors import CommandError
from headlight.model.experiments.atlas import MIN_OCCURRENCES, head_atlas
from headlight.model.experiments.effects import compute_sentence_head_effects
from headlight.model.records import KINDS
from headlight.model.translate.translator import Translator

CORPUS = tuple(f"ich {verb} {noun}" for verb in ("mochte", "habe") for noun in ("ein bier", "ein haus", "ein cola"))


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load("toy", "cpu")


def test_effects_and_deciles_match_single_sentences(translator: Translator) -> None:
    atlas = head_atlas(translator, CORPUS, "test")
    effects = [compute_sentence_head_effects(translator, translator.translate(text, beam_size=1)) for text in CORPUS]
    for kind in KINDS:
        values = np.stack([effect[kind] for effect in effects])
        for layer, entries in enumerate(atlas["heads"][kind]):
            for head, entry in enumerate(entries):
                own = values[:, layer, head]
                assert entry["effect"] == pytest.approx(own.mean(), abs=1e-3)
                assert entry["spread"] == pytest.approx(own.std(), abs=1e-3)
                ordered = own[entry["deciles"]]
                assert (np.diff(ordered) >= -1e-6).all()
                assert (ordered[0], ordered[-1]) == (own.min(), own.max())
    assert atlas["sentences"] == len(CORPUS)


def test_lifts_compare_weight_with_an_even_spread(translator: Translator) -> None:
    atlas = head_atlas(translator, CORPUS, "test")
    weights, even, sentences = Counter[str](), Counter[str](), Counter[str]()
    for text in CORPUS:
        translation = translator.translate(text, beam_size=1)
        head_map = translation.attention_map("encoder", 0, 1)
        for column, token in enumerate(head_map.columns):
            if token.special:
                continue
            weights[token.text.strip()] += float(head_map.weights[:, column].sum())
            even[token.text.strip()] += float((head_map.allowed[:, column] / head_map.allowed.sum(axis=1)).sum())
            sentences[token.text.strip()] += 1
    lifts = {word: weights[word] / even[word] for word in weights if sentences[word] >= MIN_OCCURRENCES}
    expected = {word: lift for word, lift in lifts.items() if lift > 1}
    reads = dict(atlas["heads"]["encoder"][0][1]["reads"])
    assert set(reads) <= set(expected)
    for word, lift in reads.items():
        assert lift == pytest.approx(expected[word], abs=0.051)


def test_no_sentences_raise_an_error(translator: Translator) -> None:
    with pytest.raises(CommandError, match="no sentences"):
        head_atlas(translator, (), "test")


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(path.stem for path in (ASSETS / "atlas").glob("*.json")))
def test_stored_atlas_equals_a_new_measurement(name: str) -> None:
    stored = json.loads((ASSETS / "atlas" / f"{name}.json").read_text(encoding="utf-8"))
    texts = sample_sentences(TEXTS, name.split("-")[0], SENTENCES)
    atlas = head_atlas(Translator.load(name, "cpu"), texts, TEXTS.name)
    assert (atlas["corpus"], atlas["sentences"]) == (stored["corpus"], stored["sentences"])
    for kind in KINDS:
        for new, old in zip(chain(*atlas["heads"][kind]), chain(*stored["heads"][kind]), strict=True):
            assert new["effect"] == pytest.approx(old["effect"], abs=2e-3)
            assert new["spread"] == pytest.approx(old["spread"], abs=2e-3)
            assert [lift for _, lift in new["reads"]] == pytest.approx([lift for _, lift in old["reads"]], abs=0.11)
