"""Validation during training: the loss on held-out text, and the BLEU of a sample of greedy translations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec

import torch
from torch import Tensor

from headlight.model.core.transformer import Memory, Transformer
from headlight.model.training.batches import Sentences, SpecialIds, make_batch, plan_validation_batches, target_tokens
from headlight.model.training.evaluate import choose_bleu_tokenizer
from headlight.model.training.loss import compute_translation_losses
from headlight.model.training.prepare import CorpusText, Tokenizers

BLEU_SAMPLE = 200  # sentences translated for BLEU
BATCH_TOKENS = 8000  # maximum tokens per batch and side, including padding


@dataclass(frozen=True)
class HeldOut:
    """One validation corpus."""

    name: str
    text: CorpusText
    sentences: Sentences
    language: str = ""  # target language


@torch.no_grad()
def measure_validation_loss(
    model: Transformer, sentences: Sentences, special: SpecialIds, device: torch.device
) -> float:
    """Return the mean −log p of the target tokens, without smoothing or dropout."""
    total = torch.zeros((), device=device)
    words = 0
    for rows in plan_validation_batches(sentences, BATCH_TOKENS):
        batch = make_batch(sentences, rows, special).to(device)
        total += compute_translation_losses(model, batch, smoothing=0.0).plain
        words += target_tokens(sentences, rows)
    return float(total) / words


@torch.no_grad()
def greedy_decode(
    model: Transformer, source: Tensor, mask: Tensor | None, special: SpecialIds, limit: int
) -> list[list[int]]:
    """Decode `[batch, source]` greedily, and return the ids of each row, without start and end tokens.

    Training has this small decoder, so that it does not depend on `model/decoding`.
    """
    memory = Memory(model.encoder(source, mask), mask)
    state = model.decoder.new_state(memory, cached=True)
    last = source.new_full((len(source), 1), special.start)
    active_rows = torch.arange(len(source))
    outputs: list[list[int]] = [[] for _ in range(len(source))]
    for _ in range(limit):
        last = model.decoder(last, state)[:, -1:].argmax(dim=-1)  # [active rows, 1]
        unfinished = (last[:, 0] != special.target_end).cpu()
        for row, word in zip(active_rows[unfinished].tolist(), last[:, 0].cpu()[unfinished].tolist(), strict=True):
            outputs[row].append(word)
        if not bool(unfinished.any()):
            break
        if not bool(unfinished.all()):
            rows = unfinished.nonzero()[:, 0]
            active_rows = active_rows[rows]
            last, rows = last[rows.to(last.device)], rows.to(last.device)
            state.select(rows)
    return outputs


def sample_translations(
    model: Transformer, held_out: HeldOut, tokenizers: Tokenizers, device: torch.device
) -> tuple[list[str], list[str]]:
    """Translate evenly spaced sentences from the corpus greedily; return the translations and the references."""
    count = len(held_out.text.pairs)
    sample = list(range(0, count, max(1, count // BLEU_SAMPLE)))[:BLEU_SAMPLE]
    sample.sort(key=lambda row: int(held_out.sentences.source.lengths[row]))
    hypotheses: list[str] = []
    for first in range(0, len(sample), 50):
        rows = torch.tensor(sample[first : first + 50]).numpy()
        batch = make_batch(held_out.sentences, rows, tokenizers.special).to(device)
        limit = 2 * batch.source.shape[1] + 16
        ids = greedy_decode(model, batch.source, batch.source_mask, tokenizers.special, limit)
        hypotheses += [tokenizers.target.decode(row) for row in ids]
    return hypotheses, [held_out.text.pairs[row].target for row in sample]


def validate(
    model: Transformer, held_out: Sequence[HeldOut], tokenizers: Tokenizers, device: torch.device
) -> dict[str, float]:
    """Return `loss NAME` and, with sacreBLEU, `bleu NAME` per corpus, and the mean `loss`.

    The best model has the lowest mean loss.
    """
    values: dict[str, float] = {}
    for corpus in held_out:
        values[f"loss {corpus.name}"] = measure_validation_loss(model, corpus.sentences, tokenizers.special, device)
        if has_sacrebleu():
            hypotheses, references = sample_translations(model, corpus, tokenizers, device)
            values[f"bleu {corpus.name}"] = bleu(hypotheses, references, corpus.language)
    mean = sum(values[f"loss {corpus.name}"] for corpus in held_out) / len(held_out)
    return {"loss": mean, **values}


def has_sacrebleu() -> bool:
    """Whether sacreBLEU is installed, which training itself does not need."""
    return find_spec("sacrebleu") is not None


def bleu(hypotheses: Sequence[str], references: Sequence[str], language: str) -> float:
    """Return the corpus BLEU of translations into a language."""
    import sacrebleu

    return float(sacrebleu.corpus_bleu(hypotheses, [references], tokenize=choose_bleu_tokenizer(language)).score)
