"""How layers of attention mix tokens: shares from layer to layer, rolled out or as a flow from the word to the source.

A `Mixing` says of each layer how much of a token's new vector comes from which old one. Three ways to follow it down:

- rollout multiplies the layers (Abnar and Zuidema 2020, https://arxiv.org/abs/2005.00928, section 3);
- flow asks how much could pass at once from the word to each source token, each share a pipe's width (the same paper);
- contributions (ALTI, Ferrando et al. 2022, https://arxiv.org/abs/2203.04212, and ALTI+ for decoders,
  https://arxiv.org/abs/2205.11631) multiply, too, but take shares from the vectors themselves.

What comes from tokens written before is followed, too, and is the part that the shares of the source lack of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headlight.model.errors import RequestError
from headlight.model.measures.trace_records import AttentionTrace, Numbers, Trace
from headlight.model.records import Attention, FloatArray

CAPACITY_UNITS = 10_000  # capacities are whole numbers of a ten-thousandth, so that a flow ends
MAX_FLOW_WORK = 600_000  # edges × sinks of a flow: some seconds on one core


@dataclass(frozen=True, eq=False)
class MixingMatrices:
    """Shares by layer, from the first: the rows of `encoder` and `decoder` sum to one, and `cross` with `kept`, too."""

    encoder: Sequence[Numbers]  # [source, source]
    decoder: Sequence[Numbers]  # [target, target]: among target tokens
    cross: Sequence[Numbers]  # [target, source]
    kept: Sequence[Numbers]  # [target]: what cross-attention leaves of the token itself


def mixing_of_attention(attention: Attention) -> MixingMatrices:
    """Half of each vector comes from the residual connection, half from the mean attention."""

    def half(maps: FloatArray) -> list[Numbers]:
        averages = maps.mean(axis=1, dtype=np.float64)
        # A row that may look nowhere brings nothing home: all of it is the token itself.
        return [0.5 * each + np.diag(1 - 0.5 * each.sum(axis=1)) for each in averages]

    cross = [0.5 * each for each in attention.cross.mean(axis=1, dtype=np.float64)]
    remainders = [1 - each.sum(axis=1) for each in cross]
    return MixingMatrices(half(attention.encoder), half(attention.decoder), cross, remainders)


def mixing_of_contributions(trace: Trace) -> MixingMatrices:
    """ALTI contributions: how much each token reduces the L1 distance to the layer's output."""
    encoder = [_shares(each, own=True) for each in trace.encoder]
    decoder = [_shares(layer.self_attention, own=True) for layer in trace.decoder]
    cross = [_shares(layer.cross_attention, own=False) for layer in trace.decoder]
    return MixingMatrices(encoder, decoder, [each[:, :-1] for each in cross], [each[:, -1] for each in cross])


def rollout(mixing: MixingMatrices) -> tuple[Numbers, Numbers]:
    """Shares of source tokens, `[target, source]`, and of target tokens, `[target, target]`."""
    read = np.eye(mixing.encoder[0].shape[0])
    for layer in mixing.encoder:
        read = layer @ read
    targets = len(mixing.kept[0])
    source, written = np.zeros((targets, len(read))), np.eye(targets)
    for self_shares, cross, remainders in zip(mixing.decoder, mixing.cross, mixing.kept, strict=True):
        source, written = self_shares @ source, self_shares @ written
        source, written = remainders[:, None] * source + cross @ read, remainders[:, None] * written
    return source, written


def flow(mixing: MixingMatrices, row: int, groups: Sequence[Sequence[int]] | None = None, *, rows: int = 1) -> Numbers:
    """Maximum flow from one row to each group of source tokens; without groups, to each token.

    Each is at most one: all that leaves the row. Of so many `rows` that are asked about together, all count.
    """
    graph = _graph(mixing, row)
    sinks = groups or [(place,) for place in range(len(graph.sources))]
    edges = len(graph.ends) // 2
    if edges * len(sinks) * rows > MAX_FLOW_WORK:
        raise RequestError("flow_too_long", field="text", edges=edges, limit=MAX_FLOW_WORK // (len(sinks) * rows))
    return np.array([graph.max_flow(group) / CAPACITY_UNITS for group in sinks])


# ---------------------------------------------------------------- shares by ALTI


def _shares(attention: AttentionTrace, *, own: bool) -> Numbers:
    """`[queries, keys]`, rows sum to one; without `own` keys (cross-attention), the residual is one more column."""
    queries, keys = attention.weights.shape[1:]
    result = np.zeros((queries, keys + (not own)))
    values = attention.value_outputs()  # [heads, keys, d]
    for row in range(queries):
        parts = np.einsum("hk,hkd->kd", attention.weights[:, row], values)
        if own:
            parts[row] += attention.residual_input[row]
        else:
            parts = np.concatenate([parts, attention.residual_input[row][None]])
        whole = parts.sum(axis=0) + attention.bias
        if attention.norm is not None:
            parts, whole = attention.norm.apply_linear(parts, row), attention.norm.apply(whole, row)
        size = np.abs(whole).sum()
        nearer = np.maximum(0.0, size - np.abs(whole - parts).sum(axis=-1))
        total = nearer.sum()
        if total > 0:
            result[row] = nearer / total
        else:  # nothing brings it nearer: the token stands for itself
            result[row, row if own else -1] = 1.0
    return result


# ---------------------------------------------------------------- the largest flow


class _Graph:
    """Dinic's algorithm over whole capacities: shortest ways first, each layer of them filled at once."""

    def __init__(self) -> None:
        self.to: list[list[int]] = []  # of each node, the numbers of its edges
        self.ends: list[int] = []  # of each edge; edge ^ 1 goes back
        self.room: list[int] = []
        self.sources: list[int] = []
        self.top = 0

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
        for place in group:
            self.edge(self.sources[place], sink, 1.0)
        full = self.room.copy()
        while (levels := self._levels(sink))[sink] >= 0:
            total += self._fill(levels, sink)
        self.room = full
        for place in group:  # each group has its own sink
            self.room[self.to[self.sources[place]].pop()] = 0
        return total

    def _levels(self, sink: int) -> list[int]:
        levels = [-1] * len(self.to)
        levels[self.top] = 0
        border = [self.top]
        while border and levels[sink] < 0:
            further = []
            for node in border:
                for edge in self.to[node]:
                    end = self.ends[edge]
                    if self.room[edge] and levels[end] < 0:
                        levels[end] = levels[node] + 1
                        further.append(end)
            border = further
        return levels

    def _fill(self, levels: list[int], sink: int) -> int:
        untried = [0] * len(self.to)
        path: list[int] = []
        node, total = self.top, 0
        while True:
            if node == sink:
                pushed = min(self.room[edge] for edge in path)
                total += pushed
                for edge in path:
                    self.room[edge] -= pushed
                    self.room[edge ^ 1] += pushed
                first = next(place for place, edge in enumerate(path) if not self.room[edge])
                node = self.ends[path[first] ^ 1]
                del path[first:]
            while untried[node] < len(self.to[node]):
                edge = self.to[node][untried[node]]
                if self.room[edge] and levels[self.ends[edge]] == levels[node] + 1:
                    path.append(edge)
                    node = self.ends[edge]
                    break
                untried[node] += 1
            else:
                if not path:
                    return total
                edge = path.pop()
                node = self.ends[edge ^ 1]
                untried[node] += 1


def _graph(mixing: MixingMatrices, row: int) -> _Graph:
    graph = _Graph()
    sources = mixing.encoder[0].shape[0]
    below = [graph.node() for _ in range(sources)]
    graph.sources = below
    for layer in mixing.encoder:
        below = _add_layer_edges(graph, layer, below)
    written = [graph.node() for _ in range(row + 1)]  # what comes later has no part in this row
    for self_shares, cross, remainders in zip(mixing.decoder, mixing.cross, mixing.kept, strict=True):
        written = _add_layer_edges(graph, self_shares[: row + 1, : row + 1], written)
        looked = [graph.node() for _ in written]
        for place, node in enumerate(looked):
            graph.edge(node, written[place], remainders[place])
            for source, end in enumerate(below):
                graph.edge(node, end, cross[place, source])
        written = looked
    graph.top = written[row]
    return graph


def _add_layer_edges(graph: _Graph, shares: Numbers, below: list[int]) -> list[int]:
    nodes = [graph.node() for _ in range(shares.shape[0])]
    for place, node in enumerate(nodes):
        for other in np.flatnonzero(shares[place]):
            graph.edge(node, below[other], shares[place, other])
    return nodes
