"""Controls of an experiment as data, with their ranges. The page has one widget for each kind.

The phrase of a control is `lesson_LESSON_control_NAME`; an option that is neither a number nor plain text has
`…_OPTION`. Controls with the same name share their value across the steps of a lesson. The permalink stores the value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar

from headlight.viz.errors import PageError, repr_short
from headlight.viz.field_values import BoolValue, ChoiceValue, IntValue, TextValue, check_int
from headlight.viz.settings import Settings

MAX_POSITIONS = 400  # items of a `PositionPicker`


@dataclass(frozen=True)
class Control:
    """A control with a name; `start` is its default."""

    widget: ClassVar[str]
    name: str
    # (control, value): visible only while that control has this value
    visible_if: tuple[str, str] | None = field(default=None, kw_only=True)

    def check(self, value: Any, settings: Settings) -> Any:
        """Parse a value from the browser. Invalid values raise a `PageError`."""
        raise NotImplementedError

    def as_json(self) -> dict[str, Any]:
        """Return the JSON for the page."""
        return {"form": self.widget} | asdict(self)


@dataclass(frozen=True)
class Choice(Control):
    """One of several options, as a slider if they have an order, or as a menu if they are many and long."""

    widget = "choice"
    options: tuple[str, ...]
    start: str
    as_slider: bool = False
    as_menu: bool = False

    def check(self, value: Any, settings: Settings) -> str:
        return ChoiceValue(self.options).check(self.name, value, settings)


@dataclass(frozen=True)
class Switch(Control):
    """A switch for true or false."""

    widget = "switch"
    start: bool = False

    def check(self, value: Any, settings: Settings) -> bool:
        return BoolValue().check(self.name, value, settings)


@dataclass(frozen=True)
class Slider(Control):
    """An integer in a range."""

    widget = "slider"
    low: int
    high: int
    start: int
    step: int = 1

    def check(self, value: Any, settings: Settings) -> int:
        return int(IntValue(self.low, self.high).check(self.name, value, settings) or 0)


@dataclass(frozen=True)
class Button(Control):
    """The number of presses of a button: a seed, or a count that its phrase names `{value}`."""

    widget = "button"
    max_presses: int = 99
    start: int = 0

    def check(self, value: Any, settings: Settings) -> int:
        return int(IntValue(0, self.max_presses).check(self.name, value, settings) or 0)


@dataclass(frozen=True)
class PositionPicker(Control):
    """A selection of displayed words, by index. `ExperimentResult.position_labels` contains the words."""

    widget = "places"
    max_selected: int = MAX_POSITIONS
    start: tuple[int, ...] = ()
    adds_selected: bool = False  # insert the selected items; if False, strike them out

    def check(self, value: Any, settings: Settings) -> tuple[int, ...]:
        if not isinstance(value, list) or len(value) > self.max_selected:
            raise PageError(self.name, "wrong_field", {"name": f"{self.name} ({repr_short(value)})"})
        return tuple(sorted({check_int(self.name, position, low=0, high=MAX_POSITIONS - 1) for position in value}))


@dataclass(frozen=True)
class TextInput(Control):
    """A text that the visitor types. It is short because the permalink contains it."""

    widget = "text"
    max_length: int = 160
    start: str = ""

    def check(self, value: Any, settings: Settings) -> str:
        return TextValue(self.max_length).check(self.name, value, settings)


def check_controls(controls: tuple[Control, ...], value: Any, settings: Settings) -> dict[str, Any]:
    """Validate the values of all controls. Missing values are set to their defaults."""
    if value is not None and not isinstance(value, Mapping):
        raise PageError("set", "not_names", {"given": repr_short(value), "example": '{"heads": "8"}'})
    value = value or {}
    unknown = sorted(set(value) - {control.name for control in controls})
    if unknown:
        raise PageError("set", "unknown_name", {"given": repr_short(unknown[0]), "choices": _join_names(controls)})
    return {
        control.name: control.check(value[control.name], settings)
        if control.name in value
        else _get_default_value(control)
        for control in controls
    }


def _join_names(controls: tuple[Control, ...]) -> str:
    return ", ".join(control.name for control in controls)


def _get_default_value(control: Control) -> Any:
    return next(
        getattr(control, control_field.name) for control_field in fields(control) if control_field.name == "start"
    )
