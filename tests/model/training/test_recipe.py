"""Recipes are validated completely and contain everything that determines a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headlight.model.errors import TrainingError
from headlight.model.training.recipe import load_recipe, recipe_from_json
from tests.model.training.examples import make_recipe, recipe_text

RECIPES = sorted((Path(__file__).resolve().parents[3] / "assets" / "recipes").glob("*.json"))


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_bundled_recipes_roundtrip_and_match_file_name(path: Path) -> None:
    recipe = load_recipe(path)
    assert recipe.name == path.stem
    assert recipe_from_json(recipe.to_json()) == recipe


def test_recipes_are_bundled() -> None:
    assert RECIPES


def test_model_fields_become_configuration() -> None:
    recipe = make_recipe(model={"d_model": 14, "heads": 7, "norm_first": True}, tokenizer={"shared": False})
    config = recipe.model_config(source_vocabulary=29, target_vocabulary=31, pad_id=5)
    assert (config.d_model, config.heads, config.norm_first, config.pad_id) == (14, 7, True, 5)
    assert not config.share_embeddings


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"sed": 1}, "recipe has unknown field(s) sed"),
        ({"optimisation": {"rate": 1.0}}, "recipe.optimisation has unknown field(s) rate"),
        ({"optimisation": {"peak_rate": "fast"}}, "recipe.optimisation.peak_rate is 'fast', but must be float"),
        ({"optimisation": {"schedule": "magic"}}, "must be one of: inverse_square_root, cosine, constant"),
        ({"optimisation": {"label_smoothing": 1.0}}, "label_smoothing must be in [0, 1)"),
        ({"optimisation": {"cool_down_steps": 99}}, "cool_down_steps must not exceed steps"),
        ({"steps": True}, "recipe.steps is True, but must be a whole number"),
        ({"corpora": []}, "corpora is empty"),
        ({"corpora": {}}, "recipe.corpora is {}, but must be a list"),
        ({"corpora": [{"target": "a"}]}, "recipe.corpora[0] lacks the field(s) source"),
        ({"corpora": [{"source": "a", "weight": 0}]}, "its weight is 0.0, but must be above 0"),
        ({"model": {"d_model": 7, "heads": 2}}, "d_model 7 cannot be split into 2 equal heads"),
        ({"model": {"widht": 7}}, "unexpected keyword argument 'widht'"),
        ({"new_source": True}, "new_source and new_target need a start"),
        ({"new_target": True}, "new_source and new_target need a start"),
        ({"vectors_of_pieces": True}, "vectors_of_pieces is for a new vocabulary"),
        ({"new_source": True, "start": "a"}, "tokenizer.shared false"),
        ({"model": {"pad_id": 7}}, "model.pad_id: the tokenizer decides that"),
        ({"batching": {"batch_tokens": 10}}, "too few for one pair of 150 tokens"),
    ],
)
def test_invalid_fields_are_reported_with_file(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(TrainingError) as error_info:
        recipe_from_json(recipe_text(**fields), origin="my.json")
    assert str(error_info.value).startswith("my.json: ")
    assert message in str(error_info.value)


def test_non_object_json_is_rejected() -> None:
    for text in ("{", "[1]", json.dumps("x")):
        with pytest.raises(TrainingError):
            recipe_from_json(text)
