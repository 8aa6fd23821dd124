"""Checks that the fields of a decoded record have the types of its annotations.

Python does not check annotations, so a record with a wrong type would fail only when the page renders it.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

import numpy as np

Check = Callable[[Any], bool]


def check_fields(kind: type, values: Mapping[str, Any]) -> None:
    """Raise `TypeError` if a value does not have the type of its field."""
    for name, check in _make_field_checks(kind).items():
        if name in values and not check(values[name]):
            raise TypeError(f"{kind.__name__}.{name} is {type(values[name]).__name__}")


@cache
def _make_field_checks(kind: type) -> Mapping[str, Check]:
    return {name: _make_check(hint) for name, hint in get_type_hints(kind).items()}


def _make_check(hint: Any) -> Check:
    """Return a predicate: whether a value has the type of an annotation."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        options = [_make_check(option) for option in arguments]
        return lambda value: any(option(value) for option in options)
    if origin is Literal:
        return lambda value: any(type(value) is type(option) and value == option for option in arguments)
    if origin is np.ndarray:
        (dtype,) = get_args(arguments[1])
        return lambda value: isinstance(value, np.ndarray) and value.dtype == dtype
    if origin is tuple and arguments[-1:] != (...,):
        checks = [_make_check(argument) for argument in arguments]
        return lambda value: (
            type(value) is tuple
            and len(value) == len(checks)
            and all(check(item) for check, item in zip(checks, value, strict=True))
        )
    if origin in (tuple, list, frozenset):
        check_item = _make_check(arguments[0])
        return lambda value: type(value) is origin and all(map(check_item, value))
    if origin is Sequence:
        check_item = _make_check(arguments[0])
        return lambda value: isinstance(value, tuple | list) and all(map(check_item, value))
    if origin in (dict, Mapping):
        check_key, check_item = map(_make_check, arguments)
        return lambda value: (
            isinstance(value, Mapping) and all(map(check_key, value)) and all(check_item(value[key]) for key in value)
        )
    return _make_plain_check(hint)


def _make_plain_check(hint: Any) -> Check:
    if hint is None or hint is type(None):
        return lambda value: value is None
    if hint is float:
        return lambda value: type(value) in (int, float)
    if hint in (bool, int, str):
        return lambda value: type(value) is hint
    if getattr(hint, "_is_protocol", False):  # any record may implement it
        return lambda value: hasattr(type(value), "__dataclass_fields__")
    if isinstance(hint, type) and not is_typeddict(hint):
        return lambda value: isinstance(value, hint)
    return lambda value: True
