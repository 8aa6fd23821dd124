"""The image that a model has read, and the patch of each token. Some tokens have no patch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isqrt
from typing import Any, NamedTuple

import numpy as np

MAX_SIDE = 224  # pixels of the longer side of a picture
MAX_EARLY_TOKENS = 8  # tokens before the patches: class token, distillation token, registers
ROUNDING = 0.01  # maximum rounding error of colours from 0 to 1 after normalisation


class PatchGrid(NamedTuple):
    """The patches of an image, and the pixels that they cover together."""

    rows: int
    columns: int
    height: int
    width: int


class Patches(NamedTuple):
    """The patch of each token: `patch_indices[token]` counts patches row by row; None: no patch, as for [CLS]."""

    grid: PatchGrid
    patch_indices: tuple[int | None, ...]


@dataclass(frozen=True, kw_only=True)
class ImageLayout:
    """The tokens of a model's images. Unknown grids are inferred from the number of tokens and the aspect ratio."""

    is_known: bool = False
    grids: tuple[PatchGrid, ...] = ()
    late_tokens: int = 0  # number of tokens after the patches, such as the detection tokens of YOLOS
    token_id: int | None = None  # the text token that represents a patch


@dataclass(frozen=True, eq=False)
class Picture:
    """The image as the model has read it: `pixels` are bytes [height, width, 3]."""

    pixels: np.ndarray
    rows: int
    columns: int
    patch_indices: tuple[int | None, ...]  # per source token: index of its patch, row by row; None: no patch

    def select(self, tokens: slice) -> Picture:
        """Return the picture of some of the tokens."""
        return replace(self, patch_indices=self.patch_indices[tokens])

    def patch_weights(self, weights: Sequence[float] | np.ndarray) -> np.ndarray:
        """Return the weights of source tokens as `[row, column]`; NaN for patches without a token."""
        result = np.full(self.rows * self.columns, np.nan)
        for patch, weight in zip(self.patch_indices, weights, strict=True):
            if patch is not None:
                result[patch] = weight
        return result.reshape(self.rows, self.columns)


def locate_patches(count: int, size: tuple[int, int], layout: ImageLayout) -> Patches | None:
    """Find the patches among `count` tokens of an image of `size`, height and width. Return None if no layout fits."""
    for early_tokens in range(MAX_EARLY_TOKENS + 1):
        patches = count - early_tokens - layout.late_tokens
        if layout.is_known:
            grid = next((grid for grid in layout.grids if grid.rows * grid.columns == patches), None)
        else:
            grid = _similar_grid(patches, size)
        if grid is not None:
            return Patches(grid, (None,) * early_tokens + tuple(range(patches)) + (None,) * layout.late_tokens)
    return None


def _similar_grid(patches: int, size: tuple[int, int]) -> PatchGrid | None:
    """Return the grid with exactly the aspect ratio of the image."""
    height, width = size
    rows = isqrt(patches * height // width) if patches > 0 else 0
    if not rows or patches % rows or patches // rows * height != rows * width:
        return None
    return PatchGrid(rows, patches // rows, height, width)


def locate_visible_patches(count: int, order: np.ndarray, size: tuple[int, int], layout: ImageLayout) -> Patches | None:
    """Find the patches that a masked autoencoder reads (https://arxiv.org/abs/2111.06377).

    `order` restores the order of the shuffled patches. The model reads a class token and the first shuffled patches.
    """
    all_patches = locate_patches(len(order), size, layout)
    visible = np.argsort(order)[: count - 1]
    return None if all_patches is None else Patches(all_patches.grid, (None, *(int(patch) for patch in visible)))


def locate_image_tokens(ids: np.ndarray, layout: ImageLayout) -> Patches | None:
    """Find the text tokens that represent the patches of the only image."""
    image_tokens = np.flatnonzero(ids == layout.token_id)
    grid = next((grid for grid in layout.grids if grid.rows * grid.columns == len(image_tokens)), None)
    if grid is None:
        return None
    patch_indices: list[int | None] = [None] * len(ids)
    for patch, token in enumerate(image_tokens.tolist()):
        patch_indices[token] = patch
    return Patches(grid, tuple(patch_indices))


def read_picture(values: np.ndarray, processor: Any, patches: Patches) -> Picture | None:
    """Convert pixel values `[channel, height, width]` to a picture; None unless there are one or three channels."""
    if len(values) not in (1, 3):
        return None
    grid = patches.grid
    pixels = _to_bytes(values, getattr(processor, "image_processor", processor))
    pixels = _shrink(_fit(np.broadcast_to(pixels, (*pixels.shape[:2], 3)), grid.height, grid.width))
    return Picture(pixels, grid.rows, grid.columns, patches.patch_indices)


def _to_bytes(values: np.ndarray, processor: Any) -> np.ndarray:
    """Undo the processor's normalisation. If colours are still outside 0 to 1, scale them to that range."""
    values = values.astype(np.float64)
    if getattr(processor, "do_normalize", False) and getattr(processor, "image_mean", None) is not None:
        mean, deviation = (
            np.resize(np.asarray(part), len(values)) for part in (processor.image_mean, processor.image_std)
        )
        values = values * deviation[:, None, None] + mean[:, None, None]
    low, high = values.min(), values.max()
    if low < -ROUNDING or high > 1 + ROUNDING:
        values = (values - low) / (high - low)
    levels: np.ndarray = np.rint(255 * np.clip(values, 0, 1)).astype(np.uint8).transpose(1, 2, 0)
    return levels


def _fit(pixels: np.ndarray, height: int, width: int) -> np.ndarray:
    """Crop pixels that no patch covers, and add black ones where patches extend past the image, as models do."""
    result = np.zeros((height, width, 3), dtype=np.uint8)
    covered_pixels = pixels[:height, :width]
    result[: covered_pixels.shape[0], : covered_pixels.shape[1]] = covered_pixels
    return result


def _shrink(pixels: np.ndarray) -> np.ndarray:
    """Average pixels so that the longer side has at most `MAX_SIDE`."""
    longest = max(pixels.shape[:2])
    if longest <= MAX_SIDE:
        return pixels
    result = pixels.astype(np.float64)
    for axis, size in enumerate(pixels.shape[:2]):
        count = max(1, round(size * MAX_SIDE / longest))
        starts = np.arange(count) * size // count
        lengths = np.diff([*starts.tolist(), size]).reshape([-1 if dimension == axis else 1 for dimension in range(3)])
        result = np.add.reduceat(result, starts, axis=axis) / lengths
    smaller_pixels: np.ndarray = np.rint(result).astype(np.uint8)
    return smaller_pixels
