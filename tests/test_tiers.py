"""The two tiers of tests, and the report of CPU seconds."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import tiers
from tests.cpu_seconds import cpu_seconds

pytest_plugins = ("pytester",)

ROOT = Path(__file__).resolve().parents[1]
CONFTEST = """
import pytest
from tests.cpu_seconds import CpuSeconds
from tests.tiers import sort_into_tiers

def pytest_addoption(parser):
    parser.addoption("--cpu-seconds")

def pytest_configure(config):
    config.addinivalue_line("markers", "slow")
    config.addinivalue_line("markers", "journey")
    config.pluginmanager.register(CpuSeconds(config))

@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    sort_into_tiers(items)
"""
CASES = """
import time
import pytest

@pytest.mark.slow
def test_slow():
    pass

@pytest.mark.slow(after=2)
@pytest.mark.parametrize("case", range(5))
def test_case(case):
    end = time.process_time() + 0.05 * case
    while time.process_time() < end:
        pass

@pytest.mark.journey
def test_journey():
    pass

def test_plain():
    pass
"""


def passed_tests(pytester: pytest.Pytester, *words: str) -> set[str]:
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-v", *words)
    return {line.split()[0].partition("::")[2] for line in result.outlines if " PASSED" in line}


def test_slow_after_keeps_first_cases_fast(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(CASES)
    fast = passed_tests(pytester, "-m", "not slow")
    assert fast == {"test_case[0]", "test_case[1]", "test_journey", "test_plain"}
    assert passed_tests(pytester) == fast | {"test_slow", "test_case[2]", "test_case[3]", "test_case[4]"}


def test_only_journeys_are_fast_in_browser(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(CASES)
    monkeypatch.setattr(tiers, "IN_A_BROWSER", pytester.path)
    assert passed_tests(pytester, "-m", "not slow") == {"test_journey"}


def test_slowest_five_tests_are_listed(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(CASES)
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "--cpu-seconds", "costs.txt")
    place = next(at for at, line in enumerate(result.outlines) if "slowest 5 of 8" in line)
    assert [line.split("::")[1] for line in result.outlines[place + 1 : place + 3]] == ["test_case[4]", "test_case[3]"]
    lines = (pytester.path / "costs.txt").read_text(encoding="utf-8").splitlines()
    costs = {line.split("\t")[0]: float(line.split("\t")[2]) for line in lines if "\tcall\t" in line}
    assert len(costs) == 8
    assert max(costs.values()) > 0.1


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="running processes are read from Linux's /proc")
def test_cpu_seconds_include_child_processes() -> None:
    before = cpu_seconds()
    end = "import time\nwhile time.process_time() < 0.3: pass\n"
    with subprocess.Popen([sys.executable, "-c", end + "input()"], stdin=subprocess.PIPE) as process:
        while cpu_seconds() - before < 0.25 and process.poll() is None:
            time.sleep(0.02)
        assert process.stdin
        process.stdin.write(b"\n")
    assert cpu_seconds() - before >= 0.25  # measured in whole clock ticks


@pytest.mark.skipif(not shutil.which("make"), reason="make is not installed")
def test_make_test_selects_tiers_and_installs_browser_if_needed() -> None:
    def pytest_commands(*words: str) -> list[str]:
        make = subprocess.run(
            ["make", "--dry-run", "--assume-old=.venv/.dev", *words],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        return [line for line in make.stdout.splitlines() if "-m pytest" in line or "browser.install" in line]

    browser_install, other_tests, browser_tests = pytest_commands("test")
    assert "tests.browser.install" in browser_install
    assert "-m 'not slow and not cluster' --ignore=tests/browser" in other_tests
    assert "-m 'not slow and not cluster' tests/browser" in browser_tests
    assert [line.partition("-m ")[2] for line in pytest_commands("test", "TESTS=tests/model/core")] == [
        "pytest tests/model/core"
    ]
    assert len(pytest_commands("test", "TESTS=tests/browser/test_heads.py")) == 2
    assert not any("slow" in line for line in pytest_commands("test-all"))
