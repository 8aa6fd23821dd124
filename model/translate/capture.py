"""Capture of attention: one teacher-forced pass over a source and its translation records every map.

Decoding runs first and is not watched. The encoder runs once for both and is watched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headlight.model.core.attention import KeyValues
from headlight.model.core.masks import pad_sequences
from headlight.model.core.probes import Watched, all_probes, matching_probes, watch
from headlight.model.core.transformer import DecoderState, Memory, Transformer, attention_path
from headlight.model.records import FloatArray, Kind, read_only

ENCODER_WEIGHTS = "encoder.layers.*.self_attention.weights"
DECODER_WEIGHTS = "decoder.layers.*.*_attention.weights"


@dataclass
class Captured:
    """Captured tensors of a batch: the attention of each kind, and further probes by name."""

    attention: dict[Kind, FloatArray] = field(default_factory=dict)  # [layer, batch, head, query, key]
    probes: dict[str, np.ndarray] = field(default_factory=dict)  # [batch, …], with the axes of the probe
    axes: dict[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass
class TokenScores:
    """Log probabilities of output tokens, `[batch, token]`, and the top alternatives, `[batch, token, rank]`."""

    log_probabilities: np.ndarray
    best_ids: np.ndarray
    best_probabilities: np.ndarray


def encode_with_capture(
    model: Transformer,
    passes: Transformer,
    source_ids: Tensor,
    further: Sequence[str],
    *,
    mask: Tensor | None = None,
    padded: bool = True,
) -> tuple[Memory, Captured]:
    """Encode source ids, `[batch, source]`, and capture the encoder's attention.

    `passes` is the model itself, or its packed version with the same probes. `mask`, `[batch, 1, 1, source]`, has the
    visible keys; by default these are the unpadded ones. `padded`: whether there is padding.
    """
    captured = Captured()
    further = _side_patterns("encoder", further, model)
    with watch(model, ENCODER_WEIGHTS, *further) as activations:
        memory = passes.encode(source_ids, mask, padded=padded)
    _collect(captured, activations, "encoder", model.config.encoder_layers)
    _collect_probes(model, captured, activations, further)
    return memory, captured


class TargetCapture:
    """Teacher-forced passes over target tokens that capture attention."""

    def __init__(
        self,
        model: Transformer,
        passes: Transformer,
        memory: Memory,
        cross: list[KeyValues],
        captured: Captured,
        further: Sequence[str],
    ) -> None:
        self.model, self.passes, self.memory, self.cross, self.captured = model, passes, memory, cross, captured
        self.further = _side_patterns("decoder", further, model)
        self._read: list[list[int]] = []
        self._logits: Tensor | None = None

    def logits(self, rows: Sequence[Sequence[int]]) -> Tensor:
        """Return the logits at each position, `[batch, tokens, vocabulary]`, and add the maps to `captured`."""
        ids = [list(row) for row in rows]
        if self._logits is None or self._read != ids:
            self._read = ids
            self._logits = self._look(rows)
        return self._logits

    def select_logits(self, sentences: Sequence[int], rows: Sequence[Sequence[int]]) -> Tensor:
        """Return the logits of some sentences. Maps are captured only if all sentences are selected."""
        if list(sentences) == list(range(len(self.memory.vectors))):
            return self.logits(rows)
        return logits_without_capture(self.passes, self.memory, self.cross, sentences, rows)

    def _look(self, rows: Sequence[Sequence[int]]) -> Tensor:
        layers = self.model.config.decoder_layers
        with watch(self.model, DECODER_WEIGHTS, *self.further) as activations:
            # Decoding has computed the keys and values of the source. Recompute them only to capture further probes.
            recomputes = bool(self.further)
            decoder = self.passes.decoder
            state = (
                decoder.new_state(self.memory, cached=False)
                if recomputes
                else DecoderState(self.cross, self.memory.mask, None)
            )
            logits: Tensor = decoder(_inputs(self.model, rows, self.memory.vectors.device), state)
        _collect(self.captured, activations, "decoder", layers)
        _collect(self.captured, activations, "cross", layers)
        _collect_probes(self.model, self.captured, activations, self.further)
        return logits


def logits_without_capture(
    passes: Transformer,
    memory: Memory,
    cross: list[KeyValues],
    sentences: Sequence[int],
    rows: Sequence[Sequence[int]],
) -> Tensor:
    """Return the logits at each position for some sentences, `[rows, tokens, vocabulary]`."""
    indices = torch.tensor(sentences, device=memory.vectors.device)
    mask = None if memory.mask is None else memory.mask[indices]
    state = DecoderState([KeyValues(keys[indices], values[indices]) for keys, values in cross], mask, None)
    logits: Tensor = passes.decoder(_inputs(passes, rows, memory.vectors.device), state)
    return logits


def _inputs(model: Transformer, rows: Sequence[Sequence[int]], device: torch.device) -> Tensor:
    """Return the decoder inputs for these outputs: the start token and all tokens but the last."""
    return pad_sequences([[model.config.start_id, *row[:-1]] for row in rows], model.config.pad_id).to(device)


def score_target(logits: Tensor, written_ids: Tensor, alternatives: int, never: Sequence[int]) -> TokenScores:
    """Return the probabilities of the written tokens, `[batch, tokens]`, and the top `alternatives`.

    Alternatives exclude the tokens in `never`.
    """
    log_probabilities = logits.float().log_softmax(dim=-1)
    written_scores = log_probabilities.gather(2, written_ids[..., None])[..., 0]
    log_probabilities[..., list(never)] = float("-inf")  # a translation cannot contain these tokens
    best, best_ids = log_probabilities.topk(min(alternatives, log_probabilities.shape[-1] - len(never)), dim=-1)
    return TokenScores(to_numpy(written_scores), to_numpy(best_ids), to_numpy(best.exp()))


def to_numpy(tensor: Tensor) -> np.ndarray:
    """Convert a tensor to an array of the same type; half precision becomes float32."""
    if tensor.is_floating_point():
        tensor = tensor.float()
    array: np.ndarray = tensor.cpu().numpy()
    return array


def crop(array: np.ndarray, *lengths: int) -> np.ndarray:
    """Remove the padding of the last axes, and return a read-only array."""
    slices: tuple[Any, ...] = (..., *(slice(length) for length in lengths))
    cropped: np.ndarray = read_only(np.ascontiguousarray(array[slices]))
    return cropped


def _side_patterns(side: str, patterns: Sequence[str], model: Transformer) -> list[str]:
    """Return the probes of one side of the model that match the patterns."""
    return [name for name in matching_probes(model, *patterns) if name.startswith(f"{side}.")]


def _collect(captured: Captured, activations: Watched, kind: Kind, layers: int) -> None:
    maps = [activations[f"{attention_path(kind, layer)}.weights"] for layer in range(layers)]
    captured.attention[kind] = to_numpy(torch.stack(maps))


def _collect_probes(model: Transformer, captured: Captured, activations: Watched, names: Sequence[str]) -> None:
    for name in names:
        captured.probes[name] = to_numpy(activations[name].float())
        captured.axes[name] = all_probes(model)[name].axes
