"""Files of Gradio's frontend are read from the tables of its build, in dependency order."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headlight.viz.server.gradio_files import FRONTEND, find_frontend_files

PAGE = (
    '<script type="module" crossorigin src="./assets/index-a.js"></script>'
    '<link rel="stylesheet" crossorigin href="./assets/index-b.css">'
)


def later(name: str, *places: int, form: str = "") -> str:
    return (
        f"v(()=>import(`./{name}`){form},__vite__mapDeps({json.dumps(places, separators=(',', ':'))}),import.meta.url)"
    )


def table(*files: str) -> str:
    return f"d=(m.f||(m.f={json.dumps([f'./{file}' for file in files])}))"


def build(folder: Path, **changed: str) -> Path:
    """A frontend in Vite's form: an entry, the app, the core with two kinds of components, the blocks."""
    modules = {
        "index": table("Index-c.js", "core-d.js", "app.css") + later("Index-c.js", 0, 1, 2) + later("core-d.js", 1),
        "Index": table("Login-z.js", "Blocks-e.js", "blocks.css")
        + later("Login-z.js", 0)
        + later("Blocks-e.js", 1, 2, form=";return{default:e}}"),
        "core": table("Html-f.js", "html.css", "core-d.js", "State-g.js", "Example-y.js")
        + f"={{html:{{example:()=>{later('Example-y.js', 4)},component:()=>{later('Html-f.js', 0, 1, 2)}}},"
        + f"state:{{component:()=>{later('State-g.js', 3, form='.then(e=>e.t)')}}}}}",
        **changed,
    }
    names = {"index": "index-a.js", "Index": "Index-c.js", "core": "core-d.js"}
    (folder / "assets").mkdir()
    (folder / "index.html").write_text(PAGE, encoding="utf-8")
    for name, code in modules.items():
        (folder / "assets" / names[name]).write_text(code, encoding="utf-8")
    return folder


ENTRY = ["index-a.js", "index-b.css", "Index-c.js", "core-d.js", "app.css", "Blocks-e.js", "blocks.css"]


@pytest.mark.parametrize(
    ("kinds", "more"),
    [
        ({"html"}, ["Html-f.js", "html.css"]),
        ({"api"}, ["State-g.js"]),
        ({"html", "state"}, ["Html-f.js", "html.css", "State-g.js"]),
        ({"unheard of"}, []),
    ],
)
def test_files_are_ordered_by_dependency_without_duplicates(tmp_path: Path, kinds: set[str], more: list[str]) -> None:
    expected = tuple(f"assets/{name}" for name in ENTRY + more)
    assert find_frontend_files(frozenset(kinds), build(tmp_path)) == expected


@pytest.mark.parametrize("changed", [{"index": "import('./Index-c.js')"}, {"Index": "x"}, {"index": table("a")}])
def test_unknown_build_format_returns_no_files(tmp_path: Path, changed: dict[str, str]) -> None:
    assert find_frontend_files(frozenset({"html"}), build(tmp_path, **changed)) == ()


def test_short_dependency_table_returns_no_files(tmp_path: Path) -> None:
    short = table("Index-c.js") + later("Index-c.js", 0, 1)
    assert find_frontend_files(frozenset({"html"}), build(tmp_path, index=short)) == ()


def test_missing_frontend_returns_no_files(tmp_path: Path) -> None:
    assert find_frontend_files(frozenset({"html"}), tmp_path) == ()


def test_installed_gradio_lists_existing_files() -> None:
    files = find_frontend_files(frozenset({"html", "column", "api"}))
    assert len(files) > 20
    assert all((FRONTEND / file).is_file() for file in files)
    assert {Path(file).name.partition("-")[0] for file in files} >= {"index", "core", "Blocks", "HTML"}
