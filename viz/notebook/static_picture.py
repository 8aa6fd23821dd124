"""Static SVG picture of a view, for programs that show notebooks without scripts: all heads, then the selected one."""

from __future__ import annotations

from typing import Any

from headlight.viz.export.drawing import stack, to_svg
from headlight.viz.notebook.view_pictures import (
    draw_heads,
    draw_picture,
    draw_wall,
    map_shape,
    shows_picture,
    source_kinds,
)
from headlight.viz.theme import THEMES

MAX_HEAD_TOKENS = 48  # per side; a larger map would fill more than a screen


def picture_svg(view: Any) -> str:
    """Return the picture as SVG. For a comparison, it shows all heads of both inputs."""
    kind, sources = view.kind, view.sources
    drawings = [
        draw_wall(source, kind, None, THEMES["light"], as_images=True)
        for source in sources
        if kind in source_kinds(source)
    ]
    rows, columns = map_shape(sources[0], kind)[2:]
    if len(sources) == 1 and max(rows, columns) <= MAX_HEAD_TOKENS and has_single_map(view):
        drawings.append(draw_heads(view, "head", None, None, THEMES["light"]))
    elif len(sources) == 1 and has_single_map(view) and shows_picture(view):
        drawings.append(draw_picture(view, None, THEMES["light"]))
    return to_svg(stack(drawings)).decode()


def has_single_map(view: Any) -> bool:
    """Whether the selection is a head, or the mean of one layer's heads."""
    return not isinstance(view.layer, str) and view.head != "max"
