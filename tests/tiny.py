"""Small deterministic models for tests of decoding.

- `tiny_translator`: a Transformer with random weights that behaves like a trained one: its translations differ
  between sentences, and some of them end. Its sizes are distinct, so that no two axes can be swapped unnoticed.
- `Toy`: a table of probabilities instead of a network, small enough to enumerate all its outputs.
"""

from __future__ import annotations

import csv
import math
import random
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from headlight.model.core.config import TransformerConfig
from headlight.model.core.transformer import Transformer
from headlight.model.decoding.search import SearchInputs
from headlight.model.decoding.step import Rule
from headlight.model.text.tokenizer import Tokenizer
from headlight.model.translate.packed_model import StepWeights
from headlight.model.translate.translator import Translator

CORPUS = Path(__file__).parents[1] / "assets" / "corpora" / "mini.tsv"
SOURCE_VOCABULARY = 419
TARGET_VOCABULARY = 347
ENCODER_LAYERS = 2
DECODER_LAYERS = 3
HEADS = 5
HEAD_WIDTH = 6  # even, as rotary positions need
D_MODEL = 23
D_FF = 37
MAX_LENGTH = 61
SENTENCES = (
    "Der Hund schläft im Garten.",
    "Ja.",
    "Ich trinke ein Bier, und die Katze schläft auf dem Sofa.",
    "Das Kind trinkt Wasser.",
    "Wo ist der Bahnhof?",
    "狗在花园里睡觉。",
    "🙂",
)  # 13, 4, 27, 11, 12, 25, 6 tokens; with greedy decoding, numbers 1 and 3 to 6 end, the others reach the limit


@cache
def tokenizers() -> tuple[Tokenizer, Tokenizer]:
    """A source and a target vocabulary of different sizes, learned from the smallest corpus."""
    with CORPUS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    source = Tokenizer.train([row["de"] for row in rows], SOURCE_VOCABULARY)
    target = Tokenizer.train([row["en"] for row in rows], TARGET_VOCABULARY)
    return source, target


def tiny_model(*, seed: int = 7, ends: float = 3.3, **fields: Any) -> Transformer:
    """Random weights; the next token depends on the last one and on the source, and outputs sometimes end.

    `ends` is added to the bias of the end token.
    """
    defaults: dict[str, Any] = {
        "source_vocabulary": tokenizers()[0].vocabulary_size,
        "target_vocabulary": tokenizers()[1].vocabulary_size,
        "d_model": D_MODEL,
        "heads": HEADS,
        "head_width": HEAD_WIDTH,
        "d_ff": D_FF,
        "encoder_layers": ENCODER_LAYERS,
        "decoder_layers": DECODER_LAYERS,
        "max_length": MAX_LENGTH,
        "tie_output": False,
        "final_logits_bias": True,
        "dropout": 0.0,
    }
    torch.manual_seed(seed)
    model = Transformer(TransformerConfig(**(defaults | fields))).eval()
    with torch.no_grad():
        for parameter in model.parameters():  # zero biases and unit norms would hide mistakes
            parameter.add_(torch.randn_like(parameter), alpha=0.1)
        model.decoder.embedding.table.weight *= 3.0
        for layer in model.decoder.layers:
            layer.cross_attention.output.weight *= 0.5  # type: ignore[union-attr,operator]
            layer.self_attention.output.weight *= 0.3  # type: ignore[union-attr,operator]
        if not model.config.tie_output:
            model.decoder.output.words.weight *= 3.0
        if model.config.final_logits_bias:
            model.decoder.output.words.bias[model.config.end_id] += ends
    return model


def tiny_translator(*, step_weights: StepWeights = "plain", **options: Any) -> Translator:
    """`tiny_model` with its vocabularies."""
    return Translator(tiny_model(**options), *tokenizers(), name="tiny", step_weights=step_weights)


class Toy:
    """Random but deterministic next-token probabilities for each sentence and prefix."""

    START, END = 0, 1

    def __init__(self, vocabulary: int = 4, seed: int = 0) -> None:
        self.vocabulary = vocabulary
        self.seed = seed
        self.rows: list[int] = []  # number of rows of each step

    def log_probabilities(self, sentence: int, prefix: Sequence[int]) -> list[float]:
        """`log p` of each next token."""
        generator = random.Random(f"{self.seed} {sentence} {list(prefix)}")  # noqa: S311 - the same in every run
        weights = [generator.expovariate(1.0) + 0.01 for _ in range(self.vocabulary)]
        return [math.log(weight / sum(weights)) for weight in weights]

    def plan(self, limits: Sequence[int], rules: Sequence[Rule] = ()) -> SearchInputs:
        """The inputs of a search over one sentence per limit."""
        state: Any = ToyState(len(limits))
        return SearchInputs(
            self.step, state, rules, limits, self.START, frozenset({self.END}), self.vocabulary, torch.device("cpu")
        )

    def step(self, ids: Tensor, state: Any) -> Tensor:
        """A decoder step: `[rows, 1]` ids → `[rows, 1, vocabulary]`; updates the state."""
        assert ids.shape == (len(state.sentences), 1)
        state.written = [[*row, token] for row, token in zip(state.written, ids[:, 0].tolist(), strict=True)]
        self.rows.append(len(ids))
        rows = [
            self.log_probabilities(sentence, prefix[1:])
            for sentence, prefix in zip(state.sentences, state.written, strict=True)
        ]
        return torch.tensor(rows)[:, None]


class ToyState:
    """Like a `DecoderState`: the sentence of each row, and the tokens that the decoder has read."""

    def __init__(self, sentences: int) -> None:
        self.sentences = list(range(sentences))
        self.written: list[list[int]] = [[] for _ in range(sentences)]

    def select(self, rows: Tensor) -> None:
        self.sentences = [self.sentences[row] for row in rows.tolist()]
        self.reorder(rows)

    def reorder(self, rows: Tensor) -> None:
        self.written = [self.written[row] for row in rows.tolist()]


def run_to_the_end(search: Any) -> Any:
    """Advance a search until it is complete, and return it."""
    while search.advance():
        pass
    return search


def count_hooks(model: nn.Module) -> int:
    """The number of forward hooks of a model: 0 unless it is watched."""
    return sum(len(module._forward_hooks) for module in model.modules())
