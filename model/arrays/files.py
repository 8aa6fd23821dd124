"""Recordings as NPZ and JSON, in the form in which translations are exported, too (`model/folders/formats.py`).

Arrays by kind, `[layer, head, row, column]`; names of tokens as `source_tokens`, `target_tokens`, `decoder_tokens`, of
attention of the kind "self" as `tokens`.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast
from zipfile import BadZipFile

import numpy as np

from headlight.model.arrays.building import Axes, record
from headlight.model.arrays.pieces import tokens_of
from headlight.model.arrays.reading import layers_of
from headlight.model.arrays.recording import RECORDED, ArraysError, Recording
from headlight.model.records import Token

SIDES = ("tokens", "source_tokens", "target_tokens", "decoder_tokens")


def contents(recording: Recording) -> dict[str, Any]:
    """Arrays and lists of names."""
    found: dict[str, Any] = {kind: recording.attention.of(kind) for kind in recording.kinds}
    found["tokens" if "self" in recording.maps else "source_tokens"] = _names(recording.source, recording.source_text)
    if recording.target:
        found["target_tokens"] = _names(recording.target, recording.text)
    if recording.before is not None:
        found["decoder_tokens"] = _names(recording.before, recording.text)
    return found


def _names(tokens: tuple[Token, ...], text: str) -> list[str]:
    """The names with the spaces that stand before them in the text."""
    found = []
    for token in tokens:
        spaced = not token.special and token.start > 0 and text[token.start - 1 : token.start] == " "
        found.append(f" {token.text}" if spaced else token.text)
    return found


def npz(recording: Recording) -> bytes:
    """All arrays and names, compressed."""
    file = io.BytesIO()
    np.savez_compressed(
        file, allow_pickle=False, **{name: np.asarray(each) for name, each in contents(recording).items()}
    )
    return file.getvalue()


def json_text(recording: Recording) -> bytes:
    """All arrays as nested lists, and names."""
    values = {
        name: each.tolist() if isinstance(each, np.ndarray) else each for name, each in contents(recording).items()
    }
    return (json.dumps(values, ensure_ascii=False) + "\n").encode()


def read_recording(path: Path) -> Recording:
    """A file of `npz` or `json_text`, of `headlight inspect`, or of the page's export."""
    try:
        if path.suffix == ".json":
            values = json.loads(path.read_bytes())
        else:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
                values = {name: archive[name] for name in archive.files}
    except (OSError, ValueError, EOFError, BadZipFile) as error:
        raise ArraysError(f"{path} is no NPZ or JSON file that can be read ({error}).") from error
    if not isinstance(values, dict):
        raise ArraysError(f"{path} holds no named arrays. Write an object with arrays by kind: {', '.join(RECORDED)}.")
    return from_contents(values, name=path.stem)


def from_contents(values: Mapping[str, Any], *, name: str = "") -> Recording:
    """The opposite of `contents`."""
    read = {
        kind: layers_of(np.asarray(values[kind], dtype=np.float32), what=kind)
        for kind in RECORDED
        if kind in values and np.size(values[kind])
    }
    names = {side: [str(each) for each in values[side]] if side in values else None for side in SIDES}
    source, target, before = (
        tokens_of(each) if each is not None else None
        for each in (names["tokens"] or names["source_tokens"], names["target_tokens"], names["decoder_tokens"])
    )
    return record(cast("Any", read), Axes(source, target, None if before is None else before[0]), name=name)
