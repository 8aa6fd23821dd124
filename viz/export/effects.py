"""Effects for the exports: a map in nats instead of weights, as in the Effect view."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from headlight.model.experiments.effects import effect_maps
from headlight.model.measures.map_reduction import drop_special, mean_map, merge_words
from headlight.model.measures.trace_records import Float64Array
from headlight.model.records import AttentionMap, Translation, read_only
from headlight.viz.request_fields import Selection
from headlight.viz.service.service import Service


def shows_effects(selection: Selection) -> bool:
    """Whether the selection shows effects. A maximum over heads has none, so it shows weights."""
    return selection.view == "effect" and selection.head != "max"


def effect_map(service: Service, translation: Translation, selection: Selection) -> AttentionMap:
    """Return the effects of the selected heads on the words of the rows, summed over heads and over merged tokens."""
    maps: Float64Array = service.run_on_translator(translation.request.model, effect_maps, translation, selection.kind)
    layers, heads = (
        range(count) if isinstance(index, str) else [index]
        for index, count in zip((selection.layer, selection.head), maps.shape[:2], strict=True)
    )
    single = [translation.attention_map(selection.kind, layer, head) for layer in layers for head in heads]
    weights = maps[np.ix_(list(layers), list(heads))].sum(axis=(0, 1)).astype(np.float32)
    result = replace(single[0] if len(single) == 1 else mean_map(single), weights=read_only(weights))
    if selection.words:
        result = merge_words(result, sum_rows=True)
    if not selection.special:
        result, _ = drop_special(result, rescale=False)
    return result
