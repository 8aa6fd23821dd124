"""Pruning: how good translations are with ever more heads off (Michel et al. 2019, arXiv:1905.10650).

Heads are ranked by their mean loss over the model's own answers to a corpus, each off alone. Then they go off together,
the least important first, and the corpus is translated again at each point of the curve.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from headlight.model.checkpoints.reports import KEY, PRUNING, read_report
from headlight.model.core.interventions import apply_interventions
from headlight.model.experiments.importance import AttentionPart, all_ablation_losses, all_heads
from headlight.model.measures.chrf import chrf
from headlight.model.records import Intervention
from headlight.model.translate.translator import Translator

PRUNING_FILE = PRUNING
CURVE_STEPS = 28  # points of a curve after the first


@dataclass(frozen=True)
class PruningPoint:
    """Mean chrF against the references and share of unchanged sentences, with `heads` heads off."""

    off: int
    chrf: float
    same: float


@dataclass(frozen=True)
class PruningCurve:
    """What pruning costs a model over a corpus."""

    command: str  # that measured it
    corpus: str
    sentences: int
    ranked_on: int  # of them, by which the heads are ranked
    order: tuple[AttentionPart, ...]  # heads, the least important first
    losses: tuple[float, ...]  # of each alone, in nats, the mean over the sentences
    points: tuple[PruningPoint, ...]
    weights: str = ""  # the digest of those that it was measured on

    def to_json(self) -> str:
        """The text of the file."""
        heads = [[part.kind, part.layer, part.head] for part in self.order]
        values = {
            KEY: self.weights,
            "command": self.command,
            "corpus": self.corpus,
            "sentences": self.sentences,
            "ranked_on": self.ranked_on,
            "order": heads,
            "losses": [round(loss, 4) for loss in self.losses],
            "points": [[point.off, round(point.chrf, 2), round(point.same, 4)] for point in self.points],
        }
        lines = [f" {json.dumps(name)}: {json.dumps(value)}" for name, value in values.items()]
        return "{\n" + ",\n".join(lines) + "\n}\n"


def read_curve(folder: Path, heads: Collection[AttentionPart] | None = None) -> PruningCurve | None:
    """The curve in a model's folder, if there is one of these weights.

    A folder may be a stranger's: a file that holds something else, or ranks other `heads` than the model has, counts as
    none.
    """
    values = read_report(folder, PRUNING_FILE)
    if values is None:
        return None
    try:
        curve = PruningCurve(
            command=str(values["command"]),
            corpus=str(values["corpus"]),
            sentences=int(values["sentences"]),
            ranked_on=int(values["ranked_on"]),
            order=tuple(AttentionPart(kind, int(layer), int(head)) for kind, layer, head in values["order"]),
            losses=tuple(map(float, values["losses"])),
            points=tuple(PruningPoint(int(off), float(score), float(same)) for off, score, same in values["points"]),
            weights=values[KEY],
        )
    except (ValueError, TypeError, LookupError, AttributeError):
        return None
    numbers = [*curve.losses, *(number for point in curve.points for number in (point.chrf, point.same))]
    sound = len(curve.points) > 1 and all(map(math.isfinite, numbers))
    return curve if sound and (heads is None or set(curve.order) == set(heads)) else None


def rank_heads(
    translator: Translator, texts: Sequence[str], on_progress: Callable[[int], None] | None = None, **options: Any
) -> list[tuple[AttentionPart, float]]:
    """Every head with its mean loss over the model's own answers, the least important first."""
    heads = all_heads(translator.model.config)
    rows = []
    for text in texts:
        answer = translator.translate(text, **options)
        rows.append(all_ablation_losses(translator, answer, [(head,) for head in heads]))
        if on_progress is not None:
            on_progress(1)
    means = [fmean(column) for column in zip(*rows, strict=True)]
    return sorted(zip(heads, means, strict=True), key=lambda each: each[1])


def measure_points(
    translator: Translator,
    pairs: Sequence[tuple[str, str]],
    order: Sequence[AttentionPart],
    counts: Sequence[int],
    **options: Any,
) -> Iterator[PruningPoint]:
    """Points of the curve. At each, the first heads of `order` are off and all sentences are translated."""
    texts, references = [text for text, _ in pairs], [reference for _, reference in pairs]
    plain = translator.translate_lines(texts, **options)
    for count in counts:
        with apply_interventions(translator.model, switch_off(order[:count])):
            written = translator.translate_lines(texts, **options)
        same = fmean(own == before for own, before in zip(written, plain, strict=True))
        yield PruningPoint(count, fmean(chrf(own, other) for own, other in zip(written, references, strict=True)), same)


def switch_off(parts: Sequence[AttentionPart]) -> tuple[Intervention, ...]:
    """The interventions that switch these off."""
    return tuple(Intervention(kind=part.kind, layer=part.layer, head=part.head, action="remove") for part in parts)


def pruning_counts(heads: int, steps: int = CURVE_STEPS) -> list[int]:
    """How many heads are off at each point: none, all, and evenly between."""
    return sorted({round(step * heads / steps) for step in range(steps + 1)})
