"""Classification of text, with all attention maps.

judge = Judge.load("assets/models/sentiment")
judgement = judge.judge("A quiet film with a warm heart.")
judgement.verdict, judgement.probabilities, judgement.shares, judgement.attention  # [layer, head, query, key]
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from headlight.model.checkpoints.shipped import find_folder
from headlight.model.core.classifier import Classifier, SelfAttentionClassifier, truncate_middle
from headlight.model.core.interventions import scale_heads
from headlight.model.core.masks import pad_sequences
from headlight.model.core.probes import watch
from headlight.model.families.loading import read_checkpoint
from headlight.model.records import Judgement, Token, read_only, sigmoid
from headlight.model.text.cleaning import clean_text, normalise_review
from headlight.model.text.vocabulary import Vocabulary, find_unknown_tokens
from headlight.model.translate.device import DeviceChoice, choose_device, in_smaller_batches
from headlight.model.translate.requests import batches_by_length

BATCH_TOKENS = 16_000  # maximum tokens per batch, with padding
ELLIPSIS = " … "  # replaces the middle of a long text


class Judge:
    """A loaded classifier with its vocabulary. Stateless, so threads can share it."""

    def __init__(
        self,
        model: Classifier,
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
        loaded = read_checkpoint(folder, Classifier, device=choice.device)
        return cls(loaded.model, loaded.source_tokenizer, name=Path(folder).resolve().name, choice=choice)

    def judge(self, text: str) -> Judgement:
        """Classify a text and record all attention. A very long text is read without its middle."""
        text, tokens, is_shortened = self._read(text)
        config = self.model.config
        ids = torch.tensor([[token.id for token in tokens]], device=self.choice.device)
        names = [self.model.weights_path.format(layer) for layer in range(config.layers)]
        shares, bias = None, 0.0
        with torch.inference_mode(), watch(self.model, *names) as activations:
            if isinstance(self.model, SelfAttentionClassifier):  # its verdict is a sum of shares
                shares, bias = tuple(self.model.token_contributions(ids)[0].tolist()), float(self.model.verdict.bias)
                log_odds = sum(shares) + bias
                class_log_odds: tuple[float, ...] = (-log_odds, log_odds)
            else:
                class_log_odds = tuple(self.model.log_odds(ids)[0].tolist())
        maps = np.empty((config.layers, config.heads, len(tokens), len(tokens)), dtype=np.float32)
        for layer, name in enumerate(names):  # one layer at a time, so that large maps are not in memory twice
            maps[layer] = activations[name][0].float().cpu().numpy()
        return Judgement(
            text=text,
            truncated=is_shortened,
            tokens=tokens,
            classes=config.classes,
            exclusive=config.exclusive,
            class_log_odds=class_log_odds,
            attention=read_only(maps),
            shares=shares,
            bias=bias,
            unknown=find_unknown_tokens(self.tokenizer, tokens),
        )

    def erasure_effects(self, judgement: Judgement) -> tuple[tuple[float, ...], ...]:
        """Return the loss of each class's log-odds when the word of each token is erased: `[class][token]`.

        A contribution belongs to a position, and attention mixes words before it. Erasure measures the word's effect.
        """
        words = _words(judgement)
        rows = [[token.id for token in judgement.tokens if token.word != word] for word in words]
        odds_without = dict(zip(words, self._all_log_odds(rows), strict=True))
        return tuple(
            tuple(0.0 if token.word is None else odds - odds_without[token.word][index] for token in judgement.tokens)
            for index, odds in enumerate(judgement.class_log_odds)
        )

    def erasure_cost(self, judgement: Judgement) -> float:
        """Return the multiplications of `erasure_effects`: layer weights × tokens × words."""
        layers = sum(weight.numel() for name, weight in self.model.named_parameters() if "embedding" not in name)
        return float(layers * len(judgement.tokens) * len(_words(judgement)))

    def without_words(self, judgement: Judgement, words: Collection[int]) -> float:
        """Return the log-odds of the last class for the text without the words with these indices."""
        return self._log_odds([[token.id for token in judgement.tokens if token.word not in words]])[0][-1]

    @contextmanager
    def without_head(self, layer: int, head: int) -> Iterator[None]:
        """Set this head's attention weights to zero within the block, so that it adds nothing."""
        with watch(self.model, self.model.weights_path.format(layer), edit=scale_heads(head, 0.0)):
            yield

    def probabilities(
        self, texts: Sequence[str], *, on_progress: Callable[[int], None] | None = None
    ) -> list[tuple[float, ...]]:
        """Return the probability of each class for each text. Texts of similar length share a batch."""
        rows = [self._truncate(ids) for ids in self.tokenizer.encode_batch([self._clean(text) for text in texts])]
        return [tuple(map(sigmoid, log_odds)) for log_odds in self._all_log_odds(rows, on_progress)]

    # ------------------------------------------------------------ text to ids

    def _clean(self, text: str) -> str:
        return normalise_review(clean_text(text)) if self.model.normalises_input else clean_text(text)

    @property
    def _max_tokens(self) -> int:
        """Maximum number of tokens of a text, without special tokens."""
        return self.model.config.max_length - 1 - len(self._prefix_length)

    @property
    def _prefix_length(self) -> list[int]:
        start = getattr(self.model.config, "start_id", None)
        return [] if start is None else [start]

    def _truncate(self, ids: list[int]) -> list[int]:
        return [*self._prefix_length, *truncate_middle(ids, self._max_tokens), self.tokenizer.end_id]

    def _read(self, text: str) -> tuple[str, tuple[Token, ...], bool]:
        """Return the text, the tokens that the model reads, and whether the middle of the text was removed."""
        text = self._clean(text)
        *tokens, end = self.tokenizer.source_tokens(text)
        truncated = truncate_middle(tokens, self._max_tokens)
        prefix = [
            Token(self.tokenizer.label(token_id), token_id, 0, 0, special=True) for token_id in self._prefix_length
        ]
        if len(truncated) < len(tokens):
            first = next(index for index in range(len(truncated)) if truncated[index] is not tokens[index])
            text, truncated, end = _join_ends(text, truncated[:first], truncated[first:], end)
        return text, (*prefix, *truncated, end), len(truncated) < len(tokens)

    def _all_log_odds(
        self, rows: Sequence[list[int]], on_progress: Callable[[int], None] | None = None
    ) -> list[list[float]]:
        """Compute the log-odds of any number of rows, in batches of limited size."""
        results: list[list[float]] = [[]] * len(rows)
        for indices in batches_by_length({index: len(row) for index, row in enumerate(rows)}, BATCH_TOKENS):
            log_odds = in_smaller_batches(self._log_odds, [rows[index] for index in indices])
            for index, row_log_odds in zip(indices, log_odds, strict=True):
                results[index] = row_log_odds
            if on_progress:
                on_progress(len(indices))
        return results

    def _log_odds(self, rows: Sequence[list[int]]) -> list[list[float]]:
        with torch.inference_mode():
            ids = pad_sequences(list(rows), self.model.config.pad_id).to(self.choice.device)
            log_odds: list[list[float]] = self.model.log_odds(ids).tolist()
            return log_odds


def _words(judgement: Judgement) -> list[int]:
    return sorted({token.word for token in judgement.tokens if token.word is not None})


def _join_ends(text: str, first: Sequence[Token], last: Sequence[Token], end: Token) -> tuple[str, list[Token], Token]:
    """Join both ends of a text, and move their tokens to their new positions."""
    last_start = last[0].start
    joined = text[: first[-1].end] + ELLIPSIS + text[last_start:]
    shift = len(joined) - len(text)
    *shifted, end = (replace(token, start=token.start + shift, end=token.end + shift) for token in (*last, end))
    return joined, [*first, *shifted], end
