"""The table of private interfaces names what the code uses, and where; fallbacks give the same."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from headlight.model.training.ema import lerp_weights
from headlight.viz.server import gradio_internals, static_files

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
    lerp_weights(with_it, weights, 0.25)
    monkeypatch.delattr(torch, "_foreach_lerp_")
    lerp_weights(without, weights, 0.25)
    assert torch.equal(without[1], torch.full((3, 5), 1.75))  # 2 + (1 - 2) / 4
    assert all(torch.equal(one, other) for one, other in zip(with_it, without, strict=True))


def test_a_page_without_gradios_tables_has_no_functions_and_no_queue() -> None:
    bare = SimpleNamespace()
    assert gradio_internals.page_functions(bare) == gradio_internals.page_functions(None) == {}
    assert gradio_internals.function_named(bare, "translate") is None
    assert gradio_internals.page_queue(bare) is None
    gradio_internals.describe(bare, "text", description="A sentence.")
    assert vars(bare) == {"label": "text"}


def test_plotlys_script_is_found_wherever_its_package_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert static_files.plotly_file().stat().st_size > 1_000_000
    monkeypatch.setattr(static_files.plotly, "__file__", str(tmp_path / "__init__.py"))
    with pytest.raises(FileNotFoundError, match=r"has no plotly\.min\.js"):
        static_files.plotly_file()
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "plotly.min.js").write_text("")
    assert static_files.plotly_file() == tmp_path / "assets" / "plotly.min.js"
