"""The initial selection of a view: a cross-attention head and a row that reflect the word alignment.

A decoder row has read one word and writes the next. Some heads are read one word late: their row aligns the word just
written, and the page must not open on one of them. The rule of `opening`:

1. The head reads its own row: in this sentence its role is "aligns", and no drawn links say that it is read late.
2. The row writes a content word, and its strongest column is a content word, each of one token.
3. The look agrees with the word: it is the source word that the written word belongs to, by the head that aligns words
   best on drawn links, or else by the mean of all heads.
4. Its weight is `CLEAR` or more.
5. Of these, the head without which the model loses most over a corpus; without such losses, the head that aligns with
   the largest share of a row. Of its rows, the one with the strongest look.

If no look meets all conditions, the strongest agreeing look between content words is shown, of any head that is not
late; then the strongest among all words. The loss over a corpus measures the effect of a head on its word: alignment
alone would select heads whose looks change nothing. `docs/measures.md` reports how many of these looks match links
drawn by people.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from headlight.model.measures.alignment_head import UNMEASURED, CrossHeads, most_informative, word_positions
from headlight.model.measures.roles import Role, aligned_cells
from headlight.model.records import BoolArray, Token, Translation
from headlight.model.text.function_words import is_content

CLEAR = 0.9  # of its weight a row puts on one word


class Opening(NamedTuple):
    """A head of cross-attention and one of its rows; no row if the translation is empty."""

    layer: int
    head: int
    row: int | None


class _Look(NamedTuple):
    layer: int
    head: int
    row: int
    weight: float


def late_heads(roles: Sequence[Sequence[Role]], measured: CrossHeads = UNMEASURED) -> list[tuple[int, int]]:
    """The heads whose row aligns the word just written: by drawn links, else by their role in this sentence.

    Args:
        roles: Of cross-attention, `[layer][head]`, as `roles.roles` gives them, averages last.
        measured: What is known of the model's heads.
    """
    results = []
    for layer, of_layer in enumerate(roles[:-1]):
        for head, role in enumerate(of_layer[:-1]):
            shift = measured.shift(layer, head)
            if role.name == "behind" if shift is None else shift > 0:
                results.append((layer, head))
    return results


def opening(
    translation: Translation,
    roles: Sequence[Sequence[Role]],
    measured: CrossHeads = UNMEASURED,
    *,
    source: str = "",
    target: str = "",
) -> Opening | None:
    """The head and the row to begin with; None for a model without cross-attention.

    Args:
        translation: The translation.
        roles: Of cross-attention in this translation, as `roles.roles` gives them.
        measured: What is known of the model's heads.
        source: The language of the sentence, as a model names it; it tells content words.
        target: The language that is written.
    """
    weights = translation.attention.cross
    if not weights.size:
        return None
    late = set(late_heads(roles, measured))
    own = [place for place in np.ndindex(weights.shape[:2]) if place not in late]
    aligning = [place for place in own if roles[place[0]][place[1]].name == "aligns"]
    content = (
        _content(translation.target_tokens, translation.text, target),
        _content(translation.source_tokens, translation.source_text, source),
    )
    clear = [look for look in _looks(translation, aligning, *content, measured) if look.weight >= CLEAR]
    if clear:
        count = _importance(roles, measured)
        best = max(clear, key=lambda look: (count(look.layer, look.head), look.weight))
        return Opening(*best[:3])
    for words in (content, (word_positions(translation.target_tokens), word_positions(translation.source_tokens))):
        looks = list(_looks(translation, own, *words, measured))
        if looks:
            return Opening(*max(looks, key=lambda look: look.weight)[:3])
    layer, head, _ = most_informative(translation)
    return Opening(layer, head, 0 if translation.target_tokens else None)


def _looks(
    translation: Translation,
    heads: Sequence[tuple[int, ...]],
    rows: Sequence[int],
    columns: Sequence[int],
    measured: CrossHeads,
) -> Iterator[_Look]:
    """The strongest look of each of these rows, if it falls on one of these columns and agrees with its word."""
    cross, agrees, among = translation.attention.cross, _agreeing(translation, measured), set(columns)
    for layer, head in heads:
        strongest = cross[layer, head].argmax(axis=-1)  # [row]
        for row in rows:
            column = int(strongest[row])
            if column in among and agrees[row, column]:
                yield _Look(layer, head, row, float(cross[layer, head, row, column]))


def _agreeing(translation: Translation, measured: CrossHeads) -> BoolArray:
    """The cells of a row's own word, `[row, column]`."""
    layers, heads, rows, columns = translation.attention.cross.shape
    best = measured.best
    if best is None or best.layer >= layers or best.head >= heads:
        return aligned_cells(translation)
    read_at = np.minimum(np.arange(rows) + best.shift, rows - 1)
    result = translation.attention.cross[best.layer, best.head, read_at].argmax(axis=-1)  # [row]
    cells: BoolArray = result[:, None] == np.arange(columns)
    return cells


def _importance(roles: Sequence[Sequence[Role]], measured: CrossHeads) -> Callable[[int, int], float]:
    """Importance of a head: the model's loss without it, else the share of a row with which it aligns."""
    if measured.losses:
        return lambda layer, head: measured.losses.get((layer, head), -np.inf)
    return lambda layer, head: roles[layer][head].share


def _content(tokens: Sequence[Token], text: str, language: str) -> list[int]:
    """The places of tokens that are a whole content word."""
    pieces = Counter(token.word for token in tokens)
    return [
        place
        for place, token in enumerate(tokens)
        if not token.special and pieces[token.word] == 1 and is_content(text[token.start : token.end], language)
    ]
