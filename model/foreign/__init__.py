"""Model families: one module per family maps configuration, weights and vocabulary.

A family is a file here with a function `reader()` and a line in `FAMILIES`. No code of a folder is ever run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# The "model_type" of config.json → the module that reads such folders, imported on first use.
FAMILIES: dict[str, str] = {
    "marian": "headlight.model.foreign.marian",
    "m2m_100": "headlight.model.foreign.m2m",
    "bart": "headlight.model.foreign.bart",
    "mbart": "headlight.model.foreign.mbart",
    "pegasus": "headlight.model.foreign.pegasus",
    "t5": "headlight.model.foreign.t5",
    "mt5": "headlight.model.foreign.t5",
    "umt5": "headlight.model.foreign.t5",
    "bert": "headlight.model.foreign.bert",
    "distilbert": "headlight.model.foreign.distilbert",
    "roberta": "headlight.model.foreign.roberta",
}
# OPUS-MT's first folders, of spring 2020, call themselves BART, of which Marian's models then were a variant.
FORMERLY: dict[tuple[str, str], str] = {("bart", "MarianMTModel"): "marian"}
CLASSIFIERS = ("bert", "distilbert", "roberta")  # those that judge texts; the others write


def type_of(config: Mapping[str, Any]) -> Any:
    """The "model_type" of a `config.json`; old names are mapped to current ones."""
    family = config.get("model_type")
    formerly = [FORMERLY[key] for each in _held(config) if (key := (str(family), each)) in FORMERLY]
    return formerly[0] if formerly else family


def _held(config: Mapping[str, Any]) -> list[str]:
    named = config.get("architectures")
    return [each for each in named if isinstance(each, str)] if isinstance(named, list) else []


def family_of(config: Mapping[str, Any]) -> str:
    """The type of a `config.json`; of a classifier's family that holds something else, the name of that."""
    family, held = type_of(config), _held(config)
    family = family if isinstance(family, str) else ""
    if family in CLASSIFIERS and held and not any(each.endswith("ForSequenceClassification") for each in held):
        return held[0]
    return family
