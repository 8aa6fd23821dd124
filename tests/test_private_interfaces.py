"""The table of private interfaces matches the code, and fallbacks give the same results."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from headlight.model.training.ema import lerp_weights
from headlight.viz.browser_files import static_files
from headlight.viz.server.gradio_queue import find_queue

ROOT = Path(__file__).resolve().parents[1]
TABLE = (ROOT / "docs" / "private-interfaces.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (.*`.*) \| (`.*`) \| .+ \|$", TABLE, re.MULTILINE)
# Names with an underscore in modules of other libraries.
PRIVATE = re.compile(r"\b(?:torch|mkldnn|quantized)\._\w+|\b(?:page|component|event)\._\w+")


@pytest.mark.parametrize(("names", "files"), ROWS)
def test_table_rows_match_source_files(names: str, files: str) -> None:
    source = "".join((ROOT / file).read_text(encoding="utf-8") for file in re.findall(r"`([^`]+)`", files))
    for name in re.findall(r"`([^`]+)`", names):
        assert name.rpartition(".")[2].lstrip("/") in source or name in source


def test_table_has_every_private_name_in_code() -> None:
    assert len(ROWS) > 12
    for folder in ("model", "viz"):
        for path in (ROOT / folder).rglob("*.py"):
            for expression in PRIVATE.findall(path.read_text(encoding="utf-8")):
                name = expression.rpartition(".")[2]
                assert name in TABLE or name == "_id", f"{path}: {expression}"


def test_lerp_fallback_gives_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = [torch.arange(7.0), torch.ones(3, 5)]
    with_foreach, without_foreach = ([torch.full_like(weight, 2.0) for weight in weights] for _ in range(2))
    lerp_weights(with_foreach, weights, 0.25)
    monkeypatch.delattr(torch, "_foreach_lerp_")
    lerp_weights(without_foreach, weights, 0.25)
    assert torch.equal(without_foreach[1], torch.full((3, 5), 1.75))  # 2 + (1 - 2) / 4
    assert all(torch.equal(one, other) for one, other in zip(with_foreach, without_foreach, strict=True))


def test_page_without_our_queue_has_none() -> None:
    assert find_queue(SimpleNamespace()) is find_queue(SimpleNamespace(_queue=object())) is None


def test_plotly_script_is_found_in_either_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert static_files.plotly_file().stat().st_size > 1_000_000
    monkeypatch.setattr(static_files.plotly, "__file__", str(tmp_path / "__init__.py"))
    with pytest.raises(FileNotFoundError, match=r"has no plotly\.min\.js"):
        static_files.plotly_file()
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "plotly.min.js").write_text("")
    assert static_files.plotly_file() == tmp_path / "assets" / "plotly.min.js"
