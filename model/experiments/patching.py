"""Activation patching of a minimal pair: which activations of the first sentence restore its word in the second one.

Two sentences of equal length differ in a word, and the translations have a first word that differs. The second sentence
runs again with one activation of the first sentence: the residual stream of the encoder at one layer and token, or the
output of one head. The lead of the first translation's word over the second one's then moves from its value in the
second run (share 0) towards its value in the first run (share 1) (Meng et al. 2022, arXiv:2202.05262; Wang et al. 2022,
arXiv:2211.00593).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from headlight.model.core.config import TransformerConfig
from headlight.model.core.probes import watch
from headlight.model.core.transformer import attention_path
from headlight.model.errors import RequestError
from headlight.model.experiments.importance import batch_size
from headlight.model.experiments.scoring import compute_forced_logits
from headlight.model.measures.trace_records import Float64Array
from headlight.model.records import KINDS, Kind, Translation
from headlight.model.translate.translator import Translator


@dataclass(frozen=True)
class Patching:
    """The share of the lead that each patch restores. Shares below 0 or above 1 are possible."""

    position: int  # of the first word that differs
    word: str
    other_word: str
    lead: float  # logit of `word` − logit of `other_word`, in the first sentence
    other_lead: float  # this difference in the second sentence
    states: Float64Array  # [1 + layers, tokens]: the encoder's residual stream, before the first layer and after each
    heads: dict[Kind, Float64Array]  # kind → [layers, heads]

    def largest_heads(self, count: int) -> list[tuple[Kind, int, int, float]]:
        """Return the heads that restore most: kind, layer, head and share."""
        heads = [
            (kind, layer, head, float(table[layer, head]))
            for kind, table in self.heads.items()
            for layer, head in np.ndindex(table.shape)
        ]
        return sorted(heads, key=lambda head: -head[3])[:count]


@dataclass(frozen=True)
class PatchedShares:
    """The shares of a range of patches. Their order is that of `Patching`: states, then heads."""

    position: int
    word: str
    other_word: str
    lead: float
    other_lead: float
    all: int  # number of patches of this pair
    shares: Float64Array  # [patches in the range]


class _Patch(NamedTuple):
    """The part of an activation, `[batch, tokens or heads, …]`, that is replaced."""

    probe: str
    position: int  # index of the token or the head


def patching(translator: Translator, translation: Translation, other: Translation) -> Patching:
    """Patch activations of `translation` into `other`, one at a time, and return the restored shares.

    Raises:
        RequestError: the sentences have different numbers of tokens, or no word of their translations differs.
    """
    result = measure_patched_shares(translator, translation, other)
    config, tokens = translator.model.config, len(other.source_tokens)
    count = len(_list_state_probes(config)) * tokens
    return Patching(
        position=result.position,
        word=result.word,
        other_word=result.other_word,
        lead=result.lead,
        other_lead=result.other_lead,
        states=result.shares[:count].reshape(-1, tokens),
        heads=_group_heads_by_kind(config, result.shares[count:]),
    )


def measure_patched_shares(
    translator: Translator, translation: Translation, other: Translation, first: int = 0, count: int | None = None
) -> PatchedShares:
    """Return the shares of `count` patches from index `first`; see `patching`."""
    position = _find_first_difference(translation, other)
    patches = _list_all_patches(translator.model.config, len(other.source_tokens))
    batch = patches[first : None if count is None else first + count]
    with torch.inference_mode():
        with (
            translator.intervention_context(translation.request)(),
            watch(translator.model, *{patch.probe for patch in batch}) as activations,
        ):
            logits = compute_forced_logits(translator, translation, position + 1, 1)
        with translator.intervention_context(other.request)():
            other_logits = compute_forced_logits(translator, other, position + 1, 1)
        ids = (translation.target_tokens[position].id, other.target_tokens[position].id)
        lead, other_lead = (float(_lead(run_logits, position, ids)) for run_logits in (logits, other_logits))
        leads = list(_measure_patched_leads(translator, other, position, ids, batch, activations))
    return PatchedShares(
        position=position,
        word=translation.target_tokens[position].text.strip(),
        other_word=other.target_tokens[position].text.strip(),
        lead=lead,
        other_lead=other_lead,
        all=len(patches),
        shares=(np.array(leads) - other_lead) / (lead - other_lead),
    )


def _list_all_patches(config: TransformerConfig, tokens: int) -> list[_Patch]:
    head_paths = [f"{attention_path(kind, layer)}.mixed" for kind in KINDS for layer in range(config.layer_count(kind))]
    return [
        *(_Patch(probe, token) for probe in _list_state_probes(config) for token in range(tokens)),
        *(_Patch(path, head) for path in head_paths for head in range(config.heads)),
    ]


def _find_first_difference(translation: Translation, other: Translation) -> int:
    lengths = [len(side.source_tokens) for side in (translation, other)]
    if lengths[0] != lengths[1]:
        raise RequestError("unequal_lengths", field="text", first=lengths[0], second=lengths[1])
    ids = [[token.id for token in side.target_tokens] for side in (translation, other)]
    for position, (token_id, other_id) in enumerate(zip(*ids, strict=False)):
        if token_id != other_id:
            return position
    raise RequestError("equal_translations", field="text")


def _list_state_probes(config: TransformerConfig) -> list[str]:
    layers = range(config.layer_count("encoder"))
    return ["encoder.embedding.stream", *(f"encoder.layers.{layer}.around_feed_forward.stream" for layer in layers)]


def _measure_patched_leads(
    translator: Translator,
    other: Translation,
    position: int,
    ids: tuple[int, int],
    patches: Sequence[_Patch],
    activations: Mapping[str, Tensor],
) -> Iterator[float]:
    """Run the second sentence once with each patch, and yield the leads. Each patch is a row of a batch."""
    count = batch_size(translator.model.config, other)
    for start in range(0, len(patches), count):
        batch = patches[start : start + count]

        def apply_patches(value: Tensor, name: str, batch: Sequence[_Patch] = batch) -> Tensor:
            patched = value.clone()
            for row, patch in enumerate(batch):
                if patch.probe == name:
                    patched[row, patch.position] = activations[name][0, patch.position]
            return patched

        with (
            translator.intervention_context(other.request)(),
            watch(translator.model, *{patch.probe for patch in batch}, edit=apply_patches),
        ):
            logits = compute_forced_logits(translator, other, position + 1, len(batch))
        yield from _lead(logits, position, ids).tolist()


def _lead(logits: Tensor, position: int, ids: tuple[int, int]) -> Tensor:
    """Return the lead of the first token over the second at a position, `[rows]`."""
    double_logits = logits[:, position].double()
    return double_logits[:, ids[0]] - double_logits[:, ids[1]]


def _group_heads_by_kind(config: TransformerConfig, shares: Float64Array) -> dict[Kind, Float64Array]:
    """Split the shares of all heads, in the order of `KINDS`, into `[layers, heads]` each."""
    ends = np.cumsum([config.layer_count(kind) for kind in KINDS])[:-1]
    return dict(zip(KINDS, np.split(shares.reshape(-1, config.heads), ends), strict=True))
