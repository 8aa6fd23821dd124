"""Division of an image into patches by a vision model, from its configuration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headlight.model.recordings.images import ImageLayout, PatchGrid

VISION_PARTS = ("vision_config", "encoder")  # of models such as CLIP, and of `VisionEncoderDecoderModel`
TOKEN_IDS = ("image_token_id", "image_token_index")


def image_layout(model: Any, shape: Sequence[int]) -> ImageLayout:
    """Return the layout for pixel values of this shape, `[…, height, width]`.

    Models with several stages have no grids here: they merge patches, or order them differently, as Hiera does.
    """
    configs = _list_configs(model)
    late_tokens = next(
        (int(config.num_detection_tokens) for config in configs if _has_value(config, "num_detection_tokens")), 0
    )
    token_id = next((getattr(model.config, name) for name in TOKEN_IDS if _has_value(model.config, name)), None)
    if any(_has_value(config, "depths") for config in configs):
        return ImageLayout(is_known=True)
    has_backbone = any(_has_value(config, "backbone_config") for config in configs)
    if has_backbone or len(shape) not in (3, 4) or (size := patch_size(model)) is None:
        return ImageLayout(late_tokens=late_tokens, token_id=token_id)
    patch_height, patch_width = size
    rows, columns = shape[-2] // patch_height, shape[-1] // patch_width
    grid = PatchGrid(rows, columns, rows * patch_height, columns * patch_width)
    return ImageLayout(is_known=True, grids=(grid,), late_tokens=late_tokens, token_id=token_id)


def patch_size(model: Any) -> tuple[int, int] | None:
    """Return the height and width of a patch in pixels, if the configuration has them."""
    size = next((config.patch_size for config in _list_configs(model) if _has_value(config, "patch_size")), None)
    if size is None:
        return None
    height, width = (size, size) if isinstance(size, int) else tuple(size)
    return int(height), int(width)


def _list_configs(model: Any) -> list[Any]:
    """Return the configurations of the vision part and of the whole model."""
    parts = [getattr(model.config, name, None) for name in VISION_PARTS]
    return [*(part for part in parts if hasattr(part, "to_dict")), model.config]


def _has_value(config: Any, name: str) -> bool:
    return getattr(config, name, None) is not None
