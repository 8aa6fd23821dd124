"""`make install`: the build of PyTorch, and the browser for the page's tests."""

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
def package_index(behaviour: str) -> Iterator[tuple[str, list[str]]]:
    """A local package index that `answers`, `refuses` or `hangs`: its address and its requests."""
    requests: list[str] = []
    stopped = Event()

    class Index(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            requests.append(f"{self.command} {self.path}")
            if behaviour == "hangs":
                stopped.wait(60)
            self.send_response(403 if behaviour == "refuses" else 200)
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Index)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/whl/cpu", requests
    finally:
        stopped.set()
        server.shutdown()
        server.server_close()


@pytest.fixture
def pip_commands(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
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
    monkeypatch.setattr(install, "find_installed_torch", lambda: None)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return commands


def printed_line(capsys: pytest.CaptureFixture[str]) -> str:
    (line,) = capsys.readouterr().out.splitlines()
    return line


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt", "requirements-bench.txt"])
def test_torch_is_installed_from_cpu_index_if_it_answers(
    name: str, pip_commands: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    with package_index("answers") as (index, requests):
        assert install.main(ROOT / name, index) == 0
    assert requests == ["HEAD /whl/cpu/torch/"]
    assert pip_commands == [
        [*install.INSTALL, "--no-deps", "--index-url", index, f"torch=={VERSION}"],
        [*install.INSTALL, "-r", str(ROOT / name)],
    ]
    assert (
        printed_line(capsys)
        == f"PyTorch {VERSION}: the CPU build of {index}, because this machine has no NVIDIA driver."
    )


@pytest.mark.parametrize("behaviour", ["refuses", "hangs", "is not there"])
def test_torch_is_installed_from_default_index_if_cpu_index_fails(
    behaviour: str, pip_commands: list[list[str]], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(install, "MAX_WAIT_SECONDS", 0.5)
    with package_index(behaviour) as (index, _):
        url = "http://127.0.0.1:9" if behaviour == "is not there" else index
        assert install.main(ROOT / "requirements.txt", url) == 0
    assert pip_commands == [[*install.INSTALL, "-r", str(ROOT / "requirements.txt")]]
    assert f"{url} does not answer" in printed_line(capsys)


def test_nvidia_driver_selects_default_build(
    pip_commands: list[list[str]], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(install, "has_nvidia_driver", lambda: True)
    with package_index("answers") as (index, requests):
        assert install.main(ROOT / "requirements.txt", index) == 0
    assert requests == []
    assert pip_commands == [[*install.INSTALL, "-r", str(ROOT / "requirements.txt")]]
    assert printed_line(capsys).endswith("as the package index has it, because this machine has an NVIDIA driver.")


@pytest.mark.parametrize(("system", "machine"), [("darwin", "arm64"), ("win32", "AMD64"), ("linux", "aarch64")])
def test_platforms_with_one_build_use_default_index(
    system: str,
    machine: str,
    pip_commands: list[list[str]],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(install.sys, "platform", system)
    monkeypatch.setattr(install.platform, "machine", lambda: machine)
    with package_index("answers") as (index, requests):
        assert install.main(ROOT / "requirements.txt", index) == 0
    assert requests == []
    assert len(pip_commands) == 1
    assert machine in printed_line(capsys)


@pytest.mark.parametrize("setting", ["PIP_INDEX_URL", "PIP_NO_INDEX", "file"])
def test_configured_index_of_the_user_is_used(
    setting: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(install, "has_nvidia_driver", lambda: False)
    monkeypatch.setattr(install.sys, "platform", "linux")
    monkeypatch.setattr(install.platform, "machine", lambda: "x86_64")
    with package_index("answers") as (index, requests):
        if setting == "file":
            (tmp_path / "pip.conf").write_text(f"[install]\nindex-url = {index}\n", encoding="utf-8")
            monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
        else:
            monkeypatch.setenv(setting, "1" if setting == "PIP_NO_INDEX" else index)
        reason = install.find_reason_against_cpu_build(index)
    assert requests == []
    assert reason is not None
    assert re.search(r"your setting \S+\.(index-url|no-index) of pip", reason)


def test_installed_pinned_torch_is_kept(
    pip_commands: list[list[str]], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(install, "find_installed_torch", lambda: VERSION)
    assert install.main(ROOT / "requirements.txt", "http://127.0.0.1:9") == 0
    assert capsys.readouterr().out == ""
    assert len(pip_commands) == 1


def test_pinned_version_matches_installed_torch() -> None:
    assert install.find_pinned_torch(ROOT / "requirements.txt") == VERSION == install.find_installed_torch()


# ---------------------------------------------------------------- the browser


@pytest.fixture
def empty_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without a browser and fonts; returns the parent of the browser folder."""
    for name in ("STARTER", "ENGINE", "OURS", "MODULES"):
        path = {"STARTER": "chromium", "ENGINE": "engine", "OURS": "", "MODULES": "node_modules"}[name]
        for module in (browsers, browser_install):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, tmp_path / "browser" / path)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path / "playwright"))
    monkeypatch.delenv("HEADLIGHT_CHROMIUM", raising=False)
    monkeypatch.setattr(browsers, "APPS", ())
    (tmp_path / "path").mkdir()
    return tmp_path


def fake_browser(path: Path, version: str = "Chromium 1") -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{version}'\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


needs_sh = pytest.mark.skipif(sys.platform == "win32", reason="the fake programs are shell scripts")


@needs_sh
def test_available_browser_is_used(
    empty_machine: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(browser_install, "SOURCES", {})
    monkeypatch.setattr(browser_install, "has_fonts", lambda: True)
    browser = fake_browser(empty_machine / "path" / "chromium-headless-shell")
    assert browser_install.main() == 0
    assert printed_line(capsys) == f"The page's tests run in {browser}."


@needs_sh
def test_placeholder_package_is_not_a_browser(empty_machine: Path) -> None:
    fake_browser(empty_machine / "path" / "chromium-browser", "Please run: snap install it")
    assert browser_install.working() is None
    playwright_browser = fake_browser(
        empty_machine / "playwright" / "chromium_headless_shell-9" / "linux" / "chrome-headless-shell"
    )
    assert browser_install.working() == playwright_browser


@needs_sh
def test_sources_are_tried_until_a_browser_starts(
    empty_machine: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise browser_install.StepError("no host of that name")

    sources = {
        "the first": fail,
        "the second": lambda: fake_browser(empty_machine / "path" / "chromium", "libnss3.so is missing"),
        "the third": lambda: fake_browser(empty_machine / "path" / "google-chrome"),
        "the fourth": fail,
    }
    monkeypatch.setattr(browser_install, "SOURCES", sources)
    monkeypatch.setattr(browser_install, "has_fonts", lambda: True)
    assert browser_install.main() == 0
    assert capsys.readouterr().out.splitlines() == [
        "No Chromium starts here: getting the first ...",
        "That failed: no host of that name.",
        "No Chromium starts here: getting the second ...",
        "No Chromium starts here: getting the third ...",
        "The page's tests run in " + str(empty_machine / "browser" / "chromium") + ".",
    ]
    starter = (empty_machine / "browser" / "chromium").read_text(encoding="utf-8")
    assert (
        f'exec {empty_machine / "path" / "google-chrome"} "$@"' in starter
    )  # not the first one on the path, because it does not start


@needs_sh
def test_configured_browser_that_does_not_start_is_reported(
    empty_machine: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HEADLIGHT_CHROMIUM", str(empty_machine / "none"))
    fake_browser(empty_machine / "path" / "chromium")
    assert browser_install.main() == 1
    assert printed_line(capsys).startswith(f"HEADLIGHT_CHROMIUM names {empty_machine / 'none'}, which does not start.")


def test_missing_browser_prints_advice(
    empty_machine: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(browser_install, "SOURCES", {})
    assert browser_install.main() == 1
    assert printed_line(capsys) == browser_install.FAILED


@needs_sh
def test_browser_starts_with_fonts_from_npm(empty_machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_browser(empty_machine / "path" / "chromium")
    monkeypatch.setattr(browser_install, "has_fonts", lambda: False)
    npm_arguments: list[str] = []

    def npm(arguments: list[str], cwd: Path, **more: object) -> int:
        npm_arguments.extend(arguments)
        for pattern in browser_install.FONTS:
            font = cwd / "node_modules" / pattern.replace("*", "A")
            font.parent.mkdir(parents=True, exist_ok=True)
            font.touch()
        return 0

    monkeypatch.setattr(browser_install, "npm", npm)
    assert browser_install.main() == 0
    assert "--omit=optional" in npm_arguments  # without the browser of the npm package
    starter = (empty_machine / "browser" / "chromium").read_text(encoding="utf-8")
    assert f"FONTCONFIG_FILE={empty_machine / 'browser' / 'fonts.conf'}" in starter
    assert f'exec {empty_machine / "path" / "chromium"} "$@"' in starter
    assert len(list((empty_machine / "browser" / "fonts").iterdir())) == 3  # the four Arimo patterns give one name here
    assert browsers.find_chromium() == str(empty_machine / "browser" / "chromium")
    for _ in range(2):  # `make test` runs this each time
        assert browser_install.main() == 0
        assert (empty_machine / "browser" / "chromium").read_text(encoding="utf-8") == starter


def test_npm_packages_are_pinned_with_checksums() -> None:
    folder = browser_install.PACKAGES
    packages = json.loads((folder / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    listed = json.loads((folder / "package.json").read_text(encoding="utf-8"))
    root = packages.pop("")
    assert root["dependencies"] == listed["dependencies"]
    assert root["optionalDependencies"] == listed["optionalDependencies"]
    for name, package in packages.items():
        assert package["integrity"].startswith("sha512-"), name
        assert "resolved" not in package, name
