"""The image that a model has read, and the place of each token in it: patches, and tokens without a place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isqrt
from typing import Any, NamedTuple

import numpy as np

MAX_SIDE = 224  # pixels of a picture
MAX_EARLY_TOKENS = 8  # before the patches: a class token, a distillation token, registers
ROUNDING = 0.01  # of colours from 0 to 1, by the normalisation


class PatchGrid(NamedTuple):
    """The patches of an image, and the pixels that they cover together."""

    rows: int
    columns: int
    height: int
    width: int


class Patches(NamedTuple):
    """The place of each token: `places[token]` counts the patches row by row; None: no patch, as [CLS]."""

    grid: PatchGrid
    places: tuple[int | None, ...]


@dataclass(frozen=True, kw_only=True)
class ImageLayout:
    """How a model cuts an image. Unknown grids follow from the number of tokens and the aspect ratio."""

    is_known: bool = False
    grids: tuple[PatchGrid, ...] = ()
    late_tokens: int = 0  # after the patches, such as the detection tokens of YOLOS
    token_id: int | None = None  # the token of a text that stands for a patch


@dataclass(frozen=True, eq=False)
class Picture:
    """The image as the model has read it: `pixels` are bytes [height, width, 3]."""

    pixels: np.ndarray
    rows: int
    columns: int
    places: tuple[int | None, ...]  # for each source token, its patch, row by row

    def select(self, tokens: slice) -> Picture:
        """Return the picture of some of the tokens."""
        return replace(self, places=self.places[tokens])

    def patch_weights(self, weights: Sequence[float] | np.ndarray) -> np.ndarray:
        """Return the weights of source tokens as `[row, column]`; NaN for patches without a token."""
        result = np.full(self.rows * self.columns, np.nan)
        for place, weight in zip(self.places, weights, strict=True):
            if place is not None:
                result[place] = weight
        return result.reshape(self.rows, self.columns)


def locate_patches(count: int, size: tuple[int, int], layout: ImageLayout) -> Patches | None:
    """Find the patches among `count` tokens of an image of `size`, height and width. None if they are not clear."""
    for early in range(MAX_EARLY_TOKENS + 1):
        patches = count - early - layout.late_tokens
        if layout.is_known:
            grid = next((grid for grid in layout.grids if grid.rows * grid.columns == patches), None)
        else:
            grid = _similar_grid(patches, size)
        if grid is not None:
            return Patches(grid, (None,) * early + tuple(range(patches)) + (None,) * layout.late_tokens)
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

    `order` restores the shuffled patches; the model reads the first of them, after its class token.
    """
    whole = locate_patches(len(order), size, layout)
    visible = np.argsort(order)[: count - 1]
    return None if whole is None else Patches(whole.grid, (None, *(int(patch) for patch in visible)))


def locate_image_tokens(ids: np.ndarray, layout: ImageLayout) -> Patches | None:
    """Find the tokens of a text that stand for the patches of its only image."""
    marked = np.flatnonzero(ids == layout.token_id)
    grid = next((grid for grid in layout.grids if grid.rows * grid.columns == len(marked)), None)
    if grid is None:
        return None
    places: list[int | None] = [None] * len(ids)
    for patch, token in enumerate(marked.tolist()):
        places[token] = patch
    return Patches(grid, tuple(places))


def read_picture(values: np.ndarray, processor: Any, patches: Patches) -> Picture | None:
    """Return the picture of pixel values `[channel, height, width]`, in one or three colours."""
    if len(values) not in (1, 3):
        return None
    grid = patches.grid
    pixels = _bytes(values, getattr(processor, "image_processor", processor))
    pixels = _shrink(_fit(np.broadcast_to(pixels, (*pixels.shape[:2], 3)), grid.height, grid.width))
    return Picture(pixels, grid.rows, grid.columns, patches.places)


def _bytes(values: np.ndarray, processor: Any) -> np.ndarray:
    """Undo the processor's normalisation. Colours outside 0 to 1 are stretched, as without a processor."""
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
    cropped = pixels[:height, :width]
    result[: cropped.shape[0], : cropped.shape[1]] = cropped
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
        lengths = np.diff([*starts.tolist(), size]).reshape([-1 if each == axis else 1 for each in range(3)])
        result = np.add.reduceat(result, starts, axis=axis) / lengths
    averaged: np.ndarray = np.rint(result).astype(np.uint8)
    return averaged
