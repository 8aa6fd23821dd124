"""The descriptions of the two kinds of classifier: the lesson's small one, and a whole encoder such as BERT."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headlight.model.core.config import Config, TransformerConfig

MAX_CLASSES = 300  # each gets numbers for every word on the page
HEAD_ACTIVATIONS = ("tanh", "relu")


class _ClassifierConfigBase(Config):
    """Shared checks and defaults. Not a dataclass, so that each subclass orders its own fields."""

    vocabulary: int
    d_model: int
    heads: int
    layers: int
    max_length: int
    pad_id: int
    end_id: int

    @property
    def block_config(self) -> TransformerConfig:
        """The same sizes, as the Transformer's parts want them."""
        raise NotImplementedError

    def _check_text_fields(self, *ids: str) -> None:
        self._check(self.max_length >= 4, f"max_length is {self.max_length}, too short for any text.")
        self._require_ids(*ids, size=self.vocabulary)
        _ = self.block_config  # the other values are checked on use

    def _blocks(self, **own: Any) -> TransformerConfig:
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
            **own,
        )


@dataclass(frozen=True, kw_only=True)
class ClassifierConfig(_ClassifierConfigBase):
    """A text classifier of one question, yes or no: embedding, self-attention, average, sigmoid.

    The defaults are the lesson's: 8 heads of 16 numbers over an embedding as wide as all of them.
    """

    vocabulary: int
    negative: str = "negative"  # label of the class with probability near 0
    positive: str = "positive"  # near 1
    d_model: int = 128
    heads: int = 8
    head_width: int = 16
    layers: int = 1

    positions: str = "sinusoidal"
    position_width: int = 0  # 0: added to the embedding; else concatenated to it, so wide
    max_length: int = 512  # tokens that are read; of longer texts the beginning and the end

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
        """The same sizes, as the Transformer's parts want them."""
        return self._blocks(
            head_width=self.head_width,
            positions=self.positions,
            position_width=self.position_width,
            dropout=self.dropout,
            attention_dropout=self.attention_dropout,
            start_id=self.end_id,
        )

    @property
    def classes(self) -> tuple[str, str]:
        """The names of 0 and of 1."""
        return self.negative, self.positive

    @property
    def exclusive(self) -> bool:
        """A text has one of them."""
        return True


@dataclass(frozen=True, kw_only=True)
class EncoderClassifierConfig(_ClassifierConfigBase):
    """An encoder whose first token is judged: BERT (https://arxiv.org/abs/1810.04805) and its relatives.

    The defaults are the sizes of its published base model.
    """

    vocabulary: int
    classes: tuple[str, ...]  # their names, in the order of the logits
    exclusive: bool = True  # classes exclude each other (softmax); False: one probability per class (sigmoid)
    d_model: int = 768
    heads: int = 12
    d_ff: int = 3072
    layers: int = 12

    position_offset: int = 0  # row of the table that the first token takes
    max_length: int = 512  # tokens that are read; of longer texts the beginning and the end
    activation: str = "gelu"
    head_activation: str = "tanh"  # between the two matrices that judge
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
            len(self.classes) > 1 or not self.exclusive, "a single class can only be asked for by itself: exclusive."
        )
        self._require_choice("head_activation", HEAD_ACTIVATIONS)
        self._check(self.pad_id not in (self.start_id, self.end_id), "pad_id must differ from start_id and end_id.")
        self._check_text_fields("pad_id", "start_id", "end_id")

    @property
    def block_config(self) -> TransformerConfig:
        """The same sizes, as the encoder wants them: learnt positions, a norm after the embedding and each sum."""
        return self._blocks(
            d_ff=self.d_ff,
            positions="learned",
            position_offset=self.position_offset,
            activation=self.activation,
            embedding_norm=True,
            norm_epsilon=self.norm_epsilon,
            scale_embedding=False,
            dropout=0.0,
            start_id=self.start_id,
        )
