"""JSON logs for log collectors, without visitors' text.

An error message may quote user input, so errors are logged by type and stack frames.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import TextIO

MAX_FRAMES = 8  # innermost stack frames of an error; a log line stays short


class JsonFormatter(logging.Formatter):
    """A formatter that writes one JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        """Format the record without its arguments."""
        values: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": str(record.msg),  # unformatted, with its placeholders
        }
        values |= getattr(record, "values", {})  # structured fields of the record
        error_class, error, _ = record.exc_info or (None, None, None)
        if error_class is not None and error is not None:
            frames = traceback.extract_tb(error.__traceback__)
            values["error"] = error_class.__name__
            values["at"] = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames[-MAX_FRAMES:]]
        return json.dumps(values, ensure_ascii=False)


def configure_json_logging(stream: TextIO | None = None) -> logging.Handler:
    """Log as JSON lines: warnings from all libraries, and Headlight's own logs from level INFO.

    Replaces the handlers of the root logger and returns the new one.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("headlight").setLevel(logging.INFO)
    return handler
