"""Rollout and flow against reference implementations, and rank agreement against manual values."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest

from headlight.model.errors import RequestError
from headlight.model.measures import attention_rollout
from headlight.model.measures.attention_rollout import MixingMatrices, flow, mixing_of_attention, rollout
from headlight.model.measures.rank_agreement import area_between, kendall_tau, rank_order, resample, top_overlap
from headlight.model.records import Attention, FloatArray

SOURCE, TARGET, ENCODER, DECODER, HEADS = 5, 3, 2, 3, 4


def rows(*shape: int, seed: int, causal: bool = False) -> FloatArray:
    """Random weights whose rows sum to one."""
    drawn = np.random.default_rng(seed).exponential(size=shape).astype(np.float32)
    if causal:
        drawn = np.tril(drawn)
    return drawn / drawn.sum(axis=-1, keepdims=True)


def random_attention(seed: int = 0) -> Attention:
    return Attention(
        encoder=rows(ENCODER, HEADS, SOURCE, SOURCE, seed=seed),
        decoder=rows(DECODER, HEADS, TARGET, TARGET, seed=seed + 1, causal=True),
        cross=rows(DECODER, HEADS, TARGET, SOURCE, seed=seed + 2),
    )


# ---------------------------------------------------------------- rollout


def walked(attention: Attention, row: int) -> tuple[list[float], list[float]]:
    """Rollout as a random walk from the top: at each layer half stays, half goes where the average head looks."""
    source, written = [0.0] * SOURCE, [0.0] * TARGET

    def down_encoder(place: int, layer: int, share: float) -> None:
        if layer < 0:
            source[place] += share
            return
        down_encoder(place, layer - 1, share / 2)
        for other in range(SOURCE):
            mean = float(np.mean([attention.encoder[layer, head, place, other] for head in range(HEADS)]))
            down_encoder(other, layer - 1, share / 2 * mean)

    def down_decoder(place: int, layer: int, share: float) -> None:
        if layer < 0:
            written[place] += share
            return
        for other in range(SOURCE):
            mean = float(np.mean([attention.cross[layer, head, place, other] for head in range(HEADS)]))
            down_encoder(other, ENCODER - 1, share / 2 * mean)
        down_decoder(place, layer - 1, share / 4)
        for other in range(TARGET):
            mean = float(np.mean([attention.decoder[layer, head, place, other] for head in range(HEADS)]))
            if mean:
                down_decoder(other, layer - 1, share / 4 * mean)

    down_decoder(row, DECODER - 1, 1.0)
    return source, written


@pytest.mark.parametrize("row", range(TARGET))
def test_rollout_is_a_walk_down_all_layers(row: int) -> None:
    attention = random_attention()
    source, written = rollout(mixing_of_attention(attention))
    expected = walked(attention, row)
    assert source[row] == pytest.approx(expected[0], abs=1e-6)
    assert written[row] == pytest.approx(expected[1], abs=1e-6)
    assert source[row].sum() + written[row].sum() == pytest.approx(1)


def test_a_row_that_looks_nowhere_stays_with_itself() -> None:
    attention = random_attention()
    silent = Attention(attention.encoder, attention.decoder, attention.cross * 0)
    source, written = rollout(mixing_of_attention(silent))
    assert not source.any()
    assert written.sum(axis=1) == pytest.approx(1)


# ---------------------------------------------------------------- flow


def edges_of(mixing: MixingMatrices, row: int) -> tuple[dict[tuple[object, object], float], object]:
    """The same layers as a plain table of pipes between named places."""
    pipes: dict[tuple[object, object], float] = {}
    for layer, shares in enumerate(mixing.encoder):
        for place, other in itertools.product(range(SOURCE), range(SOURCE)):
            pipes[("e", layer + 1, place), ("e", layer, other)] = float(shares[place, other])
    top = len(mixing.encoder)
    for layer, (own, cross, residual) in enumerate(
        zip(mixing.decoder, mixing.cross, mixing.cross_residual, strict=True)
    ):
        for place in range(row + 1):
            for other in range(row + 1):
                pipes[("s", layer, place), ("d", layer, other)] = float(own[place, other])
            pipes[("d", layer + 1, place), ("s", layer, place)] = float(residual[place])
            for other in range(SOURCE):
                pipes[("d", layer + 1, place), ("e", top, other)] = float(cross[place, other])
    return pipes, ("d", len(mixing.decoder), row)


def plain_flow(pipes: dict[tuple[object, object], float], start: object, sinks: Sequence[object]) -> float:
    """Ford and Fulkerson: any way with room left, until there is none."""
    room = dict(pipes) | {(sink, "sink"): 1.0 for sink in sinks}
    total = 0.0
    while True:
        before: dict[object, object] = {start: start}
        border = [start]
        while border and "sink" not in before:
            node = border.pop(0)
            for (one, other), free in room.items():
                if one == node and other not in before and free > 1e-9:
                    before[other] = node
                    border.append(other)
        if "sink" not in before:
            return total
        way: list[tuple[object, object]] = []
        node = "sink"
        while node != start:
            way.append((before[node], node))
            node = before[node]
        pushed = min(room[edge] for edge in way)
        total += pushed
        for one, other in way:
            room[one, other] -= pushed
            room[other, one] = room.get((other, one), 0.0) + pushed


@pytest.mark.parametrize("row", [0, TARGET - 1])
def test_flow_is_what_a_plain_search_for_ways_finds(row: int) -> None:
    layers = mixing_of_attention(random_attention(3))
    pipes, start = edges_of(layers, row)
    assert flow(layers, row) == pytest.approx(
        [plain_flow(pipes, start, [("e", 0, place)]) for place in range(SOURCE)], abs=5e-3
    )
    groups = [(0, 3), (1,), (2, 4)]
    expected = [plain_flow(pipes, start, [("e", 0, place) for place in group]) for group in groups]
    assert flow(layers, row, groups) == pytest.approx(expected, abs=5e-3)


def test_flow_refuses_what_would_take_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention_rollout, "MAX_FLOW_WORK", 10)
    with pytest.raises(RequestError, match="too long for attention flow"):
        flow(mixing_of_attention(random_attention()), 1)


# ---------------------------------------------------------------- agreement


def test_kendalls_tau_counts_pairs_by_hand() -> None:
    assert kendall_tau([1, 2, 3], [10, 20, 30]) == 1
    assert kendall_tau([1, 2, 3], [3, 2, 1]) == -1
    assert kendall_tau([1, 2, 3, 4], [1, 2, 4, 3]) == pytest.approx((5 - 1) / 6)
    assert kendall_tau([1, 1, 2], [1, 2, 3]) == pytest.approx(2 / math.sqrt(2 * 3))  # one tie
    assert math.isnan(kendall_tau([1, 1], [1, 2]))


def test_the_overlap_is_of_the_highest() -> None:
    assert rank_order([0.1, 0.7, 0.7, 0.3]) == [1, 2, 3, 0]
    assert top_overlap([5, 4, 3, 2, 1], [5, 4, 1, 2, 3]) == pytest.approx(2 / 3)
    assert top_overlap([1, 2], [2, 1]) == 1


def test_the_area_is_the_mean_height_between_two_curves() -> None:
    assert area_between([1, 0, 0], [1, 1, 0]) == pytest.approx((0.5 + 0.5) / 2)
    assert area_between([1, 1, 0], [1, 0, 0]) == pytest.approx(-0.5)
    assert area_between([1], [1]) == 0
    assert resample([0, 10, 20], 5) == pytest.approx([0, 5, 10, 15, 20])
