"""Constants that the engine in the browser shares with Python: Unicode ranges, word lists, thresholds of measures."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable
from typing import Any

from headlight.model.intervention_records import ACTIONS, KINDS, MAX_INTERVENTIONS
from headlight.model.measures import chrf, roles, statistics
from headlight.model.text import adaptation, function_words, segmentation
from headlight.model.text.simplified_characters import SIMPLIFIED, TRADITIONAL
from headlight.model.translate.opening import CLEAR
from headlight.viz import token_labels
from headlight.viz.request_fields import REQUEST_FIELDS
from headlight.viz.service.language_hints import TOY
from headlight.viz.settings import Settings
from headlight.viz.static_site.evidence_tables import evidence_tables
from headlight.viz.static_site.figure_tables import figure_tables

RIGHT_TO_LEFT = ("R", "AL", "AN")  # classes of letters and numbers

Ranges = list[tuple[int, int]]  # first and last code point


def engine_tables() -> dict[str, Any]:
    """Return the tables of the engine's script."""
    return {
        "squares": token_labels.EAST_ASIAN,
        "wide": code_ranges(lambda character: unicodedata.east_asian_width(character) in "WF"),
        "digits": code_ranges(str.isdigit),
        "decimals": code_ranges(str.isdecimal),
        "labels": _label_tables(),
        "scripts": {
            "spaceless": segmentation.SPACELESS,
            "katakana": segmentation.KATAKANA,
            "skin_tones": segmentation.SKIN_TONES,
            "flags": segmentation.FLAG_LETTERS,
        },
        "joiners": {
            "word": segmentation.WORD_JOINERS,
            "number": segmentation.NUMBER_JOINERS,
            "iteration": segmentation.ITERATION_MARKS,
        },
        "capitals": {"words": adaptation.MIN_CAPITAL_WORDS, "letters": adaptation.MIN_CAPITAL_LETTERS},
        "chinese": {
            "traditional": TRADITIONAL,
            "simplified": SIMPLIFIED,
            "ambiguous": "".join(sorted(adaptation.ALSO_SIMPLIFIED)),
        },
        "function_words": {language: text.split() for language, text in function_words.FUNCTION_WORDS.items()},
        "roles": _role_tables(),
        "measures": {name: [row.unit, row.kinds] for name, row in statistics.STATISTICS.items()},
        "max_diagonal_distance": statistics.MAX_DIAGONAL_DISTANCE,
        "clear": CLEAR,
        "chrf": {"length": chrf.MAX_LENGTH, "beta": chrf.BETA},
        "actions": ACTIONS,
        "kinds": KINDS,
        "max_interventions": MAX_INTERVENTIONS,
        "toy": TOY,
        "fields": [row.as_json(Settings()) for row in REQUEST_FIELDS],
        "figures": figure_tables(),
        **evidence_tables(),
    }


def code_ranges(has_property: Callable[[str], Any]) -> Ranges:
    """Return the ranges of the code points with a property."""
    ranges: Ranges = []
    for code in range(sys.maxunicode + 1):
        if not has_property(chr(code)):
            continue
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1] = (ranges[-1][0], code)
        else:
            ranges.append((code, code))
    return ranges


def _label_tables() -> dict[str, Any]:
    return {
        "columns": token_labels.MAX_COLUMNS,
        "accents": token_labels.MAX_ACCENTS,
        "dot": token_labels.CONTINUATION_MARK,
        "empty": token_labels.EMPTY,
        "signs": token_labels.VISIBLE_SIGNS,
        "joining": token_labels.JOINING_CHARACTERS,
        "combining": code_ranges(unicodedata.combining),
        "right_to_left": code_ranges(lambda character: unicodedata.bidirectional(character) in RIGHT_TO_LEFT),
    }


def _role_tables() -> dict[str, Any]:
    return {
        "names": roles.ROLES,
        "wide": roles.WIDE_ROLES,
        "neighbourhood": roles.NEIGHBOURHOOD,
        "min_share": roles.MIN_SHARE,
        "min_excess": roles.MIN_EXCESS,
        "min_share_wide": roles.MIN_SHARE_WIDE,
        "min_excess_wide": roles.MIN_EXCESS_WIDE,
        "min_coverage": roles.MIN_COVERAGE,
    }
