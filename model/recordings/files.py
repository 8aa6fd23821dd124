"""Recordings as NPZ and JSON, in the form in which translations are exported, too (`model/checkpoints/formats.py`).

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

from headlight.model.recordings.builder import AxisTokens, NamedTokens, build_recording
from headlight.model.recordings.layers import parse_layers
from headlight.model.recordings.recording import MAP_KINDS, Recording, RecordingError
from headlight.model.recordings.token_names import locate_tokens, tokens_from_names

SIDES = ("tokens", "source_tokens", "target_tokens", "decoder_tokens")


def to_dict(recording: Recording) -> dict[str, Any]:
    """Arrays and lists of names."""
    results: dict[str, Any] = {kind: recording.attention.of(kind) for kind in recording.kinds}
    results["source"] = recording.source_text
    results["tokens" if "self" in recording.maps else "source_tokens"] = [token.text for token in recording.source]
    if recording.target:
        results["translation"] = recording.text
        results["target_tokens"] = [token.text for token in recording.target]
    if recording.decoder_inputs is not None:
        results["decoder_tokens"] = [token.text for token in recording.decoder_inputs]
    return results


def to_npz(recording: Recording) -> bytes:
    """All arrays and names, compressed."""
    file = io.BytesIO()
    np.savez_compressed(
        file, allow_pickle=False, **{name: np.asarray(each) for name, each in to_dict(recording).items()}
    )
    return file.getvalue()


def to_json(recording: Recording) -> bytes:
    """All arrays as nested lists, and names."""
    values = {
        name: each.tolist() if isinstance(each, np.ndarray) else each for name, each in to_dict(recording).items()
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
        raise RecordingError(f"{path} is no NPZ or JSON file that can be read ({error}).") from error
    if not isinstance(values, dict):
        raise RecordingError(
            f"{path} holds no named arrays. Write an object with arrays by kind: {', '.join(MAP_KINDS)}."
        )
    return from_dict(values, name=path.stem)


def from_dict(values: Mapping[str, Any], *, name: str = "") -> Recording:
    """The opposite of `contents`."""
    read = {
        kind: parse_layers(np.asarray(values[kind], dtype=np.float32), what=kind)
        for kind in MAP_KINDS
        if kind in values and np.size(values[kind])
    }
    names = {side: [str(each) for each in values[side]] if side in values else None for side in SIDES}
    source = _tokens(names["tokens"] or names["source_tokens"], values.get("source"))
    target = _tokens(names["target_tokens"], values.get("translation"))
    before = _tokens(names["decoder_tokens"], None if target is None else target[1])
    return build_recording(
        cast("Any", read), AxisTokens(source, target, None if before is None else before[0]), name=name
    )


def _tokens(names: list[str] | None, text: Any) -> NamedTokens | None:
    """Locate token names in the text; if that fails, build a text from the names."""
    if names is None:
        return None
    return (None if text is None else locate_tokens(names, str(text))) or tokens_from_names(names)
