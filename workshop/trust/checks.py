"""Checks with their bounds and measurements, and the table of all checks in the documentation."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- written by make trust -->", "<!-- end of what make trust writes -->"
PARTS = ("fuzz", "load", "chaos", "soak", "mutants")  # in the order of the table
Log = Callable[[str], None]


@dataclass(frozen=True)
class Check:
    """One row of the table. `holds` is None if this machine cannot try it; `measured` is then the reason."""

    part: str
    tried: str
    bound: str
    measured: str
    holds: bool | None


@dataclass(frozen=True)
class Options:
    """How much of each part is tried."""

    quick: bool
    cases: int  # of the fuzz
    soak_minutes: float
    mutants: int  # the first ones of the list
    workers: int
    seed: int


Part = Callable[[Options, Log], Iterator[Check]]


def render_table(rows: Sequence[str]) -> str:
    """Render rows as a Markdown table."""
    return "".join(["| part | tried | bound | measured | holds |\n| --- | --- | --- | --- | --- |\n", *rows])


def render_row(check: Check) -> str:
    """Render one check."""
    mark = {True: "yes", False: "**no**", None: "not tried"}[check.holds]
    cells = [check.part, check.tried, check.bound, check.measured, mark]
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n"


def write_block(checks: Sequence[Check], runs: Mapping[str, str], document: Path = DOCUMENT) -> None:
    """Write the checks of some parts into the marked block of the document; other parts keep their rows.

    `runs`: for each part, when and how it ran.
    """
    text = document.read_text(encoding="utf-8")
    if BEGIN not in text or END not in text:
        raise ValueError(f"{document.name} has no block between {BEGIN!r} and {END!r}. Add these two lines.")
    before, _, rest = text.partition(BEGIN)
    block, _, after = rest.partition(END)
    lines = dict(re.findall(r"^- (\w+): (.*)$", block, re.MULTILINE)) | runs
    rows: dict[str, list[str]] = {}
    for row in re.findall(r"^\| (?!part |---).*\n", block, re.MULTILINE):
        rows.setdefault(row.split()[1], []).append(row)
    rows |= {part: [render_row(check) for check in checks if check.part == part] for part in runs}
    parts = [part for part in PARTS if part in rows]
    about = "".join(f"- {part}: {lines[part]}\n" for part in parts if part in lines)
    table = render_table([row for part in parts for row in rows[part]])
    document.write_text(f"{before}{BEGIN}\n{about}\n{table}{END}{after}", encoding="utf-8")
