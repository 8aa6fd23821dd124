"""Files are written atomically: after a fault, the old content or the new one is complete."""

from __future__ import annotations

import ast
import errno
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headlight.model.checkpoints.checksums import write_checksums
from headlight.model.commands.main import main
from headlight.model.errors import WriteError
from headlight.model.experiments.survey_files import SurveyPart, write_part
from headlight.model.files import write_file
from headlight.model.training.card_section import replace_section
from headlight.model.training.monitor import CsvLog
from headlight.viz.notebook.display import show
from tests.tiny import tiny_translator

ROOT = Path(__file__).resolve().parents[2]
FAULTS = {
    errno.ENOSPC: ("write_bytes", "open", "fsync", "replace"),
    errno.EACCES: ("write_bytes", "open", "replace"),
}


def inject(patch: pytest.MonkeyPatch, place: str, number: int) -> None:
    """Let one step of a write fail as on a full disk or in a folder without permission."""

    def fail(*arguments: Any, **options: Any) -> Any:
        raise OSError(number, os.strerror(number))

    if place == "fsync":
        patch.setattr(os, "fsync", fail)
    elif place == "write_bytes":

        def write_half(path: Path, data: bytes) -> None:
            with path.open("wb") as file:
                file.write(data[: len(data) // 2])
            fail()

        patch.setattr(Path, "write_bytes", write_half)
    else:
        real = getattr(Path, place)
        patch.setattr(
            Path, place, lambda path, *more, **options: (fail if ".part" in path.name else real)(path, *more, **options)
        )


@pytest.fixture(scope="module")
def translation() -> Any:
    return tiny_translator().translate("ein bier")


def writers(folder: Path, translation: Any) -> dict[Path, Callable[[], object]]:
    """Writers of all kinds, by the file that is written first."""
    (folder / "README.md").write_text("# A model\n", encoding="utf-8")
    return {
        folder / "text.txt": lambda: write_file(folder / "text.txt", "neu ü\r\n的"),
        folder / "README.md": lambda: replace_section(folder, "Heads", "new"),
        folder / "SHA256SUMS": lambda: write_checksums(folder),
        folder / "sentences-00003.parquet": lambda: write_part(folder, 3, SurveyPart(b"heads", b"sentences")),
        folder / "view.npz": lambda: show(translation).save(folder / "view.npz"),
        folder / "view.json": lambda: show(translation).save(folder / "view.json"),
        folder / "view.html": lambda: show(translation).save(folder / "view.html"),
        folder / "log.csv": lambda: CsvLog(folder / "log.csv", ("step",), step=0),
    }


@pytest.mark.parametrize(
    ("number", "place"), [(number, place) for number, places in FAULTS.items() for place in places]
)
def test_fault_keeps_the_old_file_and_names_it(tmp_path: Path, translation: Any, number: int, place: str) -> None:
    for path, write in writers(tmp_path, translation).items():
        if not path.exists():
            path.write_bytes(b"the old content")
        before = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
        with pytest.MonkeyPatch.context() as patch:
            inject(patch, place, number)
            with pytest.raises(WriteError) as error_info:
                write()
        assert str(error_info.value).startswith(f"{path} cannot be written: {os.strerror(number)}. ")
        assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == before
        write()
        assert path.read_bytes() != b"the old content"
        assert not list(tmp_path.glob("*.part")) + list(tmp_path.glob(".*.part"))


def test_inspect_on_a_full_disk_keeps_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "maps.npz"
    path.write_bytes(b"the old content")
    inject(monkeypatch, "write_bytes", errno.ENOSPC)
    assert main(["inspect", "ein bier", "--model", "toy", "--output", str(path)]) == 2
    assert f"{path} cannot be written: No space left on device. The previous file is intact." in capsys.readouterr().err
    assert path.read_bytes() == b"the old content"


def test_content_permissions_and_links_are_kept(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    write_file(real, "one\r\ntwo ü")
    assert real.read_bytes() == "one\r\ntwo ü".encode()
    real.chmod(0o604)
    link.symlink_to(real)
    write_file(link, b"\x00\xff")
    assert link.is_symlink()
    assert real.read_bytes() == b"\x00\xff"
    assert stat.S_IMODE(real.stat().st_mode) == 0o604
    write_file(tmp_path / "new" / "folder" / "file", "x")
    assert (tmp_path / "new" / "folder" / "file").read_text(encoding="utf-8") == "x"
    with pytest.raises(WriteError, match="new cannot be written"):
        write_file(tmp_path / "new", "x")
    with pytest.raises(WriteError, match=r"real/file cannot be written"):
        write_file(real / "file", "x")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no named pipes in folders")
def test_pipe_is_written_directly(tmp_path: Path) -> None:
    pipe, received = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()))
    reader.start()
    write_file(pipe, b"through")
    reader.join(60)
    assert received == [b"through"]


def test_files_are_written_by_the_helper_only() -> None:
    """Other writers of files need a reason."""
    allowed = {
        "model/files.py",  # the helper
        "model/checkpoints/checkpoint.py",  # a folder that is renamed as a whole
        "model/checkpoints/storage.py",  # inside that folder
        "model/training/download.py",  # a partial file that a later call resumes
        "model/families/hub/download.py",  # also
        "model/training/monitor.py",  # appends rows
        "model/commands/align.py",  # fills the temporary file of the helper line by line
    }
    writing = set()
    for path in sorted(each for folder in ("model", "viz") for each in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name)):
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
            modes = [each.value for each in node.args if isinstance(each, ast.Constant)]
            opens = name == "open" and any(isinstance(mode, str) and mode[:1] in "wax" and mode for mode in modes)
            if name in ("write_text", "write_bytes") or opens:
                writing.add(path.relative_to(ROOT).as_posix())
    assert writing <= allowed
