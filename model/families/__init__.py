"""Third-party model families. The module of a family maps its configuration, weights and vocabulary to ours.

Each module has a function `reader()` and an entry in `FAMILIES`. Code in a model folder is never executed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# The "model_type" of config.json → the module that reads such folders, imported on first use.
FAMILIES: dict[str, str] = {
    "marian": "headlight.model.families.marian",
    "m2m_100": "headlight.model.families.m2m",
    "bart": "headlight.model.families.bart",
    "mbart": "headlight.model.families.mbart",
    "pegasus": "headlight.model.families.pegasus",
    "t5": "headlight.model.families.t5",
    "mt5": "headlight.model.families.t5",
    "umt5": "headlight.model.families.t5",
    "bert": "headlight.model.families.bert",
    "distilbert": "headlight.model.families.distilbert",
    "roberta": "headlight.model.families.roberta",
    "electra": "headlight.model.families.electra",
    "albert": "headlight.model.families.albert",
    "deberta-v2": "headlight.model.families.deberta",
}
# The first OPUS-MT folders (spring 2020) have the type "bart", of which Marian was a variant at that time.
RENAMED_TYPES: dict[tuple[str, str], str] = {("bart", "MarianMTModel"): "marian"}
# Families of text classifiers; all other families generate text.
CLASSIFIERS = ("bert", "distilbert", "roberta", "electra", "albert", "deberta-v2")


def model_type(config: Mapping[str, Any]) -> Any:
    """Return the "model_type" of a `config.json`, with old names mapped to current ones."""
    family = config.get("model_type")
    renamed = [RENAMED_TYPES[key] for name in _architectures(config) if (key := (str(family), name)) in RENAMED_TYPES]
    return renamed[0] if renamed else family


def _architectures(config: Mapping[str, Any]) -> list[str]:
    names = config.get("architectures")
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def family_name(config: Mapping[str, Any]) -> str:
    """Return the family of a `config.json`, or its architecture if a BERT-like model is not a text classifier."""
    family, architectures = model_type(config), _architectures(config)
    family = family if isinstance(family, str) else ""
    if (
        family in CLASSIFIERS
        and architectures
        and not any(name.endswith("ForSequenceClassification") for name in architectures)
    ):
        return architectures[0]
    return family
