"""The upload over real HTTP to a stub Hub with the real Hub's rules."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from huggingface_hub import CommitOperationAdd, HfApi, constants
from huggingface_hub.errors import BadRequestError

import headlight
from headlight.model.errors import CommandError
from headlight.viz.space.upload import read_name, upload
from tests.hub_server import safetensors
from tests.installed import ROOT, outside
from tests.space_server import NEW, Account, Space, SpaceHub

pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=")  # the library's function that uploads a file to LFS
CARD = b"---\ntitle: Headlight\nsdk: gradio\napp_file: app.py\n---\n"
NAME = "ada/headlight"
WAYS = ("xet", "lfs")


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    commit_count = {
        "README.md": CARD,
        "app.py": b"",
        "headlight.py": b"1\n",
        "assets/a/model.safetensors": safetensors(9973),
    }
    for name, content in commit_count.items():
        (tmp_path / "from" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "from" / name).write_bytes(content)
    return {name: tmp_path / "from" / name for name in commit_count}


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", request.param == "lfs")
    return str(request.param)


def refused(files: dict[str, Path], name: str = NAME, **more: bool) -> str:
    """The message of an upload that sends nothing."""
    with pytest.raises(CommandError) as error_info:
        upload(name, files, log=lambda text: None, **more)
    assert "\n" not in str(error_info.value)
    return str(error_info.value)


def test_space_is_created_with_exactly_these_files(hub: SpaceHub, files: dict[str, Path], way: str) -> None:
    message: list[str] = []
    assert upload(NAME, files, private=True, hardware="zero-a10g", log=message.append)
    space = hub.spaces[NAME]
    assert set(space.files) == {*files, ".gitattributes"}
    assert (space.private, space.hardware, len(space.commits)) == (True, "zero-a10g", 2)
    assert isinstance(space.files["assets/a/model.safetensors"], str)  # not in git
    assert space.files["headlight.py"] == b"1\n"
    if way == "lfs":
        assert hub.content(NAME, "assets/a/model.safetensors") == safetensors(9973)
    assert message[0] == "Creating the Space ada/headlight."
    assert "run the same command again" in message[1]


def test_update_uploads_changes_and_deletes_removed_files(hub: SpaceHub, files: dict[str, Path], way: str) -> None:
    upload(NAME, files, log=lambda text: None)
    stored, space = hub.stored, hub.spaces[NAME]
    assert not upload(NAME, files, log=lambda text: None)  # nothing changed: no commit, so no build
    assert len(space.commits) == 2
    files["headlight.py"].write_bytes(b"2\n")
    less = {name: path for name, path in files.items() if name != "app.py"}
    assert upload(NAME, less, log=lambda text: None)
    assert set(space.files) == {*less, ".gitattributes"}
    assert space.files["headlight.py"] == b"2\n"
    assert hub.stored == stored  # the weights were not sent again


def test_interrupted_upload_resumes(hub: SpaceHub, files: dict[str, Path], way: str) -> None:
    hub.breaks = ["/commit/"]
    message = refused(files)
    assert "The connection to 127.0.0.1 failed: Server disconnected" in message
    assert "Run the same command again to resume." in message
    stored = hub.stored
    assert stored > 0
    assert set(hub.spaces[NAME].files) == set(NEW)  # no partial upload
    assert upload(NAME, files, log=lambda text: None)
    assert hub.stored == stored
    assert set(hub.spaces[NAME].files) == {*files, ".gitattributes"}


def test_files_of_other_apps_are_not_deleted(hub: SpaceHub, files: dict[str, Path]) -> None:
    hub.spaces[NAME] = Space(files={**NEW, "main.py": b"another app"})
    assert "contains another app, whose files would be deleted. Choose another name, or add --replace" in refused(files)
    assert hub.spaces[NAME].files["main.py"] == b"another app"
    upload(NAME, files, replace=True, log=lambda text: None)
    assert "main.py" not in hub.spaces[NAME].files


def test_missing_token_error_explains_how_to_get_one(
    hub: SpaceHub, files: dict[str, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("HF_TOKEN")
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "none"))
    message = refused(files)
    assert "There is no Hub token" in message
    assert "hf auth login" in message
    assert hub.requests == []
    monkeypatch.setenv("HF_TOKEN", "hf_wrong")
    assert "does not accept the token. Create a new one" in refused(files)


def test_read_only_token_is_reported(hub: SpaceHub, files: dict[str, Path]) -> None:
    assert "The token of ada may not write to bob/headlight" in refused(files, "bob/headlight")
    assert 'under the namespace "bob"' in refused(files, "bob/headlight")
    assert "Check the spelling of bob, or join it" in refused(files, "bob/headlight")
    upload("school/headlight", files, log=lambda text: None)  # of one of her organisations
    hub.accounts["hf_ada"] = Account("ada", role="read")
    hub.spaces[NAME] = Space()
    assert refused(files) == (
        "The token of ada may only read. Create one that may write at https://huggingface.co/settings/tokens."
    )
    hub.accounts["hf_ada"] = Account("ada", role="fineGrained")
    hub.statuses = {"/preupload/": 403, "whoami": 403}  # a token for one repository cannot query its owner
    assert "The token may not write to ada/headlight." in refused(files)


def test_free_account_error_suggests_zerogpu(hub: SpaceHub, files: dict[str, Path]) -> None:
    hub.accounts["hf_ada"] = Account("ada", pays=False)
    message = refused(files)
    assert "requires a PRO subscription" in message
    assert "add --hardware zero-a10g" in message
    assert upload(NAME, files, hardware="zero-a10g", log=lambda text: None)


def test_network_errors_are_one_sentence(
    hub: SpaceHub, files: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.statuses = {"/api/spaces/": 503}
    assert "127.0.0.1 is busy (status 503). Wait a minute. Run the same command again" in refused(files)
    hub.statuses = {"/commit/": 412}
    assert "ada/headlight was changed meanwhile. Run the same command again" in refused(files)
    hub.statuses = {"/commit/": 413}
    assert "rejected the files (status 413)" in refused(files)
    hub.statuses = {}
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert "The connection to 127.0.0.1 failed: " in refused(files)
    assert "Check the network, the proxy and HF_ENDPOINT. Run the same command again" in refused(files)


def test_front_matter_error_quotes_hub(hub: SpaceHub, files: dict[str, Path]) -> None:
    files["README.md"].write_bytes(CARD.replace(b"sdk:", b"colorTo: orange\nsdk:"))
    assert 'Invalid metadata in README.md. - "colorTo" must be one of [red, yellow,' in refused(files)
    assert hub.stored == 0


def test_stub_hub_rejects_like_real_hub(hub: SpaceHub, files: dict[str, Path]) -> None:
    hub.spaces[NAME] = Space()
    api = HfApi(endpoint=hub.address)
    for name, content in {"a.webp": b"RIFF\0\0\0\0WEBP", "a.txt": b"a\n" * 5_000_001, "README.md": CARD[5:]}.items():
        operation = CommitOperationAdd(name, content)
        operation._upload_mode = "regular"  # as pushed by git
        operation._should_ignore = False
        with pytest.raises((BadRequestError, ValueError), match=r"binary files|Invalid metadata"):
            api.create_commit(NAME, [operation], commit_message="x", repo_type="space")


@pytest.mark.parametrize("text", ["ada/headlight", " ada/headlight/ ", "https://huggingface.co/spaces/ada/headlight"])
def test_space_name_is_parsed_from_url(text: str) -> None:
    assert read_name(text) == "ada/headlight"


@pytest.mark.parametrize("text", ["headlight", "a/b/c", "ada/", "ada/my space", "ada/--x", "-a/b", "a..b/c", "a/b.git",
                                  "", "https://huggingface.co/ada/headlight", "ada/" + "x" * 100])  # fmt: skip
def test_malformed_name_is_reported(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert headlight.main(["space", "--", text]) == 2
    assert "is not the name of a Space. Write user/name, such as ada/headlight" in capsys.readouterr().err


def test_upload_needs_only_huggingface_hub_and_prints_no_traceback(hub: SpaceHub) -> None:
    """A workflow that syncs a Space installs one package, without PyTorch."""
    code = (
        "import sys, headlight; code = headlight.main(['space', 'bob/headlight']); "
        "sys.exit(str(sorted({'torch', 'numpy', 'gradio'} & set(sys.modules))) + str(code))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, encoding="utf-8", check=False,
        env=outside(HF_ENDPOINT=hub.address) | {"HF_TOKEN": "hf_ada"},
    )  # fmt: skip
    assert ran.stderr.splitlines()[-1] == "[]2"
    assert "headlight space: The token of ada may not write to bob/headlight" in ran.stderr
    assert "Traceback" not in ran.stderr
