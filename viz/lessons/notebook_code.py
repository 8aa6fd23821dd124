"""The code of a notebook cell: computes the tensors of a step's figures with NumPy alone.

A comment `# @name` at the end of a line stands for the phrase `lesson_code_name`. Comments about shapes are not
translated.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Mapping, Sequence

from headlight.viz.lessons.lesson import Figure, Product, Step, TensorView

LAYER_PATHS = {
    "encoder": ("encoder.layers.{layer}", "self_attention"),
    "decoder": ("decoder.layers.{layer}", "self_attention"),
    "cross": ("decoder.layers.{layer}", "cross_attention"),
}
ATTENTION_TENSORS = ("queries", "keys", "values", "scores", "mixed", "attended")
HEAD_TENSORS = ("queries", "keys", "values", "scores", "mixed")
LAYER_TENSORS = ("feed_forward.hidden", "feed_forward.output")
# Derived tensors: their inputs and the line that computes them.
DERIVED_TENSORS: dict[str, tuple[tuple[str, ...], str]] = {
    "raw": (("queries", "keys"), "raw = queries @ keys.T  # [queries, keys]"),
    "scaled": (("raw",), "scaled = raw / {divisor}"),
    "query": (("queries",), "query = queries[row]"),
    "key": (("keys",), "key = keys[column]"),
    "products": (("query", "key"), "products = query * key  # @products"),
    "weighted": (("weights", "values"), "weighted = weights[row][:, None] * values  # [keys, width]"),
    "mixture": (("weighted",), "mixture = weighted.sum(axis=0)"),
}
MASK_CODE = "scores = np.where(np.tri(len(scores), dtype=bool), scores, -np.inf)  # @masked"
SOFTMAX_CODE = (
    "powers = np.exp(scores - scores.max(axis=1, keepdims=True))",
    "weights = powers / powers.sum(axis=1, keepdims=True)  # @ones",
    "np.testing.assert_allclose(weights, lesson.translation.attention_map({kind!r}, layer, head).weights, atol=1e-4)",
)
SOFTMAX_TABLE_CODE = (
    'pd.DataFrame({"s": scores[row], "e^s": np.exp(scores[row]), "weight": weights[row]}, index=lesson.tokens).round(4)'
)
IDS_CODE = 'pd.DataFrame({"id": [token.id for token in lesson.translation.source_tokens]}, index=lesson.tokens).T'
CANDIDATES_CODE = (
    "candidates = lesson.logits()[row]",
    'found = pd.DataFrame(candidates["best"], columns=["token", "id", "logit"])',
)
LOGIT_CODE = [
    'y = tensor("decoder.final")[row]',
    'table = [tensor(f"decoder.output.words.weight[{token}]") for token in found["id"]]',
    'found["y · E[t]"] = [float(y @ vector) for vector in table]  # @logit',
]
PROBABILITY_CODE = 'found["probability"] = np.exp(found["logit"] - candidates["log_sum"])'


class CellCode:
    """The lines of a cell, which compute each tensor once."""

    def __init__(self, step: Step, divisor: str, scale: str) -> None:
        self.step, self.divisor, self.scale = step, divisor, scale
        self.lines: list[str] = []
        self.computed_names: set[str] = set()

    def variable_for(self, name: str) -> str:
        """Return the variable of a tensor, and add the lines that compute it if they are missing."""
        variable = name.replace(".", "_")
        if name in self.computed_names:
            return variable
        self.computed_names.add(name)
        if name in DERIVED_TENSORS:
            operands, line = DERIVED_TENSORS[name]
            for operand in operands:
                self.variable_for(operand)
            self.lines.append(line.format(divisor=self.divisor))
        elif name == "weights":
            self.variable_for("scores")
            masked = [MASK_CODE] if self.step.kind == "decoder" else []
            self.lines += [*masked, *(line.format(kind=self.step.kind) for line in SOFTMAX_CODE)]
        elif name == "joined":
            path = self.path("mixed")
            self.lines.append(f"mixed = tensor({path})  # [heads, tokens, width]")
            self.lines.append("joined = mixed.swapaxes(0, 1).reshape(mixed.shape[1], -1)  # [tokens, heads × width]")
        elif name == "stages":
            self.lines.append('streams = ["encoder.embedding.stream"]')
            stream_path = "encoder.layers.{each}.around_feed_forward.stream"
            self.lines.append(
                f'streams += [f"{stream_path}" for each in range(lesson.translation.attention.encoder.shape[0])]'
            )
            self.lines.append("stages = np.stack([tensor(stream)[row] for stream in streams])")
        else:
            index = "[head]" if name in HEAD_TENSORS else ""
            self.lines.append(f"{variable} = tensor({self.path(name)}){index}")
        return variable

    def input_for(self, name: str, active_variants: Sequence[str]) -> str:
        """Return the variable of a product's input, and add the lines that compute it."""
        parts = {"attention_input": "around_{attention}", "feed_forward_input": "around_feed_forward"}
        if name not in parts:
            return self.variable_for(name)
        layer_path, attention = LAYER_PATHS[self.step.kind]
        around = parts[name].format(attention=attention)
        self.lines.append(
            f'x = tensor(f"{layer_path}.{around}.{"normed" if "pre" in active_variants else "carried"}")  # @input'
        )
        return "x"

    def path(self, name: str) -> str:
        """Return the path of a probe as a Python literal."""
        layer_path, attention = LAYER_PATHS[self.step.kind]
        if name in ATTENTION_TENSORS:
            return f'f"{layer_path}.{attention}.{name}"'
        if name in LAYER_TENSORS:
            return f'f"{layer_path}.{name}"'
        if name.startswith("around_attention."):
            part = {"gamma": "norm.weight", "beta": "norm.bias"}.get(name.split(".")[1], name.split(".")[1])
            return f'f"{layer_path}.around_{attention}.{part}"'
        return f'"{name}"'

    def expression(self, view: TensorView) -> str:
        """Return the expression for one part of a figure."""
        result = self.variable_for(view.path)
        if view.add:
            result = f"{result} + {self.variable_for(view.add)}"
        if view.subtract:
            result = f"{result} - {self.variable_for(view.subtract)}"
        return (
            f"{result} / {self.scale if view.divide_by == 'embedding_scale' else self.divisor}"
            if view.divide_by
            else result
        )


def write_step_code(step: Step, active_variants: Sequence[str], divisor: str, scale: str) -> str:
    """Return the lines of a step's cell; the notebook displays the last.

    `divisor` is the divisor of the scores and `scale` that of the embeddings, both as code.
    """
    code = CellCode(step, divisor, scale)
    row = "token" if step.kind == "encoder" else "written"
    displayed: list[str] = []
    for figure in step.figures:
        if figure.form == "tokens":
            return IDS_CODE
        if figure.form in ("histogram", "bars"):
            extra = [PROBABILITY_CODE] if figure.form == "bars" else LOGIT_CODE
            return "\n".join([f"row = {row}", *CANDIDATES_CODE, *extra, "found.round(4)"])
        if figure.form == "table":
            code.variable_for("weights")
            displayed.append(SOFTMAX_TABLE_CODE)
            continue
        for view in figure.tensors:
            if view.visible_if and view.visible_if not in active_variants:
                continue
            value = code.expression(view)
            if not value.isidentifier():
                name = f"{view.name}_" if hasattr(builtins, view.name) else view.name  # sum
                code.lines.append(f"{name} = {value}")
                value = name
            displayed.append(write_map_call(step, figure, view, value))
    for product in step.products:
        if not product.visible_if or product.visible_if in active_variants:
            code.lines += write_product_code(code, product, active_variants)
    selection = [
        f"{name} = {value}"
        for name, value in (("row", row), ("column", "key_token"))
        if any(re.search(rf"\b{name}\b", line) for line in (*code.lines, *displayed))
    ]
    if any("{layer}" in line or "[head]" in line for line in code.lines):
        selection.insert(0, f"layer, head = {step.kind}")
    return "\n".join([*selection, *code.lines, *_wrap_in_display(displayed)])


def write_product_code(code: CellCode, product: Product, active_variants: Sequence[str]) -> list[str]:
    """Return the lines that compute a product x·W with the model's matrix, and compare it with the model's tensor."""
    layer_path, _ = LAYER_PATHS[code.step.kind]
    path, name = f"{layer_path}.{product.weight}", product.name if product.name.isidentifier() else f"h_{product.name}"
    x = code.input_for(product.row, active_variants)
    lines = [f'{name} = lesson.linear({x}, f"{path}")  # @product']
    if product.output in HEAD_TENSORS:
        lines.append(
            f"{name} = {name}.reshape(len({name}), -1, {product.output}.shape[-1])[:, head]  # [tokens, width]"
        )
    is_activated = product.output == "feed_forward.hidden"
    if is_activated and "relu" in active_variants and "gated" not in active_variants:
        lines.append(f"{name} = np.maximum(0, {name})")
    is_compared = bool(product.output) and not (
        is_activated and ("relu" not in active_variants or "gated" in active_variants)
    )
    if is_compared and not (product.output in HEAD_TENSORS and "rotary" in active_variants):
        lines.append(f"np.testing.assert_allclose({name}, {product.output.replace('.', '_')}, atol=1e-3)  # @same")
    return lines


def write_map_call(step: Step, figure: Figure, view: TensorView, value: str) -> str:
    """Return the call that shows a tensor as the page's map, with the names of its rows and columns."""
    side_names = ("lesson.tokens", "lesson.tokens") if step.kind == "encoder" else ("lesson.row_names", "lesson.tokens")
    if step.kind == "decoder":
        side_names = "lesson.row_names", "lesson.decoder_tokens"
    names = {"tokens": side_names[0], "keys": side_names[1]}.get(view.rows, "")
    arguments = [value, *([names] if names else [])]
    if figure.square:
        arguments.append(side_names[1])
    if figure.scale != "signed":
        arguments.append(f'scale="{figure.scale}"')
    if figure.masked:
        arguments.append("causal=True")
    return f"lesson.map({', '.join(arguments)})"


def translate_comments(code: str, table: Mapping[str, str]) -> str:
    """Replace the `# @name` comments of the code with phrases of a table."""
    return re.sub(r"  # @(\w+)$", lambda match: f"  # {table[f'lesson_code_{match[1]}']}", code, flags=re.MULTILINE)


def _wrap_in_display(names: Sequence[str]) -> list[str]:
    """Wrap all expressions but the last in `display()`."""
    return [*(f"display({expression})" for expression in names[:-1]), *names[-1:]]
