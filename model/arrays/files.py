"""Recordings as NPZ and JSON, in the form in which translations are exported, too (`model/folders/formats.py`).

Arrays by kind, `[layer, head, row, column]`; names of tokens as `source_tokens`, `target_tokens`, `decoder_tokens`, of
attention of the kind "self" as `tokens`; the texts that they stand in as `source` and `translation`.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast
from zipfile import BadZipFile

import numpy as np

from headlight.model.arrays.building import Axes, Named, record
from headlight.model.arrays.pieces import located, tokens_of
from headlight.model.arrays.reading import layers_of
from headlight.model.arrays.recording import RECORDED, ArraysError, Recording

SIDES = ("tokens", "source_tokens", "target_tokens", "decoder_tokens")


def contents(recording: Recording) -> dict[str, Any]:
    """Arrays and lists of names."""
    found: dict[str, Any] = {kind: recording.attention.of(kind) for kind in recording.kinds}
    found["source"] = recording.source_text
    found["tokens" if "self" in recording.maps else "source_tokens"] = [token.text for token in recording.source]
    if recording.target:
        found["translation"] = recording.text
        found["target_tokens"] = [token.text for token in recording.target]
    if recording.before is not None:
        found["decoder_tokens"] = [token.text for token in recording.before]
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
    source = _tokens(names["tokens"] or names["source_tokens"], values.get("source"))
    target = _tokens(names["target_tokens"], values.get("translation"))
    before = _tokens(names["decoder_tokens"], None if target is None else target[1])
    return record(cast("Any", read), Axes(source, target, None if before is None else before[0]), name=name)


def _tokens(names: list[str] | None, text: Any) -> Named | None:
    """Locate token names in the text; if that fails, build a text from the names."""
    if names is None:
        return None
    return (None if text is None else located(names, str(text))) or tokens_of(names)
