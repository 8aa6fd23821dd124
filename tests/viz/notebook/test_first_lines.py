"""The first lines of docs/notebooks.md run, with a folder in place of the model's name."""

from __future__ import annotations

import re
from pathlib import Path

from headlight.viz.notebook.view import View
from tests.model.recordings import families

GUIDE = Path(__file__).resolve().parents[3] / "docs" / "notebooks.md"


def test_first_lines_of_the_guide_run(tmp_path: Path) -> None:
    match = re.search(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    assert match is not None
    lines = [line for line in match[1].splitlines() if line]
    assert len(lines) == 3
    assert lines[-1].count('"gpt2"') == 2
    families.fused_gpt2().save_pretrained(tmp_path)
    families.tokenizer().save_pretrained(tmp_path)
    code = "\n".join([*lines[:-1], f"view = {lines[-1]}"]).replace('"gpt2"', repr(str(tmp_path)))
    names: dict[str, object] = {}
    exec(code, names)  # noqa: S102 (the guide's own lines)
    view = names["view"]
    assert isinstance(view, View)
    assert repr(view).startswith("Headlight: self 2 × 3 heads")
