"""Interception of a model's attention function, to record its tensors or to change its output.

`transformers` passes queries, keys and values to the attention function that a configuration names. `attention_calls`
registers a function that calls the model's own eager function. The model's code and weights do not change.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from headlight.model.external.switches import EAGER, attention_implementation
from headlight.model.recordings.recording import RecordingError

NAME = "headlight"  # name of the registered attention function


@dataclass(frozen=True)
class AttentionCall:
    """The tensors of one call, after rotation and normalisation, and the factor of the dot products."""

    index: int  # number of the call since the block began
    query: torch.Tensor  # [batch, head, row, width]
    key: torch.Tensor  # [batch, head, column, width]; groups of heads share a key
    weights: torch.Tensor  # [batch, head, row, column]
    output: torch.Tensor  # [batch, row, head, width]: weights times values, before the output projection
    scaling: float


OnCall = Callable[[AttentionCall], torch.Tensor | None]  # returns the output, or None to leave it unchanged


@contextmanager
def attention_calls(model: Any, on_call: OnCall) -> Iterator[None]:
    """Pass each call of the model's attention function to `on_call` within the block."""
    with _register_function(on_call):
        try:
            with attention_implementation(model, NAME):
                if model.config._attn_implementation != NAME:
                    raise unsupported_model_error(model)
                yield
        except (KeyError, ValueError) as error:
            if NAME in str(error):
                raise unsupported_model_error(model) from error
            raise


def unsupported_model_error(model: Any) -> RecordingError:
    """Return the error for a model that does not use the attention functions of `transformers`."""
    return RecordingError(
        f"{type(model).__name__} computes its attention in its own code, so single heads cannot be read or removed. "
        "Its weights can be shown: headlight.show(model, tokenizer, text)."
    )


@contextmanager
def _register_function(on_call: OnCall) -> Iterator[None]:
    """Register the attention function, and the mask of eager attention for it."""
    transformers = sys.modules["transformers"]  # already imported, because the model is one of its classes
    functions, masks = transformers.AttentionInterface(), transformers.AttentionMaskInterface()
    functions.register(NAME, _make_attention_function(on_call))
    masks.register(NAME, masks[EAGER])
    try:
        yield
    finally:
        for registry in (functions, masks):
            getattr(type(registry), "_global_mapping", {}).pop(NAME, None)


def _make_attention_function(on_call: OnCall) -> Callable[..., Any]:
    count = 0

    def attention(
        module: torch.nn.Module,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        *arguments: Any,
        **options: Any,
    ) -> Any:
        nonlocal count
        eager = sys.modules[type(module).__module__].eager_attention_forward
        output, weights = eager(module, query, key, value, *arguments, **options)
        scaling = options.get("scaling")
        scaling = query.shape[-1] ** -0.5 if scaling is None else float(scaling)
        new_output = on_call(AttentionCall(count, query, key, weights, output, scaling))
        count += 1
        return (output if new_output is None else new_output), weights

    return attention
