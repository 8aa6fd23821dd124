"""Head importance: log probability lost when heads are ablated (Michel et al. 2019, arXiv:1905.10650).

Each set of heads is one row of a batch. All rows have the same sentence and translation, and the attention weights of a
row's heads are zero. If only decoder heads are ablated, the encoder runs once for all rows.

The joint loss of several heads is not the sum of their losses, so it needs another run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import torch
from torch import Tensor

from headlight.model.core.attention import KeyValues
from headlight.model.core.config import TransformerConfig
from headlight.model.core.probes import watch
from headlight.model.core.transformer import DecoderState, Memory, attention_path
from headlight.model.errors import range_error
from headlight.model.experiments.scoring import MAX_LOGITS_PER_BATCH, decoder_inputs, log_probabilities
from headlight.model.records import Kind, Translation
from headlight.model.translate.requests import PreparedBatch
from headlight.model.translate.translator import Translator

MAX_ROWS_PER_BATCH = 32  # small, because a caller can stop the work only between batches


@dataclass(frozen=True)
class AttentionPart:
    """A head, all heads of a layer (`head` is None), or all heads of a kind (`layer` is None, too)."""

    kind: Kind
    layer: int | None = None
    head: int | None = None


Ablation = tuple[AttentionPart, ...]  # parts that are ablated together


def list_all_parts(
    config: TransformerConfig, kinds: Sequence[Kind] = ("cross", "decoder", "encoder")
) -> list[AttentionPart]:
    """List every kind, then every layer, then every head, in the order of `kinds`."""
    kind_parts = [AttentionPart(kind) for kind in kinds]
    layer_parts = [AttentionPart(kind, layer) for kind in kinds for layer in range(config.layer_count(kind))]
    heads = range(config.heads)
    return [
        *kind_parts,
        *layer_parts,
        *(AttentionPart(part.kind, part.layer, head) for part in layer_parts for head in heads),
    ]


def all_heads(config: TransformerConfig) -> list[AttentionPart]:
    """List every single head, in the order of `list_all_parts`."""
    return [part for part in list_all_parts(config) if part.head is not None]


def batch_size(config: TransformerConfig, translation: Translation) -> int:
    """Return the number of sets that one batch measures."""
    logits = len(translation.target_tokens) * config.target_vocabulary
    return max(1, min(MAX_ROWS_PER_BATCH, MAX_LOGITS_PER_BATCH // logits))


def measure_ablation_losses(
    translator: Translator, translation: Translation, sets: Sequence[Ablation]
) -> Iterator[list[float]]:
    """Yield, batch by batch, the log probability in nats that the translation loses without each set of heads.

    A negative loss is a gain. Closing the iterator stops the work after the current batch. The request's interventions
    apply, too.
    """
    positions = range(len(translation.target_tokens))
    for logits in compute_logits_without(translator, translation, sets):
        with torch.inference_mode():
            scores = log_probabilities(logits, translation, positions).double().sum(dim=-1)
        yield [translation.log_probability - score for score in scores.tolist()]


def compute_logits_without(
    translator: Translator, translation: Translation, sets: Sequence[Ablation]
) -> Iterator[Tensor]:
    """Yield, batch by batch, the logits of the translation without each set of heads, `[sets, tokens, vocabulary]`."""
    for part in chain(*sets):
        _check_part(translator.model.config, part)
    rows_per_batch = batch_size(translator.model.config, translation)
    batch = translator.checker.prepare([translation.request])
    shared: Memory | None = None
    for start in range(0, len(sets), rows_per_batch):
        rows = sets[start : start + rows_per_batch]
        with torch.inference_mode(), translator.intervention_context(translation.request)():
            head_masks = _make_head_masks(translator, rows)
            if any(name.startswith("encoder.") for name in head_masks):
                memory = _encode_rows(translator, batch, len(rows), head_masks)
            else:
                shared = shared or _encode_rows(translator, batch, 1, {})
                memory = shared
            logits = _decode_rows(translator, translation, memory, len(rows), head_masks)
        yield logits


def measure_all_ablation_losses(
    translator: Translator, translation: Translation, sets: Sequence[Ablation]
) -> list[float]:
    """Return the losses of all sets as one list; see `measure_ablation_losses`."""
    return list(chain(*measure_ablation_losses(translator, translation, sets)))


def interactions(
    translator: Translator, translation: Translation, part: AttentionPart, others: Sequence[AttentionPart]
) -> list[float]:
    """Return the interaction of `part` with each of `others`: the joint loss minus the sum of the single losses.

    If it is positive, each of the two parts can replace the other one. The interaction of a part with itself is minus
    its loss.
    """
    sets: list[Ablation] = [(part,), *((second,) for second in others), *((part, second) for second in others)]
    part_loss, *losses = measure_all_ablation_losses(translator, translation, sets)
    single_losses, joint_losses = losses[: len(others)], losses[len(others) :]
    return [joint - part_loss - single for joint, single in zip(joint_losses, single_losses, strict=True)]


# ---------------------------------------------------------------- one batch


def _make_head_masks(translator: Translator, rows: Sequence[Ablation]) -> dict[str, Tensor]:
    """Return the head masks by probe, `[rows, heads, 1, 1]`: zero for ablated heads. Other probes have no mask."""
    config, head_masks = translator.model.config, {}
    for row, part in ((row, part) for row, parts in enumerate(rows) for part in parts):
        for layer in range(config.layer_count(part.kind)) if part.layer is None else [part.layer]:
            path = f"{attention_path(part.kind, layer)}.weights"
            if path not in head_masks:
                head_masks[path] = torch.ones(len(rows), config.heads, 1, 1, device=translator.device)
            head_masks[path][row, slice(None) if part.head is None else part.head] = 0.0
    return head_masks


def _encode_rows(translator: Translator, batch: PreparedBatch, rows: int, head_masks: Mapping[str, Tensor]) -> Memory:
    """Encode the sentence in each row with the ablated heads of the row."""
    ids = batch.source_ids.expand(rows, -1)
    mask = None if batch.source_mask is None else batch.source_mask.expand(rows, -1, -1, -1)
    names = [name for name in head_masks if name.startswith("encoder.")]
    if not names:
        memory: Memory = translator.passes.encode(ids, mask, padded=batch.padded)
        return memory
    with watch(translator.model, *names, edit=lambda weights, name: weights * head_masks[name]):
        memory = translator.passes.encode(ids, mask, padded=batch.padded)
        return memory


def _decode_rows(
    translator: Translator, translation: Translation, memory: Memory, rows: int, head_masks: Mapping[str, Tensor]
) -> Tensor:
    """Return the logits of the translation in each row, `[rows, tokens, vocabulary]`."""
    decoder = translator.passes.decoder
    inputs = decoder_inputs(translator, translation, len(translation.target_tokens), rows)
    state = decoder.new_state(memory, cached=False)
    cross = [KeyValues(keys.expand(rows, -1, -1, -1), values.expand(rows, -1, -1, -1)) for keys, values in state.cross]
    mask = None if state.mask is None else state.mask.expand(rows, -1, -1, -1)
    state = DecoderState(cross, mask, None)
    names = [name for name in head_masks if name.startswith("decoder.")]
    if not names:
        logits: Tensor = decoder(inputs, state)
        return logits
    with watch(translator.model, *names, edit=lambda weights, name: weights * head_masks[name]):
        logits = decoder(inputs, state)
        return logits


def _check_part(config: TransformerConfig, part: AttentionPart) -> None:
    for name, index, count in (("layer", part.layer, config.layer_count(part.kind)), ("head", part.head, config.heads)):
        if index is not None and not 0 <= index < count:
            raise range_error(name, index, 0, count - 1)
