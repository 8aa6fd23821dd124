"""The line that a reader completes in each part: candidates, their tensors, and the test of their result.

All tensors are those of the finished model for the main sentence. Candidates are executed, and the page shows PyTorch's
error or the measurement of the test.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor

from headlight.model.training.build_lesson import checks
from headlight.model.training.build_lesson.checks import Failure
from headlight.model.training.build_lesson.expressions import LineError, run_expression
from headlight.model.training.build_lesson.lesson_file import read_file
from headlight.model.training.build_lesson.model import HEAD_WIDTH, POSITIONS, forward
from headlight.model.training.build_lesson.parts import ALL_PARTS
from headlight.model.training.build_lesson.sentences import MAIN_PAIR, make_batch

HEAD = 1  # the head whose numbers the lesson shows
SIDES = {"y": "y", "m": "memory"}
Names = Mapping[str, Any]  # variables of a line: name → tensor


@dataclass(frozen=True)
class Candidate:
    """A line that a reader may choose."""

    text: str
    variant: str = ""  # the variant that was trained with this line, if any


@dataclass(frozen=True)
class Gap:
    """The blank of a part."""

    candidates: tuple[Candidate, ...]
    names: Callable[[], Names]
    check: Callable[[Any, Names], Failure | None]
    then: str = ""  # the next line of the listing, which uses the result
    result: str = ""  # the variable of the result in that line
    variant: str = ""  # the variant that was trained with the right line


@dataclass(frozen=True)
class Verdict:
    """The outcome of a line: PyTorch's error, the test's failure, or neither."""

    text: str
    error: str = ""  # name of the exception and its message
    failure: Failure | None = None
    shape: tuple[int, ...] | None = None  # of the result
    variant: str = ""  # the variant that was trained with this line

    @property
    def passes(self) -> bool:
        """Whether the line ran and its result passed the test."""
        return not self.error and self.failure is None


@cache
def trace() -> dict[str, Tensor]:
    """Return the finished model's results for the main sentence, without the axes of models and pairs."""
    with torch.no_grad():
        results = forward(ALL_PARTS, read_file().final, make_batch([MAIN_PAIR]))
    return {name: tensor[0, 0] for name, tensor in results.items()}


@cache
def matrices() -> dict[str, Tensor]:
    """Return the finished model's weights without the axis of models."""
    return {name: weight[0] for name, weight in read_file().final.items()}


def head_matrix(name: str, head: int = HEAD) -> Tensor:
    """Return the columns of one head in a matrix, `[WIDTH, HEAD_WIDTH]`."""
    return matrices()[name][:, HEAD_WIDTH * head : HEAD_WIDTH * (head + 1)]


def _embedding_names() -> Names:
    batch = make_batch([MAIN_PAIR])
    return {"E": matrices()["source_table"], "ids": batch.source[0]}


def _projection_names() -> Names:
    names = {f"W_{name[0]}": head_matrix(f"encoder.{name}") for name in ("query", "key", "value")}
    return {"x": trace()["encoder.x"], **names}


def _attention_names() -> Names:
    tensors = {name[0]: trace()[f"encoder.{name}"][HEAD] for name in ("query", "key", "value", "scores")}
    weights = trace()["encoder.shares"][HEAD]
    return {**_projection_names(), **tensors, "a": weights}


def _unscaled_names() -> Names:
    names = dict(_attention_names())
    names["s"] = names["q"] @ names["k"].mT
    return names


def _head_names() -> Names:
    first, second = trace()["encoder.mixed"]
    return {"a": first, "b": second, "W_o": matrices()["encoder.joined"]}


def _encoder_names() -> Names:
    return {
        "x": trace()["encoder.x"] - POSITIONS[: len(MAIN_PAIR.source)],
        "P": POSITIONS,
        "W_q": matrices()["encoder.query"],
    }


def _residual_names() -> Names:
    return {"x": trace()["encoder.x"], "a": trace()["encoder.received"]}


def _norm_names() -> Names:
    x = trace()["encoder.added"]
    mean = x.mean(-1, keepdim=True)
    return {"x": x, "m": mean, "v": x.var(-1, keepdim=True, unbiased=False)}


def _network_names() -> Names:
    return {
        "x": trace()["encoder.normed"],
        "W_1": matrices()["encoder.inner"],
        "W_2": matrices()["encoder.outer"],
    }


def _mask_names() -> Names:
    scores = trace()["decoder.scores"][HEAD]
    return {"s": scores, "late": torch.ones_like(scores).triu(1).bool()}


def _next_word_names() -> Names:
    row = MAIN_PAIR.target.index("you")  # the words before this one are already written
    return {"p": trace()["logits"][: row + 1].softmax(-1)}


GAPS: Mapping[str, Gap] = {
    "words": Gap(
        (Candidate("ids @ E"), Candidate("E[ids]"), Candidate("E[:, ids]")),
        _embedding_names,
        lambda result, _: checks.check_equal(result, trace()["encoder.x"] - POSITIONS[: len(MAIN_PAIR.source)]),
    ),
    "qkv": Gap(
        (
            Candidate("x, x, x"),
            Candidate("W_q @ x, W_k @ x, W_v @ x"),
            Candidate("x @ W_q, x @ W_k, x @ W_v"),
        ),
        _projection_names,
        lambda result, _: checks.check_projections(
            result, [trace()[f"encoder.{name}"][HEAD] for name in ("query", "key", "value")]
        ),
    ),
    "scores": Gap(
        (Candidate("q @ k"), Candidate("q * k"), Candidate("q @ k.transpose(-2, -1)")),
        _attention_names,
        lambda result, names: checks.check_equal(result, names["q"] @ names["k"].mT),
    ),
    "scale": Gap(
        (
            Candidate("s * math.sqrt(2)", "multiplied_by_root"),
            Candidate("s / math.sqrt(2)"),
            Candidate("s / 2", "divided_by_width"),
        ),
        checks.random_scores,
        lambda result, _: checks.check_unit_variance(result),
        variant="scale",
    ),
    "softmax": Gap(
        (
            Candidate("s / s.sum(-1, keepdim=True)"),
            Candidate("s.softmax(-2)", "softmax_over_queries"),
            Candidate("s.softmax(-1)"),
        ),
        _attention_names,
        lambda result, names: checks.check_weights(result, names["s"]),
    ),
    "mix": Gap(
        (Candidate("a @ v"), Candidate("a.T @ v"), Candidate("v @ a")),
        _attention_names,
        lambda result, _: checks.check_equal(result, trace()["encoder.mixed"][HEAD]),
        variant="scale",
    ),
    "heads": Gap(
        (Candidate("a + b"), Candidate("torch.cat([a, b], -1)"), Candidate("torch.cat([a, b], 0)")),
        _head_names,
        lambda result, _: checks.check_equal(result, trace()["encoder.joined"]),
        then="both @ W_o",
        result="both",
        variant="two_heads",
    ),
    "positions": Gap(
        (
            Candidate("torch.cat([x, P[:6]], -1)"),
            Candidate("x + P[:6]"),
            Candidate("x", "without_positions"),
        ),
        _encoder_names,
        lambda result, _: checks.check_equal(result, trace()["encoder.x"]),
        then="x @ W_q",
        result="x",
        variant="positions",
    ),
    "residual": Gap(
        (Candidate("x @ a"), Candidate("x + a"), Candidate("a", "without_residual")),
        _residual_names,
        lambda result, _: checks.check_equal(result, trace()["encoder.added"]),
        variant="residual",
    ),
    "norm": Gap(
        (Candidate("v"), Candidate("(v + 1e-5).sqrt()"), Candidate("v.sqrt().mean()")),
        _norm_names,
        lambda result, names: checks.check_unit_deviation((names["x"] - names["m"]) / result),
        variant="norm",
    ),
    "network": Gap(
        (Candidate("x @ W_1"), Candidate("x"), Candidate("(x @ W_1).relu()")),
        _network_names,
        lambda result, names: checks.check_relu(result, names["x"] @ names["W_1"]),
        then="h @ W_2",
        result="h",
        variant="network",
    ),
    "mask": Gap(
        (
            Candidate("s.softmax(-1).masked_fill(late, 0)", "mask_after_softmax"),
            Candidate("s.masked_fill(late, -math.inf).softmax(-1)"),
            Candidate("s.masked_fill(late.T, -math.inf).softmax(-1)", "mask_transposed"),
        ),
        _mask_names,
        lambda result, names: checks.check_causal(result, names["s"]),
        variant="mask",
    ),
    "next": Gap(
        (Candidate("p[0].argmax()"), Candidate("p[-1].argmax()"), Candidate("p.argmax()")),
        _next_word_names,
        lambda result, _: checks.check_word(result, "you"),
        variant="cross",
    ),
}


def run_line(part: str, text: str) -> Verdict:
    """Run a line in the blank of a part, then the next line of the listing and the test.

    Raises:
        LineError: the text is outside the grammar.
    """
    gap = GAPS[part]
    names = gap.names()
    variant = next((candidate.variant for candidate in gap.candidates if candidate.text == text), "")
    try:
        result = run_expression(text, names)
        if gap.then:
            run_expression(gap.then, {**names, gap.result: result})
    except LineError:
        raise
    except (RuntimeError, IndexError, TypeError, ValueError, ZeroDivisionError) as error:
        return Verdict(text, error=error_text(error))
    failure = gap.check(result, names)
    return Verdict(text, "", failure, _shape(result), variant if failure else gap.variant)


def run_sides(sides: Mapping[str, str]) -> Verdict:
    """Run cross-attention. `sides` maps q, k and v to "y" (the decoder) or "m" (the encoder's memory)."""
    text = ", ".join(f"{name} = {SIDES[sides[name]]} @ W_{name}" for name in "qkv")
    names: dict[str, Any] = {"y": trace()["decoder.normed"], "memory": trace()["memory"]}
    names |= {f"W_{name[0]}": head_matrix(f"cross.{name}") for name in ("query", "key", "value")}
    names["W_o"] = matrices()["cross.joined"][HEAD_WIDTH * HEAD : HEAD_WIDTH * (HEAD + 1)]
    try:
        result = _run_cross(sides, names)
        other_result = _run_cross(sides, {**names, "memory": names["memory"].roll(1, 0) + 1})
    except RuntimeError as error:
        return Verdict(text, error=error_text(error))
    failure = Failure("unaffected") if torch.equal(result, other_result) else None
    return Verdict(text, "", failure, tuple(result.shape), "cross_reads_decoder" if failure else "cross")


CROSS_LINES = (
    ("s", "q @ k.transpose(-2, -1)"),
    ("a", "(s / math.sqrt(2)).softmax(-1)"),
    ("y", "y + a @ v @ W_o"),
)


def _run_cross(sides: Mapping[str, str], names: dict[str, Any]) -> Tensor:
    names = names | {name: run_expression(f"{SIDES[sides[name]]} @ W_{name}", names) for name in "qkv"}
    for name, line in CROSS_LINES:
        names[name] = run_expression(line, names)
    result: Tensor = names["y"]
    return result


def error_text(error: Exception) -> str:
    """Return the exception's name and the first line of its message."""
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"


def _shape(result: Any) -> tuple[int, ...] | None:
    first = result[0] if isinstance(result, tuple) and result else result
    return tuple(first.shape) if isinstance(first, Tensor) else None
