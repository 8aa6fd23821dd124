"""Disentangled attention: separate vectors for tokens and their distances (DeBERTa, arXiv:2006.03654).

    score(i, j) = (Qᵢ · Kⱼ + Qᵢ · Kδ(i−j) + Kⱼ · Qδ(i−j)) / √(3 d)

Each bucket of distances has one vector, shared by all layers. Kδ and Qδ are its projections.
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
    """One vector per bucket of distances, shared by all layers."""

    def __init__(self, config: EncoderClassifierConfig) -> None:
        super().__init__()
        self.buckets, self.max_distance = config.distance_buckets, config.max_distance
        self.span = self.buckets or self.max_distance
        self.table = nn.Parameter(torch.empty(2 * self.span, config.d_model))
        self.norm = nn.LayerNorm(config.d_model, eps=config.norm_epsilon) if config.distance_norm else nn.Identity()
        self.places = Probe("tokens")

    def compute_vectors(self) -> Tensor:
        """Return the vectors of all buckets, `[buckets, d_model]`."""
        vectors: Tensor = self.norm(self.table)
        return vectors

    def bucket_indices(self, length: int) -> Tensor:
        """Return the bucket of the distance query − key, `[queries, keys]`."""
        places = self.places(torch.arange(length, device=self.table.device))
        distances = places[:, None] - places[None, :]
        if self.buckets:
            distances = log_buckets(distances, self.buckets, self.max_distance)
        return (distances + self.span).clamp(0, 2 * self.span - 1)

    def as_array(self, length: int) -> Tensor:
        return self.compute_vectors().detach()


def log_buckets(distances: Tensor, buckets: int, max_distance: int) -> Tensor:
    """Map signed distances, `[queries, keys]`, to signed buckets: half exact, half for logarithmic ranges."""
    middle = buckets // 2
    magnitude = distances.abs().clamp(min=1).float()
    growth = torch.log(magnitude / middle) / math.log((max_distance - 1) / middle)
    log_bucket = torch.ceil(growth * (middle - 1)) + middle
    return torch.where(distances.abs() <= middle, distances, (log_bucket * distances.sign()).long())


class DisentangledAttention(MultiHeadAttention):
    """Self-attention whose scores also compare tokens with their distances."""

    def __init__(self, config: EncoderClassifierConfig) -> None:
        super().__init__(config.d_model, config.heads)
        self.reads_position_keys, self.reads_position_queries = config.position_keys, config.position_queries
        terms = 1 + self.reads_position_keys + self.reads_position_queries
        self.scale = 1 / math.sqrt(self.head_width * terms)
        separate = not config.shared_position_weights
        width = self.heads * self.head_width
        self.position_key = nn.Linear(config.d_model, width) if separate and self.reads_position_keys else None
        self.position_query = nn.Linear(config.d_model, width) if separate and self.reads_position_queries else None

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
        """Apply self-attention to `x`. `positions` must be `DistanceVectors`."""
        assert isinstance(positions, DistanceVectors)  # noqa: S101 - `EncoderClassifier` creates both
        query, keys, values = self.project_qkv(x)
        query, keys, values = self.queries(query), self.keys(keys), self.values(values)
        bias = self.position_scores(query, keys, positions)
        return self.join_heads(self.mixed(self.weighted_values(query, keys, values, mask, bias)))

    def position_scores(self, query: Tensor, keys: Tensor, positions: DistanceVectors) -> Tensor:
        """Compute the scores between tokens and distances, scaled: `[batch, heads, queries, keys]`."""
        vectors, indices = positions.compute_vectors()[None], positions.bucket_indices(keys.shape[2])
        shape = (*query.shape[:2], *indices.shape)
        scores = torch.zeros(shape, dtype=query.dtype, device=query.device)
        if self.reads_position_keys:
            distance_keys = self.split_heads((self.position_key or self.key)(vectors))
            products = query @ distance_keys.transpose(-2, -1)  # [batch, heads, queries, buckets]
            scores = scores + products.gather(-1, indices.expand(shape))
        if self.reads_position_queries:
            distance_queries = self.split_heads((self.position_query or self.query)(vectors))
            products = keys @ distance_queries.transpose(-2, -1)  # [batch, heads, keys, buckets]
            scores = scores + products.gather(-1, indices.T.expand(shape)).transpose(-2, -1)
        return scores * self.scale
