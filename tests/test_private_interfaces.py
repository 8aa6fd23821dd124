"""The table of private interfaces names what the code uses, and where; fallbacks give the same."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from headlight.model.training.ema import move_towards
from headlight.viz.wire import gradio_inside, static

ROOT = Path(__file__).resolve().parents[1]
TABLE = (ROOT / "docs" / "private-interfaces.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (.*`.*) \| (`.*`) \| .+ \|$", TABLE, re.MULTILINE)
# What begins with an underscore in another library's modules.
PRIVATE = re.compile(r"\b(?:torch|mkldnn|quantized)\._\w+|\b(?:page|component|event)\._\w+")


@pytest.mark.parametrize(("names", "files"), ROWS)
def test_each_row_names_what_its_file_uses(names: str, files: str) -> None:
    source = "".join((ROOT / file).read_text(encoding="utf-8") for file in re.findall(r"`([^`]+)`", files))
    for name in re.findall(r"`([^`]+)`", names):
        assert name.rpartition(".")[2].lstrip("/") in source or name in source


def test_the_table_has_every_private_name_that_the_code_uses() -> None:
    assert len(ROWS) > 12
    for folder in ("model", "viz"):
        for path in (ROOT / folder).rglob("*.py"):
            for found in PRIVATE.findall(path.read_text(encoding="utf-8")):
                name = found.rpartition(".")[2]
                assert name in TABLE or name == "_id", f"{path}: {found}"


def test_averages_move_alike_without_the_operator_for_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = [torch.arange(7.0), torch.ones(3, 5)]
    with_it, without = ([torch.full_like(weight, 2.0) for weight in weights] for _ in range(2))
    move_towards(with_it, weights, 0.25)
    monkeypatch.delattr(torch, "_foreach_lerp_")
    move_towards(without, weights, 0.25)
    assert torch.equal(without[1], torch.full((3, 5), 1.75))  # 2 + (1 - 2) / 4
    assert all(torch.equal(one, other) for one, other in zip(with_it, without, strict=True))


def test_a_page_without_gradios_tables_has_no_functions_and_no_queue() -> None:
    bare = SimpleNamespace()
    assert gradio_inside.page_of({"app": bare}) is gradio_inside.page_of({}) is None
    assert gradio_inside.functions_of(bare) == gradio_inside.functions_of(None) == {}
    assert gradio_inside.function_named(bare, "translate") is None
    assert gradio_inside.queue_of_page(bare) is None
    gradio_inside.describe(bare, "text", description="A sentence.")
    assert vars(bare) == {"label": "text"}


def test_plotlys_script_is_found_wherever_its_package_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert static.plotly_file().stat().st_size > 1_000_000
    monkeypatch.setattr(static.plotly, "__file__", str(tmp_path / "__init__.py"))
    with pytest.raises(FileNotFoundError, match=r"has no plotly\.min\.js"):
        static.plotly_file()
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "plotly.min.js").write_text("")
    assert static.plotly_file() == tmp_path / "assets" / "plotly.min.js"
