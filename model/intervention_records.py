"""Frozen records of the interventions in a request, a link or an API call.

`model/core/interventions.py` applies changes of heads, layers and positions. An `InputChange` changes the sentence
itself (`model/translate/input_changes.py`). `parse_change` converts the names and values of JSON to a record, whose
class depends on `action`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from headlight.model.errors import RequestError, choice_error, range_error, repr_short

Kind = Literal["encoder", "decoder", "cross"]
KINDS: tuple[Kind, ...] = ("encoder", "decoder", "cross")
Side = Literal["encoder", "decoder"]
SIDES: tuple[Side, ...] = ("encoder", "decoder")
Action = Literal["remove", "uniform", "scale", "temperature", "previous", "next", "same"]
ACTIONS: tuple[Action, ...] = ("remove", "uniform", "scale", "temperature", "previous", "next", "same")
MAX_INTERVENTIONS = 2000  # per request: enough to remove 1152 heads (72 attention layers of 16 heads)
MAX_ROW_INTERVENTIONS = 400  # per request: changes that recompute the weights of a head
MAX_INDEX = 10_000  # highest layer, head, row or column


@dataclass(frozen=True, kw_only=True)
class Intervention:
    """A change to the attention of one head or of all heads.

    `remove`: all weights are zero. `uniform`: all keys have equal weights. `scale`: all weights are multiplied by
    `amount`. `temperature`: the scores are divided by `amount`, so rows are flatter above one and sharper below.
    `previous`, `next`, `same`: all weight is on the token before, the token after, or the same position. If that key is
    masked, the row attends to its own position; if that is masked as well, to all keys equally.
    """

    kind: Kind
    layer: int | None  # None: all layers
    head: int | None  # None: all heads of the layer
    action: Action
    amount: float = 1.0  # the factor of "scale", the temperature of "temperature"

    def __post_init__(self) -> None:
        _check_choice(self, "kind", KINDS)
        _check_choice(self, "action", ACTIONS)
        if self.layer is not None:
            check_int(self, "layer", 0, MAX_INDEX)
        if self.head is not None:
            check_int(self, "head", 0, MAX_INDEX)
        check_float(self, "amount", 0.01 if self.action == "temperature" else 0.0, 100.0)


@dataclass(frozen=True, kw_only=True)
class SetWeight:
    """An attention weight set to `amount`. The other weights of the row are rescaled."""

    kind: Kind
    layer: int
    head: int
    row: int  # token index from 0: the query in the encoder, else the token being written
    column: int
    amount: float
    action: Literal["drag"] = "drag"

    def __post_init__(self) -> None:
        _check_choice(self, "kind", KINDS)
        _check_choice(self, "action", ("drag",))
        for name in ("layer", "head", "row", "column"):
            check_int(self, name, 0, MAX_INDEX)
        check_float(self, "amount", 0.0, 1.0)
        if self.kind == "decoder":
            check_int(self, "row", 1, MAX_INDEX)  # the first row has a single key, whose weight is always one
            check_int(self, "column", 0, self.row)  # later tokens are not generated yet


@dataclass(frozen=True, kw_only=True)
class CopyHead:
    """A head that uses the weights of another head of its kind, in the same or an earlier layer."""

    kind: Kind
    layer: int
    head: int
    from_layer: int
    from_head: int
    action: Literal["copy"] = "copy"

    def __post_init__(self) -> None:
        _check_choice(self, "kind", KINDS)
        _check_choice(self, "action", ("copy",))
        for name in ("layer", "head", "from_head"):
            check_int(self, name, 0, MAX_INDEX)
        check_int(self, "from_layer", 0, self.layer)  # later layers have not run yet


@dataclass(frozen=True, kw_only=True)
class BorrowMap:
    """A head's map replaced by its map for another sentence.

    Rows beyond the other sentence keep their weights, columns beyond it get zero, and each row still sums to one.
    """

    kind: Kind
    layer: int
    head: int | None  # None: all heads of the layer
    text: str
    action: Literal["borrow"] = "borrow"

    def __post_init__(self) -> None:
        _check_choice(self, "kind", KINDS)
        _check_choice(self, "action", ("borrow",))
        check_int(self, "layer", 0, MAX_INDEX)
        if self.head is not None:
            check_int(self, "head", 0, MAX_INDEX)
        _check_text(self, "text")


@dataclass(frozen=True, kw_only=True)
class ZeroPart:
    """Removal of a layer's feed-forward network or residual connections."""

    side: Side
    layer: int
    part: Literal["feed_forward", "residual"]
    action: Literal["zero"] = "zero"

    def __post_init__(self) -> None:
        _check_choice(self, "side", SIDES)
        _check_choice(self, "part", ("feed_forward", "residual"))
        _check_choice(self, "action", ("zero",))
        check_int(self, "layer", 0, MAX_INDEX)


@dataclass(frozen=True, kw_only=True)
class PositionChange:
    """A change of the position indices of the encoder or the decoder.

    `no_positions`: tokens have no position, so their order is lost. `shuffle`: each run of eight positions is permuted,
    with the seed `amount`. `shift`: `amount` is added to each position, which stays at least 0.
    """

    side: Side
    action: Literal["no_positions", "shuffle", "shift"]
    amount: int = 0

    def __post_init__(self) -> None:
        _check_choice(self, "side", SIDES)
        _check_choice(self, "action", ("no_positions", "shuffle", "shift"))
        check_int(self, "amount", -MAX_INDEX if self.action == "shift" else 0, MAX_INDEX)


@dataclass(frozen=True, kw_only=True)
class InputChange:
    """A span of the sentence that is hidden from all attention (`mask`), removed (`erase`) or replaced (`swap`)."""

    action: Literal["mask", "erase", "swap"]
    start: int  # in characters of the sentence as the model reads it
    end: int
    text: str = ""  # the replacement

    def __post_init__(self) -> None:
        _check_choice(self, "action", ("mask", "erase", "swap"))
        check_int(self, "start", 0, 10**6)
        check_int(self, "end", self.start + 1, 10**6 + 1)
        _check_text(self, "text")


Change = Intervention | SetWeight | CopyHead | BorrowMap | ZeroPart | PositionChange | InputChange
CHANGES: tuple[type[Change], ...] = (
    Intervention,
    SetWeight,
    CopyHead,
    BorrowMap,
    ZeroPart,
    PositionChange,
    InputChange,
)
RECORD_BY_ACTION: dict[str, type[Change]] = {
    **dict.fromkeys(ACTIONS, Intervention),
    "drag": SetWeight,
    "copy": CopyHead,
    "borrow": BorrowMap,
    "zero": ZeroPart,
    **dict.fromkeys(("no_positions", "shuffle", "shift"), PositionChange),
    **dict.fromkeys(("mask", "erase", "swap"), InputChange),
}


def parse_change(values: Any) -> Change:
    """Convert names and values to a record and check every value; `layer` and `head` may be null."""
    if not isinstance(values, Mapping):
        raise RequestError(
            "wrong_type", field="interventions", name="interventions", given=repr_short(values), needed="[{…}]"
        )
    action = values.get("action")
    if not isinstance(action, str) or action not in RECORD_BY_ACTION:
        raise choice_error("action", action, RECORD_BY_ACTION)
    record = RECORD_BY_ACTION[action]
    record_fields = {field.name: field for field in fields(record)}
    for name in values:
        if name not in record_fields:
            raise RequestError(
                "unknown_name", field="interventions", given=repr_short(name), choices=", ".join(record_fields)
            )
    arguments = {name: _normalise_number(value) for name, value in values.items()}
    if record is Intervention:
        arguments = {"layer": None, "head": None} | arguments
    if record is BorrowMap:
        arguments = {"head": None} | arguments
    for name, field in record_fields.items():
        if name not in arguments and field.default is field.default_factory:  # both are MISSING
            raise RequestError("missing", field="interventions", name=name)
    change: Change = record(**arguments)
    return change


def change_to_dict(change: Change) -> dict[str, Any]:
    """Return a change as names and values, without fields that have their default."""
    return {
        field.name: getattr(change, field.name)
        for field in fields(change)
        if field.name == "action" or getattr(change, field.name) not in (None, field.default)
    }


def _normalise_number(value: Any) -> Any:
    """Convert whole floats to integers, because JavaScript has a single number type."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 10**15 else value


def check_int(record: object, name: str, low: int, high: int) -> None:
    """Raise a `RequestError` unless the field is an integer from `low` to `high`."""
    value = getattr(record, name)
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise range_error(name, value, low, high)


def check_float(record: object, name: str, low: float, high: float) -> None:
    """Raise a `RequestError` unless the field is a number from `low` to `high`."""
    value = getattr(record, name)
    if not isinstance(value, int | float) or isinstance(value, bool) or not low <= value <= high:
        raise RequestError("not_number", field=name, name=name, given=repr_short(value), low=low, high=high)


def _check_choice(record: object, name: str, choices: tuple[str, ...]) -> None:
    value = getattr(record, name)
    if not isinstance(value, str) or value not in choices:
        raise choice_error(name, value, choices)


def _check_text(record: object, name: str) -> None:
    value = getattr(record, name)
    if not isinstance(value, str):
        raise RequestError("not_text", field=name, name=name, given=repr_short(value))
