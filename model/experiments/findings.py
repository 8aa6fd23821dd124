"""Findings about a translation, and the sentences that report them; `scan.py` finds and tests them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from headlight.model.experiments.score_parts import Cell, ScorePart, Side
from headlight.model.phrases import phrase

FindingName = Literal["needed", "changed", "reason", "hindered", "idle", "neighbour"]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A finding about one head, with a cell as an example and the two numbers of its experiment.

    The numbers, `before` and `after`, are probabilities of the word; for `reason`, they are weights of the cell, for
    `neighbour` mean weights on a neighbour, and for `changed` log probabilities of the translation.
    """

    name: FindingName
    cell: Cell
    before: float
    after: float  # in the experiment
    position: int | None = None  # of the written token, if the numbers are probabilities
    word: str  # the written token; `reason`: the token of the cell's row; `neighbour`: the first swapped word
    key: str = ""  # the token that the head attends to; `neighbour`: the second swapped word
    part: ScorePart | None = None  # `reason`: the removed part of the score
    side: Side | None = None  # `reason`: the side of that part
    other: str = ""  # `changed`: the translation without the head; `neighbour`: "previous" or "next"

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
        """Return the sentence, the cell and the numbers as JSON values."""
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
    """Return "L2·H1", with the kind of attention as a prefix unless it is cross-attention."""
    name = phrase("whatif_head", language, layer=layer + 1, head=head + 1)
    return name if kind == "cross" else f"{phrase(f'kind_{kind}_short', language)} {name}"


def part_name(part: ScorePart, language: str = "en") -> str:
    """Return the name of a part of a score, such as "what Encoder L2·H1 wrote" or "the word itself"."""
    layer = (part.layer or 0) + 1
    if part.kind is None or part.head is None:
        return phrase(f"score_{part.writer}", language, layer=layer)
    return phrase("score_head", language, head=head_name(part.kind, layer - 1, part.head, language))


def _number(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")
