"""The tiny translator of the lessons once more, in NumPy and with loops over words: a second computation."""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

FILE = Path(__file__).resolve().parents[3] / "assets" / "lesson" / "build.json"
SOURCE_WORDS = ("我", "喜欢", "书", "的", "读", "你", "他们", "诗")
TARGET_WORDS = ("start", "end", "I", "like", "the", "book", "read", "you", "they", "poem")
Array = np.ndarray[Any, Any]
Rows = list[Array]


@cache
def weights() -> dict[str, Array]:
    values = json.loads(FILE.read_text(encoding="utf-8"))["final"]["weights"]
    return {name: np.array(matrix) for name, matrix in values.items()}


def position(place: int) -> Array:
    """Sine and cosine of the place, and of a tenth of it, with one decimal."""
    angles = (place, place, place / 10, place / 10)
    numbers = [math.sin(angle) if index % 2 == 0 else math.cos(angle) for index, angle in enumerate(angles)]
    return np.round(numbers, 1)


def embed(words: tuple[str, ...], table: str, names: tuple[str, ...]) -> Rows:
    return [weights()[table][names.index(word)] + position(place) for place, word in enumerate(words)]


def norm(x: Array) -> Array:
    return (x - x.mean()) / math.sqrt(((x - x.mean()) ** 2).mean() + 1e-5)


def part(name: str, head: int) -> Array:
    return weights()[name][:, 2 * head : 2 * head + 2]


def softmax(scores: list[float]) -> list[float]:
    powers = [math.exp(score) for score in scores]
    return [power / sum(powers) for power in powers]


def head_scores(place: str, head: int, asking: Rows, asked: Rows) -> list[list[float]]:
    """The scores q · k before the division."""
    queries = [x @ part(f"{place}.query", head) for x in asking]
    keys = [x @ part(f"{place}.key", head) for x in asked]
    return [[float(query @ key) for key in keys] for query in queries]


def head_weights(place: str, head: int, asking: Rows, asked: Rows, allowed: Any) -> list[list[float]]:
    """The weights. Cells for which `allowed(row, column)` is false are masked."""
    result = []
    for row, scores in enumerate(head_scores(place, head, asking, asked)):
        seen = [column for column in range(len(asked)) if allowed(row, column)]
        shares = dict(zip(seen, softmax([scores[column] / math.sqrt(2) for column in seen]), strict=True))
        result.append([shares.get(column, 0.0) for column in range(len(asked))])
    return result


def attend(place: str, asking: Rows, asked: Rows, allowed: Any) -> Rows:
    joined = []
    for row in range(len(asking)):
        heads = []
        for head in range(2):
            shares = head_weights(place, head, asking, asked, allowed)[row]
            values = [x @ part(f"{place}.value", head) for x in asked]
            heads.append(sum(share * value for share, value in zip(shares, values, strict=True)))
        joined.append(np.concatenate(heads) @ weights()[f"{place}.joined"])
    return [norm(x + received) for x, received in zip(asking, joined, strict=True)]


def network(side: str, rows: Rows) -> Rows:
    inner, outer = weights()[f"{side}.inner"], weights()[f"{side}.outer"]
    return [norm(x + np.maximum(x @ inner, 0) @ outer) for x in rows]


def everything(row: int, column: int) -> bool:
    return True


def past(row: int, column: int) -> bool:
    return column <= row


@cache
def embedded_source(words: tuple[str, ...]) -> Rows:
    return embed(words, "source_table", SOURCE_WORDS)


@cache
def encode(words: tuple[str, ...]) -> Rows:
    x = embedded_source(words)
    return network("encoder", attend("encoder", x, x, everything))


@cache
def decoder_states(read: tuple[str, ...]) -> Rows:
    y = embed(read, "target_table", TARGET_WORDS)
    return attend("decoder", y, y, past)


@cache
def probabilities(source: tuple[str, ...], read: tuple[str, ...], hidden: int | None = None) -> list[dict[str, float]]:
    """For each row the probability of each next word; cross-attention may not see word `hidden`."""
    y = attend("cross", decoder_states(read), encode(source), lambda row, column: column != hidden)
    rows = [softmax(list(x @ weights()["output"])) for x in network("decoder", y)]
    return [dict(zip(TARGET_WORDS, row, strict=True)) for row in rows]


def likeliest(probability: dict[str, float]) -> str:
    return max(probability, key=lambda word: probability[word])
