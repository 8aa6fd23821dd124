"""Controls of an experiment as data, with their ranges. The page renders each kind in the same way.

Their phrases are `lesson_LESSON_control_NAME`, and of an option that is no number or plain text `…_OPTION`. Controls of
one name in several steps of a lesson share what is set. The address holds it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar

from headlight.viz.errors import PageError, repr_short
from headlight.viz.field_values import BoolValue as OnOff
from headlight.viz.field_values import ChoiceValue as OneOf
from headlight.viz.field_values import IntValue, check_int
from headlight.viz.field_values import TextValue as AnyText
from headlight.viz.settings import Settings

MAX_POSITIONS = 400  # current values


@dataclass(frozen=True)
class Control:
    """A control by name; `start` is its default."""

    widget: ClassVar[str]
    name: str
    visible_if: tuple[str, str] | None = field(default=None, kw_only=True)  # there only while another one holds this

    def check(self, value: Any, settings: Settings) -> Any:
        """Parse a value from the browser. Invalid values raise a `PageError`."""
        raise NotImplementedError

    def as_json(self) -> dict[str, Any]:
        """As the page reads it."""
        return {"form": self.widget} | asdict(self)


@dataclass(frozen=True)
class Choice(Control):
    """One of a few names; `slides`: along a line, for what has an order; `menu`: for many long ones."""

    widget = "choice"
    options: tuple[str, ...]
    start: str
    as_slider: bool = False
    as_menu: bool = False

    def check(self, value: Any, settings: Settings) -> str:
        return OneOf(self.options).check(self.name, value, settings)


@dataclass(frozen=True)
class Switch(Control):
    """On or off."""

    widget = "switch"
    start: bool = False

    def check(self, value: Any, settings: Settings) -> bool:
        return OnOff().check(self.name, value, settings)


@dataclass(frozen=True)
class Slider(Control):
    """A whole number of a range."""

    widget = "slider"
    low: int
    high: int
    start: int
    step: int = 1

    def check(self, value: Any, settings: Settings) -> int:
        return int(IntValue(self.low, self.high).check(self.name, value, settings) or 0)


@dataclass(frozen=True)
class Button(Control):
    """How often a button was pressed: a seed, or a count of tries, which its phrase names `{value}`."""

    widget = "button"
    max_presses: int = 99
    start: int = 0

    def check(self, value: Any, settings: Settings) -> int:
        return int(IntValue(0, self.max_presses).check(self.name, value, settings) or 0)


@dataclass(frozen=True)
class PositionPicker(Control):
    """Some of the words that the experiment has on show, by their places; `Found.shown` names them."""

    widget = "places"
    max_selected: int = MAX_POSITIONS
    start: tuple[int, ...] = ()
    adds_selected: bool = False  # the chosen items are inserted; else they are struck out

    def check(self, value: Any, settings: Settings) -> tuple[int, ...]:
        if not isinstance(value, list) or len(value) > self.max_selected:
            raise PageError(self.name, "wrong_field", {"name": f"{self.name} ({repr_short(value)})"})
        return tuple(sorted({check_int(self.name, each, low=0, high=MAX_POSITIONS - 1) for each in value}))


@dataclass(frozen=True)
class TextInput(Control):
    """A text of the visitor's own. It stands in the address, so it is short."""

    widget = "text"
    max_length: int = 160
    start: str = ""

    def check(self, value: Any, settings: Settings) -> str:
        return AnyText(self.max_length).check(self.name, value, settings)


def check_controls(controls: tuple[Control, ...], value: Any, settings: Settings) -> dict[str, Any]:
    """Values of all controls; missing ones have their default."""
    if value is not None and not isinstance(value, Mapping):
        raise PageError("set", "not_names", {"given": repr_short(value), "example": '{"heads": "8"}'})
    value = value or {}
    unknown = sorted(set(value) - {control.name for control in controls})
    if unknown:
        raise PageError("set", "unknown_name", {"given": repr_short(unknown[0]), "choices": _names(controls)})
    return {
        control.name: control.check(value[control.name], settings) if control.name in value else _start(control)
        for control in controls
    }


def _names(controls: tuple[Control, ...]) -> str:
    return ", ".join(control.name for control in controls)


def _start(control: Control) -> Any:
    return next(getattr(control, each.name) for each in fields(control) if each.name == "start")
