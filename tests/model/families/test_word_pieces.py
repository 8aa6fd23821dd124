"""Vocabularies of classifiers against the tokenizers of `transformers`: ids of unusual texts, and offsets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import transformers
from tokenizers import decoders

from headlight.model.checkpoints.reader import FolderReader
from headlight.model.errors import ModelError, TokenizerError
from headlight.model.families.bert import reader as bert_reader
from headlight.model.families.roberta import reader as roberta_reader
from headlight.model.families.word_pieces import end_ids, read_word_pieces
from headlight.model.text.loading import load_vocabulary
from headlight.model.text.word_pieces import WordPieceTokenizer
from tests.model.families.classifier_folders import learn_words, reference_tokenizer, roberta, word_pieces
from tests.model.families.texts import LINES, odd_texts

OPTIONS: dict[str, dict[str, Any]] = {
    "lower case": {},
    "cased": {"do_lower_case": False},
    "accents preserved": {"strip_accents": False},
    "accents stripped, cased": {"do_lower_case": False, "strip_accents": True},
    "Chinese not split": {"tokenize_chinese_chars": False},
}
ODDER = [
    "İstanbul", "각하", "ﬁn", "naïve café", "a\u0000b\ufffdc", "天气today很好", "x" * 99, "y" * 101, "\u200bzero",
    "don't", "ẞß", "[CL S]", "##ing", "東京タワー", "e\u0301t\u0301", "…!?", "\u2028line", "a_b-c/d@e.f",
    "１２３", "𝔸𝕓",
]  # fmt: skip
SIZE = len(learn_words())


def read_tokenizer(folder: Path, size: int = 0) -> WordPieceTokenizer:
    return read_word_pieces(folder, size or len(learn_words()) + 3, pad_id=0)


def assert_same_tokens(ours: WordPieceTokenizer, theirs: Any, texts: list[str]) -> None:
    for text in texts:
        ids = theirs(text).input_ids
        assert [ours.start_id, *ours.encode(text), ours.end_id] == ids, repr(text)
        tokens = ours.source_tokens(text)
        assert [token.id for token in tokens] == ids[1:]
        offsets = theirs(text, return_offsets_mapping=True)["offset_mapping"][1:-1]
        for token, (start, end) in zip(tokens, offsets, strict=False):
            assert token.start <= start <= end <= token.end, repr(text)  # pieces of one character share its offsets
            assert token.text == text[token.start : token.end]
        words = [token.word for token in tokens[:-1]]
        assert words == sorted(words)  # type: ignore[type-var]


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("options", OPTIONS)
def test_bert_tokenizer_matches_transformers(tmp_path: Path, options: str, apart: bool) -> None:
    word_pieces(tmp_path, transformers.BertTokenizer, apart=apart, **OPTIONS[options])
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    ours = read_tokenizer(tmp_path)
    assert_same_tokens(ours, reference_tokenizer(tmp_path), [*odd_texts(250), *ODDER])
    assert ours.encode_batch(list(LINES)) == [ours.encode(line) for line in LINES]
    (unknown,) = (token_id for token_id, entry in enumerate(ours.rules.entries) if entry.kind == "unknown")
    assert sum(unknown in ours.encode(text) for text in odd_texts(250)) > 20


def test_roberta_tokenizer_matches_transformers(tmp_path: Path) -> None:
    folder = roberta(tmp_path)
    family: FolderReader = roberta_reader()
    ours, _ = family.tokenizers(folder, family.config(folder, json.loads((folder / "config.json").read_text())))
    theirs = reference_tokenizer(folder)
    for text in [*odd_texts(250), *ODDER]:
        if "<unk>" not in text:
            assert [ours.start_id, *ours.encode(text), ours.end_id] == theirs(text).input_ids, repr(text)


def test_tokenizer_json_decides_case_unless_a_class_is_named(tmp_path: Path) -> None:
    word_pieces(tmp_path, transformers.BertTokenizer, do_lower_case=False)
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}')
    assert not read_tokenizer(tmp_path).rules.lowercase
    assert_same_tokens(read_tokenizer(tmp_path), reference_tokenizer(tmp_path), [*LINES[:8], *ODDER])
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "BertTokenizer"}')
    assert read_tokenizer(tmp_path).rules.lowercase  # the default of the class


def test_added_words_are_single_tokens(tmp_path: Path) -> None:
    tokenizer = transformers.BertTokenizer({piece: index for index, piece in enumerate(learn_words())})
    tokenizer.add_tokens(["Müllerei", transformers.AddedToken("@USER", normalized=False)])
    tokenizer.add_tokens(["[E1]"], special_tokens=True)
    tokenizer.save_pretrained(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    ours = read_tokenizer(tmp_path)
    assert [entry.kind for entry in ours.rules.entries[-3:]] == ["whole", "typed", "special"]
    texts = ["Die müllerei am Bach", "die MÜLLEREI", "so @USER sagt", "so @user sagt", "aMüllereib"]
    assert_same_tokens(ours, reference_tokenizer(tmp_path), texts)
    assert ours.rules.entries[-1].text == "[E1]"
    assert SIZE + 2 not in ours.encode("a [E1] b")  # a typed special token is text


def test_typed_special_tokens_are_text(tmp_path: Path) -> None:
    word_pieces(tmp_path, transformers.BertTokenizer)
    ours = read_tokenizer(tmp_path)
    assert not {ours.pad_id, ours.start_id, ours.end_id} & set(ours.encode("[CLS] [SEP] [PAD] [MASK]"))


def test_saved_vocabulary_roundtrips(tmp_path: Path) -> None:
    word_pieces(tmp_path, transformers.BertTokenizer, strip_accents=False)
    ours = read_tokenizer(tmp_path)
    ours.save(tmp_path / "ours.json")
    loaded = load_vocabulary(tmp_path / "ours.json")
    assert isinstance(loaded, WordPieceTokenizer)
    assert loaded.rules == ours.rules
    for line in LINES:
        assert loaded.encode(line) == ours.encode(line)


def test_written_token_offsets_match_decoded_text(tmp_path: Path) -> None:
    word_pieces(tmp_path, transformers.BertTokenizer)
    ours, theirs = read_tokenizer(tmp_path), reference_tokenizer(tmp_path)
    for line in LINES[:10]:
        ids = ours.encode(line)
        text = ours.decode([ours.start_id, *ids, ours.end_id])
        pieces = theirs.convert_ids_to_tokens(ids)
        assert text == decoders.WordPiece(prefix="##", cleanup=False).decode(pieces)
        tokens = ours.written_tokens([*ids, ours.end_id])
        assert all(text[token.start : token.end] == ours.label(token.id).strip() for token in tokens[:-1])
        assert tokens[-1].special


def change_tokenizer_json(**changes: Any) -> Any:
    def change(folder: Path) -> None:
        path = folder / "tokenizer.json"
        content = json.loads(path.read_text(encoding="utf-8"))
        for name, value in changes.items():
            if isinstance(value, dict) and isinstance(content[name], dict):
                content[name] |= value
            else:
                content[name] = value
        path.write_text(json.dumps(content), encoding="utf-8")

    return change


def remove_tokenizer_json(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()


FAULTS: dict[str, tuple[Any, str]] = {
    "no file": (remove_tokenizer_json, "vocab.txt is missing, as is tokenizer.json"),
    "another algorithm": (change_tokenizer_json(model={"type": "BPE"}), "does not tokenise text as BERT does"),
    "another prefix": (
        change_tokenizer_json(model={"continuing_subword_prefix": "@@"}),
        "does not tokenise text as BERT does",
    ),
    "another pre-tokenizer": (
        change_tokenizer_json(pre_tokenizer={"type": "Whitespace"}),
        "does not tokenise text as BERT does",
    ),
    "no normalizer": (change_tokenizer_json(normalizer=None), "does not tokenise text as BERT does"),
    "no start token": (
        change_tokenizer_json(model={"vocab": {"[SEP]": 0, "[UNK]": 1}}, added_tokens=[]),
        r"the vocabulary has no \[CLS\]",
    ),
    "duplicate id": (
        change_tokenizer_json(added_tokens=[{"id": 7, "content": "strange", "special": False}]),
        "both have the id 7",
    ),
    "id outside vocabulary": (
        change_tokenizer_json(added_tokens=[{"id": 9999, "content": "strange", "special": False}]),
        "has the id 9,999, but config.json says",
    ),
    "token that strips spaces": (
        change_tokenizer_json(added_tokens=[{"id": SIZE, "content": "strange", "special": False, "lstrip": True}]),
        "depends on the text next to it",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_unsupported_tokenizer_raises(tmp_path: Path, fault: str) -> None:
    word_pieces(tmp_path, transformers.BertTokenizer)
    damage, message = FAULTS[fault]
    damage(tmp_path)
    with pytest.raises(ModelError, match=message), bert_reader().convert_errors(tmp_path):
        read_tokenizer(tmp_path)


def test_padding_must_be_a_special_token(tmp_path: Path) -> None:
    word_pieces(tmp_path, transformers.BertTokenizer)
    with pytest.raises(TokenizerError, match="no special token 17 for pad_id"):
        read_word_pieces(tmp_path, SIZE, pad_id=17)
    assert end_ids(tmp_path).keys() == {"start_id", "end_id"}


@pytest.mark.parametrize(
    "text", ["{}", '{"format": "headlight-word-pieces"}', '{"format": "headlight-word-pieces", "entries": 3}']
)
def test_damaged_saved_vocabulary_raises(tmp_path: Path, text: str) -> None:
    with pytest.raises(TokenizerError, match="not a valid vocabulary of word pieces"):
        WordPieceTokenizer.from_json(text, name=str(tmp_path))
