"""Replica counts and model caches on a real cluster."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headlight.model.checkpoints.checkpoint import save_checkpoint
from headlight.viz.service.service import Service
from headlight.viz.settings import Settings
from tests.tiny import tiny_model, tokenizers
from tests.viz.backends.real_cluster import RealCluster, expect_same, real_cluster, soon

NAMES = ("ash", "birch", "cedar", "elm")
TEXT = "Der Hund schläft im Garten."


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """A folder of models of the same sizes with different weights."""
    for seed, name in enumerate(NAMES):
        save_checkpoint(tmp_path / name, tiny_model(seed=seed), *tokenizers(), storage="float32")
    return tmp_path


@pytest.fixture
def cluster(models: Path) -> Iterator[RealCluster]:
    pytest.importorskip("ray.serve", reason="Ray Serve is not installed, so no real cluster is tried")
    with real_cluster("tests.viz.backends.noting_replicas", {"HEADLIGHT_MODELS_FOLDER": str(models)}) as running:
        yield running


@pytest.mark.cluster
def test_replica_range_and_model_eviction(cluster: RealCluster, models: Path) -> None:
    """One test, for one start."""
    the_range_reaches_the_deployment(cluster)
    what_was_evicted_is_loaded_again_and_answers_as_before(cluster, models)
    a_fixed_number_takes_the_place_of_a_range(cluster)


def deployment_status(cluster: RealCluster, replicas: str = "") -> dict[str, Any]:
    answer = cluster.ask(replicas)
    assert answer, "the cluster has ended"
    status: dict[str, Any] = json.loads(answer)
    return status


def the_range_reaches_the_deployment(cluster: RealCluster) -> None:
    status = deployment_status(cluster)
    expected = {"min_replicas": 1, "max_replicas": 3, "target_ongoing_requests": 1.5}
    assert {name: status["scaled"][name] for name in expected} == expected
    assert status["running"] == 1  # without requests


def what_was_evicted_is_loaded_again_and_answers_as_before(cluster: RealCluster, models: Path) -> None:
    from headlight.viz.backends.choice import choose_backend
    from headlight.viz.backends.replica import MAX_MODELS

    assert len(NAMES) == MAX_MODELS + 1
    alone = Settings(models_folder=models, cache_mb=0)
    here, page = Service(alone), Service(replace(alone, backend="ray", ray_address=cluster.address), choose_backend)
    expected = {name: here.translate(here.check({"text": TEXT, "model": name})) for name in NAMES}
    maps = [expected[name].attention.cross for name in NAMES]
    assert not any(np.array_equal(one, other) for one, other in pairwise(maps))

    def ask(*names: str) -> list[str]:
        """The notes of the replica after correct answers for these models, one after another."""
        before = len(notes(cluster))
        for name in names:
            expect_same(page.translate(page.check({"text": TEXT, "model": name})), expected[name])
        return notes(cluster)[before:]

    ash, birch, cedar, elm = NAMES
    assert ask(ash, birch, cedar) == [f"loaded {name}" for name in (ash, birch, cedar)]
    assert ask(cedar, birch, ash) == []
    assert ask(elm) == [f"freed {cedar}", f"loaded {elm}"]  # that one was not asked for longest
    assert ask(birch, ash, elm) == []
    assert ask(cedar) == [f"freed {birch}", f"loaded {cedar}"]
    assert ask(birch) == [f"freed {ash}", f"loaded {birch}"]


def notes(cluster: RealCluster) -> list[str]:
    path = cluster.notes / "models"
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def a_fixed_number_takes_the_place_of_a_range(cluster: RealCluster) -> None:
    status = deployment_status(cluster, "2")
    assert (status["replicas"], status["scaled"]) == (2, None)
    soon(lambda: deployment_status(cluster)["running"] == 2, "the second replica does not start")
