"""ZeroGPU: Hugging Face Spaces give a GPU for the length of one call. Everywhere else nothing changes."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable
from types import MappingProxyType
from typing import Any, TypeVar

from headlight.model.records import KINDS, Translation

SECONDS = 15  # the limit of one call; a translation takes less than one

Asked = TypeVar("Asked")


def on_zero_gpu(make: Callable[[Asked], Translation]) -> Callable[[Asked], Translation] | None:
    """The same call on a ZeroGPU; `None` where the package `spaces` is not installed, or finds no such hardware.

    The call runs in another process, so what goes in and comes out is copied: a request in, arrays in main memory out.
    """
    try:
        spaces: Any = importlib.import_module("spaces")
    except ImportError:
        return None

    def compute_packed(asked: Asked) -> dict[str, Any]:
        return packed(make(asked))

    on_gpu = spaces.GPU(duration=SECONDS)(compute_packed)
    if on_gpu is compute_packed:  # the package is there, but not the hardware
        return None
    return lambda asked: unpacked(on_gpu(asked))


def packed(translation: Translation) -> dict[str, Any]:
    """A translation as plain values that can be copied between processes: its read-only mappings cannot."""
    values = {each.name: getattr(translation, each.name) for each in dataclasses.fields(translation)}
    return values | {name: dict(values[name]) for name in ("positions", "captured")}


def unpacked(values: dict[str, Any]) -> Translation:
    """The translation again, with its arrays made read-only as before the copy."""
    mappings = {name: MappingProxyType(values[name]) for name in ("positions", "captured")}
    attention = values["attention"]
    for array in (*(attention.of(kind) for kind in KINDS), *values["positions"].values(), *values["captured"].values()):
        array.flags.writeable = False
    return Translation(**(values | mappings))
