"""Model configurations: small, frozen, validated, and identical in memory and in `config.json`."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from headlight.model.errors import ConfigError

POSITION_NAMES = ("none", "sinusoidal", "sinusoidal_halves", "learned", "rotary", "alibi", "relative")
ACTIVATION_NAMES = ("relu", "gelu", "gelu_tanh", "silu", "swiglu", "geglu", "reglu")
NORM_NAMES = ("layer", "rms")
# Larger sizes are mistakes or attacks. Models up to these sizes can be built, and their derived tables computed.
MAX_EMBEDDING_ROWS = 10_000_000  # for vocabularies and position tables
MAX_VALUES = {
    "encoder_layers": 1_000, "decoder_layers": 1_000, "layers": 1_000,
    "d_model": 100_000, "heads": 10_000, "head_width": 100_000, "d_ff": 1_000_000,
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Config:
    """Base of all configurations: validation and JSON with exactly the declared fields."""

    added_later: ClassVar[frozenset[str]] = frozenset()  # fields that older files lack; they get their default

    def to_json(self) -> str:
        """Return all fields as indented JSON, in the order of their declaration."""
        return json.dumps(dataclasses.asdict(self), indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str, *, origin: str = "config.json") -> Self:
        """Parse the output of `to_json`. Unknown, missing or mistyped fields raise a `ConfigError`."""
        try:
            values = json.loads(text)
        except (ValueError, RecursionError) as error:  # also huge integers and deeply nested brackets
            raise ConfigError(f"{origin} is not JSON: {error}. Download or write it again.") from error
        if not isinstance(values, dict):
            raise ConfigError(f"{origin} contains {type(values).__name__}, but must be a JSON object.")
        fields = {field.name: field for field in dataclasses.fields(cls)}
        unknown = sorted(set(values) - set(fields))
        if unknown:
            raise ConfigError(
                f"{origin} has unknown field(s) {', '.join(unknown)}. "
                f"Known are: {', '.join(fields)}. Remove the unknown, or update Headlight."
            )
        missing = sorted(set(fields) - set(values) - cls.added_later)
        if missing:
            raise ConfigError(f"{origin} lacks the field(s) {', '.join(missing)}. Add them, or export the model again.")
        for name, value in values.items():
            _check_type(origin, name, value, str(fields[name].type))
        return cls(**values)

    def __post_init__(self) -> None:
        """Check the type of every field. A `bool` is not accepted as an `int`."""
        for field in dataclasses.fields(self):
            _check_type(type(self).__name__, field.name, getattr(self, field.name), str(field.type))

    def _check(self, valid: bool, message: str) -> None:
        if not valid:
            raise ConfigError(f"{type(self).__name__}: {message}")

    def _require_positive(self, *names: str) -> None:
        for name in names:
            value = getattr(self, name)
            is_int = isinstance(value, int) and not isinstance(value, bool)
            self._check(is_int and value > 0, f"{name} is {value!r}, but must be a whole number above 0.")
            self._require_at_most(name, MAX_VALUES.get(name, MAX_EMBEDDING_ROWS))

    def _require_at_most(self, name: str, maximum: int) -> None:
        value = getattr(self, name)
        self._check(value <= maximum, f"{name} is {_format_value(value)}, but no more than {maximum:,} can be built.")

    def _require_between(self, name: str, minimum: float, maximum: float) -> None:
        value = getattr(self, name)
        self._check(value > 0, f"{name} is {value!r}, but must be a number above 0.")
        text = _format_value(value)
        message = f"{name} is {text}, but must lie between {minimum:g} and {maximum:g}: nothing else computes."
        self._check(minimum <= value <= maximum, message)

    def _require_probability(self, *names: str) -> None:
        for name in names:
            value = getattr(self, name)
            self._check(0.0 <= value < 1.0, f"{name} is {value!r}, but must lie in [0, 1).")

    def _require_ids(self, *names: str, size: int) -> None:
        for name in names:
            value = getattr(self, name)
            self._check(0 <= value < size, f"{name} is {value}, but the vocabulary ends at {size - 1}.")

    def _require_choice(self, name: str, choices: tuple[str, ...]) -> None:
        value = getattr(self, name)
        self._check(value in choices, f"{name} is {value!r}, but must be one of: {', '.join(choices)}.")


@dataclass(frozen=True, kw_only=True)
class TransformerConfig(Config):
    """An encoder-decoder Transformer. The defaults are the published base model ("Attention Is All You Need")."""

    added_later: ClassVar[frozenset[str]] = frozenset({"closed_waves", "embedding_norm", "relative_each_layer"})

    source_vocabulary: int
    target_vocabulary: int
    d_model: int = 512
    heads: int = 8
    head_width: int | None = None  # None: d_model / heads
    d_ff: int = 2048
    encoder_layers: int = 6
    decoder_layers: int = 6

    positions: str = "sinusoidal"
    position_width: int = 0  # 0: positions are added to the embedding; else the width of the concatenated positions
    position_offset: int = 0  # table row of the first token
    # Longest period of the sinusoids, in tokens. True: 2π · 10,000. False: 2π · 10,000^(1 − 2/d), as published.
    closed_waves: bool = False
    max_length: int = 512  # maximum number of source or target tokens; rows of a learned position table
    rotary_base: float = 10_000.0
    relative_buckets: int = 32
    relative_max_distance: int = 128
    relative_each_layer: bool = False  # True: one bias table per layer; False: one for all layers

    activation: str = "relu"
    norm: str = "layer"
    norm_first: bool = False  # False: after the residual sum, as published; True: before the sub-layer
    final_norm: bool = False  # a norm after the last layer of each stack, as pre-norm requires
    embedding_norm: bool = False  # a norm after the embedding and its positions (BART)
    norm_epsilon: float = 1e-5
    attention_bias: bool = True
    feed_forward_bias: bool = True
    scale_embedding: bool = True  # embedding × √d_model
    scale_scores: bool = True  # scores / √head_width

    share_embeddings: bool = False  # one table for source and target
    tie_output: bool = True  # the output projection uses the target's embedding table
    scale_output: bool = False  # decoder output × 1/√d_model before a tied projection
    final_logits_bias: bool = False

    dropout: float = 0.1
    attention_dropout: float = 0.0

    pad_id: int = 0
    start_id: int = 1
    end_id: int = 2

    def __post_init__(self) -> None:
        self._require_positive(
            "source_vocabulary", "target_vocabulary", "d_model", "heads", "d_ff",
            "encoder_layers", "decoder_layers", "max_length", "relative_buckets", "relative_max_distance",
        )  # fmt: skip
        super().__post_init__()
        self._require_choice("positions", POSITION_NAMES)
        self._require_choice("activation", ACTIVATION_NAMES)
        self._require_choice("norm", NORM_NAMES)
        self._require_probability("dropout", "attention_dropout")
        # Outside these ranges, float32 divides by zero, or the norm turns every vector into zeros.
        self._require_between("norm_epsilon", 1e-30, 1.0)
        self._require_between("rotary_base", 1.0, 1e12)
        self._check(
            self.head_width is not None or self.d_model % self.heads == 0,
            f"d_model {self.d_model} cannot be split into {self.heads} equal heads; "
            "change one of them, or set head_width.",
        )
        self._check(self.head_width is None or self.head_width > 0, "head_width must be above 0, or null.")
        if self.head_width is not None:
            self._require_at_most("head_width", MAX_VALUES["head_width"])
        self._check(
            self.heads * self.resolved_head_width <= MAX_VALUES["d_ff"],
            f"{self.heads:,} heads of {self.resolved_head_width:,} numbers are more than can be built: "
            f"{MAX_VALUES['d_ff']:,} in all.",
        )
        self._check(
            not self.share_embeddings or self.source_vocabulary == self.target_vocabulary,
            f"share_embeddings needs one vocabulary, but there are {self.source_vocabulary} source "
            f"and {self.target_vocabulary} target words.",
        )
        self._check(
            0 <= self.position_width < self.d_model,
            f"position_width is {self.position_width}, but must be 0 (added) or below d_model {self.d_model}.",
        )
        self._check(
            not self.position_width or self.positions in ("sinusoidal", "sinusoidal_halves", "learned"),
            f"positions {self.positions!r} cannot be concatenated; set position_width to 0.",
        )
        self._check(
            not (self.position_width and self.tie_output),
            "a tied output needs embeddings as wide as d_model; untie it, or set position_width to 0.",
        )
        self._check(
            self.positions != "rotary" or self.resolved_head_width % 2 == 0,
            f"rotary positions turn pairs of numbers, but a head is {self.resolved_head_width} wide; choose an even "
            "width.",
        )
        self._check(
            self.positions != "relative" or 4 <= self.relative_buckets < self.relative_max_distance,
            "relative positions need at least 4 buckets, and a relative_max_distance beyond their number.",
        )
        self._check(
            not self.relative_each_layer or self.positions == "relative",
            f"relative_each_layer needs positions 'relative', not {self.positions!r}.",
        )
        self._check(
            not self.closed_waves
            or (self.positions == "sinusoidal_halves" and (self.position_width or self.d_model) > 3),
            "closed_waves needs positions 'sinusoidal_halves', at least 4 wide.",
        )
        self._check(self.position_offset >= 0, "position_offset must not be negative.")
        self._check(self.position_offset <= 1000, "position_offset is beyond any use: at most 1,000.")
        self._check(self.pad_id != self.end_id, "pad_id and end_id must differ: the end would be masked as padding.")
        self._require_ids("pad_id", "end_id", size=min(self.source_vocabulary, self.target_vocabulary))
        self._require_ids("start_id", size=self.target_vocabulary)

    def layer_count(self, kind: str) -> int:
        """Return the number of layers with this kind of attention: "encoder", "decoder" or "cross"."""
        return self.encoder_layers if kind == "encoder" else self.decoder_layers

    @property
    def resolved_head_width(self) -> int:
        """Width of one head."""
        return self.head_width or self.d_model // self.heads

    @property
    def embedding_width(self) -> int:
        """Width of the token embedding; smaller than d_model if positions are concatenated."""
        return self.d_model - self.position_width


def _format_value(value: float) -> str:
    """Format a number for an error message."""
    if isinstance(value, int):
        return f"{value:,}" if abs(value) < 10**30 else "a number of more than 30 digits"
    return repr(value)


def _check_type(origin: str, name: str, value: Any, annotation: str) -> None:
    if annotation == "tuple[str, ...]":  # a list in JSON
        if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
            raise ConfigError(f"{origin}: {name} is {str(value)[:60]}, but must be a list of texts.")
        return
    allowed: tuple[type, ...] = ()
    for part in annotation.split("|"):
        type_name = part.strip()
        allowed += {"int": (int,), "float": (int, float), "bool": (bool,), "str": (str,)}.get(type_name, (type(None),))
    valid = isinstance(value, allowed) and not (isinstance(value, bool) and bool not in allowed)
    if not valid:
        raise ConfigError(f"{origin}: {name} is {value!r}, but must be {annotation.replace('|', 'or')}.")
