"""The page without a server as a static Space, sent over HTTP to a stub Hub."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from huggingface_hub import constants

from headlight import main
from headlight.viz.space.rules import faults
from headlight.viz.static_site.space_card import CARD, space_readme
from tests.installed import ROOT
from tests.space_server import NEW, Account, Space, SpaceHub, card_errors

pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=")  # the library's function that uploads a file to LFS
NAME = "ada/headlight"


def send(folder: Path, *options: str) -> int:
    return main(["static", str(folder), "--models", "toy", "--space", NAME, *options])


@pytest.mark.slow
def test_static_space_is_created_and_updated(hub: SpaceHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hub.accounts["hf_ada"] = Account("ada", pays=False)  # static Spaces are free
    assert send(tmp_path / "site", "--private") == 0
    space = hub.spaces[NAME]
    files = {
        path.relative_to(tmp_path / "site").as_posix() for path in (tmp_path / "site").rglob("*") if path.is_file()
    }
    assert set(space.files) == files | {".gitattributes"}
    assert {"index.html", "sw.js", "README.md"} <= files
    assert space.private
    assert "All files have arrived at" in capsys.readouterr().out
    commits = len(space.commits)
    assert send(tmp_path / "site") == 0
    assert len(space.commits) == commits
    assert "has these files already" in capsys.readouterr().out


def test_space_of_the_app_is_not_replaced_unasked(
    hub: SpaceHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.spaces[NAME] = Space(files={**NEW, "headlight.py": b"1\n"})
    assert send(tmp_path / "site") == 2
    assert "contains another app" in capsys.readouterr().err
    assert hub.spaces[NAME].files["headlight.py"] == b"1\n"
    assert send(tmp_path / "site", "--replace") == 0
    assert "headlight.py" not in hub.spaces[NAME].files


def test_name_is_checked_before_anything_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["static", str(tmp_path / "site"), "--space", "headlight"]) == 2
    assert "is not the name of a Space" in capsys.readouterr().err
    assert not (tmp_path / "site").exists()


def test_token_and_space_are_checked_before_anything_is_written(
    hub: SpaceHub, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.spaces[NAME] = Space(files={**NEW, "headlight.py": b"1\n"})
    assert send(tmp_path / "site") == 2
    assert "contains another app" in capsys.readouterr().err
    monkeypatch.setenv("HF_TOKEN", "hf_wrong")
    assert send(tmp_path / "site") == 2
    assert "does not accept the token. Create a new one" in capsys.readouterr().err
    monkeypatch.delenv("HF_TOKEN")
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "none"))
    assert send(tmp_path / "site") == 2
    assert "There is no Hub token" in capsys.readouterr().err
    assert not (tmp_path / "site").exists()


def test_front_matter_follows_the_rules_and_agrees_with_that_of_the_app(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_bytes(space_readme())
    assert not list(faults({"README.md": tmp_path / "README.md"}))
    assert not card_errors(space_readme().decode())
    app = yaml.safe_load((ROOT / "README.md").read_text(encoding="utf-8").split("---")[1])
    assert {key for key in CARD if CARD[key] != app[key]} == {"sdk"}
