"""Pictures of a view: `view.export("wall.pdf")`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

from headlight.model.files import write_file
from headlight.model.recordings.recording import Recording, RecordingError
from headlight.model.records import KINDS, AttentionMap, FloatArray, MapKind, Translation
from headlight.viz.export.drawing import Drawing, to_pdf, to_png, to_svg
from headlight.viz.export.head_drawings import head_drawing, lines_drawing, wall_drawing
from headlight.viz.notebook.recording_json import downsample
from headlight.viz.theme import THEMES, Theme

MAX_TILE_CELLS = 24  # per side of a head in the wall
WRITERS: dict[str, Callable[[Drawing], bytes]] = {".svg": to_svg, ".pdf": to_pdf, ".png": to_png}
PICTURES = ("wall", "head", "lines")


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
    """Draw the selected head as a matrix, or several heads of its layer as lines."""
    if isinstance(view.layer, str) or view.head == "max":
        raise RecordingError(f"A picture of {what!r} needs one layer. Select it: view.layer = 0; view.head = 0.")
    chosen = [view.head] if heads is None else list(heads)
    maps = [_map(view, head) for head in chosen]
    names = ", ".join("the mean of all heads" if head == "mean" else f"head {head + 1}" for head in chosen)
    axes = "left: queries, right: keys" if what == "lines" else "rows: queries, columns: keys"
    text = f"{_prefix(view.sources[0])}{view.kind} attention, layer {view.layer + 1}, {names}; {axes}."
    text = text if caption is None else caption
    return lines_drawing(maps, text, theme) if what == "lines" else head_drawing(maps[0], text, theme)


def source_kinds(source: Translation | Recording) -> tuple[MapKind, ...]:
    """Return the kinds of attention of an input."""
    return KINDS if isinstance(source, Translation) else source.kinds


def map_shape(source: Any, kind: MapKind) -> tuple[int, ...]:
    """Numbers of layers, heads, rows and columns."""
    return tuple(source.of(kind).shape if isinstance(source, Recording) else source.attention.of(kind).shape)


def _layer(source: Any, kind: MapKind, index: int) -> FloatArray:
    """Return all heads of a layer, [head, row, column]."""
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
