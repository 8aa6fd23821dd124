"""Pictures of a view: `view.export("wall.pdf")`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from headlight.model.files import write_file
from headlight.model.recordings.recording import Recording, RecordingError
from headlight.model.records import KINDS, AttentionMap, FloatArray, MapKind, Translation
from headlight.viz.export.drawing import Drawing, stack, to_pdf, to_svg
from headlight.viz.export.head_drawings import head_drawing, lines_drawing, picture_drawing, row_names, wall_drawing
from headlight.viz.notebook.recording_json import downsample
from headlight.viz.theme import THEMES, Theme

MAX_TILE_CELLS = 24  # per side of a head in the wall


def _to_png(drawing: Drawing) -> bytes:
    from headlight.viz.export.png_drawing import to_png  # imported here because it needs Pillow

    return to_png(drawing)


WRITERS: dict[str, Callable[[Drawing], bytes]] = {".svg": to_svg, ".pdf": to_pdf, ".png": _to_png}
PICTURES = ("wall", "head", "lines", "picture")


def write_picture(
    view: Any, path: str | Path, what: str, *, heads: Sequence[int] | None, caption: str | None, theme: str
) -> None:
    """Write a picture of the view's first input."""
    path = Path(path)
    for name, value, choices in (("what", what, PICTURES), ("theme", theme, tuple(THEMES))):
        if value not in choices:
            raise RecordingError(f"{name} must be one of {', '.join(choices)}, but {value!r} was given.")
    if path.suffix not in WRITERS:
        raise RecordingError(f"{path} has none of the endings {', '.join(WRITERS)}.")
    if not path.parent.is_dir():
        raise RecordingError(f"There is no folder {str(path.parent)!r} to save {path.name} in. Create it first.")
    if heads is not None and what != "lines":
        raise RecordingError(f'heads= is for what="lines", and would be ignored for {what!r}. Leave it out.')
    if what == "wall":
        drawing = draw_wall(view.sources[0], view.kind, caption, THEMES[cast("Any", theme)])
    elif what == "picture":
        drawing = draw_picture(view, caption, THEMES[cast("Any", theme)])
    else:
        drawing = draw_heads(view, what, heads, caption, THEMES[cast("Any", theme)])
    write_file(path, WRITERS[path.suffix](drawing))


def draw_wall(source: Any, kind: MapKind, caption: str | None, theme: Theme, *, as_images: bool = False) -> Drawing:
    """Draw all heads of a kind. `as_images`: each head is an image, which needs less space than its cells."""
    count, _, rows, columns = map_shape(source, kind)
    tiles = [[downsample(weights, MAX_TILE_CELLS) for weights in _layer(source, kind, index)] for index in range(count)]
    pooled = f", each cell the largest of several in a head of {rows} × {columns}"
    text = (
        f"{_prefix(source)}{kind} attention: a row for each layer, a column for each head"
        f"{pooled if max(rows, columns) > MAX_TILE_CELLS else ''}. Darkness is the square root of the weight."
    )
    numbers = source.of(kind).numbers if isinstance(source, Recording) else range(count)
    return wall_drawing(tiles, numbers, text if caption is None else caption, theme, as_images=as_images)


def draw_heads(view: Any, what: str, heads: Sequence[int] | None, caption: str | None, theme: Theme) -> Drawing:
    """Draw the selected head as a matrix, or several heads of its layer as lines.

    Below the matrix of a vision model is the image with the weights of the selected row.
    """
    _require_single_map(view, what)
    selected_heads = [view.head] if heads is None else list(heads)
    maps = [_map(view, head) for head in selected_heads]
    names = ", ".join("the mean of all heads" if head == "mean" else f"head {head + 1}" for head in selected_heads)
    axes = "left: queries, right: keys" if what == "lines" else "rows: queries, columns: keys"
    text = f"{_prefix(view.sources[0])}{view.kind} attention, layer {view.layer + 1}, {names}; {axes}."
    text = text if caption is None else caption
    if what == "lines":
        return lines_drawing(maps, text, theme)
    drawings = [head_drawing(maps[0], text, theme)]
    if shows_picture(view):
        drawings.append(draw_picture(view, None if caption is None else "", theme))
    return stack(drawings)


def shows_picture(view: Any) -> bool:
    """Whether the columns are patches of an image and a row is selected."""
    return getattr(view.sources[0], "picture", None) is not None and view.kind != "decoder" and view.row is not None


def draw_picture(view: Any, caption: str | None, theme: Theme) -> Drawing:
    """Draw the image of a vision model with the weights of the selected row."""
    _require_single_map(view, "picture")
    if not shows_picture(view):
        raise RecordingError(
            "A picture needs the image of a vision model and a row: show(model, processor, image=image), then "
            "view.row = 0."
        )
    source, head_map = view.sources[0], _map(view, view.head)
    weights = np.where(head_map.allowed, head_map.weights, np.nan)[view.row]
    head = "the mean of all heads" if view.head == "mean" else f"head {view.head + 1}"
    largest = np.nanmax(source.picture.patch_weights(weights))
    text = (
        f"{_prefix(source)}{view.kind} attention, layer {view.layer + 1}, {head}: the row "
        f"{row_names(head_map)[view.row]} over the image, relative to the largest weight of a patch, {largest:.4f}."
    )
    patch = source.picture.patch_indices[view.row] if view.kind in ("encoder", "self") else None
    return picture_drawing(source.picture, weights, patch, text if caption is None else caption, theme)


def _require_single_map(view: Any, what: str) -> None:
    if isinstance(view.layer, str) or view.head == "max":
        raise RecordingError(f"A picture of {what!r} needs one layer. Select it: view.layer = 0; view.head = 0.")


def source_kinds(source: Translation | Recording) -> tuple[MapKind, ...]:
    """Return the kinds of attention of an input."""
    return KINDS if isinstance(source, Translation) else source.kinds


def map_shape(source: Any, kind: MapKind) -> tuple[int, ...]:
    """Return the numbers of layers, heads, rows and columns."""
    return tuple(source.of(kind).shape if isinstance(source, Recording) else source.attention.of(kind).shape)


def _layer(source: Any, kind: MapKind, index: int) -> FloatArray:
    """Return the weights of a layer, [head, row, column]."""
    layer: FloatArray = (
        source.of(kind).layer(index) if isinstance(source, Recording) else source.attention.of(kind)[index]
    )
    return layer


def _map(view: Any, head: int | str) -> AttentionMap:
    result: AttentionMap = view.sources[0].attention_map(view.kind, view.layer, None if head == "mean" else head)
    return result


def _prefix(source: Any) -> str:
    name = source.name if isinstance(source, Recording) else source.request.model
    return f"{name}, " if name else ""
