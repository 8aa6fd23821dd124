"""Heat maps in notebooks: a matrix as cells in the page's colours, with the names of rows and columns.

A map with few columns is an HTML table with numbers. A wide one is a picture with the names of its rows: notebooks
store their output, and thousands of table cells would make them large.
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
LEVELS = 255  # number of colours of a scale
ROW_PIXELS, PICTURE_PIXELS = 18, 560  # height of a row, width of a picture
DARK_SHARE = 0.5  # share of the scale above which cells have white numbers
CELL = "padding:2px 5px;border:1px solid #fff;text-align:right;font-variant-numeric:tabular-nums"
NAME = "padding:2px 8px;border:0;background:none;font-weight:400;text-align:right;white-space:nowrap"
MapScale = Literal["signed", "share", "positive"]


@dataclass(frozen=True, repr=False, eq=False)
class NumberMap:
    """A matrix with names. `scale` as in figures of the page: orange to blue, 0 to 1, or 0 to the largest."""

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

    def levels(self) -> np.ndarray:
        """Return the index of each cell's colour, `[rows, columns]`."""
        limit = 1.0 if self.scale == "share" else float(np.abs(self.matrix).max()) or 1.0
        shares = self.matrix / limit
        shares = 0.5 + shares / 2 if self.scale == "signed" else shares
        return np.round(np.clip(shares, 0, 1) * (LEVELS - 1)).astype(np.uint8)

    @property
    def palette(self) -> str:
        """The name of the colour scale."""
        return "difference" if self.scale == "signed" else "headlight"

    def __repr__(self) -> str:
        return repr(self.frame)

    def _repr_html_(self) -> str:
        is_wide = self.matrix.shape[1] > MAX_NUMBERED_COLUMNS
        return self._picture() if is_wide else self._table()

    def _table(self) -> str:
        colours = [str(colour) for _, colour in colour_scale(self.palette, THEMES["light"], LEVELS)]
        digits = 2 if self.scale == "share" else 3
        head = "".join(f'<th style="{NAME}">{escape(str(name))}</th>' for name in self.frame.columns)
        body, levels = [], self.levels()
        for row, name in enumerate(self.frame.index[:MAX_ROWS]):
            cells = "".join(
                self._cell(row, column, int(level), colours, digits) for column, level in enumerate(levels[row])
            )
            body.append(f'<tr><th style="{NAME}">{escape(str(name))}</th>{cells}</tr>')
        return f'<table style="border-collapse:collapse"><tr><th style="{NAME}"></th>{head}</tr>{"".join(body)}</table>'

    def _cell(self, row: int, column: int, level: int, colours: Sequence[str], digits: int) -> str:
        if self.masked_above_diagonal and column > row:
            return f'<td style="{CELL};background:#eee"></td>'
        is_dark = level > DARK_SHARE * LEVELS if self.scale != "signed" else abs(level / LEVELS - 0.5) > DARK_SHARE / 2
        style = f"{CELL};background:{colours[level]};color:{'#fff' if is_dark else '#111'}"
        return f'<td style="{style}">{self.matrix[row, column]:.{digits}f}</td>'

    def _picture(self) -> str:
        levels = self.levels()[:MAX_ROWS]
        names = "".join(
            f'<div style="height:{ROW_PIXELS}px;line-height:{ROW_PIXELS}px;{NAME}">{escape(str(name))}</div>'
            for name in self.frame.index[:MAX_ROWS]
        )
        data = base64.b64encode(encode_png(levels, self.palette)).decode()
        size = f"width:{PICTURE_PIXELS}px;height:{ROW_PIXELS * len(levels)}px;image-rendering:pixelated"
        low, high = (f"{bound(self.matrix):.3g}" for bound in (np.min, np.max))
        picture = f'<img alt="" style="{size};max-width:none;margin:0" src="data:image/png;base64,{data}">'
        shape = f"{self.matrix.shape[0]} × {self.matrix.shape[1]}"
        return (
            f'<div style="display:flex"><div>{names}</div><div>{picture}</div></div><div>[{shape}] {low} … {high}</div>'
        )
