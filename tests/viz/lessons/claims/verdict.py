"""The lesson on classification: claims, checked with an independent computation."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from headlight.model.translate.judge import Judge
from headlight.viz.errors import PageError
from headlight.viz.lessons.classifier import MIN_LOG_ODDS, NEGATED_SENTENCE, PLAIN_SENTENCE
from headlight.viz.lessons.result_figures import BarChart, Heatmap, Table
from headlight.viz.lessons.review import REVIEWS
from tests.viz.lessons.asked import Asked, pictures


@cache
def judge() -> Judge:
    return Judge.load("sentiment", device="cpu")


def log_odds(text: str) -> float:
    return judge().judge(text).log_odds


def number(asked: Asked, step: str, name: str, **values: object) -> float:
    return float(str(asked.run_experiment("verdict", step, **values).numbers[name]).replace("−", "-"))


def erasing_is_asking_again(asked: Asked) -> None:
    text = REVIEWS["mixed"]
    whole = asked.run_experiment("verdict", "erase")
    words = [str(each) for each in whole.position_labels["erased"]]
    np.testing.assert_allclose(number(asked, "erase", "log_odds"), log_odds(text), atol=1e-4)
    assert (whole.facts, whole.numbers["count"]) == (("none",), 0)
    for word, holds in (("dull", "flips"), ("pictures", "stays")):
        place = words.index(word)
        result = asked.run_experiment("verdict", "erase", erased=[place, 399])
        left = log_odds(text.replace(f" {word}", ""))
        np.testing.assert_allclose(float(str(result.numbers["log_odds_rest"])), left, atol=1e-3)
        assert result.facts == (holds,)
        _, effects = (each for each in pictures(result) if isinstance(each, BarChart))
        np.testing.assert_allclose(effects.values[place], log_odds(text) - left, atol=1e-3)
        assert effects.highlighted == [place]
    assert whole.numbers["word"] == "dull"
    assert asked.run_experiment("verdict", "erase", review="own", own="Wonderful.").numbers["word"] == "wonderful"
    with pytest.raises(PageError):
        asked.run_experiment("verdict", "erase", review="own", own=" ")


def shares_add_up_to_the_verdict(asked: Asked) -> None:
    for review in REVIEWS:
        total = number(asked, "shares", "sum", review=review) + number(asked, "shares", "bias", review=review)
        np.testing.assert_allclose(total, number(asked, "shares", "log_odds", review=review), atol=1e-4)
        _, shares = asked.run_experiment("verdict", "shares", review=review).figures[0].parts
        np.testing.assert_allclose(sum(shares.values), number(asked, "shares", "sum", review=review), atol=1e-4)


def shares_hardly_tell_words_apart(asked: Asked) -> None:
    for review in REVIEWS:
        spreads = [number(asked, "shares", f"{name}_spread", review=review) for name in ("shares", "erased")]
        assert 10 * spreads[0] < spreads[1], review


def not_turns_both_ways(asked: Asked) -> None:
    assert asked.run_experiment("verdict", "denial").correct_option == "opposite"
    for word, way in (("good", -1), ("bad", 1)):
        moved = log_odds(NEGATED_SENTENCE.format(word)) - log_odds(PLAIN_SENTENCE.format(word))
        np.testing.assert_allclose(number(asked, "denial", word), moved, atol=0.006)
        assert way * moved > MIN_LOG_ODDS


def a_layer_looks_for_not(asked: Asked) -> None:
    judgement = judge().judge(NEGATED_SENTENCE.format("bad"))
    texts = [token.text.strip() for token in judgement.tokens]
    of_layers = judgement.attention[:, :, texts.index("bad"), texts.index("not")]
    result = asked.run_experiment("verdict", "heads")
    weights = of_layers[int(str(result.numbers["where"])) - 1]
    assert weights.mean() == of_layers.mean(axis=1).max()
    (bars,) = (each for each in pictures(result) if isinstance(each, BarChart))
    np.testing.assert_allclose(bars.values, weights, atol=1e-6)
    assert result.numbers["looking"] == (weights > 0.5).sum() > len(weights) / 2


def one_head_matters_most(asked: Asked) -> None:
    for word in ("good", "bad"):
        result = asked.run_experiment("verdict", "heads", word=word)
        (heat,) = (each for each in pictures(result) if isinstance(each, Heatmap))
        layer, head = (int(str(result.numbers[name])) - 1 for name in ("layer", "head"))
        with judge().without_head(layer, head):
            after = log_odds(NEGATED_SENTENCE.format(word))
        before = log_odds(NEGATED_SENTENCE.format(word))
        np.testing.assert_allclose([result.numbers["before"], result.numbers["after"]], [before, after], atol=1e-4)  # type: ignore[arg-type]
        towards = -np.sign(before) * heat.numbers
        assert towards[layer, head] == towards.max() > 0
        assert (towards > 0).sum() > 1  # other tokens have a share


def text_number(text: object) -> float:
    return float(str(text).replace("−", "-").strip("()"))


def the_verdict_can_be_checked_by_hand(asked: Asked) -> None:
    """The printed numbers, added up and multiplied, give the printed results."""
    for review, text in [*REVIEWS.items(), ("own", "good film, " * 14)]:
        result = asked.run_experiment("verdict", "mean", review=review, own=text)
        table, added = (each for each in pictures(result) if isinstance(each, Table))
        *tokens, sums, means, weights, products = table.rows
        for column in (1, 2, 3):
            values = [text_number(row[column]) for row in tokens]
            total, mean, weight, product = (text_number(row[column]) for row in (sums, means, weights, products))
            assert abs(sum(values) - total) < 2e-4
            assert abs(total / int(str(result.numbers["tokens"])) - mean) < 2e-5
            assert abs(mean * weight - product) < 2e-4
        *terms, z, p = (text_number(row[1]) for row in added.rows)
        assert [text_number(value) for value in products[1:]] == terms[:3]
        assert abs(sum(terms) - z) < 2e-3
        assert (z, p) == (text_number(result.numbers["log_odds"]), text_number(result.numbers["probability"]))
        np.testing.assert_allclose(z, log_odds(text), atol=2e-3)
        assert abs(1 / (1 + np.exp(-z)) - p) < 2e-3
        assert text_number(result.numbers["minus_log_odds"]) == -z


def padding_counts_in_no_average(asked: Asked) -> None:
    none, some = (asked.run_experiment("verdict", "mean", padding=padding) for padding in (0, 12))
    assert (none.facts, some.facts) == ((), ("padded",))
    assert none.numbers["log_odds"] == some.numbers["log_odds"]
    assert none.numbers["padded_probability"] == none.numbers["probability"]
    assert some.numbers["padded_probability"] != some.numbers["probability"]
    for result, padding in ((none, 0), (some, 12)):
        (heat,) = (each for each in pictures(result) if isinstance(each, Heatmap))
        tokens = int(str(result.numbers["tokens"]))
        assert len(heat.numbers) == tokens + padding + 1
        np.testing.assert_allclose(heat.numbers[-1], heat.numbers[:tokens].mean(axis=0), atol=1e-5)
