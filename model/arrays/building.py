"""Builds a `Recording` from arrays and token names: validates, crops padding, collects remarks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from headlight.model.arrays.inspecting import allowed_cells, inner, inspect, kept, off_sums
from headlight.model.arrays.pieces import numbered, tokens_of
from headlight.model.arrays.reading import Layers, layers_of
from headlight.model.arrays.recording import ArraysError, Maps, Recording, Remark
from headlight.model.records import MapKind, Token

COPIED = 1 << 26  # weights; smaller recordings are copied, larger ones keep views of the given arrays
Named = tuple[tuple[Token, ...], str]


@dataclass
class Axes:
    """The tokens of both sides before padding is cut, and which of them an attention mask keeps."""

    source: Named | None = None
    target: Named | None = None
    before: tuple[Token, ...] | None = None
    source_kept: np.ndarray | None = None
    target_kept: np.ndarray | None = None
    remarks: list[Remark] = field(default_factory=list)


def recording_of_arrays(
    given: Mapping[MapKind, Any],
    *,
    source: Sequence[str] | None = None,
    target: Sequence[str] | None = None,
    layers: Sequence[int] | None = None,
    batch: int | None = None,
    name: str = "",
) -> Recording:
    """`given`: arrays by kind, each as `layers_of` takes them. Tokens without names are numbered."""
    axes = Axes(None if source is None else tokens_of(source), None if target is None else tokens_of(target))
    read = {
        kind: layers_of(each, what=kind, chosen=layers, sentence=batch or 0)
        for kind, each in given.items()
        if each is not None
    }
    if batch is None and (count := max((each.sentences for each in read.values()), default=1)) > 1:
        axes.remarks.append(Remark("batch", {"number": 1, "count": count}))
    return record(read, axes, name=name)


def record(read: Mapping[MapKind, Layers], axes: Axes, *, name: str = "") -> Recording:
    """Validate all parts and build the recording."""
    if not read:
        raise ArraysError("There is no attention to show. Give encoder=, decoder=, cross=, or outputs of a model.")
    if "self" in read and len(read) > 1:
        raise ArraysError("Attention of one sentence alone has no second kind: give encoder=, decoder= and cross=.")
    seen = {kind: inspect(each.arrays, each.numbers, kind) for kind, each in read.items()}
    sizes = {kind: each.arrays[0].shape[1:] for kind, each in read.items()}
    sides = _sides(axes, sizes)
    cuts = {side: _cut(side, sides[side], axes, {kind: each.seen for kind, each in seen.items()}) for side in sides}
    remarks = list(axes.remarks)
    for side, cut in cuts.items():
        missing = len(sides[side][0]) - (cut.stop - cut.start)
        if missing:
            remarks.append(Remark("padding", {"count": missing}))
    small = sum(prod((len(each.arrays), *each.arrays[0].shape)) for each in read.values()) <= COPIED
    maps: dict[MapKind, Maps] = {}
    for kind, each in read.items():
        rows, columns = _axes_of(kind)
        across = (cuts[rows], cuts[columns])
        arrays = [array[:, across[0], across[1]] for array in each.arrays]
        allowed = allowed_cells(seen[kind].seen[across], square=kind in ("decoder", "self"))
        off = off_sums(seen[kind].sums[..., across[0]], coarse=each.coarse)
        if off:
            values = {"rows": off[0], "low": round(off[1], 4), "high": round(off[2], 4), "kind": kind}
            remarks.append(Remark("sums", values))
        if len(each.numbers) < each.given:
            remarks.append(Remark("layers", {"shown": len(each.numbers), "count": each.given, "kind": kind}))
        layers = tuple(_kept(array) if small else array for array in arrays)
        maps[kind] = Maps(layers, tuple(each.numbers), _frozen(allowed))
    tokens, text = _tokens(sides.get("source"), cuts.get("source"))
    written, target_text = _tokens(sides.get("target"), cuts.get("target"))
    before = axes.before[cuts["target"]] if axes.before is not None and "target" in cuts else None
    return Recording(maps, tokens, text, written, target_text, before, tuple(remarks), name)


def _axes_of(kind: MapKind) -> tuple[str, str]:
    """Whose tokens rows and columns are."""
    rows = "source" if kind in ("encoder", "self") else "target"
    return rows, "target" if kind == "decoder" else "source"


def _sides(axes: Axes, sizes: Mapping[MapKind, tuple[int, ...]]) -> dict[str, Named]:
    """The tokens of each side that a kind has on an axis, as many as there are rows or columns."""
    counts: dict[str, dict[str, int]] = {"source": {}, "target": {}}
    for kind, size in sizes.items():
        for axis, side, count in zip(("rows", "columns"), _axes_of(kind), size, strict=True):
            counts[side][f"{axis} of {kind}"] = count
    found = {}
    for side, wanted in counts.items():
        if not wanted:
            continue
        given = getattr(axes, side)
        if given is not None:
            wanted = {f"names in {side}": len(given[0])} | wanted
        if len(set(wanted.values())) > 1:
            listed = ", ".join(f"{count} {what}" for what, count in wanted.items())
            raise ArraysError(f"The numbers of {side} tokens differ: {listed}. Give arrays and names of one sentence.")
        found[side] = numbered(next(iter(wanted.values()))) if given is None else given
    return found


def _cut(side: str, named: Named, axes: Axes, seen: Mapping[MapKind, np.ndarray]) -> slice:
    """Slice without padding, from the attention mask or from columns that receive weight."""
    mask = getattr(axes, f"{side}_kept")
    if mask is not None:
        return kept(np.asarray(mask)[: len(named[0])])
    cut = slice(0, len(named[0]))
    for kind, each in seen.items():
        if _axes_of(kind)[1] == side:
            one = inner(each, square=kind != "cross")
            cut = slice(max(cut.start, one.start), min(cut.stop, one.stop))
    return cut if cut.start < cut.stop else slice(0, len(named[0]))


def _tokens(named: Named | None, cut: slice | None) -> Named:
    """Tokens within the slice; the text is unchanged."""
    return ((), "") if named is None or cut is None else (named[0][cut], named[1])


def _kept(array: np.ndarray) -> np.ndarray:
    return _frozen(np.array(array))


def _frozen(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array
