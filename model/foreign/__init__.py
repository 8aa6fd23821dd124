"""Third-party models: one file a family, which maps configuration, weights and vocabulary to ours.

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
CLASSIFIERS = ("bert", "distilbert", "roberta")  # those that judge texts; the others write


def family_of(config: Mapping[str, Any]) -> str:
    """The "model_type" of a `config.json`; of a classifier's family that holds something else, the name of that."""
    family, named = config.get("model_type"), config.get("architectures")
    family = family if isinstance(family, str) else ""
    held = [each for each in named if isinstance(each, str)] if isinstance(named, list) else []
    if family in CLASSIFIERS and held and not any(each.endswith("ForSequenceClassification") for each in held):
        return held[0]
    return family
