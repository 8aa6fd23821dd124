"""Exceptions for requests, models and files.

Each message names the value, the problem and the fix. Only the page and the command line catch these exceptions; any
other exception is a bug in Headlight.

An error that can reach the page has a phrase key in `assets/words` and values (`TranslatableError`). Errors about
model folders, training or the command line appear only in a terminal, in English.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

from headlight.model.phrases import fill, phrases

Value = str | int | float
# Installs the page, the commands and the trained models. The package without extras only shows attention maps.
INSTALL_APP = 'pip install "headlight-attention[app]"'


class ModelError(Exception):
    """Base class of the errors that Headlight raises deliberately.

    A message may contain third-party text and is written to logs and terminals, so unprintable characters are replaced.
    """

    def __init__(self, message: str = "") -> None:
        super().__init__("".join(character if character.isprintable() else "�" for character in message))


class TranslatableError(ModelError):
    """An error whose message is the phrase `error_WORD` in the language of the page. `str()` returns the English text.

    `field` names the invalid field. `detail` is only for terminals and logs, because it may contain local paths.
    """

    def __init__(self, word: str, field: str, values: Mapping[str, Value], detail: str = "") -> None:
        self.word = word
        self.field = field
        self.detail = detail
        self.values: Mapping[str, Value] = MappingProxyType(dict(values))
        message = fill(phrases()[f"error_{word}"], values)
        super().__init__(f"{message} ({detail})" if detail else message)

    def __reduce__(self) -> tuple[Any, ...]:
        # ZeroGPU pickles errors between processes. By default, pickle would call the subclass with `self.args`.
        return _rebuild, (type(self), self.word, self.field, dict(self.values), self.detail)


def _rebuild(error_class: type[TranslatableError], *arguments: Any) -> TranslatableError:
    error = error_class.__new__(error_class)
    TranslatableError.__init__(error, *arguments)
    return error


class ConfigError(ModelError):
    """A configuration that no model can be built from."""


class CheckpointError(ModelError):
    """A model folder that cannot be loaded or written."""


class MissingPackageError(ModelError, ModuleNotFoundError):
    """A package of the app that is not installed."""


class WriteError(ModelError):
    """A file that cannot be written."""


class TokenizerError(ModelError):
    """A vocabulary that cannot be trained, read or used."""


class RequestError(TranslatableError):
    """A sentence, option or intervention that is invalid."""

    def __init__(self, word: str, *, field: str = "text", **values: Value) -> None:
        super().__init__(word, field, values)

    def at_line(self, line: int) -> RequestError:
        """Return this error with a line number, counted from one."""
        return RequestError("bad_line", field="lines", line=line, reason=str(self))


class CommandError(ModelError):
    """An invalid command-line option, or an invalid line of a file that an option names."""


class ProbeError(ModelError):
    """A pattern that matches no probe, or an edit whose result does not fit its probe."""


class DeviceError(ModelError):
    """A device that does not exist, or is out of memory."""


class TrainingError(ModelError):
    """A corpus that cannot be used, or a training run that cannot continue."""


class NoMemoryError(TranslatableError, DeviceError):
    """A device with too little memory for a request."""

    def __init__(self, detail: str = "") -> None:
        super().__init__("no_memory", "text", {}, detail)


def choice_error(name: str, value: object, choices: Iterable[str]) -> RequestError:
    """Return the error for a value that is not one of the choices."""
    return RequestError("not_choice", field=name, name=name, given=repr_short(value), choices=", ".join(choices))


def range_error(name: str, value: object, low: int, high: int) -> RequestError:
    """Return the error for a value that is not an integer or is out of range."""
    return RequestError("not_whole", field=name, name=name, given=repr_short(value), low=low, high=high)


@contextmanager
def require_packages(user: str) -> Iterator[None]:
    """Raise a `MissingPackageError` if the block imports a missing package. `user` is the feature that needs it."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if isinstance(error, ModelError) or package in ("", "headlight"):  # a bug, or an error with its own advice
            raise
        raise MissingPackageError(
            f"{user} needs {package}, which is not installed. Install the whole app: {INSTALL_APP} (in a checkout: "
            "pip install -r requirements.txt)."
        ) from error


def repr_short(value: Any, max_length: int = 40) -> str:
    """Format a value for an error message: short, on one line, and printable."""
    if isinstance(value, str):
        text = '"' + value[:max_length] + ('"' if len(value) <= max_length else "…")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        # Python refuses to convert an integer of thousands of digits to a string.
        text = repr(value) if isinstance(value, float) or abs(value) < 10**18 else "a huge number"
    elif value is None or isinstance(value, bool):
        text = json.dumps(value)
    else:
        type_names: dict[type, str] = {dict: "an object", list: "a list", tuple: "a tuple"}
        text = type_names.get(type(value), f"a value of type {type(value).__name__}")
    return "".join(character if character.isprintable() else "�" for character in text)
