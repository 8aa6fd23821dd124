"""Published configurations of classifiers: their `config.json` gives our configuration and a model of the same size.

Sources: huggingface.co/NAME/blob/main/config.json of each NAME below; only fields, without weights and
vocabularies.
"""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch

from headlight.model.checkpoints.reader import FolderReader
from headlight.model.core.classifier_config import EncoderClassifierConfig
from headlight.model.core.encoder_classifier import EncoderClassifier
from headlight.model.errors import ConfigError
from headlight.model.families import FAMILIES, family_name

BASE = {
    "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072,
    "hidden_act": "gelu", "attention_probs_dropout_prob": 0.1, "hidden_dropout_prob": 0.1,
}  # fmt: skip
BERT = BASE | {
    "model_type": "bert", "architectures": ["BertForSequenceClassification"], "max_position_embeddings": 512,
    "type_vocab_size": 2, "layer_norm_eps": 1e-12, "pad_token_id": 0,
}  # fmt: skip
ROBERTA = BASE | {
    "model_type": "roberta", "architectures": ["RobertaForSequenceClassification"], "max_position_embeddings": 514,
    "type_vocab_size": 1, "layer_norm_eps": 1e-5, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2,
    "position_embedding_type": "absolute", "vocab_size": 50265,
}  # fmt: skip
FEELINGS = (
    "admiration", "amusement", "anger", "annoyance", "approval", "caring", "confusion", "curiosity", "desire",
    "disappointment", "disapproval", "disgust", "embarrassment", "excitement", "fear", "gratitude", "grief", "joy",
    "love", "nervousness", "optimism", "pride", "realization", "relief", "remorse", "sadness", "surprise", "neutral",
)  # fmt: skip


def id2label(*classes: str) -> dict[str, Any]:
    return {"id2label": {str(index): name for index, name in enumerate(classes)}}


# Name: (fields of config.json, expected fields of our configuration, millions of parameters)
PUBLISHED: dict[str, tuple[dict[str, Any], dict[str, Any], int]] = {
    "distilbert/distilbert-base-uncased-finetuned-sst-2-english": (
        {
            "model_type": "distilbert", "architectures": ["DistilBertForSequenceClassification"], "activation": "gelu",
            "dim": 768, "hidden_dim": 3072, "n_heads": 12, "n_layers": 6, "max_position_embeddings": 512,
            "pad_token_id": 0, "sinusoidal_pos_embds": False, "tie_weights_": True, "vocab_size": 30522,
        } | id2label("NEGATIVE", "POSITIVE"),
        {"classes": ("NEGATIVE", "POSITIVE"), "layers": 6, "head_activation": "relu", "max_length": 512},
        66,
    ),
    "nlptown/bert-base-multilingual-uncased-sentiment": (
        BERT | {"vocab_size": 105879} | id2label("1 star", "2 stars", "3 stars", "4 stars", "5 stars"),
        {"classes": ("1 star", "2 stars", "3 stars", "4 stars", "5 stars"), "exclusive": True, "norm_epsilon": 1e-12},
        167,
    ),
    "cross-encoder/ms-marco-MiniLM-L6-v2": (
        BERT
        | {
            "vocab_size": 30522, "hidden_size": 384, "num_hidden_layers": 6, "intermediate_size": 1536,
        } | id2label("LABEL_0"),
        {"classes": ("LABEL_0",), "exclusive": False, "d_model": 384},
        22,
    ),
    "cardiffnlp/twitter-roberta-base-sentiment-latest": (
        ROBERTA | id2label("negative", "neutral", "positive"),
        {"position_offset": 2, "max_length": 512, "head_activation": "tanh", "norm_epsilon": 1e-5, "pad_id": 1},
        124,
    ),
    "SamLowe/roberta-base-go_emotions": (
        ROBERTA | {"problem_type": "multi_label_classification"} | id2label(*FEELINGS),
        {"classes": FEELINGS, "exclusive": False},
        124,
    ),
}  # fmt: skip


def read_config(folder: Path, fields: dict[str, Any]) -> Any:
    """Read a configuration with the family's reader, with a vocabulary of the special tokens and one word."""
    (folder / "config.json").write_text(json.dumps(fields))
    (folder / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nword\n")
    (folder / "vocab.json").write_text(json.dumps({"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3}))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    reader: FolderReader = import_module(FAMILIES[fields["model_type"]]).reader()
    return reader.config(folder, fields)


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_config_gives_model_of_same_size(tmp_path: Path, name: str) -> None:
    fields, expected, millions = PUBLISHED[name]
    config = read_config(tmp_path, fields)
    assert isinstance(config, EncoderClassifierConfig)
    assert {key: getattr(config, key) for key in expected} == expected
    with torch.device("meta"):
        model = EncoderClassifier(config)
    assert model.parameter_count() // 10**6 == millions


@pytest.mark.parametrize(
    ("family", "architecture"),
    [("bert", "BertForMaskedLM"), ("distilbert", "DistilBertForMaskedLM"), ("roberta", "RobertaForMaskedLM")],
)  # google-bert/bert-base-uncased, distilbert/distilbert-base-uncased, FacebookAI/roberta-base
def test_masked_language_model_raises(tmp_path: Path, family: str, architecture: str) -> None:
    fields = {"model_type": family, "architectures": [architecture]}
    assert family_name(fields) == architecture  # rejected before the download starts
    with pytest.raises(
        ConfigError, match=f"contains a {architecture}. Only text classifiers of this family are supported"
    ):
        read_config(tmp_path, fields)
