"""The files of a survey: text lines in, Parquet out, in parts, so that an interrupted survey can resume.

A folder contains `survey.json` with the settings, and for each part of `LINES_PER_PART` lines `heads-00000.parquet` and
`sentences-00000.parquet`. A part is written under a temporary name and renamed when complete, so an existing part is
complete. Its content depends only on its lines, not on the number of processes or on interruptions. At most two parts
per process are in memory.
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
from headlight.model.files import delete_partial_files, write_file
from headlight.model.translate.translator import Translator

LINES_PER_PART = 64
PLAN_FILE = "survey.json"
HEADS, SENTENCES = "heads", "sentences"
VERSION = 1


@dataclass(frozen=True)
class SurveyPlan:
    """Settings of a survey, which determine every row."""

    model: str  # name of the folder
    revision: str  # fingerprint of the model's files
    file: str  # name of the file of sentences
    digest: str  # SHA-256 of that file
    lines: int
    measures: tuple[str, ...]
    part: int = LINES_PER_PART  # lines per part
    version: int = VERSION

    @property
    def parts(self) -> int:
        """The number of parts."""
        return -(-self.lines // self.part)


def polars() -> Any:
    """Import polars, which reads and writes Parquet. Only surveys need it."""
    try:
        return importlib.import_module("polars")
    except ImportError as error:
        raise CommandError(
            "A survey needs the library polars. Install it: pip install 'headlight-attention[survey]', in a checkout "
            "pip install polars."
        ) from error


def make_plan(model: Path, file: Path, measures: Sequence[str]) -> SurveyPlan:
    """Create the plan for all lines of a file."""
    digest, lines, last_byte = hashlib.sha256(), 0, b"\n"
    with file.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
            lines += block.count(b"\n")
            last_byte = block[-1:]
    lines += last_byte != b"\n"
    if not lines:
        raise CommandError(f"{file} has no lines. Write one sentence per line.")
    name = model.resolve().name
    return SurveyPlan(name, fingerprint(model), file.name, digest.hexdigest(), lines, tuple(measures))


def read_plan(folder: Path) -> SurveyPlan:
    """Read the plan of a survey."""
    path = folder / PLAN_FILE
    if not path.is_file():
        raise CommandError(
            f"{folder} is not a survey: {PLAN_FILE} is missing. Create one: headlight survey FILE --output."
        )
    values = json.loads(path.read_text(encoding="utf-8"))
    return SurveyPlan(**values | {"measures": tuple(values["measures"])})


def start_survey(folder: Path, plan: SurveyPlan) -> None:
    """Create the folder, or resume a survey with an equal plan. Another plan is replaced if no part is complete."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / PLAN_FILE
    if not path.is_file() or not find_complete_parts(folder, HEADS):
        delete_partial_files(folder)
        write_file(path, json.dumps(asdict(plan), indent=1) + "\n")
        return
    stored = read_plan(folder)
    if stored != plan:
        old, new = asdict(stored), asdict(plan)
        changed = ", ".join(name for name in old if old[name] != new[name])
        raise CommandError(
            f"{folder} has a survey with other values of {changed}. Choose another folder, or delete this one."
        )
    delete_partial_files(folder)


def run_survey(
    folder: Path,
    model: Path,
    file: Path,
    *,
    workers: int = 1,
    device: str | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> int:
    """Measure all missing parts, and return their number. `on_progress` gets the number of lines of each part."""
    plan = read_plan(folder)
    report = on_progress or (lambda lines: None)
    missing = find_missing_parts(folder, plan, file, report)
    if workers == 1:
        measured = 0
        for number, lines in missing:
            _measure_and_write(folder, plan, number, lines, model, device)
            report(len(lines))
            measured += 1
        return measured
    return _run_in_processes(folder, plan, missing, model, device, workers, report)


def find_missing_parts(
    folder: Path, plan: SurveyPlan, file: Path, report: Callable[[int], None]
) -> Iterator[tuple[int, list[str]]]:
    """Return the number and the lines of each missing part. `report` gets the line count of each complete part."""
    for part in range(plan.parts):
        if _is_done(folder, part):
            report(_count_lines(plan, part))
    return _find_missing_lines(file, plan, (part for part in range(plan.parts) if not _is_done(folder, part)))


def _run_in_processes(
    folder: Path,
    plan: SurveyPlan,
    missing: Iterator[tuple[int, list[str]]],
    model: Path,
    device: str | None,
    workers: int,
    report: Callable[[int], None],
) -> int:
    """Measure the parts in several processes; each loads the model once."""
    threads = max(1, (os.cpu_count() or 1) // workers)
    context = multiprocessing.get_context("spawn")  # a fork of a process with threads may hang
    measured = 0
    with ProcessPoolExecutor(workers, context, torch.set_num_threads, (threads,)) as pool:
        running: dict[Future[None], int] = {}
        try:
            while True:
                for number, lines in islice(missing, 2 * workers - len(running)):
                    running[pool.submit(_measure_and_write, folder, plan, number, lines, model, device)] = len(lines)
                if not running:
                    return measured
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    line_count = running.pop(future)
                    future.result()
                    report(line_count)
                    measured += 1
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def find_complete_parts(folder: Path, table_name: str) -> list[Path]:
    """Return the files of one table, `HEADS` or `SENTENCES`, in order."""
    return sorted(folder.glob(f"{table_name}-?????.parquet"))


def require_complete(folder: Path) -> SurveyPlan:
    """Return the plan of a survey; raise an error if a part is missing."""
    plan = read_plan(folder)
    missing = sum(not _is_done(folder, part) for part in range(plan.parts))
    if missing:
        raise CommandError(
            f"{folder}: {missing} of {plan.parts} parts are missing. Repeat the command to resume the survey."
        )
    return plan


# ---------------------------------------------------------------- one part


@dataclass(frozen=True)
class SurveyPart:
    """The two tables of a part, as Parquet."""

    heads: bytes
    sentences: bytes


def measure_part(plan: SurveyPlan, number: int, lines: Sequence[str], model: Path, device: str | None) -> SurveyPart:
    """Measure one part. The process needs only the plan, the lines and the model."""
    first = number * plan.part
    sentences = [
        sentence for offset, line in enumerate(lines) if (sentence := _parse_line(first + offset, line)) is not None
    ]
    result = survey_batch(_translator(model, device), sentences, plan.measures)
    return SurveyPart(_to_parquet(result.heads), _to_parquet(result.sentences))


def write_part(folder: Path, number: int, part: SurveyPart) -> None:
    """Write a part. The table of heads is written last: a part is complete once this file exists."""
    write_file(folder / _file_name(SENTENCES, number), part.sentences)
    write_file(folder / _file_name(HEADS, number), part.heads)


def _measure_and_write(
    folder: Path, plan: SurveyPlan, number: int, lines: list[str], model: Path, device: str | None
) -> None:
    write_part(folder, number, measure_part(plan, number, lines, model, device))


@lru_cache(maxsize=1)
def _translator(model: Path, device: str | None) -> Translator:
    """Load the model of this process."""
    return Translator.load(model, device)


def _parse_line(number: int, line: str) -> SurveyLine | None:
    """Parse `source`, `source ⇥ target` or `source ⇥ target ⇥ links`; return None for a blank line."""
    source, *more = (part.strip() for part in line.rstrip("\r\n").split("\t"))
    return SurveyLine(number, source, *(more[:2])) if source else None


def _find_missing_lines(file: Path, plan: SurveyPlan, missing: Iterator[int]) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the lines of each missing part, read on demand."""
    next_part = next(missing, None)
    with file.open(encoding="utf-8") as stream:
        for number in range(plan.parts):
            try:
                lines = list(islice(stream, plan.part))
            except UnicodeDecodeError as error:
                raise CommandError(f"{file} is not UTF-8 text. Convert it to UTF-8.") from error
            if number == next_part:
                yield number, lines
                next_part = next(missing, None)
            if next_part is None:
                return


def _to_parquet(columns: Columns) -> bytes:
    table = polars().DataFrame({name: _to_series(name, values) for name, values in columns.items()})
    buffer = io.BytesIO()
    table.write_parquet(buffer, compression="zstd")
    return buffer.getvalue()


def _to_series(name: str, values: Any) -> Any:
    """Convert a column to a series. Texts and bytes have explicit types, because polars cannot infer empty columns."""
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


def _file_name(table_name: str, part: int) -> str:
    return f"{table_name}-{part:05}.parquet"


def _is_done(folder: Path, part: int) -> bool:
    return (folder / _file_name(HEADS, part)).is_file()


def _count_lines(plan: SurveyPlan, part: int) -> int:
    return min(plan.part, plan.lines - part * plan.part)
