"""What `make` installs where: which build of PyTorch, and which browser for the page's tests."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread

import pytest

from tests.browser import browsers
from tests.browser import install as browser_install
from workshop import install

ROOT = Path(__file__).resolve().parents[2]
VERSION = "2.13.0"


@contextmanager
def index_that(does: str) -> Iterator[tuple[str, list[str]]]:
    """A package index on this machine that `answers`, `refuses` or `hangs`: its address, and what it was asked."""
    asked: list[str] = []
    over = Event()

    class Index(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            asked.append(f"{self.command} {self.path}")
            if does == "hangs":
                over.wait(60)
            self.send_response(403 if does == "refuses" else 200)
            self.end_headers()

        def log_message(self, *about: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Index)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/whl/cpu", asked
    finally:
        over.set()
        server.shutdown()
        server.server_close()


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands of pip that would have run, on a Linux machine without a GPU, settings or PyTorch."""
    commands: list[list[str]] = []

    def run(command: list[str], **more: object) -> subprocess.CompletedProcess[str]:
        words = command[len(install.PIP) :]
        if words[:2] != ["config", "list"]:
            commands.append(words)
        return subprocess.CompletedProcess(command, 0, stdout="global.extra-index-url='https://…'\n")

    monkeypatch.setattr(install.subprocess, "run", run)
    monkeypatch.setattr(install.sys, "platform", "linux")
    monkeypatch.setattr(install.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(install, "has_nvidia_driver", lambda: False)
    monkeypatch.setattr(install, "installed_torch", lambda: None)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return commands


def lines(capsys: pytest.CaptureFixture[str]) -> str:
    (line,) = capsys.readouterr().out.splitlines()
    return line


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt", "requirements-bench.txt"])
def test_where_pytorchs_index_answers_pytorch_alone_comes_from_there(
    name: str, ran: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    with index_that("answers") as (index, asked):
        assert install.main(ROOT / name, index) == 0
    assert asked == ["HEAD /whl/cpu/torch/"]
    assert ran == [
        [*install.INSTALL, "--no-deps", "--index-url", index, f"torch=={VERSION}"],
        [*install.INSTALL, "-r", str(ROOT / name)],
    ]
    assert lines(capsys) == f"PyTorch {VERSION}: the CPU build of {index}, because this machine has no NVIDIA driver."


@pytest.mark.parametrize("does", ["refuses", "hangs", "is not there"])
def test_where_it_does_not_answer_pytorch_comes_with_everything_else(
    does: str, ran: list[list[str]], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(install, "MAX_WAIT_SECONDS", 0.5)
    with index_that(does) as (index, _):
        pass_on = "http://127.0.0.1:9" if does == "is not there" else index
        assert install.main(ROOT / "requirements.txt", pass_on) == 0
    assert ran == [[*install.INSTALL, "-r", str(ROOT / "requirements.txt")]]
    assert f"{pass_on} does not answer" in lines(capsys)


def test_a_machine_with_an_nvidia_driver_gets_the_build_that_uses_it(
    ran: list[list[str]], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(install, "has_nvidia_driver", lambda: True)
    with index_that("answers") as (index, asked):
        assert install.main(ROOT / "requirements.txt", index) == 0
    assert asked == []
    assert ran == [[*install.INSTALL, "-r", str(ROOT / "requirements.txt")]]
    assert lines(capsys).endswith("as the package index has it, because this machine has an NVIDIA driver.")


@pytest.mark.parametrize(("system", "machine"), [("darwin", "arm64"), ("win32", "AMD64"), ("linux", "aarch64")])
def test_where_the_package_index_has_one_build_nothing_is_asked(
    system: str, machine: str, ran: list[list[str]], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(install.sys, "platform", system)
    monkeypatch.setattr(install.platform, "machine", lambda: machine)
    with index_that("answers") as (index, asked):
        assert install.main(ROOT / "requirements.txt", index) == 0
    assert asked == []
    assert len(ran) == 1
    assert machine in lines(capsys)


@pytest.mark.parametrize("setting", ["PIP_INDEX_URL", "PIP_NO_INDEX", "file"])
def test_an_index_of_the_users_own_is_kept_to(
    setting: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(install, "has_nvidia_driver", lambda: False)
    monkeypatch.setattr(install.sys, "platform", "linux")
    monkeypatch.setattr(install.platform, "machine", lambda: "x86_64")
    with index_that("answers") as (index, asked):
        if setting == "file":
            (tmp_path / "pip.conf").write_text(f"[install]\nindex-url = {index}\n", encoding="utf-8")
            monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
        else:
            monkeypatch.setenv(setting, "1" if setting == "PIP_NO_INDEX" else index)
        reason = install.reason_against_cpu_build(index)
    assert asked == []
    assert reason is not None
    assert re.search(r"your setting \S+\.(index-url|no-index) of pip", reason)


def test_an_installed_pytorch_of_the_pinned_version_is_not_chosen_anew(
    ran: list[list[str]], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(install, "installed_torch", lambda: VERSION)
    assert install.main(ROOT / "requirements.txt", "http://127.0.0.1:9") == 0
    assert capsys.readouterr().out == ""
    assert len(ran) == 1


def test_it_knows_the_version_that_is_installed_here() -> None:
    assert install.pinned_torch(ROOT / "requirements.txt") == VERSION == install.installed_torch()


# ---------------------------------------------------------------- the browser


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without a browser or fonts: where `.venv/browser` is."""
    for name in ("STARTER", "ENGINE", "OURS", "MODULES"):
        place = {"STARTER": "chromium", "ENGINE": "engine", "OURS": "", "MODULES": "node_modules"}[name]
        for module in (browsers, browser_install):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, tmp_path / "browser" / place)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path / "playwright"))
    monkeypatch.delenv("HEADLIGHT_CHROMIUM", raising=False)
    monkeypatch.setattr(browsers, "APPS", ())
    (tmp_path / "path").mkdir()
    return tmp_path


def fake(path: Path, version: str = "Chromium 1") -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{version}'\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


needs_sh = pytest.mark.skipif(sys.platform == "win32", reason="programs are scripts of a shell here")


@needs_sh
def test_a_browser_that_is_here_is_used_and_nothing_is_installed(
    bare: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(browser_install, "SOURCES", {})
    monkeypatch.setattr(browser_install, "has_fonts", lambda: True)
    here = fake(bare / "path" / "chromium-headless-shell")
    assert browser_install.main() == 0
    assert lines(capsys) == f"The page's tests run in {here}."


@needs_sh
def test_a_package_that_only_says_where_to_get_a_browser_is_none(bare: Path) -> None:
    fake(bare / "path" / "chromium-browser", "Please run: snap install it")
    assert browser_install.working() is None
    own = fake(bare / "playwright" / "chromium_headless_shell-9" / "linux" / "chrome-headless-shell")
    assert browser_install.working() == own


@needs_sh
def test_each_source_is_tried_until_one_brings_a_browser_that_starts(
    bare: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused() -> None:
        raise browser_install.StepError("no host of that name")

    sources = {
        "the first": refused,
        "the second": lambda: fake(bare / "path" / "chromium", "libnss3.so is missing"),
        "the third": lambda: fake(bare / "path" / "google-chrome"),
        "the fourth": refused,
    }
    monkeypatch.setattr(browser_install, "SOURCES", sources)
    monkeypatch.setattr(browser_install, "has_fonts", lambda: True)
    assert browser_install.main() == 0
    assert capsys.readouterr().out.splitlines() == [
        "No Chromium starts here: getting the first ...",
        "That failed: no host of that name.",
        "No Chromium starts here: getting the second ...",
        "No Chromium starts here: getting the third ...",
        "The page's tests run in " + str(bare / "browser" / "chromium") + ".",
    ]
    starter = (bare / "browser" / "chromium").read_text(encoding="utf-8")
    assert f'exec {bare / "path" / "google-chrome"} "$@"' in starter  # not the first on the path, which does not start


@needs_sh
def test_a_browser_that_is_named_and_does_not_start_is_said(
    bare: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HEADLIGHT_CHROMIUM", str(bare / "none"))
    fake(bare / "path" / "chromium")
    assert browser_install.main() == 1
    assert lines(capsys).startswith(f"HEADLIGHT_CHROMIUM names {bare / 'none'}, which does not start.")


def test_where_none_can_be_had_a_sentence_says_what_to_do(
    bare: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(browser_install, "SOURCES", {})
    assert browser_install.main() == 1
    assert lines(capsys) == browser_install.FAILED


@needs_sh
def test_fonts_come_from_npm_and_the_browser_starts_with_them(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(bare / "path" / "chromium")
    monkeypatch.setattr(browser_install, "has_fonts", lambda: False)
    words: list[str] = []

    def npm(given: list[str], cwd: Path, **more: object) -> int:
        words.extend(given)
        for pattern in browser_install.FONTS:
            font = cwd / "node_modules" / pattern.replace("*", "A")
            font.parent.mkdir(parents=True, exist_ok=True)
            font.touch()
        return 0

    monkeypatch.setattr(browser_install, "npm", npm)
    assert browser_install.main() == 0
    assert "--omit=optional" in words  # not the browser of npm's package beside it
    starter = (bare / "browser" / "chromium").read_text(encoding="utf-8")
    assert f"FONTCONFIG_FILE={bare / 'browser' / 'fonts.conf'}" in starter
    assert f'exec {bare / "path" / "chromium"} "$@"' in starter
    assert len(list((bare / "browser" / "fonts").iterdir())) == 3  # Arimo's four share a name here
    assert browsers.find_chromium() == str(bare / "browser" / "chromium")
    for _ in range(2):  # `make test` comes here each time
        assert browser_install.main() == 0
        assert (bare / "browser" / "chromium").read_text(encoding="utf-8") == starter


def test_npms_packages_are_pinned_with_checksums() -> None:
    folder = browser_install.PACKAGES
    packages = json.loads((folder / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    listed = json.loads((folder / "package.json").read_text(encoding="utf-8"))
    root = packages.pop("")
    assert root["dependencies"] == listed["dependencies"]
    assert root["optionalDependencies"] == listed["optionalDependencies"]
    for name, package in packages.items():
        assert package["integrity"].startswith("sha512-"), name
        assert "resolved" not in package, name
