"""The origin of attention weights: the module that returned them, and the number of its layer in the model.

Outputs list the attention only of layers that have some. In a hybrid model, the second entry may be layer 8. Hooks
record which module returned each tensor and which layer was running.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch


@dataclass(frozen=True)
class AttentionSite:
    """The module that returned weights, and the path of the layer that was running, such as "model.layers.3"."""

    module: torch.nn.Module
    path: str
    layer: str


@dataclass
class SiteRecorder:
    """The sites of all tensors that modules returned after their main output."""

    layers: dict[str, torch.nn.Module]  # the items of all module lists, by path
    running: list[str] = field(default_factory=list)  # paths of the running layers, innermost last
    sites: dict[int, tuple[weakref.ref[torch.Tensor], AttentionSite]] = field(default_factory=dict)  # by tensor id
    # Paths of layers. `sites` does not have all of them, because ids of freed tensors are reused.
    layers_with_attention: set[str] = field(default_factory=set)

    def find_site(self, weights: Any) -> AttentionSite | None:
        """Return the site of a tensor of the outputs, or None if the model has copied or changed it."""
        reference, site = self.sites.get(id(weights), (None, None))
        return site if reference is not None and reference() is weights else None

    def find_layer_numbers(self, layers: Sequence[Any]) -> tuple[list[int], int] | None:
        """Return the number of each layer in the model, and the count of all layers. None if they are ambiguous."""
        sites = [self.find_site(weights) for weights in layers]
        paths = [self._find_numbered_path(site.layer) for site in sites if site is not None and site.layer]
        patterns = {_replace_numbers(path) for path in paths}
        if len(paths) < len(layers) or len(patterns) != 1:
            return None
        members = self._find_siblings(patterns.pop())
        numbers = [members.index(path) for path in paths]
        # A layer that runs several times, as in ALBERT, has several numbers.
        return (numbers, len(members)) if numbers == sorted(set(numbers)) else None

    def find_layers_without_attention(self, layers: Sequence[Any]) -> list[int]:
        """Return the numbers of the layers that returned no weights, such as those of a hybrid model."""
        site = self.find_site(layers[0])
        if site is None or not site.layer:
            return []
        paths_with_attention = {self._find_numbered_path(layer) for layer in self.layers_with_attention}
        members = self._find_siblings(_replace_numbers(self._find_numbered_path(site.layer)))
        return [number for number, path in enumerate(members) if path not in paths_with_attention]

    def record(self, path: str, module: torch.nn.Module, output: Any) -> None:
        """Record the tensors `[…, head, query, key]` of one call."""
        for tensor in output[1:] if isinstance(output, (tuple, list)) else ():
            if isinstance(tensor, torch.Tensor) and tensor.ndim >= 3 and self.find_site(tensor) is None:
                layer = self.running[-1] if self.running else ""
                self.sites[id(tensor)] = weakref.ref(tensor), AttentionSite(module, path, layer)
                self.layers_with_attention |= {layer} - {""}

    def _find_siblings(self, pattern: str) -> list[str]:
        return [path for path in self.layers if _replace_numbers(path) == pattern]

    def _find_numbered_path(self, path: str) -> str:
        """Return the path without inner lists of modules of different types, such as the parts of a T5 layer."""
        while path.count(".") and (outer := self._find_outer_layer(path)):
            siblings = self._find_siblings(_replace_numbers(path))
            siblings = [sibling for sibling in siblings if sibling.startswith(f"{outer}.")]
            if len({type(self.layers[sibling]) for sibling in siblings}) == 1:
                break
            path = outer
        return path

    def _find_outer_layer(self, path: str) -> str:
        outer = [layer for layer in self.layers if path.startswith(f"{layer}.")]
        return max(outer, key=len, default="")


@contextmanager
def record_sites(model: torch.nn.Module) -> Iterator[SiteRecorder]:
    """Record the sites of attention weights within the block."""
    recorder = SiteRecorder(dict(_list_items(model)))
    handles = [
        module.register_forward_hook(lambda module, _, output, path=path: recorder.record(path, module, output))
        for path, module in model.named_modules()
    ]
    for path, module in recorder.layers.items():
        enter = module.register_forward_pre_hook(lambda *_, path=path: recorder.running.append(path))
        leave = module.register_forward_hook(lambda *_: recorder.running.pop() and None, always_call=True)
        handles += [enter, leave]
    try:
        yield recorder
    finally:
        for handle in handles:
            handle.remove()


def _list_items(model: torch.nn.Module) -> Iterator[tuple[str, torch.nn.Module]]:
    for path, module in model.named_modules():
        if isinstance(module, torch.nn.ModuleList):
            yield from ((f"{path}.{index}", item) for index, item in enumerate(module))


def _replace_numbers(path: str) -> str:
    return re.sub(r"\.\d+(?=\.|$)", ".*", path)


def format_layer_ranges(numbers: Sequence[int]) -> str:
    """Format layer numbers, from 0, as ranges counted from 1: "1–3, 5"."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(first + 1) if first == last else f"{first + 1}–{last + 1}" for first, last in runs)
