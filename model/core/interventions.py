"""Changing what a head does, to see what becomes of the translation: records → edits of probes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from torch import Tensor

from headlight.model.core.config import TransformerConfig
from headlight.model.core.probes import Edit, watch
from headlight.model.core.transformer import Transformer, attention_path
from headlight.model.errors import not_whole
from headlight.model.records import Intervention


@contextmanager
def intervening(model: Transformer, interventions: Sequence[Intervention]) -> Iterator[None]:
    """Let the interventions act on whatever the model does in the `with` block.

    Their order makes no difference: "uniform" acts before the softmax, and the others multiply what comes after it.
    """
    check_interventions(model.config, interventions)
    with ExitStack() as stack:
        for intervention in interventions:
            # Equal scores make equal weights, wherever the mask allows any; the other actions change the weights.
            place = "scores" if intervention.action == "uniform" else "weights"
            path = f"{attention_path(intervention.kind, intervention.layer)}.{place}"
            stack.enter_context(watch(model, path, edit=_edit(intervention)))
        yield


def check_interventions(config: TransformerConfig, interventions: Sequence[Intervention]) -> None:
    """Whether the model has the layers and heads that are to be changed."""
    for intervention in interventions:
        layers = config.encoder_layers if intervention.kind == "encoder" else config.decoder_layers
        if intervention.layer >= layers:
            raise not_whole("layer", intervention.layer, 0, layers - 1)
        if intervention.head is not None and intervention.head >= config.heads:
            raise not_whole("head", intervention.head, 0, config.heads - 1)


def _edit(intervention: Intervention) -> Edit:
    return scale_heads(intervention.head, intervention.amount if intervention.action == "scale" else 0.0)


def scale_heads(head: int | None, factor: float) -> Edit:
    """An edit of scores or weights that multiplies one head, or all of them, by a factor."""
    heads = slice(None) if head is None else slice(head, head + 1)

    def edit(values: Tensor, name: str) -> Tensor:  # [batch, heads, queries, keys]
        changed = values.clone()
        changed[:, heads] *= factor
        return changed

    return edit
