"""Drawings of attention: all heads as a wall, one head as a matrix, several heads as lines."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import numpy as np

from headlight.model.recordings.images import Picture
from headlight.model.records import AttentionMap, FloatArray, Token
from headlight.viz.export.drawing import LATIN_WIDTH, Drawing, Image, Line, Rectangle, Shape, Text, text_width
from headlight.viz.theme import Theme, colour_scale, head_colour

CELL, TEXT, CAPTION_TEXT, GAP, MARGIN = 14.0, 9.0, 9.0, 4.0, 12.0  # points
TILE, TILE_GAP, TILE_LABEL = 56.0, 6.0, 24.0  # points in the wall
COLUMN_GAP, LINE_WIDTH = 150.0, 2.0  # points
MIN_LINE_WEIGHT = 0.01  # weaker lines are not drawn
COLOURS = 255  # number of samples of the colour scale
MIN_LARGEST = 1e-4  # minimum of the largest patch weight, by which the others are divided; as in `recording/picture.js`
PICTURE_SIDE = 224.0  # longer side of an image in points
OVERLAY_OPACITY = 0.6  # of a weight's colour on the image; as in `recording/picture.js`


def head_drawing(head_map: AttentionMap, caption: str, theme: Theme) -> Drawing:
    """Draw one head: a row for each query and a column for each key."""
    rows, columns = row_names(head_map), [token.text for token in head_map.columns]
    left = MARGIN + max(text_width(name, TEXT) for name in rows) + GAP
    top = MARGIN + max(text_width(name, TEXT) for name in columns) + GAP
    names = [
        *(Text(left - GAP, top + (row + 0.5) * CELL, name, TEXT, theme.ink, "end") for row, name in enumerate(rows)),
        *(
            Text(left + (column + 0.5) * CELL, top - GAP, name, TEXT, theme.ink, vertical=True)
            for column, name in enumerate(columns)
        ),
    ]
    cells = _cells(head_map.weights, left, top, CELL, CELL, theme)
    width, height = left + len(columns) * CELL + MARGIN, top + len(rows) * CELL
    return _with_caption([*names, *cells], width, height, caption, theme)


def wall_drawing(
    maps: Sequence[Sequence[FloatArray]],
    layers: Sequence[int],
    caption: str,
    theme: Theme,
    *,
    as_images: bool = False,
) -> Drawing:
    """Draw all heads, `maps[layer][head]` as `[row, column]`. Darkness is the square root of the weight."""
    draw_cells = _cell_image if as_images else _cells
    rows, columns = maps[0][0].shape
    cell = TILE / max(rows, columns)
    width, height = columns * cell + TILE_GAP, rows * cell + TILE_GAP
    left, top = MARGIN + TILE_LABEL, MARGIN + TILE_LABEL / 2
    shapes: list[Shape] = [
        Text(left + (head + 0.5) * width, MARGIN, str(head + 1), TEXT, theme.ink, "middle")
        for head in range(len(maps[0]))
    ]
    for index, heads in enumerate(maps):
        y = top + index * height
        shapes.append(Text(left - GAP, y + height / 2, str(layers[index] + 1), TEXT, theme.ink, "end"))
        for head, weights in enumerate(heads):
            shapes += draw_cells(np.sqrt(weights), left + head * width, y, cell, cell, theme)
    return _with_caption(shapes, left + len(maps[0]) * width + MARGIN, top + len(maps) * height, caption, theme)


def lines_drawing(maps: Sequence[AttentionMap], caption: str, theme: Theme) -> Drawing:
    """Draw lines from queries (left) to keys (right), a colour for each head. A stronger weight has more colour."""
    rows, columns = row_names(maps[0]), [token.text for token in maps[0].columns]
    left = MARGIN + max(text_width(name, TEXT) for name in rows) + GAP
    right = left + COLUMN_GAP
    top = MARGIN + (CELL if len(maps) > 1 else 0)  # below the legend
    weighted_lines = []
    for index, head_map in enumerate(maps):
        colour = head_colour(theme, index)
        for (row, column), weight in np.ndenumerate(head_map.weights):
            if weight >= MIN_LINE_WEIGHT:
                ends = (left, top + (row + 0.5) * CELL, right, top + (column + 0.5) * CELL)
                weighted_lines.append(
                    (float(weight), Line(*ends, LINE_WIDTH, _mix_colours(theme.raised, colour, float(weight))))
                )
    lines = [line for _, line in sorted(weighted_lines, key=lambda pair: pair[0])]  # the strongest last, on top
    names = [
        *(Text(left - GAP, top + (row + 0.5) * CELL, name, TEXT, theme.ink, "end") for row, name in enumerate(rows)),
        *(Text(right + GAP, top + (column + 0.5) * CELL, name, TEXT, theme.ink) for column, name in enumerate(columns)),
    ]
    width = right + GAP + max(text_width(name, TEXT) for name in columns) + MARGIN
    return _with_caption(
        [*_legend(maps, left, theme), *lines, *names], width, top + max(len(rows), len(columns)) * CELL, caption, theme
    )


def picture_drawing(picture: Picture, weights: FloatArray, patch: int | None, caption: str, theme: Theme) -> Drawing:
    """Draw an image with an overlay of its patch weights, relative to the largest, and a frame around `patch`."""
    scale = PICTURE_SIDE / max(picture.pixels.shape)
    height, width = (scale * size for size in picture.pixels.shape[:2])
    shapes: list[Shape] = [Image(MARGIN, MARGIN, width, height, _overlay_weights(picture, weights, theme), smooth=True)]
    if patch is not None:
        row, column = divmod(patch, picture.columns)
        shapes += _frame(
            MARGIN + column * width / picture.columns,
            MARGIN + row * height / picture.rows,
            width / picture.columns,
            height / picture.rows,
            theme,
        )
    return _with_caption(shapes, MARGIN + width + MARGIN, MARGIN + height, caption, theme)


def _overlay_weights(picture: Picture, weights: FloatArray, theme: Theme) -> np.ndarray:
    """Blend the colour of each patch's weight into its pixels; masked patches, whose weight is NaN, stay unchanged.

    Returns pixels [height, width, 3].
    """
    colours = np.array(
        [list(bytes.fromhex(str(colour)[1:])) for _, colour in colour_scale("headlight", theme, COLOURS)], dtype=float
    )
    grid = picture.patch_weights(weights)
    levels = np.nan_to_num(grid / np.nanmax(grid, initial=MIN_LARGEST))
    overlay = colours[np.rint(levels * (COLOURS - 1)).astype(int)]  # [row, column, 3]
    rows, columns = (
        np.arange(size) * count // size
        for size, count in zip(picture.pixels.shape, (picture.rows, picture.columns), strict=False)
    )
    shares = np.where(np.isnan(grid), 0.0, OVERLAY_OPACITY)[rows[:, None], columns][..., None]
    mixed: np.ndarray = np.rint(picture.pixels * (1 - shares) + overlay[rows[:, None], columns] * shares).astype(
        np.uint8
    )
    return mixed


def _frame(x: float, y: float, width: float, height: float, theme: Theme) -> list[Line]:
    corners = ((x, y), (x + width, y), (x + width, y + height), (x, y + height))
    sides = zip(corners, (*corners[1:], corners[0]), strict=True)
    return [Line(*start, *end, LINE_WIDTH, theme.accent) for start, end in sides]


def _legend(maps: Sequence[AttentionMap], left: float, theme: Theme) -> list[Text]:
    """Return the numbers of the heads, counted from 1, in their colours; empty for one head."""
    names = ["mean" if head_map.head is None else str(head_map.head + 1) for head_map in maps]
    widths = np.cumsum([0.0, *(text_width(f"{name} ", TEXT) for name in names)])
    return [
        Text(left + float(width), MARGIN + TEXT / 2, name, TEXT, head_colour(theme, index))
        for index, (name, width) in enumerate(zip(names, widths, strict=False))
        if len(maps) > 1
    ]


def row_names(head_map: AttentionMap) -> list[str]:
    """Return the names of the rows. A decoder row has the token that was read and the one being written."""

    def name(row: Token, previous: Token) -> str:
        return row.text if previous is row else f"{previous.text} → {row.text}"

    return [name(row, previous) for row, previous in zip(head_map.rows, head_map.previous_tokens, strict=True)]


def _cells(values: FloatArray, left: float, top: float, width: float, height: float, theme: Theme) -> list[Rectangle]:
    """Return a cell for each value from 0 to 1, `[row, column]`, on a background in the colour of zero."""
    colours = [str(colour) for _, colour in colour_scale("headlight", theme, COLOURS)]
    levels = np.rint(np.clip(values, 0, 1) * (COLOURS - 1)).astype(int)
    rows, columns = levels.shape
    background = Rectangle(left, top, columns * width, rows * height, colours[0])
    cells = [
        Rectangle(left + column * width, top + row * height, width, height, colours[level])
        for (row, column), level in np.ndenumerate(levels)
        if level
    ]
    return [background, *cells]


def _cell_image(values: FloatArray, left: float, top: float, width: float, height: float, theme: Theme) -> list[Image]:
    """Return the cells of `_cells` as one image."""
    colours = [bytes.fromhex(str(colour)[1:]) for _, colour in colour_scale("headlight", theme, COLOURS)]
    levels = np.rint(np.clip(values, 0, 1) * (COLOURS - 1)).astype(int)
    rows, columns = levels.shape
    pixels = np.array([list(colour) for colour in colours], dtype=np.uint8)[levels]  # [row, column, 3]
    return [Image(left, top, columns * width, rows * height, pixels)]


def _with_caption(shapes: Sequence[Shape], width: float, height: float, caption: str, theme: Theme) -> Drawing:
    """Return a drawing of these shapes with the caption below, wrapped to the width."""
    letters = max(20, int((width - 2 * MARGIN) / (CAPTION_TEXT * LATIN_WIDTH)))
    lines = textwrap.wrap(caption, letters)
    texts = [
        Text(MARGIN, height + MARGIN + (index + 0.5) * CELL, line, CAPTION_TEXT, theme.ink)
        for index, line in enumerate(lines)
    ]
    full_width = max(width, *(MARGIN * 2 + text_width(line, CAPTION_TEXT) for line in lines), 0)
    return Drawing(full_width, height + MARGIN + len(lines) * CELL + MARGIN, theme.raised, [*shapes, *texts])


def _mix_colours(first: str, second: str, share: float) -> str:
    """Mix two colours in sRGB, with this share of the second."""
    pairs = zip(bytes.fromhex(first[1:]), bytes.fromhex(second[1:]), strict=True)
    return "#" + "".join(f"{round(one + share * (other - one)):02x}" for one, other in pairs)
