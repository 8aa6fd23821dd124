"""Decoder inputs, logits and log probabilities of the tokens of a translation."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from headlight.model.records import Translation
from headlight.model.translate.translator import Translator

MAX_TOKENS = 1 << 10  # source and target tokens per batch with gradients: about 100 MB of activations for OPUS-MT
MAX_LOGITS_PER_BATCH = 1 << 23  # 32 MB


def choose_gradient_batch_size(translator: Translator, source_tokens: int, target_tokens: int) -> int:
    """Return the number of rows per batch with gradients."""
    logits = target_tokens * translator.model.config.target_vocabulary
    return max(1, min(MAX_TOKENS // (source_tokens + target_tokens), MAX_LOGITS_PER_BATCH // logits))


def decoder_inputs(translator: Translator, translation: Translation, length: int, rows: int) -> Tensor:
    """Return the decoder inputs that predict the first `length` tokens, `[rows, length]`."""
    ids = [token.id for token in translation.target_tokens]
    inputs = torch.tensor([[translator.model.config.start_id, *ids[: length - 1]]], device=translator.device)
    return inputs.expand(rows, -1)


def compute_forced_logits(translator: Translator, translation: Translation, length: int, rows: int) -> Tensor:
    """Run the model on `rows` copies of the sentence, and return logits, `[rows, length, vocabulary]`.

    The caller enables or disables gradients, and can `watch` the model to edit single rows.
    """
    model = translator.model
    batch = translator.checker.prepare([translation.request])
    mask = None if batch.source_mask is None else batch.source_mask.expand(rows, -1, -1, -1)
    memory = model.encode(batch.source_ids.expand(rows, -1), mask, padded=batch.padded)
    inputs = decoder_inputs(translator, translation, length, rows)
    logits: Tensor = model.decoder(inputs, model.decoder.new_state(memory, cached=False))
    return logits


def log_probabilities(logits: Tensor, translation: Translation, positions: Sequence[int]) -> Tensor:
    """Map logits, `[rows, tokens, vocabulary]`, to log probabilities of tokens, `[rows, positions]`."""
    selected = logits[:, list(positions)].float()
    ids = torch.tensor([translation.target_tokens[position].id for position in positions], device=logits.device)
    return selected.gather(2, ids.expand(len(logits), -1)[..., None])[..., 0] - selected.logsumexp(dim=-1)
