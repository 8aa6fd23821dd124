"""Model families: one module per family maps configuration, weights and vocabulary.

A family is a file here with a function `reader()` and a line in `FAMILIES`. No code of a folder is ever run.
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
}
# OPUS-MT's first folders, of spring 2020, call themselves BART, of which Marian's models then were a variant.
RENAMED_TYPES: dict[tuple[str, str], str] = {("bart", "MarianMTModel"): "marian"}
CLASSIFIERS = ("bert", "distilbert", "roberta")  # those that judge texts; the others write


def model_type(config: Mapping[str, Any]) -> Any:
    """The "model_type" of a `config.json`; old names are mapped to current ones."""
    family = config.get("model_type")
    formerly = [RENAMED_TYPES[key] for each in _architectures(config) if (key := (str(family), each)) in RENAMED_TYPES]
    return formerly[0] if formerly else family


def _architectures(config: Mapping[str, Any]) -> list[str]:
    named = config.get("architectures")
    return [each for each in named if isinstance(each, str)] if isinstance(named, list) else []


def family_name(config: Mapping[str, Any]) -> str:
    """The type of a `config.json`; of a classifier's family that holds something else, the name of that."""
    family, held = model_type(config), _architectures(config)
    family = family if isinstance(family, str) else ""
    if family in CLASSIFIERS and held and not any(each.endswith("ForSequenceClassification") for each in held):
        return held[0]
    return family
