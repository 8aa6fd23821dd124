"""The checks of `make trust` find what they look for, and its table is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from threading import Barrier
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import strategies as st

from workshop.trust import __main__ as command
from workshop.trust import chaos, fuzz, load, mutant_worker, mutants, smoke, soak
from workshop.trust.checks import BEGIN, END, Check, Log, Options, Part, render_row, render_table, write_block
from workshop.trust.page_process import Usage

OPTIONS = Options(quick=True, cases=10, soak_minutes=0.1, mutants=3, workers=1, seed=7)
HELD = Check("fuzz", "a | b", "0 errors", "0 errors", True)
BROKEN = Check("load", "a class", "all answered", "59 of 60", False)
SKIPPED = Check("chaos", "full disk", "intact", "no namespaces", None)


def no_log(message: str) -> None:
    pass


def test_rows_mark_results_and_escape_bars() -> None:
    assert render_row(HELD) == "| fuzz | a \\| b | 0 errors | 0 errors | yes |\n"
    assert [render_row(check).split(" | ")[-1] for check in (BROKEN, SKIPPED)] == ["**no** |\n", "not tried |\n"]


def test_parts_that_do_not_run_keep_their_rows(tmp_path: Path) -> None:
    document = tmp_path / "a.md"
    document.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n", encoding="utf-8")
    write_block([BROKEN], {"load": "yesterday"}, document)
    write_block([HELD, HELD], {"fuzz": "yesterday"}, document)
    write_block([HELD], {"fuzz": "today"}, document)
    table = render_table([render_row(HELD), render_row(BROKEN)])
    text = document.read_text(encoding="utf-8")
    assert text == f"before\n{BEGIN}\n- fuzz: today\n- load: yesterday\n\n{table}{END}\nafter\n"
    document.write_text("none", encoding="utf-8")
    with pytest.raises(ValueError, match="has no block"):
        write_block([HELD], {"fuzz": "today"}, document)


def test_parts_that_compare_times_run_alone_and_the_others_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    finished: list[str] = []
    both_run = Barrier(2)

    def part(name: str, *, waits: bool) -> Part:
        def check(options: Options, log: Log) -> Iterator[Check]:
            if waits:
                both_run.wait(60)
            yield Check(name, name, "", "", True)
            finished.append(name)

        return check

    parts = {name: part(name, waits=name != "load") for name in ("fuzz", "mutants", "load")}
    monkeypatch.setattr(command, "PARTS", parts)
    checks, runs = command.run_parts(list(parts), OPTIONS, "today")
    assert finished[0] == "load"
    assert [check.part for check in checks] == ["load", "fuzz", "mutants"]
    assert set(runs) == set(parts)


@pytest.mark.parametrize(("checks", "code"), [([HELD, SKIPPED], 0), ([HELD, BROKEN], 1)])
def test_command_fails_if_a_bound_does_not_hold(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], checks: list[Check], code: int
) -> None:
    writes: list[Any] = []
    monkeypatch.setattr(command, "PARTS", {"fuzz": lambda options, log: iter(checks)})
    monkeypatch.setattr(command, "write_block", lambda *arguments: writes.append(arguments))
    assert command.main(["--quick"]) == code
    assert writes == []
    assert command.main(["--soak", "0.1", "--date", "2026-01-01"]) == code  # a full run of all parts
    ((rows, runs),) = writes
    assert rows == checks
    assert runs["fuzz"].startswith("2026-01-01, seed 39, 0.0 minutes")
    assert ("59 of 60" in capsys.readouterr().err) == bool(code)


def test_unknown_part_is_rejected(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["fizz"])
    assert "unknown part fizz. Choose from fuzz, load, chaos, soak, mutants." in capsys.readouterr().err


# ---------------------------------------------------------------- mutants


def test_every_mutant_fits_the_code_and_names_its_tests() -> None:
    listed = mutants.read_mutants()  # raises for text that is missing or ambiguous, and for missing tests
    assert len(listed) >= 120
    assert len(set(listed)) == len(listed)
    assert all(mutant.old != mutant.new for mutant in listed)
    folders = Counter(mutant.file.rpartition("/")[0] for mutant in listed)
    assert {
        "model/core",
        "model/decoding",
        "model/measures",
        "model/experiments",
        "viz/service",
        "viz/export",
        "viz/api",
        "viz/notebook",
        "viz/lessons",
        "viz/widgets/core",
    } <= set(folders)


def test_cells_of_the_list_are_unescaped() -> None:
    assert mutants.unescape(r"a\nb\tc\\nd") == "a\nb\tc\\nd"


def test_mutant_is_in_the_file_only_while_it_is_tested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.py").write_text("x = 1\n", encoding="utf-8")
    with mutant_worker._apply_mutant({"file": "a.py", "old": "1", "new": "2"}):
        assert Path("a.py").read_text(encoding="utf-8") == "x = 2\n"
    assert Path("a.py").read_text(encoding="utf-8") == "x = 1\n"


@pytest.mark.parametrize(("survivors", "holds"), [(0, True), (1, True), (2, False)])
def test_survivors_are_named_and_bounded(survivors: int, holds: bool) -> None:
    listed = [mutants.Mutant("a.py", str(number), "x", ("tests/a.py",)) for number in range(20)]
    codes = [0] * survivors + [1] * (19 - survivors) + [mutant_worker.TIMED_OUT]
    _, check = mutants.judge(listed, [("tests/a.py",)], [0], codes)
    assert check.holds is holds
    assert check.measured.count("→") == survivors
    assert check.measured.startswith(f"{20 - survivors} killed")


def test_tests_that_fail_without_a_mutant_are_named() -> None:
    clean, _ = mutants.judge([mutants.Mutant("a.py", "1", "2", ("tests/a.py",))], [("tests/a.py",)], [1], [1])
    assert (clean.holds, "tests/a.py" in clean.measured) == (False, True)


# ---------------------------------------------------------------- soak and load


def samples(last: Usage) -> list[Usage]:
    return [Usage(500, 20, 30)] * 75 + [last] * 25


@pytest.mark.parametrize(
    ("last", "holds"),
    [
        (Usage(529, 23, 35), [True, True, True, True]),
        (Usage(531, 20, 30), [True, False, True, True]),
        (Usage(500, 24, 36), [True, True, False, False]),
    ],
)
def test_soak_detects_growth(last: Usage, holds: list[bool]) -> None:
    visitor: Any = SimpleNamespace(outcomes=Counter(answered=5))
    checks = list(soak.compare(30, [visitor], samples(last), 0, no_log))
    assert [check.holds for check in checks] == holds


def test_soak_counts_failures() -> None:
    visitor: Any = SimpleNamespace(outcomes=Counter({"answered": 5, "failed: our_fault": 1}))
    first, *_ = soak.compare(30, [visitor], samples(Usage(500, 20, 30)), 0, no_log)
    assert (first.holds, first.measured) == (False, "1 failures, 0 tracebacks")


def test_percentiles_are_of_the_nearest_rank() -> None:
    assert [load.compute_percentile([3.0, 1.0, 2.0, 4.0], fraction) for fraction in (0.25, 0.5, 0.95, 1)] == [
        1,
        2,
        4,
        4,
    ]


# ---------------------------------------------------------------- fuzz and chaos


def test_random_cases_are_reproducible_and_of_the_given_number() -> None:
    def cases(first: int) -> list[Any]:
        seen: list[Any] = []
        fuzz.run_cases(st.integers(0, 10**9), seen.append, 20, first)
        return seen

    assert cases(3) == cases(3) != cases(4)
    assert len(cases(3)) == 20


def test_fuzz_counts_errors_of_python(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def __init__(self, settings: Any) -> None:
            pass

        def check(self, values: Any) -> Any:
            raise ZeroDivisionError

    monkeypatch.setattr(fuzz, "Service", Broken)
    (check,) = fuzz.check_python_requests(OPTIONS, no_log)
    assert check.holds is False


@pytest.mark.parametrize(("errors", "slowest"), [('["x"]', 0.1), ("[]", 2.1)])
def test_fuzz_of_javascript_fails_for_errors_and_frozen_tabs(
    monkeypatch: pytest.MonkeyPatch, errors: str, slowest: float
) -> None:
    line = f'{{"decks": {{"cases": 1, "read": 0, "errors": {errors}, "slowest": {slowest}}}}}\n'
    result = SimpleNamespace(returncode=0, stdout=line, stderr="")
    monkeypatch.setattr(fuzz.subprocess, "run", lambda *command, **options: result)
    (check,) = fuzz.check_browser_code(OPTIONS, no_log)
    assert check.holds is False


def test_kill_waits_for_the_beginning_and_ends_the_process(tmp_path: Path) -> None:
    started_parts = tmp_path / "begun"
    code = f"import pathlib, time; pathlib.Path({str(started_parts)!r}).touch(); time.sleep(600)"
    assert chaos.run_and_kill([chaos.sys.executable, "-c", code], started_parts.exists, 0.0)
    assert started_parts.exists()
    assert not chaos.run_and_kill([chaos.sys.executable, "-c", ""], lambda: False, 0.0)  # it ended before


@pytest.mark.slow
def test_killed_downloads_are_completed() -> None:
    assert [check.holds for check in chaos.check_downloads(OPTIONS, no_log)] == [True, True]


@pytest.mark.parametrize("url", ["file:///etc/passwd", "127.0.0.1"])
def test_smoke_reads_addresses_of_pages_only(url: str) -> None:
    with pytest.raises(SystemExit, match="is not the address of a page"):
        smoke.main(url)


def test_strategies_give_valid_and_invalid_interventions() -> None:
    seen: list[Any] = []
    fuzz.run_cases(fuzz.interventions(valid=True), seen.extend, 50, 1)
    assert {"action"} <= set.intersection(*map(set, seen))
    assert len({each["action"] for each in seen}) > 8
