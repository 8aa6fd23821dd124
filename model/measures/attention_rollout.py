"""Mixing of tokens across the layers of attention: rollout, flow and contributions.

`MixingMatrices` contain, for each layer, the share of every old vector in every new one. Three methods combine layers:

- rollout multiplies the matrices (Abnar and Zuidema 2020, https://arxiv.org/abs/2005.00928, section 3);
- flow is the maximum flow from a target token to each source token, with shares as edge capacities (the same paper);
- contributions (ALTI, Ferrando et al. 2022, https://arxiv.org/abs/2203.04212, and ALTI+ for decoders,
  https://arxiv.org/abs/2205.11631) also multiply matrices, but compute shares from the vectors.

The shares of source tokens may sum to less than one. The remainder comes from the preceding target tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headlight.model.errors import RequestError
from headlight.model.measures.trace_records import AttentionTrace, Float64Array, Trace
from headlight.model.records import Attention, FloatArray

CAPACITY_UNITS = 10_000  # capacities are integers, in ten-thousandths, so that the algorithm terminates
MAX_FLOW_WORK = 600_000  # edges × sinks of a flow: several seconds on one core


@dataclass(frozen=True, eq=False)
class MixingMatrices:
    """Shares per layer. Rows of `encoder` and `decoder` sum to one; rows of `cross` do with `cross_residual`."""

    encoder: Sequence[Float64Array]  # [source, source]
    decoder: Sequence[Float64Array]  # [target, target]
    cross: Sequence[Float64Array]  # [target, source]
    cross_residual: Sequence[Float64Array]  # [target]: share of the residual connection around cross-attention


def mixing_from_attention(attention: Attention) -> MixingMatrices:
    """Derive shares from attention: half from the residual connection, half from the mean weights of all heads."""

    def mix_with_residual(maps: FloatArray) -> list[Float64Array]:
        averages = maps.mean(axis=1, dtype=np.float64)
        # A fully masked row receives nothing from attention, so the residual connection has the whole share.
        return [0.5 * layer + np.diag(1 - 0.5 * layer.sum(axis=1)) for layer in averages]

    cross = [0.5 * layer for layer in attention.cross.mean(axis=1, dtype=np.float64)]
    remainders = [1 - layer.sum(axis=1) for layer in cross]
    return MixingMatrices(mix_with_residual(attention.encoder), mix_with_residual(attention.decoder), cross, remainders)


def mixing_from_contributions(trace: Trace) -> MixingMatrices:
    """Compute ALTI contributions: how much each token reduces the L1 distance to the layer's output."""
    encoder = [_compute_shares(attention, self_attention=True) for attention in trace.encoder]
    decoder = [_compute_shares(layer.self_attention, self_attention=True) for layer in trace.decoder]
    cross = [_compute_shares(layer.cross_attention, self_attention=False) for layer in trace.decoder]
    return MixingMatrices(
        encoder, decoder, [attention[:, :-1] for attention in cross], [attention[:, -1] for attention in cross]
    )


def rollout(mixing: MixingMatrices) -> tuple[Float64Array, Float64Array]:
    """Return the shares of source tokens, `[target, source]`, and of target tokens, `[target, target]`."""
    encoder_shares = np.eye(mixing.encoder[0].shape[0])
    for layer in mixing.encoder:
        encoder_shares = layer @ encoder_shares
    targets = len(mixing.cross_residual[0])
    source_shares, target_shares = np.zeros((targets, len(encoder_shares))), np.eye(targets)
    for self_shares, cross, remainders in zip(mixing.decoder, mixing.cross, mixing.cross_residual, strict=True):
        source_shares, target_shares = self_shares @ source_shares, self_shares @ target_shares
        source_shares, target_shares = (
            remainders[:, None] * source_shares + cross @ encoder_shares,
            remainders[:, None] * target_shares,
        )
    return source_shares, target_shares


def flow(
    mixing: MixingMatrices, row: int, groups: Sequence[Sequence[int]] | None = None, *, rows: int = 1
) -> Float64Array:
    """Return the maximum flow from one row to each group of source tokens; without groups, to each token.

    A flow is at most one. `rows` is the number of rows in the whole request, for the limit on its work.

    Raises:
        RequestError: the flow would take too long.
    """
    graph = _build_graph(mixing, row)
    sinks = groups or [(index,) for index in range(len(graph.sources))]
    edges = len(graph.ends) // 2
    if edges * len(sinks) * rows > MAX_FLOW_WORK:
        raise RequestError("flow_too_long", field="text", edges=edges, limit=MAX_FLOW_WORK // (len(sinks) * rows))
    return np.array([graph.max_flow(group) / CAPACITY_UNITS for group in sinks])


# ---------------------------------------------------------------- ALTI shares


def _compute_shares(attention: AttentionTrace, *, self_attention: bool) -> Float64Array:
    """Return shares `[queries, keys]` whose rows sum to one.

    In cross-attention, an additional last column is the share of the residual connection.
    """
    queries, keys = attention.weights.shape[1:]
    result = np.zeros((queries, keys + (not self_attention)))
    values = attention.value_outputs()  # [heads, keys, d]
    for row in range(queries):
        parts = np.einsum("hk,hkd->kd", attention.weights[:, row], values)
        if self_attention:
            parts[row] += attention.residual_input[row]
        else:
            parts = np.concatenate([parts, attention.residual_input[row][None]])
        output = parts.sum(axis=0) + attention.bias
        if attention.norm is not None:
            parts, output = attention.norm.apply_linear(parts, row), attention.norm.apply(output, row)
        distance = np.abs(output).sum()
        reductions = np.maximum(0.0, distance - np.abs(output - parts).sum(axis=-1))
        total = reductions.sum()
        if total > 0:
            result[row] = reductions / total
        else:  # no part reduces the distance: the residual connection has the whole share
            result[row, row if self_attention else -1] = 1.0
    return result


# ---------------------------------------------------------------- maximum flow


class _Graph:
    """A flow network with integer capacities, solved by Dinic's algorithm: shortest paths first, level by level."""

    def __init__(self) -> None:
        self.edges: list[list[int]] = []  # per node: indices of its edges
        self.ends: list[int] = []  # per edge: end node; edge ^ 1 is the reverse edge
        self.capacities: list[int] = []  # per edge: remaining capacity
        self.sources: list[int] = []  # nodes of the source tokens
        self.start = 0  # start node of the flow

    def add_node(self) -> int:
        self.edges.append([])
        return len(self.edges) - 1

    def add_edge(self, start: int, end: int, share: float) -> None:
        capacity = round(share * CAPACITY_UNITS)
        if capacity > 0:
            self.edges[start].append(len(self.ends))
            self.edges[end].append(len(self.ends) + 1)
            self.ends += [end, start]
            self.capacities += [capacity, 0]

    def max_flow(self, group: Sequence[int]) -> int:
        sink, total = self.add_node(), 0
        for source in group:
            self.add_edge(self.sources[source], sink, 1.0)
        initial = self.capacities.copy()
        while (levels := self._compute_levels(sink))[sink] >= 0:
            total += self._push_flow(levels, sink)
        self.capacities = initial
        for source in group:  # disconnect this group's sink
            self.capacities[self.edges[self.sources[source]].pop()] = 0
        return total

    def _compute_levels(self, sink: int) -> list[int]:
        levels = [-1] * len(self.edges)
        levels[self.start] = 0
        frontier = [self.start]
        while frontier and levels[sink] < 0:
            next_frontier = []
            for node in frontier:
                for edge in self.edges[node]:
                    end = self.ends[edge]
                    if self.capacities[edge] and levels[end] < 0:
                        levels[end] = levels[node] + 1
                        next_frontier.append(end)
            frontier = next_frontier
        return levels

    def _push_flow(self, levels: list[int], sink: int) -> int:
        next_edge = [0] * len(self.edges)
        path: list[int] = []
        node, total = self.start, 0
        while True:
            if node == sink:
                flow_amount = min(self.capacities[edge] for edge in path)
                total += flow_amount
                for edge in path:
                    self.capacities[edge] -= flow_amount
                    self.capacities[edge ^ 1] += flow_amount
                first = next(index for index, edge in enumerate(path) if not self.capacities[edge])
                node = self.ends[path[first] ^ 1]
                del path[first:]
            while next_edge[node] < len(self.edges[node]):
                edge = self.edges[node][next_edge[node]]
                if self.capacities[edge] and levels[self.ends[edge]] == levels[node] + 1:
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


def _build_graph(mixing: MixingMatrices, row: int) -> _Graph:
    graph = _Graph()
    sources = mixing.encoder[0].shape[0]
    lower_nodes = [graph.add_node() for _ in range(sources)]
    graph.sources = lower_nodes
    for layer in mixing.encoder:
        lower_nodes = _add_layer_edges(graph, layer, lower_nodes)
    target_nodes = [graph.add_node() for _ in range(row + 1)]  # later tokens do not contribute to this row
    for self_shares, cross, remainders in zip(mixing.decoder, mixing.cross, mixing.cross_residual, strict=True):
        target_nodes = _add_layer_edges(graph, self_shares[: row + 1, : row + 1], target_nodes)
        mixed_nodes = [graph.add_node() for _ in target_nodes]
        for position, node in enumerate(mixed_nodes):
            graph.add_edge(node, target_nodes[position], remainders[position])
            for source, end in enumerate(lower_nodes):
                graph.add_edge(node, end, cross[position, source])
        target_nodes = mixed_nodes
    graph.start = target_nodes[row]
    return graph


def _add_layer_edges(graph: _Graph, shares: Float64Array, lower_nodes: list[int]) -> list[int]:
    nodes = [graph.add_node() for _ in range(shares.shape[0])]
    for position, node in enumerate(nodes):
        for key in np.flatnonzero(shares[position]):
            graph.add_edge(node, lower_nodes[key], shares[position, key])
    return nodes
