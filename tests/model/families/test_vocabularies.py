"""Vocabularies of folders against the tokenizers of `transformers`: ids, decoded text, language tokens."""

from __future__ import annotations

import json
import unicodedata
import warnings
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import transformers

from headlight.model.families.loading import load_checkpoint
from headlight.model.text.languages import source_with_tokens
from tests.model.families.folders import CODES, bart, m2m, marian, mbart, nllb, pegasus, piece_texts, t5
from tests.model.families.texts import LINES, odd_texts

PLAIN = [*LINES, *(f"{first} {second}" for first, second in zip(LINES, LINES[5:], strict=False))]


def load_slow_tokenizer(kind: Any, folder: Path, **options: Any) -> Any:
    """A tokenizer of `transformers` that calls SentencePiece."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kind.from_pretrained(folder, **options)


def source_ids(loaded: Any, text: str, **languages: str) -> list[int]:
    """The ids that our model reads."""
    route = loaded.languages.tokens_for(**languages)
    tokens = loaded.source_tokenizer.source_tokens(route.text + text)
    return [token.id for token in source_with_tokens(tokens, route, loaded.source_tokenizer.label)]


@pytest.fixture(scope="module")
def marian_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return marian(tmp_path_factory.mktemp("opus") / "model", codes=("fra", "zho_Hant"))


@pytest.mark.parametrize("separate", [False, True])
def test_marian_encodes_and_decodes_like_transformers(tmp_path: Path, separate: bool) -> None:
    folder = marian(tmp_path / "model", separate=separate)
    loaded, theirs = load_checkpoint(folder), load_slow_tokenizer(transformers.MarianTokenizer, folder)
    texts = [text for text in odd_texts(400) if "<unk>" not in text]
    for text in texts:
        assert source_ids(loaded, text) == theirs(text).input_ids, repr(text)
        target = loaded.target_tokenizer.encode(text)
        assert [*target, 0] == theirs(text_target=text).input_ids, repr(text)
        assert loaded.target_tokenizer.decode(target) == theirs.decode(target, skip_special_tokens=True), repr(text)
    unknown = theirs.unk_token_id
    assert sum(unknown in source_ids(loaded, text) for text in texts) > 50


def test_marian_decodes_any_ids_like_transformers(marian_folder: Path) -> None:
    loaded, theirs = load_checkpoint(marian_folder), load_slow_tokenizer(transformers.MarianTokenizer, marian_folder)
    size = loaded.target_tokenizer.vocabulary_size
    for start in range(1, size):
        ids = [(start * step) % size for step in range(1, 9)]
        assert loaded.target_tokenizer.decode(ids) == theirs.decode(ids, skip_special_tokens=True), ids


@pytest.mark.parametrize(
    "text", [">>fra<< Guten Tag", ">>fra<<Guten Tag", ">>xyz<< Guten Tag", ">>fra< Tag", "a >>fra<<"]
)
def test_typed_language_code_is_encoded_like_transformers(marian_folder: Path, text: str) -> None:
    loaded, theirs = load_checkpoint(marian_folder), load_slow_tokenizer(transformers.MarianTokenizer, marian_folder)
    assert [*loaded.source_tokenizer.encode(text), 0] == theirs(text).input_ids


def test_target_language_token_precedes_source(marian_folder: Path) -> None:
    loaded, theirs = load_checkpoint(marian_folder), load_slow_tokenizer(transformers.MarianTokenizer, marian_folder)
    assert [language.code for language in loaded.languages.targets] == ["fra", "zho_Hant"]
    for code in ("fra", "zho_Hant"):
        assert source_ids(loaded, LINES[0], target=code) == theirs(f">>{code}<< {LINES[0]}").input_ids
    assert source_ids(loaded, LINES[0]) == source_ids(loaded, LINES[0], target="fra")


def test_m2m_encodes_and_decodes_like_transformers(tmp_path: Path) -> None:
    folder = m2m(tmp_path / "model")
    loaded, theirs = load_checkpoint(folder), load_slow_tokenizer(transformers.M2M100Tokenizer, folder)
    for code in ("de", "zh", "hi"):
        theirs.src_lang = code
        for text in odd_texts(150, seed=len(code)):
            if "<unk>" in text:
                continue
            ids = theirs(text).input_ids
            assert source_ids(loaded, text, source=code) == ids, repr(text)
            assert loaded.target_tokenizer.decode(ids[1:]) == theirs.decode(ids[1:], skip_special_tokens=True)
    for code in ("fr", "en", "zu"):
        assert loaded.languages.tokens_for(target=code).first == (theirs.get_lang_id(code),)
    assert len(loaded.languages.targets) == 100
    assert (loaded.languages.source, loaded.languages.target) == ("de", "fr")


@pytest.mark.parametrize("legacy", [False, True])
def test_nllb_encodes_like_sentencepiece_plus_language_token(tmp_path: Path, legacy: bool) -> None:
    folder = nllb(tmp_path / "model", legacy=legacy)
    loaded = load_checkpoint(folder)
    theirs = sentencepiece.SentencePieceProcessor(str(folder / "sentencepiece.bpe.model"))
    first = len(theirs) + 1  # id of the first language
    for text in odd_texts(300):
        ids = [
            3 if token == 0 else token + 1 for token in theirs.encode(text)
        ]  # <unk> is 3, all other ids are one higher
        mark = first + CODES.index("zho_Hans")
        expected = [*ids, 2, mark] if legacy else [mark, *ids, 2]
        assert source_ids(loaded, text, source="zho_Hans") == expected, repr(text)
    assert (loaded.languages.source, loaded.languages.target) == ("rus_Cyrl", "deu_Latn")
    assert loaded.languages.tokens_for(target="fra_Latn").first == (first + CODES.index("fra_Latn"),)


def test_nllb_encodes_and_decodes_plain_text_like_transformers(tmp_path: Path) -> None:
    folder = nllb(tmp_path / "model")
    loaded = load_checkpoint(folder)
    theirs = transformers.NllbTokenizer.from_pretrained(folder, extra_special_tokens=CODES, src_lang="rus_Cyrl")
    known = [text for text in PLAIN if 3 not in loaded.source_tokenizer.encode(text)]
    assert len(known) > 30
    for text in known:
        # Without special tokens: if tokenizer.json is missing, `transformers` numbers the mask before the languages,
        # unlike published folders.
        ids = theirs(text, add_special_tokens=False).input_ids
        assert loaded.source_tokenizer.encode(text) == ids, repr(text)
        assert loaded.target_tokenizer.decode(ids) == theirs.decode(ids, skip_special_tokens=True)
    size = loaded.target_tokenizer.vocabulary_size - 2 - 1 - len(CODES)
    for start in range(1, size, 3):
        ids = [(start * step) % size for step in range(1, 7)]
        assert loaded.target_tokenizer.decode(ids) == theirs.decode(ids, skip_special_tokens=True), ids


@pytest.mark.parametrize("apart", [False, True], ids=["tokenizer.json", "vocab.json and merges.txt"])
def test_bart_encodes_and_decodes_like_transformers(tmp_path: Path, apart: bool) -> None:
    folder = bart(tmp_path / "model", apart=apart)
    loaded, theirs = load_checkpoint(folder), transformers.BartTokenizer.from_pretrained(folder)
    for text in odd_texts(400):
        if "<unk>" in text:  # a special token in `transformers`, text in ours
            continue
        assert source_ids(loaded, text) == theirs(text).input_ids, repr(text)
        ids = loaded.target_tokenizer.encode(text)
        assert loaded.target_tokenizer.decode(ids) == text == theirs.decode(ids, skip_special_tokens=True)
    size = loaded.target_tokenizer.vocabulary_size
    for start in range(1, size, 5):
        ids = [(start * step) % size for step in range(1, 9)]
        assert loaded.target_tokenizer.decode(ids) == theirs.decode(ids, skip_special_tokens=True), ids


def test_byte_level_token_offsets_match_text(tmp_path: Path) -> None:
    loaded = load_checkpoint(bart(tmp_path / "model"))
    for text in [*LINES, "Ein 🙂  Smiley</s>", "½ Ω"]:
        tokens = loaded.source_tokenizer.source_tokens(text)
        assert (tokens[-1].text, tokens[-1].start, tokens[-1].special) == ("</s>", len(text), True)
        covered = "".join(text[token.start : token.end] for token in tokens if token.piece == 0)
        assert covered.replace(" ", "") == text.replace(" ", "")
        assert all(token.text == text[token.start : token.end] for token in tokens[:-1])
        words = [token.word for token in tokens[:-1]]
        assert words == sorted(words)
        assert len(set(words)) >= len(text.split())
    smiley = loaded.source_tokenizer.source_tokens("🙂")[:-1]
    assert [(token.text, token.piece, token.pieces) for token in smiley] == [("🙂", n, 4) for n in range(4)]


def test_typed_special_token_is_text(tmp_path: Path) -> None:
    loaded = load_checkpoint(bart(tmp_path / "model"))
    tokens = loaded.source_tokenizer.source_tokens("a</s>b<mask>")
    assert [token.special for token in tokens] == [False] * (len(tokens) - 1) + [True]


@pytest.mark.parametrize("of_50", [True, False], ids=["mBART-50", "mBART"])
def test_mbart_encodes_like_sentencepiece_plus_language_token(tmp_path: Path, of_50: bool) -> None:
    folder = mbart(tmp_path / "model", of_50=of_50)
    loaded = load_checkpoint(folder)
    theirs = sentencepiece.SentencePieceProcessor(str(folder / "sentencepiece.bpe.model"))
    tokenizer_class = transformers.MBart50Tokenizer if of_50 else transformers.MBartTokenizer
    mark = len(theirs) + 1 + 7  # French is the eighth
    their_tokenizer = tokenizer_class.from_pretrained(folder, src_lang="fr_XX")
    for text in odd_texts(300):
        ids = [
            3 if token == 0 else token + 1 for token in theirs.encode(text)
        ]  # <unk> is 3, all other ids are one higher
        expected = [mark, *ids, 2] if of_50 else [*ids, 2, mark]
        assert source_ids(loaded, text, source="fr_XX") == expected, repr(text)
    plain = [text for text in PLAIN if 3 not in loaded.source_tokenizer.encode(text)]
    if of_50:
        assert their_tokenizer.convert_tokens_to_ids("fr_XX") == mark
    else:  # from a SentencePiece file alone, `transformers` does not read the normalisation rules
        plain = [text for text in plain if unicodedata.normalize("NFKC", text) == text]
    assert len(plain) > 20
    for text in plain:
        ids = their_tokenizer(text, add_special_tokens=False).input_ids
        assert loaded.source_tokenizer.encode(text) == ids, repr(text)
        assert loaded.target_tokenizer.decode(ids) == their_tokenizer.decode(ids, skip_special_tokens=True)


def test_mbart_50_has_52_targets_and_mbart_only_its_start_language(tmp_path: Path) -> None:
    mbart_50, mbart_ = (load_checkpoint(mbart(tmp_path / str(of_50), of_50=of_50)) for of_50 in (True, False))
    first = len(piece_texts((tmp_path / "True" / "sentencepiece.bpe.model").read_bytes())) + 1
    assert (len(mbart_50.languages.targets), len(mbart_50.languages.sources)) == (52, 52)
    assert (mbart_50.languages.source, mbart_50.languages.target) == ("de_DE", "zh_CN")
    assert mbart_50.languages.tokens_for(target="ar_AR").first == (first,)
    assert mbart_50.languages.tokens_for(target="sl_SI").first == (first + 51,)
    assert [language.code for language in mbart_.languages.targets] == ["ro_RO"]
    assert (len(mbart_.languages.sources), mbart_.languages.target) == (25, "ro_RO")
    assert mbart_.languages.tokens_for().first == ()
    assert mbart_.config.start_id == first + 19


def test_t5_encodes_like_sentencepiece_with_task_prefix(tmp_path: Path) -> None:
    folder = t5(tmp_path / "model")
    loaded = load_checkpoint(folder)
    theirs = sentencepiece.SentencePieceProcessor(str(folder / "spiece.model"))
    for text in odd_texts(300):
        for code in ("German", "Romanian"):
            expected = [*theirs.encode(f"translate English to {code}: {text}"), 1]
            assert source_ids(loaded, text, target=code) == expected, repr(text)
    assert [language.code for language in loaded.languages.targets] == ["German", "French", "Romanian"]
    assert source_ids(loaded, LINES[0]) == source_ids(loaded, LINES[0], source="English", target="German")


def test_t5_encodes_and_decodes_plain_text_like_transformers(tmp_path: Path) -> None:
    folder = t5(tmp_path / "model", tasks=False)
    loaded = load_checkpoint(folder)
    theirs = transformers.T5Tokenizer.from_pretrained(folder)
    known = [text for text in PLAIN if 2 not in loaded.source_tokenizer.encode(text)]
    assert len(known) > 30
    for text in known:
        ids = theirs(text).input_ids
        assert source_ids(loaded, text) == ids, repr(text)
        assert loaded.target_tokenizer.decode(ids) == theirs.decode(ids, skip_special_tokens=True)
    size = loaded.target_tokenizer.vocabulary_size - 7
    for start in range(1, size, 3):
        ids = [(start * step) % size for step in range(1, 7)]
        assert loaded.target_tokenizer.decode(ids) == theirs.decode(ids, skip_special_tokens=True), ids


def test_pegasus_ids_are_sentencepiece_ids_plus_103(tmp_path: Path) -> None:
    folder = pegasus(tmp_path / "model")
    loaded = load_checkpoint(folder)
    theirs = sentencepiece.SentencePieceProcessor(str(folder / "spiece.model"))
    for text in odd_texts(300):
        ids = [token + 103 for token in theirs.encode(text)]
        assert source_ids(loaded, text) == [*ids, 1], repr(text)
    assert [loaded.source_tokenizer.label(token_id) for token_id in (2, 3, 4, 104)] == [
        "<mask_1>", "<mask_2>", "<unk_2>", "<unk_102>",
    ]  # fmt: skip


def test_byt5_encodes_and_decodes_bytes_like_transformers(tmp_path: Path) -> None:
    folder = t5(tmp_path / "model", in_bytes=True, tasks=False)
    loaded, theirs = load_checkpoint(folder), transformers.ByT5Tokenizer()
    for text in odd_texts(200):
        if "<unk>" in text or "</s>" in text:  # special tokens in `transformers`, text in ours
            continue
        assert source_ids(loaded, text) == theirs(text).input_ids, repr(text)
        ids = loaded.target_tokenizer.encode(text)
        assert ids == [byte + 3 for byte in text.encode("utf-8")]
        assert loaded.target_tokenizer.decode(ids) == text == theirs.decode(ids)
    tokens = loaded.source_tokenizer.source_tokens("ä€")[:-1]
    assert [(token.text, token.start, token.piece, token.pieces) for token in tokens] == [
        *(("ä", 0, piece, 2) for piece in range(2)),
        *(("€", 1, piece, 3) for piece in range(3)),
    ]
    assert loaded.config.max_length == 1024
    assert loaded.source_tokenizer.label(3 + ord("a")) == "a"
    assert loaded.source_tokenizer.label(259) == "<extra_id_0>"


def test_task_prefix_is_special_tokens_without_offsets(tmp_path: Path) -> None:
    loaded = load_checkpoint(t5(tmp_path / "t5"))
    route = loaded.languages.tokens_for()
    tokens = source_with_tokens(
        loaded.source_tokenizer.source_tokens(route.text + LINES[6]), route, loaded.source_tokenizer.label
    )
    marks = [token for token in tokens[:-1] if token.special]
    assert "".join(token.text for token in marks).replace(" ", "") == "translateEnglishto<unk>erman:"  # G is unknown
    assert {(token.start, token.end, token.word) for token in marks} == {(0, 0, None)}
    rest = [token for token in tokens if not token.special]
    assert (rest[0].start, rest[0].word) == (0, 0)
    assert all(LINES[6][token.start : token.end] == token.text for token in rest)
    plain = loaded.source_tokenizer.source_tokens(LINES[6])
    # The space before the first word belongs to the prefix here, and to the first word in `plain`.
    spans, expected = ([(token.start, token.end, token.word) for token in tokens] for tokens in (rest, plain[:-1]))
    assert spans == expected[len(expected) - len(spans) :]
    assert len(expected) - len(spans) <= 1


def test_spaces_before_punctuation_are_removed_if_configured(tmp_path: Path) -> None:
    folder = marian(tmp_path / "model")
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"clean_up_tokenization_spaces": True}))
    loaded, theirs = load_checkpoint(folder), load_slow_tokenizer(transformers.MarianTokenizer, folder)
    assert theirs.clean_up_tokenization_spaces
    for text in ("Es ist kalt , sagte er .", "Was ? Nun ' s gut !"):
        ids = loaded.target_tokenizer.encode(text)
        assert loaded.target_tokenizer.decode(ids) == theirs.decode(ids, skip_special_tokens=True)
