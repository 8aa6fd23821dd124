"""Random models of a given shape: the same numbers for every engine."""

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

UNLIKELY_LOGIT = -1e4  # a logit that wins against nothing
CONSONANTS, VOWELS = "bcdfghjklmnpqrstvwxz", "aeiou"


def random_model(config: TransformerConfig, seed: int = 0) -> Transformer:
    """A model that never predicts the end token, so that every engine writes up to the limit."""
    torch.manual_seed(seed)
    model = Transformer(config).eval().requires_grad_(False)
    for module in model.modules():
        # What copies could confuse must differ: fresh norms and biases are all ones and zeros.
        if isinstance(module, nn.LayerNorm | nn.Linear) and module.bias is not None:
            module.bias.normal_(std=0.1)
        if isinstance(module, nn.LayerNorm):
            module.weight.uniform_(0.8, 1.2)
        # Else each word repeats itself: the output is tied to the embedding, and the stream keeps that.
        if isinstance(module, MultiHeadAttention):
            module.output.weight.mul_(0.25)
        if isinstance(module, FeedForward):
            module.narrow.weight.mul_(4.0)
    # A bias, not a rule: that would cost some engines more than others.
    model.decoder.output.words.bias[[config.pad_id, config.start_id, config.end_id]] = UNLIKELY_LOGIT
    return model


def random_tokenizer(vocabulary: int, seed: int = 0) -> Tokenizer:
    """A vocabulary of exactly this size, learnt from words that chance made."""
    dice = random.Random(seed)  # noqa: S311 - no secrets here
    words: list[str] = []
    for _ in range(3):  # the largest vocabularies need more words than they have entries
        words += [_word(dice) for _ in range(vocabulary)]
        tokenizer = Tokenizer.train([word for word in words for _ in range(2)], vocabulary)
        if tokenizer.vocabulary_size == vocabulary:
            return tokenizer
    raise RuntimeError(f"{len(words):,} words gave {tokenizer.vocabulary_size:,} tokens, not {vocabulary:,}.")


def random_sentences(tokenizer: Tokenizer, count: int, tokens: int, seed: int = 0) -> list[str]:
    """Texts of exactly this number of tokens in this vocabulary, including the end token."""
    dice = random.Random(seed)  # noqa: S311
    texts: list[str] = []
    while len(texts) < count:
        words: list[str] = []
        while (written := len(tokenizer.encode(" ".join(words)))) < tokens - 1:
            words.append(_word(dice))
        if written == tokens - 1:
            texts.append(" ".join(words))
    return texts


def _word(dice: random.Random) -> str:
    return "".join(dice.choice(CONSONANTS) + dice.choice(VOWELS) for _ in range(dice.randint(1, 4)))


def save_for_all_engines(folder: Path, model: Transformer, source: Tokenizer, target: Tokenizer | None = None) -> None:
    """Write a model folder and, if CTranslate2 is installed, its converted form next to it."""
    save_checkpoint(folder, model, source, target or source, storage="float32", shard_bytes=1 << 30)
    if importlib.util.find_spec("ctranslate2") is not None:
        from workshop.benchmarks.engines.convert import convert

        convert(model, converted_folder(folder))
