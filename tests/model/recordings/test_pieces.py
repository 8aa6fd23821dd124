"""Pieces in every notation are decoded to their text."""

from __future__ import annotations

import io
import json
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from tokenizers import Tokenizer, models, pre_tokenizers

from headlight.model.checkpoints.formats import to_npz as translation_npz
from headlight.model.recordings.builder import recording_from_arrays
from headlight.model.recordings.files import read_recording, to_json, to_npz
from headlight.model.recordings.recording import RecordingError
from headlight.model.recordings.token_names import locate_tokens, names_from_ids, tokens_from_names
from headlight.model.translate.translator import Translator
from tests.model.recordings import families
from tests.model.recordings.test_reading import softmax

SPELLINGS = {
    "sentencepiece": ["<s>", "▁the", "▁cat", "s", "▁sat", ".", "</s>"],
    "bytes": ["<s>", "the", "Ġcat", "s", "Ġsat", ".", "</s>"],
    "wordpiece": ["[CLS]", "the", "cat", "##s", "sat", "##.", "[SEP]"],
    "ends": ["<s>", "the</w>", "cat", "s</w>", "sat", ".</w>", "</s>"],
    "continued": ["<s>", "the", "cat@@", "s", "sat@@", ".", "</s>"],
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_notation_gives_the_same_words(spelling: str) -> None:
    tokens, text = tokens_from_names(SPELLINGS[spelling])
    assert text.strip() == "the cats sat."
    assert [text[token.start : token.end] for token in tokens[1:-1]] == ["the", "cat", "s", "sat", "."]
    assert [token.word for token in tokens] == [None, 0, 1, 1, 2, 3, None]
    assert [token.special for token in tokens] == [True, *[False] * 5, True]


def test_byte_pieces_are_joined_to_characters() -> None:
    for names in (["▁a", "<0xE4>", "<0xBD>", "<0xA0>"], ["a", "Ġ", "ä", "½", "ł"]):
        tokens, text = tokens_from_names(names)
        assert text.replace(" ", "") == "a你"
        assert [(token.text, token.piece, token.pieces) for token in tokens[-3:]] == [("你", k, 3) for k in range(3)]
    tokens, _ = tokens_from_names(["▁a", "<0xE4>"])  # cut within a character
    assert tokens[1].text == "<0xE4>"


@given(st.lists(st.text(min_size=1, max_size=6), min_size=1, max_size=9))
def test_any_names_have_valid_offsets(names: list[str]) -> None:
    tokens, text = tokens_from_names(names)
    assert len(tokens) == len(names)
    for token in tokens:
        assert 0 <= token.start <= token.end <= len(text)
        if not token.special:
            assert text[token.start : token.end] == token.text


def test_names_are_located_in_text() -> None:
    located = locate_tokens(["<s>", "a", "你", "你", "你", "b", "</s>"], "a 你b")
    assert located is not None
    spans = [(token.start, token.end, token.special, token.piece, token.pieces) for token in located[0]]
    assert spans == [
        (0, 0, True, 0, 1), (0, 1, False, 0, 1), *[(2, 3, False, k, 3) for k in range(3)], (3, 4, False, 0, 1),
        (4, 4, True, 0, 1),
    ]  # fmt: skip
    assert locate_tokens(["a", "b"], "a c b") is None


def test_names_from_ids_works_for_both_tokenizer_libraries() -> None:
    tokens, text = names_from_ids(families.tokenizer(), [2, 3, 4, 9, 1, 0])
    assert [token.text for token in tokens] == ["<s>", "the", "cat", "s", "</s>", "<pad>"]
    assert [token.special for token in tokens] == [True, False, False, False, True, True]
    assert text.strip() == "the cats"
    plain = Tokenizer(models.WordLevel({"<s>": 0, "a": 1}, unk_token="<s>"))  # type: ignore[arg-type, call-arg]  # noqa: S106
    plain.pre_tokenizer = pre_tokenizers.Whitespace()
    plain.add_special_tokens(["<s>"])
    assert [token.special for token in names_from_ids(plain, [0, 1])[0]] == [True, False]
    with pytest.raises(RecordingError, match="not a supported tokenizer"):
        names_from_ids(object(), [1])


@pytest.mark.parametrize("form", ["npz", "json"])
def test_recording_file_roundtrips(form: str, tmp_path: Path) -> None:
    first = recording_from_arrays(
        {
            "encoder": softmax((2, 3, 5, 5)),
            "decoder": softmax((2, 3, 4, 4), mask=np.tri(4)),
            "cross": softmax((2, 3, 4, 5)),
        },
        source=["▁Ich", "▁tr", "inke", ".", "</s>"], target=["▁I", "▁drink", ".", "</s>"],
    )  # fmt: skip
    path = tmp_path / f"maps.{form}"
    path.write_bytes({"npz": to_npz, "json": to_json}[form](first))
    second = read_recording(path)
    assert second.kinds == first.kinds
    for kind in first.kinds:
        np.testing.assert_array_equal(second.attention.of(kind), first.attention.of(kind))
        np.testing.assert_array_equal(second.of(kind).allowed, first.of(kind).allowed)
    plain = [[(token.text, token.special, token.word) for token in each] for each in (first.source, first.target)]
    assert plain == [
        [(token.text, token.special, token.word) for token in each] for each in (second.source, second.target)
    ]


def test_exported_translation_is_read_with_decoder_inputs(tmp_path: Path) -> None:
    result = Translator.load("toy", device="cpu").translate("ich mochte ein bier")
    path = tmp_path / "maps.npz"
    path.write_bytes(translation_npz(result))
    recording = read_recording(path)
    for kind in ("encoder", "decoder", "cross"):
        np.testing.assert_array_equal(recording.attention.of(kind), result.attention.of(kind))
    assert len(recording.decoder_inputs or ()) == len(result.decoder_tokens)
    assert recording.attention_map("decoder", 0, 0).columns[0].special
    recorded = [(token.text, token.start, token.end, token.word, token.special) for token in recording.source]
    assert recorded == [
        (token.text, token.start, token.end, token.word, token.special) for token in result.source_tokens
    ]
    assert [token.word for token in recording.target] == [token.word for token in result.target_tokens]


def test_invalid_file_raises(tmp_path: Path) -> None:
    for name, content in (
        ("a.npz", b"PK\3\4"),
        ("b.json", b"{"),
        ("c.json", b"[1]"),
        ("d.json", b"{}"),
        ("e.npz", b""),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(RecordingError):
            read_recording(tmp_path / name)
    with pytest.raises(RecordingError, match=r"There is no file '.*none\.npz'. Check the path"):
        read_recording(tmp_path / "none.npz")
    pickled = io.BytesIO()
    np.savez(pickled, encoder=np.array([{}], dtype=object))
    (tmp_path / "f.npz").write_bytes(pickled.getvalue())
    with pytest.raises(RecordingError):
        read_recording(tmp_path / "f.npz")
    assert json.loads(to_json(recording_from_arrays({"self": softmax((1, 1, 2, 2))})))["tokens"] == ["1", "2"]
