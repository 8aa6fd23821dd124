"""Checks with their bounds and measurements, and the table of all checks in the documentation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- written by make trust -->", "<!-- end of what make trust writes -->"
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


def render_table(checks: Sequence[Check]) -> str:
    """Render the checks as a Markdown table."""
    marks = {True: "yes", False: "**no**", None: "not tried"}
    rows = [["part", "tried", "bound", "measured", "holds"], ["---"] * 5]
    rows += [[check.part, check.tried, check.bound, check.measured, marks[check.holds]] for check in checks]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |\n" for row in rows)


def write_block(checks: Sequence[Check], about: str, document: Path = DOCUMENT) -> None:
    """Replace the marked block of the document by the table."""
    text = document.read_text(encoding="utf-8")
    if BEGIN not in text or END not in text:
        raise ValueError(f"{document.name} has no block between {BEGIN!r} and {END!r}. Add these two lines.")
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    document.write_text(f"{before}{BEGIN}\n{about}\n\n{render_table(checks)}{END}{after}", encoding="utf-8")
