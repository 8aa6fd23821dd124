"""Recipes: JSON files that determine training runs."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from headlight.model.core.classifier_config import ClassifierConfig
from headlight.model.core.config import TransformerConfig
from headlight.model.errors import ConfigError, TrainingError
from headlight.model.training.corpora import Cleaning, CorpusSpec
from headlight.model.training.noise import NoiseSettings

TASKS = ("translation", "classification")
SCHEDULES = ("inverse_square_root", "cosine", "constant")
Section = TypeVar("Section")


@dataclass(frozen=True, kw_only=True)
class TokenizerSettings:
    """Settings of the tokenizers."""

    vocabulary: int = 10_000  # entries per vocabulary
    shared: bool = True  # one vocabulary for source and target
    minimum_frequency: int = 2  # pairs of pieces below this frequency are not merged
    segmented: bool = False  # learn merges only within the words of a segmenter, for scripts without spaces
    source_dropout: float = 0.0  # BPE dropout on the source, redrawn each epoch

    def __post_init__(self) -> None:
        _require(0.0 <= self.source_dropout < 1.0, "tokenizer.source_dropout must be in [0, 1).")


@dataclass(frozen=True, kw_only=True)
class Optimisation:
    """Settings of the optimiser and the learning rate."""

    schedule: str = "inverse_square_root"
    peak_rate: float = 2e-3
    warmup_steps: int = 1500
    cool_down_steps: int = 0  # number of last steps, in which the rate falls to zero
    beta_1: float = 0.9
    beta_2: float = 0.98
    epsilon: float = 1e-9
    weight_decay: float = 0.0  # above 0: AdamW
    clip: float = 1.0  # maximum gradient norm; 0: no clipping
    label_smoothing: float = 0.1
    ema_decay: float = 0.999  # decay of the moving average of the weights, which is exported; 0: no average

    def __post_init__(self) -> None:
        _require(self.schedule in SCHEDULES, f"optimisation.schedule must be one of: {', '.join(SCHEDULES)}.")
        for name in ("peak_rate", "epsilon"):
            _require(getattr(self, name) > 0, f"optimisation.{name} must be above 0.")
        for name in ("beta_1", "beta_2", "label_smoothing", "ema_decay"):
            _require(0.0 <= getattr(self, name) < 1.0, f"optimisation.{name} must be in [0, 1).")
        for name in ("warmup_steps", "cool_down_steps", "weight_decay", "clip"):
            _require(getattr(self, name) >= 0, f"optimisation.{name} must not be negative.")


@dataclass(frozen=True, kw_only=True)
class Batching:
    """Batch sizes in tokens."""

    batch_tokens: int = 6000  # source and target tokens, including padding
    accumulate: int = 1  # batches per step, whose gradients are accumulated
    max_sentence_tokens: int = 150  # longer pairs are dropped

    def __post_init__(self) -> None:
        for name in ("batch_tokens", "accumulate", "max_sentence_tokens"):
            _require(getattr(self, name) > 0, f"batching.{name} must be above 0.")
        _require(
            self.batch_tokens >= 2 * self.max_sentence_tokens,
            f"batching.batch_tokens is {self.batch_tokens}, too few for one pair of {self.max_sentence_tokens} tokens "
            "a side. Raise it, or lower max_sentence_tokens.",
        )


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A recipe. Missing fields of the file get defaults, and unknown fields are errors."""

    name: str
    task: str = "translation"
    source_language: str
    target_language: str = ""  # empty for a classifier
    corpora: tuple[CorpusSpec, ...]
    validation: tuple[CorpusSpec, ...]
    cleaning: Cleaning = field(default_factory=Cleaning)
    noise: NoiseSettings = field(default_factory=NoiseSettings)
    tokenizer: TokenizerSettings = field(default_factory=TokenizerSettings)
    # Fields of TransformerConfig or ClassifierConfig, except those that the tokenizers determine.
    model: Mapping[str, Any] = field(default_factory=dict)
    optimisation: Optimisation = field(default_factory=Optimisation)
    batching: Batching = field(default_factory=Batching)
    start: str = ""  # model folder with the initial weights and vocabularies; empty: random weights
    new_source: bool = False  # with `start`: a new source vocabulary with new vectors
    new_target: bool = False  # with `start`: a new target vocabulary with new vectors
    vectors_of_pieces: bool = False  # new vectors are means of the vectors of old pieces, for a language of `start`
    vectors_from: str = ""  # translator folder with the initial word vectors; other weights are random
    seed: int = 1
    steps: int = 100_000  # over all sessions
    validate_every: int = 1000  # steps between validations
    patience: int = 0  # stop after this many validations without improvement; 0: never
    description: str = ""

    def __post_init__(self) -> None:
        _require(bool(self.corpora), "corpora is empty. Name at least one.")
        _require(self.seed >= 0 and self.steps > 0, "seed must not be negative, steps must be above 0.")
        _require(self.validate_every > 0 and self.patience >= 0, "validate_every must be above 0, patience at least 0.")
        _require(
            self.optimisation.cool_down_steps <= self.steps,
            "optimisation.cool_down_steps must not exceed steps.",
        )
        _require(
            not (self.new_source or self.new_target) or (bool(self.start) and not self.tokenizer.shared),
            "new_source and new_target need a start, and tokenizer.shared false: the new side has a separate "
            "vocabulary.",
        )
        _require(
            not self.vectors_of_pieces or self.new_source or self.new_target,
            "vectors_of_pieces is for a new vocabulary: set new_source or new_target, too.",
        )
        _require(
            not (self.vectors_from and self.start),
            "start loads all weights, vectors_from only the word vectors. Set one of them.",
        )
        _require(self.task in TASKS, f"task must be one of: {', '.join(TASKS)}.")
        derived_fields = {
            "vocabulary", "source_vocabulary", "target_vocabulary", "pad_id", "start_id", "end_id", "share_embeddings"
        }  # fmt: skip
        conflicts = sorted(derived_fields & set(self.model))
        _require(not conflicts, f"model.{', model.'.join(conflicts)}: the tokenizer decides that. Remove it.")
        if self.task == "translation":
            _require(bool(self.target_language), "target_language is missing: name the language to translate into.")
            _require(not self.noise.left_out, "noise.left_out is for classification; set it to 0.")
            self.model_config(source_vocabulary=1000, target_vocabulary=1000)
        else:
            _require(self.tokenizer.shared, "tokenizer.shared must be true: labels have no vocabulary.")
            _require(not self.tokenizer.source_dropout, "tokenizer.source_dropout is for translation; set it to 0.")
            _require(not self.noise.share, "noise.share is for translation; set it to 0.")
            self.classifier_config(vocabulary=1000)

    def model_config(self, *, source_vocabulary: int, target_vocabulary: int, **ids: Any) -> TransformerConfig:
        """Return the configuration of the model, with vocabularies of these sizes."""
        try:
            return TransformerConfig(
                source_vocabulary=source_vocabulary,
                target_vocabulary=target_vocabulary,
                share_embeddings=self.tokenizer.shared,
                **ids,
                **self.model,
            )
        except (ConfigError, TypeError) as error:
            raise TrainingError(f"model: {error} Known fields are those of model/core/config.py.") from error

    def classifier_config(self, *, vocabulary: int, **ids: Any) -> ClassifierConfig:
        """Return the configuration of the classifier, with a vocabulary of this size."""
        try:
            return ClassifierConfig(vocabulary=vocabulary, **ids, **self.model)
        except (ConfigError, TypeError) as error:
            raise TrainingError(f"model: {error} Known fields are those of model/core/config.py.") from error

    def to_json(self) -> str:
        """Serialise all fields, including defaults, as indented JSON."""
        return json.dumps(dataclasses.asdict(self), indent=2, ensure_ascii=False) + "\n"


def load_recipe(path: Path) -> Recipe:
    """Read a recipe file."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise TrainingError(f"{path} cannot be read: {error.strerror}. Recipes are in assets/recipes/.") from error
    return recipe_from_json(text, origin=str(path))


def recipe_from_json(text: str, *, origin: str = "recipe") -> Recipe:
    """Parse and validate a recipe. `origin`: name of the file in error messages."""
    try:
        values = json.loads(text)
    except json.JSONDecodeError as error:
        raise TrainingError(f"{origin} is not JSON: {error}.") from error
    try:
        return _parse_section(Recipe, values, "recipe")
    except TrainingError as error:
        raise TrainingError(f"{origin}: {error}") from error


def _parse_section(kind: type[Section], values: Any, path: str) -> Section:
    """Create a dataclass from a JSON object. Wrong types, unknown fields and missing fields raise a TrainingError."""
    _require(isinstance(values, dict), f"{path} is {values!r}, but must be an object of fields.")
    fields = {spec.name: spec for spec in dataclasses.fields(kind)}  # type: ignore[arg-type]
    unknown = sorted(set(values) - set(fields))
    _require(not unknown, f"{path} has unknown field(s) {', '.join(unknown)}. Known fields are: {', '.join(fields)}.")
    missing = [
        name
        for name, spec in fields.items()
        if name not in values and spec.default is dataclasses.MISSING and spec.default_factory is dataclasses.MISSING
    ]
    _require(not missing, f"{path} lacks the field(s) {', '.join(missing)}. Add them.")
    types = get_type_hints(kind)
    return kind(**{name: _parse_value(types[name], value, f"{path}.{name}") for name, value in values.items()})


def _parse_value(kind: Any, value: Any, path: str) -> Any:
    if dataclasses.is_dataclass(kind):
        return _parse_section(kind, value, path)  # type: ignore[arg-type]
    if get_origin(kind) is tuple:
        _require(isinstance(value, list), f"{path} is {value!r}, but must be a list.")
        return tuple(_parse_value(get_args(kind)[0], item, f"{path}[{number}]") for number, item in enumerate(value))
    if get_origin(kind) is not None and issubclass(get_origin(kind), Mapping):
        _require(isinstance(value, dict), f"{path} is {value!r}, but must be an object.")
        return value
    allowed = get_args(kind) if isinstance(kind, UnionType) else (kind,)
    if float in allowed and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    _require(
        type(value) in allowed, f"{path} is {value!r}, but must be {' or '.join(_type_name(item) for item in allowed)}."
    )
    return value


def _type_name(kind: Any) -> str:
    return "null" if kind is type(None) else {"int": "a whole number", "str": "text"}.get(kind.__name__, kind.__name__)


def _require(condition: bool, complaint: str) -> None:
    if not condition:
        raise TrainingError(complaint)
