"""Base of the text classifiers of the BERT family: fields, tensor names, classes.

Texts have one segment. If a model has segment embeddings, the first row is added to every position.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from headlight.model.checkpoints.reader import CONFIG
from headlight.model.checkpoints.storage import MissingTensorError, Weights
from headlight.model.core.encoder_classifier import EncoderClassifier
from headlight.model.decoding.generation_defaults import GenerationDefaults
from headlight.model.errors import CheckpointError, ConfigError
from headlight.model.families.family_reader import ConfigFields, FamilyReader
from headlight.model.text.languages import Languages

POSITIONS, WORDS, SEGMENTS = "position_embeddings", "word_embeddings", "token_type_embeddings"
MAX_NAME_LENGTH = 100  # characters of a class name
# BERT's names of a layer's parts, which RoBERTa shares.
LAYER = {
    "self_attention.query": "attention.self.query",
    "self_attention.key": "attention.self.key",
    "self_attention.value": "attention.self.value",
    "self_attention.output": "attention.output.dense",
    "around_self_attention.norm": "attention.output.LayerNorm",
    "feed_forward.wide": "intermediate.dense",
    "feed_forward.narrow": "output.dense",
    "around_feed_forward.norm": "output.LayerNorm",
}


class BertFamilyReader(FamilyReader):
    """Reader of a family of text classifiers. Folders of models for other tasks are rejected."""

    embedding_tables: Mapping[str, Sequence[str]] = {}
    architecture: str  # the text classifier of `transformers`
    tensor_prefix: str  # prefix of the encoder's tensor names
    stack = "encoder.layer"  # list of layers
    layer: Mapping[str, str] = LAYER  # our name of a layer's module → the folder's name
    embedding_projection = ""  # linear layer that widens embeddings, if they are narrower than the layers
    head_layer: str  # first linear layer of the classification head
    output_layer: str  # last linear layer
    # Derived tables, and the heads of other tasks.
    optional_tensors = (r".*position_ids", r".*token_type_ids", r"(cls|lm_head|vocab_\w+|roberta\.pooler)\..*")

    def build(self, config: Any) -> nn.Module:
        return EncoderClassifier(config)

    def fields(self, folder: Path, values: dict[str, Any], defaults: Mapping[str, Any]) -> ConfigFields:
        """Return the fields of `config.json`; raise a ConfigError for models that are not supported."""
        fields = ConfigFields(values, defaults, folder / CONFIG)
        architectures = [name for name in fields.get("architectures") or () if isinstance(name, str)]
        if architectures and self.architecture not in architectures:
            raise ConfigError(
                f"{folder}: contains a {architectures[0]}. Only text classifiers of this family are supported "
                f"({self.architecture}). Choose another model."
            )
        fields.require_neutral(
            position_embedding_type="absolute", is_decoder=False, add_cross_attention=False, is_encoder_decoder=False,
            pruned_heads={}, quantization_config=None,
        )  # fmt: skip
        return fields

    def complete_config(self, config: Any, store: Weights) -> Any:
        """Check the shapes of the main tensors before any is read; the configuration is already complete."""
        embedding = f"{self.tensor_prefix}.embeddings.{WORDS}.weight"
        output = f"{self.output_layer}.weight"
        embedding_width = config.embedding_width or config.d_model
        for name, rows, width in (
            (embedding, config.vocabulary, embedding_width),
            (output, len(config.classes), config.d_model),
        ):
            if name not in store:
                raise MissingTensorError(
                    f"{store.folder}: the weights lack {name}, so they are not those of a text classifier. "
                    "Choose another model, or download them again."
                )
            if store.shape(name) != (rows, width):
                raise CheckpointError(
                    f"{store.folder}: {name} has shape {list(store.shape(name))}, but {CONFIG} requires "
                    f"{[rows, width]}. Config and weights belong to different models: download both again."
                )
        return config

    def tensor_names(self, name: str) -> Sequence[str]:
        part, _, kind = name.rpartition(".")
        if name == "encoder.embedding.positions.table":
            return [f"{self.tensor_prefix}.embeddings.{POSITIONS}.weight"]
        if match := re.fullmatch(r"encoder\.layers\.(\d+)\.(.+)", part):
            stored_name = f"{self.tensor_prefix}.{self.stack}.{match[1]}.{self.layer[match[2]]}"
        else:
            stored_name = {
                "encoder.embedding.table": f"{self.tensor_prefix}.embeddings.{WORDS}",
                "encoder.embedding.norm": f"{self.tensor_prefix}.embeddings.LayerNorm",
                "encoder.embedding.widen": f"{self.tensor_prefix}.{self.embedding_projection}",
                "dense": self.head_layer,
                "verdict": self.output_layer,
            }[part]
        # Folders converted from TensorFlow have these names for the weights of norms.
        legacy_kind = {"weight": "gamma", "bias": "beta"}[kind]
        return [f"{stored_name}.{kind}", f"{stored_name}.{legacy_kind}"]

    def load_weight(self, store: Weights, name: str) -> Tensor:
        tensor = super().load_weight(store, name)
        segments = f"{self.tensor_prefix}.embeddings.{SEGMENTS}.weight"
        if name != "encoder.embedding.positions.table" or segments not in store:
            return tensor
        return tensor.float() + store.read(segments)[0].float()

    def generation_defaults(self, folder: Path, config: Any, languages: Languages) -> GenerationDefaults:
        """Return neutral defaults: a classifier generates no text."""
        return GenerationDefaults()


def class_fields(fields: ConfigFields) -> dict[str, Any]:
    """Return the class names, and whether the classes are mutually exclusive."""
    problem = fields.get("problem_type")
    if problem == "regression":
        fields.reject("problem_type is 'regression': the model predicts numbers, not classes")
    if problem not in (None, "single_label_classification", "multi_label_classification"):
        fields.reject(f"problem_type is {problem!r}, which is not supported")
    labels = fields.get("id2label")
    if labels is None:
        labels = {str(index): f"LABEL_{index}" for index in range(fields.integer("num_labels"))}
    if not isinstance(labels, dict) or sorted(labels) != sorted(map(str, range(len(labels)))) or not labels:
        fields.reject("id2label does not name classes with consecutive numbers from 0")
    names = [labels[str(index)] for index in range(len(labels))]
    if not all(isinstance(name, str | int) and str(name).strip() for name in names):
        fields.reject("id2label has a class without a name")
    exclusive = len(names) > 1 and problem != "multi_label_classification"
    return {"classes": tuple(str(name).strip()[:MAX_NAME_LENGTH] for name in names), "exclusive": exclusive}
