"""Figures of other numbers: positions, probabilities, searches, products, measures."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from headlight.model.errors import RequestError
from headlight.model.records import BeamNode, BeamTree, Token
from headlight.viz.figures import beam, neurons, positions, probabilities
from headlight.viz.theme import THEMES, colour_scale
from tests.viz.figures_examples import make_tokens, make_translation, make_tree, words_of_length

LIGHT = THEMES["light"]

# ---------------------------------------------------------------- positions

TABLE = np.random.default_rng(3).normal(size=(5, 7)).astype(np.float32)


def test_figures_of_encodings_products_and_waves() -> None:
    encodings, products, wave = positions(TABLE, theme=LIGHT, dimension=3).data
    np.testing.assert_array_equal(encodings.z, TABLE)
    np.testing.assert_allclose(products.z, TABLE @ TABLE.T, rtol=1e-6)
    np.testing.assert_array_equal(wave.y, TABLE[:, 3])
    assert [products.xaxis, wave.yaxis] == ["x2", "y3"]


def test_diverging_scale_is_centred_at_zero() -> None:
    encodings = positions(TABLE, theme=LIGHT).data[0]
    assert encodings.zmax == -encodings.zmin == pytest.approx(np.abs(TABLE).max())
    assert [list(stop) for stop in encodings.colorscale] == colour_scale("difference", LIGHT)


def test_unsigned_products_use_full_colour_range() -> None:
    products = positions(np.abs(TABLE) + 1, theme=LIGHT).data[1]
    assert (products.zmin, products.zmax) == (pytest.approx(np.min(products.z)), pytest.approx(np.max(products.z)))
    assert [list(stop) for stop in products.colorscale] == colour_scale("headlight", LIGHT)
    signed = positions(TABLE, theme=LIGHT).data[1]
    assert signed.zmin == -signed.zmax < 0


def test_dimensions_start_at_zero() -> None:
    figure = positions(TABLE, theme=LIGHT, dimension=3)
    assert not figure.data[0].x0
    assert [note.text for note in figure.layout.annotations][-1] == "dimension 3"


def test_bias_figure_has_heads_and_distances() -> None:
    slopes = np.array([0.5, 0.25, 0.125], dtype=np.float32)
    gaps = np.arange(5)[None, :] - np.arange(5)[:, None]
    figure = positions(-slopes[:, None, None] * np.abs(gaps), theme=LIGHT, dimension=1)
    np.testing.assert_allclose(figure.data[0].z, -0.25 * np.abs(gaps))
    assert len(figure.data) == 1 + 3
    np.testing.assert_array_equal(figure.data[2].x, np.arange(-4, 5))
    np.testing.assert_allclose(figure.data[2].y, -0.25 * np.abs(np.arange(-4, 5)))
    assert [trace.line.width for trace in figure.data[1:]] == [1.5, 3, 1.5]
    assert "added by head 2" in [note.text for note in figure.layout.annotations]


def test_asymmetric_bias_keeps_direction() -> None:
    gaps = np.arange(5)[None, :] - np.arange(5)[:, None]  # key − query
    np.testing.assert_allclose(positions(gaps[None] * 1.0, theme=LIGHT).data[1].y, np.arange(-4, 5))


def test_model_without_positions_is_reported() -> None:
    figure = positions(np.zeros((5, 0)), theme=LIGHT)
    assert not figure.data
    assert figure.layout.title.subtitle.text == "This model has no position encoding."


def test_unsupported_positions_raise() -> None:
    with pytest.raises(RequestError, match=r"is \(5,\), but must be"):
        positions(np.zeros(5), theme=LIGHT)
    with pytest.raises(RequestError, match="dimension must be a whole number from 0 to 6"):
        positions(TABLE, theme=LIGHT, dimension=7)
    with pytest.raises(RequestError, match=r"is \(2, 3, 5\), but must be"):
        positions(np.zeros((2, 3, 5)), theme=LIGHT)


# ---------------------------------------------------------------- probabilities

TRANSLATION = make_translation(("x",), ("a", "b", "c"))


def test_bars_range_from_zero_to_one() -> None:
    tokens = tuple(
        replace(token, probability=chance)
        for token, chance in zip(TRANSLATION.target_tokens, (0.9, 0.5, 0.25, 1.0), strict=True)
    )
    figure = probabilities(replace(TRANSLATION, target_tokens=tokens), theme=LIGHT)
    assert list(figure.data[0].x) == [0.9, 0.5, 0.25, 1.0]
    assert list(figure.layout.xaxis.range) == [0, 1]
    assert list(figure.layout.yaxis.ticktext) == ["a", "b", "c", "&lt;/s&gt;"]


def test_bar_labels_list_alternatives_without_chosen_word() -> None:
    figure = probabilities(TRANSLATION, theme=LIGHT)
    beside = [note for note in figure.layout.annotations if note.yref is None]
    assert [(note.y, note.text) for note in beside] == [
        (row, text) for row in range(3) for text in ("other 0.250", "·ing 0.100")
    ]
    assert len({note.xshift for note in beside if note.text == "·ing 0.100"}) == 1  # a separate column
    assert figure.data[0].hovertext[1] == "b: 0.5000<br>other 0.2500<br>·ing 0.1000"


def test_token_without_probability_has_no_bar() -> None:
    tokens = (Token("a", 1, 0, 1, word=0),)
    figure = probabilities(replace(TRANSLATION, target_tokens=tokens), theme=LIGHT)
    assert list(figure.data[0].x) == [None]
    assert figure.data[0].hovertext[0] == "a: no probability"


def test_long_translation_shows_alternatives_on_hover() -> None:
    figure = probabilities(make_translation(("x",), words_of_length(120)), theme=LIGHT)
    assert not [note for note in figure.layout.annotations if note.yref is None]
    assert len(figure.layout.yaxis.ticktext) == 12
    assert "other 0.2500" in figure.data[0].hovertext[77]


# ---------------------------------------------------------------- beam


def traces(figure: Any, name: str) -> Any:
    (values,) = [trace for trace in figure.data if trace.name == name]
    return values


def test_every_search_node_is_drawn_once_by_outcome() -> None:
    tree = make_tree(3)
    figure = beam(tree, theme=LIGHT)
    for outcome, count in (("kept", 4), ("finished", 2), ("dropped", 3)):
        trace = traces(figure, outcome)
        assert len(trace.x) == count
        assert [tree.nodes[place].outcome for place in trace.customdata] == [outcome] * count
    assert traces(figure, "finished").hovertext[1] == ("b: finished, score -0.8333, log probability -2.5000")


def test_nodes_are_placed_by_step_and_score_rank() -> None:
    nodes = (
        BeamNode(-1, 0, 1, " low", -3.0, -3.0, "kept"),
        BeamNode(-1, 0, 2, " high", -1.0, -1.0, "kept"),
        BeamNode(1, 1, 3, " end", -2.0, -1.0, "finished"),
    )
    trace = traces(beam(BeamTree(nodes), theme=LIGHT), "kept")
    assert list(zip(trace.text, trace.x, trace.y, strict=True)) == [("low", 0, 1), ("high", 0, 0)]


def test_step_axis_title_does_not_overlap_first_number() -> None:
    figure = beam(make_tree(3), theme=LIGHT)
    (step,) = figure.layout.annotations
    first = figure.layout.xaxis.tickvals[0]
    assert (step.text, step.x, step.xanchor) == ("step", first, "right")
    assert step.xshift < -8


def test_dropped_nodes_are_opaque() -> None:
    dropped = traces(beam(make_tree(3), theme=LIGHT), "dropped")
    assert (dropped.marker.symbol, dropped.marker.color) == ("circle", LIGHT.ground)


def test_best_finished_path_is_highlighted() -> None:
    nodes = (
        BeamNode(-1, 0, 1, " a", -1.0, -1.0, "kept"),
        BeamNode(-1, 0, 2, " b", -2.0, -2.0, "kept"),
        BeamNode(0, 1, 3, " c", -6.0, -3.0, "finished"),
        BeamNode(1, 1, 4, " d", -3.0, -1.5, "kept"),
        BeamNode(3, 2, 5, " e", -3.0, -1.0, "finished"),
    )
    path = traces(beam(BeamTree(nodes), theme=LIGHT), "best finished")
    assert list(path.x) == [0, 1, None, 1, 2, None]
    assert list(path.y) == [1, 0, None, 0, 0, None]
    assert path.line.color == LIGHT.accent


def test_long_search_shows_texts_on_hover() -> None:
    assert traces(beam(make_tree(44), theme=LIGHT), "kept").mode == "markers+text"
    figure = beam(make_tree(45), theme=LIGHT)
    assert traces(figure, "kept").mode == "markers"
    assert list(figure.layout.xaxis.ticktext) == ["10", "20", "30", "40"]


def test_figure_without_tree_shows_note() -> None:
    figure = beam(BeamTree(), theme=LIGHT)
    assert "a single path" in figure.layout.title.subtitle.text.replace("<br>", " ")
    assert figure.layout.showlegend is False


# ---------------------------------------------------------------- neurons

ROW, COLUMN = make_tokens(("sleep", "<b>"))[:2]
QUERY, KEY = np.array([1.0, -2.0, 3.0, 0.5]), np.array([2.0, 1.0, 1.0, -4.0])


def test_cumulative_products_end_at_score() -> None:
    figure = neurons(QUERY, KEY, ROW, COLUMN, weight=0.4711, theme=LIGHT)
    vectors, products, running = figure.data
    np.testing.assert_array_equal(vectors.z, [QUERY, KEY])
    np.testing.assert_array_equal(products.z, [[2, -2, 3, -2]])
    np.testing.assert_allclose(running.y, np.array([2, 0, 3, 1]) / math.sqrt(4))
    assert figure.layout.meta == {"figure": "neurons", "score": 0.5, "weight": 0.4711}
    says = figure.layout.title.subtitle.text.replace("<br>", " ")
    assert "1.0000 ÷ √4 = 0.5000. After the softmax over all tokens: 0.4711." in says
    assert figure.layout.title.text == "sleep → &lt;b&gt;"


def test_bias_and_divisor_are_shown_if_present() -> None:
    figure = neurons(QUERY, KEY, ROW, COLUMN, weight=0.1, theme=LIGHT, bias=-0.25, divisor=1.0)
    assert figure.layout.meta["score"] == 0.75
    says = figure.layout.title.subtitle.text.replace("<br>", " ")
    assert "1.0000 ÷ 1.0000 + -0.2500 (position) = 0.7500" in says


def test_cumulative_sum_has_margins() -> None:
    figure = neurons(QUERY, KEY, ROW, COLUMN, weight=0.1, theme=LIGHT)
    low, high = figure.layout.yaxis2.range
    assert low < 0
    assert high > max(figure.data[2].y)


def test_dimension_hover_text_has_factors() -> None:
    figure = neurons(QUERY, KEY, ROW, COLUMN, weight=0.1, theme=LIGHT)
    assert figure.data[1].hovertext[0][1] == "dimension 1: -2.0000 × 1.0000 = -2.0000"
    assert figure.data[2].hovertext[2] == "up to dimension 2: 1.5000"


def test_vectors_of_different_length_raise() -> None:
    with pytest.raises(RequestError, match=r"is \(4,\), \(3,\), but must be"):
        neurons(QUERY, KEY[:3], ROW, COLUMN, weight=0.1, theme=LIGHT)
    with pytest.raises(RequestError, match=r"is \(0,\), \(0,\), but must be"):
        neurons(QUERY[:0], KEY[:0], ROW, COLUMN, weight=0.1, theme=LIGHT)
