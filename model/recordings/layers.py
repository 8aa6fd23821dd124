"""Conversion of attention arrays of any library and shape to layers `[head, row, column]`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from headlight.model.recordings.recording import RecordingError

# Axes of one layer by rank. One sentence of a batch is selected; groups of heads are concatenated.
AXES_BY_RANK = {
    2: "row, column",
    3: "head, row, column",
    4: "batch, head, row, column",
    5: "batch, group, head, row, column",
}


class Layers(NamedTuple):
    """The layers of one kind of attention."""

    arrays: list[np.ndarray]  # each [head, row, column], all of one shape
    numbers: list[int]  # indices of the selected layers that have attention
    total: int  # number of layers before the selection
    sentences: int  # batch size
    low_precision: bool  # True: the weights had fewer than 32 bits


def to_numpy(value: Any) -> np.ndarray:
    """Convert an array with `detach` (PyTorch), `__array__` (NumPy, JAX), `numpy` or `__dlpack__` to NumPy."""
    try:
        if hasattr(value, "detach"):
            tensor = value.detach().cpu()
            needs_float32 = "float16" not in str(tensor.dtype) or "bfloat16" in str(tensor.dtype)
            array = (
                tensor.float() if needs_float32 and getattr(tensor, "is_floating_point", bool)() else tensor
            ).numpy()
        elif isinstance(value, (list, tuple)):
            array = np.stack([to_numpy(item) for item in value]) if value else np.zeros(0)
        elif hasattr(value, "__array__") or not hasattr(value, "__dlpack__"):
            array = np.asarray(value.numpy() if hasattr(value, "numpy") else value)
        else:
            array = np.from_dlpack(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise RecordingError(
            f"The value cannot be converted to an array of numbers ({error}). Pass arrays, or lists of arrays."
        ) from error
    array = np.asarray(array)
    if array.dtype.kind == "O":
        raise RecordingError(
            f"A value of type {type(value).__name__} is no array of numbers. Give arrays, or the outputs of a model "
            "that was called with output_attentions=True."
        )
    if array.dtype.kind == "V":  # bfloat16 and similar types, which NumPy does not support
        array = array.astype(np.float32)
    if array.dtype.kind not in "fiu":
        raise RecordingError(
            f"Attention consists of real numbers, but {array.dtype} was given. Give the weights alone."
        )
    result: np.ndarray = array
    return result


def is_low_precision(value: Any) -> bool:
    """Whether weights have fewer than 32 bits, so that row sums are less exact."""
    first = value[0] if isinstance(value, (list, tuple)) and value else value
    if isinstance(first, (list, tuple)):
        return is_low_precision(first)
    return any(name in str(getattr(first, "dtype", "")) for name in ("float16", "float8"))


def parse_layers(value: Any, *, label: str, numbers: Sequence[int] | None = None, sentence: int = 0) -> Layers:
    """Convert a list of layers, or one array `[layer, head, row, column]`. A batch axis may precede the heads.

    `label` names the value in error messages, `numbers` are the selected layers, and `sentence` is the batch row."""
    parts, suffix = _split_layers(value, label)
    numbers = _select_numbers(parts, numbers, label)
    arrays, sentences = [], 1
    for number in numbers:
        array = to_numpy(parts[number])
        if array.ndim not in AXES_BY_RANK or 0 in array.shape:
            forms = "; ".join(f"[{form}]" for form in AXES_BY_RANK.values())
            raise RecordingError(
                f"{label}: layer {number + 1} has the shape {array.shape}{suffix}. A layer is one of {forms}."
            )
        if array.ndim >= 4:
            sentences = array.shape[0]
            if not 0 <= sentence < sentences:
                raise RecordingError(
                    f"{label}: the batch holds {sentences} sentences, so batch={sentence} does not exist."
                )
            array = array[sentence]
        arrays.append(array.reshape(-1, *array.shape[-2:]))
    _require_one_shape(arrays, numbers, label)
    weights = [parts[number] for number in numbers] if isinstance(value, (list, tuple)) else value
    return Layers(arrays, numbers, len(parts), sentences, is_low_precision(weights))


def _split_layers(value: Any, label: str) -> tuple[list[Any], str]:
    """Return a list of layers, and a suffix for error messages about their shape."""
    if isinstance(value, (list, tuple)):
        if not value:
            raise RecordingError(f"{label} is an empty list. Give one array for each layer.")
        return list(value), ""
    array = to_numpy(value)
    if array.ndim in (2, 3):
        return [array], ""
    if array.ndim in (4, 5, 6):
        return list(array), " within the array"
    raise RecordingError(f"{label} has the shape {array.shape}. Give [layer, head, row, column], or a list of layers.")


def _select_numbers(parts: Sequence[Any], layers: Any, label: str) -> list[int]:
    if layers is not None:
        if not isinstance(layers, Iterable):
            raise RecordingError(f"layers must be a list of numbers such as [0, 1], but {layers!r} was given.")
        layers = [number.item() if isinstance(number, np.generic) else number for number in layers]
        for number in layers:
            if type(number) is not int or not 0 <= number < len(parts):
                raise RecordingError(
                    f"{label} has {len(parts)} layers, numbered from 0 to {len(parts) - 1}, so layers={layers} names "
                    "one that does not exist."
                )
    numbers = [number for number in (range(len(parts)) if layers is None else layers) if parts[number] is not None]
    if not numbers:
        raise RecordingError(
            f"{label} contains no weights, because fused attention does not return them. "
            "Load the model with attn_implementation='eager' and call it with output_attentions=True."
        )
    return numbers


def _require_one_shape(arrays: Sequence[np.ndarray], numbers: Sequence[int], label: str) -> None:
    shapes = [array.shape for array in arrays]
    if len(set(shapes)) == 1:
        return
    different = next(index for index, shape in enumerate(shapes) if shape != shapes[0])
    same_shape = [number for number, shape in zip(numbers, shapes, strict=True) if shape == shapes[0]]

    def describe(index: int) -> str:
        heads, rows, columns = shapes[index]
        return f"layer {numbers[index] + 1} has {heads} heads of {rows} × {columns}"

    raise RecordingError(
        f"{label}: {describe(0)}, but {describe(different)}. A view shows layers of one shape, so name some that "
        f"agree, such as layers={same_shape}."
    )
