"""Scores chosen tokens of a translation: decoder inputs and log probabilities."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from headlight.model.records import Translation
from headlight.model.translate.translator import Translator


def decoder_inputs(translator: Translator, translation: Translation, length: int, rows: int) -> Tensor:
    """Return the decoder inputs that predict the first `length` tokens, `[rows, length]`."""
    ids = [token.id for token in translation.target_tokens]
    inputs = torch.tensor([[translator.model.config.start_id, *ids[: length - 1]]], device=translator.device)
    return inputs.expand(rows, -1)


def log_probabilities(logits: Tensor, translation: Translation, places: Sequence[int]) -> Tensor:
    """Map logits, `[rows, tokens, vocabulary]`, to log probabilities of the tokens at `places`, `[rows, places]`."""
    selected = logits[:, list(places)].float()
    ids = torch.tensor([translation.target_tokens[place].id for place in places], device=logits.device)
    log_probabilities = selected.log_softmax(dim=-1)
    return log_probabilities.gather(2, ids.expand(len(logits), -1)[..., None])[..., 0]
