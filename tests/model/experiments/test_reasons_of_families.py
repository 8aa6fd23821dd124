"""Score parts, accounts and effects of third-party models: completeness for three families of `transformers`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from headlight.model.experiments.account import word_account
from headlight.model.experiments.effects import compute_sentence_head_effects
from headlight.model.experiments.score_parts import SIDES, Cell, Side, score_parts
from headlight.model.intervention_records import Intervention
from headlight.model.records import KINDS, Translation
from headlight.model.translate.translator import Translator
from tests.model.experiments.test_score_parts import centred_score
from tests.model.families.folders import SENTENCES, m2m, marian, t5, translator

FAMILIES: dict[str, Callable[..., Path]] = {"marian": marian, "m2m": m2m, "t5": t5}
STEP = 0.01  # change of a head's weights in the finite difference
CELLS = (Cell("encoder", 1, 1, 1, 0), Cell("decoder", 1, 0, 2, 1), Cell("cross", 1, 1, 2, 1))


@pytest.fixture(scope="module", params=FAMILIES)
def family(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Translator, Translation]:
    folder = FAMILIES[request.param](tmp_path_factory.mktemp("family") / request.param)
    model = translator(folder)
    return model, model.translate(SENTENCES[0], max_length=8)


def log_probability(model: Translator, ids: list[int], intervention: Intervention) -> float:
    return model.translate(SENTENCES[0], target=ids, interventions=[intervention]).log_probability


@pytest.mark.parametrize("side", SIDES)
def test_parts_sum_to_score(family: tuple[Translator, Translation], side: Side) -> None:
    model, answer = family
    for cell in CELLS:
        result = score_parts(model, answer, cell, side)
        assert result.score == pytest.approx(centred_score(model, answer, cell), abs=1e-4)
        assert sum(part.value for part in result.parts) == pytest.approx(result.score, abs=1e-9)


def test_account_sums_to_lead(family: tuple[Translator, Translation]) -> None:
    model, answer = family
    chosen = answer.target_tokens[1].id
    account = word_account(model, answer, 1, 0 if chosen else 1)
    total = sum(account.source) + sum(account.prefix) + account.constants
    assert total == pytest.approx(account.lead, abs=1e-4)


def test_effects_are_slopes_of_the_log_probability(family: tuple[Translator, Translation]) -> None:
    model, answer = family
    effects = compute_sentence_head_effects(model, answer)
    assert {kind: effects[kind].shape for kind in KINDS} == {
        kind: answer.attention.of(kind).shape[:2] for kind in KINDS
    }
    ids = [token.id for token in answer.target_tokens]
    for kind in KINDS:
        layer, head = np.unravel_index(np.abs(effects[kind]).argmax(), effects[kind].shape)
        low, high = (
            Intervention(kind=kind, layer=int(layer), head=int(head), action="scale", amount=amount)
            for amount in (1 - STEP, 1 + STEP)
        )
        change = log_probability(model, ids, high) - log_probability(model, ids, low)
        slope = change / (2 * STEP)
        assert slope == pytest.approx(effects[kind][layer, head], rel=0.05, abs=1e-3)
