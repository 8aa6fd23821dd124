"""The helper that finds seeds with which the sentences of a shape end at several lengths."""

from __future__ import annotations

import pytest

from tests.model.families import shake
from tests.model.families.folders import LENGTHS


@pytest.mark.slow
def test_the_numbers_that_a_shape_has_are_of_use() -> None:
    (found,) = shake.counts_of_lengths("marian", [(5, 5.0)])
    assert found[0] == (5, 5.0)
    assert found[1] >= LENGTHS


def test_the_search_ends_at_the_first_pair_of_use(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    counts = [((1, 2.0), 1), ((1, 3.0), LENGTHS), ((1, 5.0), 9)]
    monkeypatch.setattr(shake, "counts_of_lengths", lambda name: iter(counts))
    shake.main(["marian"])
    assert capsys.readouterr().out.splitlines() == ["shaken=(1, 2.0): 1 length", "shaken=(1, 3.0): 3 lengths"]
    del counts[1:]
    with pytest.raises(SystemExit, match="None of 18 pairs gives 3 lengths"):
        shake.main(["marian"])
