"""Controls of an experiment as data, with their ranges. The page renders each kind in the same way.

Their phrases are `lesson_LESSON_control_NAME`, and of an option that is no number or plain text `…_OPTION`. Controls of
one name in several steps of a lesson share what is set. The address holds it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar

from headlight.viz.errors import PageError, shown
from headlight.viz.settings import Settings
from headlight.viz.values import Choice as OneOf
from headlight.viz.values import Switch as OnOff
from headlight.viz.values import Text as AnyText
from headlight.viz.values import Whole, check_whole

MOST_PLACES = 400  # current values


@dataclass(frozen=True)
class Control:
    """A control by name; `start` is its default."""

    form: ClassVar[str]
    name: str
    when: tuple[str, str] | None = field(default=None, kw_only=True)  # there only while another one holds this

    def check(self, value: Any, settings: Settings) -> Any:
        """Parse a value from the browser. Invalid values raise a `PageError`."""
        raise NotImplementedError

    def as_json(self) -> dict[str, Any]:
        """As the page reads it."""
        return {"form": self.form} | asdict(self)


@dataclass(frozen=True)
class Choice(Control):
    """One of a few names; `slides`: along a line, for what has an order; `menu`: for many long ones."""

    form = "choice"
    options: tuple[str, ...]
    start: str
    slides: bool = False
    menu: bool = False

    def check(self, value: Any, settings: Settings) -> str:
        return OneOf(self.options).check(self.name, value, settings)


@dataclass(frozen=True)
class Switch(Control):
    """On or off."""

    form = "switch"
    start: bool = False

    def check(self, value: Any, settings: Settings) -> bool:
        return OnOff().check(self.name, value, settings)


@dataclass(frozen=True)
class Slider(Control):
    """A whole number of a range."""

    form = "slider"
    low: int
    high: int
    start: int
    step: int = 1

    def check(self, value: Any, settings: Settings) -> int:
        return int(Whole(self.low, self.high).check(self.name, value, settings) or 0)


@dataclass(frozen=True)
class Button(Control):
    """How often a button was pressed: a seed, or a count of tries, which its phrase names `{value}`."""

    form = "button"
    most: int = 99
    start: int = 0

    def check(self, value: Any, settings: Settings) -> int:
        return int(Whole(0, self.most).check(self.name, value, settings) or 0)


@dataclass(frozen=True)
class Places(Control):
    """Some of the words that the experiment has on show, by their places; `Found.shown` names them."""

    form = "places"
    most: int = MOST_PLACES
    start: tuple[int, ...] = ()
    adds: bool = False  # the chosen items are inserted; else they are struck out

    def check(self, value: Any, settings: Settings) -> tuple[int, ...]:
        if not isinstance(value, list) or len(value) > self.most:
            raise PageError(self.name, "wrong_field", {"name": f"{self.name} ({shown(value)})"})
        return tuple(sorted({check_whole(self.name, each, low=0, high=MOST_PLACES - 1) for each in value}))


@dataclass(frozen=True)
class Text(Control):
    """A text of the visitor's own. It stands in the address, so it is short."""

    form = "text"
    longest: int = 160
    start: str = ""

    def check(self, value: Any, settings: Settings) -> str:
        return AnyText(self.longest).check(self.name, value, settings)


def checked(controls: tuple[Control, ...], given: Any, settings: Settings) -> dict[str, Any]:
    """Values of all controls; missing ones have their default."""
    if given is not None and not isinstance(given, Mapping):
        raise PageError("set", "not_names", {"given": shown(given), "example": '{"heads": "8"}'})
    given = given or {}
    unknown = sorted(set(given) - {control.name for control in controls})
    if unknown:
        raise PageError("set", "unknown_name", {"given": shown(unknown[0]), "choices": _names(controls)})
    return {
        control.name: control.check(given[control.name], settings) if control.name in given else _start(control)
        for control in controls
    }


def _names(controls: tuple[Control, ...]) -> str:
    return ", ".join(control.name for control in controls)


def _start(control: Control) -> Any:
    return next(getattr(control, each.name) for each in fields(control) if each.name == "start")
