"""Errors on the page and in the API: phrase key, values and the affected field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headlight.model.errors import (
    CheckpointError,
    ConfigError,
    ModelError,
    TokenizerError,
    TranslatableError,
    Value,
    repr_short,
)

__all__ = ["PageError", "Value", "escape_for_log", "repr_short", "to_page_error"]
MAX_LINE_CHARACTERS = 500


class PageError(TranslatableError):
    """An error that the page and the API report."""

    def __init__(self, field: str, word: str, values: Mapping[str, Value] | None = None) -> None:
        super().__init__(word, field, values or {})

    def as_json(self) -> dict[str, Any]:
        """Return the error as JSON for API clients; `detail` repeats the message, as in FastAPI."""
        message = str(self)
        return {
            "error": message,
            "detail": message,
            "field": self.field,
            "word": self.word,
            "values": dict(self.values),
        }


def escape_for_log(value: object) -> str:
    """Escape third-party text for a log line: only printable ASCII remains."""
    return ascii(str(value)[:MAX_LINE_CHARACTERS])[1:-1]


def to_page_error(error: ModelError, *, model: str = "") -> PageError:
    """Convert an error of `headlight.model` to a `PageError`, without paths of this machine."""
    if isinstance(error, PageError):
        return error
    if isinstance(error, TranslatableError):
        return PageError(error.field, error.word, error.values)
    if isinstance(error, CheckpointError | ConfigError | TokenizerError):
        return PageError("model", "model_cannot_load", {"given": repr_short(model)})
    return PageError("text", "model_says", {"message": str(error)})
