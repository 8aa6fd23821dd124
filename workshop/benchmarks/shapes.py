"""Model shapes, benchmark cases and their goals."""

from __future__ import annotations

from dataclasses import dataclass

from headlight.model.core.config import TransformerConfig


@dataclass(frozen=True)
class Shape:
    """The sizes of a benchmark model."""

    name: str
    d_model: int
    layers: int  # layers of the encoder, and of the decoder
    heads: int
    d_ff: int
    vocabulary: int

    @property
    def config(self) -> TransformerConfig:
        """Configuration of this shape in Marian's architecture, which all engines support."""
        return TransformerConfig(
            source_vocabulary=self.vocabulary,
            target_vocabulary=self.vocabulary,
            d_model=self.d_model,
            heads=self.heads,
            d_ff=self.d_ff,
            encoder_layers=self.layers,
            decoder_layers=self.layers,
            positions="sinusoidal_halves",
            activation="silu",
            share_embeddings=True,
            final_logits_bias=True,
            dropout=0.0,
        )

    @property
    def words(self) -> str:
        """The sizes as text."""
        return (
            f"d {self.d_model}, {self.layers} + {self.layers} layers, {self.heads} heads, "
            f"feed-forward {self.d_ff}, vocabulary {self.vocabulary:,}"
        )


BASE = Shape("base", d_model=512, layers=6, heads=8, d_ff=2048, vocabulary=16_000)
SMALL = Shape("small", d_model=256, layers=4, heads=4, d_ff=1024, vocabulary=8_000)
MARIAN = Shape("marian", d_model=512, layers=6, heads=8, d_ff=2048, vocabulary=58_101)  # the size of OPUS-MT models
TINY = Shape("tiny", d_model=16, layers=1, heads=2, d_ff=32, vocabulary=300)  # only for tests of the benchmarks


@dataclass(frozen=True)
class Case:
    """A batch of sentences with a fixed number of source and target tokens."""

    shape: Shape
    batch: int
    tokens: int

    @property
    def name(self) -> str:
        """The name of the case in tables."""
        return f"{self.shape.name}, {self.batch} × {self.tokens}"


CASES = tuple(
    Case(shape, batch, tokens)
    for shape, sizes in (
        (BASE, ((1, 20), (1, 60), (8, 20))),
        (MARIAN, ((1, 20), (1, 60), (8, 20))),
        (SMALL, ((1, 20), (8, 20))),
    )
    for batch, tokens in sizes
)
QUICK_CASES = (Case(SMALL, 1, 20), Case(SMALL, 8, 20))


@dataclass(frozen=True)
class Goal:
    """A limit for Headlight's time relative to a peer's. Exactly one of the fields is set."""

    at_least: float | None = None  # minimum speed-up over the peer
    at_most: float | None = None  # maximum share of the peer's time

    def __post_init__(self) -> None:
        if (self.at_least is None) == (self.at_most is None):
            raise ValueError("A goal is either a speed-up or a share of the peer's time.")

    def is_met(self, ours: float, peers: float) -> bool:
        """Whether the two times meet the goal."""
        if self.at_least is not None:
            return peers / ours >= self.at_least
        return self.at_most is not None and ours / peers <= self.at_most


# Decoding with capture of all maps on the default CPU path, by case and peer.
GOALS: dict[tuple[str, str], Goal] = {
    ("base, 1 × 20", "transformers"): Goal(at_least=2.6),
    ("base, 1 × 60", "transformers"): Goal(at_least=2.8),
    ("base, 8 × 20", "transformers"): Goal(at_least=2.3),
    ("base, 1 × 20", "tutorial"): Goal(at_least=7.0),
    ("base, 1 × 60", "tutorial"): Goal(at_least=9.0),
    ("base, 1 × 20", "ctranslate2"): Goal(at_most=0.65),
    ("base, 1 × 60", "ctranslate2"): Goal(at_most=0.60),
    ("base, 8 × 20", "ctranslate2"): Goal(at_most=0.55),
    ("marian, 1 × 20", "transformers"): Goal(at_least=2.6),
    ("marian, 1 × 60", "transformers"): Goal(at_least=2.6),
    ("marian, 8 × 20", "transformers"): Goal(at_least=2.4),
    ("marian, 1 × 20", "ctranslate2"): Goal(at_most=0.60),
    ("marian, 1 × 60", "ctranslate2"): Goal(at_most=0.60),
    ("marian, 8 × 20", "ctranslate2"): Goal(at_most=0.60),
    ("small, 1 × 20", "transformers"): Goal(at_least=2.3),
    ("small, 8 × 20", "transformers"): Goal(at_least=2.3),
    ("small, 1 × 20", "ctranslate2"): Goal(at_most=0.95),
    ("small, 8 × 20", "ctranslate2"): Goal(at_most=0.95),
    # CTranslate2 with 8-bit products computes no maps, and its tokens differ from those of float32.
    **{(case.name, "ctranslate2-int8"): Goal(at_most=1.5) for case in CASES},
}
LINES_GOAL, OWN_GOAL = 1.25, 0.999  # at least: speed-up over CTranslate2 float32; share of tokens equal to float32's
TRANSLATOR_GOAL = 1.15  # at most: time of `Translator.translate` over that of the model-level job
STEP_GOAL, PASS_GOAL = 1.02, 1.01  # at most: time with probes over that without
TRAINING_GOALS = {"plain": 7.0, "buckets": 2.5}  # at least: target tokens/s over those of the tutorial's loop
PAGE_GOALS = {  # at most, except `plain`: at least this speed-up over the `gr.Plot` page
    "cold_start": 20.0,  # seconds, with the shipped models, without cached files
    "translate": 0.600,  # seconds from the click until painted
    "switch_30": 0.016,
    "switch_200": 0.033,
    "a_weight": 1.4,  # bytes per weight, after 20 kB for other data
    "heap": 10e6,
    "server": 50e6,
    "plain": 10.0,
}
PAINT_GOALS = {"20": 0.060, "60": 0.120, "200": 0.250}  # at most: seconds from the model to painted, by tokens
WATCHED_GOAL = 1.3  # at most: time of an answer during a training run over that without
RUN_GOAL = 15.0  # at most: seconds of a lesson's default training run
LIVE_GOAL = 1.5  # at most: time of a full answer while others type over that alone
VISIT_GOALS = {  # at most
    "ratio": 1.2,  # time until the first map over that of an empty Gradio page
    "requests": 42,
}
IMPORTANCE_GOAL = 1.2  # at most: seconds for all heads of the bundled model and 20 tokens
EFFECTS_GOAL = 2.0  # at most: time of all effects on a word over that of one forward and backward pass
DIRECTION_GOAL = 0.9  # at least: share of cells whose weight moves as the sign of the largest part tells
MEMORY_GOAL = 1.3  # below: memory growth of loading and translating over the bytes of the float32 weights
