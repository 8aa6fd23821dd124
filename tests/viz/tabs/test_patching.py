"""Patching of a minimal pair in batches equals patching in one call, and faults name the field."""

from __future__ import annotations

import numpy as np
import pytest

from headlight.model.experiments.patching import patching
from headlight.model.records import KINDS
from headlight.viz.errors import PageError
from headlight.viz.service.service import Service
from headlight.viz.settings import Settings
from headlight.viz.tabs.patching import make_patching_call
from tests.viz.local_translator import local_translator

SENTENCES = ("Der Mann sieht die Katze.", "Der Hund sieht die Katze.")


@pytest.fixture(scope="module")
def service() -> Service:
    return Service(Settings(max_characters=99))


def test_batches_add_up_to_shares_of_one_call(service: Service) -> None:
    patch_pair = make_patching_call(service)
    request = {"text": SENTENCES[0], "model": "de-en"}
    shares: list[float] = []
    answer = patch_pair({"request": request, "other": SENTENCES[1]})
    shares += answer["shares"]
    while len(shares) < answer["all"]:
        answer = patch_pair({"request": request, "other": SENTENCES[1], "first": len(shares)})
        assert answer["first"] == len(shares)
        shares += answer["shares"]
    translator = local_translator(service)
    expected = patching(translator, *(translator.translate(text, beam_size=1) for text in SENTENCES))
    assert (answer["word"], answer["other_word"]) == (expected.word, expected.other_word) == ("man", "dog")
    assert answer["tokens"][1] == "Hund"
    states = np.array(shares[: expected.states.size]).reshape(expected.states.shape)
    np.testing.assert_allclose(states, expected.states, atol=2e-3)
    heads = np.concatenate([expected.heads[kind].ravel() for kind in KINDS])
    np.testing.assert_allclose(shares[expected.states.size :], heads, atol=2e-3)


@pytest.mark.parametrize(
    ("values", "field"),
    [({"other": "Der große alte Hund sieht die Katze."}, "text"), ({"other": None}, "text"), ({"first": -1}, "first")],
)
def test_invalid_pair_is_rejected_with_its_field(service: Service, values: dict[str, object], field: str) -> None:
    request = {"text": SENTENCES[0], "model": "de-en"}
    with pytest.raises(PageError) as raised:
        make_patching_call(service)({"request": request, "other": SENTENCES[1], **values})
    assert raised.value.field == field
