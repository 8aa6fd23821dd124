"""Exceptions for requests, models and files. Each message says how to fix the problem.

A message names the value, the problem and the fix.
Only the page and the command line catch these. Any other exception is a fault of Headlight.

An error that a reader of the page can meet carries a word of `assets/words` and its values (`WordedError`); an error of
model folders, training or the command line names files and options for one person at a terminal, and keeps its English.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from headlight.model.phrases import fill, phrases

Value = str | int | float


class ModelError(Exception):
    """The base of every error that Headlight raises on purpose: one line that can be printed.

    A message may contain third-party text, and is written to logs and terminals.
    """

    def __init__(self, message: str = "") -> None:
        super().__init__("".join(letter if letter.isprintable() else "�" for letter in message))


class TranslatableError(ModelError):
    """An error with a message key (`error_WORD`) for each UI language; `str()` gives the English text.

    `field` names the field at fault. `detail` is for a terminal or a log alone: it may name paths of this machine.
    """

    def __init__(self, word: str, field: str, values: Mapping[str, Value], detail: str = "") -> None:
        self.word = word
        self.field = field
        self.detail = detail
        self.values: Mapping[str, Value] = MappingProxyType(dict(values))
        message = fill(phrases()[f"error_{word}"], values)
        super().__init__(f"{message} ({detail})" if detail else message)

    def __reduce__(self) -> tuple[Any, ...]:
        # Not the arguments of a subclass: with ZeroGPU the error is pickled in another process.
        return _again, (type(self), self.word, self.field, dict(self.values), self.detail)


def _again(kind: type[TranslatableError], *arguments: Any) -> TranslatableError:
    error = kind.__new__(kind)
    TranslatableError.__init__(error, *arguments)
    return error


class ConfigError(ModelError):
    """A configuration that no model can be built from."""


class CheckpointError(ModelError):
    """A model folder that cannot be loaded or written."""


class TokenizerError(ModelError):
    """A vocabulary that cannot be trained, read or used."""


class RequestError(TranslatableError):
    """A sentence, option or intervention that is invalid."""

    def __init__(self, word: str, *, field: str = "text", **values: Value) -> None:
        super().__init__(word, field, values)

    def at_line(self, line: int) -> RequestError:
        """The same error with the line number, counted from one."""
        return RequestError("bad_line", field="lines", line=line, reason=str(self))


class CommandError(ModelError):
    """An option of the command line, or a line of a file that was named there, that cannot be used."""


class ProbeError(ModelError):
    """A pattern that matches no probe, or an edit that does not fit its place."""


class DeviceError(ModelError):
    """A device that does not exist, or is out of memory."""


class TrainingError(ModelError):
    """A corpus or a training run that cannot go on."""


class NoMemoryError(TranslatableError, DeviceError):
    """A device with too little memory for a request."""

    def __init__(self, detail: str = "") -> None:
        super().__init__("no_memory", "text", {}, detail)


def choice_error(name: str, value: object, choices: Iterable[str]) -> RequestError:
    """The error for a value that is not one of the given choices."""
    return RequestError("not_choice", field=name, name=name, given=repr_short(value), choices=", ".join(choices))


def range_error(name: str, value: object, low: int, high: int) -> RequestError:
    """Error for a value that is not an integer or is out of range."""
    return RequestError("not_whole", field=name, name=name, given=repr_short(value), low=low, high=high)


def repr_short(value: Any, longest: int = 40) -> str:
    """A value for an error message: short, on one line, and printable."""
    if isinstance(value, str):
        text = '"' + value[:longest] + ('"' if len(value) <= longest else "…")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        # Python refuses to print a whole number of thousands of digits.
        text = repr(value) if isinstance(value, float) or abs(value) < 10**18 else "a huge number"
    elif value is None or isinstance(value, bool):
        text = json.dumps(value)
    else:
        names: dict[type, str] = {dict: "an object", list: "a list", tuple: "a tuple"}
        text = names.get(type(value), f"a value of type {type(value).__name__}")
    return "".join(letter if letter.isprintable() else "�" for letter in text)
