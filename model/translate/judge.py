"""A classifier folder that judges: text in, `Judgement` out, with every attention map.

judge = Judge.load("assets/models/sentiment")
judgement = judge.judge("A quiet film with a warm heart.")
judgement.verdict, judgement.probability, judgement.shares, judgement.attention  # [layer, head, query, key]
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch

from headlight.model.core.classifier import SelfAttentionClassifier, shortened
from headlight.model.core.interventions import scale_heads
from headlight.model.core.masks import pad_rows
from headlight.model.core.probes import watch
from headlight.model.folders.shipped import find_folder
from headlight.model.foreign.loading import read_checkpoint
from headlight.model.records import Judgement, read_only
from headlight.model.text.cleaning import fold, tidy
from headlight.model.text.vocabulary import Vocabulary
from headlight.model.translate.device import DeviceChoice, choose_device, in_smaller_batches
from headlight.model.translate.requests import batches_by_length

WEIGHTS = "layers.*.self_attention.weights"
BATCH_TOKENS = 16_000


class Judge:
    """One loaded classifier with its vocabulary. It keeps nothing of a text, so threads may share it."""

    def __init__(
        self,
        model: SelfAttentionClassifier,
        tokenizer: Vocabulary,
        *,
        name: str = "",
        choice: DeviceChoice | None = None,
    ) -> None:
        self.choice = choice or DeviceChoice(torch.device("cpu"), torch.float32, "given by the caller.")
        self.model = model.to(self.choice.device, torch.float32).eval().requires_grad_(requires_grad=False)
        self.tokenizer = tokenizer
        self.name = name

    @classmethod
    def load(cls, folder: str | Path, device: str | None = None) -> Judge:
        """Load a model folder, or a shipped model by its name. Without `device`, the best one is chosen."""
        choice = choose_device(device)
        folder = find_folder(folder)
        loaded = read_checkpoint(folder, SelfAttentionClassifier, device=choice.device)
        return cls(loaded.model, loaded.source_tokenizer, name=Path(folder).resolve().name, choice=choice)

    def judge(self, text: str) -> Judgement:
        """Judge one text and record all attention. Of a very long text, the beginning and the end are read."""
        whole = self.tokenizer.encode(fold(tidy(text)))
        ids = self._cut(whole)
        with torch.inference_mode(), watch(self.model, WEIGHTS) as seen:
            shares = self.model.shares(torch.tensor([ids], device=self.choice.device))[0]  # [tokens]
        bias = float(self.model.verdict.bias)
        log_odds = float(shares.sum()) + bias
        maps = torch.stack([seen[name][0] for name in seen]).float().cpu().numpy()
        tokens = self.tokenizer.written_tokens(ids)
        return Judgement(
            text=self.tokenizer.decode(ids),
            shortened=len(ids) < len(whole) + 1,
            tokens=tokens,
            shares=tuple(shares.tolist()),
            bias=bias,
            log_odds=log_odds,
            probability=_sigmoid(log_odds),
            classes=self.model.config.classes,
            attention=read_only(np.ascontiguousarray(maps)),
        )

    def erased(self, judgement: Judgement) -> tuple[float, ...]:
        """What the log-odds lose when the word of each token is left out and the rest judged again.

        A share says what a token's place holds; since attention mixes the words before, this says what the word is for.
        """
        words = sorted({token.word for token in judgement.tokens if token.word is not None})
        rows = [[token.id for token in judgement.tokens if token.word != word] for word in words]
        left = dict(zip(words, in_smaller_batches(self._log_odds, rows), strict=True)) if rows else {}
        return tuple(
            judgement.log_odds - left[token.word] if token.word is not None else 0.0 for token in judgement.tokens
        )

    def without_words(self, judgement: Judgement, words: Collection[int]) -> float:
        """The log-odds of the text without these words, by their numbers."""
        return self._log_odds([[token.id for token in judgement.tokens if token.word not in words]])[0]

    @contextmanager
    def without_head(self, layer: int, head: int) -> Iterator[None]:
        """Within the block, this head's attention weights are zero, so that it adds nothing."""
        with watch(self.model, f"layers.{layer}.self_attention.weights", edit=scale_heads(head, 0.0)):
            yield

    def probabilities(self, texts: Sequence[str], *, on_progress: Callable[[int], None] | None = None) -> list[float]:
        """The probability of the positive class for each text; texts of similar length share a batch."""
        rows = [self._cut(ids) for ids in self.tokenizer.encode_batch([fold(tidy(text)) for text in texts])]
        found = [0.0] * len(rows)
        for places in batches_by_length({place: len(row) for place, row in enumerate(rows)}, BATCH_TOKENS):
            log_odds = in_smaller_batches(self._log_odds, [rows[place] for place in places])
            for place, value in zip(places, log_odds, strict=True):
                found[place] = _sigmoid(value)
            if on_progress:
                on_progress(len(places))
        return found

    def _cut(self, ids: list[int]) -> list[int]:
        return [*shortened(ids, self.model.config.max_length - 1), self.tokenizer.end_id]

    def _log_odds(self, rows: Sequence[list[int]]) -> list[float]:
        with torch.inference_mode():
            ids = pad_rows(list(rows), self.model.config.pad_id).to(self.choice.device)
            log_odds: list[float] = self.model(ids).tolist()
            return log_odds


def _sigmoid(log_odds: float) -> float:
    return float(torch.tensor(log_odds, dtype=torch.float64).sigmoid())
