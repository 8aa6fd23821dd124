"""Contributions of heads to the loss of a model, measured by removing heads or predicted by one backward pass.

A gate multiplies the output of each head, before the output projection. A gate of 0 removes the head. The gradient of
the loss with respect to all gates, in one backward pass, predicts the change: loss(0) − loss(1) ≈ −∂loss/∂gate
(https://arxiv.org/abs/1905.10650).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch

from headlight.model.external.attention_calls import AttentionCall, attention_calls, unsupported_model_error
from headlight.model.external.attention_sites import record_sites
from headlight.model.external.losses import LossInputs, loss_inputs
from headlight.model.external.switches import evaluation_mode
from headlight.model.recordings.recording import RecordingError, require_index
from headlight.model.recordings.transformers_outputs import get_field
from headlight.model.records import FloatArray, MapKind

KINDS_BY_FIELD: dict[str, MapKind] = {
    "attentions": "self",
    "encoder_attentions": "encoder",
    "decoder_attentions": "decoder",
    "cross_attentions": "cross",
}


class CallLayer(NamedTuple):
    """The layer of one call of the attention function, and its number of heads."""

    kind: MapKind
    layer: int  # layer number in the model
    heads: int


@dataclass(frozen=True)
class LossChange:
    """The loss of a text, in nats per token, with all heads and without some."""

    before: float
    after: float

    @property
    def change(self) -> float:
        """Increase of the loss without the heads, in nats per token."""
        return self.after - self.before


@dataclass(frozen=True, eq=False)
class HeadEffects:
    """The predicted change of the loss, in nats per token, if only this head is removed, for every head."""

    values: Mapping[MapKind, FloatArray]  # [layer, head]
    layers: Mapping[MapKind, tuple[int, ...]]  # layer numbers in the model
    loss: float

    def strongest(self, count: int = 10) -> list[tuple[MapKind, int, int, float]]:
        """Return kind, layer, head and effect of the heads with the largest effects."""
        rows = [
            (kind, self.layers[kind][layer], head, float(value))
            for kind, values in self.values.items()
            for (layer, head), value in np.ndenumerate(values)
        ]
        return sorted(rows, key=lambda row: -abs(row[3]))[:count]


def remove_heads(
    model: Any,
    tokenizer: Any,
    text: str,
    heads: Sequence[tuple[int, int]],
    *,
    kind: MapKind | None = None,
    target: str | None = None,
    labels: Any = None,
) -> LossChange:
    """Return the loss of a text before and after the `heads`, as (layer, head), are removed."""
    inputs = loss_inputs(model, tokenizer, text, target=target, labels=labels)
    with torch.no_grad(), evaluation_mode(model):
        call_layers, loss = _find_call_layers(model, inputs)
        gates = [torch.ones(call_layer.heads) for call_layer in call_layers]
        for index, head in _find_calls(call_layers, heads, kind):
            gates[index][head] = 0
        with attention_calls(model, _make_gate(gates)):
            after = inputs.loss(model)
    return LossChange(float(loss), float(after))


def head_effects(
    model: Any, tokenizer: Any, text: str, *, target: str | None = None, labels: Any = None
) -> HeadEffects:
    """Predict for every head how much the loss of a text increases without it, in one backward pass."""
    inputs = loss_inputs(model, tokenizer, text, target=target, labels=labels)
    with evaluation_mode(model):
        with torch.no_grad():
            call_layers, _ = _find_call_layers(model, inputs)
        gates = [torch.ones(call_layer.heads, requires_grad=True) for call_layer in call_layers]
        with torch.enable_grad(), attention_calls(model, _make_gate(gates)):
            loss = inputs.loss(model)
        gradients = torch.autograd.grad(loss, gates)
    kinds = list(dict.fromkeys(call_layer.kind for call_layer in call_layers))
    values, layers = {}, {}
    for kind in kinds:
        indices = [index for index, call_layer in enumerate(call_layers) if call_layer.kind == kind]
        values[kind] = np.stack([-gradients[index].numpy() for index in indices])
        layers[kind] = tuple(call_layers[index].layer for index in indices)
    return HeadEffects(values, layers, float(loss.detach()))


def _make_gate(gates: Sequence[torch.Tensor]) -> Any:
    """Return a function that multiplies the output of each call by the gates of its heads."""

    def gate(call: AttentionCall) -> torch.Tensor:
        return call.output * gates[call.index].to(call.output)[:, None]

    return gate


def _find_call_layers(model: Any, inputs: LossInputs) -> tuple[list[CallLayer], torch.Tensor]:
    """Return the layer of each call, in the order of the calls, and the loss."""
    weights: list[torch.Tensor] = []
    outputs: list[Any] = []

    def record_output(_: Any, __: Any, output: Any) -> None:
        outputs.append(output)

    handle = model.register_forward_hook(record_output)
    try:
        with record_sites(model) as sites, attention_calls(model, lambda call: weights.append(call.weights)):
            loss = inputs.loss(model, output_attentions=True)
    finally:
        handle.remove()
    if not weights:
        raise unsupported_model_error(model)
    numbers: dict[int, tuple[MapKind, int]] = {}
    for field, kind in KINDS_BY_FIELD.items():
        layers = get_field(outputs[-1], field) or ()
        positions = sites.find_layer_numbers(layers)
        for index, layer in enumerate(layers):
            numbers[id(layer)] = (kind, index if positions is None else positions[0][index])
    if not all(id(part) in numbers for part in weights):
        raise unsupported_model_error(model)
    return [CallLayer(*numbers[id(part)], part.shape[1]) for part in weights], loss


def _find_calls(
    call_layers: Sequence[CallLayer], heads: Sequence[tuple[int, int]], kind: MapKind | None
) -> list[tuple[int, int]]:
    """Return the index of the call and the head for each (layer, head)."""
    kinds = list(dict.fromkeys(call_layer.kind for call_layer in call_layers))
    selected_kind = kind or (kinds[0] if len(kinds) == 1 else None)
    if selected_kind not in kinds:
        raise RecordingError(f"kind must be one of {', '.join(kinds)}, but {kind!r} was given.")
    by_layer = {
        call_layer.layer: index for index, call_layer in enumerate(call_layers) if call_layer.kind == selected_kind
    }
    results = []
    for layer, head in heads:
        index = by_layer[require_index("layer", layer, sorted(by_layer))]
        results.append((index, require_index("head", head, range(call_layers[index].heads))))
    return results
