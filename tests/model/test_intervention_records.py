"""Interventions as data: validation of browser values, and a roundtrip to frozen records."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headlight.model.errors import RequestError
from headlight.model.intervention_records import (
    CHANGES,
    RECORD_BY_ACTION,
    BorrowMap,
    Change,
    CopyHead,
    InputChange,
    Intervention,
    PositionChange,
    SetWeight,
    ZeroPart,
    change_to_dict,
    parse_change,
)

EACH: tuple[Change, ...] = (
    Intervention(kind="cross", layer=0, head=3, action="remove"),
    Intervention(kind="cross", layer=None, head=None, action="temperature", amount=4.0),
    Intervention(kind="encoder", layer=2, head=None, action="scale", amount=0.5),
    SetWeight(kind="cross", layer=0, head=3, row=2, column=5, amount=0.25),
    CopyHead(kind="decoder", layer=2, head=0, from_layer=1, from_head=7),
    BorrowMap(kind="encoder", layer=0, head=None, text="Guten Tag."),
    ZeroPart(side="decoder", layer=1, part="residual"),
    PositionChange(side="encoder", action="no_positions"),
    PositionChange(side="decoder", action="shift", amount=-3),
    InputChange(action="mask", start=4, end=8),
    InputChange(action="swap", start=4, end=8, text="Kater"),
)


@pytest.mark.parametrize("change", EACH, ids=str)
def test_change_roundtrips_through_values(change: Change) -> None:
    sent = json.loads(json.dumps(change_to_dict(change)))
    assert parse_change(sent) == change
    assert hash(parse_change(sent)) == hash(change)


def test_every_record_and_action_is_tested() -> None:
    assert {type(change) for change in EACH} == set(CHANGES)
    for action, record in RECORD_BY_ACTION.items():
        assert record in CHANGES, action


def test_missing_fields_have_defaults() -> None:
    change = parse_change({"action": "remove", "kind": "cross"})
    assert change == Intervention(kind="cross", layer=None, head=None, action="remove")
    assert parse_change({"action": "remove", "kind": "cross", "layer": 1.0}) == Intervention(
        kind="cross", layer=1, head=None, action="remove"
    )
    assert change_to_dict(change) == {"kind": "cross", "action": "remove"}


@pytest.mark.parametrize(
    ("values", "word"),
    [
        (5, "wrong_type"),
        ({}, "not_choice"),
        ({"action": ["remove"]}, "not_choice"),
        ({"action": "explode"}, "not_choice"),
        ({"action": "remove"}, "missing"),
        ({"action": "remove", "kind": "all"}, "not_choice"),
        ({"action": "remove", "kind": {}}, "not_choice"),
        ({"action": "remove", "kind": "cross", "layer": -1}, "not_whole"),
        ({"action": "remove", "kind": "cross", "layer": True}, "not_whole"),
        ({"action": "remove", "kind": "cross", "row": 1}, "unknown_name"),
        ({"action": "temperature", "kind": "cross", "amount": 0}, "not_number"),
        ({"action": "scale", "kind": "cross", "amount": 1e9}, "not_number"),
        ({"action": "scale", "kind": "cross", "amount": "much"}, "not_number"),
        ({"action": "drag", "kind": "cross", "layer": 0, "head": 0, "row": 1, "column": 1}, "missing"),
        (
            {"action": "drag", "kind": "decoder", "layer": 0, "head": 0, "row": 1, "column": 2, "amount": 0.5},
            "not_whole",
        ),
        (
            {"action": "drag", "kind": "decoder", "layer": 0, "head": 0, "row": 0, "column": 0, "amount": 0.5},
            "not_whole",
        ),
        ({"action": "copy", "kind": "cross", "layer": 0, "head": 0, "from_layer": 1, "from_head": 0}, "not_whole"),
        ({"action": "borrow", "kind": "cross", "layer": 0, "text": 5}, "not_text"),
        ({"action": "zero", "side": "cross", "layer": 0, "part": "residual"}, "not_choice"),
        ({"action": "zero", "side": "encoder", "layer": 0, "part": "all"}, "not_choice"),
        ({"action": "shuffle", "side": "encoder", "amount": -1}, "not_whole"),
        ({"action": "mask", "start": 4, "end": 4}, "not_whole"),
        ({"action": "mask", "start": "4", "end": 5}, "not_whole"),
    ],
)
def test_invalid_change_raises(values: Any, word: str) -> None:
    with pytest.raises(RequestError) as error_info:
        parse_change(values)
    assert error_info.value.word == word


def test_layer_must_be_a_whole_number() -> None:
    for number in (float("inf"), 1e300, -0.5):
        with pytest.raises(RequestError):
            parse_change({"action": "remove", "kind": "cross", "layer": number})
