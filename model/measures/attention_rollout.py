"""Mixing of tokens across the layers of attention: rollout, flow and contributions.

`MixingMatrices` contain, for each layer, the share of every old vector in every new one. Three ways to combine layers:

- rollout multiplies the matrices (Abnar and Zuidema 2020, https://arxiv.org/abs/2005.00928, section 3);
- flow is the maximum flow from a target token to each source token, with shares as edge capacities (the same paper);
- contributions (ALTI, Ferrando et al. 2022, https://arxiv.org/abs/2203.04212, and ALTI+ for decoders,
  https://arxiv.org/abs/2205.11631) also multiply matrices, but compute shares from the vectors.

The shares of source tokens may sum to less than one. The rest comes from target tokens that were written before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headlight.model.errors import RequestError
from headlight.model.measures.trace_records import AttentionTrace, Numbers, Trace
from headlight.model.records import Attention, FloatArray

CAPACITY_UNITS = 10_000  # capacities are integers, in ten-thousandths, so that the algorithm terminates
MAX_FLOW_WORK = 600_000  # edges × sinks of a flow: several seconds on one core


@dataclass(frozen=True, eq=False)
class MixingMatrices:
    """Shares per layer. Rows of `encoder` and `decoder` sum to one; rows of `cross` do with `cross_residual`."""

    encoder: Sequence[Numbers]  # [source, source]
    decoder: Sequence[Numbers]  # [target, target]
    cross: Sequence[Numbers]  # [target, source]
    cross_residual: Sequence[Numbers]  # [target]: share of the residual connection around cross-attention


def mixing_of_attention(attention: Attention) -> MixingMatrices:
    """Derive shares from attention: half from the residual connection, half from the mean weights of all heads."""

    def half(maps: FloatArray) -> list[Numbers]:
        averages = maps.mean(axis=1, dtype=np.float64)
        # A fully masked row receives nothing from attention, so the residual connection has the whole share.
        return [0.5 * layer + np.diag(1 - 0.5 * layer.sum(axis=1)) for layer in averages]

    cross = [0.5 * layer for layer in attention.cross.mean(axis=1, dtype=np.float64)]
    remainders = [1 - layer.sum(axis=1) for layer in cross]
    return MixingMatrices(half(attention.encoder), half(attention.decoder), cross, remainders)


def mixing_of_contributions(trace: Trace) -> MixingMatrices:
    """Compute ALTI contributions: how much each token reduces the L1 distance to the layer's output."""
    encoder = [_shares(attention, own=True) for attention in trace.encoder]
    decoder = [_shares(layer.self_attention, own=True) for layer in trace.decoder]
    cross = [_shares(layer.cross_attention, own=False) for layer in trace.decoder]
    return MixingMatrices(
        encoder, decoder, [attention[:, :-1] for attention in cross], [attention[:, -1] for attention in cross]
    )


def rollout(mixing: MixingMatrices) -> tuple[Numbers, Numbers]:
    """Return the shares of source tokens, `[target, source]`, and of target tokens, `[target, target]`."""
    encoded = np.eye(mixing.encoder[0].shape[0])
    for layer in mixing.encoder:
        encoded = layer @ encoded
    targets = len(mixing.cross_residual[0])
    source_shares, target_shares = np.zeros((targets, len(encoded))), np.eye(targets)
    for self_shares, cross, remainders in zip(mixing.decoder, mixing.cross, mixing.cross_residual, strict=True):
        source_shares, target_shares = self_shares @ source_shares, self_shares @ target_shares
        source_shares, target_shares = (
            remainders[:, None] * source_shares + cross @ encoded,
            remainders[:, None] * target_shares,
        )
    return source_shares, target_shares


def flow(mixing: MixingMatrices, row: int, groups: Sequence[Sequence[int]] | None = None, *, rows: int = 1) -> Numbers:
    """Return the maximum flow from one row to each group of source tokens; without groups, to each token.

    A flow is at most one. `rows` is the number of rows in the whole request, for the limit on its work.

    Raises:
        RequestError: the flow would take too long.
    """
    graph = _graph(mixing, row)
    sinks = groups or [(index,) for index in range(len(graph.sources))]
    edges = len(graph.ends) // 2
    if edges * len(sinks) * rows > MAX_FLOW_WORK:
        raise RequestError("flow_too_long", field="text", edges=edges, limit=MAX_FLOW_WORK // (len(sinks) * rows))
    return np.array([graph.max_flow(group) / CAPACITY_UNITS for group in sinks])


# ---------------------------------------------------------------- ALTI shares


def _shares(attention: AttentionTrace, *, own: bool) -> Numbers:
    """Return shares `[queries, keys]` whose rows sum to one.

    Without `own` keys (cross-attention), the last column is the share of the residual connection.
    """
    queries, keys = attention.weights.shape[1:]
    result = np.zeros((queries, keys + (not own)))
    values = attention.value_outputs()  # [heads, keys, d]
    for row in range(queries):
        parts = np.einsum("hk,hkd->kd", attention.weights[:, row], values)
        if own:
            parts[row] += attention.residual_input[row]
        else:
            parts = np.concatenate([parts, attention.residual_input[row][None]])
        output = parts.sum(axis=0) + attention.bias
        if attention.norm is not None:
            parts, output = attention.norm.apply_linear(parts, row), attention.norm.apply(output, row)
        size = np.abs(output).sum()
        reductions = np.maximum(0.0, size - np.abs(output - parts).sum(axis=-1))
        total = reductions.sum()
        if total > 0:
            result[row] = reductions / total
        else:  # no part reduces the distance: the residual connection has the whole share
            result[row, row if own else -1] = 1.0
    return result


# ---------------------------------------------------------------- maximum flow


class _Graph:
    """A flow network with integer capacities, solved by Dinic's algorithm: shortest paths first, level by level."""

    def __init__(self) -> None:
        self.to: list[list[int]] = []  # per node: indices of its edges
        self.ends: list[int] = []  # per edge: end node; edge ^ 1 is the reverse edge
        self.room: list[int] = []  # per edge: remaining capacity
        self.sources: list[int] = []  # nodes of the source tokens
        self.top = 0  # start node of the flow

    def node(self) -> int:
        self.to.append([])
        return len(self.to) - 1

    def edge(self, start: int, end: int, share: float) -> None:
        capacity = round(share * CAPACITY_UNITS)
        if capacity > 0:
            self.to[start].append(len(self.ends))
            self.to[end].append(len(self.ends) + 1)
            self.ends += [end, start]
            self.room += [capacity, 0]

    def max_flow(self, group: Sequence[int]) -> int:
        sink, total = self.node(), 0
        for source in group:
            self.edge(self.sources[source], sink, 1.0)
        capacities = self.room.copy()
        while (levels := self._levels(sink))[sink] >= 0:
            total += self._fill(levels, sink)
        self.room = capacities
        for source in group:  # disconnect this group's sink
            self.room[self.to[self.sources[source]].pop()] = 0
        return total

    def _levels(self, sink: int) -> list[int]:
        levels = [-1] * len(self.to)
        levels[self.top] = 0
        frontier = [self.top]
        while frontier and levels[sink] < 0:
            next_frontier = []
            for node in frontier:
                for edge in self.to[node]:
                    end = self.ends[edge]
                    if self.room[edge] and levels[end] < 0:
                        levels[end] = levels[node] + 1
                        next_frontier.append(end)
            frontier = next_frontier
        return levels

    def _fill(self, levels: list[int], sink: int) -> int:
        next_edge = [0] * len(self.to)
        path: list[int] = []
        node, total = self.top, 0
        while True:
            if node == sink:
                pushed = min(self.room[edge] for edge in path)
                total += pushed
                for edge in path:
                    self.room[edge] -= pushed
                    self.room[edge ^ 1] += pushed
                first = next(index for index, edge in enumerate(path) if not self.room[edge])
                node = self.ends[path[first] ^ 1]
                del path[first:]
            while next_edge[node] < len(self.to[node]):
                edge = self.to[node][next_edge[node]]
                if self.room[edge] and levels[self.ends[edge]] == levels[node] + 1:
                    path.append(edge)
                    node = self.ends[edge]
                    break
                next_edge[node] += 1
            else:
                if not path:
                    return total
                edge = path.pop()
                node = self.ends[edge ^ 1]
                next_edge[node] += 1


def _graph(mixing: MixingMatrices, row: int) -> _Graph:
    graph = _Graph()
    sources = mixing.encoder[0].shape[0]
    below = [graph.node() for _ in range(sources)]
    graph.sources = below
    for layer in mixing.encoder:
        below = _add_layer_edges(graph, layer, below)
    target_nodes = [graph.node() for _ in range(row + 1)]  # later tokens do not contribute to this row
    for self_shares, cross, remainders in zip(mixing.decoder, mixing.cross, mixing.cross_residual, strict=True):
        target_nodes = _add_layer_edges(graph, self_shares[: row + 1, : row + 1], target_nodes)
        mixed = [graph.node() for _ in target_nodes]
        for position, node in enumerate(mixed):
            graph.edge(node, target_nodes[position], remainders[position])
            for source, end in enumerate(below):
                graph.edge(node, end, cross[position, source])
        target_nodes = mixed
    graph.top = target_nodes[row]
    return graph


def _add_layer_edges(graph: _Graph, shares: Numbers, below: list[int]) -> list[int]:
    nodes = [graph.node() for _ in range(shares.shape[0])]
    for position, node in enumerate(nodes):
        for key in np.flatnonzero(shares[position]):
            graph.edge(node, below[key], shares[position, key])
    return nodes
