"""Capture of attention: one teacher-forced pass over a source and its translation records every map.

The encoder runs once, with hooks. Decoding then runs without hooks, and the teacher-forced pass of the decoder with
hooks; both read the output of that encoder run.
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
    """Captured arrays of a batch: the attention weights of each kind, and the values of requested probes by name."""

    attention: dict[Kind, FloatArray] = field(default_factory=dict)  # [layer, batch, head, query, key]
    probes: dict[str, np.ndarray] = field(default_factory=dict)  # [batch, …], with the axes of the probe
    axes: dict[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass
class TokenScores:
    """Scores of the output tokens of a batch."""

    log_probabilities: np.ndarray  # [batch, token]
    best_ids: np.ndarray  # [batch, token, rank]: the most likely tokens
    best_probabilities: np.ndarray  # [batch, token, rank]


def encode_with_capture(
    model: Transformer,
    passes: Transformer,
    source_ids: Tensor,
    patterns: Sequence[str],
    *,
    mask: Tensor | None = None,
    padded: bool = True,
) -> tuple[Memory, Captured]:
    """Encode source ids, `[batch, source]`, and capture the encoder's attention.

    Args:
        model: The model with the probes.
        passes: The model that runs: `model`, or its packed version with the same probes.
        source_ids: `[batch, source]`.
        patterns: Names or patterns of more probes to capture; those of the decoder are ignored.
        mask: Visible keys, `[batch, 1, 1, source]`; by default all tokens except padding.
        padded: Whether any row has padding.
    """
    captured = Captured()
    probes = _side_probes("encoder", patterns, model)
    with watch(model, ENCODER_WEIGHTS, *probes) as activations:
        memory = passes.encode(source_ids, mask, padded=padded)
    _collect_weights(captured, activations, "encoder", model.config.encoder_layers)
    _collect_probes(model, captured, activations, probes)
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
        patterns: Sequence[str],
    ) -> None:
        self.model, self.passes, self.memory, self.cross, self.captured = model, passes, memory, cross, captured
        self.probes = _side_probes("decoder", patterns, model)
        self._logits_rows: list[list[int]] = []  # the rows to which `_logits` belong
        self._logits: Tensor | None = None

    def logits(self, rows: Sequence[Sequence[int]]) -> Tensor:
        """Return the logits at each position, `[batch, tokens, vocabulary]`, and add the maps to `captured`."""
        ids = [list(row) for row in rows]
        if self._logits is None or self._logits_rows != ids:
            self._logits_rows = ids
            self._logits = self._run_decoder(rows)
        return self._logits

    def select_logits(self, sentences: Sequence[int], rows: Sequence[Sequence[int]]) -> Tensor:
        """Return the logits of the sentences with these indices. Maps are captured only if these are all sentences."""
        if list(sentences) == list(range(len(self.memory.vectors))):
            return self.logits(rows)
        return logits_without_capture(self.passes, self.memory, self.cross, sentences, rows)

    def _run_decoder(self, rows: Sequence[Sequence[int]]) -> Tensor:
        layers = self.model.config.decoder_layers
        with watch(self.model, DECODER_WEIGHTS, *self.probes) as activations:
            # Decoding has computed the keys and values of the source. They are recomputed only for requested probes.
            recomputes = bool(self.probes)
            decoder = self.passes.decoder
            state = (
                decoder.new_state(self.memory, cached=False)
                if recomputes
                else DecoderState(self.cross, self.memory.mask, None)
            )
            logits: Tensor = decoder(_decoder_inputs(self.model, rows, self.memory.vectors.device), state)
        _collect_weights(self.captured, activations, "decoder", layers)
        _collect_weights(self.captured, activations, "cross", layers)
        _collect_probes(self.model, self.captured, activations, self.probes)
        return logits


def logits_without_capture(
    passes: Transformer,
    memory: Memory,
    cross: list[KeyValues],
    sentences: Sequence[int],
    rows: Sequence[Sequence[int]],
) -> Tensor:
    """Return the logits at each position, `[rows, tokens, vocabulary]`. `sentences`: the index in `memory` per row."""
    indices = torch.tensor(sentences, device=memory.vectors.device)
    mask = None if memory.mask is None else memory.mask[indices]
    state = DecoderState([KeyValues(keys[indices], values[indices]) for keys, values in cross], mask, None)
    logits: Tensor = passes.decoder(_decoder_inputs(passes, rows, memory.vectors.device), state)
    return logits


def _decoder_inputs(model: Transformer, rows: Sequence[Sequence[int]], device: torch.device) -> Tensor:
    """Return the decoder inputs for these outputs, `[batch, tokens]`: the start token and all tokens but the last."""
    return pad_sequences([[model.config.start_id, *row[:-1]] for row in rows], model.config.pad_id).to(device)


def score_target(logits: Tensor, written_ids: Tensor, alternatives: int, excluded_ids: Sequence[int]) -> TokenScores:
    """Return the probabilities of the written tokens, and the top `alternatives` without `excluded_ids`.

    `logits` has the axes `[batch, tokens, vocabulary]`, `written_ids` `[batch, tokens]`.
    """
    log_probabilities = logits.float().log_softmax(dim=-1)
    written_scores = log_probabilities.gather(2, written_ids[..., None])[..., 0]
    log_probabilities[..., list(excluded_ids)] = float("-inf")  # a translation cannot contain these tokens
    best, best_ids = log_probabilities.topk(min(alternatives, log_probabilities.shape[-1] - len(excluded_ids)), dim=-1)
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


def _side_probes(side: str, patterns: Sequence[str], model: Transformer) -> list[str]:
    """Return the names of the probes of one side, "encoder" or "decoder", that match the patterns."""
    return [name for name in matching_probes(model, *patterns) if name.startswith(f"{side}.")]


def _collect_weights(captured: Captured, activations: Watched, kind: Kind, layers: int) -> None:
    maps = [activations[f"{attention_path(kind, layer)}.weights"] for layer in range(layers)]
    captured.attention[kind] = to_numpy(torch.stack(maps))


def _collect_probes(model: Transformer, captured: Captured, activations: Watched, names: Sequence[str]) -> None:
    for name in names:
        captured.probes[name] = to_numpy(activations[name].float())
        captured.axes[name] = all_probes(model)[name].axes
