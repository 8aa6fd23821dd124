"""Exports: one map as CSV or picture, all heads as a picture, all maps as NPZ or JSON, the page as HTML."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from headlight.model.checkpoints.formats import escape_formula, to_json, to_npz
from headlight.model.measures.map_reduction import drop_special, maximum, mean_map, merge_words
from headlight.model.records import AttentionMap, Translation
from headlight.viz.export.effects import effect_map, effect_sentence, effects_suffix, selected_heads, shows_effects
from headlight.viz.export.pictures import map_figure, wall_figure
from headlight.viz.export.standalone import standalone_page
from headlight.viz.field_values import check_choice
from headlight.viz.figure_phrases import LANGUAGES
from headlight.viz.request_fields import Selection, parse_selection
from headlight.viz.service.model_json import answer_json
from headlight.viz.service.service import Service
from headlight.viz.theme import THEMES
from headlight.viz.token_labels import row_labels, token_labels

WALL_PREFIX = "wall_"  # prefix of the formats with all heads
PICTURES = ("png", "svg", "wall_png", "wall_svg")
BYTE_ORDER_MARK = "\ufeff"  # makes spreadsheets read a CSV as UTF-8


def selected_map(translation: Translation, selection: Selection) -> AttentionMap:
    """Return the selected head, average or maximum, with the page's options for words and special tokens."""
    layers, heads = selected_heads(translation, selection)
    maps = [translation.attention_map(selection.kind, layer, head) for layer in layers for head in heads]
    combine = maximum if selection.head == "max" else mean_map
    result = maps[0] if len(maps) == 1 else combine(maps)
    if selection.words:
        result = merge_words(result)
    if not selection.special:
        result, _ = drop_special(result, rescale=selection.rescale and selection.head != "max")
    return result


def to_data_frame(attention_map: AttentionMap) -> pd.DataFrame:
    """Return a map as a table with token labels; masked cells are NaN."""
    weights = np.where(attention_map.allowed, attention_map.weights, np.nan)
    rows = [label.row_name for label in row_labels(attention_map)]
    columns = [label.full for label in token_labels(attention_map.columns)]
    return pd.DataFrame(weights, index=rows, columns=columns)


def map_csv(attention_map: AttentionMap) -> bytes:
    """Return a map as CSV. Labels that a spreadsheet would run as formulas are escaped."""
    return _to_csv(_escape_formulas(to_data_frame(attention_map)))


def comparison_csv(first: AttentionMap, second: AttentionMap) -> bytes:
    """Return the tables A, B and A − B as one CSV, with their names in the first column."""
    first_table, second_table = _escape_formulas(to_data_frame(first)), _escape_formulas(to_data_frame(second))
    # Subtract by index, because two tokens can have the same label.
    difference = pd.DataFrame(
        first_table.to_numpy() - second_table.to_numpy(), index=first_table.index, columns=first_table.columns
    )
    return _to_csv(pd.concat([first_table, second_table, difference], keys=["A", "B", "A − B"]))


def _escape_formulas(table: pd.DataFrame) -> pd.DataFrame:
    rows, columns = ([escape_formula(name) for name in names] for names in (table.index, table.columns))
    return table.set_axis(rows).set_axis(columns, axis="columns")


def _to_csv(table: pd.DataFrame) -> bytes:
    text: str = table.to_csv(float_format="%.6f", lineterminator="\n")
    return (BYTE_ORDER_MARK + text).encode()


def pinned_map(translation: Translation, selection: Selection) -> AttentionMap | None:
    """Return the map of head A, the pinned head, if two heads are compared, else None. The selected head is B."""
    other = pinned_selection(selection)
    return selected_map(translation, other) if other else None


def pinned_selection(selection: Selection) -> Selection | None:
    """Return the selection with head A, the pinned head, if two heads are compared, else None."""
    if not is_comparing(selection) or selection.pinned is None:
        return None
    layer, head = selection.pinned
    return replace(selection, layer=layer, head=head)


def is_comparing(selection: Selection) -> bool:
    """Whether the selection compares two heads."""
    return selection.pinned is not None and selection.pinned != (selection.layer, selection.head)


class Exporter:
    """Creates the files of the export menu on the server."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self._writers: dict[str, Callable[[Translation, Selection, str], bytes]] = {
            "csv": lambda translation, selection, _: self._selected_csv(translation, selection),
            "npz": lambda translation, *_: to_npz(translation),
            "json": lambda translation, *_: to_json(translation),
            "html": lambda translation, selection, language: standalone_page(
                answer_json(self.service, translation), selection, language
            ),
        }

    def export(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return a file as base64, or a figure that the browser saves as a picture.

        `values` are `form`, `request`, `selection`, `theme` and `language`. Invalid values raise a `PageError`.
        """
        form = check_choice("form", values.get("form"), choices=(*self._writers, *PICTURES))
        theme = check_choice("theme", values.get("theme"), choices=tuple(THEMES))
        language = check_choice("language", values.get("language"), choices=LANGUAGES)
        request_values = values.get("request")
        request = self.service.check(request_values)
        selection_values = values.get("selection")
        settings = self.service.settings
        selection = parse_selection(selection_values if isinstance(selection_values, dict) else {}, settings)
        translation = self.service.translate(request)
        name = file_name(selection, form)
        if form in self._writers:
            content = self._writers[form](translation, selection, language)
            return {"name": name, "content": base64.b64encode(content).decode("ascii")}
        model = request.model or self.service.default
        if form.startswith(WALL_PREFIX):
            figure = wall_figure(translation, selection, model=model, theme=theme, language=language)
        else:
            first, second = self._selected_maps(translation, selection)
            style = {"model": model, "theme": theme, "language": language}
            if shows_effects(selection):
                style["effects"] = effect_sentence(self.service, translation, selection, language)
            figure = map_figure(translation, selection, first, second, **style)
        return {"name": name, "figure": figure}

    def _selected_maps(
        self, translation: Translation, selection: Selection
    ) -> tuple[AttentionMap | None, AttentionMap]:
        """Return head A of a comparison or None, and the selected map: weights, or effects in nats."""
        if not shows_effects(selection):
            return pinned_map(translation, selection), selected_map(translation, selection)
        other = pinned_selection(selection)
        first = effect_map(self.service, translation, other) if other else None
        return first, effect_map(self.service, translation, selection)

    def _selected_csv(self, translation: Translation, selection: Selection) -> bytes:
        first, second = self._selected_maps(translation, selection)
        return map_csv(second) if first is None else comparison_csv(first, second)


def file_name(selection: Selection, form: str) -> str:
    """Return a name with the kind, layer and head, counted from one: `headlight-cross-1-4.csv`."""
    if form.startswith(WALL_PREFIX):
        return f"headlight-{selection.kind}-all.{form.removeprefix(WALL_PREFIX)}"
    if form not in ("csv", "png", "svg"):
        return f"headlight.{form}"
    positions = (
        [selection.pinned, (selection.layer, selection.head)]
        if is_comparing(selection)
        else [(selection.layer, selection.head)]
    )
    names = [
        "-".join(str(index + 1) if isinstance(index, int) else index for index in position)
        for position in positions
        if position
    ]
    suffix = (
        effects_suffix(selection)
        if shows_effects(selection)
        else "-lines"
        if selection.view == "lines" and form != "csv"
        else ""
    )
    return f"headlight-{selection.kind}-{'-and-'.join(names)}{suffix}.{form}"
