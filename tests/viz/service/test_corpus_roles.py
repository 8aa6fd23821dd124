"""Corpus roles of a model: the stored values, or none."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from headlight.model.checkpoints.checksums import weights_digest
from headlight.model.experiments.head_roles import ROLES_FILE
from headlight.viz.errors import PageError
from headlight.viz.service.head_roles import make_roles_call
from headlight.viz.service.service import Service
from headlight.viz.settings import MODELS, Settings

STORED_ROLES = {"weights": weights_digest(MODELS / "toy"), "sentences": 3}


@pytest.fixture
def service(tmp_path: Path) -> Service:
    """Copies of the toy model: without roles, with its roles, with a corrupt file, with roles of other weights."""
    for name in ("plain", "stored", "corrupt", "other"):
        shutil.copytree(MODELS / "toy", tmp_path / name)
    (tmp_path / "stored" / ROLES_FILE).write_text(json.dumps(STORED_ROLES), encoding="utf-8")
    (tmp_path / "other" / ROLES_FILE).write_text(json.dumps(STORED_ROLES | {"weights": "0" * 16}), encoding="utf-8")
    (tmp_path / "corrupt" / ROLES_FILE).write_text('{"sentences"', encoding="utf-8")
    return Service(replace(Settings(), models_folder=tmp_path))


@pytest.mark.parametrize(
    ("name", "expected"), [("stored", STORED_ROLES), ("plain", None), ("corrupt", None), ("other", None)]
)
def test_stored_roles_are_returned(service: Service, name: str, expected: object) -> None:
    assert make_roles_call(service)({"model": name}) == {"roles": expected}


def test_default_model_is_used_without_name() -> None:
    service = Service(Settings())
    path = MODELS / service.default / ROLES_FILE
    expected = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
    assert make_roles_call(service)({}) == {"roles": expected}


@pytest.mark.parametrize("name", ["../toy", 3, "x" * 1000, None, "nothing"])
def test_unknown_model_names_are_rejected(service: Service, name: object) -> None:
    with pytest.raises(PageError):
        make_roles_call(service)({"model": name})
