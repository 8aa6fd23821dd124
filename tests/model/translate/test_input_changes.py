"""Masked, erased and swapped words: the changed input and its attention."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from headlight.model.errors import RequestError
from headlight.model.intervention_records import InputChange
from headlight.model.translate.input_changes import EditedText, apply_input_changes
from tests.tiny import SENTENCES, tiny_translator

TEXT = "Der Hund, ja, schläft."


def change(action: Any, word: str, text: str = "", within: str = TEXT) -> InputChange:
    start = within.index(word)
    return InputChange(action=action, start=start, end=start + len(word), text=text)


@pytest.mark.parametrize(
    ("changes", "expected", "hidden"),
    [
        ([change("swap", "Hund", "Kater")], "Der Kater, ja, schläft.", []),
        ([change("erase", "Der")], "Hund, ja, schläft.", []),
        ([change("erase", "ja")], "Der Hund,, schläft.", []),
        ([change("erase", "Hund, ja,")], "Der schläft.", []),
        ([change("erase", "schläft.")], "Der Hund, ja,", []),
        ([change("swap", "Hund", " ")], "Der, ja, schläft.", []),
        ([change("mask", "Hund")], TEXT, ["Hund"]),
        ([change("mask", "schläft"), change("swap", "Der", "Dieser")], "Dieser Hund, ja, schläft.", ["schläft"]),
        ([change("erase", "Der"), change("mask", "ja"), change("mask", "Hund")], "Hund, ja, schläft.", ["Hund", "ja"]),
        ([change("swap", "ja", "e\u0301h")], "Der Hund, éh, schläft.", []),
        ([], TEXT, []),
    ],
)
def test_words_are_changed_in_place(changes: list[InputChange], expected: str, hidden: list[str]) -> None:
    changed = apply_input_changes(TEXT, changes)
    assert changed.text == expected
    assert [changed.text[span.start : span.end] for span in changed.hidden] == hidden


def test_order_of_changes_does_not_matter() -> None:
    changes = [change("swap", "Der", "Dieser"), change("mask", "ja"), change("erase", "schläft.")]
    assert apply_input_changes(TEXT, changes) == apply_input_changes(TEXT, changes[::-1])


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ([change("mask", "Hund"), change("swap", "nd, j", "x")], "words_overlap"),
        ([InputChange(action="erase", start=0, end=len(TEXT))], "nothing_left"),
        ([InputChange(action="erase", start=3, end=len(TEXT) + 1)], "not_whole"),
        ([change("swap", "Hund", "\ud800")], "half_character"),
    ],
)
def test_invalid_changes_are_rejected(changes: list[InputChange], word: str) -> None:
    with pytest.raises(RequestError) as error_info:
        apply_input_changes(TEXT, changes)
    assert error_info.value.word == word


def test_swapped_word_matches_edited_sentence() -> None:
    translator = tiny_translator()
    swap = change("swap", "Hund", "Kater", SENTENCES[0])
    changed, other = (
        translator.translate(SENTENCES[0], interventions=(swap,)),
        translator.translate(SENTENCES[0].replace("Hund", "Kater")),
    )
    assert changed.source_text == other.source_text
    assert [token.id for token in changed.target_tokens] == [token.id for token in other.target_tokens]
    assert changed.log_probability == pytest.approx(other.log_probability, abs=1e-5)


@pytest.mark.parametrize("beam", [1, 3])
def test_masked_word_gets_no_attention(beam: int) -> None:
    translator = tiny_translator()
    mask = change("mask", "Hund", within=SENTENCES[0])
    changed = translator.translate(SENTENCES[0], interventions=(mask,), beam_size=beam)
    plain = translator.translate(SENTENCES[0], beam_size=beam)
    hidden = [place for place, token in enumerate(changed.source_tokens) if mask.start <= token.start < mask.end]
    assert changed.attention.masked_source == tuple(hidden)
    assert hidden
    others = [place for place in range(len(changed.source_tokens)) if place not in hidden]
    for kind in ("encoder", "cross"):
        maps = changed.attention.of(kind)  # type: ignore[arg-type]
        assert (maps[..., hidden] == 0).all()
        np.testing.assert_allclose(maps[..., others].sum(axis=-1), 1, atol=1e-5)
        allowed = changed.attention.allowed(kind)  # type: ignore[arg-type]
        assert not allowed[:, hidden].any()
        assert allowed[:, others].all()
        assert (plain.attention.of(kind)[..., hidden] > 0).all()  # type: ignore[arg-type]
    assert changed.attention.allowed("decoder").sum() == np.tril(changed.attention.allowed("decoder")).sum()
    assert changed.source_tokens == plain.source_tokens


def test_masking_works_in_batches_and_streams() -> None:
    translator = tiny_translator()
    mask = (InputChange(action="mask", start=0, end=3),)
    texts = list(SENTENCES[:4])
    for text, one in zip(texts, translator.translate_batch(texts, interventions=mask, max_length=9), strict=True):
        alone = translator.translate(text, interventions=mask, max_length=9)
        streamed: Any = list(translator.stream(text, interventions=mask, max_length=9))[-1].translation
        for other in (alone, streamed):
            assert one.text == other.text
            assert one.attention.masked_source == other.attention.masked_source != ()
            np.testing.assert_allclose(one.attention.cross, other.attention.cross, atol=1e-5)


def test_unchanged_sentence_has_no_hidden_words() -> None:
    assert apply_input_changes(TEXT, []) == EditedText(TEXT, ())
    assert tiny_translator().translate(TEXT, max_length=5).attention.masked_source == ()
