"""Reliability of a translation: a fitted rule applied to its evidence.

A rule is a logistic model of the features in `evidence.py`:

    p(right) = 1 / (1 + exp(−(bias + Σ weight · (feature − mean) / scale)))

A model's folder stores its rule as `reliability.json`, with the results on held-out answers; `headlight reliability`
writes the file. Without this file, a translation gets only the reasons that need no fitting.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from headlight.model.checkpoints.reports import RELIABILITY, WEIGHTS_KEY, is_current
from headlight.model.errors import CheckpointError
from headlight.model.records import BackTranslation, Grade, Reason, Reliability, Translation
from headlight.model.text.adaptation import adapt_text
from headlight.model.text.identification import identify
from headlight.model.text.numbers import LANGUAGES
from headlight.model.text.respelling import is_careless
from headlight.model.translate.evidence import BACK_TRANSLATION_FEATURES, FEATURES, collect_evidence

RELIABILITY_FILE = RELIABILITY
# Test files have no sentences in another language and no unfinished translations, so their weights cannot be learned.
MAX_PROBABILITY_BY_REASON = {"language": 0.05, "unfinished": 0.05}  # maximum probability of an answer with this reason
NEVER_RIGHT = {"numbers", "loop"}  # an answer with one of these reasons is not "right", whatever its probability
UNFITTED_REASONS = {"unfinished", "copied", "repeated", "loop"}  # reasons that need no fitting


@dataclass(frozen=True, kw_only=True)
class ReliabilityWeights:
    """A logistic model and the thresholds of its grades."""

    features: tuple[str, ...]
    weights: tuple[float, ...]  # one per standardised feature
    means: tuple[float, ...]
    scales: tuple[float, ...]
    bias: float
    right: float  # minimum probability of the grade "right"
    doubt: float  # minimum probability of the grade "check"
    careless: float | None = None  # in place of `right`, for a carelessly typed sentence; None: the same

    def __post_init__(self) -> None:
        if not len(self.features) == len(self.weights) == len(self.means) == len(self.scales):
            raise CheckpointError("features, weights, means and scales must have equal lengths")
        careless = self.right if self.careless is None else self.careless
        if not all(scale > 0 for scale in self.scales) or not 0 <= self.doubt <= careless <= self.right <= 1:
            raise CheckpointError("scales must be above 0, and 0 ≤ doubt ≤ careless ≤ right ≤ 1")

    def probability(self, features: Mapping[str, float]) -> float:
        """Return the probability that an answer with these features is right."""
        rows = zip(self.features, self.weights, self.means, self.scales, strict=True)
        logit = self.bias + sum(weight * (features[name] - mean) / scale for name, weight, mean, scale in rows)
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, logit))))

    def grade(self, probability: float, *, differs: bool = False, careless: bool = False) -> Grade:
        """Return the grade that the page shows. `differs` prevents the grade "right"."""
        right = self.right if self.careless is None or not careless else self.careless
        return "right" if probability >= right and not differs else "check" if probability >= self.doubt else "doubt"


def is_typed_carelessly(translation: Translation, language: str, back: BackTranslation | None) -> bool:
    """Whether the sentence is typed carelessly, by its look, or because its back-translation has other spellings."""
    text = translation.source_text
    if is_careless(text, language):
        return True
    return back is not None and back.sentence not in ("", adapt_text(text, language).read)


@dataclass(frozen=True, kw_only=True)
class FittedRule:
    """The fitted rule of a model, with weights for answers without and with back-translation."""

    source: str  # two-letter code
    target: str  # two-letter code
    usual_length: float  # usual log ratio of characters, target to source, in right answers
    alone: ReliabilityWeights  # without back-translation
    with_back: ReliabilityWeights | None = None  # None if there is no reverse model
    measured: Mapping[str, Any] = field(default_factory=dict)  # results on held-out answers
    weights: str = ""  # digest of the model weights to which it was fitted

    @property
    def uses_back_translation(self) -> bool:
        """Whether the rule was also fitted with back-translations."""
        return self.with_back is not None

    def judge(self, translation: Translation, back: BackTranslation | None = None) -> Reliability | None:
        """Return the reliability of a free translation, or None for a forced one."""
        if translation.request.target is not None:
            return None
        back = back if self.with_back is not None else None
        evidence = collect_evidence(translation, self.source, self.target, self.usual_length, back)
        weights = self.alone if back is None or self.with_back is None else self.with_back
        kinds = {reason.kind for reason in evidence.reasons}
        probability = min(
            [
                weights.probability(evidence.features),
                *(MAX_PROBABILITY_BY_REASON[kind] for kind in kinds & MAX_PROBABILITY_BY_REASON.keys()),
            ]
        )
        return Reliability(
            probability,
            weights.grade(
                probability,
                differs=bool(kinds & NEVER_RIGHT),
                careless=is_typed_carelessly(translation, self.source, back),
            ),
            evidence.reasons,
            back and back.text,
        )

    def to_json(self) -> str:
        """Return all fields as indented JSON."""
        return json.dumps(dataclasses.asdict(self), indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str, *, origin: str = RELIABILITY_FILE) -> Self:
        """Parse the output of `to_json`."""
        try:
            values = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise CheckpointError(f"{origin} is not JSON: {error}. Download or measure it again.") from error
        try:
            weights = {
                name: _weights_from_json(values[name])
                for name in ("alone", "with_back")
                if values.get(name) is not None
            }
            rule = cls(**(values | weights))
            rule.alone.probability(dict.fromkeys(FEATURES, 0.0))
            if rule.with_back is not None:
                rule.with_back.probability(dict.fromkeys(BACK_TRANSLATION_FEATURES, 0.0))
        except KeyError as error:
            raise CheckpointError(
                f"{origin} requires {error}, which answers do not have. Measure it again: headlight reliability."
            ) from error
        except (AttributeError, TypeError, ValueError, CheckpointError) as error:
            raise CheckpointError(
                f"{origin} does not contain a reliability rule: {error}. Measure it again: headlight reliability."
            ) from error
        return rule


def _weights_from_json(values: dict[str, Any]) -> ReliabilityWeights:
    """Convert values from JSON, which has lists instead of tuples."""
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
    }
    return ReliabilityWeights(**fields)


@dataclass(frozen=True)
class UnfittedRule:
    """The rule for models without a fitted one: no probability, only general reasons."""

    uses_back_translation = False

    def judge(self, translation: Translation, back: BackTranslation | None = None) -> Reliability | None:
        """Return the grade "check" if there are reasons, else no grade."""
        if translation.request.target is not None:
            return None
        source, target = identify(translation.source_text) or "", identify(translation.text) or ""
        evidence = collect_evidence(translation, source, target, 0.0, back)
        # In other languages only digits are recognised, without their grouping, so numbers cannot be compared.
        kinds = UNFITTED_REASONS | ({"numbers"} if {source, target} <= set(LANGUAGES) else set())
        reasons: tuple[Reason, ...] = tuple(reason for reason in evidence.reasons if reason.kind in kinds)
        return Reliability(None, "check" if reasons else None, reasons, back and back.text)


def load_rule(folder: Path) -> FittedRule | UnfittedRule:
    """Load the rule of a model folder; the default rule if it is missing or was fitted to other weights."""
    path = folder / RELIABILITY_FILE
    if not path.exists():
        return UnfittedRule()
    rule = FittedRule.from_json(path.read_text(encoding="utf-8"), origin=str(path))
    return rule if is_current({WEIGHTS_KEY: rule.weights}, folder) else UnfittedRule()


def reliability_report(folder: Path) -> dict[str, Any] | None:
    """Return the results of a model folder's rule on held-out answers, or None if it has no current rule."""
    measured: dict[str, Any] | None = _read_fit(folder).get("measured")
    return measured


def uses_back_translation(folder: Path) -> bool:
    """Whether the rule of a model folder was also fitted with back-translations."""
    return _read_fit(folder).get("with_back") is not None


def _read_fit(folder: Path) -> dict[str, Any]:
    path = folder / RELIABILITY_FILE
    values: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return values if is_current(values, folder) else {}
