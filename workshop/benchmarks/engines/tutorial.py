"""Tutorial baseline: `torch.nn.Transformer`, rerun over the whole prefix for each next token.

It has random weights of the same shape and returns no attention maps. Two variants are measured: the whole model for
each token, and the encoder once with the decoder for each token.
"""

from __future__ import annotations

import math
from pathlib import Path

import torch
from torch import Tensor, nn

from headlight.model.core.config import TransformerConfig
from headlight.model.families.loading import load_checkpoint
from workshop.benchmarks.engines import Job, Workload


class PositionalEncoding(nn.Module):
    """The sinusoidal table that tutorials add to embeddings."""

    def __init__(self, d_model: int, max_length: int = 512) -> None:
        super().__init__()
        position = torch.arange(max_length)[:, None]
        speed = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10_000.0) / d_model))
        table = torch.zeros(max_length, d_model)
        table[:, 0::2] = torch.sin(position * speed)
        table[:, 1::2] = torch.cos(position * speed)
        self.table = nn.Buffer(table)

    def forward(self, x: Tensor) -> Tensor:
        """Add the positions to `[batch, tokens, d_model]`."""
        return x + self.table[: x.size(1)]


class TutorialModel(nn.Module):
    """Embedding, positions, `nn.Transformer`, projection."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.scale = math.sqrt(config.d_model)
        self.source = nn.Embedding(config.source_vocabulary, config.d_model)
        self.target = nn.Embedding(config.target_vocabulary, config.d_model)
        self.positions = PositionalEncoding(config.d_model)
        self.transformer = nn.Transformer(
            config.d_model, config.heads, config.encoder_layers, config.decoder_layers, config.d_ff, batch_first=True
        )
        self.words = nn.Linear(config.d_model, config.target_vocabulary)

    def embed(self, table: nn.Embedding, ids: Tensor) -> Tensor:
        """Embed ids `[batch, tokens]` as `[batch, tokens, d_model]`."""
        embedded: Tensor = self.positions(table(ids) * self.scale)
        return embedded

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Return the logits of every target token, `[batch, tokens, vocabulary]`."""
        mask = nn.Transformer.generate_square_subsequent_mask(target.size(1))
        decoded = self.transformer(
            self.embed(self.source, source), self.embed(self.target, target), tgt_mask=mask, tgt_is_causal=True
        )
        logits: Tensor = self.words(decoded)
        return logits


class Tutorial:
    """Greedy decoding as in tutorials."""

    def __init__(self, model: TutorialModel, config: TransformerConfig) -> None:
        self.model = model
        self.config = config

    def jobs(self, work: Workload) -> dict[str, Job]:
        """Return both variants as jobs."""
        source = torch.tensor(work.ids)
        return {
            "tutorial": lambda: self.encode_once(source, work.length),
            "tutorial-whole": lambda: self.rerun(source, work.length),
        }

    @torch.no_grad()
    def rerun(self, source: Tensor, length: int) -> list[list[int]]:
        """Decode with the whole model for each token."""
        target = torch.full((len(source), 1), self.config.start_id)
        for _ in range(length):
            logits = self.model(source, target)[:, -1]
            target = torch.cat([target, logits.argmax(dim=-1, keepdim=True)], dim=1)
        ids: list[list[int]] = target[:, 1:].tolist()
        return ids

    @torch.no_grad()
    def encode_once(self, source: Tensor, length: int) -> list[list[int]]:
        """Decode with a cached encoder output, and project only the last token."""
        model = self.model
        memory = model.transformer.encoder(model.embed(model.source, source))
        target = torch.full((len(source), 1), self.config.start_id)
        for _ in range(length):
            mask = nn.Transformer.generate_square_subsequent_mask(target.size(1))
            decoded = model.transformer.decoder(
                model.embed(model.target, target), memory, tgt_mask=mask, tgt_is_causal=True
            )
            logits = model.words(decoded[:, -1])
            target = torch.cat([target, logits.argmax(dim=-1, keepdim=True)], dim=1)
        ids: list[list[int]] = target[:, 1:].tolist()
        return ids


def load(folder: Path, *, threads: int) -> Tutorial:
    """Return a randomly initialised model of the same shape."""
    torch.set_num_threads(threads)
    config = load_checkpoint(folder).config
    torch.manual_seed(0)
    return Tutorial(TutorialModel(config).eval(), config)
