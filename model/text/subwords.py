"""Cutting a normalised text into the pieces of a vocabulary, as SentencePiece does it.

- *Unigram* (https://arxiv.org/abs/1804.10959): every piece has a log probability; the cut whose pieces have the largest
  sum is found by going through the text once (Viterbi).
- *BPE* (https://arxiv.org/abs/1508.07909): begin with characters; of all neighbours that are a piece together, the best
  are joined, until no more are.

Sums are rounded to float32 before they are compared: cuts of the same pieces in another order differ in the last digit.
"""

from __future__ import annotations

import heapq
from ctypes import c_float
from typing import NamedTuple, Protocol

from headlight.model.text.normaliser import LongestPrefix
from headlight.model.text.sentencepiece import PieceKind, SentencePieceModel

UNKNOWN_PENALTY = 10.0  # an unknown character is so much less likely than the least likely piece
SMALLEST_FLOAT = 1.1754943508222875e-38  # the best score when all are below it


class Cut(NamedTuple):
    """One piece of a text: its characters `start` to `end`."""

    start: int
    end: int
    known: bool


class Subwords(Protocol):
    """A way of cutting."""

    def cut(self, text: str) -> list[Cut]:
        """The pieces of a normalised text, without gaps."""


def make_subwords(model: SentencePieceModel) -> Subwords:
    """The way of cutting that a vocabulary was learnt for."""
    return Unigram(model) if model.algorithm == "unigram" else BytePairs(model)


class Unigram:
    """The likeliest cut."""

    def __init__(self, model: SentencePieceModel) -> None:
        scores = [piece.score for piece in model.pieces if piece.kind is PieceKind.NORMAL]
        self._unknown = c_float(c_float(min(scores)).value - UNKNOWN_PENALTY).value
        best = max(SMALLEST_FLOAT, *scores)
        self._scores: dict[str, float] = {}
        self._longest: dict[str, int] = {}  # of the pieces that begin with a character
        for text, score, kind in model.pieces:
            if kind is PieceKind.USER_DEFINED:
                score = len(text.encode("utf-8")) * best - 0.1
            if kind in (PieceKind.NORMAL, PieceKind.USER_DEFINED):
                self._scores[text] = score
                self._longest[text[0]] = max(len(text), self._longest.get(text[0], 1))

    def cut(self, text: str) -> list[Cut]:
        """The pieces of the likeliest cut."""
        size, scores = len(text), self._scores
        best: list[float | None] = [None] * (size + 1)  # the sum of the best cut that ends here
        best[0] = 0.0
        begins = [(0, True)] * (size + 1)  # where its last piece begins, and whether it is known
        for start in range(size):
            so_far = best[start] or 0.0
            for end in range(start + 1, min(size, start + self._longest.get(text[start], 1)) + 1):
                score = scores.get(text[start:end])
                if score is not None:
                    total = c_float(so_far + score).value
                    if _better(best[end], total):
                        best[end], begins[end] = total, (start, True)
            if text[start] not in scores:
                total = c_float(so_far + self._unknown).value
                if _better(best[start + 1], total):
                    best[start + 1], begins[start + 1] = total, (start, False)
        cuts, end = list[Cut](), size
        while end:
            start, known = begins[end]
            cuts.append(Cut(start, end, known))
            end = start
        return cuts[::-1]


def _better(old: float | None, new: float) -> bool:
    return old is None or new > old


class BytePairs:
    """Neighbours joined, the best pair first; of equals the leftmost."""

    def __init__(self, model: SentencePieceModel) -> None:
        self._kinds = {piece.text: piece.kind for piece in model.pieces}
        joinable = (PieceKind.NORMAL, PieceKind.USER_DEFINED, PieceKind.UNUSED)
        self._scores = {piece.text: piece.score for piece in model.pieces if piece.kind in joinable}
        self._whole = LongestPrefix([piece.text for piece in model.pieces if piece.kind is PieceKind.USER_DEFINED])

    def cut(self, text: str) -> list[Cut]:
        """What is left when nothing can be joined any more."""
        parts = _Parts(text, self)
        while parts.join_best():
            pass
        cuts: list[Cut] = []
        place = 0
        for part in parts.texts:
            for piece in parts.undone(part):
                known = self._kinds.get(piece, PieceKind.UNKNOWN) is not PieceKind.UNKNOWN
                cuts.append(Cut(place, place + len(piece), known))
                place += len(piece)
        return cuts

    def first_parts(self, text: str) -> list[tuple[str, bool]]:
        """Characters, and user-defined symbols as a whole, which take no part in joining."""
        parts, place = [], 0
        while place < len(text):
            whole = self._whole.at(text, place)
            parts.append((whole or text[place], bool(whole)))
            place += len(parts[-1][0])
        return parts

    def score(self, piece: str) -> float | None:
        """How early a piece was learnt; None if it is none."""
        return self._scores.get(piece)

    def unused(self, piece: str) -> bool:
        """Whether a piece may only be a step on the way to longer ones."""
        return self._kinds.get(piece) is PieceKind.UNUSED


class _Parts:
    """A text while its parts are joined. A joined part's right half becomes empty."""

    def __init__(self, text: str, owner: BytePairs) -> None:
        self.owner = owner
        first = owner.first_parts(text)
        self.texts = [part for part, _ in first]
        self.frozen = [frozen for _, frozen in first]
        self.before = list(range(-1, len(first) - 1))
        self.after = [*range(1, len(first)), -1]
        self.halves: dict[str, tuple[str, str]] = {}  # of unused pieces
        self.queue: list[tuple[float, int, int, int]] = []  # −score, left, right, length together
        for right in range(1, len(first)):
            self._consider(right - 1, right)

    def _consider(self, left: int, right: int) -> None:
        if left < 0 or right < 0 or self.frozen[left] or self.frozen[right]:
            return
        joined = self.texts[left] + self.texts[right]
        score = self.owner.score(joined)
        if score is None:
            return
        heapq.heappush(self.queue, (-score, left, right, len(joined)))
        if self.owner.unused(joined):
            self.halves[joined] = self.texts[left], self.texts[right]

    def join_best(self) -> bool:
        """Join the best pair that is still there; False when there is none."""
        while self.queue:
            _, left, right, length = heapq.heappop(self.queue)
            if not self.texts[left] or not self.texts[right] or length != len(self.texts[left] + self.texts[right]):
                continue  # one of them was joined with another meanwhile
            self.texts[left] += self.texts[right]
            self.texts[right] = ""
            self.after[left] = self.after[right]
            if self.after[right] >= 0:
                self.before[self.after[right]] = left
            self._consider(self.before[left], left)
            self._consider(left, self.after[left])
            return True
        return False

    def undone(self, part: str) -> list[str]:
        """A part, or the halves of one that may not stay whole."""
        if not part or not self.owner.unused(part) or part not in self.halves:
            return [part] if part else []
        left, right = self.halves[part]
        return [*self.undone(left), *self.undone(right)]
