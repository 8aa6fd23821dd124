"""A translation as bytes and back: records as JSON with the names of their classes, arrays behind them as they are.

Only the classes of `CLASSES` are made from such bytes, whatever they say; no code is run. A model's rule of reliability
stays at home: who unpacks gives their own.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from headlight.model import changes, records
from headlight.model.records import ReliabilityRule, Translation

FORMAT = 1  # another number: older bytes are of no use
_RECORD, _ARRAY, _MAP = "@", "#", "%"
_KINDS = ("float16", "float32", "float64", "int32", "int64", "bool")
CLASSES: Mapping[str, type] = MappingProxyType(
    {
        name: found
        for module in (records, changes)
        for name, found in vars(module).items()
        if isinstance(found, type) and dataclasses.is_dataclass(found)
    }
    | {"Span": records.Span}
)


class PackedError(ValueError):
    """Bytes that hold no translation of this format."""


def pack(translation: Translation) -> bytes:
    """All of it but its rule."""
    arrays: list[np.ndarray[Any, Any]] = []
    fields = {field.name: getattr(translation, field.name) for field in dataclasses.fields(translation)}
    fields["rule"] = None
    told = {name: _told(value, arrays) for name, value in fields.items()}
    shapes = [[array.dtype.name, array.shape] for array in arrays]
    head = json.dumps({"format": FORMAT, "fields": told, "arrays": shapes}, separators=(",", ":")).encode()
    return b"".join(
        [len(head).to_bytes(8, "little"), head, *(np.ascontiguousarray(array).tobytes() for array in arrays)]
    )


def unpack(given: bytes, rule: ReliabilityRule | None) -> Translation:
    """The translation, its arrays read-only; a `PackedError` where the bytes hold none."""
    try:
        length = int.from_bytes(given[:8], "little")
        head = json.loads(given[8 : 8 + length])
        if head["format"] != FORMAT:
            raise PackedError(f"format {head['format']!r}")
        arrays, start = [], 8 + length
        for kind, shape in head["arrays"]:
            if kind not in _KINDS:
                raise PackedError(f"an array of {kind!r}")
            count = int(np.prod(shape, dtype=np.int64))
            arrays.append(np.frombuffer(given, kind, count, start).reshape(shape))  # of bytes, so read-only
            start += arrays[-1].nbytes
        fields = {name: _made(value, arrays) for name, value in head["fields"].items()}
        return Translation(**fields | {"rule": rule})
    except PackedError:
        raise
    except Exception as error:  # whatever is wrong with them
        raise PackedError(str(error)) from error


def told(record: Any) -> str:
    """A record without arrays as text: equal records have equal texts, in every process."""
    return json.dumps(_told(record, []), ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _told(value: Any, arrays: list[np.ndarray[Any, Any]]) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, np.ndarray) and value.dtype.name in _KINDS:
        arrays.append(value)
        return {_ARRAY: len(arrays) - 1}
    if isinstance(value, Mapping):
        return {_MAP: [[_told(name, arrays), _told(each, arrays)] for name, each in value.items()]}
    kind = type(value)
    name = kind.__name__
    known: Any = CLASSES.get(name)
    if known is kind:
        values = [getattr(value, each.name) for each in dataclasses.fields(known)] if name != "Span" else value
        return {_RECORD: [name, *(_told(each, arrays) for each in values)]}
    if kind is tuple:
        return [_told(each, arrays) for each in value]
    raise PackedError(f"{kind} is no part of a translation")


def _made(value: Any, arrays: list[np.ndarray[Any, Any]]) -> Any:
    if isinstance(value, list):
        return tuple(_made(each, arrays) for each in value)
    if not isinstance(value, dict):
        return value
    ((mark, inside),) = value.items()
    if mark == _ARRAY:
        return arrays[inside]
    if mark == _MAP:
        return MappingProxyType({_made(name, arrays): _made(each, arrays) for name, each in inside})
    if mark != _RECORD:
        raise PackedError(f"a mark {mark!r}")
    name, *values = inside
    found = CLASSES[name]
    made = [_made(each, arrays) for each in values]
    if not dataclasses.is_dataclass(found):
        return found(*made)
    return found(**dict(zip((each.name for each in dataclasses.fields(found)), made, strict=True)))
