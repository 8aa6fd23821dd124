"""Pruning: translation quality as more and more heads are pruned (Michel et al. 2019, arXiv:1905.10650).

Heads are ranked by the mean loss of the model's translations of a corpus when only this head is pruned. Then heads are
pruned cumulatively, the least important first, and the corpus is translated at each point of the curve.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from headlight.model.checkpoints.reports import PRUNING, WEIGHTS_KEY, read_report
from headlight.model.core.interventions import apply_interventions
from headlight.model.experiments.importance import AttentionPart, all_heads, measure_all_ablation_losses
from headlight.model.measures.chrf import chrf
from headlight.model.records import Intervention
from headlight.model.translate.translator import Translator

PRUNING_FILE = PRUNING
CURVE_STEPS = 28  # points of a curve after the first


@dataclass(frozen=True)
class PruningPoint:
    """Translation quality with some pruned heads."""

    off: int  # number of pruned heads
    chrf: float  # mean over sentences, against the references
    same: float  # share of sentences whose translation does not change


@dataclass(frozen=True)
class PruningCurve:
    """Translation quality of a model on a corpus, against the number of pruned heads."""

    command: str  # command line that measured the curve
    corpus: str
    sentences: int
    ranked_on: int  # number of sentences on which the heads are ranked
    order: tuple[AttentionPart, ...]  # heads, the least important first
    losses: tuple[float, ...]  # mean loss in nats without each head of `order`
    points: tuple[PruningPoint, ...]
    weights: str = ""  # digest of the measured weights

    def to_json(self) -> str:
        """Serialise the curve, one field per line."""
        heads = [[part.kind, part.layer, part.head] for part in self.order]
        values = {
            WEIGHTS_KEY: self.weights,
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
    """Return the curve in a model's folder, or None if there is none for its weights.

    The folder may be third-party: an invalid file, or one that does not rank exactly `heads`, counts as missing.
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
            weights=values[WEIGHTS_KEY],
        )
    except (ValueError, TypeError, LookupError, AttributeError):
        return None
    numbers = [*curve.losses, *(number for point in curve.points for number in (point.chrf, point.same))]
    is_valid = len(curve.points) > 1 and all(map(math.isfinite, numbers))
    return curve if is_valid and (heads is None or set(curve.order) == set(heads)) else None


def rank_heads(
    translator: Translator, texts: Sequence[str], on_progress: Callable[[int], None] | None = None, **options: Any
) -> list[tuple[AttentionPart, float]]:
    """Rank all heads by their mean loss over the model's own translations, the least important first."""
    heads = all_heads(translator.model.config)
    rows = []
    for text in texts:
        translation = translator.translate(text, **options)
        rows.append(measure_all_ablation_losses(translator, translation, [(head,) for head in heads]))
        if on_progress is not None:
            on_progress(1)
    means = [fmean(column) for column in zip(*rows, strict=True)]
    return sorted(zip(heads, means, strict=True), key=lambda pair: pair[1])


def measure_points(
    translator: Translator,
    pairs: Sequence[tuple[str, str]],
    order: Sequence[AttentionPart],
    counts: Sequence[int],
    **options: Any,
) -> Iterator[PruningPoint]:
    """Translate all sentences with the first heads of `order` off, and yield one point per count of heads."""
    texts, references = [text for text, _ in pairs], [reference for _, reference in pairs]
    unpruned_translations = translator.translate_lines(texts, **options)
    for count in counts:
        with apply_interventions(translator.model, switch_off(order[:count])):
            translations = translator.translate_lines(texts, **options)
        same = fmean(
            translation == unpruned for translation, unpruned in zip(translations, unpruned_translations, strict=True)
        )
        yield PruningPoint(
            count,
            fmean(chrf(translation, expected) for translation, expected in zip(translations, references, strict=True)),
            same,
        )


def switch_off(parts: Sequence[AttentionPart]) -> tuple[Intervention, ...]:
    """Return the interventions that switch these parts off."""
    return tuple(Intervention(kind=part.kind, layer=part.layer, head=part.head, action="remove") for part in parts)


def list_pruning_counts(heads: int, steps: int = CURVE_STEPS) -> list[int]:
    """Return the number of heads off at each point: 0, all, and evenly spaced numbers between."""
    return sorted({round(step * heads / steps) for step in range(steps + 1)})
