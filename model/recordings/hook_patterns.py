"""Attention of TransformerLens: an `ActivationCache`, or a dictionary with its names.

A name such as "blocks.3.attn.hook_pattern" contains the layer number, so a cache of some layers keeps their numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from headlight.model.recordings.recording import RecordingError
from headlight.model.records import MapKind

PATTERN_NAME = re.compile(r"(blocks|encoder|decoder)\.(\d+)\.(attn|cross_attn)\.hook_pattern")
KINDS: dict[tuple[str, str], MapKind] = {
    ("blocks", "attn"): "self",
    ("encoder", "attn"): "encoder",
    ("decoder", "attn"): "decoder",
    ("decoder", "cross_attn"): "cross",
}


def _get_names(value: Any) -> list[str]:
    names: Iterable[Any] = value.keys() if callable(getattr(value, "keys", None)) else ()
    return [name for name in names if isinstance(name, str)]


def has_hook_patterns(value: Any) -> bool:
    """Whether a value contains activations of TransformerLens, with or without attention."""
    return any(re.search(r"\.hook_\w+$", name) for name in _get_names(value))


def arrays_from_patterns(value: Any) -> dict[MapKind, list[Any]]:
    """Return the layers of each kind, indexed by layer number, with None for layers that are not in the cache."""
    results: dict[MapKind, list[Any]] = {}
    for name in _get_names(value):
        if match := PATTERN_NAME.fullmatch(name):
            layers = results.setdefault(KINDS[match[1], match[3]], [])
            number = int(match[2])
            layers += [None] * (number + 1 - len(layers))
            layers[number] = value[name]
    if not results:
        raise RecordingError(
            f"The cache holds {', '.join(_get_names(value)[:3])} and no hook_pattern. Run the model with "
            "run_with_cache(text), or with names_filter=lambda name: name.endswith('hook_pattern')."
        )
    return results
