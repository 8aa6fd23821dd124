"""Disentangled attention: scores of words and of distances, in separate vectors (DeBERTa, arXiv:2006.03654).

    score(i, j) = (Qᵢ · Kⱼ + Qᵢ · Kδ(i−j) + Kⱼ · Qδ(i−j)) / √(3 d)

Kδ and Qδ are projections of a vector that all layers share, one for each bucket of distances.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from headlight.model.core.attention import KeyValueCache, KeyValues, MultiHeadAttention
from headlight.model.core.classifier_config import EncoderClassifierConfig
from headlight.model.core.positions import Positions
from headlight.model.core.probes import Probe


class DistanceVectors(Positions):
    """One vector for each bucket of distances, in all layers."""

    def __init__(self, config: EncoderClassifierConfig) -> None:
        super().__init__()
        self.buckets, self.max_distance = config.distance_buckets, config.max_distance
        self.span = self.buckets or self.max_distance
        self.table = nn.Parameter(torch.empty(2 * self.span, config.d_model))
        self.norm = nn.LayerNorm(config.d_model, eps=config.norm_epsilon) if config.distance_norm else nn.Identity()
        self.places = Probe("tokens")

    def vectors(self) -> Tensor:
        """Return the vectors of all buckets, `[buckets, d_model]`."""
        vectors: Tensor = self.norm(self.table)
        return vectors

    def indices(self, length: int) -> Tensor:
        """Return the bucket of the distance query − key, `[queries, keys]`."""
        places = self.places(torch.arange(length, device=self.table.device))
        distances = places[:, None] - places[None, :]
        if self.buckets:
            distances = log_buckets(distances, self.buckets, self.max_distance)
        return (distances + self.span).clamp(0, 2 * self.span - 1)

    def as_array(self, length: int) -> Tensor:
        return self.vectors().detach()


def log_buckets(distances: Tensor, buckets: int, max_distance: int) -> Tensor:
    """Map signed distances to signed buckets: half of them have one distance each, the rest grow logarithmically."""
    middle = buckets // 2
    magnitude = distances.abs().clamp(min=1).float()
    growth = torch.log(magnitude / middle) / math.log((max_distance - 1) / middle)
    far = torch.ceil(growth * (middle - 1)) + middle
    return torch.where(distances.abs() <= middle, distances, (far * distances.sign()).long())


class DisentangledAttention(MultiHeadAttention):
    """Self-attention whose scores also compare words with distances."""

    def __init__(self, config: EncoderClassifierConfig) -> None:
        super().__init__(config.d_model, config.heads)
        self.reads_position_keys, self.reads_position_queries = config.position_keys, config.position_queries
        terms = 1 + self.reads_position_keys + self.reads_position_queries
        self.scale = 1 / math.sqrt(self.head_width * terms)
        own = not config.shared_position_weights
        width = self.heads * self.head_width
        self.position_key = nn.Linear(config.d_model, width) if own and self.reads_position_keys else None
        self.position_query = nn.Linear(config.d_model, width) if own and self.reads_position_queries else None

    def forward(
        self,
        x: Tensor,  # [batch, tokens, d_model]
        memory: KeyValues | None = None,
        *,
        mask: Tensor | None = None,
        bias: Tensor | None = None,
        positions: Positions | None = None,
        cache: KeyValueCache | None = None,
    ) -> Tensor:
        """Apply self-attention; `positions` has the vectors of distances."""
        assert isinstance(positions, DistanceVectors)  # noqa: S101 - built together
        query, keys, values = self.project_qkv(x)
        query, keys, values = self.queries(query), self.keys(keys), self.values(values)
        bias = self.position_scores(query, keys, positions)
        return self.join_heads(self.mixed(self.weighted_values(query, keys, values, mask, bias)))

    def position_scores(self, query: Tensor, keys: Tensor, positions: DistanceVectors) -> Tensor:
        """Compute the scores of words and distances, `[batch, heads, queries, keys]`, scaled like those of words."""
        vectors, indices = positions.vectors()[None], positions.indices(keys.shape[2])
        shape = (*query.shape[:2], *indices.shape)
        scores = torch.zeros(shape, dtype=query.dtype, device=query.device)
        if self.reads_position_keys:
            keys_of_distances = self.split_heads((self.position_key or self.key)(vectors))
            products = query @ keys_of_distances.transpose(-2, -1)  # [batch, heads, queries, buckets]
            scores = scores + products.gather(-1, indices.expand(shape))
        if self.reads_position_queries:
            queries_of_distances = self.split_heads((self.position_query or self.query)(vectors))
            products = keys @ queries_of_distances.transpose(-2, -1)  # [batch, heads, keys, buckets]
            scores = scores + products.gather(-1, indices.T.expand(shape)).transpose(-2, -1)
        return scores * self.scale
