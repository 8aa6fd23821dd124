"""Translation marks and their JSON format."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headlight.model.decoding.generation_defaults import GenerationDefaults, load_generation_defaults
from headlight.model.errors import CheckpointError, RequestError
from headlight.model.records import Token
from headlight.model.text.languages import Language, Languages, LanguageTokens, load_languages, source_with_tokens

LANGUAGES = Languages(
    sources=(Language(code="de", before=(7,)), Language(code="en", after=(8,), text="from English: ")),
    targets=(Language(code="fr", first=(9,)), Language(code="it", before=(10,), text="to Italian: ")),
    source="de",
    target="fr",
)


def test_tokens_of_source_and_target_are_combined() -> None:
    assert LANGUAGES.tokens_for() == LANGUAGES.tokens_for("de", "fr") == LanguageTokens(before=(7,), first=(9,))
    assert LANGUAGES.tokens_for("en", "it") == LanguageTokens(
        before=(10,), after=(8,), text="from English: to Italian: "
    )
    assert Languages().tokens_for() == LanguageTokens()


@pytest.mark.parametrize(("side", "code"), [("source", "fr"), ("target", "de"), ("target", "FR")])
def test_unknown_code_raises_with_choices(side: str, code: str) -> None:
    with pytest.raises(RequestError, match=rf'must be one of \w\w, \w\w, but "{code}" was given\.') as error_info:
        LANGUAGES.tokens_for(**{side: code})
    assert error_info.value.field == f"{side}_language"


def test_error_lists_twelve_choices_and_their_number() -> None:
    many = Languages(targets=tuple(Language(code=f"l{number}") for number in range(31)))
    with pytest.raises(RequestError, match=r"l0, l1, .*, l11, … \(31 in all\)"):
        many.tokens_for(target="xx")


def test_language_tokens_have_no_offsets_and_do_not_shift_the_sentence() -> None:
    text = "to Italian: ab c"
    tokens = (
        Token("to Italian:", 1, 0, 11, word=0),
        Token("ab", 2, 12, 14, word=2),
        Token("c", 3, 15, 16, word=3),
        Token("</s>", 4, 16, 16, special=True),
    )
    route = LanguageTokens(before=(7,), after=(8,), text="to Italian: ", first=(9,))
    tokens_with_marks = source_with_tokens(tokens, route, lambda mark: f"<{mark}>")
    assert [(token.id, token.start, token.end, token.word, token.special) for token in tokens_with_marks] == [
        (7, 0, 0, None, True),
        (1, 0, 0, None, True),
        (2, 0, 2, 0, False),
        (3, 3, 4, 1, False),
        (4, 4, 4, None, True),
        (8, 4, 4, None, True),
    ]
    assert [token.text for token in tokens_with_marks] == ["<7>", "<1>", "ab", "c", "</s>", "<8>"]
    assert all(text[12:][token.start : token.end] == token.text for token in tokens_with_marks if not token.special)


def test_languages_and_generation_defaults_roundtrip_as_json(tmp_path: Path) -> None:
    assert Languages.from_json(LANGUAGES.to_json()) == LANGUAGES
    defaults = GenerationDefaults(
        beam_size=3, never=((1,), (2, 3)), first=(4,), forced_end=0, patience="longest", counted="after"
    )
    assert GenerationDefaults.from_json(defaults.to_json()) == defaults
    assert GenerationDefaults.from_json(GenerationDefaults().to_json()) == GenerationDefaults()
    assert (load_languages(tmp_path), load_generation_defaults(tmp_path)) == (Languages(), GenerationDefaults())
    (tmp_path / "languages.json").write_text(LANGUAGES.to_json())
    (tmp_path / "habits.json").write_text(defaults.to_json())
    assert (load_languages(tmp_path), load_generation_defaults(tmp_path)) == (LANGUAGES, defaults)


@pytest.mark.parametrize(
    "change",
    [{"sources": None}, {"target": "xx"}, {"source": 3}, {"more": 1}, {"targets": [{"code": "a"}]}, {"targets": 5}],
    ids=str,
)
def test_invalid_languages_raise(change: dict[str, object]) -> None:
    values = json.loads(LANGUAGES.to_json()) | change
    with pytest.raises(CheckpointError):
        Languages.from_json(json.dumps(values))


@pytest.mark.parametrize(
    "change",
    [{"beam_size": 0}, {"patience": "much"}, {"counted": "twice"}, {"never": 5}, {"first": ["a"]}, {"more": 1}],
    ids=str,
)
def test_invalid_generation_defaults_raise(change: dict[str, object]) -> None:
    values = json.loads(GenerationDefaults().to_json()) | change
    with pytest.raises(CheckpointError, match="does not contain valid generation defaults"):
        GenerationDefaults.from_json(json.dumps(values))


def test_duplicate_language_or_unknown_default_raises() -> None:
    with pytest.raises(CheckpointError, match="have a duplicate"):
        Languages(sources=(Language(code="a"), Language(code="a")))
    with pytest.raises(CheckpointError, match="default 'b'"):
        Languages(targets=(Language(code="a"),), target="b")
