"""Reports of a run: a line of progress, a CSV of the curve, and TensorBoard on request."""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headlight.model.errors import TrainingError
from headlight.model.training.files import write_text

COLUMNS = ("step", "epoch", "seconds", "rate", "loss", "smoothed_loss", "gradient_norm", "tokens", "tokens_per_second")


class CsvLog:
    """A CSV that grows row by row. A resumed run first drops the rows that it will write again."""

    def __init__(self, path: Path, columns: tuple[str, ...], *, step: int) -> None:
        self.path = path
        self.columns = columns
        rows = [row for row in _rows(path) if row.get("step", "").isdigit() and int(row["step"]) <= step]
        write_text(path, "".join(_line(columns, row) for row in [dict(zip(columns, columns, strict=True)), *rows]))

    def add(self, row: Mapping[str, Any]) -> None:
        """One row, at the end; columns without a value stay empty."""
        with self.path.open("a", encoding="utf-8", newline="") as file:
            file.write(_line(self.columns, row))


def _rows(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return [{key: value for key, value in row.items() if key and value} for row in csv.DictReader(file)]


def _line(columns: tuple[str, ...], row: Mapping[str, Any]) -> str:
    values = (row.get(column, "") for column in columns)
    return ",".join(f"{value:.6g}" if isinstance(value, float) else str(value) for value in values) + "\n"


class Reporter:
    """Writes lines, and on a terminal one line that is rewritten in place; only the first process writes."""

    def __init__(self, *, speaks: bool = True) -> None:
        self.speaks = speaks
        self.live = sys.stdout.isatty()
        self._pending = False

    def __call__(self, line: str) -> None:
        """Write a line that stays."""
        if self.speaks:
            sys.stdout.write(("\r\x1b[K" if self._pending else "") + line + "\n")
            sys.stdout.flush()
            self._pending = False

    def progress(self, line: str) -> None:
        """Write a line that the next one replaces on a terminal."""
        if not self.live:
            self(time.strftime("%H:%M:%S ") + line)
        elif self.speaks:
            sys.stdout.write("\r\x1b[K" + line)
            sys.stdout.flush()
            self._pending = True


class TensorBoardLog:
    """TensorBoard, or nothing at all."""

    def __init__(self, folder: Path | None) -> None:
        self.writer: Any = None
        if folder is None:
            return
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise TrainingError(
                "--tensorboard needs the tensorboard package: pip install -r requirements-train.txt"
            ) from error
        self.writer = SummaryWriter(str(folder))

    def add(self, values: Mapping[str, float], step: int) -> None:
        """Numbers at a step."""
        if self.writer is not None:
            for name, value in values.items():
                self.writer.add_scalar(name, value, step)
            self.writer.flush()


def progress_bar(done: int, all_: int, width: int = 20) -> str:
    """`[#####...............]`."""
    filled = min(width, width * done // max(1, all_))
    return f"[{'#' * filled}{'.' * (width - filled)}]"


def format_duration(seconds: float) -> str:
    """Hours and minutes, or minutes and seconds."""
    whole = int(seconds)
    if whole >= 3600:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // 60}:{whole % 60:02d} min"
