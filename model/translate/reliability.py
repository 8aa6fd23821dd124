"""Reliability of a translation: a fitted rule applied to its evidence.

A rule is a logistic model of the numbers that `evidence.py` gathers:

    p(right) = 1 / (1 + exp(−(bias + Σ weight · (feature − mean) / scale)))

It is stored in a model's folder as `reliability.json`, with its results on held-out answers;
`headlight reliability` makes it. A model without one gets the reasons that need no fitting.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from headlight.model.checkpoints.reports import KEY, RELIABILITY, is_current
from headlight.model.errors import CheckpointError
from headlight.model.records import BackTranslation, Grade, Reason, Reliability, Translation
from headlight.model.text.identification import identify
from headlight.model.text.numbers import LANGUAGES
from headlight.model.translate.evidence import BACK_TRANSLATION_FEATURES, FEATURES, collect_evidence

RELIABILITY_FILE = RELIABILITY
# A sentence of another language, or one cut off, occurs in no test file, so no weight can be learnt for them.
MAX_PROBABILITY_BY_REASON = {"language": 0.05, "unfinished": 0.05}  # the most that an answer can then have
UNFITTED_REASONS = {"unfinished", "copied", "repeated"}  # reasons that need no fitting


@dataclass(frozen=True, kw_only=True)
class ReliabilityWeights:
    """A logistic model and the thresholds of its grades."""

    features: tuple[str, ...]
    weights: tuple[float, ...]  # of the standardised features
    means: tuple[float, ...]
    scales: tuple[float, ...]
    bias: float
    right: float  # from this probability on, an answer is probably right
    doubt: float  # below this one, it is not to be relied on

    def __post_init__(self) -> None:
        if not len(self.features) == len(self.weights) == len(self.means) == len(self.scales):
            raise CheckpointError("features, weights, means and scales must be equally many")
        if not all(scale > 0 for scale in self.scales) or not 0 <= self.doubt <= self.right <= 1:
            raise CheckpointError("scales must be above 0, and 0 ≤ doubt ≤ right ≤ 1")

    def probability(self, features: Mapping[str, float]) -> float:
        """That an answer with these features is right."""
        rows = zip(self.features, self.weights, self.means, self.scales, strict=True)
        logit = self.bias + sum(weight * (features[name] - mean) / scale for name, weight, mean, scale in rows)
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, logit))))

    def grade(self, probability: float, *, differs: bool = False) -> Grade:
        """The grade shown to the reader; a number mismatch always gives "check"."""
        return (
            "right" if probability >= self.right and not differs else "check" if probability >= self.doubt else "doubt"
        )


@dataclass(frozen=True, kw_only=True)
class FittedRule:
    """The rule of one model: without and, if a reverse model exists, with back-translation."""

    source: str  # languages, as codes of two letters
    target: str
    usual_length: float  # log ratio of characters that right answers have
    alone: ReliabilityWeights
    with_back: ReliabilityWeights | None = None
    measured: Mapping[str, Any] = field(default_factory=dict)  # on answers that it was not fitted to
    weights: str = ""  # the digest of those whose answers it was fitted to

    @property
    def uses_back_translation(self) -> bool:
        """Whether it was fitted to translations that were read back."""
        return self.with_back is not None

    def judge(self, translation: Translation, back: BackTranslation | None = None) -> Reliability | None:
        """The verdict on a free translation; None for a forced one."""
        if translation.request.target is not None:
            return None
        back = back if self.with_back is not None else None
        result = collect_evidence(translation, self.source, self.target, self.usual_length, back)
        weights = self.alone if back is None or self.with_back is None else self.with_back
        kinds = {reason.kind for reason in result.reasons}
        probability = min(
            [
                weights.probability(result.features),
                *(MAX_PROBABILITY_BY_REASON[kind] for kind in kinds & MAX_PROBABILITY_BY_REASON.keys()),
            ]
        )
        return Reliability(
            probability, weights.grade(probability, differs="numbers" in kinds), result.reasons, back and back.text
        )

    def to_json(self) -> str:
        """All fields as indented JSON."""
        return json.dumps(dataclasses.asdict(self), indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str, *, origin: str = RELIABILITY_FILE) -> Self:
        """Read what `to_json` wrote."""
        try:
            values = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise CheckpointError(f"{origin} is not JSON: {error}. Download or measure it again.") from error
        try:
            weights = {name: _weights(values[name]) for name in ("alone", "with_back") if values.get(name) is not None}
            rule = cls(**(values | weights))
            rule.alone.probability(dict.fromkeys(FEATURES, 0.0))
            if rule.with_back is not None:
                rule.with_back.probability(dict.fromkeys(BACK_TRANSLATION_FEATURES, 0.0))
        except KeyError as error:
            raise CheckpointError(
                f"{origin} asks for {error}, which no answer has. Measure it again: headlight reliability."
            ) from error
        except (AttributeError, TypeError, ValueError, CheckpointError) as error:
            raise CheckpointError(
                f"{origin} holds no rule of reliability: {error}. Measure it again: headlight reliability."
            ) from error
        return rule


def _weights(values: dict[str, Any]) -> ReliabilityWeights:
    """As `to_json` wrote them: lists for tuples."""
    known: dict[str, Any] = {name: tuple(each) if isinstance(each, list) else each for name, each in values.items()}
    return ReliabilityWeights(**known)


@dataclass(frozen=True)
class UnfittedRule:
    """The rule for models without a fitted one: no probability, general reasons."""

    uses_back_translation = False

    def judge(self, translation: Translation, back: BackTranslation | None = None) -> Reliability | None:
        """Grade "check" if there are reasons, else no grade."""
        if translation.request.target is not None:
            return None
        source, target = identify(translation.source_text) or "", identify(translation.text) or ""
        result = collect_evidence(translation, source, target, 0.0, back)
        # In other languages only digits are read, without their grouping, so numbers cannot be checked.
        kinds = UNFITTED_REASONS | ({"numbers"} if {source, target} <= set(LANGUAGES) else set())
        reasons: tuple[Reason, ...] = tuple(reason for reason in result.reasons if reason.kind in kinds)
        return Reliability(None, "check" if reasons else None, reasons, back and back.text)


def load_rule(folder: Path) -> FittedRule | UnfittedRule:
    """The rule of a model folder; the default rule if it is missing or was fitted to other weights."""
    path = folder / RELIABILITY_FILE
    if not path.exists():
        return UnfittedRule()
    rule = FittedRule.from_json(path.read_text(encoding="utf-8"), origin=str(path))
    return rule if is_current({KEY: rule.weights}, folder) else UnfittedRule()


def reliability_report(folder: Path) -> dict[str, Any] | None:
    """Measurements of a model folder's rule, or `None`."""
    measured: dict[str, Any] | None = _fitted(folder).get("measured")
    return measured


def uses_back_translation(folder: Path) -> bool:
    """Whether the rule of a model folder was fitted to translations that were read back."""
    return _fitted(folder).get("with_back") is not None


def _fitted(folder: Path) -> dict[str, Any]:
    path = folder / RELIABILITY_FILE
    values: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return values if is_current(values, folder) else {}
