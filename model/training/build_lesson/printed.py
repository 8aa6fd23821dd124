"""The numbers of the main sentence that the lesson prints. Each step calculates with the rounded results before it.

A reader who calculates with the numbers on the page gets exactly the next number on the page. The unrounded results,
`numbers.main_trace`, differ by less than 0.025.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from headlight.model.training.build_lesson import lines
from headlight.model.training.build_lesson.sentences import END, MAIN_PAIR, TARGET_WORDS

Numbers = np.ndarray[Any, np.dtype[np.float64]]
ROOT = 1.414  # √2 as the page prints it
DECIMALS = 2
TIE = 1e-6  # added before rounding, so that 0.125 is rounded up although its binary value may be slightly lower


def rounded(array: Numbers) -> Numbers:
    """Round to two decimals, halves away from zero."""
    scale = 10**DECIMALS
    result: Numbers = np.sign(array) * np.floor(np.abs(array) * scale + 0.5 + TIE) / scale
    return result + 0.0  # no negative zero


def softmax_steps(scores: Numbers) -> dict[str, Numbers]:
    """Return the printed exponentials, their sums and the weights of printed scores: [..., queries, keys]."""
    powers = rounded(np.exp(scores))
    totals = rounded(powers.sum(-1, keepdims=True))
    return {"powers": powers, "totals": totals[..., 0], "shares": rounded(powers / totals)}


@cache
def printed_numbers() -> dict[str, Numbers]:
    """Return the printed results by name. Results of attention have the axes `[heads, queries, keys or width]`."""
    trace = {name: tensor.numpy().astype(float) for name, tensor in lines.trace().items()}
    weights = {name: matrix.numpy().astype(float) for name, matrix in lines.matrices().items()}
    return _encoder(trace, weights) | _cross(trace) | _next_word(trace)


def _encoder(trace: dict[str, Numbers], weights: dict[str, Numbers]) -> dict[str, Numbers]:
    x = rounded(trace["encoder.x"])
    query, key, value = (rounded(trace[f"encoder.{name}"]) for name in ("query", "key", "value"))
    raw = rounded(query @ key.swapaxes(-1, -2))
    scores = rounded(raw / ROOT)
    steps = softmax_steps(scores)
    mixed = rounded(steps["shares"] @ value)
    joined = np.concatenate(list(mixed), axis=-1)
    received = rounded(joined @ weights["encoder.joined"])
    added = rounded(x + received)
    mean = rounded(added.mean(-1, keepdims=True))
    centred = rounded(added - mean)
    spread = rounded(np.sqrt((centred**2).mean(-1, keepdims=True)))
    normed = rounded(centred / spread)
    hidden = np.maximum(0, rounded(normed @ weights["encoder.inner"]))
    outer = rounded(hidden @ weights["encoder.outer"])
    results = {
        "raw": raw,
        "scores": scores,
        **steps,
        "mixed": mixed,
        "joined": joined,
        "received": received,
        "added": added,
        "mean": mean[:, 0],
        "centred": centred,
        "spread": spread[:, 0],
        "normed": normed,
        "hidden": hidden,
        "network.received": outer,
    }
    return {f"encoder.{name}": array for name, array in results.items()}


def _cross(trace: dict[str, Numbers]) -> dict[str, Numbers]:
    query, key = rounded(trace["cross.query"]), rounded(trace["cross.key"])
    raw = rounded(query @ key.swapaxes(-1, -2))
    scores = rounded(raw / ROOT)
    results = {"query": query, "key": key, "raw": raw, "scores": scores, **softmax_steps(scores)}
    return {f"cross.{name}": array for name, array in results.items()}


def _next_word(trace: dict[str, Numbers]) -> dict[str, Numbers]:
    logits = rounded(trace["logits"])
    powers = rounded(np.exp(logits))
    powers = np.where(powers >= 100, np.floor(powers + 0.5), powers)  # the page prints large numbers without decimals
    totals = powers.sum(-1)
    totals = np.where(totals >= 100, np.floor(totals + 0.5), rounded(totals))
    shares = rounded(powers / totals[:, None])
    ids = [TARGET_WORDS.index(word) for word in (*MAIN_PAIR.target, END)]
    right = shares[np.arange(len(ids)), ids]
    losses = rounded(-np.log(right))
    return {
        "logits": logits,
        "next.powers": powers,
        "next.totals": totals,
        "next.shares": shares,
        "next.right": right,  # probability of the right word in each row
        "next.losses": losses,
        "next.loss": rounded(losses.mean()),
    }
