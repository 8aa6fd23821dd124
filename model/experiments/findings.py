"""Findings about a translation, and the sentences that report them; `scan.py` finds and tests them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from headlight.model.experiments.score_parts import Cell, ScorePart, Side
from headlight.model.phrases import phrase

FindingName = Literal["needed", "changed", "reason", "hindered", "idle", "neighbour"]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A finding about one head, with a cell that shows it and the two numbers of its experiment.

    The numbers are the word's probability; for `reason` a weight, for `neighbour` a mean weight, and for `changed` the
    log probability of the translation.
    """

    name: FindingName
    cell: Cell
    before: float
    after: float  # in the experiment
    position: int | None = None  # of the written token that the numbers are about
    word: str  # the written token, or the one that looks; `neighbour`: the first of the swapped words
    key: str = ""  # the token that the head looks at; `neighbour`: the second of the swapped words
    part: ScorePart | None = None  # of a `reason`
    side: Side | None = None  # of a `reason`
    other: str = ""  # `changed`: the other translation; `neighbour`: "previous" or "next"

    def sentence(self, language: str = "en") -> str:
        """Return the finding as a sentence."""
        values = {
            "head": head_name(self.cell.kind, self.cell.layer, self.cell.head, language),
            "before": _number(self.before),
            "after": _number(self.after),
            "word": self.word,
            "key": self.key,
            "text": self.other,
            "part": "" if self.part is None else part_name(self.part, language),
            "side": "" if self.side is None else phrase(f"finding_{self.side}", language),
        }
        return phrase(f"finding_{self._variant}", language, **values)

    def values(self, language: str = "en") -> dict[str, Any]:
        """Return the sentence with the numbers that it is about, as JSON values."""
        return {
            "sentence": self.sentence(language),
            "name": self.name,
            "place": self.position,
            **self.cell._asdict(),
            "before": round(self.before, 6),
            "after": round(self.after, 6),
        }

    @property
    def _variant(self) -> str:
        if self.name == "neighbour":
            return f"neighbour_{self.other}"
        return f"{self.name}_look" if self.key and self.name in ("needed", "hindered") else self.name


def head_name(kind: str, layer: int, head: int, language: str = "en") -> str:
    """Return "L2·H1", with the kind of attention in front unless it is cross-attention."""
    name = phrase("whatif_head", language, layer=layer + 1, head=head + 1)
    return name if kind == "cross" else f"{phrase(f'kind_{kind}_short', language)} {name}"


def part_name(part: ScorePart, language: str = "en") -> str:
    """Return "what Encoder L2·H1 wrote", "the word itself" or the like."""
    layer = (part.layer or 0) + 1
    if part.kind is None or part.head is None:
        return phrase(f"score_{part.writer}", language, layer=layer)
    return phrase("score_head", language, head=head_name(part.kind, layer - 1, part.head, language))


def _number(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")
