"""Checkpoints are complete or absent, and restore all state."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from headlight.model.errors import TrainingError, WriteError
from headlight.model.files import write_atomically, write_file
from headlight.model.training import checkpoints
from headlight.model.training.checkpoints import RunProgress
from tests.compare import assert_close

GROUPS = {"model": {"a.weight": torch.randn(7, 11)}, "optimiser": {"step/a.weight": torch.tensor(5.0)}}


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """Limit files to `size` bytes: the kernel rejects further writes, as on a full disk."""
    import resource  # not on Windows

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_checkpoint_roundtrips(tmp_path: Path) -> None:
    path = checkpoints.make_checkpoint_path(tmp_path, 13)
    progress = RunProgress(step=13, epoch=2, batch=3, tokens=17, seconds=1.5, cool_down_steps=5)
    checkpoints.save_checkpoint(path, GROUPS, progress, {"data_sha256": "abc"})
    groups, restored, about = checkpoints.load_checkpoint(path)
    assert (restored, about) == (progress, {"data_sha256": "abc"})
    for group, tensors in GROUPS.items():
        for name, tensor in tensors.items():
            assert torch.equal(groups[group][name], tensor)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no limit on the size of a process's files")
def test_full_disk_keeps_old_file_and_no_partial_file(tmp_path: Path) -> None:
    path = tmp_path / "step-00000001.safetensors"
    checkpoints.save_checkpoint(path, GROUPS, RunProgress(step=1), {})
    before = path.read_bytes()
    large = {"model": {"a.weight": torch.randn(211, 499)}}
    with file_size_limit(8192), pytest.raises(WriteError, match=r"cannot be written: .*The previous file is intact"):
        checkpoints.save_checkpoint(path, large, RunProgress(step=2), {})
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_interrupted_write_keeps_old_file(tmp_path: Path) -> None:
    path = tmp_path / "curve.csv"
    write_file(path, "complete")

    def write_half(part: Path) -> None:
        part.write_text("comp", encoding="utf-8")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, write_half)
    assert path.read_text(encoding="utf-8") == "complete"
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("content", [b"", b"not a checkpoint", "cut"])
def test_incomplete_checkpoint_error_says_to_remove_it(tmp_path: Path, content: bytes | str) -> None:
    path = tmp_path / "step-00000001.safetensors"
    checkpoints.save_checkpoint(path, GROUPS, RunProgress(step=1), {})
    path.write_bytes(path.read_bytes()[:-40] if content == "cut" else content)  # type: ignore[arg-type]
    with pytest.raises(TrainingError, match=r"step-00000001.* is not a complete training checkpoint.*Remove it"):
        checkpoints.load_checkpoint(path)


def test_old_checkpoints_are_removed(tmp_path: Path) -> None:
    for step in (2, 3, 5, 7, 11):
        checkpoints.save_checkpoint(
            checkpoints.make_checkpoint_path(tmp_path, step), GROUPS, RunProgress(step=step), {}
        )
    (tmp_path / "step-00000013.safetensors.part").write_bytes(b"of a killed write")
    checkpoints.remove_old_checkpoints(tmp_path, keep=2)
    assert [path.stem for path in checkpoints.list_checkpoints(tmp_path)] == ["step-00000007", "step-00000011"]


def test_checkpoint_average_is_mean() -> None:
    members = [{"a": torch.full((3,), value)} for value in (1.0, 2.0, 6.0)]
    assert_close(checkpoints.average_checkpoints(members)["a"], torch.full((3,), 3.0))


def test_file_is_written_if_folder_cannot_be_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows cannot open a folder, which is needed to sync a renamed file to disk."""

    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("headlight.model.files.os.open", refuse)
    write_file(tmp_path / "new.txt", "content")
    assert [path.name for path in tmp_path.iterdir()] == ["new.txt"]
    assert (tmp_path / "new.txt").read_text(encoding="utf-8") == "content"
