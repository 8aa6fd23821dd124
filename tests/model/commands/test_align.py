"""`headlight align`: links for every pair of a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from headlight.model.checkpoints.shipped import MODELS
from headlight.model.commands.align import load_best_head, parse_head
from headlight.model.commands.main import main
from headlight.model.errors import CommandError

PAIRS = "ich mochte ein bier\ti want a beer .\nich mochte ein cola\ti want a coke .\n"


def test_align_writes_one_line_per_pair_and_one_link_per_target_word(tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text(PAIRS, encoding="utf-8")
    arguments = ["align", str(tmp_path / "pairs.tsv"), "--model", "toy", "--device", "cpu"]
    outputs = []
    for head in ("2.3", "2.3.1"):
        output = tmp_path / head
        assert main([*arguments, "--head", head, "--output", str(output)]) == 0
        outputs.append(output.read_text(encoding="utf-8"))
        for line in outputs[-1].splitlines():
            links = [tuple(int(side) for side in link.split("-")) for link in line.split()]
            assert sorted(target for _, target in links) == [0, 1, 2, 3, 4]
            assert all(source in range(4) for source, _ in links)
        assert len(outputs[-1].splitlines()) == 2
    assert outputs[0] != outputs[1]


def test_heads_are_numbered_from_one_and_default_to_the_measured_one() -> None:
    assert (parse_head("3.7"), parse_head("1.4.1")) == ((2, 6, 0), (0, 3, 1))
    layer, head, shift = load_best_head(MODELS / "de-en")
    assert min(layer, head, shift) >= 0
    with pytest.raises(CommandError, match="Name one with --head"):
        load_best_head(MODELS / "toy")


@pytest.mark.parametrize("text", ["3", "3.0", "0.1", "3.7.2", "3.7.1.1", "a.b", "3.-7", ""])
def test_invalid_head_raises(text: str) -> None:
    with pytest.raises(CommandError, match="is not a head"):
        parse_head(text)


@pytest.mark.parametrize(
    ("content", "head", "message"),
    [("no tab\n", "1.1", "line 1: write a sentence"), (PAIRS, "9.1", "the model has 2 layers of 4 heads")],
)
def test_align_errors_name_the_problem(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, head: str, message: str
) -> None:
    (tmp_path / "pairs.tsv").write_text(content, encoding="utf-8")
    assert main(["align", str(tmp_path / "pairs.tsv"), "--model", "toy", "--device", "cpu", "--head", head]) == 2
    assert message in capsys.readouterr().err
