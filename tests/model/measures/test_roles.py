"""Head roles: constructed heads are recognised, and uninformative heads are unclear."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from headlight.model.measures.roles import (
    MIN_SHARE,
    MIN_SHARE_WIDE,
    NAMES,
    ROLES,
    Role,
    RoleName,
    aligned_cells,
    assign_roles,
    head_roles,
    role_shares,
)
from headlight.model.records import KINDS, Kind, Token, Translation
from tests.viz.figures_examples import HEADS, LAYERS, make_translation

SOURCE = ("der", "alte", "Hund", ",", "schläft", "tief", ".")  # with the end token, eight
TARGET = ("sound", "asleep", "is", "the", "dog", "now", "!", "…", "so", "then")  # with the end token, eleven


def rows_with_share(cells: np.ndarray, share: float = 0.8) -> np.ndarray:
    """Rows with this share spread over the marked cells and the rest over the others; uniform without marked cells."""
    weights = np.zeros(cells.shape)
    for row, marked in enumerate(cells):
        if marked.all() or not marked.any():
            weights[row] = 1 / len(marked)
        else:
            weights[row, marked] = share / marked.sum()
            weights[row, ~marked] = (1 - share) / (~marked).sum()
    return weights


def causal_rows(weights: np.ndarray) -> np.ndarray:
    """Mask later keys and normalise the rows again."""
    low = np.tril(weights)
    return low / low.sum(axis=1, keepdims=True)


def translation_with_head(kind: Kind, weights: np.ndarray, source: tuple[str, ...] = SOURCE) -> Translation:
    """A translation with one head of this kind and uniform heads of the other kinds."""
    rows = len(weights) if kind != "encoder" else 3
    source = source[: (weights.shape[1] if kind != "decoder" else 3) - 1]
    base = make_translation(source, TARGET[: rows - 1])
    attention = replace(base.attention, **{kind: weights[None, None].astype(np.float32)})
    return replace(base, attention=attention)


def role_of_head(kind: Kind, weights: np.ndarray, source: tuple[str, ...] = SOURCE) -> Role:
    return head_roles(translation_with_head(kind, weights, source))[kind][0][0]


EIGHT = np.eye(8, dtype=np.bool_)
OFFSET = np.arange(8)[None, :] - np.arange(8)[:, None]


def cells_of_columns(*columns: int, rows: int = 8) -> np.ndarray:
    cells = np.zeros((rows, 8), dtype=np.bool_)
    cells[:, columns] = True
    return cells


# ---------------------------------------------------------------- planted heads


@pytest.mark.parametrize(
    ("kind", "name", "cells"),
    [
        ("encoder", "same", EIGHT),
        ("encoder", "previous", OFFSET == -1),
        ("encoder", "next", OFFSET == 1),
        ("encoder", "end", cells_of_columns(7)),
        ("encoder", "punctuation", cells_of_columns(3, 6)),
        ("encoder", "before", OFFSET < 0),
        ("encoder", "ahead", OFFSET > 0),
        ("encoder", "around", np.abs(OFFSET) <= 2),
        ("cross", "end", cells_of_columns(7)),
        ("cross", "punctuation", cells_of_columns(3, 6)),
    ],
)
def test_planted_head_is_recognised(kind: Kind, name: str, cells: np.ndarray) -> None:
    role = role_of_head(kind, rows_with_share(cells, 0.85))
    assert role.name == name
    rows = cells.any(axis=1)
    assert role.share == pytest.approx(rows_with_share(cells, 0.85)[rows][cells[rows]].sum() / rows.sum(), abs=1e-6)


@pytest.mark.parametrize(
    ("name", "weights"),
    [
        ("just_written", causal_rows(np.eye(7) * 9 + np.ones((7, 7)))),
        ("back_two", causal_rows(np.eye(7, k=-1) * 99 + np.ones((7, 7)))),
        ("start", causal_rows(rows_with_share(np.arange(7)[None, :].repeat(7, axis=0) == 0, 0.9))),
    ],
)
def test_planted_decoder_head_is_recognised(name: str, weights: np.ndarray) -> None:
    assert role_of_head("decoder", weights).name == name


def test_decoder_share_excludes_row_with_one_key() -> None:
    role = role_of_head("decoder", causal_rows(np.eye(7) * 9 + np.ones((7, 7))))  # row r: 10 of 10 + r
    assert role.share == pytest.approx(np.mean([10 / (10 + row) for row in range(1, 7)]))


def test_leading_language_token_counts_as_start() -> None:
    translation = translation_with_head("encoder", rows_with_share(cells_of_columns(0), 0.9))
    first = Token(">>en<<", 3, 0, 0, special=True)
    translation = replace(translation, source_tokens=(first, *translation.source_tokens[1:]))
    assert head_roles(translation)["encoder"][0][0].name == "start"


def test_sentence_of_special_tokens_alone_starts_and_does_not_end() -> None:
    translation = translation_with_head("encoder", rows_with_share(cells_of_columns(0, 7), 0.9))
    specials = tuple(replace(token, special=True) for token in translation.source_tokens)
    shares = role_shares(replace(translation, source_tokens=specials), "encoder").shares[0, 0]
    assert shares[ROLES["encoder"].index("start")] == pytest.approx(1)
    assert np.isnan(shares[ROLES["encoder"].index("end")])


# ---------------------------------------------------------------- cross-attention


PICKED = (5, 4, 6, 1, 0, 2)  # a permutation of the source
ORDER = np.zeros((7, 8), dtype=np.bool_)
ORDER[range(6), PICKED] = True


def translation_with_cross_heads(*maps: np.ndarray) -> Translation:
    """A translation whose cross-attention has these heads, in one layer."""
    base = translation_with_head("cross", maps[0])
    return replace(base, attention=replace(base.attention, cross=np.stack(maps)[None].astype(np.float32)))


def test_head_like_the_mean_aligns_and_shifted_head_is_behind() -> None:
    aligns, late = rows_with_share(ORDER, 0.8), rows_with_share(np.roll(ORDER, 1, axis=0), 0.8)
    roles = head_roles(translation_with_cross_heads(aligns, aligns, late))["cross"][0]
    assert [each.name for each in roles[:3]] == ["aligns", "aligns", "behind"]
    assert roles[0].share == pytest.approx(0.8)
    assert roles[2].share == pytest.approx(0.8)


def test_aligned_cells_cover_whole_words_without_special_tokens() -> None:
    source = (
        *(Token("x", 1, index, index + 1, word=index // 2) for index in range(6)),
        Token("</s>", 2, 6, 6, special=True),
    )
    target = tuple(Token("y", 1, index, index + 1, word=max(0, index - 1)) for index in range(3))  # two tokens, one
    weights = np.zeros((3, 7))
    weights[0] = [0, 0, 0.2, 0.2, 0, 0, 0.6]  # both rows of the first word: the second source word, 0.4 and 0.2
    weights[1] = [0.3, 0, 0.1, 0.1, 0, 0.2, 0.3]
    weights[2] = [0, 0, 0, 0, 0, 0.3, 0.7]
    translation = translation_with_head("cross", np.ones((3, 7)) / 7)
    attention = replace(translation.attention, cross=weights[None, None].astype(np.float32))
    translation = replace(translation, source_tokens=source, target_tokens=target, attention=attention)
    expected = np.zeros((3, 7), dtype=np.bool_)
    expected[:2, 2:4] = True
    expected[2, 4:6] = True
    np.testing.assert_array_equal(aligned_cells(translation), expected)


@pytest.mark.parametrize("words", [3, 4, 7])
def test_role_needs_half_of_the_rows(words: int) -> None:
    """Seven rows write `words` words; the others are special tokens, which no source word is aligned with."""
    translation = translation_with_cross_heads(rows_with_share(ORDER))
    tokens = tuple(
        token if row < words else replace(token, special=True, word=None)
        for row, token in enumerate([*translation.target_tokens[:6], translation.target_tokens[0]])
    )
    assert len(tokens) == translation.attention.cross.shape[2]
    shares = role_shares(replace(translation, target_tokens=tokens), "cross").shares[0, 0]
    assert np.isnan(shares[ROLES["cross"].index("aligns")]) == (words < 4)


def test_translation_without_words_has_no_aligned_cells() -> None:
    translation = make_translation((), ())
    assert not aligned_cells(translation).any()
    assert {each.name for layer in head_roles(translation)["cross"] for each in layer} == {"unclear"}


def test_diagonal_head_is_recognised_if_words_are_reordered() -> None:
    line = np.zeros((7, 8), dtype=np.bool_)
    line[range(7), [0, 1, 2, 3, 5, 6, 7]] = True  # the line is at 0, 1.17, 2.33, 3.5, 4.67, 5.83, 7
    roles = head_roles(
        translation_with_cross_heads(
            rows_with_share(ORDER), rows_with_share(ORDER), rows_with_share(ORDER), rows_with_share(line)
        )
    )["cross"][0]
    assert roles[3].name == "diagonal"


# ---------------------------------------------------------------- heads without a role


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [2, 3, 5, 11])
def test_uniform_head_spreads(kind: Kind, size: int) -> None:
    weights = np.full((size, size), 1 / size)
    source = tuple(f"w{number}" for number in range(size - 1))
    role = role_of_head(kind, causal_rows(weights) if kind == "decoder" else weights, source)
    assert role.name == "spreads"
    assert role.share == pytest.approx(1, abs=1e-4)
    expected = np.mean(range(2, size + 1)) if kind == "decoder" else size
    assert role.spread == pytest.approx(expected, rel=1e-4)


def test_head_with_neither_role_nor_spread_is_unclear() -> None:
    cells = np.zeros((8, 8), dtype=np.bool_)
    cells[range(8), [4, 5, 6, 7, 0, 1, 2, 3]] = True  # one key per row, at an offset without a role
    assert role_of_head("encoder", rows_with_share(cells, 0.9)).name == "unclear"


def test_role_needs_minimum_share() -> None:
    assert role_of_head("encoder", rows_with_share(EIGHT, 0.4)).name == "same"  # docs/measures.md states the number
    assert role_of_head("encoder", rows_with_share(EIGHT, MIN_SHARE)).name == "same"
    assert role_of_head("encoder", rows_with_share(EIGHT, MIN_SHARE - 0.02)).name != "same"
    low, high = (rows_with_share(OFFSET < 0, share) for share in (MIN_SHARE_WIDE - 0.02, MIN_SHARE_WIDE + 0.02))
    for weights in (low, high):
        weights[0] = 1 / 8  # the first row does not count, because it lacks an earlier key
    assert role_of_head("encoder", high).name == "before"
    assert role_of_head("encoder", low).name != "before"


def test_minimum_share_is_relative_to_chance() -> None:
    """With two keys, chance is 0.5: a share of 0.6 explains a fifth of the rest, 0.7 two fifths."""
    assert role_of_head("encoder", rows_with_share(EIGHT[:2, :2], 0.6)).name == "spreads"
    assert role_of_head("encoder", rows_with_share(EIGHT[:2, :2], 0.7)).name == "same"


def test_narrow_role_takes_precedence_over_wide_one() -> None:
    weights = rows_with_share(OFFSET == -1, 0.5)
    for row in range(1, 8):
        weights[row] = np.where(OFFSET[row] < 0, weights[row], 0)
        weights[row] /= weights[row].sum()
    assert role_of_head("encoder", weights).name == "previous"  # although all weight is on earlier keys


def test_role_with_largest_excess_is_chosen() -> None:
    weights = np.array([[0.02, 0.9, 0.08], [0.02, 0.9, 0.08], [0.02, 0.9, 0.08]])
    assert role_of_head("encoder", weights, ("a", ".")).name == "punctuation"


def test_unclear_head_has_share_of_closest_role() -> None:
    cells = np.zeros((8, 8), dtype=np.bool_)
    cells[range(8), [4, 5, 6, 7, 0, 1, 2, 3]] = True
    weights = rows_with_share(cells, 0.62)
    weights[range(8), range(8)] += weights[range(8), (np.arange(8) + 2) % 8]
    weights[range(8), (np.arange(8) + 2) % 8] = 0
    role = role_of_head("encoder", weights)
    assert role.name == "unclear"
    assert 0 < role.share < MIN_SHARE_WIDE


def test_spread_is_mean_exponential_entropy() -> None:
    weights = np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [1 / 3, 1 / 3, 1 / 3]])
    assert role_of_head("encoder", weights).spread == pytest.approx((2 + 1 + 3) / 3, rel=1e-6)
    skew = np.array([[0.75, 0.25], [0.75, 0.25]])
    nats = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25))
    assert role_of_head("encoder", skew).spread == pytest.approx(math.exp(nats), rel=1e-6)


def test_fully_masked_map_is_unclear() -> None:
    translation = make_translation(("a",), ("b",))
    masked = replace(translation.attention, masked_source=(0, 1), encoder=np.zeros_like(translation.attention.encoder))
    role = head_roles(replace(translation, attention=masked))["encoder"][0][0]
    assert role == Role("unclear", 0.0, 0.0)


# ---------------------------------------------------------------- all heads, and a corpus


def test_every_head_and_average_has_a_role() -> None:
    translation = make_translation(("a", "b", ".", "c"), ("d", "e"))
    roles = head_roles(translation)
    assert tuple(roles) == KINDS
    for kind, layers in roles.items():
        assert [len(layer) for layer in layers] == [HEADS + 1] * (LAYERS + 1)
        assert {role.name for layer in layers for role in layer} <= {*ROLES[kind], "spreads", "unclear"}  # type: ignore[index]
        weights = translation.attention.of(kind)  # type: ignore[arg-type]
        for position, weights_of_one in (
            ((1, 3), weights[1, 3]),
            ((2, HEADS), weights[2].mean(axis=0)),
            ((LAYERS, HEADS), weights.mean(axis=(0, 1))),
        ):
            role = roles[kind][position[0]][position[1]]
            single = head_roles(
                replace(translation, attention=replace(translation.attention, **{kind: weights_of_one[None, None]}))
            )
            assert role.spread == pytest.approx(single[kind][0][0].spread, rel=1e-5)
            if kind != "cross":  # the aligned word depends on the other heads
                assert (role.name, role.share) == (
                    single[kind][0][0].name,
                    pytest.approx(single[kind][0][0].share, abs=1e-6),
                )


@pytest.mark.parametrize("kind", KINDS)
def test_shares_match_plain_loop(kind: Kind) -> None:
    translation = make_translation(("a", ",", "b", "c", "."), ("d", "e", "f", "g"))
    shares, weights = role_shares(translation, kind), translation.attention.of(kind)
    columns = translation.decoder_tokens if kind == "decoder" else translation.source_tokens
    aligned, allowed = aligned_cells(translation), translation.attention.allowed(kind)
    for number, name in enumerate(ROLES[kind]):
        for layer in range(LAYERS):
            sums = []
            for row in range(weights.shape[2]):
                allowed_keys = [key for key in range(weights.shape[3]) if allowed[row, key]]
                keys = [key for key in allowed_keys if in_role(name, row, key, columns, aligned)]
                if len(allowed_keys) > 1 and keys:
                    sums.append(sum(weights[layer, 2, row, key] for key in keys))
            expected = np.mean(sums) if sums else np.nan
            assert shares.shares[layer, 2, number] == pytest.approx(expected, abs=1e-6, nan_ok=True), name


def in_role(name: RoleName, row: int, key: int, columns: tuple[Token, ...], aligned: np.ndarray) -> bool:
    diagonal = row * (len(columns) - 1) / (len(aligned) - 1)
    return bool(
        {
            "same": key == row,
            "previous": key == row - 1,
            "next": key == row + 1,
            "before": key < row,
            "ahead": key > row,
            "around": abs(key - row) <= 2,
            "just_written": key == row,
            "back_two": key == row - 1,
            "start": columns[key].special and key == 0,
            "end": columns[key].special and key == len(columns) - 1,
            "punctuation": columns[key].text in (".", ","),
            "diagonal": abs(key - diagonal) <= 0.5,
            "aligns": name == "aligns" and aligned[row, key],
            "behind": name == "behind" and row > 0 and aligned[row - 1, key],
        }[name]
    )


def test_corpus_role_comes_from_mean_shares() -> None:
    """A head that attends to the previous token in most sentences, and uniformly in the rest."""
    shares = np.zeros((1, 1, len(ROLES["encoder"])))
    index = ROLES["encoder"].index("previous")
    chances = np.full(len(ROLES["encoder"]), 0.125)
    for frequency, name in ((0.6, "previous"), (0.35, "unclear")):
        shares[..., index] = frequency * 0.9 + (1 - frequency) * 0.125
        names, _ = assign_roles("encoder", shares, chances, np.full((1, 1), 0.3))
        assert names[0, 0] == name
    assert {*NAMES} == {name for kind in KINDS for name in ROLES[kind]} | {"spreads", "unclear"}


def test_role_without_any_share_is_not_assigned() -> None:
    shares = np.full((1, 2, len(ROLES["cross"])), np.nan)
    names, values = assign_roles("cross", shares, shares[0, 0], np.array([[0.7, 0.2]]))
    assert names.tolist() == [["spreads", "unclear"]]
    assert values.tolist() == [[0.7, 0.0]]


@pytest.mark.parametrize(("coverage", "name"), [(0.5, "spreads"), (0.499, "unclear"), (0.54, "spreads")])
def test_half_of_the_keys_count_as_spread(coverage: float, name: str) -> None:
    shares = np.zeros((1, 1, len(ROLES["encoder"])))
    names, _ = assign_roles("encoder", shares, np.full(len(ROLES["encoder"]), 0.1), np.array([[coverage]]))
    assert names[0, 0] == name


def test_narrow_role_applies_although_a_wide_one_has_more_excess() -> None:
    shares, chances = np.zeros((1, 1, len(ROLES["encoder"]))), np.zeros(len(ROLES["encoder"]))
    for role, share, chance in (("same", 0.5, 0.1), ("around", 0.95, 0.4)):  # excess 0.4 and 0.55
        shares[..., ROLES["encoder"].index(role)], chances[ROLES["encoder"].index(role)] = share, chance
    names, values = assign_roles("encoder", shares, chances, np.zeros((1, 1)))
    assert (names[0, 0], values[0, 0]) == ("same", 0.5)
