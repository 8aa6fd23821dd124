"""The outputs of a `transformers` model, or of any model with the same field names, as a `Recording`.

Outputs are recognised by their fields: `attentions` of a model with one stack, plus `cross_attentions` if it attends to
another stack; `encoder_attentions`, `decoder_attentions` and `cross_attentions` of a model with two stacks. `generate`
returns steps × layers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from headlight.model.recordings.builder import AxisTokens, NamedTokens, build_recording
from headlight.model.recordings.generate_steps import beam_rows, is_stepwise, join_steps
from headlight.model.recordings.images import (
    ImageLayout,
    Patches,
    Picture,
    locate_image_tokens,
    locate_patches,
    locate_visible_patches,
    read_picture,
)
from headlight.model.recordings.layers import Layers, parse_layers, to_numpy
from headlight.model.recordings.recording import Recording, RecordingError, Remark
from headlight.model.recordings.sliding_windows import expand_windows
from headlight.model.recordings.token_names import names_from_ids, numbered_names, patch_names, tokens_from_names
from headlight.model.records import MapKind, Token

FIELDS = ("attentions", "encoder_attentions", "decoder_attentions", "cross_attentions")
FRAME_SECONDS = 0.01  # duration of a spectrogram frame in Whisper and similar models


@dataclass(frozen=True, kw_only=True)
class ModelInputs:
    """The model inputs that provide token names."""

    tokenizer: Any = None
    input_ids: Any = None
    attention_mask: Any = None
    decoder_input_ids: Any = None
    decoder_attention_mask: Any = None
    encoder_attention_mask: Any = None  # mask of the encoder states, if a decoder was called alone
    pixel_values: Any = None
    input_features: Any = None
    source: Sequence[str] | None = None  # token names; they have priority over ids
    target: Sequence[str] | None = None
    tokens: Sequence[str] | None = None  # names of `input_ids`: source tokens, or the tokens of a decoder called alone
    layout: ImageLayout = field(default_factory=ImageLayout)  # layout of the tokens of `pixel_values`


NO_INPUTS = ("tokenizer", "source", "target", "tokens", "layout")
INPUT_NAMES = tuple(name for name in ModelInputs.__dataclass_fields__ if name not in NO_INPUTS)


def get_field(outputs: Any, name: str) -> Any:
    """Return a field of an output, which may be an object, a dictionary or both."""
    attribute = getattr(outputs, name, None)
    return outputs.get(name) if attribute is None and isinstance(outputs, Mapping) else attribute


def has_attention(outputs: Any) -> bool:
    """Whether a value has attention fields like the outputs of `transformers`, even if they are empty."""
    return any(has_field(outputs, name) for name in FIELDS)


def has_field(outputs: Any, name: str) -> bool:
    """Whether an output has a field, even if it is None."""
    return hasattr(outputs, name) or (isinstance(outputs, Mapping) and name in outputs)


def is_transformers_model(value: Any) -> bool:
    """Whether a value is a model of `transformers`, or wraps one, such as an adapter."""
    return callable(getattr(value, "forward", None)) and hasattr(getattr(value, "config", None), "to_dict")


def require_arrays(value: Any) -> None:
    """Raise a `RecordingError` with advice for a model, its inputs, or outputs without attention."""
    name = type(value).__name__
    if hasattr(value, "translate") or hasattr(value, "judge"):
        call = "translator.translate(text)" if hasattr(value, "translate") else "judge.judge(text)"
        raise RecordingError(f"{name} is a model. Give a result of it: show({call}).")
    if callable(getattr(value, "forward", None)):
        raise RecordingError(
            f"{name} is a model, but none of transformers, so Headlight does not know how to call it. Call it and give "
            "its weights: show(attention, tokens=tokens)."
        )
    if not isinstance(value, Mapping):
        return
    parts = [key for key, part in value.items() if part is not None and has_attention(part)]
    if parts:
        calls = " or ".join(f"show(outputs.{part}, …)" for part in parts)
        raise RecordingError(f"{name} holds the outputs of several models. Give those of one: {calls}.")
    fields = ", ".join(map(str, value))
    if "input_ids" in value or "pixel_values" in value:
        raise RecordingError(
            f"{name} holds {fields}: these are inputs of a model. Give its outputs first: "
            "show(outputs, tokenizer=tokenizer, **inputs)."
        )
    raise RecordingError(
        f"{name} holds {fields or 'nothing'}, and none of {', '.join(FIELDS)}. Call the model with "
        "output_attentions=True; a model without attention, such as Mamba, has none to show."
    )


def recording_from_outputs(
    outputs: Any, inputs: ModelInputs, *, layers: Sequence[int] | None = None, batch: int | None = None, name: str = ""
) -> Recording:
    """Build a recording of one sentence of the outputs, or of one sequence of `generate`."""
    single, encoder, decoder, cross = (
        get_field(outputs, entry) or None for entry in FIELDS
    )  # empty tuples become None
    is_decoder_only = single is not None and cross is not None and encoder is None and decoder is None
    if is_decoder_only:  # a decoder that was called alone, with the states of an encoder
        single, decoder = None, single
    results: dict[MapKind, Any] = {"self": single, "encoder": encoder, "decoder": decoder, "cross": cross}
    results = {kind: entry for kind, entry in results.items() if entry is not None}
    if not results:
        raise RecordingError(
            "These outputs hold no attention. Load the model with attn_implementation='eager' and call it with "
            "output_attentions=True."
        )
    for kind, global_field in (("self", "global_attentions"), ("encoder", "encoder_global_attentions")):
        if kind in results and has_field(outputs, global_field):
            results[kind] = expand_windows(results[kind], get_field(outputs, global_field))
    return _Reader(outputs, inputs, layers, batch).read(results, name, is_decoder_only=is_decoder_only)


class _Reader:
    """Reader of one sequence of the batch, with names for its axes."""

    def __init__(self, outputs: Any, inputs: ModelInputs, layers: Sequence[int] | None, batch: int | None) -> None:
        self.outputs = outputs
        self.inputs = inputs
        self.layers = layers
        self.batch = batch or 0
        self.has_batch_index = batch is not None
        sequences = get_field(outputs, "sequences")
        self.sequences = None if sequences is None else to_numpy(sequences)
        self.beams = get_field(outputs, "beam_indices")
        self.remarks: list[Remark] = []
        self.windows = 1  # number of windows of a picture

    def read(self, values: Mapping[MapKind, Any], name: str, *, is_decoder_only: bool) -> Recording:
        axes = AxisTokens(remarks=self.remarks)
        layers_by_kind = {kind: self._parse_layers(kind, value) for kind, value in values.items()}
        self._add_batch_remark(layers_by_kind)
        if is_decoder_only:
            self.inputs = self._rename_decoder_inputs(*layers_by_kind["cross"].arrays[0].shape[1:])
        stepwise = any(is_stepwise(value) for value in values.values())
        if "self" in layers_by_kind:
            self._require_own_keys(layers_by_kind["self"].arrays[0].shape[1:])
            count = layers_by_kind["self"].arrays[0].shape[-1]
            ids = self.sequences[self._sequence_index()][:count] if stepwise and self.sequences is not None else None
            axes.source = self._name_source_tokens(count, ids)
            axes.picture = self._read_picture(count, ids)
            axes.source_mask = self._select_mask(self.inputs.attention_mask, count, stepwise=stepwise)
        else:
            source_count = self._get_axis_size(layers_by_kind, {"encoder": 1, "cross": 2})
            if source_count is not None:
                axes.source = self._name_source_tokens(source_count)
                axes.picture = self._read_picture(source_count)
                axes.source_mask = self._select_mask(self.inputs.attention_mask, source_count)
            target_count = self._get_axis_size(layers_by_kind, {"decoder": 1, "cross": 1})
            if target_count is not None and self.sequences is not None and self.inputs.target is None:
                axes.target, axes.decoder_inputs = self._name_decoder_tokens(target_count)
                axes.target_mask = np.arange(target_count) < self._count_written_tokens(target_count)
            elif target_count is not None:
                axes.target = self._name_target_tokens(target_count)
                axes.target_mask = self._select_mask(self.inputs.decoder_attention_mask, target_count)
        return build_recording(layers_by_kind, axes, name=name)

    # ------------------------------------------------------------ maps

    def _parse_layers(self, kind: MapKind, value: Any) -> Layers:
        if not is_stepwise(value):
            return parse_layers(value, label=kind, numbers=self.layers, sentence=self._find_batch_row(value))
        beams = beam_rows(self.beams, self._sequence_index(), len(value))
        if self.beams is not None:
            self._add_remark("beam", {})
        joined_layers = join_steps(value, beams, growing_columns=kind != "cross", label=kind)
        layers = parse_layers(joined_layers, label=kind, numbers=self.layers)
        return layers._replace(low_precision=parse_layers(value[0], label=kind, sentence=beams[0]).low_precision)

    def _find_batch_row(self, layers: Any) -> int:
        """Return the batch row. An encoder reads a sentence once, so it may have fewer rows than sequences."""
        first = next((layer for layer in layers if layer is not None), None)
        shape: tuple[int, ...] = getattr(first, "shape", ())
        if self.sequences is None or len(shape) != 4:
            return self.batch
        return self._sequence_index() * int(shape[0]) // len(self.sequences)

    def _sequence_index(self) -> int:
        if self.sequences is not None and not 0 <= self.batch < len(self.sequences):
            count = len(self.sequences)
            raise RecordingError(f"There are {count} sequences, so batch={self.batch} does not exist.")
        return self.batch

    def _add_batch_remark(self, layers_by_kind: Mapping[MapKind, Layers]) -> None:
        count = (
            max(layers.sentences for layers in layers_by_kind.values())
            if self.sequences is None
            else len(self.sequences)
        )
        self.windows = self._count_windows(count)
        if self.windows > 1:
            self._add_remark("window", {"number": self.batch % self.windows + 1, "count": self.windows})
        elif count > 1 and not self.has_batch_index:
            self._add_remark("batch", {"number": self.batch + 1, "count": count})

    def _count_windows(self, count: int) -> int:
        """Return the number of windows of a picture. In Swin, they are rows of the batch."""
        if self.inputs.pixel_values is None or self.inputs.input_ids is not None or self.sequences is not None:
            return 1
        shape = to_numpy(self.inputs.pixel_values).shape
        pictures = shape[0] if len(shape) == 4 else 1
        return count // pictures if len(shape) in (3, 4) and count % pictures == 0 else 1

    def _add_remark(self, word: str, values: Mapping[str, Any]) -> None:
        if all(remark.word != word for remark in self.remarks):
            self.remarks.append(Remark(word, values))

    @staticmethod
    def _get_axis_size(layers: Mapping[MapKind, Layers], axes: Mapping[MapKind, int]) -> int | None:
        sizes: list[int] = [layers[kind].arrays[0].shape[axis] for kind, axis in axes.items() if kind in layers]
        return sizes[0] if sizes else None

    # ------------------------------------------------------------ names

    def _rename_decoder_inputs(self, rows: int, columns: int) -> ModelInputs:
        """Rename the inputs to those of an encoder-decoder model: the ids of a decoder label its rows.

        Perceiver's rows are not tokens. If the number of ids matches only the columns, they label the columns.
        """
        inputs = self.inputs
        if inputs.decoder_input_ids is None:
            count = rows if inputs.input_ids is None else len(self._select_ids(inputs.input_ids))
            if count == columns != rows:
                return inputs
            if count != rows:
                raise RecordingError(
                    f"input_ids has {count} tokens, but the decoder's maps have {rows} rows. Give the ids of the same "
                    "call."
                )
            inputs = replace(
                inputs,
                input_ids=None,
                attention_mask=inputs.encoder_attention_mask,
                decoder_input_ids=inputs.input_ids,
                decoder_attention_mask=inputs.attention_mask,
                target=inputs.tokens if inputs.target is None else inputs.target,
                tokens=None,
            )
        if all(
            field is None for field in (inputs.source, inputs.input_ids, inputs.pixel_values, inputs.input_features)
        ):
            self._add_remark("columns", {"count": columns})
        return inputs

    def _name_source_tokens(self, count: int, ids: np.ndarray | None = None) -> NamedTokens:
        inputs = self.inputs
        if (names := inputs.tokens if inputs.source is None else inputs.source) is not None:
            return tokens_from_names(names)
        if ids is None and inputs.input_ids is not None:
            ids = self._select_ids(inputs.input_ids)
        if ids is not None and len(ids) == count:
            return self._name_tokens(ids)
        if inputs.pixel_values is not None:
            # A window is square, even if the picture is not.
            window = locate_patches(count, (1, 1), ImageLayout()) if self.windows > 1 else None
            patches = self._locate_patches(count) if window is None else window
            return numbered_names(count) if patches is None else patch_names(patches)
        if inputs.input_features is not None:
            return _audio_frames(count, to_numpy(inputs.input_features).shape)
        if ids is not None:
            raise RecordingError(
                f"input_ids has {len(ids)} tokens, but the maps have {count}. Give the ids of the same call."
            )
        return numbered_names(count)

    def _require_own_keys(self, size: Sequence[int]) -> None:
        """Raise a `RecordingError` if rows and columns are different patches."""
        rows, columns = size
        if self.inputs.pixel_values is not None and rows != columns:
            raise RecordingError(
                f"The maps have {rows} rows and {columns} columns: the model merges patches, as SegFormer and PVT do, "
                "so they are not the same tokens. Give layers of one shape as cross-attention: "
                "show(cross=outputs.attentions[:1])."
            )

    def _locate_patches(self, count: int) -> Patches | None:
        """Return the patch of each source token, or None if the patches cannot be located."""
        values, layout = to_numpy(self.inputs.pixel_values), self.inputs.layout
        has_own_order = has_field(self.outputs, "bool_masked_pos")  # Hiera orders patches by mask units
        if self.windows > 1 or values.ndim not in (3, 4) or has_own_order:
            return None
        size: tuple[int, int] = values.shape[-2:]
        order = get_field(self.outputs, "ids_restore")
        if order is not None:
            return locate_visible_patches(count, self._select_ids(order), size, layout)
        return locate_patches(count, size, layout)

    def _read_picture(self, count: int, ids: np.ndarray | None = None) -> Picture | None:
        """Return the image whose patches are source tokens, or None."""
        inputs = self.inputs
        if inputs.pixel_values is None:
            return None
        if ids is None and inputs.input_ids is not None:
            ids = self._select_ids(inputs.input_ids)
        is_text = ids is not None and len(ids) == count
        patches = (
            locate_image_tokens(ids, inputs.layout) if ids is not None and is_text else self._locate_patches(count)
        )
        if patches is None:
            return None
        values = to_numpy(inputs.pixel_values)
        values = values if values.ndim == 3 else values[self._find_input_row(len(values))]
        return read_picture(values, inputs.tokenizer, patches)

    def _find_input_row(self, count: int) -> int:
        """Return the batch row of the inputs. `generate` may return several sequences per row."""
        return self.batch if self.sequences is None else self._sequence_index() * count // len(self.sequences)

    def _name_target_tokens(self, count: int) -> NamedTokens:
        if self.inputs.target is not None:
            return tokens_from_names(self.inputs.target)
        ids = self.inputs.decoder_input_ids
        if ids is None:
            return numbered_names(count)
        row = self._select_ids(ids)
        if len(row) != count:
            raise RecordingError(
                f"decoder_input_ids has {len(row)} tokens, but the decoder's maps have {count} rows. Give the ids of "
                "the same call."
            )
        return self._name_tokens(row)

    def _name_decoder_tokens(self, count: int) -> tuple[NamedTokens, tuple[Token, ...]]:
        """Return the generated tokens, and the input token of each of them."""
        assert self.sequences is not None  # noqa: S101 (the caller has checked)
        tokens, text = self._name_tokens(self.sequences[self._sequence_index()][: count + 1])
        inputs, outputs = tokens[:count], tokens[1:]
        if len(outputs) < count:  # the last input has no generated token
            outputs = (*outputs, Token("", -1, len(text), len(text), special=True))
        return (outputs, text), inputs

    def _count_written_tokens(self, count: int) -> int:
        """Return the number of generated tokens, without the padding of a sequence that ended early."""
        assert self.sequences is not None  # noqa: S101 (the caller has checked)
        tokenizer = getattr(self.inputs.tokenizer, "tokenizer", self.inputs.tokenizer)
        padding = getattr(tokenizer, "pad_token_id", None)
        end = getattr(tokenizer, "eos_token_id", None)
        ids = list(self.sequences[self._sequence_index()][1 : count + 1])
        if end is not None and end in ids:
            return ids.index(end) + 1
        while padding is not None and ids and ids[-1] == padding:
            ids.pop()
        return max(1, len(ids))

    def _name_tokens(self, ids: Sequence[int] | np.ndarray) -> NamedTokens:
        token_ids = [int(token_id) for token_id in ids]
        if self.inputs.tokenizer is None:
            return tokens_from_names([str(token_id) for token_id in token_ids], [False] * len(token_ids), token_ids)
        return names_from_ids(self.inputs.tokenizer, token_ids)

    def _select_ids(self, ids: Any) -> np.ndarray:
        array = to_numpy(ids)
        if array.ndim == 1:
            return array
        row_index = self._find_input_row(len(array))
        if array.ndim != 2 or row_index >= len(array):
            raise RecordingError(f"input_ids has the shape {array.shape}. Give [batch, tokens] or [tokens].")
        row: np.ndarray = array[row_index]
        return row

    def _select_mask(self, mask: Any, count: int, *, stepwise: bool = False) -> np.ndarray | None:
        """Return the mask of unpadded tokens. Tokens generated after the mask was made are not padding."""
        if mask is None:
            return None
        row = self._select_ids(mask)
        if stepwise:
            row = np.concatenate([row, np.ones(max(0, count - len(row)), dtype=row.dtype)])
        if len(row) == count:
            return row
        if self.inputs.input_features is not None or self.inputs.pixel_values is not None:
            return None  # the mask is of samples or pixels, several of which form a token
        raise RecordingError(
            f"The attention mask has {len(row)} tokens, but the maps have {count}. Give the mask of the same "
            "call, or none."
        )


def _audio_frames(count: int, shape: Sequence[int]) -> NamedTokens:
    """Name audio frames by their seconds from the start."""
    step = shape[-1] * FRAME_SECONDS / count
    return tokens_from_names([f"{index * step:.2f}" for index in range(count)], [False] * count)
