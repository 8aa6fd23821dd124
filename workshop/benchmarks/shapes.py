"""Model shapes, benchmark cases and their goals."""

from __future__ import annotations

from dataclasses import dataclass

from headlight.model.core.config import TransformerConfig


@dataclass(frozen=True)
class Shape:
    """The sizes of a model that every engine gets."""

    name: str
    d_model: int
    layers: int  # of the encoder, and of the decoder
    heads: int
    d_ff: int
    vocabulary: int

    @property
    def config(self) -> TransformerConfig:
        """Our model of this shape, built like Marian, which all engines here can run."""
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
        """The sizes in words."""
        return (
            f"d {self.d_model}, {self.layers} + {self.layers} layers, {self.heads} heads, "
            f"feed-forward {self.d_ff}, vocabulary {self.vocabulary:,}"
        )


BASE = Shape("base", d_model=512, layers=6, heads=8, d_ff=2048, vocabulary=16_000)
SMALL = Shape("small", d_model=256, layers=4, heads=4, d_ff=1024, vocabulary=8_000)
MARIAN = Shape("marian", d_model=512, layers=6, heads=8, d_ff=2048, vocabulary=58_101)  # OPUS-MT's real size
TINY = Shape("tiny", d_model=16, layers=1, heads=2, d_ff=32, vocabulary=300)  # for tests of the harness alone


@dataclass(frozen=True)
class Case:
    """A batch of sentences with a fixed number of source and target tokens."""

    shape: Shape
    batch: int
    tokens: int

    @property
    def name(self) -> str:
        """As tables call it."""
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
    """How our time should compare with a peer's; exactly one of the two is given."""

    at_least: float | None = None  # times faster than the peer
    at_most: float | None = None  # of the peer's time

    def __post_init__(self) -> None:
        if (self.at_least is None) == (self.at_most is None):
            raise ValueError("A goal is either a speed-up or a share of the peer's time.")

    def met(self, ours: float, peers: float) -> bool:
        """Whether these two times reach it."""
        if self.at_least is not None:
            return peers / ours >= self.at_least
        return self.at_most is not None and ours / peers <= self.at_most


# Decode + full capture of all maps, on the default CPU path: by case and by the peer's row.
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
    # Its 8-bit products, whose words are not float32's, and no maps.
    **{(case.name, "ctranslate2-int8"): Goal(at_most=1.5) for case in CASES},
}
LINES_GOAL, OWN_GOAL = 1.25, 0.999  # times as fast as CTranslate2 float32; tokens that are float32's own: at least
TRANSLATOR_GOAL = 1.15  # `Translator.translate` over the model-level way: at most
STEP_GOAL, PASS_GOAL = 1.02, 1.01  # with probes over without: at most
TRAINING_GOALS = {"plain": 7.0, "buckets": 2.5}  # our target tokens/s over those of the tutorials' loop: at least
PAGE_GOALS = {  # upper limits, except `plain`: the minimum speed relative to the `gr.Plot` page
    "cold_start": 20.0,  # seconds, with the shipped models, files read from the disk
    "translate": 0.600,  # seconds from the click until it is painted
    "switch_30": 0.016,
    "switch_200": 0.033,
    "a_weight": 1.4,  # bytes, after 20 kB for everything else
    "heap": 10e6,
    "server": 50e6,
    "plain": 10.0,
}
PAINT_GOALS = {"20": 0.060, "60": 0.120, "200": 0.250}  # seconds after the model's own time, by tokens: at most
WATCHED_GOAL = 1.3  # of an answer's time alone, while a lesson trains
RUN_GOAL = 15.0  # seconds of a lesson's default run
LIVE_GOAL = 1.5  # of a full answer's time alone, while others type
VISIT_GOALS = {  # at most
    "ratio": 1.2,  # the time until the first map over that of Gradio's empty page
    "requests": 42,
}
IMPORTANCE_GOAL = 1.2  # seconds, upper limit, for all heads of the bundled model and 20 tokens
MEMORY_GOAL = 1.3  # growth while loading and writing a sentence over the weights in float32: below
