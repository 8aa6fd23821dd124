"""The phrases and formulas of a lesson step for the current model, in notebooks.

The page does this in `widgets/lessons/step-phrases.js`, `step-scene.js` and `step-numbers.js`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from headlight.viz.lessons.lesson import FormulaVariant, Step
from headlight.viz.lessons.result_figures import format_number

ACTIVATION_LABELS = {
    "relu": "ReLU", "gelu": "GELU", "gelu_tanh": "GELU", "silu": "SiLU", "swiglu": "SiLU", "geglu": "GELU",
    "reglu": "ReLU",
}  # fmt: skip
GATED = ("swiglu", "geglu", "reglu")
ModelValues = Mapping[str, Any]  # result of `tensors.model_values`


def variants(model: ModelValues, facts: Sequence[str] = ()) -> list[str]:
    """Return the variants that apply to the model, most specific first. `facts` are variants from an experiment."""
    positions = model["positions"]
    is_added = positions in ("sinusoidal", "sinusoidal_halves", "learned")
    return [
        *facts,
        "rms" if model["norm"] == "rms" else "layer",
        "pre" if model["norm_first"] else "post",
        "beside" if model["beside"] else "summed",
        positions,
        *(["closed"] if model["closed_waves"] else []),
        *(["biased"] if positions in ("alibi", "relative") else []),
        "added" if is_added else "elsewhere",
        "scaled" if model["scale_scores"] else "unscaled",
        "enlarged" if model["scale_embedding"] else "plain",
        "relu" if model["activation"] == "relu" else "bent",
        *(["gated"] if model["activation"] in GATED else []),
    ]


def order_steps(steps: Sequence[Step], active_variants: Sequence[str]) -> list[Step]:
    """Return the steps in the order for the model: a step with `moved` follows another one in some models."""
    moved_steps = [step for step in steps if step.moved and step.moved[0] in active_variants]
    result = [step for step in steps if step not in moved_steps]
    for step in moved_steps:
        names = [other.name for other in result]
        result.insert(names.index(step.moved[1] if step.moved else "") + 1, step)
    return result


def find_phrase(table: Mapping[str, str], base: str, active_variants: Sequence[str]) -> str:
    """Return the phrase of the first matching variant, else that of `base`, else an empty string."""
    return next(
        (table[key] for variant in active_variants if (key := f"{base}_{variant}") in table), table.get(base, "")
    )


def step_formula(step: Step, active_variants: Sequence[str]) -> Step | FormulaVariant:
    """Return the first formula variant whose conditions are all met, else the step itself."""
    return next((variant for variant in step.formula_variants if set(variant.conditions) <= set(active_variants)), step)


def fill_phrase(template: str, values: Mapping[str, str]) -> str:
    """Replace each `{name}` that has a value."""
    return re.sub(r"\{(\w+)\}", lambda match: values.get(match[1], match[0]), template)


def fill_formula(formula: str, values: Mapping[str, str]) -> str:
    """Replace each `@name`, also in inserted values. A name without a value becomes "?"."""
    while (result := re.sub(r"@(\w+)", lambda match: values.get(match[1], r"\text{?}"), formula)) != formula:
        formula = result
    return formula


def format_model_numbers(model: ModelValues) -> dict[str, str]:
    """Return sizes and scales by their names in phrases and formulas."""
    root = math.sqrt(model["d_model"]) if model["scale_embedding"] else 1.0
    divisor = math.sqrt(model["head_width"]) if model["scale_scores"] else 1.0
    names = ("d_model", "d_ff", "heads", "head_width", "encoder_layers", "decoder_layers")
    return {
        **{name: str(model[name]) for name in names},
        "joined_width": str(model["heads"] * model["head_width"]),
        "source_vocabulary": f"{model['source_vocabulary']:,}",
        "target_vocabulary": f"{model['target_vocabulary']:,}",
        "last_id": f"{model['source_vocabulary'] - 1:,}",
        "embedding_scale": format_number(root, 3),
        "embedding_root": f"{'=' if root.is_integer() else '≈'} {format_number(root, 3)}",
        "divisor": format_number(divisor, 3),
    } | make_formula_parts(model)


def make_formula_parts(model: ModelValues) -> dict[str, str]:
    """Return the LaTeX parts of formulas that depend on the model."""

    sublayer_input = rf"\text{{{'RMS' if model['norm'] == 'rms' else 'LN'}}}(x)" if model["norm_first"] else "x"

    def optional_term(is_present: bool, name: str) -> str:
        return rf"\, + {name}" if is_present else r"\,"

    def linear(letter: str) -> str:
        return f"{sublayer_input} W_{letter} {optional_term(model['feed_forward_bias'], f'b_{letter}')}"

    is_relu = model["activation"] == "relu"
    activation = ACTIVATION_LABELS[model["activation"]]
    inner = linear("g" if model["activation"] in GATED else "1")
    activated = rf"\max(0, {inner})" if is_relu else rf"\text{{{activation}}}({inner})"
    hidden = rf"({activated} \cdot ({linear('1')}))" if model["activation"] in GATED else activated
    biases = {f"its_b_{name}": optional_term(model["attention_bias"], f"b_{name.upper()}") for name in "qkvo"}
    return biases | {
        "its_x": sublayer_input,
        "its_hidden": hidden,
        "its_b_2": optional_term(model["feed_forward_bias"], "b_2"),
        "its_base": f"{model['rotary_base']:g}",
        "its_y": r"\frac{y}{\sqrt{d}}" if model["scale_output"] else r"\, y",
        "its_c": optional_term(model["final_logits_bias"], "c_t"),
    }
