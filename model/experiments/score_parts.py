"""The parts of a score: why a head looks at a key, as a sum over everything that wrote into the key or the query.

A softmax sees only differences, so the score of a key is taken above the average score of its row. The vector that a
key is projected from is a sum: the token's embedding, its position, the output of each earlier head and of each earlier
feed-forward network, and biases. With the scales of the norms fixed at their values of this run, the score is linear in
these summands, so each has a share; the shares sum to the score (direct paths of Elhage et al. 2021,
https://transformer-circuits.pub/2021/framework). The same holds for the query, with the keys as they are.

A part of a head is a sum over the tokens that the head read. `weight_without` computes the weight anew without a part.
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
from headlight.model.experiments.scoring import forced_logits
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
    """What one writer adds to a score. `distance` is the position bias that some models add to scores."""

    writer: Writer
    value: float
    kind: Kind | None = None  # of a head
    layer: int | None = None  # of a head or a network
    head: int | None = None
    reads: tuple[float, ...] = ()  # of a head: its value as a sum over the tokens that it read

    @property
    def place(self) -> tuple[str, Kind | None, int | None, int | None]:
        """What tells it apart from the other parts."""
        return self.writer, self.kind, self.layer, self.head


@dataclass(frozen=True)
class ScoreParts:
    """A score above the average of its row, as a sum of parts, the largest first."""

    side: Side  # whose parts: the key's or the query's
    score: float
    parts: tuple[ScorePart, ...]


@dataclass(frozen=True)
class _Run:
    """Tensors of one run: what was written into the stream, and the row's query and keys."""

    outputs: dict[str, Tensor]  # probe → output; a gradient can be taken
    read: dict[str, Tensor]  # other captured tensors
    query: Tensor  # [width]
    keys: Tensor  # [keys, width]
    bias: Tensor  # [keys]: position bias of the row's scores
    allowed: Tensor  # [keys]: True if not masked
    scale: float

    def score(self, query: Tensor, keys: Tensor, column: int) -> Tensor:
        """Return the score of a key above the average of the row, without the bias."""
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
    _check(translation, cell)
    stream = _stream(cell.kind, side)
    with torch.inference_mode(mode=False), torch.enable_grad(), FixedNonlinearities(gated=False):
        run = _run(translator, translation, cell, stream, lambda value, name: value.detach().requires_grad_())
        fixed = (run.query.detach(), run.keys) if side == "key" else (run.query, run.keys.detach())
        score = run.score(*fixed, cell.column)
        names = list(run.outputs)
        gradients = torch.autograd.grad(score, list(run.outputs.values()), allow_unused=True)
    slopes = {name: slope for name, slope in zip(names, gradients, strict=True) if slope is not None}
    parts = list(_output_parts(run, stream, slopes))
    rest = float(score.detach()) - sum(part.value for part in parts)
    parts.append(ScorePart(writer="biases", value=rest))
    total = float(score.detach())
    if run.bias.any():
        distance = float(run.bias[cell.column] - run.bias[run.allowed].mean())
        parts.append(ScorePart(writer="distance", value=distance))
        total += distance
    return ScoreParts(side, total, tuple(sorted(parts, key=lambda part: -abs(part.value))))


def weight_without(
    translator: Translator, translation: Translation, cell: Cell, side: Side, parts: Sequence[ScorePart]
) -> list[float]:
    """Return the cell's weight, then its weight without each part, each computed by a run of its own.

    A run leaves the part out of the keys (or the query) of this head only; all else that was written stays, and the
    norms are computed anew.
    """
    _check(translation, cell)
    stream = _stream(cell.kind, side)
    with torch.inference_mode():
        run = _run(translator, translation, cell, stream, lambda value, name: value)
        results = [run.weights(run.query, run.keys)[cell.column]]
        for part in parts:
            if part.writer == "distance":
                results.append(replace(run, bias=torch.zeros_like(run.bias)).weights(run.query, run.keys)[cell.column])
                continue
            others = _leave_out(run, stream, part)
            other = _run(translator, translation, cell, stream, _replace_outputs(others))
            query, keys = (run.query, other.keys) if side == "key" else (other.query, run.keys)
            results.append(run.weights(query, keys)[cell.column])
    return [float(weight) for weight in results]


def _run(translator: Translator, translation: Translation, cell: Cell, stream: str, replace_output: Edit) -> _Run:
    """Run the translation. `replace_output` changes what is written into the stream, the encoder's or the decoder's."""
    path = attention_path(cell.kind, cell.layer)
    stack = getattr(translator.model, stream)
    heads = [attention_path(kind, layer) for layer in range(len(stack.layers)) for kind in STREAM_KINDS[stream]]
    networks = [f"{stream}.layers.{layer}.feed_forward.output" for layer in range(len(stack.layers))]
    output_names = {f"{stream}.embedding.positioned", *(f"{head}.mixed" for head in heads), *networks}
    captured = {
        f"{stream}.embedding.embedded",
        *(f"{head}.{probe}" for head in heads for probe in ("weights", "values")),
    }
    own = {f"{path}.{probe}" for probe in ("queries", "keys", "scores")}
    outputs: dict[str, Tensor] = {}

    def track(value: Tensor, name: str) -> Tensor:
        if name not in output_names:
            return value
        outputs[name] = replace_output(value, name)
        return outputs[name]

    with (
        translator.intervention_context(translation.request)(),
        watch(translator.model, *output_names, *captured, *own, edit=track) as seen,
    ):
        forced_logits(translator, translation, len(translation.target_tokens), 1)
    query, keys = seen[f"{path}.queries"][0, cell.head, cell.row], seen[f"{path}.keys"][0, cell.head]
    scale = float(cast("MultiHeadAttention", translator.model.get_submodule(path)).scale)
    allowed = torch.tensor(translation.attention_map(cell.kind, cell.layer, cell.head).allowed[cell.row])
    bias = seen[f"{path}.scores"][0, cell.head, cell.row].detach() - (keys @ query).detach() * scale
    has_bias = cell.kind != "cross" and stack.embedding.positions.bias(1, 1) is not None
    return _Run(
        outputs=outputs,
        read={name: seen[name].detach() for name in captured},
        query=query,
        keys=keys,
        bias=bias if has_bias else torch.zeros_like(bias),
        allowed=allowed.to(keys.device),
        scale=scale,
    )


def _replace_outputs(outputs: dict[str, Tensor]) -> Edit:
    return lambda _, name: outputs[name]


def _output_parts(run: _Run, stream: str, slopes: dict[str, Tensor]) -> Iterator[ScorePart]:
    """Yield the part of each output that reaches the score: the output times the slope, summed over the tokens."""
    for name, slope in slopes.items():
        product = run.outputs[name].detach().double() * slope.double()
        if name.endswith(".positioned"):
            word = _word_columns(run, stream, slope)
            yield ScorePart(writer="word", value=word)
            if rest := float(product.sum()) - word:
                yield ScorePart(writer="position", value=rest)
            continue
        layer = int(name.split(".")[2])
        if name.endswith(".feed_forward.output"):
            yield ScorePart(writer="network", layer=layer, value=float(product.sum()))
            continue
        path = name.removesuffix(".mixed")
        weights, values = (run.read[f"{path}.{probe}"][0].double() for probe in ("weights", "values"))
        reads = ((weights.transpose(1, 2) @ slope[0].double()) * values).sum(dim=-1)  # [heads, tokens]
        kind: Kind = "cross" if path.endswith("cross_attention") else "encoder" if stream == "encoder" else "decoder"
        for head, value in enumerate(product[0].sum(dim=(1, 2)).tolist()):
            own = tuple(reads[head].tolist())
            yield ScorePart(writer="head", kind=kind, layer=layer, head=head, value=value, reads=own)


def _word_columns(run: _Run, stream: str, slope: Tensor) -> float:
    """Return the part of the word: of all columns, or of the first ones if positions are next to it."""
    embedded = run.read[f"{stream}.embedding.embedded"].double()
    return float((embedded * slope[..., : embedded.shape[-1]].double()).sum())


def _leave_out(run: _Run, stream: str, part: ScorePart) -> dict[str, Tensor]:
    """Return what was written, without one part."""
    outputs = dict(run.outputs)
    embedding, embedded = f"{stream}.embedding.positioned", run.read[f"{stream}.embedding.embedded"]
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


def _stream(kind: Kind, side: Side) -> str:
    """Return the stack that the keys or queries are projected from."""
    return "encoder" if kind == "encoder" or (kind == "cross" and side == "key") else "decoder"


def _check(translation: Translation, cell: Cell) -> None:
    layers, heads, rows, columns = translation.attention.of(cell.kind).shape
    sizes = {"layer": layers, "head": heads, "row": rows, "column": columns}
    for name, size in sizes.items():
        if not 0 <= getattr(cell, name) < size:
            raise range_error(name, getattr(cell, name), 0, size - 1)
    if not translation.attention_map(cell.kind, cell.layer, cell.head).allowed[cell.row, cell.column]:
        raise RequestError("masked_cell", field="column")
