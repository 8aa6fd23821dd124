"""The lesson on positions: claims about positions and their removal."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import torch

from headlight.model.core.positions import POSITIONS, make_positions, sinusoidal_table
from headlight.model.experiments.position_joining import join_position
from headlight.viz.lessons.positions import (
    CONCATENATED_WIDTH,
    CONFIG,
    DRAWN_ENCODINGS,
    EQUAL_TOLERANCE,
    WAVES,
    compute_cosine_matrix,
)
from headlight.viz.lessons.result_figures import BarChart, Heatmap, LinePlot, Table
from headlight.viz.lessons.worked_figures import MatrixProduct, UnitCircle
from tests.viz.lessons.asked import Asked, pictures, step_variant

SEEDS = range(4)


def filled(line: str, numbers: Mapping[str, object]) -> str:
    """A line of the formula with numbers."""
    return re.sub(r"@(\w+)", lambda name: str(numbers[name[1]]), line)


def encodings_use_one_of_three_doors(asked: Asked) -> None:
    assert set(DRAWN_ENCODINGS) == set(POSITIONS) - {"none", "learned"}
    vectors = torch.ones(1, 3, CONFIG.d_model)
    for encoding in DRAWN_ENCODINGS:
        positions = make_positions(replace(CONFIG, positions=encoding), causal=False)
        added = not torch.equal(positions(vectors), vectors)
        turned = not torch.equal(positions.rotate(vectors[:, None]), vectors[:, None])
        biased = positions.bias(3, 3) is not None
        door = "added" if encoding.startswith("sin") else "turned" if encoding == "rotary" else "biased"
        assert {"added": added, "turned": turned, "biased": biased} == {
            name: name == door for name in ("added", "turned", "biased")
        }, encoding
    assert len(pictures(asked.run_experiment("positions", "doors"))) == len(DRAWN_ENCODINGS)


def likeness_depends_on_the_distance(asked: Asked) -> None:
    for encoding in WAVES:
        alike = compute_cosine_matrix(encoding, 24)
        for distance in range(24):
            diagonal = np.diagonal(alike, distance)
            np.testing.assert_allclose(diagonal, diagonal[0], atol=1e-5)
    assert asked.run_experiment("positions", "similarity").correct_option == "same"


def sorting_columns_changes_no_likeness(asked: Asked) -> None:
    np.testing.assert_allclose(
        compute_cosine_matrix("sinusoidal", 24), compute_cosine_matrix("sinusoidal_halves", 24), atol=1e-5
    )
    result = pictures(asked.run_experiment("positions", "similarity"))
    one, *others = next(picture for picture in result if isinstance(picture, LinePlot)).lines
    assert len(others) == 2
    for other in others:
        np.testing.assert_allclose(one.y, other.y, atol=1e-5)


def waves_have_their_periods(asked: Asked) -> None:
    for encoding in WAVES:
        for dimension in (0, 20, 63):
            result = asked.run_experiment("positions", "wave", encoding=encoding, dimension=dimension)
            (lines,) = (picture for picture in pictures(result) if isinstance(picture, LinePlot))
            period, place = float(str(result.numbers["period"])), np.arange(64)
            angle = 2 * math.pi * place / period
            values = np.array(lines.lines[0].y)
            assert min(np.abs(values - wave(angle)).max() for wave in (np.sin, np.cos)) < 1e-5
            assert result.numbers["fastest"] <= period <= result.numbers["slowest"]  # type: ignore[operator]
            np.testing.assert_allclose(float(str(result.numbers["fastest"])), 2 * math.pi)


def formulas_of_likeness_give_their_numbers(asked: Asked) -> None:
    """The left side of the equation, a cosine or a product, equals the number on its right."""
    for length in (4, 24, 64):
        result = asked.run_experiment("positions", "similarity", length=length)
        table = sinusoidal_table(length, CONFIG.d_model).double().numpy()
        for line in step_variant("positions", "similarity", result).numbers:
            left, _, right = filled(line, result.numbers).partition(" = ")
            one, other = (table[int(place)] for place in re.findall(r"PE\((\d+)\)", left))
            size = float(np.linalg.norm(one) * np.linalg.norm(other)) if left.startswith(r"\cos(") else 1.0
            np.testing.assert_allclose(float(right), one @ other / size, atol=1e-4)


def the_formula_joins_as_the_control_does(asked: Asked) -> None:
    for joining, width in (("add", asked.config.d_model), ("beside", asked.config.d_model + CONCATENATED_WIDTH)):
        result = asked.run_experiment("positions", "word", joining=joining)
        variant = step_variant("positions", "word", result)
        assert ("+ PE" in variant.formula) == (joining == "add")
        assert (";" in variant.formula) == (joining == "beside")
        heat = next(picture for picture in pictures(result) if isinstance(picture, Heatmap))
        assert heat.numbers.shape[1] == result.numbers["width"] == width
        lines = [filled(line, result.numbers) for line in variant.numbers]
        cosines = [line.partition(" = ")[0] for line in lines if "cos" in line]
        whole, first = r"\cos(E, x)", rf"\cos(E, x_{{0 \ldots {asked.config.d_model - 1}}})"
        assert cosines == [whole if joining == "add" else first]
        assert (f"{asked.config.d_model} + {CONCATENATED_WIDTH} = {width}" in lines) == (joining == "beside")


def adding_changes_every_number(asked: Asked) -> None:
    result = asked.run_experiment("positions", "word")
    (heat,) = (picture for picture in pictures(result) if isinstance(picture, Heatmap))
    word, place, total = heat.numbers
    np.testing.assert_allclose(word + place, total, atol=1e-5)
    assert (word != total).mean() > 0.9
    cosine = word @ total / np.linalg.norm(word) / np.linalg.norm(total)
    np.testing.assert_allclose(float(str(result.numbers["kept"])), cosine, atol=1e-5)
    assert 0.2 < cosine < 0.9999
    assert result.facts == ("add",)


def what_stands_beside_leaves_the_word(asked: Asked) -> None:
    result = asked.run_experiment("positions", "word", joining="beside")
    (heat,) = (picture for picture in pictures(result) if isinstance(picture, Heatmap))
    width = asked.config.d_model
    np.testing.assert_array_equal(heat.numbers[0, :width], heat.numbers[2, :width])
    np.testing.assert_array_equal(heat.numbers[1, width:], heat.numbers[2, width:])
    assert heat.numbers.shape[1] == width + CONCATENATED_WIDTH
    np.testing.assert_allclose(float(str(result.numbers["kept"])), 1.0, atol=1e-6)
    narrow, wide = (
        3 * torch.nn.Linear(columns, width).weight.numel() for columns in (width, width + CONCATENATED_WIDTH)
    )
    assert result.numbers["extra"] == f"{wide - narrow:,}"
    one = join_position(np.ones(4, dtype=np.float32), 2, 5, concatenate=True, width=2)
    np.testing.assert_allclose(one.similarities_by_position[2], 1.0)


def without_positions_order_is_lost(asked: Asked) -> None:
    for seed in SEEDS:
        result = asked.run_experiment("positions", "shuffle", seed=seed)
        assert float(str(result.numbers["without"])) < EQUAL_TOLERANCE
        assert (result.correct_option, result.facts) == ("same", ("without",))
        before, after = (picture.numbers for picture in pictures(result) if isinstance(picture, Heatmap))
        np.testing.assert_allclose(before, after, atol=EQUAL_TOLERANCE)


def with_positions_it_is_not(asked: Asked) -> None:
    for seed in SEEDS:
        result = asked.run_experiment("positions", "shuffle", seed=seed, positions=True)
        assert float(str(result.numbers["with"])) > 0.1
        assert result.facts == ("with",)
        (bars,) = (picture for picture in pictures(result) if isinstance(picture, BarChart))
        assert max(bars.values) == result.numbers["with"]
        before, _ = (picture.numbers for picture in pictures(result) if isinstance(picture, Heatmap))
        np.testing.assert_allclose(before, asked.tensor("encoder.memory")[:, :64], atol=1e-4)


def the_formula_says_whether_order_counts(asked: Asked) -> None:
    for positions, sign in ((False, "="), (True, r"\neq")):
        result = asked.run_experiment("positions", "shuffle", positions=positions)
        variant = step_variant("positions", "shuffle", result)
        assert variant.formula == rf"f(\pi(x)) {sign} \pi(f(x))"
        (bars,) = (picture for picture in pictures(result) if isinstance(picture, BarChart))
        (line,) = variant.numbers
        assert float(filled(line, result.numbers).partition(" = ")[2]) == max(bars.values)


def numbers_in(line: str) -> list[float]:
    """All numbers of a line, in order."""
    return [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", line.replace("−", "-"))]


def one_matrix_shifts_every_position(asked: Asked) -> None:
    table = sinusoidal_table(80, 64).double().numpy()
    for pair, shift in ((0, 3), (4, 12), (31, 1)):
        results = [
            asked.run_experiment("positions", "rotation", pair=pair, shift=shift, position=position)
            for position in (0, 7, 24)
        ]
        matrices = [
            next(picture for picture in pictures(result) if isinstance(picture, MatrixProduct)).matrices[0].rows
            for result in results
        ]
        assert matrices[0] == matrices[1] == matrices[2]
        matrix = np.array([numbers_in(" ".join(row)) for row in matrices[0]])
        before, after = (table[start : start + 64, 2 * pair : 2 * pair + 2] for start in (0, shift))
        assert np.abs(before @ matrix.T - after).max() < 1e-5
        for result in results:
            assert float(str(result.numbers["error"])) < EQUAL_TOLERANCE
            assert result.correct_option == "same"
        if pair < 31:  # adding the same numbers everywhere is no shift, unless the wave is almost straight
            assert float(str(results[0].numbers["fixed_error"])) > 0.1


def the_rotation_can_be_checked_by_hand(asked: Asked) -> None:
    table = sinusoidal_table(80, 64).double().numpy()
    for position, shift, pair in ((4, 3, 4), (24, 12, 0), (0, 0, 31), (11, 5, 2)):
        result = asked.run_experiment("positions", "rotation", position=position, shift=shift, pair=pair)
        sums = next(picture for picture in pictures(result) if isinstance(picture, Table)).rows
        for (_, left, right), dimension in zip(sums, (2 * pair, 2 * pair + 1), strict=True):
            one, two, three, four = numbers_in(str(left))
            (printed,) = numbers_in(str(right))
            assert abs(one * two + three * four - printed) < 0.6e-4
            assert abs(printed - table[position + shift, dimension]) < 0.6e-4
        angle = shift * 10_000 ** (-2 * pair / 64)
        printed_angles = [float(str(result.numbers[name]).replace("−", "-")) for name in ("angle", "cos", "sin")]
        np.testing.assert_allclose(printed_angles, [angle, math.cos(angle), math.sin(angle)], atol=1e-6)
        circle = next(picture for picture in pictures(result) if isinstance(picture, UnitCircle))
        for point, place in zip(circle.points, (position, position + shift), strict=True):
            np.testing.assert_allclose([point.x, point.y], table[place, 2 * pair : 2 * pair + 2], atol=1e-6)
