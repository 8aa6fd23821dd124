"""`show`, `compare` and `record`: views and recordings of attention from any source, to display or save."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import signature
from pathlib import Path
from typing import Any

from headlight.model.recordings.builder import AxisTokens, build_recording, recording_from_arrays
from headlight.model.recordings.files import read_recording
from headlight.model.recordings.hook_patterns import arrays_from_patterns, has_hook_patterns
from headlight.model.recordings.layers import Layers
from headlight.model.recordings.recording import IndexOrReduction, Recording, RecordingError, did_you_mean
from headlight.model.recordings.transformers_outputs import (
    INPUT_NAMES,
    ModelInputs,
    has_attention,
    is_transformers_model,
    recording_from_outputs,
    require_arrays,
)
from headlight.model.records import KINDS, Judgement, MapKind, Token, Translation
from headlight.viz.notebook.model_recordings import MODEL_OPTIONS, model_recordings, single_recording
from headlight.viz.notebook.view import View

# Model inputs that do not contain the tokens, with the rest of the error message.
ADVICE_BY_INPUT = {
    "labels": (
        "names no tokens: the decoder reads the labels shifted by one. Give decoder_input_ids="
        "model.prepare_decoder_input_ids_from_labels(labels), or leave labels out for a model without a decoder."
    ),
    "input_values": (
        "names no tokens: how many samples make one depends on the model. Leave it out to number the tokens, or name "
        "them with tokens=[…]."
    ),
    "inputs_embeds": "names no tokens. Leave it out to number the tokens, or name them with tokens=[…].",
}


def show(
    attention: Any = None,
    tokenizer: Any = None,
    text: str | Sequence[str] | None = None,
    *,
    kind: str | None = None,
    layer: IndexOrReduction | None = None,
    head: IndexOrReduction | None = None,
    row: int | None = None,
    column: int | None = None,
    language: str = "",
    **options: Any,
) -> View:
    """Show the attention of a model: `show(model, tokenizer, "a sentence")`. `attention` is any input of `record`.

    The text and image encoders of a model such as CLIP are shown one below the other. `options` are passed to `record`.
    `kind`, `layer` (its number in the model), `head`, `row` and `column` are the initial selection, which
    `model/translate/opening.py` chooses by default for translations. The default language is that of the browser.
    """
    options |= {name: value for name, value in (("tokenizer", tokenizer), ("text", text)) if value is not None}
    selection = {"kind": kind, "layer": layer, "head": head, "row": row, "column": column}
    if isinstance(attention, Translation) and not options:
        return View([attention], selection, language)
    if is_transformers_model(attention):
        return View(model_recordings(attention, **options), selection, language)
    return View([record(attention, **options)], selection, language)


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
    tokenizer: Any = None,
    text: str | Sequence[str] | None = None,
    *,
    encoder: Any = None,
    decoder: Any = None,
    cross: Any = None,
    source: Sequence[str] | None = None,
    target: str | Sequence[str] | None = None,
    tokens: Sequence[str] | None = None,
    layers: Sequence[int] | None = None,
    batch: int | None = None,
    name: str = "",
    **inputs: Any,
) -> Recording:
    """Return the attention of any model as a `Recording`.

    `attention` may be:
    - a model of `transformers`, which reads `text` and `text_pair`, or `image`, with its tokenizer or processor. An
      encoder-decoder model writes an answer, or reads `target`, a text. `generate` is the number of tokens that a
      model writes, or the options of its `generate`; `part` selects one encoder of a model such as CLIP
    - outputs of `transformers`, with the model's inputs: `input_ids=`, `attention_mask=`, `decoder_input_ids=`,
      `pixel_values=`, `input_features=`, or all as `**inputs`
    - self-attention arrays, one array `[layer, head, row, column]` or a list of layers; `encoder`, `decoder` and
      `cross` are arrays of the other kinds
    - an `ActivationCache` of TransformerLens, or a dictionary with its names
    - a `Recording`, a `Translation`, a `Judgement`, a `View`, or the path of a recording file

    `layers` selects layers, and `batch` selects one sequence. Arguments that would have no effect raise a
    `RecordingError`.
    """
    options = {
        "encoder": encoder, "decoder": decoder, "cross": cross, "source": source, "target": target, "tokens": tokens,
        "tokenizer": tokenizer, "text": text, "layers": layers, "batch": batch, "name": name or None, **inputs,
    }  # fmt: skip
    options = {option: value for option, value in options.items() if value is not None}
    if is_transformers_model(attention):
        return single_recording(model_recordings(attention, **options))
    if callable(getattr(attention, "forward", None)):
        require_arrays(attention)
    _require_known_names(options)
    if isinstance(attention, (View, Recording, Translation, Judgement, str, Path)) and options:
        source_name = "A file" if isinstance(attention, (str, Path)) else f"A {type(attention).__name__}"
        raise RecordingError(
            f"{source_name} has its own tokens and layers, so {next(iter(options))}= would be ignored. Leave it out, "
            "or give the arrays or outputs."
        )
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
    if attention is not None and has_attention(attention):
        named_inputs = {input_name: value for input_name, value in inputs.items() if input_name in INPUT_NAMES}
        model_inputs = ModelInputs(tokenizer=tokenizer, source=source, target=target, tokens=tokens, **named_inputs)
        return recording_from_outputs(attention, model_inputs, layers=layers, batch=batch, name=name)
    if attention is None and isinstance(inputs.get("input_ids"), Mapping):
        raise RecordingError("input_ids is a dictionary. Give its parts: show(outputs, tokenizer=tokenizer, **inputs).")
    if attention is not None and has_hook_patterns(attention):
        if inputs or tokenizer is not None:
            raise RecordingError("A cache names no tokens. Give tokens=model.to_str_tokens(text) and no other inputs.")
        arrays = arrays_from_patterns(attention)
        source = tokens if source is None else source
        return recording_from_arrays(arrays, source=source, target=target, layers=layers, batch=batch, name=name)
    if attention is not None:
        require_arrays(attention)
    ignored = [option for option in options if option == "tokenizer" or option in inputs]
    if ignored:
        raise RecordingError(
            f"{ignored[0]}= would be ignored, because arrays alone do not say which tokens they belong to. Give the "
            "outputs themselves, show(outputs, tokenizer=tokenizer, **inputs), or the arrays with names: "
            "tokens=tokenizer.convert_ids_to_tokens(input_ids[0])."
        )
    if source is not None and tokens is not None:
        raise RecordingError("source= and tokens= name the same tokens here. Give one of them.")
    source = tokens if source is None else source
    arrays = {"self": attention, "encoder": encoder, "decoder": decoder, "cross": cross}
    return recording_from_arrays(arrays, source=source, target=target, layers=layers, batch=batch, name=name)


def _require_known_names(options: Mapping[str, Any]) -> None:
    """Raise a `RecordingError` for an argument that has no effect, with advice."""
    known_names = {*signature(record).parameters, *signature(show).parameters, *INPUT_NAMES, *MODEL_OPTIONS}
    known_names -= {"inputs", "options"}
    for option in options:
        if option in MODEL_OPTIONS:
            raise RecordingError(
                f"{option}= is for a model, and its outputs or arrays have read their text already. Leave it out, or "
                "give the model: show(model, tokenizer, 'a sentence')."
            )
        if option in known_names or option.endswith(("_ids", "_mask", "_position")):
            continue
        if option in ADVICE_BY_INPUT:
            raise RecordingError(f"{option}= {ADVICE_BY_INPUT[option]}")
        raise RecordingError(
            f"Unknown argument {option!r}.{did_you_mean(option, known_names)} "
            f"Model inputs are {', '.join(INPUT_NAMES)}."
        )


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
