"""The initial selection of a view: a cross-attention head and a row that reflect the word alignment.

A decoder row has read one token and writes the next. Some heads are late: their row aligns the token that was just
read, and the page must not open on one of them. The rules of `opening`:

1. The head is not late: its role in this sentence is "aligns", and annotated links do not show that it is late.
2. The row writes a content word, and its strongest column is a content word, each of one token.
3. The strongest column agrees with the alignment of the written word, by the head that aligns words best on annotated
   links, or else by the mean of all heads.
4. The weight of this column is at least `CLEAR`.
5. Of these heads, choose the one whose removal increases the model's loss over a corpus most; without such losses, the
   head that aligns with the largest share of a row. Of its rows, choose the one with the highest weight.

If no row meets all conditions, choose the highest agreeing weight between content words, of any head that is not late;
then the highest between any words. The loss over a corpus measures the effect of a head on its word: alignment alone
would select heads without an effect. `docs/measures.md` reports how many selections match annotated links.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from headlight.model.measures.alignment_head import UNMEASURED, CrossHeads, most_informative_head, word_positions
from headlight.model.measures.roles import Role, aligned_cells
from headlight.model.records import BoolArray, Token, Translation
from headlight.model.text.function_words import is_content

CLEAR = 0.9  # minimum weight of a row's strongest column


class Opening(NamedTuple):
    """A cross-attention head and one of its rows; None if the translation is empty."""

    layer: int
    head: int
    row: int | None


class _Look(NamedTuple):
    layer: int
    head: int
    row: int
    weight: float


def late_heads(roles: Sequence[Sequence[Role]], measured: CrossHeads = UNMEASURED) -> list[tuple[int, int]]:
    """Return the heads whose row aligns the token just read: by annotated links, else by their role in this sentence.

    Args:
        roles: Roles of cross-attention from `head_roles`, `[layer][head]`, averages last.
        measured: Measurements of the model's heads.
    """
    results = []
    for layer, layer_roles in enumerate(roles[:-1]):
        for head, role in enumerate(layer_roles[:-1]):
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
    """Select the initial head and row; None for a model without cross-attention.

    Args:
        translation: The translation.
        roles: Roles of cross-attention in this translation, from `head_roles`.
        measured: Measurements of the model's heads.
        source: The model's code of the source language, which determines content words.
        target: The model's code of the target language.
    """
    weights = translation.attention.cross
    if not weights.size:
        return None
    late = set(late_heads(roles, measured))
    candidates = [position for position in np.ndindex(weights.shape[:2]) if position not in late]
    aligning = [position for position in candidates if roles[position[0]][position[1]].name == "aligns"]
    content = (
        _content(translation.target_tokens, translation.text, target),
        _content(translation.source_tokens, translation.source_text, source),
    )
    clear = [look for look in _find_looks(translation, aligning, *content, measured) if look.weight >= CLEAR]
    if clear:
        importance = _importance(roles, measured)
        best = max(clear, key=lambda look: (importance(look.layer, look.head), look.weight))
        return Opening(*best[:3])
    for words in (content, (word_positions(translation.target_tokens), word_positions(translation.source_tokens))):
        looks = list(_find_looks(translation, candidates, *words, measured))
        if looks:
            return Opening(*max(looks, key=lambda look: look.weight)[:3])
    layer, head, _ = most_informative_head(translation)
    return Opening(layer, head, 0 if translation.target_tokens else None)


def _find_looks(
    translation: Translation,
    heads: Sequence[tuple[int, ...]],
    rows: Sequence[int],
    columns: Sequence[int],
    measured: CrossHeads,
) -> Iterator[_Look]:
    """Yield the highest weight of each of these rows, if it is in one of these columns and in an aligned cell."""
    cross, agrees, allowed_columns = translation.attention.cross, _agreeing_cells(translation, measured), set(columns)
    for layer, head in heads:
        strongest = cross[layer, head].argmax(axis=-1)  # [row]
        for row in rows:
            column = int(strongest[row])
            if column in allowed_columns and agrees[row, column]:
                yield _Look(layer, head, row, float(cross[layer, head, row, column]))


def _agreeing_cells(translation: Translation, measured: CrossHeads) -> BoolArray:
    """Return the cells that agree with the word alignment, `[row, column]`."""
    layers, heads, rows, columns = translation.attention.cross.shape
    best = measured.best
    if best is None or best.layer >= layers or best.head >= heads:
        return aligned_cells(translation)
    shifted_rows = np.minimum(np.arange(rows) + best.shift, rows - 1)
    strongest = translation.attention.cross[best.layer, best.head, shifted_rows].argmax(axis=-1)  # [row]
    cells: BoolArray = strongest[:, None] == np.arange(columns)
    return cells


def _importance(roles: Sequence[Sequence[Role]], measured: CrossHeads) -> Callable[[int, int], float]:
    """Return the importance as a function of layer and head: the loss without the head, else its share in its role."""
    if measured.losses:
        return lambda layer, head: measured.losses.get((layer, head), -np.inf)
    return lambda layer, head: roles[layer][head].share


def _content(tokens: Sequence[Token], text: str, language: str) -> list[int]:
    """Return the indices of tokens that are whole content words."""
    pieces = Counter(token.word for token in tokens)
    return [
        index
        for index, token in enumerate(tokens)
        if not token.special and pieces[token.word] == 1 and is_content(text[token.start : token.end], language)
    ]
