"""Figures of maps: cells, masks and label positions."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from headlight.model.errors import RequestError
from headlight.model.measures.map_reduction import drop_special, maximum, mean_map, merge_words
from headlight.viz.figures import compare, heatmap, lines, overview
from headlight.viz.theme import THEMES, colour_scale, head_colour
from tests.viz.figures_examples import HEADS, LAYERS, SCRIPTS, make_map, make_translation, words_of_length

LIGHT = THEMES["light"]
LONG = ("one", "two", "three", "four", "five")
CROSS = make_map(rows=("der", "der"), columns=LONG)
DECODER = make_map("decoder", rows=LONG)


def cells(figure: go.Figure) -> list[Any]:
    return [trace for trace in figure.data if trace.type == "heatmap"]


def shades(figure: go.Figure) -> list[Any]:
    """The traces with lines, except those that are only in the legend."""
    return [trace for trace in figure.data if len(trace.x) > 1]


# ---------------------------------------------------------------- heatmap


def test_cells_are_weights_from_zero_to_one() -> None:
    figure = heatmap(CROSS, theme=LIGHT)
    (trace,) = cells(figure)
    np.testing.assert_array_equal(trace.z, CROSS.weights)
    assert (trace.zmin, trace.zmax, trace.zauto) == (0, 1, None)
    assert [list(stop) for stop in trace.colorscale] == colour_scale("headlight", LIGHT)
    assert len(figure.data) == 1  # nothing is masked, nothing is hatched


def test_masked_cells_are_empty_but_zeros_are_not() -> None:
    weights = DECODER.weights.copy()
    weights[3, 0] = 0
    figure = heatmap(replace(DECODER, weights=weights), theme=LIGHT)
    (trace,) = cells(figure)
    np.testing.assert_array_equal(np.isnan(trace.z), ~DECODER.allowed)
    assert trace.z[3, 0] == 0
    assert trace.hoverongaps is False


def test_only_masked_cells_are_hatched() -> None:
    figure = heatmap(DECODER, theme=LIGHT)
    hatch = figure.data[1]
    assert (hatch.fill, hatch.fillpattern.shape, hatch.hoverinfo) == ("toself", "/", "skip")
    assert (hatch.fillpattern.fgcolor, hatch.fillpattern.bgcolor) == (LIGHT.hatch, LIGHT.masked)
    covered = np.zeros(DECODER.allowed.shape, dtype=int)
    for start in range(0, len(hatch.x), 6):  # each outline: four corners, the first again, a gap
        left, right = hatch.x[start], hatch.x[start + 1]
        top, bottom = hatch.y[start], hatch.y[start + 2]
        covered[int(top + 0.5) : int(bottom + 0.5), int(left + 0.5) : int(right + 0.5)] += 1
    np.testing.assert_array_equal(covered, ~DECODER.allowed)


def test_hover_text_names_query_key_and_weight() -> None:
    figure = heatmap(CROSS, theme=LIGHT)
    assert figure.data[0].hovertext[1][2] == f"der → der attends to three: {CROSS.weights[1, 2]:.4f}"
    assert heatmap(DECODER, theme=LIGHT).data[0].hovertext[0][1] == ""


def test_encoder_row_is_its_own_token() -> None:
    assert list(heatmap(make_map("encoder", rows=("a", "b")), theme=LIGHT).layout.yaxis.ticktext)[:2] == ["c", "d"]


def test_equal_tokens_have_separate_rows() -> None:
    axis = heatmap(CROSS, theme=LIGHT).layout.yaxis
    assert list(axis.tickvals) == [0, 1, 2]
    assert list(axis.ticktext) == ["&lt;s&gt; → der", "der → der", "der → &lt;/s&gt;"]
    assert list(axis.range) == [2.5, -0.5]  # the first row on top


def test_column_labels_are_above_map() -> None:
    axis = heatmap(CROSS, theme=LIGHT).layout.xaxis
    assert (axis.side, axis.tickangle) == ("top", -90)
    assert list(axis.ticktext) == [*LONG, "&lt;/s&gt;"]


def test_chinese_labels_are_upright_and_others_rotated() -> None:
    figure = heatmap(make_map(rows=("a",), columns=("翻译", "der", "程序")), theme=LIGHT)
    upright = {note.x: (note.text, note.textangle) for note in figure.layout.annotations if note.xref == "x"}
    assert upright == {0: ("翻<br>译", None), 2: ("程<br>序", None)}
    assert list(figure.layout.xaxis.tickvals) == [1, 3]
    assert heatmap(make_map(rows=("翻译",)), theme=LIGHT).layout.yaxis.ticktext[0] == "&lt;s&gt; → 翻译"


def test_long_axis_labels_every_tenth_token() -> None:
    axis = heatmap(make_map(rows=words_of_length(60), columns=words_of_length(43)), theme=LIGHT).layout
    assert list(axis.yaxis.tickvals) == [9, 19, 29, 39, 49, 59]
    assert list(axis.yaxis.ticktext)[:2] == ["10 word8 → word9", "20 word18 → word19"]
    assert len(axis.xaxis.tickvals) == 44


@pytest.mark.parametrize("count", [1, 15, 44, 45, 200])
def test_map_of_any_length_fits_page(count: int) -> None:
    layout = heatmap(make_map(rows=words_of_length(count), columns=words_of_length(count)), theme=LIGHT).layout
    plot = (layout.width - layout.margin.l - layout.margin.r, layout.height - layout.margin.t - layout.margin.b)
    assert 0 < plot[0] <= 680
    assert plot[0] == pytest.approx(plot[1], abs=1.5)
    assert layout.width <= 960


@pytest.mark.parametrize(("rows", "columns"), [(3, 7), (23, 19), (31, 83)])
def test_cells_are_square(rows: int, columns: int) -> None:
    arguments = make_map(rows=words_of_length(rows), columns=words_of_length(columns))
    alone, beside = heatmap(arguments, theme=LIGHT).layout, compare(arguments, arguments, theme=LIGHT).layout
    for layout, maps in ((alone, 1), (beside, 3)):
        inside = layout.width - layout.margin.l - layout.margin.r
        low, high = layout.xaxis.domain or (0, 1)
        width = (high - low) * inside
        assert width * maps <= inside + 1
        height = layout.height - layout.margin.t - layout.margin.b
        assert width / len(arguments.columns) == pytest.approx(height / len(arguments.rows), abs=1 / rows)


def test_labels_fit_next_to_map() -> None:
    short = heatmap(make_map(rows=("a",), columns=("b",)), theme=LIGHT).layout.margin
    long = heatmap(make_map(rows=("W" * 40,), columns=("W" * 40,)), theme=LIGHT).layout.margin
    assert long.l > short.l
    assert long.t > short.t


def test_log_scale_ranges_from_a_thousandth_to_one() -> None:
    arguments = replace(CROSS, weights=np.array([[1, 0.1, 0.01, 0.001, 0.0001, 0]] * 3, dtype=np.float32))
    figure = heatmap(arguments, theme=LIGHT, scale="log")
    np.testing.assert_allclose(figure.data[0].z[0], [1, 2 / 3, 1 / 3, 0, 0, 0], atol=1e-6)
    assert figure.data[0].hovertext[0][1] == "&lt;s&gt; → der attends to two: 0.1000"
    assert list(figure.data[0].colorbar.ticktext) == ["≤0.001", "0.01", "0.1", "1"]


def test_row_scale_normalises_by_row_maximum() -> None:
    arguments = replace(
        CROSS, weights=np.array([[0.2, 0.4], [0, 0]], dtype=np.float32), allowed=np.ones((2, 2), dtype=bool)
    )
    short = {name: getattr(arguments, name)[:2] for name in ("rows", "columns", "previous_tokens")}
    arguments = replace(arguments, **short)
    np.testing.assert_allclose(heatmap(arguments, theme=LIGHT, scale="row").data[0].z, [[0.5, 1], [0, 0]])


def test_unknown_scale_raises() -> None:
    with pytest.raises(ValueError, match="'cubic': choose linear, log, row"):
        heatmap(CROSS, theme=LIGHT, scale="cubic")  # type: ignore[arg-type]


def test_palette_changes_only_colours() -> None:
    trace = heatmap(CROSS, theme=LIGHT, palette="cividis").data[0]
    assert [list(stop) for stop in trace.colorscale] == colour_scale("cividis", LIGHT)
    np.testing.assert_array_equal(trace.z, CROSS.weights)


def test_labels_can_be_omitted() -> None:
    figure = heatmap(DECODER, theme=LIGHT, labels=False)
    assert figure.data[0].hovertext is None
    assert figure.layout.title.text is None
    assert (figure.layout.margin.l, figure.layout.margin.t) == (0, 0)
    assert figure.layout.xaxis.ticktext is None


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (CROSS, "Layer 2 · Head 4"),
        (make_map(head=None), "Layer 2 · Mean of heads"),
        (mean_map([make_map(layer=0), make_map(layer=2)]), "Mean of layers · Head 4"),
        (mean_map([make_map(layer=0, head=1), make_map(layer=2)]), "Mean of all heads"),
        (maximum([make_map(head=1), make_map()]), "Layer 2 · Maximum of heads"),
    ],
)
def test_title_names_heads(arguments: Any, name: str) -> None:
    assert heatmap(arguments, theme=LIGHT).layout.title.text == name


@pytest.mark.parametrize(
    ("kind", "part"),
    [
        ("encoder", "looks at every word"),
        ("decoder", "being written (row) looks back"),
        ("cross", "every word of the sentence (column)"),
    ],
)
def test_caption_explains_rows(kind: Any, part: str) -> None:
    says = heatmap(make_map(kind), theme=LIGHT).layout.title.subtitle.text.replace("<br>", " ")
    assert part in says
    assert "maxima" not in says


def test_maximum_caption_notes_row_sums() -> None:
    says = heatmap(maximum([make_map(head=1), make_map()]), theme=LIGHT).layout.title.subtitle.text
    assert "do not sum to 1" in says.replace("<br>", " ")


def test_merged_and_cropped_maps_are_drawn_unchanged() -> None:
    words, (visible_rows, _) = merge_words(DECODER), drop_special(DECODER, rescale=True)
    np.testing.assert_array_equal(np.nan_to_num(heatmap(words, theme=LIGHT).data[0].z), words.weights)
    np.testing.assert_array_equal(np.isnan(heatmap(visible_rows, theme=LIGHT).data[0].z), ~visible_rows.allowed)


def test_figure_has_metadata() -> None:
    assert heatmap(CROSS, theme=LIGHT).layout.meta == {
        "figure": "heatmap",
        "kind": "cross",
        "layer": 1,
        "head": 3,
        "scale": "linear",
    }


# ---------------------------------------------------------------- overview


def test_mosaic_contains_all_heads() -> None:
    translation = make_translation(LONG, ("a", "b"))
    figure = overview(translation, "cross", theme=LIGHT, averages=False)
    (trace,) = cells(figure)
    rows, columns = 3, 6
    assert trace.z.shape == (LAYERS * (rows + 1) - 1, HEADS * (columns + 1) - 1)
    for layer in range(LAYERS):
        for head in range(HEADS):
            top, left = layer * (rows + 1), head * (columns + 1)
            tile = trace.z[top : top + rows, left : left + columns]
            np.testing.assert_allclose(tile**2, translation.attention.cross[layer, head], atol=1e-6)
    assert np.isnan(trace.z[rows]).all()
    assert np.isnan(trace.z[:, columns]).all()
    assert len(trace.x) == trace.z.shape[1] + 1
    assert len(trace.y) == trace.z.shape[0] + 1


def test_averages_are_last() -> None:
    translation = make_translation(LONG, ("a", "b"))
    (trace,) = cells(overview(translation, "cross", theme=LIGHT))
    np.testing.assert_allclose(trace.z[:3, -6:] ** 2, translation.attention.cross[0].mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(trace.z[-3:, -6:] ** 2, translation.attention.cross.mean(axis=(0, 1)), atol=1e-6)
    np.testing.assert_allclose(trace.z[-3:, :6] ** 2, translation.attention.cross[:, 0].mean(axis=0), atol=1e-6)


def test_tile_hover_text_is_head_name() -> None:
    figure = overview(make_translation(LONG, ("a", "b")), "cross", theme=LIGHT)
    names = list(figure.data[1].hovertext)
    assert len(names) == (LAYERS + 1) * (HEADS + 1)
    assert names[HEADS + 1 + 2] == "Layer 2 · Head 3"
    assert names[HEADS] == "Layer 1 · Mean of heads"
    assert names[-1] == "Mean of all heads"
    assert figure.data[0].hoverinfo == "skip"


def test_masked_mosaic_cells_show_background() -> None:
    figure = overview(make_translation((), ("a", "b")), "decoder", theme=LIGHT)
    np.testing.assert_array_equal(np.isnan(cells(figure)[0].z[:3, :3]), ~np.tril(np.ones((3, 3), dtype=bool)))
    assert {shape.fillcolor for shape in figure.layout.shapes} == {LIGHT.masked}
    assert not overview(make_translation(("a",), ("b",)), "cross", theme=LIGHT).layout.shapes


def test_long_sentences_are_max_pooled() -> None:
    translation = make_translation(words_of_length(99), words_of_length(52))  # 53 rows, 100 columns
    figure = overview(translation, "cross", theme=LIGHT, averages=False)
    assert figure.layout.meta["block"] == [2, 3]
    z = cells(figure)[0].z
    assert z[0, 0] ** 2 == pytest.approx(translation.attention.cross[0, 0, :2, :3].max())
    assert z[26, 33] ** 2 == pytest.approx(translation.attention.cross[0, 0, 52:, 99:].max())
    assert "2 × 3 tokens" in figure.layout.title.subtitle.text.replace("<br>", " ")


def test_mosaic_size_depends_on_heads_only() -> None:
    few = overview(make_translation(LONG, LONG), "cross", theme=LIGHT).layout
    many = overview(make_translation(words_of_length(150), LONG), "cross", theme=LIGHT).layout
    assert few.width == many.width


# ---------------------------------------------------------------- compare


def test_comparison_shows_signed_difference() -> None:
    other = make_map(rows=("der", "der"), columns=LONG, head=1)
    first, second, difference = cells(compare(CROSS, other, theme=LIGHT))
    np.testing.assert_array_equal(first.z, CROSS.weights)
    np.testing.assert_array_equal(second.z, other.weights)
    np.testing.assert_allclose(difference.z, CROSS.weights - other.weights)
    assert [(trace.zmin, trace.zmax) for trace in (first, second, difference)] == [(0, 1), (0, 1), (-1, 1)]
    assert [list(stop) for stop in difference.colorscale] == colour_scale("difference", LIGHT)
    apart = CROSS.weights[1, 2] - other.weights[1, 2]
    assert difference.hovertext[1][2] == f"der → der attends to three: {apart:+.4f}"


def test_head_names_have_head_colours() -> None:
    figure = compare(CROSS, make_map(rows=("der", "der"), columns=LONG, head=1), theme=LIGHT)
    colours = {note.text: note.font.color for note in figure.layout.annotations}
    assert colours["A  Layer 2 · Head 4"] == LIGHT.head_a
    assert colours["B  Layer 2 · Head 2"] == LIGHT.head_b
    assert colours["A − B"] == LIGHT.ink
    assert figure.layout.title.text == "Layer 2 · Head 4 and Layer 2 · Head 2"


def test_mean_difference_ignores_masked_cells() -> None:
    other = make_map("decoder", rows=LONG, head=1)
    apart = np.abs(DECODER.weights - other.weights)[DECODER.allowed].mean()
    figure = compare(DECODER, other, theme=LIGHT)
    assert f"mean absolute difference is {apart:.4f}" in figure.layout.title.subtitle.text.replace("<br>", " ")
    assert all(np.isnan(trace.z[0, 1]) for trace in cells(figure))
    assert sum(trace.type == "scatter" for trace in figure.data) == 3  # hatched cells in each


def test_compared_maps_share_axes_without_overlap() -> None:
    layout = compare(CROSS, CROSS, theme=LIGHT).layout
    domains = [layout[name].domain for name in ("xaxis", "xaxis2", "xaxis3")]
    assert domains[0][1] < domains[1][0] < domains[1][1] < domains[2][0]
    assert [layout.xaxis2.matches, layout.yaxis3.matches] == ["x", "y"]
    assert [layout[name].showticklabels for name in ("yaxis", "yaxis2", "yaxis3")] == [True, False, False]


def test_comparison_of_different_kinds_raises() -> None:
    with pytest.raises(RequestError, match=r"cross 3 × 6 \+ decoder 6 × 6"):
        compare(CROSS, DECODER, theme=LIGHT)


# ---------------------------------------------------------------- lines


def test_line_opacity_follows_weight() -> None:
    figure = lines([(CROSS, head_colour(LIGHT, 3))], theme=LIGHT, threshold=0)
    traces_of_lines = {}
    for trace in shades(figure):
        for start in range(0, len(trace.x), 3):
            assert list(trace.x[start : start + 2]) == [0, 1]
            traces_of_lines[trace.y[start], trace.y[start + 1]] = trace.opacity
    assert len(traces_of_lines) == CROSS.weights.size
    for (row, column), opacity in traces_of_lines.items():
        assert opacity == pytest.approx(max(0.05, CROSS.weights[row, column]), abs=0.025 + 1e-6)


def test_lines_below_threshold_are_omitted() -> None:
    figure = lines([(CROSS, "#123456")], theme=LIGHT, threshold=0.3)
    count = sum(len(trace.x) // 3 for trace in shades(figure))
    assert 0 < count == int((CROSS.weights >= 0.3).sum())
    assert "below 0.3 are hidden" in figure.layout.title.subtitle.text.replace("<br>", " ")
    assert not shades(lines([(CROSS, "#123456")], theme=LIGHT, threshold=1.1))


def test_masked_pairs_have_no_line() -> None:
    pairs = {
        (trace.y[start], trace.y[start + 1])
        for trace in shades(lines([(DECODER, "#123456")], theme=LIGHT, threshold=0))
        for start in range(0, len(trace.x), 3)
    }
    assert all(DECODER.allowed[row, column] for row, column in pairs)


def test_each_head_has_fixed_colour_and_legend_position() -> None:
    other = make_map(rows=("der", "der"), columns=LONG, head=1)
    figure = lines([(CROSS, "#111111"), (other, "#222222")], theme=LIGHT)
    assert {(trace.legendgroup, trace.line.color) for trace in figure.data} == {("1-3", "#111111"), ("1-1", "#222222")}
    legend = [trace.name for trace in figure.data if trace.showlegend is not False]
    assert legend == ["Layer 2 · Head 4", "Layer 2 · Head 2"]


def test_line_hover_text_has_exact_weight() -> None:
    texts = {
        text for trace in shades(lines([(CROSS, "#111111")], theme=LIGHT, threshold=0)) for text in trace.hovertext
    }
    assert f"Layer 2 · Head 4: &lt;s&gt; → der attends to one: {CROSS.weights[0, 0]:.4f}" in texts


def test_tokens_are_ordered_on_both_sides() -> None:
    figure = lines([(make_map(rows=SCRIPTS, columns=LONG), "#111111")], theme=LIGHT)
    sides: dict[float, list[tuple[float, str]]] = {0: [], 1: []}
    for note in figure.layout.annotations:
        if note.yref is None:
            sides[note.x].append((note.y, re.sub("[\u2068\u2069]", "", note.text)))
    assert [text for _, text in sorted(sides[1])] == [*LONG, "&lt;/s&gt;"]
    read_and_written = zip(["&lt;s&gt;", *SCRIPTS], SCRIPTS[:5], strict=False)
    assert [text for _, text in sorted(sides[0])][:5] == [f"{read} → {target}" for read, target in read_and_written]
    assert figure.layout.yaxis.range == (len(SCRIPTS) + 0.5, -0.5)


def test_lines_of_different_kinds_or_no_heads_raise() -> None:
    with pytest.raises(RequestError, match="cross, decoder"):
        lines([(CROSS, "#111111"), (DECODER, "#222222")], theme=LIGHT)
    with pytest.raises(RequestError, match="Give one or more"):
        lines([], theme=LIGHT)
