"""Files of a Space: exactly those that the page needs."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from headlight.model.checkpoints.shipped import SHIPPED_NAMES
from headlight.model.errors import CommandError
from headlight.model.training.live_run_settings import CORPUS_BY_NAME
from headlight.viz.space.files import CODE_SUFFIXES, CORPORA, MARKDOWN_IMAGE, READMES, find_root, find_space_files

ROOT = Path(__file__).resolve().parents[3]


def tracked(*folders: str) -> set[str]:
    """All files of these folders, committed or new."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *folders]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=True).stdout.split("\0")
    return {path for path in listed if path and (ROOT / path).is_file()}


def test_space_gets_code_without_tests_docs_and_benchmarks() -> None:
    names = set(find_space_files(ROOT))
    assert {name for name in names if name.startswith(("model/", "viz/"))} == tracked("model", "viz")
    assert {Path(name).suffix for name in tracked("model", "viz")} == set(CODE_SUFFIXES)
    assert {name.split("/")[0] for name in names} == {
        "README.md", "README.zh.md", "requirements.txt", "app.py", "headlight.py",
        "LICENSE", "LICENSES.md",
        "model",
        "viz", "assets", "docs",
    }  # fmt: skip
    assert {name for name in names if name.startswith("docs/")} == {
        picture for name in READMES for picture in MARKDOWN_IMAGE.findall((ROOT / name).read_text(encoding="utf-8"))
    }
    assert all((ROOT / name).is_file() for name in names)
    assert names <= tracked()


def test_space_gets_runtime_assets() -> None:
    names = set(find_space_files(ROOT))
    code = {
        path: (ROOT / path).read_text(encoding="utf-8") for path in names if path.startswith(("viz/", "model/training"))
    }
    read = {match for text in code.values() for match in re.findall(r'"(\w+)\.tsv"', text)} - {
        "train",
        "test",
        "reviews",
    }
    assert read == set(CORPORA)
    assert {each.file for each in CORPUS_BY_NAME.values()} <= {f"{name}.tsv" for name in CORPORA}
    unread = tracked("assets") - names
    assert {name.split("/")[1] for name in unread} == {"corpora", "recipes", "pyproject.toml"}
    assert not {f"assets/recipes/{name}.json" for name in SHIPPED_NAMES} & unread


def test_space_gets_bundled_models() -> None:
    project = tomllib.loads((ROOT / "assets" / "pyproject.toml").read_text(encoding="utf-8"))
    include = project["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]
    shipped = {each.removeprefix("models/") for each in include if each.startswith("models/")}
    assert set(SHIPPED_NAMES) == shipped


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A small checkout with empty files of a Space."""
    for name in find_space_files(ROOT):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("", encoding="utf-8")
    return tmp_path


def test_named_own_model_is_uploaded(copied: Path) -> None:
    before = set(find_space_files(copied))
    mine = copied / "assets" / "models" / "mine"
    mine.mkdir()
    for name in ("config.json", "model.safetensors", ".DS_Store"):
        (mine / name).write_text("{}", encoding="utf-8")
    assert set(find_space_files(copied)) == before
    assert set(find_space_files(copied, ["mine"])) - before == {
        "assets/models/mine/config.json", "assets/models/mine/model.safetensors"
    }  # fmt: skip
    for wrong in ("yours", "../models/mine", ""):
        with pytest.raises(CommandError, match="has no model"):
            find_space_files(copied, [wrong])


def test_untracked_files_are_not_uploaded(copied: Path) -> None:
    before = set(find_space_files(copied))
    for name in (
        ".env",
        "viz/notes.txt",
        "viz/page.py~",
        "model/core/__pycache__/masks.cpython-311.pyc",
        "runs/1.json",
    ):
        (copied / name).parent.mkdir(parents=True, exist_ok=True)
        (copied / name).write_text("secret", encoding="utf-8")
    assert set(find_space_files(copied)) == before


def test_installed_package_uses_checkout_in_current_folder(tmp_path: Path) -> None:
    assert find_root() == ROOT
    assert find_root([tmp_path, ROOT]) == ROOT
    with pytest.raises(CommandError, match="from a checkout"):
        find_root([tmp_path])


def test_space_gets_icon_and_preview_image() -> None:
    assert {"assets/pictures/icon.png", "assets/pictures/share.png"} <= set(find_space_files(ROOT))
