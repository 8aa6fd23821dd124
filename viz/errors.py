"""What the page says when something cannot be done: a word of the tables, its values, and the field beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headlight.model.errors import (
    CheckpointError,
    ConfigError,
    ModelError,
    TokenizerError,
    Value,
    WordedError,
    shown,
)

__all__ = ["PageError", "Value", "logged", "page_error", "shown"]
LONGEST_LINE = 500  # characters


class PageError(WordedError):
    """Something that cannot be done, as the page and the API report it."""

    def __init__(self, field: str, word: str, values: Mapping[str, Value] | None = None) -> None:
        super().__init__(word, field, values or {})

    def as_json(self) -> dict[str, Any]:
        """What a program is told. Who expects FastAPI's form finds the sentence under `detail`."""
        said = str(self)
        return {"error": said, "detail": said, "field": self.field, "word": self.word, "values": dict(self.values)}


def logged(said: object) -> str:
    """Whatever strangers may have written, as part of one line of a log: what is not plain ASCII is escaped."""
    return ascii(str(said)[:LONGEST_LINE])[1:-1]


def page_error(error: ModelError, *, model: str = "") -> PageError:
    """Any error of the model floor as one that the page can say; no path of ours is in it."""
    if isinstance(error, PageError):
        return error
    if isinstance(error, WordedError):
        return PageError(error.field, error.word, error.values)
    if isinstance(error, CheckpointError | ConfigError | TokenizerError):
        return PageError("model", "model_cannot_load", {"given": shown(model)})
    return PageError("text", "model_says", {"message": str(error)})
