"""The parts of an attention score: one part per output in the residual stream of the key or of the query.

Softmax depends only on differences of scores, so a score is measured from the mean score of its row. A key is projected
from a vector of the residual stream, which is a sum: the token's embedding, its position, the outputs of earlier heads
and feed-forward networks, and biases. If the scales of norms are constants with the values of this run, the score is
linear in these summands. Each summand contributes a part, and the parts sum to the score (direct paths of Elhage et al.
2021, https://transformer-circuits.pub/2021/framework). For the parts of the query, keys are constants instead.

The part of a head is a sum over the tokens that it attends to. `weight_without` recomputes a weight without a part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, cast

import torch
from torch import Tensor

from headlight.model.core.attention import MultiHeadAttention
from headlight.model.core.probes import Edit, watch
from headlight.model.core.transformer import attention_path
from headlight.model.errors import RequestError, range_error
from headlight.model.experiments.fixed_nonlinearities import FixedNonlinearities
from headlight.model.experiments.scoring import compute_forced_logits
from headlight.model.records import Kind, Translation
from headlight.model.translate.translator import Translator

Side = Literal["key", "query"]
SIDES: tuple[Side, ...] = ("key", "query")
Writer = Literal["word", "position", "head", "network", "biases", "distance"]
STREAM_KINDS: dict[str, tuple[Kind, ...]] = {"encoder": ("encoder",), "decoder": ("decoder", "cross")}


class Cell(NamedTuple):
    """A cell of an attention map."""

    kind: Kind
    layer: int
    head: int
    row: int
    column: int


@dataclass(frozen=True, kw_only=True)
class ScorePart:
    """The contribution to a score of one writer, a module that adds its output to the residual stream.

    The writer `distance` is the position bias that some models add to scores.
    """

    writer: Writer
    value: float
    kind: Kind | None = None  # of a head
    layer: int | None = None  # of a head or a feed-forward network
    head: int | None = None
    reads: tuple[float, ...] = ()  # of a head: summand of `value` per token that it attends to

    @property
    def place(self) -> tuple[str, Kind | None, int | None, int | None]:
        """Writer, kind, layer and head, which identify the part."""
        return self.writer, self.kind, self.layer, self.head


@dataclass(frozen=True)
class ScoreParts:
    """A score minus the mean of its row, as a sum of parts."""

    side: Side  # whether the parts are those of the key or of the query
    score: float
    parts: tuple[ScorePart, ...]  # largest absolute value first


@dataclass(frozen=True)
class _CapturedRun:
    """Tensors of one run: the outputs that are added to the residual stream, and the query and keys of a row."""

    outputs: dict[str, Tensor]  # probe → output, with gradients if `score_parts` needs them
    captured: dict[str, Tensor]  # probe → weights and values of heads, word embeddings
    query: Tensor  # [width]
    keys: Tensor  # [keys, width]
    bias: Tensor  # [keys]: position bias of the row's scores
    allowed: Tensor  # [keys]: True if not masked
    scale: float

    def score(self, query: Tensor, keys: Tensor, column: int) -> Tensor:
        """Return the score of a key minus the mean of the row, without the position bias."""
        return (query @ (keys[column] - keys[self.allowed].mean(dim=0))) * self.scale

    def weights(self, query: Tensor, keys: Tensor) -> Tensor:
        """Return the weights of the row, `[keys]`."""
        scores = (keys @ query) * self.scale + self.bias
        return scores.masked_fill(~self.allowed, -torch.inf).softmax(dim=-1)


def score_parts(translator: Translator, translation: Translation, cell: Cell, side: Side) -> ScoreParts:
    """Return the parts of a cell's score. The request's interventions apply.

    Raises:
        RequestError: the cell does not exist or is masked.
    """
    _check_cell(translation, cell)
    stream = _stack_name(cell.kind, side)
    with torch.inference_mode(mode=False), torch.enable_grad(), FixedNonlinearities(gated=False):
        run = _capture_run(translator, translation, cell, stream, lambda value, name: value.detach().requires_grad_())
        fixed = (run.query.detach(), run.keys) if side == "key" else (run.query, run.keys.detach())
        score = run.score(*fixed, cell.column)
        names = list(run.outputs)
        gradients = torch.autograd.grad(score, list(run.outputs.values()), allow_unused=True)
    slopes = {name: slope for name, slope in zip(names, gradients, strict=True) if slope is not None}
    parts = list(_compute_output_parts(run, stream, slopes))
    bias_value = float(score.detach()) - sum(part.value for part in parts)
    parts.append(ScorePart(writer="biases", value=bias_value))
    total = float(score.detach())
    if run.bias.any():
        distance = float(run.bias[cell.column] - run.bias[run.allowed].mean())
        parts.append(ScorePart(writer="distance", value=distance))
        total += distance
    return ScoreParts(side, total, tuple(sorted(parts, key=lambda part: -abs(part.value))))


def weight_without(
    translator: Translator, translation: Translation, cell: Cell, side: Side, parts: Sequence[ScorePart]
) -> list[float]:
    """Return the cell's weight, then its weight without each part. Each part needs another run.

    Only the keys (or the query) of this head lose the part. Other outputs in the residual stream do not change, and
    norms are recomputed.
    """
    _check_cell(translation, cell)
    stream = _stack_name(cell.kind, side)
    with torch.inference_mode():
        run = _capture_run(translator, translation, cell, stream, lambda value, name: value)
        results = [run.weights(run.query, run.keys)[cell.column]]
        for part in parts:
            if part.writer == "distance":
                results.append(replace(run, bias=torch.zeros_like(run.bias)).weights(run.query, run.keys)[cell.column])
                continue
            ablated_outputs = _compute_outputs_without(run, stream, part)
            ablated_run = _capture_run(translator, translation, cell, stream, _replace_outputs(ablated_outputs))
            query, keys = (run.query, ablated_run.keys) if side == "key" else (ablated_run.query, run.keys)
            results.append(run.weights(query, keys)[cell.column])
    return [float(weight) for weight in results]


def _capture_run(
    translator: Translator, translation: Translation, cell: Cell, stream: str, replace_output: Edit
) -> _CapturedRun:
    """Run the translation. `replace_output` edits the outputs that are added to the stream, "encoder" or "decoder"."""
    path = attention_path(cell.kind, cell.layer)
    stack = getattr(translator.model, stream)
    heads = [attention_path(kind, layer) for layer in range(len(stack.layers)) for kind in STREAM_KINDS[stream]]
    networks = [f"{stream}.layers.{layer}.feed_forward.output" for layer in range(len(stack.layers))]
    output_names = {f"{stream}.embedding.positioned", *(f"{head}.mixed" for head in heads), *networks}
    captured_names = {
        f"{stream}.embedding.embedded",
        *(f"{head}.{probe}" for head in heads for probe in ("weights", "values")),
    }
    score_probes = {f"{path}.{probe}" for probe in ("queries", "keys", "scores")}
    outputs: dict[str, Tensor] = {}

    def track(value: Tensor, name: str) -> Tensor:
        if name not in output_names:
            return value
        outputs[name] = replace_output(value, name)
        return outputs[name]

    with (
        translator.intervention_context(translation.request)(),
        watch(translator.model, *output_names, *captured_names, *score_probes, edit=track) as activations,
    ):
        compute_forced_logits(translator, translation, len(translation.target_tokens), 1)
    query, keys = activations[f"{path}.queries"][0, cell.head, cell.row], activations[f"{path}.keys"][0, cell.head]
    scale = float(cast("MultiHeadAttention", translator.model.get_submodule(path)).scale)
    allowed = torch.tensor(translation.attention_map(cell.kind, cell.layer, cell.head).allowed[cell.row])
    bias = activations[f"{path}.scores"][0, cell.head, cell.row].detach() - (keys @ query).detach() * scale
    has_bias = cell.kind != "cross" and stack.embedding.positions.bias(1, 1) is not None
    return _CapturedRun(
        outputs=outputs,
        captured={name: activations[name].detach() for name in captured_names},
        query=query,
        keys=keys,
        bias=bias if has_bias else torch.zeros_like(bias),
        allowed=allowed.to(keys.device),
        scale=scale,
    )


def _replace_outputs(outputs: dict[str, Tensor]) -> Edit:
    return lambda _, name: outputs[name]


def _compute_output_parts(run: _CapturedRun, stream: str, slopes: dict[str, Tensor]) -> Iterator[ScorePart]:
    """Yield the part of each output: the output times the gradient of the score, summed over tokens."""
    for name, slope in slopes.items():
        product = run.outputs[name].detach().double() * slope.double()
        if name.endswith(".positioned"):
            word = _sum_word_part(run, stream, slope)
            yield ScorePart(writer="word", value=word)
            if position := float(product.sum()) - word:
                yield ScorePart(writer="position", value=position)
            continue
        layer = int(name.split(".")[2])
        if name.endswith(".feed_forward.output"):
            yield ScorePart(writer="network", layer=layer, value=float(product.sum()))
            continue
        path = name.removesuffix(".mixed")
        weights, values = (run.captured[f"{path}.{probe}"][0].double() for probe in ("weights", "values"))
        reads = ((weights.transpose(1, 2) @ slope[0].double()) * values).sum(dim=-1)  # [heads, tokens]
        kind: Kind = "cross" if path.endswith("cross_attention") else "encoder" if stream == "encoder" else "decoder"
        for head, value in enumerate(product[0].sum(dim=(1, 2)).tolist()):
            head_reads = tuple(reads[head].tolist())
            yield ScorePart(writer="head", kind=kind, layer=layer, head=head, value=value, reads=head_reads)


def _sum_word_part(run: _CapturedRun, stream: str, slope: Tensor) -> float:
    """Return the part of the word embedding, which has all dimensions, or the first ones if positions are appended."""
    embedded = run.captured[f"{stream}.embedding.embedded"].double()
    return float((embedded * slope[..., : embedded.shape[-1]].double()).sum())


def _compute_outputs_without(run: _CapturedRun, stream: str, part: ScorePart) -> dict[str, Tensor]:
    """Return the outputs without one part."""
    outputs = dict(run.outputs)
    embedding, embedded = f"{stream}.embedding.positioned", run.captured[f"{stream}.embedding.embedded"]
    width = embedded.shape[-1]
    if part.writer == "word":
        outputs[embedding] = torch.cat(
            [outputs[embedding][..., :width] - embedded, outputs[embedding][..., width:]], dim=-1
        )
    elif part.writer == "position":
        outputs[embedding] = torch.cat([embedded, torch.zeros_like(outputs[embedding][..., width:])], dim=-1)
    elif part.writer == "network":
        name = f"{stream}.layers.{part.layer}.feed_forward.output"
        outputs[name] = torch.zeros_like(outputs[name])
    elif part.writer == "head" and part.kind is not None and part.layer is not None:
        name = f"{attention_path(part.kind, part.layer)}.mixed"
        outputs[name] = outputs[name].clone()
        outputs[name][:, part.head] = 0
    else:
        raise ValueError(f"The part of the {part.writer} cannot be removed.")
    return outputs


def _stack_name(kind: Kind, side: Side) -> str:
    """Return the stack, "encoder" or "decoder", from whose stream the keys or queries are projected."""
    return "encoder" if kind == "encoder" or (kind == "cross" and side == "key") else "decoder"


def _check_cell(translation: Translation, cell: Cell) -> None:
    layers, heads, rows, columns = translation.attention.of(cell.kind).shape
    sizes = {"layer": layers, "head": heads, "row": rows, "column": columns}
    for name, size in sizes.items():
        if not 0 <= getattr(cell, name) < size:
            raise range_error(name, getattr(cell, name), 0, size - 1)
    if not translation.attention_map(cell.kind, cell.layer, cell.head).allowed[cell.row, cell.column]:
        raise RequestError("masked_cell", field="column")
