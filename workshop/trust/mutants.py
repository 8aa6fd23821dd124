"""Mutants: small faults in the code, each of which the named tests must find.

`mutants.tsv` lists them: the file, the text (once in the file), its replacement, and the tests. All tests must pass
without a mutant first. The mutants are applied in copies of the repository, so the checkout never changes.
"""

from __future__ import annotations

import compileall
import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from py_compile import PycInvalidationMode
from queue import Queue
from typing import NamedTuple

from workshop.trust.checks import ROOT, Check, Log, Options

LIST = ROOT / "workshop" / "trust" / "mutants.tsv"
MIN_KILLED = 0.95
NO_TESTS = (4, 5)  # exit codes of pytest: wrong arguments, or no tests
LINKED_FOLDERS = ("assets",)  # large, and never changed


class Mutant(NamedTuple):
    """A replacement in a file, and the tests that must fail."""

    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.file}: `{self.old}` → `{self.new}`"


def read_mutants() -> list[Mutant]:
    """Read the list; raise a `ValueError` for an entry that does not fit the code."""
    with LIST.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    mutants = [Mutant(file, unescape(old), unescape(new), tuple(tests.split())) for file, old, new, tests in rows[1:]]
    for mutant in mutants:
        count = (ROOT / mutant.file).read_text(encoding="utf-8").count(mutant.old)
        if count != 1:
            raise ValueError(f"{LIST.name}: {mutant.old!r} is {count} times in {mutant.file}. It must be there once.")
        missing = [test for test in mutant.tests if not (ROOT / test.partition("::")[0]).exists()]
        if missing or not mutant.tests:
            raise ValueError(f"{LIST.name}: {mutant}: there is no test {missing}.")
    return mutants


def unescape(text: str) -> str:
    r"""Return the text of a cell, in which `\n` is a line break, `\t` a tab and `\\` a backslash."""
    return re.sub(r"\\(.)", lambda match: {"n": "\n", "t": "\t"}.get(match[1], match[1]), text)


class Worker:
    """A process that tests mutants in its own copy."""

    def __init__(self, copy: Path) -> None:
        environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "workshop.trust.mutant_worker"],
            cwd=copy,
            env=environment,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def run(self, tests: Sequence[str], mutant: Mutant | None = None) -> int:
        """Return the exit code of the tests, with a mutant or without."""
        file, old, new = mutant[:3] if mutant else ("", "", "")
        assert self.process.stdin is not None  # noqa: S101 - for the type checker
        assert self.process.stdout is not None  # noqa: S101
        self.process.stdin.write(json.dumps({"file": file, "old": old, "new": new, "tests": list(tests)}) + "\n")
        self.process.stdin.flush()
        return int(json.loads(self.process.stdout.readline())["code"])


def copy_tree(folder: Path) -> Path:
    """Copy the tracked files; large folders are linked."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, names.split("\0")):
        if not name.startswith(tuple(f"{linked}/" for linked in LINKED_FOLDERS)) and (ROOT / name).exists():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target, follow_symlinks=False)
    for name in LINKED_FOLDERS:
        (folder / name).symlink_to(ROOT / name)
    # Compiled files that are matched by the content of their source: a mutant may keep its time and size.
    compileall.compile_dir(folder, quiet=2, invalidation_mode=PycInvalidationMode.CHECKED_HASH)
    return folder


def check(options: Options, log: Log) -> Iterator[Check]:
    """Test the mutants, and name the survivors."""
    mutants = read_mutants()[: options.mutants]
    with tempfile.TemporaryDirectory() as folder:
        workers: Queue[Worker] = Queue()
        for number in range(options.workers):
            workers.put(Worker(copy_tree(Path(folder) / str(number))))

        def run(tests: Sequence[str], mutant: Mutant | None) -> int:
            worker = workers.get()
            try:
                code = worker.run(tests, mutant)
            finally:
                workers.put(worker)
            log(f"{code} {mutant or tests}")
            return code

        selections = list(dict.fromkeys(mutant.tests for mutant in mutants))
        with ThreadPoolExecutor(options.workers) as pool:
            clean = list(pool.map(run, selections, [None] * len(selections)))
            codes = list(pool.map(run, [mutant.tests for mutant in mutants], mutants))
        for _ in range(options.workers):
            workers.get().process.terminate()
    yield from judge(mutants, selections, clean, codes)


def judge(
    mutants: Sequence[Mutant], selections: Sequence[tuple[str, ...]], clean: Sequence[int], codes: Sequence[int]
) -> Iterator[Check]:
    """Compare the exit codes with the bounds."""
    failing = [" ".join(tests) for tests, code in zip(selections, clean, strict=True) if code]
    survivors = [str(mutant) for mutant, code in zip(mutants, codes, strict=True) if code == 0 or code in NO_TESTS]
    killed = len(mutants) - len(survivors)
    yield Check(
        "mutants",
        f"{len(selections)} groups of tests without a mutant",
        "all pass",
        f"{len(selections) - len(failing)} pass{': not ' if failing else ''}{', '.join(failing)}",
        not failing,
    )
    yield Check(
        "mutants",
        f"{len(mutants)} mutants",
        f"at least {MIN_KILLED:.0%} killed",
        f"{killed} killed ({killed / len(mutants):.1%}); survivors: {'; '.join(survivors) or 'none'}",
        killed >= MIN_KILLED * len(mutants),
    )
