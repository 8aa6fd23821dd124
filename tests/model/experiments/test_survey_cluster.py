"""A survey on a real Ray cluster is identical to that of one process, even if a worker crashes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from headlight.model.errors import CommandError
from headlight.model.experiments.survey import check_measures
from headlight.model.experiments.survey_cluster import SurveyWorker
from headlight.model.experiments.survey_files import find_complete_parts, make_plan, read_plan, run_survey, start_survey
from headlight.viz.settings import MODELS

TOY = MODELS / "toy"
ROOT = Path(__file__).resolve().parents[3]
LINES = "ich mochte ein bier\n\nein cola\nmochte ein bier\u2028\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "lines.txt"
    path.write_text(LINES * 40 + "ein bier", encoding="utf-8")  # three parts; the last one is shorter
    return path


def start(folder: Path, file: Path) -> Path:
    start_survey(folder, make_plan(TOY, file, check_measures(["entropy", "looks"])))
    return folder


@pytest.mark.cluster
def test_cluster_survey_matches_one_process_if_a_worker_is_lost(tmp_path: Path, file: Path) -> None:
    pytest.importorskip("ray.data", reason="Ray Data is not installed, so no real cluster is tried")
    single_folder, cluster_folder = start(tmp_path / "alone", file), start(tmp_path / "many", file)
    run_survey(single_folder, TOY, file, device="cpu")
    with tempfile.TemporaryDirectory(prefix="ray") as temporary:  # a short path, because it contains sockets
        command = [
            sys.executable,
            "-m",
            "tests.model.experiments.losing_survey",
            str(cluster_folder),
            str(file),
            temporary,
        ]
        settings = os.environ | {"DIED": str(tmp_path / "died"), "RAY_AUTH_MODE": "disabled"}
        process = subprocess.run(
            command, cwd=ROOT, env=settings, capture_output=True, text=True, check=False, timeout=600
        )
    assert process.returncode == 0, process.stderr
    assert "3 parts\n" in process.stdout  # among log lines of Ray about the lost worker
    assert (tmp_path / "died").exists()
    for table in ("heads", "sentences"):
        assert [part.name for part in find_complete_parts(cluster_folder, table)] == [
            part.name for part in find_complete_parts(single_folder, table)
        ]
        for one, other in zip(
            find_complete_parts(single_folder, table), find_complete_parts(cluster_folder, table), strict=True
        ):
            assert one.read_bytes() == other.read_bytes()


def test_worker_without_the_same_model_raises(tmp_path: Path, file: Path) -> None:
    plan = read_plan(start(tmp_path / "survey", file))
    with pytest.raises(CommandError, match="has no folder"):
        SurveyWorker(plan, tmp_path / "nowhere", "cpu")
    with pytest.raises(CommandError, match="has a different model"):
        SurveyWorker(plan, MODELS / "sentiment", "cpu")
