"""Settings of a small run that the page shows live: corpus, model sizes, optimisation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from headlight.model.errors import TrainingError
from headlight.model.training.corpora import CorpusSpec, Pair
from headlight.model.training.mistakes import MISTAKES
from headlight.model.training.recipe import Batching, Optimisation, Recipe, TokenizerSettings

CORPORA = Path(__file__).resolve().parents[2] / "assets" / "corpora"
SMOOTHING = 0.1  # label smoothing
SEED = 1


@dataclass(frozen=True)
class LiveCorpus:
    """A corpus of a few pairs."""

    file: str
    pairs: int  # number of lines from the start of the file
    vocabulary: int  # maximum size per side
    steps: int  # training steps
    sentences: tuple[int, ...]  # indices of the pairs that the page shows
    unseen: tuple[Pair, ...] = ()  # held-out pairs of known words, which the page shows, too
    source: str = "de"  # language of the source sentences
    source_column: int = 0


CORPUS_BY_NAME = {
    "toy": LiveCorpus("toy.tsv", pairs=2, vocabulary=300, steps=160, sentences=(0, 1)),
    "order": LiveCorpus("order.tsv", pairs=2, vocabulary=300, steps=160, sentences=(0, 1)),
    "guess": LiveCorpus("guess.tsv", pairs=8, vocabulary=400, steps=200, sentences=(0,)),
    "mini": LiveCorpus(
        "mini.tsv", pairs=24, vocabulary=500, steps=320, sentences=(0, 4),
        unseen=(Pair("Die Frau trinkt Milch.", "The woman is drinking milk."),),
    ),
    "toy_zh": LiveCorpus(
        "toy.tsv", pairs=2, vocabulary=300, steps=160, sentences=(0, 1), source="zh", source_column=2
    ),
    "order_zh": LiveCorpus(
        "order.tsv", pairs=2, vocabulary=300, steps=160, sentences=(0, 1), source="zh", source_column=2
    ),
    "mini_zh": LiveCorpus(
        "mini.tsv", pairs=24, vocabulary=500, steps=320, sentences=(0, 4), source="zh", source_column=2,
        unseen=(Pair("女人在喝牛奶。", "The woman is drinking milk."),),
    ),
}  # fmt: skip
GERMAN_CORPORA = tuple(name for name, corpus in CORPUS_BY_NAME.items() if corpus.source == "de")
CHOICES: Mapping[str, tuple[Any, ...]] = {
    "corpus": tuple(CORPUS_BY_NAME),
    "layers": (1, 2, 3),
    "heads": (1, 2, 4, 8),
    "d_model": (16, 32, 64),
    "rate": (0.0002, 0.002, 0.02),
    "warmup": (0, 20, 60),
    "positions": (True, False),
    "mistake": ("", *MISTAKES),
}


@dataclass(frozen=True, kw_only=True)
class LiveRunSettings:
    """Settings of a run. `CHOICES` has the valid values; the largest run takes a few seconds on one core."""

    corpus: str = "toy"
    layers: int = 2
    heads: int = 4
    d_model: int = 32
    rate: float = 0.002
    warmup: int = 20
    positions: bool = True
    mistake: str = ""  # one of `MISTAKES`, or empty

    def __post_init__(self) -> None:
        for setting in fields(self):
            value = getattr(self, setting.name)
            if not any(type(value) is type(choice) and value == choice for choice in CHOICES[setting.name]):
                raise TrainingError(f"{setting.name} is {value!r}, but must be one of {CHOICES[setting.name]}.")

    @property
    def steps(self) -> int:
        """The number of training steps."""
        return CORPUS_BY_NAME[self.corpus].steps

    def recipe(self) -> Recipe:
        """Return the equivalent recipe for `headlight train`."""
        live = CORPUS_BY_NAME[self.corpus]
        corpus = CorpusSpec(source=live.file, header=True, source_column=live.source_column, target_column=1)
        return Recipe(
            name="watched",
            source_language=live.source,
            target_language="en",
            corpora=(corpus,),
            validation=(),
            tokenizer=TokenizerSettings(vocabulary=live.vocabulary, shared=False, minimum_frequency=1),
            model={
                "d_model": self.d_model,
                "heads": self.heads,
                "d_ff": 2 * self.d_model,
                "encoder_layers": self.layers,
                "decoder_layers": self.layers,
                "dropout": 0.0,
                "positions": "sinusoidal" if self.positions else "none",
            },
            optimisation=Optimisation(
                schedule="constant",
                peak_rate=self.rate,
                warmup_steps=self.warmup,
                cool_down_steps=self.steps // 4,
                label_smoothing=SMOOTHING,
                ema_decay=0.0,
            ),
            batching=Batching(batch_tokens=1500, max_sentence_tokens=60),
            seed=SEED,
            steps=self.steps,
            validate_every=self.steps,
        )
