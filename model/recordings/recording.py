"""`Recording`: attention maps of any model, with their tokens and remarks."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Literal

import numpy as np

from headlight.model.errors import ModelError, Value
from headlight.model.recordings.images import Picture
from headlight.model.records import AttentionMap, BoolArray, FloatArray, MapKind, Token, read_only

MAP_KINDS: tuple[MapKind, ...] = ("encoder", "decoder", "cross", "self")  # in the order of the page
IndexOrReduction = int | Literal["mean", "max"]


class RecordingError(ModelError):
    """Arrays, outputs or a file that cannot be shown as attention."""


def require_index(name: str, value: Any, numbers: Sequence[int], reductions: Sequence[str] = ()) -> int:
    """Return one of the numbers as an `int`; `value` may be an integer of NumPy. Else raise a `RecordingError`.

    `reductions` are further valid values, for the error message.
    """
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None or number not in numbers:
        is_range = list(numbers) == list(range(numbers[0], numbers[0] + len(numbers)))
        choices = (
            f"a whole number from {numbers[0]} to {numbers[-1]}"
            if is_range and len(numbers) > 1
            else f"one of {', '.join(map(str, numbers))}"
        )
        quoted_reductions = "".join(f', or "{reduction}"' for reduction in reductions)
        raise RecordingError(f"{name} must be {choices}{quoted_reductions}, but {value!r} was given.")
    return number


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return the sentence that suggests the most similar name, or an empty string."""
    similar_names = get_close_matches(name, list(names), n=1)
    return f" Did you mean {similar_names[0]}?" if similar_names else ""


@dataclass(frozen=True, slots=True)
class Remark:
    """A note that is shown with the maps: the phrase with the key `remark_WORD`, and its values."""

    word: str
    values: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Maps:
    """All maps of one kind. Each layer is a separate array, so large arrays are not copied."""

    layers: tuple[np.ndarray, ...]  # each [head, row, column], of any real type
    numbers: tuple[int, ...]  # indices of the layers in their model, from 0
    allowed: BoolArray  # [row, column]: False if masked in all heads of all layers

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Numbers of layers, heads, rows and columns."""
        return (len(self.layers), *self.layers[0].shape)

    def layer_index(self, number: Any) -> int:
        """Return the index in `layers` of the layer with this number in its model."""
        return self.numbers.index(require_index("layer", number, self.numbers))

    def layer(self, index: int) -> FloatArray:
        """Return all heads of a layer, `[head, row, column]`, as float32, clipped to the range from 0 to 1."""
        weights: FloatArray = np.clip(self.layers[index], 0.0, 1.0, dtype=np.float32, casting="unsafe")
        return weights

    def select(self, layer: IndexOrReduction, head: IndexOrReduction) -> FloatArray:
        """Return one map `[row, column]`. Several layers are reduced like the heads: by their mean or maximum."""
        result: FloatArray | None = None
        indices = range(len(self.layers)) if isinstance(layer, str) else range(layer, layer + 1)
        for index in indices:
            heads = self.layer(index) if isinstance(head, str) else self._head(index, head)[None]
            layer_map = heads.max(axis=0) if head == "max" else heads.mean(axis=0, dtype=np.float32)
            result = (
                layer_map if result is None else np.maximum(result, layer_map) if head == "max" else result + layer_map
            )
        assert result is not None  # noqa: S101 (a kind has at least one layer)
        return result if head == "max" else result / np.float32(len(indices))

    def _head(self, layer: int, head: int) -> FloatArray:
        weights: FloatArray = np.clip(self.layers[layer][head], 0.0, 1.0, dtype=np.float32, casting="unsafe")
        return weights


@dataclass(frozen=True, eq=False)
class Recording:
    """Attention of any model. Rows of "encoder" and "self" are source tokens, rows of other kinds are target tokens.

    `decoder_inputs` are the columns of "decoder": the tokens that the decoder reads. With them, a row is the token that
    the decoder writes. Without them, the columns are the target tokens, and a row is the token that was just read.
    `picture` is the image whose patches are source tokens.
    """

    maps: Mapping[MapKind, Maps]
    source: tuple[Token, ...]
    source_text: str
    target: tuple[Token, ...] = ()
    text: str = ""
    decoder_inputs: tuple[Token, ...] | None = None
    remarks: tuple[Remark, ...] = ()
    name: str = ""
    picture: Picture | None = None

    @property
    def kinds(self) -> tuple[MapKind, ...]:
        """Available kinds, in the order of the page."""
        return tuple(kind for kind in MAP_KINDS if kind in self.maps)

    def of(self, kind: MapKind) -> Maps:
        """Return the maps of a kind."""
        if kind not in self.maps:
            raise RecordingError(
                f"There is no attention of the kind {kind!r} here: choose one of {', '.join(self.kinds)}."
            )
        return self.maps[kind]

    def rows(self, kind: MapKind) -> tuple[Token, ...]:
        """Return the query tokens."""
        return self.source if kind in ("encoder", "self") else self.target

    def columns(self, kind: MapKind) -> tuple[Token, ...]:
        """Return the key tokens."""
        if kind == "decoder":
            return self.target if self.decoder_inputs is None else self.decoder_inputs
        return self.source

    def attention_map(self, kind: MapKind, layer: int, head: int | None = None) -> AttentionMap:
        """Return the map of one head, or without a head the average of the layer. `layer` is a number of the model."""
        maps = self.of(kind)
        index = maps.layer_index(layer)
        head_index = None if head is None else require_index("head", head, range(maps.shape[1]))
        rows = self.rows(kind)
        return AttentionMap(
            weights=read_only(np.array(maps.select(index, "mean" if head_index is None else head_index))),
            allowed=read_only(maps.allowed.copy()),
            rows=rows,
            columns=self.columns(kind),
            previous_tokens=rows if self.decoder_inputs is None or kind in ("encoder", "self") else self.decoder_inputs,
            kind=kind,
            layer=maps.numbers[index],
            head=head_index,
        )

    @property
    def attention(self) -> _StackedAttention:
        """All maps of each kind in one array, with the interface of a translation's attention."""
        return _StackedAttention(self)


@dataclass(frozen=True, slots=True)
class _StackedAttention:
    recording: Recording

    def of(self, kind: MapKind) -> FloatArray:
        maps = self.recording.of(kind)
        return np.stack([maps.layer(index) for index in range(len(maps.layers))])

    def allowed(self, kind: MapKind) -> BoolArray:
        return self.recording.of(kind).allowed

    def __getattr__(self, kind: str) -> Any:
        if kind not in MAP_KINDS:
            raise AttributeError(kind)
        return self.of(kind)
