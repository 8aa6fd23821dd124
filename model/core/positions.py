"""Positional encodings. Without them, attention ignores word order.

Each encoding overrides one of three methods:

- `forward` adds one table row per position to the embedding, or concatenates it (sinusoidal, learned);
- `rotate` rotates queries and keys by angles proportional to their position (rotary);
- `bias` adds a number to each score that depends on the distance from query to key (ALiBi, T5's relative).

Each method passes position indices through a probe, so an edit can permute them. Index −1 means no position.
To add an encoding, write a class and register it in `POSITIONS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from headlight.model.core.config import TransformerConfig
from headlight.model.core.probes import Probe, Watchable
from headlight.model.errors import RequestError


class Positions(Watchable):
    """Base class of the encodings, used directly for no encoding. Subclasses override `forward`, `rotate` or `bias`."""

    def forward(self, embedded: Tensor, start: int = 0) -> Tensor:
        """Map `[batch, tokens, embedding width]` to `[batch, tokens, d_model]`. The first position is `start`."""
        return embedded

    def rotate(self, vectors: Tensor, start: int = 0) -> Tensor:
        """Rotate queries or keys, `[batch, heads, tokens, width]`, by their positions."""
        return vectors

    def bias(self, queries: int, keys: int) -> Tensor | None:
        """Return the bias of the scores, `[heads, queries, keys]`. The last query has the position of the last key."""
        return None

    def biases(self, queries: int, keys: int, layers: int) -> Sequence[Tensor | None]:
        """Return one bias per layer, `[heads, queries, keys]`."""
        return [self.bias(queries, keys)] * layers

    def as_array(self, length: int) -> Tensor:
        """Return the table `[positions, width]` or the bias `[(layers,) heads, queries, keys]`."""
        return torch.zeros(length, 0)


class AddedPositions(Positions):
    """A table with one row per position, added to the embedding or, with `position_width`, concatenated to it."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.width = config.position_width or config.d_model
        self.concatenates = config.position_width > 0
        self.offset = config.position_offset
        self.max_length = config.max_length  # an edit of `places` may return any position below this
        self.places = Probe("tokens")

    def rows(self, start: int, end: int, like: Tensor) -> Tensor:
        """Return rows `start` to `end` of the table, `[positions, width]`, with the device and dtype of `like`."""
        raise NotImplementedError

    def forward(self, embedded: Tensor, start: int = 0) -> Tensor:
        batch, tokens, _ = embedded.shape
        if self.places.watched:
            indices = self.places(torch.arange(start, start + tokens, device=embedded.device))
            rows = self.rows_at(indices, max(start + tokens, self.max_length), embedded)
        else:
            rows = self.rows(start + self.offset, start + self.offset + tokens, embedded)
        if self.concatenates:
            return torch.cat([embedded, rows.expand(batch, tokens, self.width)], dim=-1)
        return embedded + rows

    def rows_at(self, places: Tensor, count: int, like: Tensor) -> Tensor:
        """Return the rows at positions clamped to the first `count`, `[tokens, width]`. Negative ones give zeros."""
        return self.first_rows(count, like)[places.clamp(min=0, max=count - 1)] * (places >= 0)[:, None]

    def first_rows(self, count: int, like: Tensor) -> Tensor:
        """Return the first `count` rows, `[count, width]`."""
        return self.rows(self.offset, self.offset + count, like)


class SinusoidalPositions(AddedPositions):
    """Sinusoids (section 3.5): PE(p, 2i) = sin(p / 10000^(2i/d)), PE(p, 2i+1) = cos(p / 10000^(2i/d)).

    A shift by k is the same rotation at every position: PE(p + k) = M(k) · PE(p).
    `halves` puts all sines before all cosines, as in Marian, which only permutes the columns. With `closed_waves`, the
    exponents reach 1 (i / (d/2 − 1) instead of 2i / d), as in the Tensor2Tensor library.
    """

    def __init__(self, config: TransformerConfig, *, halves: bool = False) -> None:
        super().__init__(config)
        self.layout = {"halves": halves, "closed": config.closed_waves}
        # Not a buffer: the table is computed from the configuration, so checkpoints do not contain it.
        self.table = sinusoidal_table(64, self.width, **self.layout)

    def rows(self, start: int, end: int, like: Tensor) -> Tensor:
        table = self.table
        if end > len(table) or table.device != like.device or table.dtype != like.dtype:
            length = len(table) if end <= len(table) else 2 * end  # double, so that recomputation is rare
            with torch.inference_mode(False):  # autograd rejects tensors created in inference mode
                # Recompute in float32: a table rounded to half precision would stay rounded.
                table = sinusoidal_table(length, self.width, **self.layout).to(like)
            self.table = table  # a single assignment: other threads see the old table or the new one
        return table[start:end]

    def first_rows(self, count: int, like: Tensor) -> Tensor:
        return self.as_array(count).to(like)  # not cached: the table may be long

    def as_array(self, length: int) -> Tensor:
        return sinusoidal_table(self.offset + length, self.width, **self.layout)[self.offset :]


def sinusoidal_table(length: int, width: int, *, halves: bool = False, closed: bool = False) -> Tensor:
    """Compute the table of the paper, `[length, width]`, in float64 and round it to float32."""
    pairs = torch.arange(width // 2 if closed else (width + 1) // 2, dtype=torch.float64, device="cpu")
    wavelengths = 10_000 ** (pairs / (len(pairs) - 1) if closed else 2 * pairs / width)
    angles = torch.arange(length, dtype=torch.float64, device="cpu")[:, None] / wavelengths  # [length, pairs]
    sines, cosines = angles.sin(), angles.cos()
    if closed:  # if the width is odd, the last column is zero
        return torch.cat([sines, cosines, sines.new_zeros(length, width % 2)], dim=1).float()
    if halves:
        return torch.cat([sines, cosines[:, : width // 2]], dim=1).float()
    return torch.stack([sines, cosines], dim=2).flatten(1)[:, :width].float()


class LearnedPositions(AddedPositions):
    """A learned table of `max_length` positions; later positions raise a `RequestError`."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        self.table = nn.Parameter(torch.empty(config.max_length + config.position_offset, self.width))
        nn.init.normal_(self.table, std=self.width**-0.5)

    def rows(self, start: int, end: int, like: Tensor) -> Tensor:
        if end > len(self.table):
            positions = len(self.table) - self.offset
            raise RequestError("too_many_tokens", name="text", given=end - self.offset, limit=positions)
        return self.table[start:end].to(like)

    def as_array(self, length: int) -> Tensor:
        return self.table[self.offset : self.offset + length].detach()


class RotaryPositions(Positions):
    """Rotation of pairs of dimensions by an angle proportional to the position (Su et al. 2021, arXiv:2104.09864).

    The dot product of a rotated query and a rotated key depends only on their distance.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        pairs = torch.arange(config.resolved_head_width // 2, dtype=torch.float64, device="cpu")
        # [pairs], radians per position
        self.frequencies = config.rotary_base ** (-2 * pairs / config.resolved_head_width)
        self.offset = config.position_offset
        self.cos_sin_tables = self._cos_sin(64)
        self.max_length = config.max_length
        self.places = Probe("tokens")

    def _cos_sin(self, length: int) -> tuple[Tensor, Tensor]:
        angles = torch.arange(length, dtype=torch.float64, device="cpu")[:, None] * self.frequencies
        return angles.cos().float(), angles.sin().float()  # [positions, pairs]

    def rotate(self, vectors: Tensor, start: int = 0) -> Tensor:
        if self.places.watched:
            end = start + vectors.shape[2]
            indices = self.places(torch.arange(start, end, device=vectors.device))
            count = max(end, self.max_length)
            indices = indices.clamp(min=0, max=count - 1) + self.offset
            cosines, sines = (table.to(vectors.device)[indices] for table in self._cos_sin(self.offset + count))
            return _rotate_pairs(vectors, cosines, sines)
        start, end = start + self.offset, start + self.offset + vectors.shape[2]
        tables = self.cos_sin_tables
        if end > len(tables[0]) or tables[0].device != vectors.device:
            length = len(tables[0]) if end <= len(tables[0]) else 2 * end  # double, so that recomputation is rare
            with torch.inference_mode(False):  # autograd rejects tensors created in inference mode
                cosines, sines = self._cos_sin(length)
                tables = cosines.to(vectors.device), sines.to(vectors.device)
            self.cos_sin_tables = tables  # a single assignment: other threads see the old pair or the new one
        return _rotate_pairs(vectors, tables[0][start:end], tables[1][start:end])

    def as_array(self, length: int) -> Tensor:
        cosines, sines = self._cos_sin(self.offset + length)
        return torch.stack([sines, cosines], dim=2).flatten(1)[self.offset :]


def _rotate_pairs(vectors: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
    """Rotate pairs of dimensions. `cosines` and `sines`, `[tokens, pairs]`, are always float32."""
    first, second = vectors[..., 0::2], vectors[..., 1::2]  # [batch, heads, tokens, pairs]
    rotated = first * cosines - second * sines, first * sines + second * cosines
    return torch.stack(rotated, dim=-1).flatten(-2).to(vectors.dtype)


class BiasPositions(Positions):
    """A bias per head and distance, added to the scores. `causal`: keys never follow the query, as in a decoder."""

    def __init__(self, config: TransformerConfig, *, causal: bool) -> None:
        super().__init__()
        self.heads = config.heads
        self.causal = causal
        self.places = Probe("tokens")

    def compute_bias(self, distances: Tensor) -> Tensor:
        """Map distances, key position − query position, `[queries, keys]`, to a bias, `[heads, queries, keys]`."""
        raise NotImplementedError

    def device(self) -> torch.device:
        """Return the device of the bias."""
        raise NotImplementedError

    def bias(self, queries: int, keys: int) -> Tensor:
        positions = self.places(torch.arange(keys, device=self.device()))
        return self.compute_bias(positions[None, :] - positions[keys - queries :, None])

    def as_array(self, length: int) -> Tensor:
        return self.bias(length, length).detach()


class AlibiPositions(BiasPositions):
    """A penalty proportional to the distance, with one slope per head (Press et al. 2021, arXiv:2108.12409)."""

    def __init__(self, config: TransformerConfig, *, causal: bool) -> None:
        super().__init__(config, causal=causal)
        self.register_buffer("slopes", alibi_slopes(config.heads), persistent=False)
        self.slopes: Tensor

    def device(self) -> torch.device:
        return self.slopes.device

    def compute_bias(self, distances: Tensor) -> Tensor:
        return -distances.abs() * self.slopes[:, None, None]


def alibi_slopes(heads: int) -> Tensor:
    """Return 2^(−8/n), 2^(−16/n), … for n heads. If n is not a power of two, some are those of the next power."""

    def geometric_slopes(n: int) -> list[float]:
        return [2 ** (-8 * (i + 1) / n) for i in range(n)]

    power = 1 << (heads.bit_length() - 1)
    extra_slopes = geometric_slopes(2 * power)[0::2][: heads - power]
    return torch.tensor(geometric_slopes(power) + extra_slopes, device="cpu")


class RelativePositions(BiasPositions):
    """A learned bias per head and distance bucket; buckets grow with the distance (T5, arXiv:1910.10683).

    All layers share one table, except with `relative_each_layer` (umT5, arXiv:2304.09151).
    """

    def __init__(self, config: TransformerConfig, *, causal: bool) -> None:
        super().__init__(config, causal=causal)
        self.max_distance = config.relative_max_distance
        layers = config.decoder_layers if causal else config.encoder_layers
        tables = (layers,) if config.relative_each_layer and layers > 1 else ()
        self.buckets = config.relative_buckets
        self.table = nn.Parameter(torch.empty(*tables, self.buckets, config.heads))
        nn.init.normal_(self.table, std=config.d_model**-0.5)

    def biases(self, queries: int, keys: int, layers: int) -> Sequence[Tensor | None]:
        bias = self.bias(queries, keys)
        return [bias] * layers if bias.dim() == 3 else bias.unbind()

    def device(self) -> torch.device:
        return self.table.device

    def compute_bias(self, distances: Tensor) -> Tensor:
        buckets = distance_buckets(distances, self.buckets, self.max_distance, causal=self.causal)
        return self.table[..., buckets, :].movedim(-1, -3)  # [(layers,) heads, queries, keys]


def distance_buckets(distances: Tensor, buckets: int, max_distance: int, *, causal: bool) -> Tensor:
    """Map distances, `[queries, keys]`, to bucket indices: half of them exact, half for logarithmic ranges."""
    if causal:
        first_bucket, magnitude = torch.zeros_like(distances), (-distances).clamp(min=0)
    else:
        buckets //= 2
        first_bucket, magnitude = (distances > 0).long() * buckets, distances.abs()
    exact_buckets = buckets // 2
    growth = torch.log(magnitude.clamp(min=1).float() / exact_buckets) / math.log(max_distance / exact_buckets)
    log_bucket = exact_buckets + (growth * (buckets - exact_buckets)).long()
    return first_bucket + torch.where(magnitude < exact_buckets, magnitude, log_bucket.clamp(max=buckets - 1))


POSITIONS: dict[str, Callable[[TransformerConfig, bool], Positions]] = {
    "none": lambda config, causal: Positions(),
    "sinusoidal": lambda config, causal: SinusoidalPositions(config),
    "sinusoidal_halves": lambda config, causal: SinusoidalPositions(config, halves=True),
    "learned": lambda config, causal: LearnedPositions(config),
    "rotary": lambda config, causal: RotaryPositions(config),
    "alibi": lambda config, causal: AlibiPositions(config, causal=causal),
    "relative": lambda config, causal: RelativePositions(config, causal=causal),
}


def make_positions(config: TransformerConfig, *, causal: bool) -> Positions:
    """Create the positional encoding of the configuration. `causal`: for a decoder."""
    return POSITIONS[config.positions](config, causal)
