"""Head importance: log probability lost when heads are ablated (Michel et al. 2019, arXiv:1905.10650).

Each set of heads is one row of a batch. All rows process the same sentence and translation; in each row, the attention
weights of its heads are zero. If only decoder heads are ablated, the encoder runs once for all rows.

The joint loss of several heads needs its own run, because losses do not add up.
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

MAX_ROWS_PER_BATCH = 32  # small, because the work can stop only between batches


@dataclass(frozen=True)
class AttentionPart:
    """A head, a layer (`head` is None), or a kind of attention (`layer` is None, too)."""

    kind: Kind
    layer: int | None = None
    head: int | None = None


SwitchedOff = tuple[AttentionPart, ...]  # parts that are ablated together


def all_parts(
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
    """List every single head, in the order of `all_parts`."""
    return [part for part in all_parts(config) if part.head is not None]


def batch_size(config: TransformerConfig, translation: Translation) -> int:
    """Return the number of sets that one batch measures."""
    logits = len(translation.target_tokens) * config.target_vocabulary
    return max(1, min(MAX_ROWS_PER_BATCH, MAX_LOGITS_PER_BATCH // logits))


def ablation_losses(
    translator: Translator, translation: Translation, sets: Sequence[SwitchedOff]
) -> Iterator[list[float]]:
    """Yield, batch by batch, the log probability in nats that the translation loses without each set of heads.

    A negative loss is a gain. Nothing runs between batches, so closing the iterator stops the work. The request's
    own interventions also apply.
    """
    positions = range(len(translation.target_tokens))
    for logits in logits_without(translator, translation, sets):
        with torch.inference_mode():
            scores = log_probabilities(logits, translation, positions).double().sum(dim=-1)
        yield [translation.log_probability - score for score in scores.tolist()]


def logits_without(translator: Translator, translation: Translation, sets: Sequence[SwitchedOff]) -> Iterator[Tensor]:
    """Yield, batch by batch, the logits of the translation without each set of heads, `[sets, tokens, vocabulary]`."""
    for part in chain(*sets):
        _check(translator.model.config, part)
    rows_per_batch = batch_size(translator.model.config, translation)
    batch = translator.checker.prepare([translation.request])
    shared: Memory | None = None
    for start in range(0, len(sets), rows_per_batch):
        rows = sets[start : start + rows_per_batch]
        with torch.inference_mode(), translator.intervention_context(translation.request)():
            factors = _head_masks(translator, rows)
            if any(name.startswith("encoder.") for name in factors):
                memory = _encode_rows(translator, batch, len(rows), factors)
            else:
                shared = shared or _encode_rows(translator, batch, 1, {})
                memory = shared
            logits = _decode_rows(translator, translation, memory, len(rows), factors)
        yield logits


def all_ablation_losses(translator: Translator, translation: Translation, sets: Sequence[SwitchedOff]) -> list[float]:
    """Return the losses of all sets as one list; see `ablation_losses`."""
    return list(chain(*ablation_losses(translator, translation, sets)))


def interactions(
    translator: Translator, translation: Translation, part: AttentionPart, others: Sequence[AttentionPart]
) -> list[float]:
    """Return the interaction of `part` with each of `others`: the joint loss minus the sum of the single losses.

    A positive value means that each part can replace the other. The interaction of a part with itself is minus its
    loss.
    """
    sets: list[SwitchedOff] = [(part,), *((second,) for second in others), *((part, second) for second in others)]
    part_loss, *losses = all_ablation_losses(translator, translation, sets)
    single_losses, joint_losses = losses[: len(others)], losses[len(others) :]
    return [joint - part_loss - single for joint, single in zip(joint_losses, single_losses, strict=True)]


# ---------------------------------------------------------------- one batch


def _head_masks(translator: Translator, rows: Sequence[SwitchedOff]) -> dict[str, Tensor]:
    """Create the head mask of each changed attention, `[rows, heads, 1, 1]`: zero for ablated heads."""
    config, factors = translator.model.config, {}
    for row, part in ((row, part) for row, parts in enumerate(rows) for part in parts):
        for layer in range(config.layer_count(part.kind)) if part.layer is None else [part.layer]:
            path = f"{attention_path(part.kind, layer)}.weights"
            if path not in factors:
                factors[path] = torch.ones(len(rows), config.heads, 1, 1, device=translator.device)
            factors[path][row, slice(None) if part.head is None else part.head] = 0.0
    return factors


def _encode_rows(translator: Translator, batch: PreparedBatch, rows: int, factors: Mapping[str, Tensor]) -> Memory:
    """Encode the sentence once per row with that row's ablation."""
    ids = batch.source_ids.expand(rows, -1)
    mask = None if batch.source_mask is None else batch.source_mask.expand(rows, -1, -1, -1)
    names = [name for name in factors if name.startswith("encoder.")]
    if not names:
        memory: Memory = translator.passes.encode(ids, mask, padded=batch.padded)
        return memory
    with watch(translator.model, *names, edit=lambda weights, name: weights * factors[name]):
        memory = translator.passes.encode(ids, mask, padded=batch.padded)
        return memory


def _decode_rows(
    translator: Translator, translation: Translation, memory: Memory, rows: int, factors: Mapping[str, Tensor]
) -> Tensor:
    """Return the logits of the translation in each row, `[rows, tokens, vocabulary]`."""
    decoder = translator.passes.decoder
    inputs = decoder_inputs(translator, translation, len(translation.target_tokens), rows)
    state = decoder.new_state(memory, cached=False)
    cross = [KeyValues(keys.expand(rows, -1, -1, -1), values.expand(rows, -1, -1, -1)) for keys, values in state.cross]
    mask = None if state.mask is None else state.mask.expand(rows, -1, -1, -1)
    state = DecoderState(cross, mask, None)
    names = [name for name in factors if name.startswith("decoder.")]
    if not names:
        logits: Tensor = decoder(inputs, state)
        return logits
    with watch(translator.model, *names, edit=lambda weights, name: weights * factors[name]):
        logits = decoder(inputs, state)
        return logits


def _check(config: TransformerConfig, part: AttentionPart) -> None:
    for name, index, count in (("layer", part.layer, config.layer_count(part.kind)), ("head", part.head, config.heads)):
        if index is not None and not 0 <= index < count:
            raise range_error(name, index, 0, count - 1)
