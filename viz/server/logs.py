"""Logs as lines of JSON for machines that collect them: what happened, when and where, and no visitor's text.

The message of an error may quote what a visitor typed, so an error is told by its type and the lines of code.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import TextIO


class JsonFormatter(logging.Formatter):
    """One object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """The record without its arguments' texts."""
        values: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": str(record.msg),  # the sentence of the code, with its placeholders
        }
        values |= getattr(record, "values", {})  # what an answer's line says of it
        kind, error, _ = record.exc_info or (None, None, None)
        if kind is not None and error is not None:
            frames = traceback.extract_tb(error.__traceback__)
            values["error"] = kind.__name__
            values["at"] = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames[-8:]]
        return json.dumps(values, ensure_ascii=False)


def write_json_logs(stream: TextIO | None = None) -> logging.Handler:
    """All logs of the process as lines of JSON, from warnings on; those of Headlight from notices on."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("headlight").setLevel(logging.INFO)
    return handler
