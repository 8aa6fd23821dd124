"""`show`, `compare` and `record`: views and recordings of attention from any source, to display or save."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headlight.model.recordings.builder import AxisTokens, build_recording, recording_from_arrays
from headlight.model.recordings.files import read_recording
from headlight.model.recordings.layers import Layers
from headlight.model.recordings.recording import IndexOrReduction, Recording, RecordingError
from headlight.model.recordings.transformers_outputs import ModelInputs, has_attention, recording_from_outputs
from headlight.model.records import KINDS, Judgement, MapKind, Token, Translation
from headlight.viz.notebook.view import View

INPUT_NAMES = tuple(
    name for name in ModelInputs.__dataclass_fields__ if name not in ("tokenizer", "source", "target", "tokens")
)


def show(
    attention: Any = None,
    *,
    kind: str | None = None,
    layer: IndexOrReduction | None = None,
    head: IndexOrReduction | None = None,
    row: int | None = None,
    column: int | None = None,
    language: str = "",
    **options: Any,
) -> View:
    """Show the attention of a model. `attention` is any input of `record`.

    `options` are passed to `record`. `kind`, `layer`, `head`, `row` and `column` are the initial selection, which
    `model/translate/opening.py` chooses by default for translations. The default language is that of the browser.
    """
    source = attention if isinstance(attention, Translation) and not options else record(attention, **options)
    selection = {"kind": kind, "layer": layer, "head": head, "row": row, "column": column}
    return View([source], selection, language)


def compare(
    first: Any,
    second: Any,
    *,
    kind: str | None = None,
    layer: IndexOrReduction | None = None,
    head: IndexOrReduction | None = None,
) -> View:
    """Compare two inputs of `show` side by side, with their difference if they have the same tokens."""
    selection = {"kind": kind, "layer": layer, "head": head, "row": None, "column": None}
    return View([record(first), record(second)], selection, "")


def record(
    attention: Any = None,
    *,
    encoder: Any = None,
    decoder: Any = None,
    cross: Any = None,
    source: Sequence[str] | None = None,
    target: Sequence[str] | None = None,
    tokens: Sequence[str] | None = None,
    tokenizer: Any = None,
    layers: Sequence[int] | None = None,
    batch: int | None = None,
    name: str = "",
    **inputs: Any,
) -> Recording:
    """Return the attention of any model as a `Recording`.

    `attention` may be a `Recording`, a `Translation`, a `Judgement`, a `View`, the path of a recording file, outputs of
    `transformers`, or self-attention arrays: one array `[layer, head, row, column]` or a list of layers. Outputs need
    the model's inputs: `input_ids=`, `attention_mask=`, `decoder_input_ids=`, `pixel_values=`, `input_features=`, or
    all as `**inputs`. `encoder`, `decoder` and `cross` are arrays of the other kinds. `layers` selects layers, and
    `batch` selects one sequence.
    """
    if isinstance(attention, View):
        attention = attention.sources[0]
    if isinstance(attention, Recording):
        return attention
    if isinstance(attention, Translation):
        return recording_from_translation(attention)
    if isinstance(attention, Judgement):
        return _recording_from_tokens({"self": attention.attention}, attention.tokens, attention.text)
    if isinstance(attention, (str, Path)):
        return read_recording(Path(attention))
    unknown = [
        input_name
        for input_name in inputs
        if input_name not in INPUT_NAMES and not input_name.endswith(("_ids", "_mask", "_position"))
    ]
    if unknown:
        raise RecordingError(f"Unknown argument {unknown[0]!r}. Model inputs are {', '.join(INPUT_NAMES)}.")
    if attention is not None and has_attention(attention):
        named_inputs = {input_name: value for input_name, value in inputs.items() if input_name in INPUT_NAMES}
        model_inputs = ModelInputs(tokenizer=tokenizer, source=source, target=target, tokens=tokens, **named_inputs)
        return recording_from_outputs(attention, model_inputs, layers=layers, batch=batch, name=name)
    if attention is None and isinstance(inputs.get("input_ids"), Mapping):
        raise RecordingError("input_ids is a dictionary. Give its parts: show(outputs, tokenizer=tokenizer, **inputs).")
    source = tokens if source is None else source
    arrays: dict[MapKind, Any] = {"self": attention, "encoder": encoder, "decoder": decoder, "cross": cross}
    return recording_from_arrays(arrays, source=source, target=target, layers=layers, batch=batch, name=name)


def recording_from_translation(translation: Translation) -> Recording:
    """Return the maps and tokens of a translation as a recording, without its other data."""
    layers: dict[MapKind, Layers] = {kind: _layers(translation.attention.of(kind)) for kind in KINDS}
    source, target = (
        (translation.source_tokens, translation.source_text),
        (translation.target_tokens, translation.text),
    )
    name = translation.request.model
    return build_recording(layers, AxisTokens(source, target, translation.decoder_tokens), name=name)


def _recording_from_tokens(arrays: Mapping[MapKind, Any], tokens: tuple[Token, ...], text: str) -> Recording:
    return build_recording({kind: _layers(maps) for kind, maps in arrays.items()}, AxisTokens((tokens, text)))


def _layers(maps: Any) -> Layers:
    return Layers(list(maps), list(range(len(maps))), len(maps), 1, low_precision=False)
