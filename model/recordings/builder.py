"""Construction of a `Recording` from arrays and token names: validation, padding, remarks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from headlight.model.recordings.images import Picture
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

MAX_COPIED_WEIGHTS = 1 << 26  # recordings with more weights keep views of the input arrays instead of copies
NamedTokens = tuple[tuple[Token, ...], str]


@dataclass
class AxisTokens:
    """Source and target tokens with their attention masks, before padding is removed."""

    source: NamedTokens | None = None
    target: NamedTokens | None = None
    decoder_inputs: tuple[Token, ...] | None = None
    source_mask: np.ndarray | None = None
    target_mask: np.ndarray | None = None
    remarks: list[Remark] = field(default_factory=list)
    picture: Picture | None = None  # the image whose patches are source tokens


def recording_from_arrays(
    value: Mapping[MapKind, Any],
    *,
    source: Sequence[str] | None = None,
    target: Sequence[str] | None = None,
    layers: Sequence[int] | None = None,
    batch: int | None = None,
    name: str = "",
) -> Recording:
    """Build a recording from arrays by kind, as `parse_layers` accepts them. Tokens without names are numbered."""
    kinds = [kind for kind, part in value.items() if part is not None]
    sides = {side for kind in kinds for side in _axis_sides(kind)}
    for side, names in (("source", source), ("target", target)):
        if kinds and names is not None and side not in sides:
            raise RecordingError(
                f"{side}= names the {side} tokens, but attention of the kind {kinds[0]} has none. "
                f"Give tokens= for self-attention, source= for the encoder and target= for the decoder."
            )
    axes = AxisTokens(
        None if source is None else tokens_from_names(source), None if target is None else tokens_from_names(target)
    )
    layers_by_kind = {
        kind: parse_layers(part, label=kind, numbers=layers, sentence=batch or 0)
        for kind, part in value.items()
        if part is not None
    }
    if batch is None and (count := max((part.sentences for part in layers_by_kind.values()), default=1)) > 1:
        axes.remarks.append(Remark("batch", {"number": 1, "count": count}))
    return build_recording(layers_by_kind, axes, name=name)


def build_recording(parts: Mapping[MapKind, Layers], axes: AxisTokens, *, name: str = "") -> Recording:
    """Validate all parts and build the recording."""
    if not parts:
        raise RecordingError("There is no attention to show. Give encoder=, decoder=, cross=, or outputs of a model.")
    if "self" in parts and len(parts) > 1:
        raise RecordingError(
            "attentions= is for models with one sequence and excludes other kinds: pass encoder=, decoder= and cross=."
        )
    inspections = {kind: inspect_layers(part.arrays, part.numbers, kind) for kind, part in parts.items()}
    sizes = {kind: part.arrays[0].shape[1:] for kind, part in parts.items()}
    sides = _find_side_tokens(axes, sizes)
    slices = {
        side: _unpadded_slice(side, sides[side], axes, {kind: part.nonzero for kind, part in inspections.items()})
        for side in sides
    }
    remarks = list(axes.remarks)
    for side, token_slice in slices.items():
        padding = len(sides[side][0]) - (token_slice.stop - token_slice.start)
        if padding:
            remarks.append(Remark("padding", {"count": padding}))
    copies = sum(prod((len(part.arrays), *part.arrays[0].shape)) for part in parts.values()) <= MAX_COPIED_WEIGHTS
    maps: dict[MapKind, Maps] = {}
    for kind, part in parts.items():
        rows, columns = _axis_sides(kind)
        axis_slices = (slices[rows], slices[columns])
        arrays = [array[:, axis_slices[0], axis_slices[1]] for array in part.arrays]
        allowed = allowed_cells(inspections[kind].nonzero[axis_slices], square=kind in ("decoder", "self"))
        row_sums = unnormalised_rows(inspections[kind].sums[..., axis_slices[0]], low_precision=part.low_precision)
        if row_sums:
            values = {
                "rows": row_sums[0],
                "low": round(row_sums[1], 4),
                "high": round(row_sums[2], 4),
                "kind": kind,
            }
            remarks.append(Remark("sums", values))
        if len(part.numbers) < part.total:
            remarks.append(Remark("layers", {"shown": len(part.numbers), "count": part.total, "kind": kind}))
        layers = tuple(_read_only_copy(array) if copies else array for array in arrays)
        maps[kind] = Maps(layers, tuple(part.numbers), _make_read_only(allowed))
    source_tokens, source_text = _select_tokens(sides.get("source"), slices.get("source"))
    target_tokens, target_text = _select_tokens(sides.get("target"), slices.get("target"))
    decoder_inputs = (
        axes.decoder_inputs[slices["target"]] if axes.decoder_inputs is not None and "target" in slices else None
    )
    picture = (
        None
        if axes.picture is None or "source" not in sides
        else _select_picture(axes.picture, len(sides["source"][0]), slices["source"])
    )
    return Recording(
        maps, source_tokens, source_text, target_tokens, target_text, decoder_inputs, tuple(remarks), name, picture
    )


def _select_picture(picture: Picture, count: int, unpadded: slice) -> Picture:
    """Return the picture without the tokens that are padding."""
    if len(picture.patch_indices) != count:
        raise RecordingError(
            f"The picture has patches for {len(picture.patch_indices)} tokens, but there are {count}. Give the picture "
            "of the same call, or none."
        )
    return picture.select(unpadded)


def _axis_sides(kind: MapKind) -> tuple[str, str]:
    """Return the sides of the tokens in the rows and in the columns."""
    rows = "source" if kind in ("encoder", "self") else "target"
    return rows, "target" if kind == "decoder" else "source"


def _find_side_tokens(axes: AxisTokens, sizes: Mapping[MapKind, tuple[int, ...]]) -> dict[str, NamedTokens]:
    """Return the tokens of each side that is on an axis. Raise an error if their numbers differ between axes."""
    counts: dict[str, dict[str, int]] = {"source": {}, "target": {}}
    for kind, size in sizes.items():
        for axis, side, count in zip(("rows", "columns"), _axis_sides(kind), size, strict=True):
            counts[side][f"{axis} of {kind}"] = count
    results = {}
    for side, axis_counts in counts.items():
        if not axis_counts:
            continue
        value = getattr(axes, side)
        if value is not None:
            axis_counts = {f"names in {side}": len(value[0])} | axis_counts
        if len(set(axis_counts.values())) > 1:
            counts_text = ", ".join(f"{count} {label}" for label, count in axis_counts.items())
            raise RecordingError(
                f"The numbers of {side} tokens differ: {counts_text}. Give arrays and names of one sentence."
            )
        results[side] = numbered_names(next(iter(axis_counts.values()))) if value is None else value
    return results


def _unpadded_slice(side: str, names: NamedTokens, axes: AxisTokens, visible: Mapping[MapKind, np.ndarray]) -> slice:
    """Return the slice without padding, from the attention mask or from the columns that receive weight."""
    mask = getattr(axes, f"{side}_mask")
    if mask is not None:
        return unpadded_range(np.asarray(mask))
    visible_slice = slice(0, len(names[0]))
    for kind, nonzero in visible.items():
        if _axis_sides(kind)[1] == side:
            kind_slice = trim_padding(nonzero, square=kind != "cross")
            visible_slice = slice(max(visible_slice.start, kind_slice.start), min(visible_slice.stop, kind_slice.stop))
    return visible_slice if visible_slice.start < visible_slice.stop else slice(0, len(names[0]))


def _select_tokens(names: NamedTokens | None, visible_slice: slice | None) -> NamedTokens:
    """Select the tokens within the slice. The text does not change."""
    return ((), "") if names is None or visible_slice is None else (names[0][visible_slice], names[1])


def _read_only_copy(array: np.ndarray) -> np.ndarray:
    return _make_read_only(np.array(array))


def _make_read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array
