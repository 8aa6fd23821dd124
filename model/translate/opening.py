"""The initial selection of a view: a cross-attention head and a row that reflect the word alignment.

The input of a decoder row is one token, its output the next one. Some heads are late: they align the input token, not
the output token, so the page must not open on one of them. The rules of `opening`:

1. The head is not late: its role in this sentence is "aligns", and annotated links do not show that it is late.
2. The row writes a content word, and its strongest column is a content word, each of one token.
3. The strongest column agrees with the alignment of the written word, by the head that aligns words best on annotated
   links, or else by the average over all heads.
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


class _Candidate(NamedTuple):
    layer: int
    head: int
    row: int
    weight: float  # of the row's strongest column


def late_heads(roles: Sequence[Sequence[Role]], measured: CrossHeads = UNMEASURED) -> list[tuple[int, int]]:
    """Return the heads that align the input token of a row: by annotated links, else by their role in this sentence.

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
    heads = [position for position in np.ndindex(weights.shape[:2]) if position not in late]
    alignment_heads = [(layer, head) for layer, head in heads if roles[layer][head].name == "aligns"]
    content = (
        _content_word_indices(translation.target_tokens, translation.text, target),
        _content_word_indices(translation.source_tokens, translation.source_text, source),
    )
    candidates = _find_candidates(translation, alignment_heads, *content, measured)
    clear = [candidate for candidate in candidates if candidate.weight >= CLEAR]
    if clear:
        importance = _importance_function(roles, measured)
        best = max(clear, key=lambda candidate: (importance(candidate.layer, candidate.head), candidate.weight))
        return Opening(*best[:3])
    for words in (content, (word_positions(translation.target_tokens), word_positions(translation.source_tokens))):
        unclear = list(_find_candidates(translation, heads, *words, measured))
        if unclear:
            return Opening(*max(unclear, key=lambda candidate: candidate.weight)[:3])
    layer, head, _ = most_informative_head(translation)
    return Opening(layer, head, 0 if translation.target_tokens else None)


def _find_candidates(
    translation: Translation,
    heads: Sequence[tuple[int, ...]],
    rows: Sequence[int],
    columns: Sequence[int],
    measured: CrossHeads,
) -> Iterator[_Candidate]:
    """Yield the highest weight of each of these rows, if it is in one of these columns and in an aligned cell."""
    cross, agrees, allowed_columns = translation.attention.cross, _agreeing_cells(translation, measured), set(columns)
    for layer, head in heads:
        strongest = cross[layer, head].argmax(axis=-1)  # [row]
        for row in rows:
            column = int(strongest[row])
            if column in allowed_columns and agrees[row, column]:
                yield _Candidate(layer, head, row, float(cross[layer, head, row, column]))


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


def _importance_function(roles: Sequence[Sequence[Role]], measured: CrossHeads) -> Callable[[int, int], float]:
    """Return a function from layer and head to importance: the loss without the head, else its weight on its role."""
    if measured.losses:
        return lambda layer, head: measured.losses.get((layer, head), -np.inf)
    return lambda layer, head: roles[layer][head].share


def _content_word_indices(tokens: Sequence[Token], text: str, language: str) -> list[int]:
    """Return the indices of tokens that are whole content words."""
    pieces = Counter(token.word for token in tokens)
    return [
        index
        for index, token in enumerate(tokens)
        if not token.special and pieces[token.word] == 1 and is_content(text[token.start : token.end], language)
    ]
