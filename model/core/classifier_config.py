"""Configurations of the two classifiers: the lesson's small self-attention classifier, and an encoder such as BERT."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from headlight.model.core.config import MAX_VALUES, Config, TransformerConfig

MAX_CLASSES = 300  # the page shows one number per class and word
HEAD_ACTIVATIONS = ("tanh", "relu", "gelu")
CLASSIFIER_POSITIONS = ("learned", "disentangled")
MAX_DISTANCES = 100_000  # rows of a table of distances


class _ClassifierConfigBase(Config):
    """Shared checks and defaults. Not a dataclass, so each subclass determines the order of its fields."""

    vocabulary: int
    d_model: int
    heads: int
    layers: int
    max_length: int
    pad_id: int
    end_id: int

    @property
    def block_config(self) -> TransformerConfig:
        """A `TransformerConfig` with the same sizes, which the layers require."""
        raise NotImplementedError

    def _check_text_fields(self, *ids: str) -> None:
        self._check(self.max_length >= 4, f"max_length is {self.max_length}, too short for any text.")
        self._require_ids(*ids, size=self.vocabulary)
        _ = self.block_config  # `TransformerConfig` checks the other values

    def _make_block_config(self, **fields: Any) -> TransformerConfig:
        return TransformerConfig(
            source_vocabulary=self.vocabulary,
            target_vocabulary=self.vocabulary,
            d_model=self.d_model,
            heads=self.heads,
            encoder_layers=self.layers,
            max_length=self.max_length,
            tie_output=False,
            pad_id=self.pad_id,
            end_id=self.end_id,
            **fields,
        )


@dataclass(frozen=True, kw_only=True)
class ClassifierConfig(_ClassifierConfigBase):
    """A binary text classifier: embedding, self-attention, average, sigmoid.

    The defaults are those of the lesson: 8 heads of width 16, and an embedding as wide as all heads together.
    """

    vocabulary: int
    negative: str = "negative"  # label of the class with probability near 0
    positive: str = "positive"  # label of the class with probability near 1
    d_model: int = 128
    heads: int = 8
    head_width: int = 16
    layers: int = 1

    positions: str = "sinusoidal"
    position_width: int = 0  # 0: positions are added to the embedding; else the width of the concatenated positions
    max_length: int = 512  # maximum number of tokens; longer texts are truncated in the middle

    dropout: float = 0.1
    attention_dropout: float = 0.0

    pad_id: int = 0
    end_id: int = 2

    def __post_init__(self) -> None:
        self._require_positive("vocabulary", "d_model", "heads", "head_width", "layers", "max_length")
        super().__post_init__()
        self._check(bool(self.negative and self.positive), "negative and positive need a name each.")
        self._check(self.negative != self.positive, "negative and positive must differ.")
        self._check(self.pad_id != self.end_id, "pad_id and end_id must differ.")
        self._check_text_fields("pad_id", "end_id")

    @property
    def block_config(self) -> TransformerConfig:
        """A `TransformerConfig` with the same sizes."""
        return self._make_block_config(
            head_width=self.head_width,
            positions=self.positions,
            position_width=self.position_width,
            dropout=self.dropout,
            attention_dropout=self.attention_dropout,
            start_id=self.end_id,
        )

    @property
    def classes(self) -> tuple[str, str]:
        """Names of the negative and the positive class."""
        return self.negative, self.positive

    @property
    def exclusive(self) -> bool:
        """Whether exactly one class applies to a text."""
        return True


@dataclass(frozen=True, kw_only=True)
class EncoderClassifierConfig(_ClassifierConfigBase):
    """An encoder with a classifier on the vector of its first token, as in BERT (https://arxiv.org/abs/1810.04805).

    The defaults are the sizes of the published base model.
    """

    added_later: ClassVar[frozenset[str]] = frozenset(
        {
            "embedding_width", "layer_groups", "positions", "distance_buckets", "max_distance", "distance_norm",
            "position_keys", "position_queries", "shared_position_weights",
        }
    )  # fmt: skip

    vocabulary: int
    classes: tuple[str, ...]  # names, in the order of the logits
    exclusive: bool = True  # classes exclude each other (softmax); False: one probability per class (sigmoid)
    d_model: int = 768
    heads: int = 12
    d_ff: int = 3072
    layers: int = 12
    layer_groups: int | None = None  # the layers of a group share their weights (ALBERT); None: no layers share any
    embedding_width: int | None = None  # a matrix maps narrower embeddings to d_model (ELECTRA, ALBERT); None: d_model

    positions: str = "learned"  # added to the embedding; or "disentangled": distance vectors (DeBERTa)
    distance_buckets: int = 0  # buckets per direction; 0: one bucket per distance
    max_distance: int = 512  # larger distances share a bucket
    distance_norm: bool = False  # normalise the distance vectors
    position_keys: bool = True  # add query · distance key to the scores
    position_queries: bool = True  # add key · distance query to the scores
    shared_position_weights: bool = True  # True: the projections of the tokens also project distances

    position_offset: int = 0  # table row of the first token
    max_length: int = 512  # maximum number of tokens; longer texts are truncated in the middle
    activation: str = "gelu"
    head_activation: str = "tanh"  # between the two matrices of the classifier
    norm_epsilon: float = 1e-12

    pad_id: int = 0
    start_id: int = 101  # first token of every text; its last vector is classified
    end_id: int = 102

    def __post_init__(self) -> None:
        self._require_positive("vocabulary", "d_model", "heads", "d_ff", "layers", "max_length")
        super().__post_init__()
        object.__setattr__(self, "classes", tuple(self.classes))  # a list if it was read from JSON
        self._check(
            1 <= len(self.classes) <= MAX_CLASSES,
            f"it has {len(self.classes):,} classes, but must have 1 to {MAX_CLASSES}.",
        )
        self._check(all(self.classes), "every class needs a name.")
        self._check(
            len(self.classes) > 1 or not self.exclusive, "a single class cannot be exclusive: set exclusive to false."
        )
        if self.layer_groups is not None:
            self._require_positive("layer_groups")
            self._check(
                self.layer_groups <= self.layers,
                f"{self.layers:,} layers cannot form {self.layer_groups:,} groups.",
            )
        if self.embedding_width is not None:
            self._require_positive("embedding_width")
            self._require_at_most("embedding_width", MAX_VALUES["d_model"])
        self._require_choice("head_activation", HEAD_ACTIVATIONS)
        self._require_choice("positions", CLASSIFIER_POSITIONS)
        self._check(self.distance_buckets >= 0, "distance_buckets must not be negative.")
        self._require_positive("max_distance")
        self._require_at_most("distance_buckets", MAX_DISTANCES)
        self._require_at_most("max_distance", MAX_DISTANCES)
        self._check(
            self.distance_buckets == 0 or 4 <= self.distance_buckets < self.max_distance,
            "distances need at least 4 buckets, and a max_distance beyond their number.",
        )
        self._check(self.pad_id not in (self.start_id, self.end_id), "pad_id must differ from start_id and end_id.")
        self._check_text_fields("pad_id", "start_id", "end_id")

    @property
    def block_config(self) -> TransformerConfig:
        """A `TransformerConfig` with the same sizes, learned positions, and a norm after the embedding and each sum."""
        return self._make_block_config(
            d_ff=self.d_ff,
            positions="learned" if self.positions == "learned" else "none",
            position_offset=self.position_offset,
            activation=self.activation,
            embedding_norm=True,
            norm_epsilon=self.norm_epsilon,
            scale_embedding=False,
            dropout=0.0,
            start_id=self.start_id,
        )

    @property
    def embedding_config(self) -> TransformerConfig:
        """The configuration of the embedding, which may be narrower than the layers."""
        blocks = self.block_config
        return replace(blocks, d_model=self.embedding_width or self.d_model, head_width=blocks.resolved_head_width)

    def weight_group(self, layer: int) -> int:
        """Return the group of a layer, from 0. Groups are consecutive."""
        return layer if self.layer_groups is None else int(layer / (self.layers / self.layer_groups))
