"""Outlines validate and tokenize like the translator, without weights."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from headlight.model.checkpoints.shipped import MODELS
from headlight.model.errors import ModelError
from headlight.model.intervention_records import Intervention
from headlight.model.translate.model_info import read_model_info
from headlight.model.translate.translator import Translator
from tests.model.families import folders

TEXT = "Zwei Hunde laufen durch den Schnee."


@pytest.fixture(params=["toy", "nllb"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if request.param == "toy":
        return MODELS / "toy"
    return folders.nllb(tmp_path / "nllb")


def test_outline_validates_and_tokenizes_like_translator(folder: Path) -> None:
    outline, translator = read_model_info(folder), Translator.load(folder, device="cpu")
    change = Intervention(kind="cross", layer=0, head=0, action="remove")
    request = outline.request(TEXT, beam_size=3, interventions=[change])
    assert request == translator.request(TEXT, beam_size=3, interventions=[change])
    ours, theirs = outline.checker.prepare([request]), translator.checker.prepare([request])
    assert torch.equal(ours.source_ids, theirs.source_ids)
    assert (ours.sources, ours.texts, ours.limits) == (theirs.sources, theirs.texts, theirs.limits)
    assert (outline.name, outline.rule) == (translator.name, translator.rule)
    assert (outline.languages, outline.generation_defaults) == (translator.languages, translator.generation_defaults)
    unknown = Intervention(kind="cross", layer=99, head=0, action="remove")
    for options in ({"interventions": [unknown]}, {"capture": ["encoder.nothing"]}, {"source_language": "xx"}):
        errors = []
        for each in (outline, translator):
            with pytest.raises(ModelError) as error:
                each.request(TEXT, **options)
            errors.append((type(error.value), str(error.value)))
        assert errors[0] == errors[1]


def test_outline_loads_no_weights(folder: Path) -> None:
    outline = read_model_info(folder)
    assert {parameter.device.type for parameter in outline.model.parameters()} == {"meta"}
    assert outline.model.config == Translator.load(folder, device="cpu").model.config
    assert 0 < outline.weight_bytes < 10_000_000
