"""Training with two processes matches one process."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from safetensors.torch import load_file

from tests.compare import assert_close
from tests.model.training.gradients_of_process import write_gradients

ROOT = Path(__file__).resolve().parents[3]


def free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


@pytest.mark.slow
def test_two_processes_match_gradients_and_loss_of_one(tmp_path: Path) -> None:
    environment = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port(), "OMP_NUM_THREADS": "1"}
    ranks = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "tests.model.training.gradients_of_process", str(tmp_path / "two")],
            cwd=ROOT,
            env=os.environ | environment | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
        )
        for rank in range(2)
    ]
    write_gradients(tmp_path / "one")
    assert [process.wait(timeout=120) for process in ranks] == [0, 0]
    one, two = load_file(tmp_path / "one"), load_file(tmp_path / "two")
    assert one.keys() == two.keys()
    assert len(one) > 20
    for name, gradient in one.items():
        assert_close(two[name], gradient, tolerance=1e-5, of=name)
