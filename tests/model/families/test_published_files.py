"""Published third-party files, unchanged; `published/README.md` lists their sources."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from headlight.model.checkpoints.reader import FolderReader
from headlight.model.core.config import TransformerConfig
from headlight.model.core.transformer import Transformer
from headlight.model.families import FAMILIES, family_name
from headlight.model.families.family_reader import read_generation_defaults
from headlight.model.families.mbart import CODES_50
from headlight.model.text.languages import Languages
from headlight.viz.service.model_cards import is_readable

ROOT = Path(__file__).resolve().parents[3]
PUBLISHED = ROOT / "tests" / "model" / "families" / "published"
# Name: (expected fields of our configuration, millions of parameters)
CONFIGURATIONS: dict[str, tuple[dict[str, Any], int]] = {
    "opus-mt-zh-en": (
        {
            "d_model": 512, "heads": 8, "d_ff": 2048, "encoder_layers": 6, "decoder_layers": 6, "pad_id": 65000,
            "start_id": 65000, "end_id": 0, "activation": "silu", "positions": "sinusoidal_halves",
            "scale_embedding": True, "norm_first": False, "max_length": 512,
        },
        77,
    ),
    "opus-mt-en-mg": (
        {"start_id": 54687, "pad_id": 54687, "end_id": 0, "positions": "sinusoidal_halves", "embedding_norm": False},
        72,
    ),
    "t5-small": (
        {
            "d_model": 512, "heads": 8, "encoder_layers": 6, "decoder_layers": 6, "activation": "relu", "start_id": 0,
            "end_id": 1, "scale_output": True,
        },
        60,
    ),
}  # fmt: skip


def read_config(name: str) -> tuple[FolderReader, dict[str, Any], TransformerConfig]:
    values = json.loads((PUBLISHED / name / "config.json").read_text(encoding="utf-8"))
    reader: FolderReader = import_module(FAMILIES[family_name(values)]).reader()
    config = reader.config(PUBLISHED / name, values)
    assert isinstance(config, TransformerConfig)
    return reader, values, config


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_published_config_gives_model_of_same_size(name: str) -> None:
    expected, millions = CONFIGURATIONS[name]
    _, values, config = read_config(name)
    assert {key: getattr(config, key) for key in expected} == expected
    assert config.source_vocabulary == config.target_vocabulary == values["vocab_size"]
    with torch.device("meta"):
        model = Transformer(type(config)(**vars(config) | {"share_embeddings": True}))
    assert model.parameter_count() // 10**6 == millions


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_sizes_match_transformers(name: str) -> None:
    """The configuration class of `transformers` fills in missing fields."""
    _, values, config = read_config(name)
    theirs = transformers.CONFIG_MAPPING[family_name(values)].from_dict(values)
    names = {"d_model": "d_model", "pad_id": "pad_token_id", "end_id": "eos_token_id"}
    names |= {"heads": "num_attention_heads", "encoder_layers": "num_hidden_layers"}
    assert {ours: getattr(config, ours) for ours in names} == {
        ours: getattr(theirs, their) for ours, their in names.items()
    }
    if theirs.decoder_start_token_id < config.target_vocabulary:  # its default can be outside the vocabulary
        assert config.start_id == theirs.decoder_start_token_id


def test_early_opus_mt_folders_are_read_as_marian() -> None:
    """Their model_type is "bart", and decoder_start_token_id is missing."""
    values = json.loads((PUBLISHED / "opus-mt-en-mg" / "config.json").read_text(encoding="utf-8"))
    assert values["model_type"] == "bart"
    assert "decoder_start_token_id" not in values
    assert family_name(values) == "marian"
    assert family_name(values | {"architectures": ["BartForConditionalGeneration"]}) == "bart"
    assert family_name(values | {"architectures": None, "model_type": ["bart"]}) == ""
    assert is_readable(PUBLISHED / "opus-mt-en-mg")


def test_published_generation_defaults_are_read() -> None:
    reader, _, config = read_config("opus-mt-zh-en")
    marian = reader.generation_defaults(PUBLISHED / "opus-mt-zh-en", config, Languages())
    assert (marian.beam_size, marian.max_length, marian.never) == (6, 511, ((65000,),))
    assert marian.left_out == ()
    reader, _, config = read_config("t5-small")
    languages = reader.languages(PUBLISHED / "t5-small", config, None)  # type: ignore[arg-type]
    assert [language.code for language in languages.sources] == ["English"]
    assert [language.code for language in languages.targets] == ["German", "French", "Romanian"]
    assert languages.targets[0].text == "translate English to German: "
    t5 = reader.generation_defaults(PUBLISHED / "t5-small", config, languages)
    assert (t5.beam_size, t5.max_length, t5.patience) == (4, 299, "none")
    like_mbart = TransformerConfig(**vars(config) | {"source_vocabulary": 250054, "target_vocabulary": 250054})
    mbart = read_generation_defaults(PUBLISHED / "mbart-large-50-many-to-many-mmt", like_mbart, Languages())
    assert (mbart.beam_size, mbart.max_length, mbart.forced_end, mbart.patience) == (5, 199, 2, "none")


def test_mbart_50_languages_have_published_order() -> None:
    """The order decides their ids."""
    path = PUBLISHED / "mbart-large-50-many-to-many-mmt" / "special_tokens_map.json"
    assert json.loads(path.read_text(encoding="utf-8"))["additional_special_tokens"] == CODES_50.split()


def test_every_folder_is_listed_with_its_licence() -> None:
    readme = (PUBLISHED / "README.md").read_text(encoding="utf-8")
    licences = (ROOT / "LICENSES.md").read_text(encoding="utf-8")
    for folder in PUBLISHED.iterdir():
        if folder.is_dir():
            line = next(line for line in readme.splitlines() if f"`{folder.name}/" in line)
            assert any(licence in line for licence in ("CC BY 4.0", "MIT", "Apache-2.0"))
            assert f"`{folder.name}`" in licences
            assert all(path.stat().st_size < 100_000 for path in folder.iterdir())
