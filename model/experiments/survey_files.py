"""The files of a survey: lines in, Parquet out, in parts that a run after an interruption need not measure again.

A folder contains `survey.json` with the settings, and for each part of `PART` lines `heads-00000.parquet` and
`sentences-00000.parquet`. A part is written under another name and renamed when it is whole, so a part that is there is
whole. It depends on its lines alone: neither the number of processes nor an interruption changes it. Of all parts, no
more are in memory than there are processes.
"""

from __future__ import annotations

import hashlib
import importlib
import io
import json
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from headlight.model.checkpoints.checksums import fingerprint
from headlight.model.errors import CommandError
from headlight.model.experiments.survey import Columns, SurveyLine, survey_batch
from headlight.model.translate.translator import Translator

LINES_PER_PART = 64  # lines
PLAN_FILE = "survey.json"
HEADS, SENTENCES = "heads", "sentences"
VERSION = 1


@dataclass(frozen=True)
class SurveyPlan:
    """Settings of a survey. They determine every row."""

    model: str  # the folder's name
    revision: str  # of its files
    file: str  # the name of the file of sentences
    digest: str  # SHA-256 of that file
    lines: int
    measures: tuple[str, ...]
    part: int = LINES_PER_PART
    version: int = VERSION

    @property
    def parts(self) -> int:
        """How many parts there are."""
        return -(-self.lines // self.part)


def polars() -> Any:
    """The library that reads and writes Parquet, which only surveys need."""
    try:
        return importlib.import_module("polars")
    except ImportError as error:
        raise CommandError(
            "A survey needs the library polars. Install it: pip install 'headlight-attention[survey]', in a checkout "
            "pip install polars."
        ) from error


def make_plan(model: Path, file: Path, measures: Sequence[str]) -> SurveyPlan:
    """The plan for all lines of a file."""
    digest, lines, last = hashlib.sha256(), 0, b"\n"
    with file.open("rb") as opened:
        while block := opened.read(1 << 20):
            digest.update(block)
            lines += block.count(b"\n")
            last = block[-1:]
    lines += last != b"\n"
    if not lines:
        raise CommandError(f"{file} has no lines. Write a sentence on each.")
    name = model.resolve().name
    return SurveyPlan(name, fingerprint(model), file.name, digest.hexdigest(), lines, tuple(measures))


def read_plan(folder: Path) -> SurveyPlan:
    """The plan of a survey that was begun."""
    path = folder / PLAN_FILE
    if not path.is_file():
        raise CommandError(
            f"{folder} holds no survey: {PLAN_FILE} is missing. Make one: headlight survey FILE --output."
        )
    values = json.loads(path.read_text(encoding="utf-8"))
    return SurveyPlan(**values | {"measures": tuple(values["measures"])})


def start_survey(folder: Path, wanted: SurveyPlan) -> None:
    """Make the folder, or go on with a survey of the same plan. Another plan of which nothing is measured gives way."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / PLAN_FILE
    if not path.is_file() or not complete_parts(folder, HEADS):
        _write_atomically(
            path, lambda part: part.write_text(json.dumps(asdict(wanted), indent=1) + "\n", encoding="utf-8")
        )
        return
    begun = read_plan(folder)
    if begun != wanted:
        old, new = asdict(begun), asdict(wanted)
        changed = ", ".join(name for name in old if old[name] != new[name])
        raise CommandError(
            f"{folder} holds a survey with other values of {changed}. Name another folder, or remove it to begin anew."
        )


def run_survey(
    folder: Path,
    model: Path,
    file: Path,
    *,
    workers: int = 1,
    device: str | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> int:
    """Measure all parts that are missing, and give their number. `on_progress` gets the lines of each."""
    begun = read_plan(folder)
    report = on_progress or (lambda lines: None)
    waiting = missing_parts(folder, begun, file, report)
    if workers == 1:
        measured = 0
        for number, lines in waiting:
            _measure_and_write(folder, begun, number, lines, model, device)
            report(len(lines))
            measured += 1
        return measured
    return _in_processes(folder, begun, waiting, model, device, workers, report)


def missing_parts(
    folder: Path, begun: SurveyPlan, file: Path, report: Callable[[int], None]
) -> Iterator[tuple[int, list[str]]]:
    """The number and the lines of each part to measure; `report` gets the lines of those that are there."""
    for part in range(begun.parts):
        if _is_done(folder, part):
            report(_length(begun, part))
    return _missing_lines(file, begun, (part for part in range(begun.parts) if not _is_done(folder, part)))


def _in_processes(
    folder: Path,
    begun: SurveyPlan,
    waiting: Iterator[tuple[int, list[str]]],
    model: Path,
    device: str | None,
    workers: int,
    report: Callable[[int], None],
) -> int:
    """The same with several processes; each loads the model once."""
    threads = max(1, (os.cpu_count() or 1) // workers)
    context = multiprocessing.get_context("spawn")  # a fork of a process with threads may hang
    measured = 0
    with ProcessPoolExecutor(workers, context, torch.set_num_threads, (threads,)) as pool:
        running: dict[Future[None], int] = {}
        try:
            while True:
                for number, lines in islice(waiting, 2 * workers - len(running)):
                    running[pool.submit(_measure_and_write, folder, begun, number, lines, model, device)] = len(lines)
                if not running:
                    return measured
                for done in wait(running, return_when=FIRST_COMPLETED).done:
                    lines_done = running.pop(done)
                    done.result()
                    report(lines_done)
                    measured += 1
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def complete_parts(folder: Path, what: str) -> list[Path]:
    """The whole parts of heads or of sentences, in order."""
    return sorted(folder.glob(f"{what}-?????.parquet"))


def require_complete(folder: Path) -> SurveyPlan:
    """The plan of a survey all of whose parts are there."""
    begun = read_plan(folder)
    missing = sum(not _is_done(folder, part) for part in range(begun.parts))
    if missing:
        raise CommandError(
            f"{folder}: {missing} of {begun.parts} parts are missing. Give the same command again: it goes on there."
        )
    return begun


# ---------------------------------------------------------------- one part


@dataclass(frozen=True)
class SurveyPart:
    """The two tables of a part, as Parquet."""

    heads: bytes
    sentences: bytes


def measure_part(begun: SurveyPlan, number: int, lines: Sequence[str], model: Path, device: str | None) -> SurveyPart:
    """Tables of one part, in any process or machine."""
    first = number * begun.part
    sentences = [
        sentence for place, line in enumerate(lines) if (sentence := _sentence(first + place, line)) is not None
    ]
    result = survey_batch(_translator(model, device), sentences, begun.measures)
    return SurveyPart(_parquet(result.heads), _parquet(result.sentences))


def write_part(folder: Path, number: int, part: SurveyPart) -> None:
    """Write a part. Its heads come last: it counts as done once they are there."""
    _write_atomically(folder / _name(SENTENCES, number), lambda path: path.write_bytes(part.sentences))
    _write_atomically(folder / _name(HEADS, number), lambda path: path.write_bytes(part.heads))


def _measure_and_write(
    folder: Path, begun: SurveyPlan, number: int, lines: list[str], model: Path, device: str | None
) -> None:
    write_part(folder, number, measure_part(begun, number, lines, model, device))


@lru_cache(maxsize=1)
def _translator(model: Path, device: str | None) -> Translator:
    """The model of this process."""
    return Translator.load(model, device)


def _sentence(number: int, line: str) -> SurveyLine | None:
    """`source`, or `source ⇥ target`, or `source ⇥ target ⇥ links`; nothing for a blank line."""
    source, *more = (part.strip() for part in line.rstrip("\r\n").split("\t"))
    return SurveyLine(number, source, *(more[:2])) if source else None


def _missing_lines(file: Path, begun: SurveyPlan, missing: Iterator[int]) -> Iterator[tuple[int, list[str]]]:
    """The lines of each missing part, read as they are asked for."""
    wanted = next(missing, None)
    with file.open(encoding="utf-8") as opened:
        for number in range(begun.parts):
            try:
                lines = list(islice(opened, begun.part))
            except UnicodeDecodeError as error:
                raise CommandError(f"{file} is not UTF-8 text. Convert it.") from error
            if number == wanted:
                yield number, lines
                wanted = next(missing, None)
            if wanted is None:
                return


def _parquet(columns: Columns) -> bytes:
    table = polars().DataFrame({name: _plain(name, values) for name, values in columns.items()})
    written = io.BytesIO()
    table.write_parquet(written, compression="zstd")
    return written.getvalue()


def _plain(name: str, values: Any) -> Any:
    """A column for the library: texts and bytes as lists, also if it is empty."""
    library = polars()
    kinds = {
        "kind": library.String,
        "role": library.String,
        "source": library.String,
        "target": library.String,
        "refused": library.String,
        "looks_at": library.Binary,
        "looks_with": library.Binary,
        "read": library.List(library.String),
        "written": library.List(library.String),
    }
    if name in kinds:
        return library.Series(name, list(values), dtype=kinds[name])
    return library.Series(name, values, dtype=library.Int32 if name == "sentence" else None)


def _write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    part = path.with_name(f".{path.name}.part")
    write(part)
    part.replace(path)


def _name(what: str, part: int) -> str:
    return f"{what}-{part:05}.parquet"


def _is_done(folder: Path, part: int) -> bool:
    return (folder / _name(HEADS, part)).is_file()


def _length(begun: SurveyPlan, part: int) -> int:
    return min(begun.part, begun.lines - part * begun.part)
