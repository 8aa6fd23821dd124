"""Temporary settings that make a model return its attention."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

EAGER = "eager"  # the implementation that returns weights; fused ones do not


@contextmanager
def evaluation_mode(model: torch.nn.Module) -> Iterator[None]:
    """Switch dropout off, and restore the mode of each module."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training


@contextmanager
def attention_implementation(model: Any, name: str = EAGER) -> Iterator[None]:
    """Set the attention implementation of a model and its submodels, and restore the previous ones afterwards."""
    previous = [(config, config._attn_implementation) for config in _list_configs(model)]
    if all(implementation == name for _, implementation in previous):
        yield
        return
    try:
        model.set_attn_implementation(name)
        if model.config._attn_implementation == name:
            for config in _list_layer_configs(model):
                config._attn_implementation = name
        yield
    finally:
        for config, implementation in previous:  # parents first: setting a parent also sets its children
            config._attn_implementation = implementation


def _list_layer_configs(model: torch.nn.Module) -> list[Any]:
    """Return the configurations of layers, which may be older copies of their model's, as in `EncoderDecoderModel`."""
    layers = [module for module in model.modules() if not hasattr(module, "set_attn_implementation")]
    configs = [config for layer in layers if (config := getattr(layer, "config", None)) is not None]
    return [config for config in configs if hasattr(config, "_attn_implementation")]


def _list_configs(model: torch.nn.Module) -> list[Any]:
    """Return the configurations of a model, of the models inside it and of their parts, parents first."""
    queue = [config for module in model.modules() if (config := getattr(module, "config", None)) is not None]
    results: list[Any] = []
    while queue:
        config = queue.pop(0)
        if hasattr(config, "_attn_implementation") and all(config is not other for other in results):
            results.append(config)
            parts = (getattr(config, name, None) for name in getattr(config, "sub_configs", ()))
            queue.extend(part for part in parts if part is not None)
    return results
