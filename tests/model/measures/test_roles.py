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
from tests.viz.figures_examples import HEADS, LAYERS, translation_of

SOURCE = ("der", "alte", "Hund", ",", "schläft", "tief", ".")  # with the end token, eight
TARGET = ("sound", "asleep", "is", "the", "dog", "now", "!", "…", "so", "then")  # with the end token, eleven


def mostly(cells: np.ndarray, share: float = 0.8) -> np.ndarray:
    """Rows that give this share to the marked cells, evenly, and the rest to the others; rows without any: even."""
    weights = np.zeros(cells.shape)
    for row, marked in enumerate(cells):
        if marked.all() or not marked.any():
            weights[row] = 1 / len(marked)
        else:
            weights[row, marked] = share / marked.sum()
            weights[row, ~marked] = (1 - share) / (~marked).sum()
    return weights


def causal(weights: np.ndarray) -> np.ndarray:
    """The same without what lies ahead; rows sum to one again."""
    low = np.tril(weights)
    return low / low.sum(axis=1, keepdims=True)


def with_head(kind: Kind, weights: np.ndarray, source: tuple[str, ...] = SOURCE) -> Translation:
    """A translation with one head of this kind and even ones of the others."""
    rows = len(weights) if kind != "encoder" else 3
    source = source[: (weights.shape[1] if kind != "decoder" else 3) - 1]
    given = translation_of(source, TARGET[: rows - 1])
    attention = replace(given.attention, **{kind: weights[None, None].astype(np.float32)})
    return replace(given, attention=attention)


def role_of(kind: Kind, weights: np.ndarray, source: tuple[str, ...] = SOURCE) -> Role:
    return head_roles(with_head(kind, weights, source))[kind][0][0]


EIGHT = np.eye(8, dtype=np.bool_)
OFFSET = np.arange(8)[None, :] - np.arange(8)[:, None]


def column(*places: int, rows: int = 8) -> np.ndarray:
    cells = np.zeros((rows, 8), dtype=np.bool_)
    cells[:, places] = True
    return cells


# ---------------------------------------------------------------- planted heads


@pytest.mark.parametrize(
    ("kind", "name", "cells"),
    [
        ("encoder", "same", EIGHT),
        ("encoder", "previous", OFFSET == -1),
        ("encoder", "next", OFFSET == 1),
        ("encoder", "end", column(7)),
        ("encoder", "punctuation", column(3, 6)),
        ("encoder", "before", OFFSET < 0),
        ("encoder", "ahead", OFFSET > 0),
        ("encoder", "around", np.abs(OFFSET) <= 2),
        ("cross", "end", column(7)),
        ("cross", "punctuation", column(3, 6)),
    ],
)
def test_a_planted_head_is_recognised(kind: Kind, name: str, cells: np.ndarray) -> None:
    found = role_of(kind, mostly(cells, 0.85))
    assert found.name == name
    able = cells.any(axis=1)
    assert found.share == pytest.approx(mostly(cells, 0.85)[able][cells[able]].sum() / able.sum(), abs=1e-6)


@pytest.mark.parametrize(
    ("name", "weights"),
    [
        ("just_written", causal(np.eye(7) * 9 + np.ones((7, 7)))),
        ("back_two", causal(np.eye(7, k=-1) * 99 + np.ones((7, 7)))),
        ("start", causal(mostly(np.arange(7)[None, :].repeat(7, axis=0) == 0, 0.9))),
    ],
)
def test_a_planted_head_of_the_decoder_is_recognised(name: str, weights: np.ndarray) -> None:
    assert role_of("decoder", weights).name == name


def test_the_share_of_the_decoder_leaves_out_the_row_without_a_choice() -> None:
    found = role_of("decoder", causal(np.eye(7) * 9 + np.ones((7, 7))))  # row r: 10 of 10 + r
    assert found.share == pytest.approx(np.mean([10 / (10 + row) for row in range(1, 7)]))


def test_a_language_token_before_the_sentence_is_a_start() -> None:
    given = with_head("encoder", mostly(column(0), 0.9))
    first = Token(">>en<<", 3, 0, 0, special=True)
    given = replace(given, source_tokens=(first, *given.source_tokens[1:]))
    assert head_roles(given)["encoder"][0][0].name == "start"


# ---------------------------------------------------------------- cross-attention: which word


PICKED = (5, 4, 6, 1, 0, 2)  # another order than that of the source
ORDER = np.zeros((7, 8), dtype=np.bool_)
ORDER[range(6), PICKED] = True


def several(*maps: np.ndarray) -> Translation:
    """A translation whose cross-attention has these heads, in one layer."""
    given = with_head("cross", maps[0])
    return replace(given, attention=replace(given.attention, cross=np.stack(maps)[None].astype(np.float32)))


def test_a_head_that_looks_where_the_mean_looks_aligns_words_and_one_a_row_late_is_behind() -> None:
    aligns, late = mostly(ORDER, 0.8), mostly(np.roll(ORDER, 1, axis=0), 0.8)
    found = head_roles(several(aligns, aligns, late))["cross"][0]
    assert [each.name for each in found[:3]] == ["aligns", "aligns", "behind"]
    assert found[0].share == pytest.approx(0.8)
    assert found[2].share == pytest.approx(0.8)


def test_the_aligned_word_is_all_its_tokens_and_no_special_one() -> None:
    source = (
        *(Token("x", 1, place, place + 1, word=place // 2) for place in range(6)),
        Token("</s>", 2, 6, 6, special=True),
    )
    target = tuple(Token("y", 1, place, place + 1, word=max(0, place - 1)) for place in range(3))  # two tokens, one
    weights = np.zeros((3, 7))
    weights[0] = [0, 0, 0.2, 0.2, 0, 0, 0.6]  # both rows of the first word: the second source word, 0.4 and 0.2
    weights[1] = [0.3, 0, 0.1, 0.1, 0, 0.2, 0.3]
    weights[2] = [0, 0, 0, 0, 0, 0.3, 0.7]
    given = with_head("cross", np.ones((3, 7)) / 7)
    attention = replace(given.attention, cross=weights[None, None].astype(np.float32))
    given = replace(given, source_tokens=source, target_tokens=target, attention=attention)
    expected = np.zeros((3, 7), dtype=np.bool_)
    expected[:2, 2:4] = True
    expected[2, 4:6] = True
    np.testing.assert_array_equal(aligned_cells(given), expected)


def test_without_any_word_nothing_is_aligned() -> None:
    given = translation_of((), ())
    assert not aligned_cells(given).any()
    assert {each.name for layer in head_roles(given)["cross"] for each in layer} == {"unclear"}


def test_a_head_may_follow_the_straight_line_where_words_stand_otherwise() -> None:
    line = np.zeros((7, 8), dtype=np.bool_)
    line[range(7), [0, 1, 2, 3, 5, 6, 7]] = True  # the line is at 0, 1.17, 2.33, 3.5, 4.67, 5.83, 7
    found = head_roles(several(mostly(ORDER), mostly(ORDER), mostly(ORDER), mostly(line)))["cross"][0]
    assert found[3].name == "diagonal"


# ---------------------------------------------------------------- heads that say little


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [2, 3, 5, 11])
def test_a_head_that_looks_everywhere_alike_spreads(kind: Kind, size: int) -> None:
    weights = np.full((size, size), 1 / size)
    source = tuple(f"w{number}" for number in range(size - 1))
    found = role_of(kind, causal(weights) if kind == "decoder" else weights, source)
    assert found.name == "spreads"
    assert found.share == pytest.approx(1, abs=1e-4)
    expected = np.mean(range(2, size + 1)) if kind == "decoder" else size
    assert found.spread == pytest.approx(expected, rel=1e-4)


def test_between_a_role_and_a_spread_a_head_is_unclear() -> None:
    cells = np.zeros((8, 8), dtype=np.bool_)
    cells[range(8), [4, 5, 6, 7, 0, 1, 2, 3]] = True  # one word each, at no place that has a name
    assert role_of("encoder", mostly(cells, 0.9)).name == "unclear"


def test_the_share_must_reach_the_least() -> None:
    assert role_of("encoder", mostly(EIGHT, 0.4)).name == "same"  # docs/measures.md names the number
    assert role_of("encoder", mostly(EIGHT, MIN_SHARE)).name == "same"
    assert role_of("encoder", mostly(EIGHT, MIN_SHARE - 0.02)).name != "same"
    low, high = (mostly(OFFSET < 0, share) for share in (MIN_SHARE_WIDE - 0.02, MIN_SHARE_WIDE + 0.02))
    for weights in (low, high):
        weights[0] = 1 / 8  # nothing stands before the first: that row does not count
    assert role_of("encoder", high).name == "before"
    assert role_of("encoder", low).name != "before"


def test_the_least_is_not_enough_where_chance_gives_as_much() -> None:
    """Of two keys, chance gives half to each: 0.6 leaves a fifth of what is open explained, 0.7 two fifths."""
    assert role_of("encoder", mostly(EIGHT[:2, :2], 0.6)).name == "spreads"
    assert role_of("encoder", mostly(EIGHT[:2, :2], 0.7)).name == "same"


def test_a_narrow_role_goes_before_a_wide_one() -> None:
    weights = mostly(OFFSET == -1, 0.5)
    for row in range(1, 8):
        weights[row] = np.where(OFFSET[row] < 0, weights[row], 0)
        weights[row] /= weights[row].sum()
    assert role_of("encoder", weights).name == "previous"  # though all of a row is on what stands before


def test_the_largest_excess_gives_the_name() -> None:
    weights = np.array([[0.02, 0.9, 0.08], [0.02, 0.9, 0.08], [0.02, 0.9, 0.08]])
    assert role_of("encoder", weights, ("a", ".")).name == "punctuation"


def test_the_unclear_tell_how_near_they_came() -> None:
    cells = np.zeros((8, 8), dtype=np.bool_)
    cells[range(8), [4, 5, 6, 7, 0, 1, 2, 3]] = True
    weights = mostly(cells, 0.62)
    weights[range(8), range(8)] += weights[range(8), (np.arange(8) + 2) % 8]
    weights[range(8), (np.arange(8) + 2) % 8] = 0
    found = role_of("encoder", weights)
    assert found.name == "unclear"
    assert 0 < found.share < MIN_SHARE_WIDE


def test_the_spread_is_the_mean_number_of_tokens() -> None:
    weights = np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [1 / 3, 1 / 3, 1 / 3]])
    assert role_of("encoder", weights).spread == pytest.approx((2 + 1 + 3) / 3, rel=1e-6)
    skew = np.array([[0.75, 0.25], [0.75, 0.25]])
    nats = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25))
    assert role_of("encoder", skew).spread == pytest.approx(math.exp(nats), rel=1e-6)


def test_a_map_that_may_look_nowhere_is_unclear() -> None:
    given = translation_of(("a",), ("b",))
    nowhere = replace(given.attention, masked_source=(0, 1), encoder=np.zeros_like(given.attention.encoder))
    found = head_roles(replace(given, attention=nowhere))["encoder"][0][0]
    assert found == Role("unclear", 0.0, 0.0)


# ---------------------------------------------------------------- all heads, and a corpus


def test_all_heads_of_a_translation_are_named_with_their_averages_last() -> None:
    translation = translation_of(("a", "b", ".", "c"), ("d", "e"))
    found = head_roles(translation)
    assert tuple(found) == KINDS
    for kind, layers in found.items():
        assert [len(layer) for layer in layers] == [HEADS + 1] * (LAYERS + 1)
        assert {each.name for layer in layers for each in layer} <= {*ROLES[kind], "spreads", "unclear"}  # type: ignore[index]
        weights = translation.attention.of(kind)  # type: ignore[arg-type]
        for place, one in (
            ((1, 3), weights[1, 3]),
            ((2, HEADS), weights[2].mean(axis=0)),
            ((LAYERS, HEADS), weights.mean(axis=(0, 1))),
        ):
            each = found[kind][place[0]][place[1]]
            alone = head_roles(
                replace(translation, attention=replace(translation.attention, **{kind: one[None, None]}))
            )
            assert each.spread == pytest.approx(alone[kind][0][0].spread, rel=1e-5)
            if kind != "cross":  # there the other heads tell which word is meant
                assert (each.name, each.share) == (
                    alone[kind][0][0].name,
                    pytest.approx(alone[kind][0][0].share, abs=1e-6),
                )


@pytest.mark.parametrize("kind", KINDS)
def test_shares_are_those_of_a_plain_loop(kind: Kind) -> None:
    given = translation_of(("a", ",", "b", "c", "."), ("d", "e", "f", "g"))
    found, weights = role_shares(given, kind), given.attention.of(kind)
    columns = given.decoder_tokens if kind == "decoder" else given.source_tokens
    linked, allowed = aligned_cells(given), given.attention.allowed(kind)
    for number, name in enumerate(ROLES[kind]):
        for layer in range(LAYERS):
            sums = []
            for row in range(weights.shape[2]):
                may = [key for key in range(weights.shape[3]) if allowed[row, key]]
                keys = [key for key in may if in_role(name, row, key, columns, linked)]
                if len(may) > 1 and keys:
                    sums.append(sum(weights[layer, 2, row, key] for key in keys))
            expected = np.mean(sums) if sums else np.nan
            assert found.shares[layer, 2, number] == pytest.approx(expected, abs=1e-6, nan_ok=True), name


def in_role(name: RoleName, row: int, key: int, columns: tuple[Token, ...], linked: np.ndarray) -> bool:
    line = row * (len(columns) - 1) / (len(linked) - 1)
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
            "diagonal": abs(key - line) <= 0.5,
            "aligns": name == "aligns" and linked[row, key],
            "behind": name == "behind" and row > 0 and linked[row - 1, key],
        }[name]
    )


def test_a_corpus_is_named_by_its_means() -> None:
    """A head that looks one back in most sentences, and nowhere in particular in the rest."""
    shares = np.zeros((1, 1, len(ROLES["encoder"])))
    place = ROLES["encoder"].index("previous")
    chances = np.full(len(ROLES["encoder"]), 0.125)
    for often, name in ((0.6, "previous"), (0.35, "unclear")):
        shares[..., place] = often * 0.9 + (1 - often) * 0.125
        names, _ = assign_roles("encoder", shares, chances, np.full((1, 1), 0.3))
        assert names[0, 0] == name
    assert {*NAMES} == {name for kind in KINDS for name in ROLES[kind]} | {"spreads", "unclear"}


def test_what_no_sentence_has_is_no_role() -> None:
    shares = np.full((1, 2, len(ROLES["cross"])), np.nan)
    names, values = assign_roles("cross", shares, shares[0, 0], np.array([[0.7, 0.2]]))
    assert names.tolist() == [["spreads", "unclear"]]
    assert values.tolist() == [[0.7, 0.0]]
