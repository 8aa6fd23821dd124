"""Figures of examples that a reader can work out by hand: a circle, a product of matrices, numbers in blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headlight.viz.lessons.result_figures import MINUS_SIGN, ResultFigure, TextOrPhrase


def format_fixed(number: float, digits: int) -> str:
    """Format a number with a fixed number of decimals. A rounded zero has no sign."""
    return f"{round(float(number), digits) + 0.0:.{digits}f}".replace("-", MINUS_SIGN)


def format_term(number: float, digits: int) -> str:
    """Format a term of a sum, with negative numbers in brackets."""
    text = format_fixed(number, digits)
    return f"({text})" if text.startswith(MINUS_SIGN) else text


@dataclass(frozen=True)
class CirclePoint:
    """A point with its name. `x` and `y` are its coordinates on the unit circle."""

    name: TextOrPhrase
    x: float
    y: float


@dataclass(frozen=True)
class UnitCircle(ResultFigure):
    """Points on a circle of radius 1, each with a line from the centre. `others` are further points, without names."""

    form = "circle"
    title: TextOrPhrase
    points: Sequence[CirclePoint]
    others: Sequence[Sequence[float]]  # [points][x, y]
    x_name: TextOrPhrase
    y_name: TextOrPhrase
    caption: TextOrPhrase = ""


@dataclass(frozen=True)
class NumberMatrix:
    """A matrix with a caption, its numbers as text."""

    name: TextOrPhrase
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class MatrixProduct(ResultFigure):
    """Matrices in a row, with the signs between them: `A · x = y`."""

    form = "matrices"
    title: TextOrPhrase
    matrices: Sequence[NumberMatrix]
    signs: Sequence[str]


@dataclass(frozen=True)
class NumberBlock:
    """One block of a tensor. `groups` are the indices of the cells' colours."""

    name: TextOrPhrase
    numbers: Sequence[Sequence[str]]
    groups: Sequence[Sequence[int]]


@dataclass(frozen=True)
class NumberBlocks(ResultFigure):
    """A tensor of three or four axes as blocks of numbers, with its shape and the line of code that makes it."""

    form = "blocks"
    title: TextOrPhrase
    code: str
    shape: TextOrPhrase
    blocks: Sequence[NumberBlock]
    highlighted: str = ""  # number with a frame
