"""Reports of a run: a progress line, CSV logs and TensorBoard."""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headlight.model.errors import TrainingError
from headlight.model.files import name_file, write_file

COLUMNS = ("step", "epoch", "seconds", "rate", "loss", "smoothed_loss", "gradient_norm", "tokens", "tokens_per_second")


class CsvLog:
    """A CSV file to which rows are appended. A resumed run removes the rows after its step, which it will repeat."""

    def __init__(self, path: Path, columns: tuple[str, ...], *, step: int) -> None:
        self.path = path
        self.columns = columns
        rows = [row for row in _read_rows(path) if row.get("step", "").isdigit() and int(row["step"]) <= step]
        write_file(
            path, "".join(_format_row(columns, row) for row in [dict(zip(columns, columns, strict=True)), *rows])
        )

    def add(self, row: Mapping[str, Any]) -> None:
        """Append a row; columns without a value stay empty."""
        with name_file(self.path), self.path.open("a", encoding="utf-8", newline="") as file:
            file.write(_format_row(self.columns, row))


def _read_rows(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return [{key: value for key, value in row.items() if key and value} for row in csv.DictReader(file)]


def _format_row(columns: tuple[str, ...], row: Mapping[str, Any]) -> str:
    values = (row.get(column, "") for column in columns)
    return ",".join(f"{value:.6g}" if isinstance(value, float) else str(value) for value in values) + "\n"


class Reporter:
    """Prints lines in the first process. On a terminal, progress is one line that is overwritten."""

    def __init__(self, *, enabled: bool = True) -> None:
        self.enabled = enabled
        self.is_terminal = sys.stdout.isatty()
        self._pending = False

    def __call__(self, line: str) -> None:
        """Write a permanent line."""
        if self.enabled:
            sys.stdout.write(("\r\x1b[K" if self._pending else "") + line + "\n")
            sys.stdout.flush()
            self._pending = False

    def progress(self, line: str) -> None:
        """Write a line that the next line overwrites on a terminal."""
        if not self.is_terminal:
            self(time.strftime("%H:%M:%S ") + line)
        elif self.enabled:
            sys.stdout.write("\r\x1b[K" + line)
            sys.stdout.flush()
            self._pending = True


class TensorBoardLog:
    """A TensorBoard writer, or a no-op without a folder."""

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
        """Log values at a step."""
        if self.writer is not None:
            for name, value in values.items():
                self.writer.add_scalar(name, value, step)
            self.writer.flush()


def progress_bar(step: int, steps: int, width: int = 20) -> str:
    """Return a bar such as `[#####...............]`."""
    filled = min(width, width * step // max(1, steps))
    return f"[{'#' * filled}{'.' * (width - filled)}]"


def format_duration(seconds: float) -> str:
    """Format as hours and minutes, or as minutes and seconds."""
    total = int(seconds)
    if total >= 3600:
        return f"{total // 3600} h {total % 3600 // 60:02d} min"
    return f"{total // 60}:{total % 60:02d} min"
