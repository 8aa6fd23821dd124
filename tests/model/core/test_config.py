"""The configuration rejects invalid values and survives a JSON roundtrip."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
import torch

from headlight.model.core.blocks import ACTIVATIONS
from headlight.model.core.classifier_config import ClassifierConfig
from headlight.model.core.config import (
    ACTIVATION_NAMES,
    MAX_EMBEDDING_ROWS,
    MAX_VALUES,
    NORM_NAMES,
    POSITION_NAMES,
    TransformerConfig,
)
from headlight.model.core.transformer import Transformer
from headlight.model.errors import ConfigError, ModelError
from headlight.model.families.loading import SkipInitialisation
from tests.sizes import small_config

POSITIVE = (
    "source_vocabulary",
    "target_vocabulary",
    "d_model",
    "heads",
    "d_ff",
    "encoder_layers",
    "decoder_layers",
    "max_length",
    "relative_buckets",
    "relative_max_distance",
)

INVALID: list[tuple[dict[str, Any], str]] = [
    ({"positions": "cosine"}, "positions is 'cosine', but must be one of: none, sinusoidal"),
    ({"activation": "tanh"}, "activation is 'tanh', but must be one of: relu, gelu"),
    ({"norm": "batch"}, "norm is 'batch', but must be one of: layer, rms"),
    ({"dropout": 1.0}, r"dropout is 1.0, but must lie in \[0, 1\)"),
    ({"dropout": -0.1}, "dropout is -0.1"),
    ({"dropout": float("nan")}, "dropout is nan"),
    ({"attention_dropout": 1.5}, "attention_dropout is 1.5"),
    ({"norm_epsilon": 0.0}, "norm_epsilon is 0.0, but must be a number above 0"),
    ({"norm_epsilon": float("nan")}, "norm_epsilon is nan"),
    ({"norm_epsilon": float("inf")}, "norm_epsilon is inf"),
    ({"norm_epsilon": 1e308}, "norm_epsilon is 1e.308, but must lie between 1e-30 and 1"),
    ({"norm_epsilon": 1.5}, "norm_epsilon is 1.5, but must lie between 1e-30 and 1"),
    ({"norm_epsilon": 5e-324}, "norm_epsilon is 5e-324, but must lie"),  # zero in float32
    ({"norm_epsilon": 10**400}, "norm_epsilon is a number of more than 30 digits, but must lie"),
    ({"rotary_base": 10**400}, "rotary_base is a number of more than 30 digits, but must lie"),
    ({"rotary_base": 1e308}, "rotary_base is 1e.308, but must lie between 1 and 1e.12"),
    ({"rotary_base": 1e-308}, "rotary_base is 1e-308, but must lie"),
    ({"dropout": 10**400}, "dropout is 1000"),
    ({"head_width": 10**18}, "head_width is 1,000,000,000,000,000,000, but no more than 100,000 can be built"),
    ({"head_width": 100_001}, "head_width is 100,001, but no more than 100,000 can be built"),
    ({"heads": 10_000, "head_width": 101}, "10,000 heads of 101 numbers are more than can be built: 1,000,000 in all"),
    ({"d_model": 10**18, "heads": 10}, "d_model is 1,000,000,000,000,000,000, but no more than 100,000 can be built"),
    ({"d_ff": 10**4000}, "d_ff is a number of more than 30 digits, but no more than 1,000,000 can be built"),
    ({"heads": 10_001}, "heads is 10,001, but no more than 10,000"),
    ({"max_length": 10**18}, "max_length is 1,000,000,000,000,000,000, but no more than 10,000,000"),
    ({"encoder_layers": 1_001}, "encoder_layers is 1,001, but no more than 1,000"),
    ({"position_offset": 10**18}, "position_offset is beyond any use"),
    ({"rotary_base": 0.0}, "rotary_base is 0.0, but must be a number above 0"),
    ({"rotary_base": -10.0}, "rotary_base is -10.0"),
    ({"rotary_base": float("inf")}, "rotary_base is inf"),
    ({"d_model": 78}, "d_model 78 cannot be split into 7 equal heads; change one of them, or set head_width"),
    ({"head_width": 0}, "head_width must be above 0"),
    ({"head_width": -3}, "head_width must be above 0"),
    ({"share_embeddings": True}, "share_embeddings needs one vocabulary, but there are 29 source and 31 target words"),
    ({"position_width": -1, "tie_output": False}, "position_width is -1"),
    ({"position_width": 77, "tie_output": False}, "position_width is 77, but must be 0 .added. or below d_model 77"),
    ({"position_width": 23, "tie_output": True}, "a tied output needs embeddings as wide as d_model"),
    *[
        ({"position_width": 23, "tie_output": False, "positions": name, "head_width": 2}, "cannot be concatenated")
        for name in ("none", "rotary", "alibi", "relative")
    ],
    ({"positions": "rotary"}, "a head is 11 wide; choose an even width"),
    ({"positions": "relative", "relative_buckets": 3}, "at least 4 buckets"),
    ({"positions": "relative", "relative_max_distance": 32}, "a relative_max_distance beyond their number"),
    ({"position_offset": -1}, "position_offset must not be negative"),
    ({"relative_each_layer": True}, "relative_each_layer needs positions 'relative', not 'sinusoidal'"),
    ({"pad_id": -1}, "pad_id is -1, but the vocabulary ends at 28"),
    ({"pad_id": 29}, "pad_id is 29, but the vocabulary ends at 28"),
    ({"end_id": 29}, "end_id is 29, but the vocabulary ends at 28"),
    ({"start_id": 31}, "start_id is 31, but the vocabulary ends at 30"),
]


@pytest.mark.parametrize(("fields", "message"), INVALID, ids=[str(fields) for fields, _ in INVALID])
def test_invalid_config_raises(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=f"TransformerConfig: .*{message}"):
        small_config(**fields)


SIZES = (*POSITIVE, "head_width", "position_width", "position_offset", "pad_id", "end_id", "start_id")


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("value", [10**18, -(10**18), 10**400])
def test_huge_integers_raise_config_error(name: str, value: int) -> None:
    with pytest.raises(ConfigError, match=name):
        small_config(**{name: value})


@pytest.mark.parametrize("name", ["vocabulary", "d_model", "heads", "head_width", "layers", "max_length"])
def test_classifier_config_has_the_same_bounds(name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name} is 1,000,000,000,000,000,000, but no more than"):
        ClassifierConfig(**({"vocabulary": 31} | {name: 10**18}))


def test_largest_config_can_be_built_on_meta_device() -> None:
    largest = TransformerConfig(
        source_vocabulary=MAX_EMBEDDING_ROWS, target_vocabulary=MAX_EMBEDDING_ROWS, d_model=MAX_VALUES["d_model"],
        heads=MAX_VALUES["heads"], head_width=100, d_ff=MAX_VALUES["d_ff"], encoder_layers=1, decoder_layers=1,
        max_length=MAX_EMBEDDING_ROWS,
    )  # fmt: skip
    with torch.device("meta"), SkipInitialisation():
        assert Transformer(largest).parameter_count() > 10**12


@pytest.mark.parametrize("text", ['{"d_model": ' + "1" * 5000 + "}", "[" * 100_000])
def test_unparsable_json_raises(text: str) -> None:
    with pytest.raises(ConfigError, match="origin is not JSON"):
        TransformerConfig.from_json(text, origin="origin")


@pytest.mark.parametrize("name", POSITIVE)
@pytest.mark.parametrize("value", [0, -1, 2.0, True, None])
def test_sizes_must_be_positive_integers(name: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=f"{name} is {value!r}, but must be a whole number above 0"):
        small_config(**{name: value})


@pytest.mark.parametrize(
    "fields",
    [
        {"start_id": 30},  # only in the target vocabulary
        {"start_id": 0, "pad_id": 0},  # Marian starts with its padding token
        {"d_model": 78, "head_width": 11},
        {"positions": "rotary", "head_width": 2},
        {"position_width": 23, "tie_output": False},
        {"relative_buckets": 3},  # unused without relative positions
        {"share_embeddings": True, "target_vocabulary": 29},
    ],
    ids=str,
)
def test_unusual_valid_configs_are_accepted(fields: dict[str, Any]) -> None:
    config = small_config(**fields)
    assert all(getattr(config, name) == value for name, value in fields.items())


def test_defaults_match_published_base_model() -> None:
    config = TransformerConfig(source_vocabulary=37_000, target_vocabulary=37_000)
    published = (512, 8, 64, 2048, 6, 6, "sinusoidal", "relu", "layer", False, 0.1)
    assert published == (
        config.d_model,
        config.heads,
        config.resolved_head_width,
        config.d_ff,
        config.encoder_layers,
        config.decoder_layers,
        config.positions,
        config.activation,
        config.norm,
        config.norm_first,
        config.dropout,
    )


def test_head_width_and_embedding_width_are_derived() -> None:
    assert small_config().resolved_head_width == 11
    assert small_config(head_width=13).resolved_head_width == 13
    assert small_config().embedding_width == 77
    assert small_config(position_width=23, tie_output=False).embedding_width == 54


def test_config_is_frozen_and_hashable() -> None:
    config = small_config()
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.d_model = 3  # type: ignore[misc]
    assert hash(config) == hash(small_config())


def test_fields_are_keyword_only() -> None:
    with pytest.raises(TypeError, match="positional"):
        TransformerConfig(29, 31)  # type: ignore[misc]


@pytest.mark.parametrize("positions", POSITION_NAMES)
def test_json_roundtrips(positions: str) -> None:
    config = small_config(positions=positions, head_width=2, rotary_base=500.5, norm="rms", activation="swiglu")
    text = config.to_json()
    assert TransformerConfig.from_json(text) == config
    assert TransformerConfig.from_json(text).to_json() == text
    assert list(json.loads(text)) == [field.name for field in dataclasses.fields(TransformerConfig)]


def test_derived_head_width_is_stored_as_null() -> None:
    assert json.loads(small_config().to_json())["head_width"] is None
    assert TransformerConfig.from_json(small_config().to_json()).head_width is None


def edited_json(**changes: Any) -> str:
    return json.dumps(json.loads(small_config().to_json()) | changes)


def test_unknown_field_error_lists_known_fields() -> None:
    text = edited_json(layers=6, colour="blue")
    with pytest.raises(
        ConfigError, match=r"xx/config.json has unknown field\(s\) colour, layers. Known are: source_voc"
    ):
        TransformerConfig.from_json(text, origin="xx/config.json")


def test_missing_later_field_has_its_former_value() -> None:
    assert TransformerConfig.added_later == {"closed_waves", "embedding_norm", "relative_each_layer"}
    values = json.loads(small_config(positions="sinusoidal_halves", closed_waves=True).to_json())
    assert TransformerConfig.from_json(json.dumps(values)).closed_waves
    del values["closed_waves"]
    assert not TransformerConfig.from_json(json.dumps(values)).closed_waves


@pytest.mark.parametrize(
    "name",
    [field.name for field in dataclasses.fields(TransformerConfig) if field.name not in TransformerConfig.added_later],
)
def test_missing_field_raises(name: str) -> None:
    values = json.loads(small_config().to_json())
    del values[name]
    with pytest.raises(ConfigError, match=rf"config.json lacks the field\(s\) {name}\. Add"):
        TransformerConfig.from_json(json.dumps(values))


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("d_model", "512", "int"),
        ("d_model", 512.0, "int"),
        ("d_model", True, "int"),
        ("d_model", None, "int"),
        ("d_model", [512], "int"),
        ("dropout", "0.1", "float"),
        ("dropout", False, "float"),
        ("dropout", None, "float"),
        ("positions", 3, "str"),
        ("positions", None, "str"),
        ("norm_first", 0, "bool"),
        ("norm_first", "false", "bool"),
        ("head_width", "64", "int or None"),
        ("head_width", False, "int or None"),
    ],
)
def test_field_of_wrong_type_raises(name: str, value: Any, kind: str) -> None:
    with pytest.raises(ConfigError) as error_info:
        TransformerConfig.from_json(edited_json(**{name: value}))
    assert f"{name} is {value!r}, but must be" in str(error_info.value)
    assert " ".join(str(error_info.value).removesuffix(".").split("must be ")[1].split()) == kind


def test_integer_is_accepted_for_float_field() -> None:
    assert TransformerConfig.from_json(edited_json(dropout=0)) == small_config(dropout=0.0)


def test_values_from_json_are_validated() -> None:
    with pytest.raises(ConfigError, match="dropout is 2"):
        TransformerConfig.from_json(edited_json(dropout=2))
    with pytest.raises(ConfigError, match="norm_epsilon is nan"):
        TransformerConfig.from_json(edited_json(norm_epsilon=float("nan")))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "config.json is not JSON"),
        ('{"d_model": 51', "config.json is not JSON"),
        ("[1, 2]", "config.json contains list, but must be a JSON object"),
        ("3", "config.json contains int, but must be a JSON object"),
    ],
)
def test_json_without_object_raises(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        TransformerConfig.from_json(text)


def test_config_error_is_a_model_error() -> None:
    assert issubclass(ConfigError, ModelError)


def test_registries_match_config_names() -> None:
    assert set(ACTIVATIONS) == set(ACTIVATION_NAMES)
    assert NORM_NAMES == ("layer", "rms")
    assert len(set(POSITION_NAMES)) == len(POSITION_NAMES)
