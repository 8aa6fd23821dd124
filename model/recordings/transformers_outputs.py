"""The outputs of a model of `transformers`, or of anything that names its attentions so, as a `Recording`.

Recognised by their fields: `attentions` of a model with one stack, with `cross_attentions` if it reads another one;
`encoder_attentions`, `decoder_attentions`, `cross_attentions` of one with two. `generate` gives steps × layers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isqrt
from typing import Any

import numpy as np

from headlight.model.recordings.builder import AxisTokens, NamedTokens, build_recording
from headlight.model.recordings.generate_steps import beam_rows, is_stepwise, join_steps
from headlight.model.recordings.layers import Layers, parse_layers, to_numpy
from headlight.model.recordings.recording import Recording, RecordingError, Remark
from headlight.model.recordings.token_names import names_from_ids, numbered_names, patch_names, tokens_from_names
from headlight.model.records import MapKind, Token

FIELDS = ("attentions", "encoder_attentions", "decoder_attentions", "cross_attentions")
FRAME_SECONDS = 0.01  # seconds of sound in a frame of a spectrogram, as Whisper and its kin cut it


@dataclass(frozen=True, kw_only=True)
class ModelInputs:
    """The model inputs that provide token names."""

    tokenizer: Any = None
    input_ids: Any = None
    attention_mask: Any = None
    decoder_input_ids: Any = None
    decoder_attention_mask: Any = None
    encoder_attention_mask: Any = None  # a lone decoder's name for the mask of the encoder's states
    pixel_values: Any = None
    input_features: Any = None
    source: Sequence[str] | None = None  # names of tokens, which count before ids
    target: Sequence[str] | None = None
    tokens: Sequence[str] | None = None  # names of what `input_ids` are: the source's, but of a decoder alone its own


def get_field(outputs: Any, name: str) -> Any:
    """A field of an output, which may be an object, a dictionary or both."""
    own = getattr(outputs, name, None)
    return outputs.get(name) if own is None and isinstance(outputs, Mapping) else own


def has_attention(outputs: Any) -> bool:
    """Whether this names attention as outputs of `transformers` do, be it empty."""
    return any(hasattr(outputs, name) or (isinstance(outputs, Mapping) and name in outputs) for name in FIELDS)


def recording_from_outputs(
    outputs: Any, inputs: ModelInputs, *, layers: Sequence[int] | None = None, batch: int | None = None, name: str = ""
) -> Recording:
    """One sentence of the outputs; of `generate` one sequence."""
    own, encoder, decoder, cross = (get_field(outputs, each) or None for each in FIELDS)  # some are empty
    alone = own is not None and cross is not None and encoder is None and decoder is None
    if alone:  # a decoder without its encoder, whose states it was given
        own, decoder = None, own
    results: dict[MapKind, Any] = {"self": own, "encoder": encoder, "decoder": decoder, "cross": cross}
    results = {kind: each for kind, each in results.items() if each is not None}
    if not results:
        raise RecordingError(
            "These outputs hold no attention. Load the model with attn_implementation='eager' and call it with "
            "output_attentions=True."
        )
    return _Reader(outputs, inputs, layers, batch).read(results, name, alone=alone)


class _Reader:
    """Selects one sequence of the batch and names its axes."""

    def __init__(self, outputs: Any, inputs: ModelInputs, layers: Sequence[int] | None, batch: int | None) -> None:
        self.inputs = inputs
        self.layers = layers
        self.batch = batch or 0
        self.chosen = batch is not None
        sequences = get_field(outputs, "sequences")
        self.sequences = None if sequences is None else to_numpy(sequences)
        self.beams = get_field(outputs, "beam_indices")
        self.remarks: list[Remark] = []
        self.rows_read = 0

    def read(self, found: Mapping[MapKind, Any], name: str, *, alone: bool) -> Recording:
        axes = AxisTokens(remarks=self.remarks)
        read = {kind: self._layers(kind, value) for kind, value in found.items()}
        self._remark_batch(read)
        if alone:
            self.inputs = self._of_decoder_alone(*read["cross"].arrays[0].shape[1:])
        stepwise = any(is_stepwise(value) for value in found.values())
        if "self" in read:
            count = read["self"].arrays[0].shape[-1]
            ids = self.sequences[self._sequence()][:count] if stepwise and self.sequences is not None else None
            axes.source = self._source(count, ids)
            axes.source_mask = self._mask(self.inputs.attention_mask, count, grown=stepwise)
        else:
            source = self._count(read, {"encoder": 1, "cross": 2})
            if source is not None:
                axes.source = self._source(source)
                axes.source_mask = self._mask(self.inputs.attention_mask, source)
            target = self._count(read, {"decoder": 1, "cross": 1})
            if target is not None and stepwise and self.sequences is not None and self.inputs.target is None:
                axes.target, axes.decoder_inputs = self._decoder_tokens(target)
                axes.target_mask = np.arange(target) < self._length(target)
            elif target is not None:
                axes.target = self._target(target)
                axes.target_mask = self._mask(self.inputs.decoder_attention_mask, target)
        return build_recording(read, axes, name=name)

    # ------------------------------------------------------------ maps

    def _layers(self, kind: MapKind, value: Any) -> Layers:
        if not is_stepwise(value):
            return parse_layers(value, what=kind, numbers=self.layers, sentence=self._row(value))
        beams = beam_rows(self.beams, self._sequence(), len(value))
        if self.beams is not None:
            self._remark("beam", {})
        whole = join_steps(value, beams, growing_columns=kind != "cross", what=kind)
        read = parse_layers(whole, what=kind, numbers=self.layers)
        return read._replace(low_precision=parse_layers(value[0], what=kind, sentence=beams[0]).low_precision)

    def _row(self, layers: Any) -> int:
        """The row of the sentence: an encoder that read each sentence once has fewer rows than there are sequences."""
        first = next((each for each in layers if each is not None), None)
        shape: tuple[int, ...] = getattr(first, "shape", ())
        if self.sequences is None or len(shape) != 4:
            return self.batch
        return self._sequence() * int(shape[0]) // len(self.sequences)

    def _sequence(self) -> int:
        if self.sequences is not None and not 0 <= self.batch < len(self.sequences):
            count = len(self.sequences)
            raise RecordingError(f"There are {count} sequences, so batch={self.batch} is not there.")
        return self.batch

    def _remark_batch(self, read: Mapping[MapKind, Layers]) -> None:
        count = max(each.sentences for each in read.values()) if self.sequences is None else len(self.sequences)
        if count > 1 and not self.chosen:
            self._remark("batch", {"number": self.batch + 1, "count": count})

    def _remark(self, word: str, values: Mapping[str, Any]) -> None:
        if all(each.word != word for each in self.remarks):
            self.remarks.append(Remark(word, values))

    @staticmethod
    def _count(read: Mapping[MapKind, Layers], axes: Mapping[MapKind, int]) -> int | None:
        sizes: list[int] = [read[kind].arrays[0].shape[axis] for kind, axis in axes.items() if kind in read]
        return sizes[0] if sizes else None

    # ------------------------------------------------------------ names

    def _of_decoder_alone(self, rows: int, columns: int) -> ModelInputs:
        """The inputs under the names of a full model: the ids of a decoder label its own rows.

        Perceiver's rows are not tokens: there the ids label the columns, as their number shows.
        """
        value = self.inputs
        if value.decoder_input_ids is None:
            count = rows if value.input_ids is None else len(self._of_batch(value.input_ids))
            if count == columns != rows:
                return value
            if count != rows:
                raise RecordingError(
                    f"input_ids has {count} tokens, but the decoder's maps have {rows} rows. Give the ids of the same "
                    "call."
                )
            value = replace(
                value,
                input_ids=None,
                attention_mask=value.encoder_attention_mask,
                decoder_input_ids=value.input_ids,
                decoder_attention_mask=value.attention_mask,
                target=value.tokens if value.target is None else value.target,
                tokens=None,
            )
        if all(each is None for each in (value.source, value.input_ids, value.pixel_values, value.input_features)):
            self._remark("columns", {"count": columns})
        return value

    def _source(self, count: int, ids: np.ndarray | None = None) -> NamedTokens:
        value = self.inputs
        if (names := value.tokens if value.source is None else value.source) is not None:
            return tokens_from_names(names)
        if ids is None and value.input_ids is not None:
            ids = self._of_batch(value.input_ids)[:count]
        if ids is not None and len(ids) == count:
            return self._token_names(ids)
        if value.pixel_values is not None:
            return _image_patches(count, to_numpy(value.pixel_values).shape)
        if value.input_features is not None:
            return _audio_frames(count, to_numpy(value.input_features).shape)
        if ids is not None:
            raise RecordingError(
                f"input_ids has {len(ids)} tokens, but the maps have {count}. Give the ids of the same call."
            )
        return numbered_names(count)

    def _target(self, count: int) -> NamedTokens:
        if self.inputs.target is not None:
            return tokens_from_names(self.inputs.target)
        ids = self.inputs.decoder_input_ids
        if ids is None:
            return numbered_names(count)
        return self._token_names(self._of_batch(ids)[:count])

    def _decoder_tokens(self, count: int) -> tuple[NamedTokens, tuple[Token, ...]]:
        """The tokens that were written, and those that were read before each of them."""
        assert self.sequences is not None  # noqa: S101 (asked before)
        whole = self._token_names(self.sequences[self._sequence()][: count + 1])
        read, written = whole[0][:count], whole[0][1:]
        if len(written) < count:  # nothing was written after the last token that was read
            written = (*written, Token("", -1, len(whole[1]), len(whole[1]), special=True))
        return (written, whole[1]), read

    def _length(self, count: int) -> int:
        """How many tokens were written before the padding behind a sequence that ended early."""
        assert self.sequences is not None  # noqa: S101 (asked before)
        tokenizer = getattr(self.inputs.tokenizer, "tokenizer", self.inputs.tokenizer)
        padding = getattr(tokenizer, "pad_token_id", None)
        end = getattr(tokenizer, "eos_token_id", None)
        written = list(self.sequences[self._sequence()][1 : count + 1])
        if end is not None and end in written:
            return written.index(end) + 1
        while padding is not None and written and written[-1] == padding:
            written.pop()
        return max(1, len(written))

    def _token_names(self, ids: Sequence[int] | np.ndarray) -> NamedTokens:
        numbers = [int(each) for each in ids]
        if self.inputs.tokenizer is None:
            return tokens_from_names([str(each) for each in numbers], [False] * len(numbers), numbers)
        return names_from_ids(self.inputs.tokenizer, numbers)

    def _of_batch(self, ids: Any) -> np.ndarray:
        array = to_numpy(ids)
        if array.ndim == 1:
            return array
        own = self.batch if self.sequences is None else self._sequence() * len(array) // len(self.sequences)
        if array.ndim != 2 or own >= len(array):
            raise RecordingError(f"input_ids has the shape {array.shape}. Give [batch, tokens] or [tokens].")
        row: np.ndarray = array[own]
        return row

    def _mask(self, mask: Any, count: int, *, grown: bool = False) -> np.ndarray | None:
        """Mask of unpadded tokens. Tokens generated after the mask was made are not padding."""
        if mask is None:
            return None
        row = self._of_batch(mask)
        if grown:
            row = np.concatenate([row, np.ones(max(0, count - len(row)), dtype=row.dtype)])
        return row if len(row) == count else None


def _image_patches(count: int, shape: Sequence[int]) -> NamedTokens:
    """The patches of a picture: a grid of its shape, after the model's prefix tokens."""
    height, width = shape[-2:]
    for before in range(9):  # a class token, one more of a distilled model, four or eight registers
        rows = isqrt((count - before) * height // width) if count > before else 0
        if rows and (count - before) % rows == 0 and (count - before) // rows * height == rows * width:
            return patch_names(rows, (count - before) // rows, before)
    return numbered_names(count)


def _audio_frames(count: int, shape: Sequence[int]) -> NamedTokens:
    """Names of audio frames: seconds from the start."""
    step = shape[-1] * FRAME_SECONDS / count
    return tokens_from_names([f"{place * step:.2f}" for place in range(count)], [False] * count)
