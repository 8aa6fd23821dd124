"""Last step of the lesson on norms: the effect of residual connections on the gradient."""

from __future__ import annotations

import math

from headlight.model.experiments.residual_depth import HIDDEN_FACTOR, WIDTH, measure_gradients_over_depth, run_layer
from headlight.viz.lessons.controls import Button, Choice, Slider
from headlight.viz.lessons.experiment import Experiment, ExperimentInput
from headlight.viz.lessons.lesson import Code, QuestionSpec, Step
from headlight.viz.lessons.result_figures import (
    CurveSeries,
    ExperimentResult,
    LinePlot,
    Phrase,
    Table,
    TextPhraseOrNumber,
)

DEPTHS = tuple(range(3, 25, 3))
DEPTH = Slider("depth", DEPTHS[0], DEPTHS[-1], 12, step=3)
INSIDE = Choice("inside", ("bare", "normed"), "bare")
OPTION_RATIOS = {"ten": 10.0, "thousand": 1e3, "million": 1e6}


def run_residual_experiment(inputs: ExperimentInput) -> ExperimentResult:
    """Measure the gradient at the first layer of stacks of every depth."""
    depth, seed, norm = inputs.values["depth"], inputs.values["seed"], inputs.values["inside"] == "normed"
    results = {count: measure_gradients_over_depth(count, seed, norm=norm) for count in DEPTHS}
    selected = results[depth]
    names = (("with_residual", "with_residual"), ("without_residual", "without"))
    depths = LinePlot(
        Phrase("first_layer"),
        DEPTHS,
        [
            CurveSeries(Phrase(name), [getattr(result, field)[0] for result in results.values()])
            for name, field in names
        ],
        Phrase("layers"),
        powers=("y",),
        mark=depth,
    )
    rows: list[list[TextPhraseOrNumber]] = [
        [str(layer + 1), selected.with_residual[layer], selected.without[layer]] for layer in range(depth)
    ]
    table = Table(
        Phrase("each_layer", {"depth": depth}),
        (Phrase("layer_number"), Phrase("with_residual"), Phrase("without_residual")),
        rows,
        highlighted_row=0,
    )
    bare = measure_gradients_over_depth(depth, seed, norm=False)
    ratio = bare.with_residual[0] / bare.without[0]
    numbers: dict[str, TextPhraseOrNumber] = {
        "depth": depth, "with": selected.with_residual[0], "without": selected.without[0],
        "width": WIDTH,
        "bare_with": bare.with_residual[0], "bare_without": bare.without[0],
        "factor": bare.without[0] ** (1 / depth), "hidden": HIDDEN_FACTOR * WIDTH,
        "share": selected.without[0] ** (1 / depth),
    }  # fmt: skip
    correct = min(OPTION_RATIOS, key=lambda name: abs(math.log(ratio / OPTION_RATIOS[name])))
    return ExperimentResult((depths, table), numbers, (inputs.values["inside"],), correct_option=correct)


RESIDUAL_STEP = Step(
    "residual",
    code=Code(run_layer, "return x + output"),
    formula=r"\frac{d(x + f(x))}{dx} = 1 + f'(x)",
    numbers=(r"|g_1| = @without \to @with",),
    experiment=Experiment(run_residual_experiment, (DEPTH, INSIDE, Button("seed"))),
    question=QuestionSpec("experiment", options=tuple(OPTION_RATIOS)),
    claims=("without_residuals_the_gradient_vanishes", "a_norm_saves_part_of_it"),
)
