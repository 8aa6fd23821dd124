"""Recordings as NPZ and JSON, in the format of exported translations (`model/checkpoints/formats.py`).

Each kind of attention is an array `[layer, head, row, column]`. Token names are in `source_tokens`, `target_tokens` and
`decoder_tokens`, or in `tokens` for the kind "self", and the texts are in `source` and `translation`. `picture` is the
image of a vision model, `[height, width, 3]`. `patches` contains the numbers of rows and columns of patches, then the
patch index of each token, or -1.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast
from zipfile import BadZipFile

import numpy as np

from headlight.model.recordings.builder import AxisTokens, NamedTokens, build_recording
from headlight.model.recordings.images import Picture
from headlight.model.recordings.layers import parse_layers
from headlight.model.recordings.recording import MAP_KINDS, Recording, RecordingError
from headlight.model.recordings.token_names import locate_tokens, tokens_from_names

PICTURE_ADVICE = "Leave out picture and patches, or save the view again."
SIDES = ("tokens", "source_tokens", "target_tokens", "decoder_tokens")


def to_dict(recording: Recording) -> dict[str, Any]:
    """Return the arrays, token names and texts by their names in a file."""
    results: dict[str, Any] = {kind: recording.attention.of(kind) for kind in recording.kinds}
    results["source"] = recording.source_text
    results["tokens" if "self" in recording.maps else "source_tokens"] = [token.text for token in recording.source]
    if recording.target:
        results["translation"] = recording.text
        results["target_tokens"] = [token.text for token in recording.target]
    if recording.decoder_inputs is not None:
        results["decoder_tokens"] = [token.text for token in recording.decoder_inputs]
    if (picture := recording.picture) is not None:
        results["picture"] = picture.pixels
        patch_indices = [-1 if patch is None else patch for patch in picture.patch_indices]
        results["patches"] = [picture.rows, picture.columns, *patch_indices]
    return results


def to_npz(recording: Recording) -> bytes:
    """Return all arrays and names as a compressed NPZ file."""
    file = io.BytesIO()
    np.savez_compressed(
        file, allow_pickle=False, **{name: np.asarray(value) for name, value in to_dict(recording).items()}
    )
    return file.getvalue()


def to_json(recording: Recording) -> bytes:
    """Return all arrays, as nested lists, and names as JSON."""
    values = {
        name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in to_dict(recording).items()
    }
    return (json.dumps(values, ensure_ascii=False) + "\n").encode()


def read_recording(path: Path) -> Recording:
    """Read a file written by `to_npz`, `to_json`, `headlight inspect` or the page's export."""
    if not path.exists():
        raise RecordingError(
            f"There is no file {str(path)!r}. Check the path. To record a sentence, run `headlight inspect` first."
        )
    try:
        if path.suffix == ".json":
            values = json.loads(path.read_bytes())
        else:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
                values = {name: archive[name] for name in archive.files}
    except (OSError, ValueError, EOFError, BadZipFile) as error:
        raise RecordingError(f"{path} is not a readable NPZ or JSON file ({error}).") from error
    if not isinstance(values, dict):
        raise RecordingError(
            f"{path} contains no named arrays. Write an object with arrays by kind: {', '.join(MAP_KINDS)}."
        )
    return from_dict(values, name=path.stem)


def from_dict(values: Mapping[str, Any], *, name: str = "") -> Recording:
    """Build a recording from the output of `to_dict`."""
    layers_by_kind = {
        kind: parse_layers(np.asarray(values[kind], dtype=np.float32), label=kind)
        for kind in MAP_KINDS
        if kind in values and np.size(values[kind])
    }
    names = {side: [str(token_name) for token_name in values[side]] if side in values else None for side in SIDES}
    source = _parse_tokens(names["tokens"] or names["source_tokens"], values.get("source"))
    target = _parse_tokens(names["target_tokens"], values.get("translation"))
    decoder_inputs = _parse_tokens(names["decoder_tokens"], None if target is None else target[1])
    return build_recording(
        cast("Any", layers_by_kind),
        AxisTokens(
            source, target, None if decoder_inputs is None else decoder_inputs[0], picture=_parse_picture(values)
        ),
        name=name,
    )


def _parse_picture(values: Mapping[str, Any]) -> Picture | None:
    if "picture" not in values or "patches" not in values:
        return None
    try:
        rows, columns, *patch_indices = (int(value) for value in values["patches"])
        pixels = np.asarray(values["picture"])
        with np.errstate(invalid="ignore"):
            is_whole = bool((pixels == pixels.astype(np.uint8)).all())
        if not is_whole:
            raise ValueError("colours must be whole numbers from 0 to 255")
    except (TypeError, ValueError, OverflowError) as error:
        raise RecordingError(
            f"picture and patches do not describe an image and its patch grid ({error}). {PICTURE_ADVICE}"
        ) from error
    if pixels.ndim != 3 or pixels.shape[2] != 3 or not pixels.size:
        raise RecordingError(f"picture must have the shape (height, width, 3), not {pixels.shape}. {PICTURE_ADVICE}")
    if min(rows, columns) <= 0 or max(patch_indices, default=0) >= rows * columns:
        raise RecordingError(f"patches has an index outside its grid of {rows} × {columns} patches. {PICTURE_ADVICE}")
    return Picture(
        pixels.astype(np.uint8), rows, columns, tuple(None if patch < 0 else patch for patch in patch_indices)
    )


def _parse_tokens(names: list[str] | None, text: Any) -> NamedTokens | None:
    """Locate token names in the text; if that fails, build a text from the names."""
    if names is None:
        return None
    return (None if text is None else locate_tokens(names, str(text))) or tokens_from_names(names)
