"""Heat maps in notebooks: a matrix as cells in the page's colours, with the names of rows and columns.

A map of up to `MAX_NUMBERED_COLUMNS` columns is an HTML table with numbers. A wider map is a PNG with row names,
because notebooks store their outputs, and thousands of table cells would make the files large.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

import numpy as np
import pandas as pd

from headlight.model.records import FloatArray
from headlight.viz.export.png import encode_png
from headlight.viz.theme import THEMES, colour_scale

MAX_NUMBERED_COLUMNS = 24  # a map with more columns has no numbers
MAX_ROWS = 64  # displayed rows
COLOUR_COUNT = 255  # number of colours of a scale
ROW_PIXELS, PICTURE_PIXELS = 18, 560  # height of a row, width of a picture
MIN_DARK_SHARE = 0.5  # share of the scale above which cells have white numbers
CELL_STYLE = "padding:2px 5px;border:1px solid #fff;text-align:right;font-variant-numeric:tabular-nums"
LABEL_STYLE = "padding:2px 8px;border:0;background:none;font-weight:400;text-align:right;white-space:nowrap"
MapScale = Literal["signed", "share", "positive"]


@dataclass(frozen=True, repr=False, eq=False)
class NumberMap:
    """A matrix with row and column names. `scale` is the colour range: orange to blue, 0 to 1, or 0 to the maximum."""

    matrix: FloatArray  # [rows, columns]
    rows: Sequence[str] = ()
    columns: Sequence[str] = ()
    scale: MapScale = "signed"
    masked_above_diagonal: bool = False  # leave out cells that the causal mask hides

    @property
    def frame(self) -> pd.DataFrame:
        """The numbers as a table."""
        rows, columns = (
            list(names) or list(map(str, range(size)))
            for names, size in zip((self.rows, self.columns), self.matrix.shape, strict=True)
        )
        return pd.DataFrame(self.matrix, index=rows, columns=columns).round(4)

    def colour_indices(self) -> np.ndarray:
        """Return the index of each cell's colour, `[rows, columns]`."""
        limit = 1.0 if self.scale == "share" else float(np.abs(self.matrix).max()) or 1.0
        shares = self.matrix / limit
        shares = 0.5 + shares / 2 if self.scale == "signed" else shares
        return np.round(np.clip(shares, 0, 1) * (COLOUR_COUNT - 1)).astype(np.uint8)

    @property
    def palette(self) -> str:
        """The name of the colour scale."""
        return "difference" if self.scale == "signed" else "headlight"

    def __repr__(self) -> str:
        return repr(self.frame)

    def _repr_html_(self) -> str:
        is_wide = self.matrix.shape[1] > MAX_NUMBERED_COLUMNS
        return self._render_picture() if is_wide else self._render_table()

    def _render_table(self) -> str:
        colours = [str(colour) for _, colour in colour_scale(self.palette, THEMES["light"], COLOUR_COUNT)]
        digits = 2 if self.scale == "share" else 3
        header = "".join(f'<th style="{LABEL_STYLE}">{escape(str(name))}</th>' for name in self.frame.columns)
        body, colour_indices = [], self.colour_indices()
        for row, name in enumerate(self.frame.index[:MAX_ROWS]):
            cells = "".join(
                self._render_cell(row, column, int(colour_index), colours, digits)
                for column, colour_index in enumerate(colour_indices[row])
            )
            body.append(f'<tr><th style="{LABEL_STYLE}">{escape(str(name))}</th>{cells}</tr>')
        header = f'<tr><th style="{LABEL_STYLE}"></th>{header}</tr>'
        return f'<table style="border-collapse:collapse">{header}{"".join(body)}</table>'

    def _render_cell(self, row: int, column: int, colour_index: int, colours: Sequence[str], digits: int) -> str:
        if self.masked_above_diagonal and column > row:
            return f'<td style="{CELL_STYLE};background:#eee"></td>'
        is_dark = (
            colour_index > MIN_DARK_SHARE * COLOUR_COUNT
            if self.scale != "signed"
            else abs(colour_index / COLOUR_COUNT - 0.5) > MIN_DARK_SHARE / 2
        )
        style = f"{CELL_STYLE};background:{colours[colour_index]};color:{'#fff' if is_dark else '#111'}"
        return f'<td style="{style}">{self.matrix[row, column]:.{digits}f}</td>'

    def _render_picture(self) -> str:
        colour_indices = self.colour_indices()[:MAX_ROWS]
        names = "".join(
            f'<div style="height:{ROW_PIXELS}px;line-height:{ROW_PIXELS}px;{LABEL_STYLE}">{escape(str(name))}</div>'
            for name in self.frame.index[:MAX_ROWS]
        )
        data = base64.b64encode(encode_png(colour_indices, self.palette)).decode()
        style = f"width:{PICTURE_PIXELS}px;height:{ROW_PIXELS * len(colour_indices)}px;image-rendering:pixelated"
        low, high = (f"{bound(self.matrix):.3g}" for bound in (np.min, np.max))
        picture = f'<img alt="" style="{style};max-width:none;margin:0" src="data:image/png;base64,{data}">'
        shape = f"{self.matrix.shape[0]} × {self.matrix.shape[1]}"
        return (
            f'<div style="display:flex"><div>{names}</div><div>{picture}</div></div><div>[{shape}] {low} … {high}</div>'
        )
