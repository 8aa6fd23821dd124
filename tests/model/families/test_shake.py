"""The script that searches for seeds with which outputs of a shape have several lengths."""

from __future__ import annotations

import pytest

from tests.model.families import shake
from tests.model.families.folders import LENGTHS


@pytest.mark.slow
def test_current_pair_of_a_shape_gives_enough_lengths() -> None:
    (result,) = shake.count_lengths("marian", [(5, 5.0)])
    assert result[0] == (5, 5.0)
    assert result[1] >= LENGTHS


def test_search_stops_at_first_pair_with_enough_lengths(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    counts = [((1, 2.0), 1), ((1, 3.0), LENGTHS), ((1, 5.0), 9)]
    monkeypatch.setattr(shake, "count_lengths", lambda name: iter(counts))
    shake.main(["marian"])
    assert capsys.readouterr().out.splitlines() == ["shaken=(1, 2.0): 1 length", "shaken=(1, 3.0): 3 lengths"]
    del counts[1:]
    with pytest.raises(SystemExit, match="None of 18 pairs gives 3 lengths"):
        shake.main(["marian"])
