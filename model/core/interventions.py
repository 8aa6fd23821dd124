"""Conversion of intervention records to probe edits.

The edits of one probe run in the order of `EDIT_ORDER`, not of the request: first those that replace rows, then the one
that sets a single weight, then factors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor

from headlight.model.core.config import TransformerConfig
from headlight.model.core.probes import Edit, watch
from headlight.model.core.transformer import Transformer, attention_path
from headlight.model.errors import range_error
from headlight.model.intervention_records import (
    BorrowMap,
    Change,
    CopyHead,
    InputChange,
    Intervention,
    PositionChange,
    SetWeight,
    ZeroPart,
)
from headlight.model.records import Attention, Kind

EDIT_ORDER = ("temperature", "uniform", "previous", "next", "same", "borrow", "copy", "drag")  # factors are last
SCALING_ACTIONS = ("scale", "remove")
# Scores of all other keys and of the query's own position in `previous`, `next` and `same`. Softmax maps them to zero
# unless all higher scores of the row are masked: `masked_softmax` fills masked keys with a far lower score.
MASKED_SCORE, FALLBACK_SCORE = -1e9, -1e4
SHUFFLE_WINDOW = 8  # length of the runs that are shuffled
FIRST_DECODER_SCORES = "decoder.layers.0.self_attention.scores"  # its shape shows which rows a pass computes


@dataclass
class _RowCounter:
    """Index of the first row that a decoder pass computes. With a cache, each step computes one row."""

    start: int = 0

    def observe(self, scores: Tensor, name: str) -> Tensor:
        self.start = scores.shape[-1] - scores.shape[-2]
        return scores


class _MaskRecorder:
    """The mask of one attention, recorded for the edit of its weights.

    A weight of zero can belong to a masked key or to a key that the head ignores.
    """

    def __init__(self) -> None:
        self.mask: Tensor | None = None

    def record(self, allowed: Tensor, name: str) -> Tensor:
        self.mask = allowed
        return allowed

    def take(self) -> Tensor:
        """Return the mask of this pass, `[batch, queries, keys]`, and clear it."""
        mask, self.mask = self.mask, None
        if mask is None:
            raise RuntimeError("Weights passed before their mask.")
        return mask.any(dim=1)


@dataclass(frozen=True)
class _OrderedEdit:
    """An edit with the path of its probe and its phase in the order of edits."""

    path: str
    phase: int
    edit: Edit


@contextmanager
def apply_interventions(
    model: Transformer, interventions: Sequence[Change], attention_by_text: Mapping[str, Attention] | None = None
) -> Iterator[None]:
    """Apply the interventions to every forward pass inside the `with` block.

    `attention_by_text` maps the sentences of `BorrowMap` changes to their attention. An `InputChange` has no effect:
    the caller changes the sentence.
    """
    check_interventions(model.config, interventions)
    by_path: dict[str, list[_OrderedEdit]] = {}
    rows = _RowCounter()
    for change in interventions:
        for entry in _iterate_edits(model.config, change, rows, attention_by_text or {}):
            by_path.setdefault(entry.path, []).append(entry)
    for path, factors in _compute_factors(model.config, interventions).items():
        by_path.setdefault(path, []).append(_OrderedEdit(path, len(EDIT_ORDER), _scale_weights_edit(factors)))
    with ExitStack() as stack:
        if any(_needs_row_counter(change) for change in interventions):
            stack.enter_context(watch(model, FIRST_DECODER_SCORES, edit=rows.observe))
        for path, entries in by_path.items():
            edits = [entry.edit for entry in sorted(entries, key=lambda entry: entry.phase)]
            stack.enter_context(watch(model, path, edit=_chain_edits(edits)))
        yield


def check_interventions(config: TransformerConfig, interventions: Sequence[Change]) -> None:
    """Raise a `RequestError` unless the model has the layers and heads of every change."""
    for change in interventions:
        layers = config.layer_count(getattr(change, "kind", getattr(change, "side", "")))
        for name, count in (("layer", layers), ("head", config.heads), ("from_head", config.heads)):
            index = getattr(change, name, None)
            if index is not None and index >= count:
                raise range_error(name, index, 0, count - 1)


def _iterate_edits(
    config: TransformerConfig, change: Change, rows: _RowCounter, attention_by_text: Mapping[str, Attention]
) -> Iterator[_OrderedEdit]:
    """Yield the edits of one change."""
    if isinstance(change, InputChange):
        return
    if isinstance(change, PositionChange):
        if config.positions != "none":
            yield _OrderedEdit(f"{change.side}.embedding.positions.places", 0, _position_edit(change))
        return
    if isinstance(change, ZeroPart):
        part = "feed_forward.output" if change.part == "feed_forward" else "around_*.carried"
        yield _OrderedEdit(f"{change.side}.layers.{change.layer}.{part}", 0, _zero_edit)
        return
    if change.action in SCALING_ACTIONS:
        return  # `_compute_factors` combines these changes into one product per attention
    phase = EDIT_ORDER.index(change.action)
    for layer in _select_layers(config, change.kind, change.layer):
        path = attention_path(change.kind, layer)
        mask_recorder = _MaskRecorder()
        if isinstance(change, SetWeight | BorrowMap):
            yield _OrderedEdit(f"{path}.allowed", 0, mask_recorder.record)
        if isinstance(change, CopyHead):
            head_copy = _HeadCopy(change)
            if change.from_layer != layer:
                yield _OrderedEdit(
                    f"{attention_path(change.kind, change.from_layer)}.weights", len(EDIT_ORDER) + 1, head_copy.record
                )
            yield _OrderedEdit(f"{path}.weights", phase, head_copy.edit)
        elif isinstance(change, BorrowMap):
            maps = attention_by_text[change.text].of(change.kind)  # [layers, heads, rows, columns]
            weights = torch.from_numpy(maps[layer].copy())
            yield _OrderedEdit(f"{path}.weights", phase, _borrowed_map_edit(change, weights, rows, mask_recorder))
        elif isinstance(change, SetWeight):
            yield _OrderedEdit(f"{path}.weights", phase, _set_weight_edit(change, rows, mask_recorder))
        else:
            yield _OrderedEdit(f"{path}.scores", phase, _score_edit(change, rows))


def _score_edit(change: Intervention, rows: _RowCounter) -> Edit:
    """Return the edit of the scores of whole heads."""
    if change.action == "uniform":  # equal scores give equal weights to all unmasked keys
        return scale_heads(change.head, 0.0)
    if change.action == "temperature":
        return scale_heads(change.head, 1 / change.amount)
    return _shift_edit(change, rows)


def _compute_factors(config: TransformerConfig, interventions: Sequence[Change]) -> dict[str, Tensor]:
    """Return one factor per head, `[heads]`, by probe path: one product for any number of heads."""
    factors_by_path: dict[str, Tensor] = {}
    for change in interventions:
        if isinstance(change, Intervention) and change.action in SCALING_ACTIONS:
            for layer in _select_layers(config, change.kind, change.layer):
                path = f"{attention_path(change.kind, layer)}.weights"
                factors = factors_by_path.setdefault(path, torch.ones(config.heads))
                factors[_head_slice(change.head)] *= change.amount if change.action == "scale" else 0.0
    return factors_by_path


def _scale_weights_edit(factors: Tensor) -> Edit:
    """Return an edit that multiplies the weights of each head by its factor, `[heads]`."""

    def edit(weights: Tensor, name: str) -> Tensor:
        return weights * factors.to(weights)[:, None, None]

    return edit


def _select_layers(config: TransformerConfig, kind: Kind, layer: int | None) -> Sequence[int]:
    return range(config.layer_count(kind)) if layer is None else [layer]


def _head_slice(head: int | None) -> slice:
    return slice(None) if head is None else slice(head, head + 1)


def _needs_row_counter(change: Change) -> bool:
    """Whether the change depends on the rows that a decoder pass computes."""
    if isinstance(change, SetWeight | BorrowMap):
        return change.kind != "encoder"
    return (
        isinstance(change, Intervention) and change.kind != "encoder" and change.action in ("previous", "next", "same")
    )


def _chain_edits(edits: Sequence[Edit]) -> Edit:
    def edit(value: Tensor, name: str) -> Tensor:
        for next_edit in edits:
            value = next_edit(value, name)
        return value

    return edit


# ---------------------------------------------------------------- edits of attention, [batch, heads, queries, keys]


def scale_heads(head: int | None, factor: float) -> Edit:
    """Return an edit of scores or weights that multiplies one head, or all heads, by a factor."""

    def edit(values: Tensor, name: str) -> Tensor:
        new_values = values.clone()
        new_values[:, _head_slice(head)] *= factor
        return new_values

    return edit


def _shift_edit(change: Intervention, rows: _RowCounter) -> Edit:
    """Return an edit of scores that makes each row attend to the previous, the next or the same position.

    If that key is masked, the row attends to its own position; if that is masked as well, to all keys equally. The
    subsequent masked softmax selects the case, so a padded batch has the same rows as a single sentence.
    """
    offset = {"previous": -1, "next": 1, "same": 0}[change.action]

    def edit(scores: Tensor, name: str) -> Tensor:
        queries, keys = scores.shape[-2:]
        start = rows.start if change.kind != "encoder" else 0
        query_positions = torch.arange(start, start + queries, device=scores.device)[:, None]
        key_positions = torch.arange(keys, device=scores.device)
        row_scores = torch.full_like(scores[0, 0], MASKED_SCORE)
        row_scores[key_positions == query_positions] = FALLBACK_SCORE
        row_scores[key_positions == query_positions + offset] = 0.0
        new_scores = scores.clone()
        new_scores[:, _head_slice(change.head)] = row_scores
        return new_scores

    return edit


def _set_weight_edit(change: SetWeight, rows: _RowCounter, mask_recorder: _MaskRecorder) -> Edit:
    def edit(weights: Tensor, name: str) -> Tensor:
        mask = mask_recorder.take()
        row = change.row - (rows.start if change.kind != "encoder" else 0)
        queries, keys = weights.shape[-2:]
        if not 0 <= row < queries or change.column >= keys:
            return weights
        new_weights = weights.clone()
        is_unmasked = mask[:, row]  # [batch, keys]
        old_row = weights[:, change.head, row]
        other_weights = old_row.clone()
        other_weights[:, change.column] = 0.0
        uniform = is_unmasked.to(old_row.dtype)
        uniform[:, change.column] = 0.0
        # If all other weights are zero, distribute the remainder evenly over the unmasked keys.
        other_weights = torch.where(other_weights.sum(dim=-1, keepdim=True) > 0, other_weights, uniform)
        total = other_weights.sum(dim=-1, keepdim=True)
        new_row = other_weights * torch.where(total > 0, (1 - change.amount) / total.clamp(min=1e-30), 0.0)
        # The only unmasked key of a row keeps weight one.
        new_row[:, change.column] = torch.where(total[:, 0] > 0, change.amount, 1.0)
        new_weights[:, change.head, row] = torch.where(is_unmasked[:, change.column, None], new_row, old_row)
        return new_weights

    return edit


def _borrowed_map_edit(
    change: BorrowMap, borrowed_map: Tensor, rows: _RowCounter, mask_recorder: _MaskRecorder
) -> Edit:
    """Return an edit that replaces weights by `borrowed_map`, the map of another sentence, `[heads, rows, columns]`."""

    def edit(weights: Tensor, name: str) -> Tensor:
        mask = mask_recorder.take()
        start = rows.start if change.kind != "encoder" else 0
        queries, keys = weights.shape[-2:]
        replacement = borrowed_map[_head_slice(change.head), start : start + queries, :keys].to(weights)
        new_weights = weights.clone()
        for row in range(replacement.shape[1]):
            width = replacement.shape[2]
            new_row = torch.zeros_like(weights[:, _head_slice(change.head), row])  # [batch, heads, keys]
            new_row[..., :width] = replacement[:, row] * mask[:, None, row, :width]
            total = new_row.sum(dim=-1, keepdim=True)
            old_row = weights[:, _head_slice(change.head), row]
            new_row = torch.where(total > 0, new_row / total.clamp(min=1e-30), old_row)
            new_weights[:, _head_slice(change.head), row] = new_row
        return new_weights

    return edit


class _HeadCopy:
    """The weights of one head, stored for a later head of the same pass."""

    def __init__(self, change: CopyHead) -> None:
        self.change = change
        self.source_weights: Tensor | None = None

    def record(self, weights: Tensor, name: str) -> Tensor:
        self.source_weights = weights[:, self.change.from_head]
        return weights

    def edit(self, weights: Tensor, name: str) -> Tensor:
        new_weights = weights.clone()
        source = weights[:, self.change.from_head] if self.source_weights is None else self.source_weights
        new_weights[:, self.change.head] = source
        return new_weights


# ---------------------------------------------------------------- edits of layers and positions


def _zero_edit(value: Tensor, name: str) -> Tensor:
    return torch.zeros_like(value)


def _position_edit(change: PositionChange) -> Edit:
    """Return an edit of position indices. A new index depends only on the old one, not on the sentence length.

    The index -1 means no position. Other edits keep it, so their order does not matter.
    """

    def edit(places: Tensor, name: str) -> Tensor:
        if change.action == "no_positions":
            return torch.full_like(places, -1)
        if (places < 0).any():
            return places
        if change.action == "shift":
            return (places + change.amount).clamp(min=0)
        generator = torch.Generator().manual_seed(change.amount)
        windows = int(places.max()) // SHUFFLE_WINDOW + 1
        permutation = torch.cat(
            [torch.randperm(SHUFFLE_WINDOW, generator=generator) + SHUFFLE_WINDOW * window for window in range(windows)]
        )
        return permutation.to(places.device)[places]

    return edit
