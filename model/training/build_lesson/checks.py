"""Tests of the result of a completed line. A passed test returns None, a failed test a `Failure`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from headlight.model.training.build_lesson.sentences import MAIN_PAIR, TARGET_WORDS

TOLERANCE = 1e-3
RANDOM_ROWS, RANDOM_SEED = 64, 3  # number of random queries and of keys, which have 4,096 scores
VARIANCE_TOLERANCE = 0.25


@dataclass(frozen=True)
class Failure:
    """The result of a failed test: the phrase `build_test_WORD` and its values."""

    word: str
    values: Mapping[str, str | int | float] = field(default_factory=dict)


def shape_text(shape: Sequence[int]) -> str:
    """Format a shape for the page: "3×4", or "1" for a scalar."""
    return "×".join(map(str, shape)) or "1"


def check_shape(result: Any, shape: Sequence[int]) -> Failure | None:
    """Check that the result is a tensor of this shape."""
    if not isinstance(result, Tensor):
        return Failure("not_tensor", {"expected": shape_text(shape)})
    if tuple(result.shape) != tuple(shape):
        return Failure("shape", {"result": shape_text(result.shape), "expected": shape_text(shape)})
    return None


def check_equal(result: Any, expected: Tensor) -> Failure | None:
    """Check that the result equals the expected tensor."""
    failure = check_shape(result, expected.shape)
    if failure is not None or torch.allclose(result.float(), expected, atol=TOLERANCE):
        return failure
    row, column = divmod(int((result - expected).abs().nan_to_num(math.inf).argmax()), expected.shape[-1])
    values = {"row": row + 1, "column": column + 1}
    return Failure("number", values | {"result": float(result[row, column]), "expected": float(expected[row, column])})


def check_projections(result: Any, expected: Sequence[Tensor]) -> Failure | None:
    """Check a tuple of queries, keys and values."""
    if not isinstance(result, tuple) or len(result) != len(expected):
        return Failure("three")
    return next((failure for pair in zip(result, expected, strict=True) if (failure := check_equal(*pair))), None)


def random_scores() -> dict[str, Tensor]:
    """Return scores of random queries and keys with variance 1."""
    random = torch.Generator().manual_seed(RANDOM_SEED)
    query, key = (torch.randn(RANDOM_ROWS, 2, generator=random) for _ in range(2))
    return {"q": query, "k": key, "s": query @ key.mT}


def check_unit_variance(result: Any) -> Failure | None:
    """Check that scores of random queries and keys have variance 1."""
    failure = check_shape(result, (RANDOM_ROWS, RANDOM_ROWS))
    variance = float(result.var()) if failure is None else 1.0
    if failure is None and not abs(variance - 1) < VARIANCE_TOLERANCE:
        return Failure("variance", {"result": variance})
    return failure


def check_weights(result: Any, scores: Tensor) -> Failure | None:
    """Check that the result is the softmax of the scores: no weight is negative, and each row sums to 1."""
    failure = check_shape(result, scores.shape)
    if failure is not None:
        return failure
    if result.min() < 0:
        return Failure("negative", {"result": float(result.min())})
    return _check_row_sums(result, MAIN_PAIR.source) or check_equal(result, scores.softmax(-1))


def _check_row_sums(result: Tensor, words: Sequence[str]) -> Failure | None:
    sums = result.sum(-1)
    row = int((sums - 1).abs().nan_to_num(math.inf).argmax())
    if abs(float(sums[row]) - 1) < TOLERANCE:
        return None
    return Failure("row_sum", {"word": words[row], "result": float(sums[row])})


def check_unit_deviation(result: Any) -> Failure | None:
    """Check that each word has mean 0 and standard deviation 1."""
    failure = check_shape(result, (len(MAIN_PAIR.source), 4))
    if failure is not None:
        return failure
    spreads = result.std(-1, unbiased=False)
    row = int((spreads - 1).abs().argmax())
    if abs(float(spreads[row]) - 1) < 10 * TOLERANCE:
        return None
    return Failure("spread", {"word": MAIN_PAIR.source[row], "result": float(spreads[row])})


def check_relu(result: Any, products: Tensor) -> Failure | None:
    """Check that negative numbers are 0 and all other numbers are unchanged."""
    failure = check_shape(result, products.shape)
    if failure is None and result.min() < 0:
        return Failure("below_zero", {"result": float(result.min())})
    return failure or check_equal(result, products.relu())


def check_causal(result: Any, scores: Tensor) -> Failure | None:
    """Check that no row attends to a later word, and that each row sums to 1."""
    failure = check_shape(result, scores.shape)
    if failure is not None:
        return failure
    later = result.triu(1).sum(-1)
    row = int(later.argmax())
    words = ("start", *MAIN_PAIR.target)
    if not float(later[row]) < TOLERANCE:
        return Failure("later", {"word": words[row], "result": float(later[row])})
    return _check_row_sums(result, words)


def check_word(result: Any, expected: str) -> Failure | None:
    """Check that the result is the id of a word."""
    if not isinstance(result, Tensor) or result.numel() != 1:
        shape = shape_text(result.shape) if isinstance(result, Tensor) else "1"
        return Failure("shape", {"result": shape, "expected": "1"})
    index = int(result)
    if not 0 <= index < len(TARGET_WORDS):
        return Failure("no_word", {"result": index, "count": len(TARGET_WORDS)})
    if TARGET_WORDS[index] != expected:
        return Failure("word", {"result": TARGET_WORDS[index], "expected": expected})
    return None
