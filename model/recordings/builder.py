"""Builds a `Recording` from arrays and token names: validates, crops padding, collects remarks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from headlight.model.recordings.inspection import (
    allowed_cells,
    inspect_layers,
    trim_padding,
    unnormalised_rows,
    unpadded_range,
)
from headlight.model.recordings.layers import Layers, parse_layers
from headlight.model.recordings.recording import Maps, Recording, RecordingError, Remark
from headlight.model.recordings.token_names import numbered_names, tokens_from_names
from headlight.model.records import MapKind, Token

MAX_COPIED_WEIGHTS = 1 << 26  # weights; smaller recordings are copied, larger ones keep views of the given arrays
NamedTokens = tuple[tuple[Token, ...], str]


@dataclass
class AxisTokens:
    """The tokens of both sides before padding is cut, and which of them an attention mask keeps."""

    source: NamedTokens | None = None
    target: NamedTokens | None = None
    decoder_inputs: tuple[Token, ...] | None = None
    source_mask: np.ndarray | None = None
    target_mask: np.ndarray | None = None
    remarks: list[Remark] = field(default_factory=list)


def recording_from_arrays(
    value: Mapping[MapKind, Any],
    *,
    source: Sequence[str] | None = None,
    target: Sequence[str] | None = None,
    layers: Sequence[int] | None = None,
    batch: int | None = None,
    name: str = "",
) -> Recording:
    """`given`: arrays by kind, each as `layers_of` takes them. Tokens without names are numbered."""
    axes = AxisTokens(
        None if source is None else tokens_from_names(source), None if target is None else tokens_from_names(target)
    )
    read = {
        kind: parse_layers(each, what=kind, numbers=layers, sentence=batch or 0)
        for kind, each in value.items()
        if each is not None
    }
    if batch is None and (count := max((each.sentences for each in read.values()), default=1)) > 1:
        axes.remarks.append(Remark("batch", {"number": 1, "count": count}))
    return build_recording(read, axes, name=name)


def build_recording(read: Mapping[MapKind, Layers], axes: AxisTokens, *, name: str = "") -> Recording:
    """Validate all parts and build the recording."""
    if not read:
        raise RecordingError("There is no attention to show. Give encoder=, decoder=, cross=, or outputs of a model.")
    if "self" in read and len(read) > 1:
        raise RecordingError("Attention of one sentence alone has no second kind: give encoder=, decoder= and cross=.")
    seen = {kind: inspect_layers(each.arrays, each.numbers, kind) for kind, each in read.items()}
    sizes = {kind: each.arrays[0].shape[1:] for kind, each in read.items()}
    sides = _sides(axes, sizes)
    cuts = {
        side: _unpadded_slice(side, sides[side], axes, {kind: each.nonzero for kind, each in seen.items()})
        for side in sides
    }
    remarks = list(axes.remarks)
    for side, cut in cuts.items():
        missing = len(sides[side][0]) - (cut.stop - cut.start)
        if missing:
            remarks.append(Remark("padding", {"count": missing}))
    small = sum(prod((len(each.arrays), *each.arrays[0].shape)) for each in read.values()) <= MAX_COPIED_WEIGHTS
    maps: dict[MapKind, Maps] = {}
    for kind, each in read.items():
        rows, columns = _sides_of_axes(kind)
        across = (cuts[rows], cuts[columns])
        arrays = [array[:, across[0], across[1]] for array in each.arrays]
        allowed = allowed_cells(seen[kind].nonzero[across], square=kind in ("decoder", "self"))
        off = unnormalised_rows(seen[kind].sums[..., across[0]], low_precision=each.low_precision)
        if off:
            values = {"rows": off[0], "low": round(off[1], 4), "high": round(off[2], 4), "kind": kind}
            remarks.append(Remark("sums", values))
        if len(each.numbers) < each.total:
            remarks.append(Remark("layers", {"shown": len(each.numbers), "count": each.total, "kind": kind}))
        layers = tuple(_read_only_copy(array) if small else array for array in arrays)
        maps[kind] = Maps(layers, tuple(each.numbers), _make_read_only(allowed))
    tokens, text = _tokens(sides.get("source"), cuts.get("source"))
    written, target_text = _tokens(sides.get("target"), cuts.get("target"))
    before = axes.decoder_inputs[cuts["target"]] if axes.decoder_inputs is not None and "target" in cuts else None
    return Recording(maps, tokens, text, written, target_text, before, tuple(remarks), name)


def _sides_of_axes(kind: MapKind) -> tuple[str, str]:
    """Whose tokens rows and columns are."""
    rows = "source" if kind in ("encoder", "self") else "target"
    return rows, "target" if kind == "decoder" else "source"


def _sides(axes: AxisTokens, sizes: Mapping[MapKind, tuple[int, ...]]) -> dict[str, NamedTokens]:
    """The tokens of each side that a kind has on an axis, as many as there are rows or columns."""
    counts: dict[str, dict[str, int]] = {"source": {}, "target": {}}
    for kind, size in sizes.items():
        for axis, side, count in zip(("rows", "columns"), _sides_of_axes(kind), size, strict=True):
            counts[side][f"{axis} of {kind}"] = count
    results = {}
    for side, wanted in counts.items():
        if not wanted:
            continue
        value = getattr(axes, side)
        if value is not None:
            wanted = {f"names in {side}": len(value[0])} | wanted
        if len(set(wanted.values())) > 1:
            listed = ", ".join(f"{count} {what}" for what, count in wanted.items())
            raise RecordingError(
                f"The numbers of {side} tokens differ: {listed}. Give arrays and names of one sentence."
            )
        results[side] = numbered_names(next(iter(wanted.values()))) if value is None else value
    return results


def _unpadded_slice(side: str, named: NamedTokens, axes: AxisTokens, seen: Mapping[MapKind, np.ndarray]) -> slice:
    """Slice without padding, from the attention mask or from columns that receive weight."""
    mask = getattr(axes, f"{side}_mask")
    if mask is not None:
        return unpadded_range(np.asarray(mask)[: len(named[0])])
    cut = slice(0, len(named[0]))
    for kind, each in seen.items():
        if _sides_of_axes(kind)[1] == side:
            one = trim_padding(each, square=kind != "cross")
            cut = slice(max(cut.start, one.start), min(cut.stop, one.stop))
    return cut if cut.start < cut.stop else slice(0, len(named[0]))


def _tokens(named: NamedTokens | None, cut: slice | None) -> NamedTokens:
    """Tokens within the slice; the text is unchanged."""
    return ((), "") if named is None or cut is None else (named[0][cut], named[1])


def _read_only_copy(array: np.ndarray) -> np.ndarray:
    return _make_read_only(np.array(array))


def _make_read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array
