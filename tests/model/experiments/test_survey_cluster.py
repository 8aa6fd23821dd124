"""A survey on a real Ray cluster equals that of one process byte for byte, also if a worker is lost."""

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
from headlight.model.experiments.survey_files import complete_parts, make_plan, read_plan, run_survey, start_survey
from headlight.viz.settings import MODELS

TOY = MODELS / "toy"
ROOT = Path(__file__).resolve().parents[3]
LINES = "ich mochte ein bier\n\nein cola\nmochte ein bier\u2028\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "lines.txt"
    path.write_text(LINES * 40 + "ein bier", encoding="utf-8")  # three parts, of which the last is short
    return path


def begun(folder: Path, file: Path) -> Path:
    start_survey(folder, make_plan(TOY, file, check_measures(["entropy", "looks"])))
    return folder


@pytest.mark.cluster
def test_a_cluster_measures_what_one_process_does_also_where_a_worker_is_lost(tmp_path: Path, file: Path) -> None:
    pytest.importorskip("ray.data", reason="Ray Data is not installed, so no real cluster is tried")
    alone, many = begun(tmp_path / "alone", file), begun(tmp_path / "many", file)
    run_survey(alone, TOY, file, device="cpu")
    with tempfile.TemporaryDirectory(prefix="ray") as temporary:  # short: sockets lie there
        command = [sys.executable, "-m", "tests.model.experiments.losing_survey", str(many), str(file), temporary]
        settings = os.environ | {"DIED": str(tmp_path / "died"), "RAY_AUTH_MODE": "disabled"}
        ran = subprocess.run(command, cwd=ROOT, env=settings, capture_output=True, text=True, check=False, timeout=600)
    assert ran.returncode == 0, ran.stderr
    assert "3 parts\n" in ran.stdout  # among what Ray says of the lost worker
    assert (tmp_path / "died").exists()
    for what in ("heads", "sentences"):
        assert [part.name for part in complete_parts(many, what)] == [part.name for part in complete_parts(alone, what)]
        for one, other in zip(complete_parts(alone, what), complete_parts(many, what), strict=True):
            assert one.read_bytes() == other.read_bytes()


def test_a_machine_without_the_model_or_with_another_one_says_so(tmp_path: Path, file: Path) -> None:
    wanted = read_plan(begun(tmp_path / "survey", file))
    with pytest.raises(CommandError, match="has no folder"):
        SurveyWorker(wanted, tmp_path / "nowhere", "cpu")
    with pytest.raises(CommandError, match="has a different model"):
        SurveyWorker(wanted, MODELS / "sentiment", "cpu")
