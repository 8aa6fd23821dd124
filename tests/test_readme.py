"""The README's code runs, and the file tree in docs/architecture.md is complete."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path, PurePath
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
CODE = ("model", "viz", "workshop")
LISTED = (*CODE, "assets")
MODEL_FOLDERS = "assets/models/*"  # described by model cards
ENTRY = re.compile(r"^((?:│   |    )*)(?:├── |└── )(\S+)( +\S.*)?$")


def tree() -> dict[str, str]:
    """Path → phrase, from the last code block of docs/architecture.md."""
    block = ARCHITECTURE.rstrip().rsplit("```", 2)[1]
    parents: list[str] = []
    entries: dict[str, str] = {}
    for line in block.splitlines():
        if match := ENTRY.match(line):
            depth = len(match[1]) // 4
            parents[depth:] = [match[2].rstrip("/")]
            entries["/".join(parents)] = (match[3] or "").strip()
    return entries


def test_tree_paths_exist() -> None:
    assert len(tree()) > 30
    assert [path for path in tree() if not (ROOT / path).exists()] == []


def test_tree_has_every_folder() -> None:
    tracked = subprocess.run(["git", "ls-files", *LISTED], cwd=ROOT, capture_output=True, text=True, check=True)
    folders = {PurePath(file).parent for file in tracked.stdout.splitlines()}
    names = {folder.as_posix() for folder in folders if not folder.match(MODEL_FOLDERS)}
    assert sorted(names - set(tree())) == []


def test_every_module_has_description() -> None:
    files = [path for folder in CODE for path in (ROOT / folder).rglob("*.py") if path.name != "__init__.py"]
    assert len(files) > 100
    undocumented = [path for path in files if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))]
    scripts = sorted((ROOT / "viz" / "widgets").rglob("*.js"))
    undocumented += [path for path in scripts if not path.read_text(encoding="utf-8").startswith(("// ", "/**"))]
    assert undocumented == []


def test_tree_has_every_root_entry() -> None:
    entries = {path.name for path in ROOT.iterdir() if re.match(r"[A-Za-z]", path.name) and path.suffix != ".lock"}
    generated = {"runs", "data", "build", "dist"}  # ignored by Git
    assert sorted(entries - generated - set(tree())) == []


def test_every_tree_entry_has_phrase() -> None:
    assert [path for path, phrase in tree().items() if not phrase] == []


def test_readme_code_runs_with_results_in_comments(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL):
        exec(compile(block, "README.md", "exec"), names)  # noqa: S102 - our own README
        for expression, expected in re.findall(
            r"^(result\.text|judgement\.verdict)\b.*?# ('[^']*')", block, flags=re.MULTILINE
        ):
            assert repr(eval(expression, names)) == expected  # noqa: S307
    expected = re.search(r"judgement\.probability  # '\w+', ([\d.]+)", README)
    assert expected
    assert f"{names['judgement'].probability:.2f}" == expected[1]
    assert not names["seen"]["decoder.layers.0.cross_attention.weights"].any()
    assert names["figure"].data[0].type == "heatmap"


def test_chinese_readme_has_the_same_facts() -> None:
    """Code, documents, numbers and keys are those of README.md; the words alone are Chinese."""
    chinese = (ROOT / "README.zh.md").read_text(encoding="utf-8")
    code = re.compile(r"```.*?```", re.DOTALL)
    assert code.findall(chinese) == code.findall(README)
    texts = [code.sub("", text) for text in (README.split("---\n", 2)[2], chinese)]
    links = [set(re.findall(r"(?<!!)\[[^\]]*\]\(([^)]+)\)", text)) - {"README.md", "README.zh.md"} for text in texts]
    assert links[0] == links[1]
    spans = [set(re.findall(r"`([^`]+)`", text)) for text in texts]
    assert spans[0] == spans[1]
    numbers = [set(re.findall(r"\d+(?:\.\d+)?", re.sub(r"\([^)]*\)", "", text))) for text in texts]
    assert numbers[0] <= numbers[1]
    assert numbers[1] - numbers[0] <= {"45", "90"}  # minutes of the lesson plans
    assert "](README.zh.md)" in README.split("# Headlight\n", 1)[1].split("\n\n")[0]


def test_chinese_pictures_exist_and_are_small() -> None:
    chinese = (ROOT / "README.zh.md").read_text(encoding="utf-8")
    pictures = [ROOT / path for path in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", chinese)]
    assert len(pictures) >= 4
    assert all(path.name.startswith("zh-") for path in pictures)
    assert sum(path.stat().st_size for path in pictures) <= 1_000_000


def test_readme_is_short() -> None:
    assert len(README.split("---\n", 2)[2]) < 9_000  # the front matter is for the Hub alone
