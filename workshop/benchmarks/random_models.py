"""Random models, tokenizers and sentences of a given size, the same for every engine."""

from __future__ import annotations

import importlib.util
import random
from pathlib import Path

import torch
from torch import nn

from headlight.model.checkpoints.checkpoint import save_checkpoint
from headlight.model.core.attention import MultiHeadAttention
from headlight.model.core.blocks import FeedForward
from headlight.model.core.config import TransformerConfig
from headlight.model.core.transformer import Transformer
from headlight.model.text.tokenizer import Tokenizer
from workshop.benchmarks.engines.ctranslate import converted_folder

UNLIKELY_LOGIT = -1e4  # lower than any other logit
CONSONANTS, VOWELS = "bcdfghjklmnpqrstvwxz", "aeiou"


def make_random_model(config: TransformerConfig, seed: int = 0) -> Transformer:
    """Return a model that never predicts the end token, so every engine generates up to the limit."""
    torch.manual_seed(seed)
    model = Transformer(config).eval().requires_grad_(False)
    for module in model.modules():
        # Fresh norms and biases are all ones and zeros, which would hide wrong conversions.
        if isinstance(module, nn.LayerNorm | nn.Linear) and module.bias is not None:
            module.bias.normal_(std=0.1)
        if isinstance(module, nn.LayerNorm):
            module.weight.uniform_(0.8, 1.2)
        # Attention is scaled down and the feed-forward network up. Without that, each token would repeat, because the
        # output is tied to the embedding and the stream preserves it.
        if isinstance(module, MultiHeadAttention):
            module.output.weight.mul_(0.25)
        if isinstance(module, FeedForward):
            module.narrow.weight.mul_(4.0)
    # A bias costs all engines the same; a decoding constraint would not.
    model.decoder.output.words.bias[[config.pad_id, config.start_id, config.end_id]] = UNLIKELY_LOGIT
    return model


def train_random_tokenizer(vocabulary: int, seed: int = 0) -> Tokenizer:
    """Train a tokenizer with a vocabulary of exactly this size on random words."""
    rng = random.Random(seed)  # noqa: S311 - no secrets here
    words: list[str] = []
    for _ in range(3):  # a large vocabulary needs more words than it has entries
        words += [_word(rng) for _ in range(vocabulary)]
        tokenizer = Tokenizer.train([word for word in words for _ in range(2)], vocabulary)
        if tokenizer.vocabulary_size == vocabulary:
            return tokenizer
    raise RuntimeError(f"{len(words):,} words gave {tokenizer.vocabulary_size:,} tokens, not {vocabulary:,}.")


def random_sentences(tokenizer: Tokenizer, count: int, tokens: int, seed: int = 0) -> list[str]:
    """Return texts of exactly `tokens` tokens, including the end token."""
    rng = random.Random(seed)  # noqa: S311
    texts: list[str] = []
    while len(texts) < count:
        words: list[str] = []
        while (count_without_end := len(tokenizer.encode(" ".join(words)))) < tokens - 1:
            words.append(_word(rng))
        if count_without_end == tokens - 1:
            texts.append(" ".join(words))
    return texts


def _word(rng: random.Random) -> str:
    return "".join(rng.choice(CONSONANTS) + rng.choice(VOWELS) for _ in range(rng.randint(1, 4)))


def save_for_all_engines(folder: Path, model: Transformer, source: Tokenizer, target: Tokenizer | None = None) -> None:
    """Save a model folder and, if CTranslate2 is installed, the converted folder next to it."""
    save_checkpoint(folder, model, source, target or source, storage="float32", shard_bytes=1 << 30)
    if importlib.util.find_spec("ctranslate2") is not None:
        from workshop.benchmarks.engines.convert import convert

        convert(model, converted_folder(folder))
