"""What tests of decoding translate with, the same in every run.

- `tiny_translator`: a Transformer with random weights that behaves like a trained one: its answers differ from sentence
  to sentence, and some of them end. Its sizes are distinct, so that no two axes can be swapped unnoticed.
- `Toy`: no network at all but a table of chances, small enough to count every sentence that it can write.
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
LONGEST = 61
SENTENCES = (
    "Der Hund schläft im Garten.",
    "Ja.",
    "Ich trinke ein Bier, und die Katze schläft auf dem Sofa.",
    "Das Kind trinkt Wasser.",
    "Wo ist der Bahnhof?",
    "狗在花园里睡觉。",
    "🙂",
)  # 13, 4, 27, 11, 12, 25, 6 tokens; greedy ends the first and the third to sixth, and the others reach their limit


@cache
def tokenizers() -> tuple[Tokenizer, Tokenizer]:
    """A source and a target vocabulary of different sizes, learned from the smallest corpus."""
    with CORPUS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    source = Tokenizer.train([row["de"] for row in rows], SOURCE_VOCABULARY)
    target = Tokenizer.train([row["en"] for row in rows], TARGET_VOCABULARY)
    return source, target


def tiny_model(*, seed: int = 7, ends: float = 3.3, **fields: Any) -> Transformer:
    """Random weights under which the next word depends on the last one and on the source, and ends now and then."""
    chosen: dict[str, Any] = {
        "source_vocabulary": tokenizers()[0].vocabulary_size,
        "target_vocabulary": tokenizers()[1].vocabulary_size,
        "d_model": D_MODEL,
        "heads": HEADS,
        "head_width": HEAD_WIDTH,
        "d_ff": D_FF,
        "encoder_layers": ENCODER_LAYERS,
        "decoder_layers": DECODER_LAYERS,
        "max_length": LONGEST,
        "tie_output": False,
        "final_logits_bias": True,
        "dropout": 0.0,
    }
    torch.manual_seed(seed)
    model = Transformer(TransformerConfig(**(chosen | fields))).eval()
    with torch.no_grad():
        for parameter in model.parameters():  # biases that are zero and norms that are one would hide mistakes
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
    """Chances of the next token for each sentence and each beginning: random, but always the same."""

    START, END = 0, 1

    def __init__(self, vocabulary: int = 4, seed: int = 0) -> None:
        self.vocabulary = vocabulary
        self.seed = seed
        self.rows: list[int] = []  # how many rows each step was asked for

    def log_probabilities(self, sentence: int, written: Sequence[int]) -> list[float]:
        """What may follow: `log p` of each token."""
        chance = random.Random(f"{self.seed} {sentence} {list(written)}")  # noqa: S311 - the same in every run
        weights = [chance.expovariate(1.0) + 0.01 for _ in range(self.vocabulary)]
        return [math.log(weight / sum(weights)) for weight in weights]

    def plan(self, limits: Sequence[int], rules: Sequence[Rule] = ()) -> SearchInputs:
        """What a search needs to write about as many sentences as there are limits."""
        state: Any = ToyState(len(limits))
        return SearchInputs(
            self.step, state, rules, limits, self.START, frozenset({self.END}), self.vocabulary, torch.device("cpu")
        )

    def step(self, ids: Tensor, state: Any) -> Tensor:
        """As a decoder does it: `[rows, 1]` ids → `[rows, 1, vocabulary]`, with the state going on."""
        assert ids.shape == (len(state.sentences), 1)
        state.written = [[*row, token] for row, token in zip(state.written, ids[:, 0].tolist(), strict=True)]
        self.rows.append(len(ids))
        rows = [
            self.log_probabilities(sentence, written[1:])
            for sentence, written in zip(state.sentences, state.written, strict=True)
        ]
        return torch.tensor(rows)[:, None]


class ToyState:
    """As a `DecoderState`: which sentence each row is about, and what the decoder has read in it."""

    def __init__(self, sentences: int) -> None:
        self.sentences = list(range(sentences))
        self.written: list[list[int]] = [[] for _ in range(sentences)]

    def select(self, rows: Tensor) -> None:
        self.sentences = [self.sentences[row] for row in rows.tolist()]
        self.reorder(rows)

    def reorder(self, rows: Tensor) -> None:
        self.written = [self.written[row] for row in rows.tolist()]


def run_to_the_end(search: Any) -> Any:
    """The search, when nothing is left to do."""
    while search.advance():
        pass
    return search


def count_hooks(model: nn.Module) -> int:
    """How many forward hooks hang at a model: none, when nobody watches."""
    return sum(len(module._forward_hooks) for module in model.modules())
