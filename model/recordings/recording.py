"""`Recording`: attention maps of any model, with their tokens and remarks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from headlight.model.errors import ModelError, Value
from headlight.model.records import AttentionMap, BoolArray, FloatArray, MapKind, Token, read_only

MAP_KINDS: tuple[MapKind, ...] = ("encoder", "decoder", "cross", "self")  # in the order of the page
IndexOrReduction = int | Literal["mean", "max"]


class RecordingError(ModelError):
    """Arrays, outputs or a file that cannot be shown as attention."""


@dataclass(frozen=True, slots=True)
class Remark:
    """A note to show with the maps: phrase key `remark_WORD` and its values."""

    word: str
    values: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Maps:
    """All maps of one kind. Each layer is a separate array, so large ones are not copied."""

    layers: tuple[np.ndarray, ...]  # each [head, row, column], of any real type
    numbers: tuple[int, ...]  # of the layers in their model, counted from 0
    allowed: BoolArray  # [row, column]: False if masked in all heads of all layers

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Layers, heads, rows, columns."""
        return (len(self.layers), *self.layers[0].shape)

    def layer(self, place: int) -> FloatArray:
        """All heads of a layer, `[head, row, column]`, float32, from 0 to 1."""
        weights: FloatArray = np.clip(self.layers[place], 0.0, 1.0, dtype=np.float32, casting="unsafe")
        return weights

    def select(self, layer: IndexOrReduction, head: IndexOrReduction) -> FloatArray:
        """One map `[row, column]`: a head's, or the mean or maximum of several. Of layers there is only a mean."""
        result: FloatArray | None = None
        places = range(len(self.layers)) if isinstance(layer, str) else range(layer, layer + 1)
        for place in places:
            heads = self.layer(place) if isinstance(head, str) else self._head(place, head)[None]
            each = heads.max(axis=0) if head == "max" else heads.mean(axis=0, dtype=np.float32)
            result = each if result is None else np.maximum(result, each) if head == "max" else result + each
        assert result is not None  # noqa: S101 (a kind has at least one layer)
        return result if head == "max" else result / np.float32(len(places))

    def _head(self, layer: int, head: int) -> FloatArray:
        weights: FloatArray = np.clip(self.layers[layer][head], 0.0, 1.0, dtype=np.float32, casting="unsafe")
        return weights


@dataclass(frozen=True, eq=False)
class Recording:
    """Attention of any model. Rows of "encoder" and "self" are source tokens, those of the others target tokens.

    `before` are the columns of "decoder": the tokens that the decoder reads. Without them they are the target tokens,
    and a row stands for the token that the decoder has just read; with them it stands for the token that it writes.
    """

    maps: Mapping[MapKind, Maps]
    source: tuple[Token, ...]
    source_text: str
    target: tuple[Token, ...] = ()
    text: str = ""
    decoder_inputs: tuple[Token, ...] | None = None
    remarks: tuple[Remark, ...] = ()
    name: str = ""

    @property
    def kinds(self) -> tuple[MapKind, ...]:
        """The kinds that there are, in the order of the page."""
        return tuple(kind for kind in MAP_KINDS if kind in self.maps)

    def of(self, kind: MapKind) -> Maps:
        """The maps of a kind."""
        if kind not in self.maps:
            raise RecordingError(
                f"There is no attention of the kind {kind!r} here: choose one of {', '.join(self.kinds)}."
            )
        return self.maps[kind]

    def rows(self, kind: MapKind) -> tuple[Token, ...]:
        """Query tokens."""
        return self.source if kind in ("encoder", "self") else self.target

    def columns(self, kind: MapKind) -> tuple[Token, ...]:
        """Key tokens."""
        if kind == "decoder":
            return self.target if self.decoder_inputs is None else self.decoder_inputs
        return self.source

    def attention_map(self, kind: MapKind, layer: int, head: int | None = None) -> AttentionMap:
        """One head's matrix with its tokens; without a head, the average of the layer."""
        maps = self.of(kind)
        for name, place, count in (("layer", layer, maps.shape[0]), ("head", head, maps.shape[1])):
            if place is not None and (type(place) is not int or not 0 <= place < count):
                raise RecordingError(f"{name} must be a whole number from 0 to {count - 1}, but {place!r} was given.")
        rows = self.rows(kind)
        return AttentionMap(
            weights=read_only(np.array(maps.select(layer, "mean" if head is None else head))),
            allowed=read_only(maps.allowed.copy()),
            rows=rows,
            columns=self.columns(kind),
            previous_tokens=rows if self.decoder_inputs is None or kind in ("encoder", "self") else self.decoder_inputs,
            kind=kind,
            layer=maps.numbers[layer],
            head=head,
        )

    @property
    def attention(self) -> _StackedAttention:
        """All maps of a kind in one array, as a translation has them."""
        return _StackedAttention(self)


@dataclass(frozen=True, slots=True)
class _StackedAttention:
    recording: Recording

    def of(self, kind: MapKind) -> FloatArray:
        maps = self.recording.of(kind)
        return np.stack([maps.layer(place) for place in range(len(maps.layers))])

    def allowed(self, kind: MapKind) -> BoolArray:
        return self.recording.of(kind).allowed

    def __getattr__(self, kind: str) -> Any:
        if kind not in MAP_KINDS:
            raise AttributeError(kind)
        return self.of(kind)
