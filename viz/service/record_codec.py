"""Serialisation of records: JSON with class names, followed by raw arrays.

The shared cache and messages between processes and machines use this format. Decoding only creates instances of
`CLASSES`, checks the types of their fields and runs no other code, so untrusted bytes are safe.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from headlight.model import intervention_records, records
from headlight.model.commands import heads
from headlight.model.experiments import (
    account,
    attribution,
    effects,
    findings,
    importance,
    logit_lens,
    mask_removal,
    normalisation,
    patching,
    pooling,
    queries,
    score_parts,
    word_order,
)
from headlight.model.measures import alignment, alignment_head, direct_effects
from headlight.model.records import ReliabilityRule, Translation
from headlight.model.text import gold_links
from headlight.model.training import mistake_experiments
from headlight.model.translate import reliability
from headlight.viz.service.record_types import check_fields

FORMAT = 3  # increase it with every change of the format; other versions are rejected
_RECORD, _ARRAY, _MAP, _DICT, _LIST, _SET = "@", "#", "%", "{", "[", "<"
_DTYPES = ("float16", "float32", "float64", "int32", "int64", "bool")
_MODULES = (
    intervention_records, records, queries, account, attribution, effects, findings, importance, logit_lens,
    normalisation, patching, pooling, word_order, alignment_head, alignment, direct_effects, gold_links, heads,
    mask_removal, mistake_experiments, reliability, score_parts,
)  # fmt: skip


def is_record(kind: Any) -> bool:
    """Whether a class is a dataclass or a named tuple."""
    return isinstance(kind, type) and (dataclasses.is_dataclass(kind) or hasattr(kind, "_fields"))


CLASSES: Mapping[str, type] = MappingProxyType(
    {
        name: value
        for module in _MODULES
        for name, value in vars(module).items()
        if is_record(value) and value.__module__ == module.__name__
    }
)


class DecodeError(ValueError):
    """The bytes are invalid or have another format."""


def encode(value: Any) -> bytes:
    """Encode a record, or plain values that contain records."""
    arrays: list[np.ndarray[Any, Any]] = []
    encoded = _encode_value(value, arrays)
    shapes = [[array.dtype.name, array.shape] for array in arrays]
    header = json.dumps({"format": FORMAT, "value": encoded, "arrays": shapes}, separators=(",", ":")).encode()
    return b"".join(
        [len(header).to_bytes(8, "little"), header, *(np.ascontiguousarray(array).tobytes() for array in arrays)]
    )


def decode(value: bytes) -> Any:
    """Decode records. Arrays are read-only. Raises `DecodeError` for invalid bytes."""
    try:
        length = int.from_bytes(value[:8], "little")
        header = json.loads(value[8 : 8 + length])
        if header["format"] != FORMAT:
            raise DecodeError(f"unknown format {header['format']!r}")
        arrays, start = [], 8 + length
        for dtype, shape in header["arrays"]:
            if dtype not in _DTYPES:
                raise DecodeError(f"unsupported dtype {dtype!r}")
            if not all(type(size) is int and size >= 0 for size in shape):
                raise DecodeError(f"invalid shape {shape!r}")
            count = math.prod(shape)
            arrays.append(np.frombuffer(value, dtype, count, start).reshape(shape))  # read-only, since `value` is bytes
            start += arrays[-1].nbytes
        return _decode_value(header["value"], arrays)
    except DecodeError:
        raise
    except Exception as error:  # invalid bytes can raise any exception
        raise DecodeError(str(error)) from error


def encode_translation(translation: Translation) -> bytes:
    """Encode a translation without its reliability rule."""
    return encode(dataclasses.replace(translation, rule=None))


def decode_translation(value: bytes, rule: ReliabilityRule | None) -> Translation:
    """Decode a translation and attach the rule of the local model."""
    result = decode(value)
    if not isinstance(result, Translation):
        raise DecodeError(f"{type(result)} is not a translation")
    source, target = len(result.source_tokens), len(result.target_tokens)
    for kind, cells in (("encoder", (source, source)), ("decoder", (target, target)), ("cross", (target, source))):
        maps = getattr(result.attention, kind)
        if maps.ndim != 4 or maps.shape[2:] != cells:
            raise DecodeError(f"{kind} maps of shape {maps.shape} do not fit the tokens")
    return dataclasses.replace(result, rule=rule)


def make_canonical_text(record: Any) -> str:
    """Return the JSON of a record without its arrays. Equal records have equal texts in every process."""
    return json.dumps(_encode_value(record, []), ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _encode_value(value: Any, arrays: list[np.ndarray[Any, Any]]) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, np.ndarray) and value.dtype.name in _DTYPES:
        arrays.append(value)
        return {_ARRAY: len(arrays) - 1}
    if isinstance(value, Mapping):
        tag = _DICT if type(value) is dict else _MAP
        return {tag: [[_encode_value(name, arrays), _encode_value(item, arrays)] for name, item in value.items()]}
    kind = type(value)
    if CLASSES.get(kind.__name__) is kind:
        return {_RECORD: [kind.__name__, *(_encode_value(getattr(value, name), arrays) for name in _list_fields(kind))]}
    if kind is tuple:
        return [_encode_value(item, arrays) for item in value]
    if kind in (list, frozenset):
        tag, items = (_LIST, value) if kind is list else (_SET, sorted(value))
        return {tag: [_encode_value(item, arrays) for item in items]}
    raise DecodeError(f"{kind} cannot be part of a record")


def _decode_value(value: Any, arrays: list[np.ndarray[Any, Any]]) -> Any:
    if isinstance(value, list):
        return tuple(_decode_value(item, arrays) for item in value)
    if not isinstance(value, dict):
        return value
    ((tag, content),) = value.items()
    if tag == _ARRAY:
        return arrays[content]
    if tag in (_MAP, _DICT):
        results = {_decode_value(name, arrays): _decode_value(item, arrays) for name, item in content}
        return results if tag == _DICT else MappingProxyType(results)
    if tag in (_LIST, _SET):
        return (list if tag == _LIST else frozenset)(_decode_value(item, arrays) for item in content)
    if tag != _RECORD:
        raise DecodeError(f"unknown tag {tag!r}")
    name, *values = content
    kind = CLASSES[name]
    fields = dict(zip(_list_fields(kind), (_decode_value(item, arrays) for item in values), strict=True))
    check_fields(kind, fields)
    return kind(**fields)


def _list_fields(kind: Any) -> tuple[str, ...]:
    names: tuple[str, ...] = getattr(kind, "_fields", ())
    return names or tuple(field.name for field in dataclasses.fields(kind) if field.init)
