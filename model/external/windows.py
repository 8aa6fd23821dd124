"""Attention in windows of an image, as in Swin, combined into maps of the whole image.

A block divides its patches into windows. Every other block first shifts them by half a window
(https://arxiv.org/abs/2103.14030). The weights of a block are `[window, head, n, n]` for windows of n patches. In the
map of the whole image, weights between patches of different windows are zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from headlight.model.external.attention_sites import SiteRecorder, format_layer_ranges
from headlight.model.external.image_layout import patch_size
from headlight.model.recordings.images import PatchGrid
from headlight.model.recordings.layers import to_numpy
from headlight.model.recordings.recording import RecordingError, Remark

WINDOW_FIELDS = ("window_size", "shift_size", "input_resolution")
MAX_DEFAULT_PATCHES = 1024  # limit of the stage that is shown if no layers are selected
MAX_PATCHES = 4096  # limit of a map
MAX_MASKED_WEIGHT = 1e-30  # the model adds -100 to scores between regions of a shifted window


@dataclass(frozen=True)
class WindowSites:
    """The blocks that have run: rows and columns of patches by path."""

    sizes: dict[str, tuple[int, int]]

    def windows(self, sites: SiteRecorder, weights: Any) -> BlockWindows | None:
        """Return the windows of the block that returned these weights, or None for attention without windows."""
        site = sites.find_site(weights)
        if site is None or site.layer not in self.sizes:
            return None
        block: Any = sites.layers[site.layer]
        return BlockWindows(*self.sizes[site.layer], int(block.window_size), int(block.shift_size))


@dataclass(frozen=True)
class BlockWindows:
    """The patches of a block, and the size of its windows and their shift in patches."""

    rows: int
    columns: int
    size: int
    shift: int

    @property
    def is_whole(self) -> bool:
        """Whether the whole image is one window."""
        return self.rows == self.columns == self.size

    def tokens(self) -> np.ndarray:
        """Return the patches of each window, `[window, n]`, counted row by row; -1 for padding."""
        height, width = (-(-length // self.size) * self.size for length in (self.rows, self.columns))
        patches = np.full((height, width), -1)
        patches[: self.rows, : self.columns] = np.arange(self.rows * self.columns).reshape(self.rows, self.columns)
        patches = np.roll(patches, (-self.shift, -self.shift), axis=(0, 1))
        windows = patches.reshape(height // self.size, self.size, width // self.size, self.size).transpose(0, 2, 1, 3)
        return windows.reshape(-1, self.size * self.size)

    def whole_map(self, weights: Any) -> np.ndarray:
        """Return weights `[window, head, n, n]` of the first image as `[1, head, patch, patch]`."""
        windows = self.tokens()
        array = to_numpy(weights)[: len(windows)]
        count = self.rows * self.columns
        if count > MAX_PATCHES:
            raise RecordingError(
                f"This layer has {self.rows} × {self.columns} patches, which are {count:,} rows and columns; a view "
                f"has at most {MAX_PATCHES:,}. Name later layers with layers=, or give a smaller image."
            )
        result = np.zeros((1, array.shape[1], count, count), dtype=array.dtype)
        for window, tokens in zip(array, windows, strict=True):
            cells = np.flatnonzero(tokens >= 0)
            patches = tokens[cells]
            result[0][:, patches[:, None], patches] = window[:, cells[:, None], cells]
        result[result < MAX_MASKED_WEIGHT] = 0
        return result


@contextmanager
def record_window_sites(model: torch.nn.Module) -> Iterator[WindowSites]:
    """Record the rows and columns of patches of each Swin block within the `with` block."""
    sites = WindowSites({})
    blocks = {
        path: module for path, module in model.named_modules() if all(hasattr(module, name) for name in WINDOW_FIELDS)
    }

    def enter(path: str, arguments: Sequence[Any], options: Mapping[str, Any]) -> None:
        rows, columns = options["input_dimensions"] if "input_dimensions" in options else arguments[1]
        sites.sizes[path] = int(rows), int(columns)

    handles = [
        module.register_forward_pre_hook(lambda _, *inputs, path=path: enter(path, *inputs), with_kwargs=True)
        for path, module in blocks.items()
    ]
    try:
        yield sites
    finally:
        for handle in handles:
            handle.remove()


def first_stage(windows: Sequence[BlockWindows | None]) -> list[int]:
    """Return the numbers of the layers of the first stage that is small enough to show, or of the last stage."""
    stages: dict[tuple[int, int], list[int]] = {}
    for number, block in enumerate(windows):
        if block is not None:
            stages.setdefault((block.rows, block.columns), []).append(number)
    small_stages = [numbers for (rows, columns), numbers in stages.items() if rows * columns <= MAX_DEFAULT_PATCHES]
    return small_stages[0] if small_stages else list(stages.values())[-1]


def last_stage(windows: Sequence[BlockWindows | None]) -> list[int]:
    """Return the numbers of the layers of the last stage, whose patches a decoder reads."""
    last = next(block for block in reversed(windows) if block is not None)
    sizes = [None if block is None else (block.rows, block.columns) for block in windows]
    return [number for number, size in enumerate(sizes) if size == (last.rows, last.columns)]


def window_remarks(windows: Sequence[BlockWindows | None], numbers: Sequence[int]) -> list[Remark]:
    """Name the layers with windows, and their shift."""
    layers: dict[BlockWindows, list[int]] = {}
    for number in numbers:
        block = windows[number]
        if block is not None and not block.is_whole:
            layers.setdefault(block, []).append(number)
    return [
        Remark(
            "shifted_windows" if block.shift else "windows",
            {"layers": format_layer_ranges(block_layers), "size": block.size, "shift": block.shift},
        )
        for block, block_layers in layers.items()
    ]


def covered_grids(model: Any, windows: Sequence[BlockWindows | None]) -> tuple[PatchGrid, ...]:
    """Return the patches and pixels of each stage. A stage merges 2 × 2 patches of the previous one."""
    blocks = [block for block in windows if block is not None]
    height, width = patch_size(model) or (1, 1)
    grids = []
    for rows, columns in dict.fromkeys((block.rows, block.columns) for block in blocks):
        factor = 1
        while (-(-blocks[0].rows // factor), -(-blocks[0].columns // factor)) != (rows, columns):
            factor *= 2
        grids.append(PatchGrid(rows, columns, rows * factor * height, columns * factor * width))
    return tuple(grids)
