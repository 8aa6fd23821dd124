"""The lesson on heads: claims about several heads and √d_k."""

from __future__ import annotations

import itertools
import math

import numpy as np
import torch

from headlight.model.core.attention import MultiHeadAttention
from headlight.model.experiments.scaling import KEYS, make_random_vectors, measure_scaling, softmax_gradient
from headlight.viz.lessons.heads import COUNTS, WIDTH_RATIOS, WIDTHS
from headlight.viz.lessons.result_figures import BarChart, ExperimentResult, Heatmap, LinePlot, Table
from headlight.viz.lessons.worked_figures import NumberBlocks
from tests.viz.lessons.asked import Asked, pictures, softmax, step_phrase

SEEDS = range(5)


def maps(asked: Asked, **values: object) -> np.ndarray:
    return np.stack(
        [
            picture.numbers
            for picture in pictures(asked.run_experiment("heads", "split", **values))
            if isinstance(picture, Heatmap)
        ]
    )


def cut_as_the_model_cuts_it_is_the_model(asked: Asked) -> None:
    head_maps = maps(asked, heads=str(asked.config.heads))
    layer = int(str(asked.run_experiment("heads", "split").numbers["layer"])) - 1
    np.testing.assert_allclose(head_maps, asked.translation.attention.encoder[layer], atol=1e-5)


def heads_of_a_row_may_differ(asked: Asked) -> None:
    for count in COUNTS:
        result = asked.run_experiment("heads", "split", heads=str(count))
        head_maps = maps(asked, heads=str(count))
        assert len(head_maps) == count
        np.testing.assert_allclose(head_maps.sum(axis=-1), 1.0, atol=1e-5)
        assert (result.facts == ("one",)) == (count == 1)
    assert result.numbers["different"] > 1
    one, other = (maps(asked, matrices="random", seed=seed) for seed in (0, 1))
    assert np.abs(one - other).max() > 0.01
    np.testing.assert_array_equal(one, maps(asked, matrices="random", seed=0))
    # Random matrices have no pattern: they prefer no key as clearly as trained ones.
    assert one.max(axis=-1).mean() < maps(asked).max(axis=-1).mean()


def heads_cost_nothing(asked: Asked) -> None:
    result = asked.run_experiment("heads", "several")
    (table,) = (picture for picture in pictures(result) if isinstance(picture, Table))
    d_model = asked.config.d_model
    for row, count in zip(table.rows, COUNTS, strict=True):
        attention = MultiHeadAttention(d_model, count)
        assert row[:2] == [str(count), str(d_model // count)]
        assert row[2] == f"{sum(parameter.numel() for parameter in attention.parameters()):,}"
        assert row[2] == result.numbers["parameters"] == f"{4 * d_model**2 + 4 * d_model:,}"


def one_head_favours_one_key(asked: Asked) -> None:
    (bars,) = (
        picture for picture in pictures(asked.run_experiment("heads", "several")) if isinstance(picture, BarChart)
    )
    assert bars.values[0] == 1.0
    assert 1.0 < bars.values[-1] <= len(asked.translation.source_tokens)
    favourites = maps(asked).argmax(axis=-1)
    assert bars.values[-1] == np.mean([len(set(favourites[:, row])) for row in range(favourites.shape[1])])


def raw_scores_spread_by_the_root(asked: Asked) -> None:
    for seed in SEEDS:
        for width in WIDTHS:
            query, key = (each[0, 0].numpy() for each in make_random_vectors(width, seed))
            scaling = measure_scaling(width, seed)
            np.testing.assert_allclose(scaling.raw, (query @ key.T).std(ddof=1), rtol=1e-4)
            assert 0.8 < scaling.raw / math.sqrt(width) < 1.2
        assert asked.run_experiment("heads", "spread", seed=seed).correct_option == "four"
    assert WIDTH_RATIOS["four"] ** 2 == 64 / 4


def axes_name_the_width(asked: Asked) -> None:
    for step in ("spread", "saturate", "slope"):
        (lines,) = (
            picture for picture in pictures(asked.run_experiment("heads", step)) if isinstance(picture, LinePlot)
        )
        assert lines.x_name == "dₖ"


def scaled_scores_spread_by_one(asked: Asked) -> None:
    for seed in SEEDS:
        for width in WIDTHS:
            scaling = measure_scaling(width, seed)
            np.testing.assert_allclose(scaling.scaled, scaling.raw / math.sqrt(width), rtol=1e-4)
            assert 0.8 < scaling.scaled < 1.2


def wide_scores_choose_one(asked: Asked) -> None:
    for seed in SEEDS:
        scaling = [measure_scaling(width, seed) for width in WIDTHS]
        assert all(one.raw_largest < other.raw_largest for one, other in itertools.pairwise(scaling))
        assert scaling[-1].raw_largest > 0.9
        assert max(each.scaled_largest for each in scaling) < 0.25
    assert KEYS == 64


def titles_and_words_fit_every_width(asked: Asked) -> None:
    """Neither text claims that one weight has everything, or that nothing is learned, if that is false."""
    for seed, width in itertools.product((0, 99), WIDTHS):
        scaling = measure_scaling(width, seed)
        for step, short, telling in (
            ("saturate", scaling.raw_largest < 0.75, ("One weight takes almost all", "nearly picks the largest alone")),
            ("slope", scaling.raw_gradient > 0.03, ("nothing can be learned", "nothing to push")),
        ):
            result = asked.run_experiment("heads", step, width=str(width), seed=seed)
            for part, phrase in zip(("title", "words"), telling, strict=True):
                assert (phrase in step_phrase("heads", step, part, result)) == (not short), (step, width, seed)
                others = {
                    step_phrase("heads", step, part, ExperimentResult((), facts=holds), "zh")
                    for holds in ((), ("narrow",))
                }
                assert len(others) == 2
            assert (width <= 32) <= short
            assert (width >= 256) <= (not short)


def slope_is_w_times_the_rest(asked: Asked) -> None:
    scores = torch.randn(1, 1, 5, 7, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    largest = softmax(scores[0, 0].numpy()).max(axis=-1)
    np.testing.assert_allclose(softmax_gradient(scores), np.median(largest * (1 - largest)), atol=1e-12)


def slope_vanishes_without_the_division(asked: Asked) -> None:
    for seed in SEEDS:
        last = measure_scaling(512, seed)
        assert last.raw_gradient < 0.02
        assert last.scaled_gradient > 10 * last.raw_gradient


def the_live_model_leans_on_one_word(asked: Asked) -> None:
    result = asked.run_experiment("heads", "live")
    raw, scaled = [], []
    for layer in range(asked.config.encoder_layers):
        scores = asked.encoder("scores", layer)
        scaled.append(softmax(scores).max(axis=-1).mean())
        raw.append(softmax(scores * math.sqrt(asked.config.resolved_head_width)).max(axis=-1).mean())
    np.testing.assert_allclose(float(result.numbers["raw"]), np.mean(raw), atol=1e-4)
    np.testing.assert_allclose(float(result.numbers["scaled"]), np.mean(scaled), atol=1e-4)
    assert np.mean(raw) > np.mean(scaled) + 0.1


def blocks(asked: Asked, number: int = 7) -> list[NumberBlocks]:
    figures = pictures(asked.run_experiment("heads", "shapes", number=number))
    return [each for each in figures if isinstance(each, NumberBlocks)]


def numbers_name_their_place(asked: Asked) -> None:
    """Each number stands in the block, row and column that its digits name."""
    batch, viewed, transposed, _ = blocks(asked)
    for sentence in (1, 2):
        for token in (1, 2, 3):
            own = [str(100 * sentence + 10 * token + dimension) for dimension in range(4)]
            assert list(batch.blocks[sentence - 1].numbers[token - 1]) == own
            assert [list(row) for row in viewed.blocks[3 * sentence + token - 4].numbers] == [own[:2], own[2:]]
            for head in (0, 1):
                block = transposed.blocks[2 * sentence - 2 + head]
                assert list(block.numbers[token - 1]) == own[2 * head : 2 * head + 2]
                assert list(block.groups[token - 1]) == [head, head]
    for index in (0, 7, 23):
        result = asked.run_experiment("heads", "shapes", number=index)
        places = [
            tuple(map(int, str(result.numbers[name]).split(", "))) for name in ("from", "viewed", "split", "mixed")
        ]
        shapes = ((2, 3, 4), (2, 3, 2, 2), (2, 2, 3, 2), (2, 2, 3, 2))
        in_memory = [np.ravel_multi_index(place, shape) for place, shape in zip(places, shapes, strict=True)]
        assert in_memory[0] == in_memory[1] == in_memory[3] == index  # a view moves nothing in memory
        (sentence, token, head, rest), split = places[1], places[2]
        assert split == (sentence, head, token, rest)
        assert places[0][2] == head * 2 + rest


def a_view_without_the_transpose_mixes_tokens(asked: Asked) -> None:
    *_, right, wrong = blocks(asked)
    result = asked.run_experiment("heads", "shapes")
    pairs = [
        (one, other)
        for block, mixed in zip(right.blocks, wrong.blocks, strict=True)
        for row, mixed_row in zip(block.numbers, mixed.numbers, strict=True)
        for one, other in zip(row, mixed_row, strict=True)
    ]
    assert sum(one != other for one, other in pairs) == result.numbers["misplaced"] > 0
    assert len(pairs) == result.numbers["total"]
    assert result.correct_option == "mixed"
    assert all({0, 1} <= {group for row in block.groups for group in row} for block in wrong.blocks)
    module = MultiHeadAttention(4, 2)
    batch = torch.arange(24.0).view(2, 3, 4)
    assert module.split_heads(batch).shape == batch.view(2, 2, 3, 2).shape
