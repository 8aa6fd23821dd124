"""Rollout and flow against reference implementations, and rank agreement against manual values."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest

from headlight.model.errors import RequestError
from headlight.model.measures import attention_rollout
from headlight.model.measures.attention_rollout import MixingMatrices, flow, mixing_from_attention, rollout
from headlight.model.measures.rank_agreement import (
    area_between,
    kendall_tau,
    rank_order,
    resample,
    spearman,
    top_overlap,
)
from headlight.model.records import Attention, FloatArray

SOURCE, TARGET, ENCODER, DECODER, HEADS = 5, 3, 2, 3, 4


def random_rows(*shape: int, seed: int, causal: bool = False) -> FloatArray:
    """Random weights whose rows sum to one."""
    weights = np.random.default_rng(seed).exponential(size=shape).astype(np.float32)
    if causal:
        weights = np.tril(weights)
    return weights / weights.sum(axis=-1, keepdims=True)


def random_attention(seed: int = 0) -> Attention:
    return Attention(
        encoder=random_rows(ENCODER, HEADS, SOURCE, SOURCE, seed=seed),
        decoder=random_rows(DECODER, HEADS, TARGET, TARGET, seed=seed + 1, causal=True),
        cross=random_rows(DECODER, HEADS, TARGET, SOURCE, seed=seed + 2),
    )


# ---------------------------------------------------------------- rollout


def walk_rollout(attention: Attention, row: int) -> tuple[list[float], list[float]]:
    """Rollout as a random walk from the last layer: half stays, half follows the mean attention of the layer."""
    source, prefix = [0.0] * SOURCE, [0.0] * TARGET

    def down_encoder(position: int, layer: int, share: float) -> None:
        if layer < 0:
            source[position] += share
            return
        down_encoder(position, layer - 1, share / 2)
        for other in range(SOURCE):
            mean = float(np.mean([attention.encoder[layer, head, position, other] for head in range(HEADS)]))
            down_encoder(other, layer - 1, share / 2 * mean)

    def down_decoder(position: int, layer: int, share: float) -> None:
        if layer < 0:
            prefix[position] += share
            return
        for other in range(SOURCE):
            mean = float(np.mean([attention.cross[layer, head, position, other] for head in range(HEADS)]))
            down_encoder(other, ENCODER - 1, share / 2 * mean)
        down_decoder(position, layer - 1, share / 4)
        for other in range(TARGET):
            mean = float(np.mean([attention.decoder[layer, head, position, other] for head in range(HEADS)]))
            if mean:
                down_decoder(other, layer - 1, share / 4 * mean)

    down_decoder(row, DECODER - 1, 1.0)
    return source, prefix


@pytest.mark.parametrize("row", range(TARGET))
def test_rollout_matches_random_walk(row: int) -> None:
    attention = random_attention()
    source, prefix = rollout(mixing_from_attention(attention))
    expected = walk_rollout(attention, row)
    assert source[row] == pytest.approx(expected[0], abs=1e-6)
    assert prefix[row] == pytest.approx(expected[1], abs=1e-6)
    assert source[row].sum() + prefix[row].sum() == pytest.approx(1)


def test_rollout_without_cross_attention_stays_in_prefix() -> None:
    attention = random_attention()
    without_cross = Attention(attention.encoder, attention.decoder, attention.cross * 0)
    source, prefix = rollout(mixing_from_attention(without_cross))
    assert not source.any()
    assert prefix.sum(axis=1) == pytest.approx(1)


# ---------------------------------------------------------------- flow


def flow_graph(mixing: MixingMatrices, row: int) -> tuple[dict[tuple[object, object], float], object]:
    """The layers as a graph: capacities of edges between named nodes, and the start node."""
    capacities: dict[tuple[object, object], float] = {}
    for layer, shares in enumerate(mixing.encoder):
        for position, other in itertools.product(range(SOURCE), range(SOURCE)):
            capacities[("e", layer + 1, position), ("e", layer, other)] = float(shares[position, other])
    top = len(mixing.encoder)
    for layer, (own, cross, residual) in enumerate(
        zip(mixing.decoder, mixing.cross, mixing.cross_residual, strict=True)
    ):
        for position in range(row + 1):
            for other in range(row + 1):
                capacities[("s", layer, position), ("d", layer, other)] = float(own[position, other])
            capacities[("d", layer + 1, position), ("s", layer, position)] = float(residual[position])
            for other in range(SOURCE):
                capacities[("d", layer + 1, position), ("e", top, other)] = float(cross[position, other])
    return capacities, ("d", len(mixing.decoder), row)


def max_flow(capacities: dict[tuple[object, object], float], start: object, sinks: Sequence[object]) -> float:
    """Ford-Fulkerson: augment along any path with residual capacity until none is left."""
    residual = dict(capacities) | {(sink, "sink"): 1.0 for sink in sinks}
    total = 0.0
    while True:
        predecessor: dict[object, object] = {start: start}
        queue = [start]
        while queue and "sink" not in predecessor:
            node = queue.pop(0)
            for (one, other), free in residual.items():
                if one == node and other not in predecessor and free > 1e-9:
                    predecessor[other] = node
                    queue.append(other)
        if "sink" not in predecessor:
            return total
        path: list[tuple[object, object]] = []
        node = "sink"
        while node != start:
            path.append((predecessor[node], node))
            node = predecessor[node]
        pushed = min(residual[edge] for edge in path)
        total += pushed
        for one, other in path:
            residual[one, other] -= pushed
            residual[other, one] = residual.get((other, one), 0.0) + pushed


@pytest.mark.parametrize("row", [0, TARGET - 1])
def test_flow_matches_ford_fulkerson(row: int) -> None:
    layers = mixing_from_attention(random_attention(3))
    capacities, start = flow_graph(layers, row)
    assert flow(layers, row) == pytest.approx(
        [max_flow(capacities, start, [("e", 0, position)]) for position in range(SOURCE)], abs=5e-3
    )
    groups = [(0, 3), (1,), (2, 4)]
    expected = [max_flow(capacities, start, [("e", 0, position) for position in group]) for group in groups]
    assert flow(layers, row, groups) == pytest.approx(expected, abs=5e-3)


def test_too_large_flow_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention_rollout, "MAX_FLOW_WORK", 10)
    with pytest.raises(RequestError, match="too long for attention flow"):
        flow(mixing_from_attention(random_attention()), 1)


# ---------------------------------------------------------------- agreement


def test_spearman_by_hand() -> None:
    assert spearman([1.0, 2.0, 30.0], [-5.0, 0.0, 0.1]) == pytest.approx(1)
    assert spearman([1.0, 2.0, 30.0], [3.0, 2.0, 1.0]) == pytest.approx(-1)
    assert spearman([1.0, 2.0, 3.0, 4.0], [2.0, 1.0, 4.0, 3.0]) == pytest.approx(1 - 6 * 4 / (4 * 15))
    assert spearman([1.0, 1.0, 2.0], [1.0, 2.0, 3.0]) == pytest.approx(1.5 / 3**0.5)  # ranks 1.5, 1.5, 3
    assert math.isnan(spearman([1.0, 1.0], [1.0, 2.0]))
    assert math.isnan(spearman([], []))


def test_kendall_tau_by_hand() -> None:
    assert kendall_tau([1, 2, 3], [10, 20, 30]) == 1
    assert kendall_tau([1, 2, 3], [3, 2, 1]) == -1
    assert kendall_tau([1, 2, 3, 4], [1, 2, 4, 3]) == pytest.approx((5 - 1) / 6)
    assert kendall_tau([1, 1, 2], [1, 2, 3]) == pytest.approx(2 / math.sqrt(2 * 3))  # one tie
    assert math.isnan(kendall_tau([1, 1], [1, 2]))


def test_rank_order_and_top_overlap_by_hand() -> None:
    assert rank_order([0.1, 0.7, 0.7, 0.3]) == [1, 2, 3, 0]
    assert top_overlap([5, 4, 3, 2, 1], [5, 4, 1, 2, 3]) == pytest.approx(2 / 3)
    assert top_overlap([1, 2], [2, 1]) == 1


def test_area_between_curves_by_hand() -> None:
    assert area_between([1, 0, 0], [1, 1, 0]) == pytest.approx((0.5 + 0.5) / 2)
    assert area_between([1, 1, 0], [1, 0, 0]) == pytest.approx(-0.5)
    assert area_between([1], [1]) == 0
    assert resample([0, 10, 20], 5) == pytest.approx([0, 5, 10, 15, 20])
