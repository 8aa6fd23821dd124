"""SentencePiece vocabularies against SentencePiece: ids, text, and offsets."""

from __future__ import annotations

import contextlib
import json
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headlight.model.errors import TokenizerError
from headlight.model.text.loading import load_vocabulary
from headlight.model.text.piece_tokenizer import Entry, PieceTokenizer
from headlight.model.text.sentencepiece import PieceKind, parse_sentencepiece, read_sentencepiece
from headlight.model.text.subwords import SentencePieceSegmenter
from headlight.model.text.tokenizer import Tokenizer
from tests.model.families.texts import LINES, ODD, learn, odd_texts

SYMBOLS = "<sep>,ﬁx,①,er"
VARIANTS: dict[str, dict[str, Any]] = {
    "unigram": {},
    "bpe": {"model_type": "bpe"},
    "unigram with bytes": {"byte_fallback": True, "vocab_size": 683},
    "bpe with bytes": {"model_type": "bpe", "byte_fallback": True, "vocab_size": 701},
    "unigram with symbols": {"user_defined_symbols": SYMBOLS},
    "bpe with symbols": {"model_type": "bpe", "user_defined_symbols": SYMBOLS},
    "without normalisation": {"normalization_rule_name": "identity"},
    "bpe with nfkc": {"model_type": "bpe", "normalization_rule_name": "nfkc"},
    "case folding, all spaces preserved": {"normalization_rule_name": "nmt_nfkc_cf", "remove_extra_whitespaces": False},
    "without space prefix": {"add_dummy_prefix": False},
    "space as suffix": {"model_type": "bpe", "treat_whitespace_as_suffix": True},
    "pieces across words": {"split_by_whitespace": False},
}


def vocabulary(data: bytes, **settings: Any) -> PieceTokenizer:
    """Ids as in the file."""
    model = parse_sentencepiece(data)
    kinds = {PieceKind.CONTROL: "silent", PieceKind.BYTE: "byte", PieceKind.UNKNOWN: "special"}
    entries = [Entry(piece.text, kinds.get(piece.kind, "text")) for piece in model.pieces]  # type: ignore[arg-type]
    entries.append(Entry("<pad>", "special"))
    return PieceTokenizer(
        model, entries, pad_id=len(entries) - 1, start_id=len(entries) - 1, end_id=2, unknown_id=0, **settings
    )


@pytest.fixture(scope="module", params=VARIANTS)
def ours_and_theirs(request: pytest.FixtureRequest) -> tuple[PieceTokenizer, Any]:
    data = learn(**VARIANTS[request.param])
    return vocabulary(data), sentencepiece.SentencePieceProcessor(model_proto=data)


def test_ids_match_sentencepiece(ours_and_theirs: tuple[PieceTokenizer, Any]) -> None:
    ours, theirs = ours_and_theirs
    texts = odd_texts(500)
    assert len(set(texts)) > 400
    for text in texts:
        assert ours.encode(text) == theirs.encode(text), repr(text)
    assert ours.encode_batch(texts[:9]) == [ours.encode(text) for text in texts[:9]]


@settings(max_examples=150, deadline=None)
@example(text="¼¼ﬀf")  # the scores of "f" + "ff" and "ff" + "f" differ only in the last digit
@example(text="erﬀx1sseﬁ1ssﬀﬁ")
@given(text=st.text(max_size=30) | st.lists(st.sampled_from((*ODD, *LINES[0].split())), max_size=12).map("".join))
def test_ids_match_sentencepiece_for_arbitrary_text(text: str) -> None:
    for options in ({}, {"model_type": "bpe"}):
        data = learn(**options)
        assert vocabulary(data).encode(text) == sentencepiece.SentencePieceProcessor(model_proto=data).encode(text)


def test_decoded_text_matches_sentencepiece(ours_and_theirs: tuple[PieceTokenizer, Any]) -> None:
    ours, theirs = ours_and_theirs
    for text in odd_texts(200, seed=3):
        ids = [token_id for token_id in theirs.encode(text) if token_id]
        assert ours.decode(ids) == theirs.decode(ids).strip(), repr(text)


def test_token_offsets_match_typed_text(ours_and_theirs: tuple[PieceTokenizer, Any]) -> None:
    ours, theirs = ours_and_theirs
    for text in odd_texts(300, seed=1):
        *tokens, end = ours.source_tokens(text)
        assert [token.id for token in tokens] == ours.encode(text)
        assert (end.id, end.special, end.start, end.end) == (2, True, len(text), len(text))
        for group in _groups(tokens):
            start, stop = group[0].start, group[0].end
            assert text[start:stop] == group[0].text
            pieces = "".join(_piece_text(ours, token) for token in group)
            if any(token.id == 0 or ours.entries[token.id].kind == "byte" for token in group):
                continue  # these pieces do not contain the typed text; the next test checks them
            assert _without_spaces(_normalise(theirs, text[start:stop])) == _without_spaces(pieces), (text, start, stop)


def _normalise(theirs: Any, text: str) -> str:
    """SentencePiece's normalisation of a stretch from the middle of a sentence."""
    normal: str = theirs.normalize(text)
    return normal


def _without_spaces(text: str) -> str:
    return text.replace("▁", "").replace(" ", "")


def _piece_text(ours: PieceTokenizer, token: Any) -> str:
    return ours.entries[token.id].text


def _groups(tokens: Sequence[Any]) -> list[list[Any]]:
    groups: list[list[Any]] = []
    for token in tokens:
        if token.piece == 0:
            groups.append([])
        groups[-1].append(token)
    for group in groups:
        assert [token.piece for token in group] == list(range(group[0].pieces))
        assert len({(token.start, token.end, token.text, token.word) for token in group}) == 1
    return groups


@pytest.mark.parametrize("variant", VARIANTS)
def test_tokens_do_not_overlap_and_omit_only_dropped_characters(variant: str) -> None:
    data = learn(**VARIANTS[variant])
    ours, theirs = vocabulary(data), sentencepiece.SentencePieceProcessor(model_proto=data)
    for text in odd_texts(200, seed=2):
        groups = _groups(ours.source_tokens(text)[:-1])
        end, left_out = 0, ""
        for group in groups:
            assert end <= group[0].start <= group[0].end <= len(text)
            left_out += text[end : group[0].start]
            end = group[0].end
        left_out += text[end:]
        dropped = [character for character in left_out if _without_spaces(_normalise(theirs, character)).strip()]
        assert not dropped, (text, dropped)


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("½ Tür", ["½", "Tür"]),
        ("ﬁnden", ["ﬁnden"]),
        ("  Die   Ｔür", ["Die", "Ｔür"]),
        ("Tu\u0308r", ["Tu\u0308r"]),
        ("ein\u200bander", ["ein\u200bander"]),
        ("昨天 晚上", ["昨天", "晚上"]),
        ("🙂🙂 ꙮ", ["🙂🙂", "ꙮ"]),
    ],
)
def test_tokens_cover_words_as_typed(text: str, spans: list[str]) -> None:
    tokens = vocabulary(learn()).source_tokens(text)[:-1]
    covered = sorted({position for token in tokens for position in range(token.start, token.end)})
    expected, position = [], 0
    for span in spans:
        position = text.index(span, position)
        expected += range(position, position + len(span))
    visible = [position for position in expected if unicodedata.category(text[position]) != "Cf"]
    assert [position for position in covered if position in visible] == visible
    spaces = {
        token.start for token in tokens if token.text.isspace()
    }  # "▁" is a separate token if no piece of a word includes it
    assert {position for position in covered if text[position].isspace()} == spaces


def test_unknown_characters_are_one_token_with_their_text() -> None:
    tokens = vocabulary(learn()).source_tokens("Die ꙮ𐍈 Tür")
    unknown = [token for token in tokens if token.id == 0]
    assert [(token.text, token.start, token.end, token.special) for token in unknown] == [("ꙮ𐍈", 4, 6, False)]


def test_bytes_of_unknown_character_share_its_offsets() -> None:
    ours = vocabulary(learn(**VARIANTS["unigram with bytes"]))
    tokens = [token for token in ours.source_tokens("Tür ꙮ") if ours.entries[token.id].kind == "byte"]
    assert [(token.text, token.start, token.end, token.piece, token.pieces) for token in tokens][-1] == (
        "ꙮ",
        4,
        5,
        2,
        3,
    )
    assert ours.label(tokens[0].id) == "⟨EA⟩"
    written_tokens = ours.written_tokens([token.id for token in tokens])
    assert ours.decode([token.id for token in tokens]) == "ꙮ"
    assert {(token.text, token.start, token.end) for token in written_tokens} == {("ꙮ", 0, 1)}
    assert ours.decode([token.id for token in tokens[:2]]) == "\ufffd\ufffd"


def test_written_token_offsets_match_decoded_text(ours_and_theirs: tuple[PieceTokenizer, Any]) -> None:
    ours, _ = ours_and_theirs
    for text in odd_texts(200, seed=5):
        ids = [*ours.encode(text), ours.end_id]
        decoded, tokens = ours.decode(ids), ours.written_tokens(ids)
        assert [token.id for token in tokens] == ids
        position = 0
        for token in tokens:
            assert 0 <= token.start <= token.end <= len(decoded)
            if not token.special:
                assert decoded[token.start : token.end] == token.text
                assert token.word is not None
                assert token.start >= position or token.piece
                position = token.start


def test_spaces_before_punctuation_are_removed_if_configured() -> None:
    ours = vocabulary(learn(LINES + ("a . b , c ! d ? e n't f 's g ' h",) * 3), cleans=True)
    ids = ours.encode("Wir gehen , sagte er . Was ' n nun ?")
    assert 0 not in ids
    assert ours.decode(ids) == "Wir gehen, sagte er. Was'n nun?"
    for token in ours.written_tokens(ids):
        assert ours.decode(ids)[token.start : token.end] == token.text


@pytest.mark.parametrize(("trims", "expected"), [("ends", "Tür"), ("first", " Tür")])
def test_leading_space_is_trimmed_as_configured(trims: Any, expected: str) -> None:
    ours = vocabulary(learn(), trims=trims)
    space_id = next(token_id for token_id, entry in enumerate(ours.entries) if entry.text == "▁")
    ids = [space_id, *ours.encode("Tür")]
    assert ours.decode(ids) == expected
    assert ours.written_tokens(ids)[-1].end == len(expected)


def test_leading_language_code_is_one_special_token() -> None:
    ours = vocabulary(learn(), codes=True)
    tokens = ours.source_tokens(">>unknown<< Tür")
    assert (tokens[0].id, tokens[0].special, tokens[0].text[:5], tokens[0].word) == (0, True, "<unk>", None)
    assert [token.id for token in tokens[1:]] == [*ours.encode("Tür"), 2]
    assert tokens[1].start == len(">>unknown<< ")


def test_lone_surrogate_raises() -> None:
    with pytest.raises(TokenizerError, match=r"half a character \(U\+D83D\) at position 3"):
        vocabulary(learn()).encode("ab\ud83d")


@pytest.mark.parametrize("token_id", [-1, 10_000])
def test_id_outside_vocabulary_raises(token_id: int) -> None:
    with pytest.raises(TokenizerError, match=f"no token {token_id}"):
        vocabulary(learn()).decode([token_id])


# ------------------------------------------------------------ files


@pytest.mark.parametrize("variant", VARIANTS)
def test_saved_vocabulary_roundtrips(tmp_path: Path, variant: str) -> None:
    ours = vocabulary(learn(**VARIANTS[variant]), codes=True, cleans=True, trims="first")
    ours.save(tmp_path / "tokenizer.json")
    loaded = load_vocabulary(tmp_path / "tokenizer.json")
    assert isinstance(loaded, PieceTokenizer)
    assert loaded.to_json() == ours.to_json()
    for text in odd_texts(60, seed=7):
        assert loaded.source_tokens(text) == ours.source_tokens(text)
        assert loaded.decode(ours.encode(text)) == ours.decode(ours.encode(text))


def test_byte_level_vocabulary_is_loaded_as_tokenizer(tmp_path: Path) -> None:
    Tokenizer.train(LINES, 300).save(tmp_path / "tokenizer.json")
    assert isinstance(load_vocabulary(tmp_path / "tokenizer.json"), Tokenizer)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: content.pop("pieces"), "KeyError: 'pieces'"),
        (lambda content: content.update(algorithm="word"), "'word' is not one of unigram, bpe"),
        (lambda content: content.update(end_id=9999), "no token 9999"),
        (lambda content: content["normalisation"].update(charsmap="A"), "Error"),
        (lambda content: content["entries"][0].__setitem__(1, "odd"), "'odd' is not one of"),
    ],
)
def test_damaged_vocabulary_file_raises(tmp_path: Path, change: Any, message: str) -> None:
    content = json.loads(vocabulary(learn()).to_json())
    change(content)
    (tmp_path / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(TokenizerError, match=message):
        load_vocabulary(tmp_path / "tokenizer.json")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "it has no pieces"),
        (b"{}", "is not a SentencePiece model"),
        (b"version https://git-lfs.github.com/spec/v1\n", "only a git-lfs pointer"),
        (learn()[:-1000], "is not a SentencePiece model"),
        (learn()[:1000], "is not a SentencePiece model"),
        (b"\xff" * 40, "a number does not end"),
        (learn(model_type="char"), "only unigram and BPE"),
        (learn(model_type="word"), "only unigram and BPE"),
    ],
)
def test_invalid_sentencepiece_file_raises(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / "source.spm").write_bytes(data)
    with pytest.raises(TokenizerError, match=message) as error_info:
        read_sentencepiece(tmp_path / "source.spm")
    assert str(tmp_path / "source.spm") in str(error_info.value) or "pointer" in message


def test_missing_sentencepiece_file_raises(tmp_path: Path) -> None:
    with pytest.raises(TokenizerError, match=r"source\.spm is missing"):
        read_sentencepiece(tmp_path / "source.spm")


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_damaged_sentencepiece_file_raises_only_tokenizer_errors(data: st.DataObject) -> None:
    content = bytearray(learn())
    for index in data.draw(st.lists(st.integers(0, len(content) - 1), min_size=1, max_size=5)):
        content[index] = data.draw(st.integers(0, 255))
    with contextlib.suppress(TokenizerError):
        ours = vocabulary(bytes(content))
        ours.decode(ours.encode(f"½ ﬁ Ｅ① {LINES[0]}"))


@settings(deadline=None)
@given(st.binary(max_size=40), st.integers(0, 255))
def test_damaged_normalisation_rules_raise_only_tokenizer_errors(appended: bytes, index: int) -> None:
    model = parse_sentencepiece(learn())
    original = model.normalisation.charsmap
    size = int.from_bytes(original[:4], "little")
    units = bytearray(original[4 : 4 + size])
    units[index * 97 % len(units)] ^= 0x55
    for charsmap in (original[: 4 + size] + appended, original[:4] + bytes(units) + original[4 + size :]):
        damaged = replace(model, normalisation=replace(model.normalisation, charsmap=charsmap))
        with contextlib.suppress(TokenizerError):
            SentencePieceSegmenter(damaged).segment("½ ﬁ Ｅ① と")


@pytest.mark.parametrize("variant", VARIANTS)
def test_sentencepiece_model_roundtrips(variant: str) -> None:
    model = parse_sentencepiece(learn(**VARIANTS[variant]))
    assert parse_sentencepiece(model.to_bytes()) == model
