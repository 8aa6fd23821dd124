"""Value types of request fields. Each type validates input and has a JSON form for the browser.

A limit is a number, or the name of the setting that contains it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from headlight.model.errors import ModelError
from headlight.model.intervention_records import MAX_INTERVENTIONS, BorrowMap, Change, InputChange, parse_change
from headlight.viz.errors import PageError, repr_short, to_page_error
from headlight.viz.settings import Settings

MAX_INDEX = 1000  # limit on layers and heads, above that of any model; the page clamps indices to those of the model
MAX_TOKEN_ID = 10_000_000  # larger than any vocabulary


@dataclass(frozen=True)
class ValueKind:
    """Base class of value types."""

    name: ClassVar[str]  # name in the browser
    annotation: ClassVar[Any]  # type in an endpoint's signature

    def check(self, name: str, value: Any, settings: Settings) -> Any:
        """Validate and convert a value. Raises `PageError` for a wrong type or a value out of range."""
        raise NotImplementedError

    def as_json(self, settings: Settings | None = None) -> dict[str, Any]:
        """Return the type and its limits. Without settings, limits that depend on settings are omitted."""
        limits = {name: value for name, value in asdict(self).items() if not isinstance(value, str)}
        return {"kind": self.name} | limits


def _limit(limit: int | str, settings: Settings) -> int:
    return limit if isinstance(limit, int) else int(getattr(settings, limit))


@dataclass(frozen=True)
class TextValue(ValueKind):
    """A text with a maximum length."""

    name, annotation = "text", str
    longest: int | str

    def check(self, name: str, value: Any, settings: Settings) -> str:
        return check_text(name, value, limit=_limit(self.longest, settings))


@dataclass(frozen=True)
class TextsValue(ValueKind):
    """A list of texts. Each is checked where it is used, so that one wrong text does not stop the others."""

    name, annotation = "texts", list[str]
    most: int  # maximum number of texts
    factor: int  # maximum characters of all texts together, as a multiple of the maximum of one text

    def check(self, name: str, value: Any, settings: Settings) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple):
            raise PageError(name, "wrong_type", {"name": name, "given": repr_short(value), "needed": '["…"]'})
        if len(value) > self.most:
            raise PageError(name, "too_many_values", {"limit": self.most, "choices": name, "given": len(value)})
        limit = self.factor * settings.max_characters
        if (length := sum(len(text) for text in value if isinstance(text, str))) > limit:
            raise PageError(name, "too_long", {"name": name, "given": length, "limit": limit})
        return tuple(value)


@dataclass(frozen=True)
class TextOrIdsValue(ValueKind):
    """A translation or its prefix, as text or token ids. An empty field gives `None`."""

    name, annotation = "words", str

    def check(self, name: str, value: Any, settings: Settings) -> str | tuple[int, ...] | None:
        if isinstance(value, list | tuple):
            if len(value) > settings.max_tokens:
                raise PageError(
                    name, "too_many_tokens", {"name": name, "given": len(value), "limit": settings.max_tokens}
                )
            return tuple(_check_token_id(name, token) for token in value) or None
        if value is None:
            return None
        if not isinstance(value, str):
            raise PageError(name, "not_words", {"name": name, "given": repr_short(value)})
        return check_text(name, value, limit=settings.max_characters) or None


@dataclass(frozen=True)
class IntValue(ValueKind):
    """An integer in a range. `setting` names a setting that may lower the maximum. `empty` allows null."""

    name, annotation = "whole", int
    low: int
    high: int
    setting: str = ""
    empty: bool = False

    def check(self, name: str, value: Any, settings: Settings) -> int | None:
        if self.empty and value is None:
            return None
        return check_int(name, value, low=self.low, high=self._highest(settings))

    def as_json(self, settings: Settings | None = None) -> dict[str, Any]:
        return super().as_json() | {"high": self.high if settings is None else self._highest(settings)}

    def _highest(self, settings: Settings) -> int:
        return min(self.high, _limit(self.setting, settings)) if self.setting else self.high


@dataclass(frozen=True)
class FloatValue(ValueKind):
    """A number in a range; `step` is the increment of the page's control."""

    name, annotation = "real", float
    low: float
    high: float
    step: float = 0.1

    def check(self, name: str, value: Any, settings: Settings) -> float:
        # NaN fails here as well, because all its comparisons are false.
        if isinstance(value, bool) or not isinstance(value, int | float) or not self.low <= value <= self.high:
            raise PageError(
                name, "not_number", {"name": name, "low": self.low, "high": self.high, "given": repr_short(value)}
            )
        return float(value)


@dataclass(frozen=True)
class BoolValue(ValueKind):
    """True or false. Other values, such as 0 and 1, are rejected."""

    name, annotation = "switch", bool

    def check(self, name: str, value: Any, settings: Settings) -> bool:
        return check_bool(name, value)


@dataclass(frozen=True)
class ChoiceValue(ValueKind):
    """One of several names."""

    name, annotation = "choice", str
    choices: tuple[str, ...]

    def check(self, name: str, value: Any, settings: Settings) -> str:
        return check_choice(name, value, choices=self.choices)


@dataclass(frozen=True)
class LayerValue(ValueKind):
    """A layer index from 0, or the mean of all layers."""

    name, annotation = "place", int
    merged: tuple[str, ...] = ("mean",)  # names of reductions, accepted in place of an index
    high: int = MAX_INDEX - 1  # last index

    def check(self, name: str, value: Any, settings: Settings) -> Any:
        return check_index(name, value, count=self.high + 1, merged=self.merged)


@dataclass(frozen=True)
class HeadValue(LayerValue):
    """A head index from 0, or the mean or maximum over the heads of a layer."""

    annotation = int | str
    merged: tuple[str, ...] = ("mean", "max")


@dataclass(frozen=True)
class HeadIdValue(ValueKind):
    """A layer and a head; null if no head is selected."""

    name, annotation = "head", str
    layer: LayerValue = LayerValue()
    head: HeadValue = HeadValue()

    def check(self, name: str, value: Any, settings: Settings) -> tuple[Any, Any] | None:
        if value is None:
            return None
        if not isinstance(value, list | tuple) or len(value) != 2:
            raise PageError(
                name, "not_choice", {"name": name, "choices": "[layer, head], null", "given": repr_short(value)}
            )
        return self.layer.check(name, value[0], settings), self.head.check(name, value[1], settings)


@dataclass(frozen=True)
class RivalValue(ValueKind):
    """A target position and the token ID that competes there, `[position, token ID]`.

    The ID is null if the token is scored without a rival. Null in place of the pair means the page's default.
    """

    name, annotation = "rival", str
    high: int  # last position

    def check(self, name: str, value: Any, settings: Settings) -> tuple[int, int | None] | None:
        if value is None:
            return None
        if not isinstance(value, list | tuple) or len(value) != 2:
            raise PageError(
                name, "not_choice", {"name": name, "choices": "[position, token ID], null", "given": repr_short(value)}
            )
        position, token_id = value
        position = check_int(name, position, low=0, high=self.high)
        return position, None if token_id is None else _check_token_id(name, token_id)


@dataclass(frozen=True)
class InterventionsValue(ValueKind):
    """A validated list of interventions on heads, layers, positions and words."""

    name, annotation = "changes", list[dict[str, Any]]
    most: int = MAX_INTERVENTIONS

    def check(self, name: str, value: Any, settings: Settings) -> tuple[Change, ...]:
        if value is None:
            return ()
        if not isinstance(value, list | tuple):
            raise PageError(name, "wrong_type", {"name": name, "given": repr_short(value), "needed": "[{…}]"})
        if len(value) > self.most:
            raise PageError(name, "too_many_changes", {"given": len(value), "limit": self.most})
        try:
            changes = tuple(parse_change(item) for item in value)
        except ModelError as error:
            page_error = to_page_error(error)
            raise PageError(name, page_error.word, page_error.values) from error
        for change in changes:
            if isinstance(change, InputChange | BorrowMap):
                check_text(name, change.text, limit=settings.max_characters)
        input_length = sum(len(change.text) for change in changes if isinstance(change, InputChange))
        if input_length > settings.max_characters:
            raise PageError(name, "too_long", {"name": name, "given": input_length, "limit": settings.max_characters})
        return changes


# ---------------------------------------------------------------- checks of one value, also called without a field


def check_text(name: str, value: Any, *, limit: int) -> str:
    """Validate a text: at most `limit` characters, no lone surrogates."""
    if not isinstance(value, str):
        raise PageError(name, "not_text", {"name": name, "given": repr_short(value)})
    if len(value) > limit:
        raise PageError(name, "too_long", {"name": name, "given": len(value), "limit": limit})
    for index, character in enumerate(value):
        if "\ud800" <= character <= "\udfff":
            raise PageError(name, "half_character", {"name": name, "place": index + 1})
    return value


def check_int(name: str, value: Any, *, low: int, high: int) -> int:
    """Validate an integer. 2.0 is accepted, because JavaScript has one number type."""
    is_integer = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if isinstance(value, bool) or not is_integer or not low <= value <= high:
        raise PageError(name, "not_whole", {"name": name, "low": low, "high": high, "given": repr_short(value)})
    return int(value)


def check_head(values: Mapping[str, Any], layers: int, heads: int) -> tuple[int, int]:
    """Validate the fields `layer` and `head` of a call. Both count from 0."""
    layer = check_int("layer", values.get("layer"), low=0, high=layers - 1)
    return layer, check_int("head", values.get("head"), low=0, high=heads - 1)


def check_choice(name: str, value: Any, *, choices: tuple[str, ...]) -> str:
    """Validate one of several names."""
    if not isinstance(value, str) or value not in choices:
        raise PageError(name, "not_choice", {"name": name, "choices": ", ".join(choices), "given": repr_short(value)})
    return value


def check_bool(name: str, value: Any) -> bool:
    """Validate a boolean."""
    if not isinstance(value, bool):
        raise PageError(name, "not_switch", {"name": name, "given": repr_short(value)})
    return value


def check_index(name: str, value: Any, *, count: int, merged: Sequence[str] = ()) -> Any:
    """Validate a layer or head index from 0, or the name of a reduction."""
    if isinstance(value, str) and value in merged:
        return value
    try:
        return check_int(name, value, low=0, high=count - 1)
    except PageError as error:
        if not merged:
            raise
        choices = ", ".join((f"0 to {count - 1}", *merged))
        raise PageError(name, "not_choice", {"name": name, "choices": choices, "given": repr_short(value)}) from error


def _check_token_id(name: str, value: Any) -> int:
    """Validate a token id. Visitors do not enter ids as numbers, so the error omits the limits."""
    try:
        return check_int(name, value, low=0, high=MAX_TOKEN_ID)
    except PageError as error:
        raise PageError(name, "wrong_ids", {"name": name}) from error
