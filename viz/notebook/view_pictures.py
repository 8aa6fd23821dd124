"""Pictures of a view: `view.export("wall.pdf")`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from headlight.model.files import write_file
from headlight.model.recordings.recording import Recording, RecordingError
from headlight.model.records import AttentionMap
from headlight.viz.export.drawing import Drawing, to_pdf, to_png, to_svg
from headlight.viz.export.head_drawings import head_drawing, lines_drawing, wall_drawing
from headlight.viz.notebook.recording_json import downsample
from headlight.viz.theme import THEMES

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
    drawing = _wall(view, caption, theme) if what == "wall" else _heads(view, what, heads, caption, theme)
    write_file(path, WRITERS[path.suffix](drawing))


def _wall(view: Any, caption: str | None, theme: Any) -> Drawing:
    source, kind = view.sources[0], view.kind
    stacked = source.attention.of(kind)  # [layer, head, row, column]
    numbers = source.of(kind).numbers if isinstance(source, Recording) else range(len(stacked))
    maps = [[downsample(weights, MAX_TILE_CELLS) for weights in heads] for heads in stacked]
    pooled = f", each cell the largest of several in a head of {stacked.shape[2]} × {stacked.shape[3]}"
    text = (
        f"{_prefix(source)}{kind} attention: a row for each layer, a column for each head"
        f"{pooled if max(stacked.shape[2:]) > MAX_TILE_CELLS else ''}. Darkness is the square root of the weight."
    )
    return wall_drawing(maps, numbers, text if caption is None else caption, THEMES[theme])


def _heads(view: Any, what: str, heads: Sequence[int] | None, caption: str | None, theme: Any) -> Drawing:
    if isinstance(view.layer, str) or view.head == "max":
        raise RecordingError(f"A picture of {what!r} needs one layer. Select it: view.layer = 0; view.head = 0.")
    chosen = [view.head] if heads is None else list(heads)
    maps = [_map(view, head) for head in chosen]
    names = ", ".join("the mean of all heads" if head == "mean" else f"head {head + 1}" for head in chosen)
    axes = "left: queries, right: keys" if what == "lines" else "rows: queries, columns: keys"
    text = f"{_prefix(view.sources[0])}{view.kind} attention, layer {view.layer + 1}, {names}; {axes}."
    text = text if caption is None else caption
    return lines_drawing(maps, text, THEMES[theme]) if what == "lines" else head_drawing(maps[0], text, THEMES[theme])


def _map(view: Any, head: int | str) -> AttentionMap:
    result: AttentionMap = view.sources[0].attention_map(view.kind, view.layer, None if head == "mean" else head)
    return result


def _prefix(source: Any) -> str:
    name = source.name if isinstance(source, Recording) else source.request.model
    return f"{name}, " if name else ""
