"""Encoding of a recording for the browser: tokens and remarks as JSON, the weights of each kind as bytes."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headlight.model.recordings.images import Picture
from headlight.model.recordings.recording import IndexOrReduction, Maps, Recording
from headlight.model.records import FloatArray, MapKind
from headlight.viz.export.png import encode_rgb_png
from headlight.viz.service.payload import make_token_values
from headlight.viz.service.weight_encoding import compress_weights

MAX_EMBEDDED_WEIGHTS = 8_000_000  # above this number, heads load on demand
THUMBNAIL_CELLS = 48  # per side of a thumbnail if the maps are not embedded


def recording_values(recording: Recording) -> dict[str, Any]:
    """Return a recording without its weights."""
    return {
        "what": "recording",
        "name": recording.name,
        "kinds": {kind: kind_values(recording.of(kind)) for kind in recording.kinds},
        "remarks": [[remark.word, dict(remark.values)] for remark in recording.remarks],
        "source": make_token_values(recording.source),
        "source_text": recording.source_text,
        "target": make_token_values(recording.target),
        "text": recording.text,
        "before": None if recording.decoder_inputs is None else make_token_values(recording.decoder_inputs),
        "picture": None if recording.picture is None else picture_values(recording.picture),
    }


def picture_values(picture: Picture) -> dict[str, Any]:
    """Return the image as a data URL, the grid of patches, and the patch of each source token."""
    image = base64.b64encode(encode_rgb_png(picture.pixels)).decode()
    return {
        "image": f"data:image/png;base64,{image}",
        "rows": picture.rows,
        "columns": picture.columns,
        "places": list(picture.patch_indices),
    }


def kind_values(maps: Maps) -> dict[str, Any]:
    """Return the shape, the layer numbers and the mask that all maps of a kind share."""
    allowed = None if maps.allowed.all() else "".join("01"[int(is_allowed)] for is_allowed in maps.allowed.reshape(-1))
    return {"shape": list(maps.shape), "layers": list(maps.numbers), "allowed": allowed}


def count_weights(recording: Recording) -> int:
    """Count the weights of a recording."""
    return sum(int(np.prod(recording.of(kind).shape)) for kind in recording.kinds)


def embedded_maps(recordings: Sequence[Recording]) -> dict[str, bytes]:
    """Return the compressed weights by recording index and kind; empty if they are too many to embed."""
    if sum(map(count_weights, recordings)) > MAX_EMBEDDED_WEIGHTS:
        return {}
    return {
        f"{index} {kind}": compress_weights(recording.attention.of(kind))
        for index, recording in enumerate(recordings)
        for kind in recording.kinds
    }


class HeadServer:
    """Serves single heads of a recording on demand, and caches reductions over layers."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self._reductions: dict[tuple[MapKind, IndexOrReduction, IndexOrReduction], FloatArray] = {}

    def maps_for(self, kind: MapKind, heads: Sequence[Mapping[str, Any]], *, small: bool) -> tuple[list[int], bytes]:
        """Return the shape of one map and the compressed weights of all. `small` returns thumbnails."""
        maps = [self._map(kind, _parse_index(head["layer"]), _parse_index(head["head"]), small=small) for head in heads]
        return list(maps[0].shape), compress_weights(np.stack(maps))

    def _map(self, kind: MapKind, layer: IndexOrReduction, head: IndexOrReduction, *, small: bool) -> FloatArray:
        key = (kind, layer, head)
        if isinstance(layer, str) and key not in self._reductions:
            self._reductions[key] = self.recording.of(kind).select(layer, head)
        result = self._reductions[key] if key in self._reductions else self.recording.of(kind).select(layer, head)
        return downsample(result) if small else result


def _parse_index(value: Any) -> IndexOrReduction:
    return value if value in ("mean", "max") else int(value)


def downsample(weights: FloatArray, cells: int = THUMBNAIL_CELLS) -> FloatArray:
    """Max-pool weights `[row, column]` to at most `cells` per side, which preserves thin lines."""
    rows, columns = weights.shape
    for axis, count in enumerate((rows, columns)):
        if count > cells:
            starts = np.arange(cells) * count // cells
            weights = np.maximum.reduceat(weights, starts, axis=axis)
    return weights
