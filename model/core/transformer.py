"""The Transformer: an encoder reads the source, a decoder generates the target token by token (Vaswani et al. 2017).

    model = Transformer(TransformerConfig(source_vocabulary=8000, target_vocabulary=8000))
    logits = model(source_ids, target_ids)  # [batch, target, vocabulary]

The same modules compute all positions of a target at once (training, inspection) or one token per step (decoding). In
decoding, a `DecoderState` caches keys and values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from headlight.model.core.attention import KeyValueCache, KeyValues, MultiHeadAttention
from headlight.model.core.blocks import Embedding, FeedForward, OutputProjection, Residual, make_norm
from headlight.model.core.config import TransformerConfig
from headlight.model.core.masks import causal_mask, padding_mask
from headlight.model.core.positions import Positions, make_positions
from headlight.model.records import Kind


class Memory(NamedTuple):
    """Encoder output."""

    vectors: Tensor  # [batch, source, d_model]
    mask: Tensor | None  # [batch, 1, 1, source], False for padding; None: no padding

    def select(self, rows: Tensor) -> Memory:
        """Return these rows of the batch, in this order."""
        return Memory(self.vectors[rows], None if self.mask is None else self.mask[rows])


class DecoderState:
    """State of incremental decoding: caches and encoder output. It belongs to one batch, not to the model."""

    def __init__(self, cross: list[KeyValues], mask: Tensor | None, caches: list[KeyValueCache] | None) -> None:
        self.cross = cross  # per layer: keys and values of the source
        self.mask = mask  # [batch, 1, 1, source] or None
        self.caches = caches  # per layer: keys and values of the decoded tokens; None: no cache
        self.length = 0  # number of cached tokens

    def select(self, rows: Tensor) -> None:
        """Keep these rows of the batch, in this order, to drop finished sentences or hypotheses outside the beam."""
        for cache in self.caches or ():
            cache.select(rows)
        self.cross = [KeyValues(keys[rows], values[rows]) for keys, values in self.cross]
        self.mask = None if self.mask is None else self.mask[rows]

    def reorder(self, rows: Tensor) -> None:
        """Reorder the hypotheses of each sentence. They share a source, so only the caches of their tokens change."""
        for cache in self.caches or ():
            cache.select(rows)


class EncoderLayer(nn.Module):
    """Self-attention and feed-forward network, each with a residual connection."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.self_attention = make_attention(config)
        self.feed_forward = FeedForward(config)
        self.around_self_attention = Residual(config)
        self.around_feed_forward = Residual(config)

    def forward(self, x: Tensor, mask: Tensor | None, bias: Tensor | None, positions: Positions) -> Tensor:
        """Map `[batch, tokens, d_model]` to the same shape."""
        x = self.around_self_attention(x, lambda y: self.self_attention(y, mask=mask, bias=bias, positions=positions))
        x = self.around_feed_forward(x, self.feed_forward)
        return x


class DecoderLayer(nn.Module):
    """Causal self-attention, cross-attention and feed-forward network, each with a residual connection."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.self_attention = make_attention(config)
        self.cross_attention = make_attention(config)
        self.feed_forward = FeedForward(config)
        self.around_self_attention = Residual(config)
        self.around_cross_attention = Residual(config)
        self.around_feed_forward = Residual(config)

    def forward(
        self,
        x: Tensor,  # [batch, tokens, d_model]
        source: KeyValues,
        source_mask: Tensor | None,
        mask: Tensor | None,
        bias: Tensor | None,
        positions: Positions,
        cache: KeyValueCache | None,
    ) -> Tensor:
        """Map `[batch, tokens, d_model]` to the same shape."""
        x = self.around_self_attention(
            x, lambda y: self.self_attention(y, mask=mask, bias=bias, positions=positions, cache=cache)
        )
        x = self.around_cross_attention(x, lambda y: self.cross_attention(y, source, mask=source_mask))
        x = self.around_feed_forward(x, self.feed_forward)
        return x


def run_layers(layers: Iterable[Callable[..., Tensor]], x: Tensor, mask: Tensor | None, positions: Positions) -> Tensor:
    """Run a sequence through encoder layers: `[batch, tokens, d_model]` → the same shape."""
    stack = list(layers)
    for layer, bias in zip(stack, positions.biases(x.shape[1], x.shape[1], len(stack)), strict=True):
        x = layer(x, mask, bias, positions)
    return x


class Encoder(nn.Module):
    """Embedding, a stack of layers, and with pre-norm a final norm."""

    def __init__(self, config: TransformerConfig, table: nn.Embedding) -> None:
        super().__init__()
        self.embedding = Embedding(table, make_positions(config, causal=False), config)
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.final_norm = make_norm(config) if config.final_norm else nn.Identity()

    def forward(self, ids: Tensor, mask: Tensor | None) -> Tensor:
        """Map ids `[batch, source]` to vectors `[batch, source, d_model]`."""
        return self.run_layers(self.embedding(ids), mask)

    def run_layers(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Run vectors through the stack: `[batch, source, d_model]` → the same shape."""
        normed: Tensor = self.final_norm(run_layers(self.layers, x, mask, self.embedding.positions))
        return normed


class Decoder(nn.Module):
    """Embedding, a stack of layers, with pre-norm a final norm, and the output projection."""

    def __init__(self, config: TransformerConfig, table: nn.Embedding) -> None:
        super().__init__()
        self.embedding = Embedding(table, make_positions(config, causal=True), config)
        self.layers = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder_layers))
        self.final_norm = make_norm(config) if config.final_norm else nn.Identity()
        self.output = OutputProjection(config, tied=table if config.tie_output else None)

    def new_state(self, memory: Memory, *, cached: bool) -> DecoderState:
        """Create the decoder state for an encoder output. `cached`: with key/value caches."""
        cross = [layer.cross_attention.project_memory(memory.vectors) for layer in self.layers]  # type: ignore[union-attr,operator]
        caches = [KeyValueCache() for _ in self.layers] if cached else None
        return DecoderState(cross, memory.mask, caches)

    def forward(self, ids: Tensor, state: DecoderState) -> Tensor:
        """Map the next ids `[batch, tokens]` to logits `[batch, tokens, vocabulary]`. Append them to the caches."""
        x = self.run_layers(self.embedding(ids, state.length), state)
        logits: Tensor = self.output(x)
        return logits

    def run_layers(self, x: Tensor, state: DecoderState) -> Tensor:
        """Run vectors through the stack: `[batch, tokens, d_model]` → the same shape."""
        tokens = x.shape[1]
        length = state.length + tokens
        mask = self.attention_mask(tokens, length, x.device) if tokens > 1 else None
        positions: Positions = self.embedding.positions
        biases = positions.biases(tokens, length, len(self.layers))
        caches: Sequence[KeyValueCache | None] = state.caches or [None] * len(self.layers)
        for layer, source, bias, cache in zip(self.layers, state.cross, biases, caches, strict=True):
            x = layer(x, source, state.mask, mask, bias, positions, cache)
        if state.caches is not None:
            state.length = length
        normed: Tensor = self.final_norm(x)
        return normed

    def attention_mask(self, tokens: int, length: int, device: torch.device) -> Tensor:
        """Return the mask of the newest tokens over all tokens: `[tokens, length]`."""
        # Padding at the end of a target needs no mask, because no token before it attends to it.
        return causal_mask(tokens, length, device=device)


class Transformer(nn.Module):
    """Encoder-decoder Transformer. Returns logits; the loss and the search apply the softmax."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        source_table = nn.Embedding(config.source_vocabulary, config.embedding_width)
        target_table = source_table
        if not config.share_embeddings:
            target_table = nn.Embedding(config.target_vocabulary, config.embedding_width)
        self.encoder = Encoder(config, source_table)
        self.decoder = Decoder(config, target_table)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialise linear layers with Xavier, and embeddings so that the factor √d_model gives them unit variance."""
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        for module in self.modules():  # last, because a linear layer may share the embedding table
            if isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=self.config.d_model**-0.5)

    def forward(
        self, source_ids: Tensor, target_ids: Tensor, source_mask: Tensor | None = None, *, padded: bool = True
    ) -> Tensor:
        """Map ids `[batch, source]`, `[batch, target]` to logits of the next tokens, `[batch, target, vocabulary]`."""
        state = self.decoder.new_state(self.encode(source_ids, source_mask, padded=padded), cached=False)
        logits: Tensor = self.decoder(target_ids, state)
        return logits

    def encode(self, source_ids: Tensor, source_mask: Tensor | None = None, *, padded: bool = True) -> Memory:
        """Encode the source, `[batch, source]`. Without a mask, padding is masked.

        A batch without padding (`padded=False`) needs no mask in any layer. The ids are not checked for padding: that
        would synchronise with the GPU and make control flow depend on data, which `torch.export` rejects.
        """
        if source_mask is None and padded:
            source_mask = padding_mask(source_ids, self.config.pad_id)
        vectors = self.encoder(source_ids, source_mask)
        return Memory(vectors, source_mask)

    def parameter_count(self) -> int:
        """Return the number of parameters; shared ones count once."""
        return sum(parameter.numel() for parameter in self.parameters())


def attention_path(kind: Kind, layer: int) -> str:
    """Return the module path of an attention, the prefix of its probes' paths."""
    side, name = {
        "encoder": ("encoder", "self_attention"),
        "decoder": ("decoder", "self_attention"),
        "cross": ("decoder", "cross_attention"),
    }[kind]
    return f"{side}.layers.{layer}.{name}"


def make_attention(config: TransformerConfig) -> MultiHeadAttention:
    """Create a multi-head attention of the configured sizes."""
    return MultiHeadAttention(
        config.d_model,
        config.heads,
        head_width=config.head_width,
        bias=config.attention_bias,
        dropout=config.attention_dropout,
        scale_scores=config.scale_scores,
    )


def count_bytes(model: nn.Module) -> int:
    """Return the bytes of a model's parameters and buffers; shared ones count once."""
    tensors = {tensor.data_ptr(): tensor for tensor in [*model.parameters(), *model.buffers()]}
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())
