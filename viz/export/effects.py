"""Maps of effects for the exports, in nats, as in the Effect view of the page."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from headlight.model.experiments.account import find_likeliest_rival
from headlight.model.experiments.effects import LIKELIEST, Rival, make_effect_maps
from headlight.model.measures.map_reduction import drop_special, mean_map, merge_words
from headlight.model.measures.trace_records import Float64Array
from headlight.model.records import AttentionMap, Translation, read_only
from headlight.viz.errors import PageError
from headlight.viz.figure_phrases import phrase
from headlight.viz.request_fields import IndexOrReduction, Selection
from headlight.viz.service.service import Service
from headlight.viz.token_labels import make_visible, truncate


def shows_effects(selection: Selection) -> bool:
    """Whether the selection shows effects. Effects have no maximum over heads, so that view shows weights."""
    return selection.view == "effect" and selection.head != "max"


def effects_suffix(selection: Selection) -> str:
    """Return the part of a file name that describes its effects; words are counted from one."""
    position = chosen_word(selection)
    word = "" if position is None else f"-on-word-{position + 1}"
    return f"-effects{word}{'-on-lead' if selection.lead else ''}"


def chosen_word(selection: Selection) -> int | None:
    """Return the target position for which encoder effects are shown; None: all positions."""
    return selection.word if selection.kind == "encoder" else None


def selected_rival(selection: Selection) -> Rival:
    """Return the rival if effects on the lead are selected: the chosen token, else the likeliest other token."""
    if not selection.lead:
        return None
    position, token_id = selection.rival or (None, None)
    return LIKELIEST if token_id is None or position != chosen_word(selection) else token_id


def effect_sentence(service: Service, translation: Translation, selection: Selection, language: str) -> str:
    """Return the caption that names the target of a picture's effects: a word, its lead over a rival, or all words."""
    position = chosen_word(selection)
    subject = "word" if position is not None else "encoder" if selection.kind == "encoder" else "row"
    names = {}
    if position is not None:
        names["word"] = make_visible(translation.target_tokens[position].text.strip())
        rival = selected_rival(selection)
        token_id = rival if isinstance(rival, int) else find_likeliest_rival(translation, position)
        tokenizer = service.model_info(translation.request.model).target_tokenizer
        names["rival"] = truncate(make_visible(tokenizer.label(token_id).strip()))
    return phrase(f"export_effect_on_{subject}{'_lead' if selection.lead else ''}", language, **names)


def effect_map(service: Service, translation: Translation, selection: Selection) -> AttentionMap:
    """Return the effects of the selected heads, `[query, key]`, summed over heads and over merged tokens."""
    layers, heads = selected_heads(translation, selection)
    rival, position = selected_rival(selection), chosen_word(selection)
    maps: Float64Array = service.run_on_translator(  # [layer, head, query, key]
        translation.request.model, make_effect_maps, translation, selection.kind, rival, position
    )
    single = [translation.attention_map(selection.kind, layer, head) for layer in layers for head in heads]
    weights = maps[layers.start : layers.stop, heads.start : heads.stop].sum(axis=(0, 1)).astype(np.float32)
    result = replace(single[0] if len(single) == 1 else mean_map(single), weights=read_only(weights))
    if selection.words:
        result = merge_words(result, sum_rows=True)
    if not selection.special:
        result, _ = drop_special(result, rescale=False)
    return result


def selected_heads(translation: Translation, selection: Selection) -> tuple[range, range]:
    """Return the layers and the heads of a selection: one index, or all indices for a reduction."""
    layers, heads = translation.attention.of(selection.kind).shape[:2]
    return _index_range("layer", selection.layer, layers), _index_range("head", selection.head, heads)


def _index_range(name: str, index: IndexOrReduction, count: int) -> range:
    if isinstance(index, str):
        return range(count)
    if index >= count:
        raise PageError(name, "not_whole", {"name": name, "low": 0, "high": count - 1, "given": index})
    return range(index, index + 1)
