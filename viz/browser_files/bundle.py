"""Bundles the page's ES modules into one file, so that a first visit needs one request instead of a hundred.

Our modules follow a form that needs no parser: imports start a line and list names from a relative path; exports are
functions, classes, constants or lists of names. Any other form is an error. Each module becomes a function that
runs once, after its dependencies, and returns its exports. The bundler strips whole-line comments, which
are an eighth of the size.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

STATEMENT = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)  # any import or export
IMPORT = re.compile(r"^import \{([^{}]*)\} from '(\.{1,2}/[\w./-]+\.js)';$", re.MULTILINE)
EXPORT_DECLARATION = re.compile(r"^export (?=(?:async function|function|class|const) (\w+))", re.MULTILINE)
EXPORT_LIST = re.compile(r"^export \{([^{}]*)\};$", re.MULTILINE)
NAME_PATTERN = re.compile(r"^(\w+)(?: as (\w+))?$")  # one list item
COMMENT = re.compile(r"^[ \t]*(?:/\*(?:(?!\*/).)*\*/|//[^\n]*)[ \t]*$", re.MULTILINE | re.DOTALL)  # whole lines only
# Skips comments, in which `import(…)` names a type.
DYNAMIC_IMPORT = re.compile(r"^(?!\s*(?:\*|//|/\*)).*\bimport\(", re.MULTILINE)
FORBIDDEN = {
    "</script": "would end the script element of a saved page",
    "<!--": "would begin a comment in a saved page",
}


class BundleError(ValueError):
    """A module that cannot be bundled."""


class Bundle(NamedTuple):
    """Bundled code and its source map."""

    code: str
    source_map: str


def bundle(sources: Mapping[str, str], tables: object) -> Bundle:
    """Bundle `sources` (text by path) into one module. It exports `modules`: each module's exports by path.

    Modules read `tables` as `globalThis.headlightTables`.
    """
    header = [f"globalThis.headlightTables = {_to_javascript(tables)};", "export const modules = {};"]
    header.append("globalThis.headlightModules = modules;")
    return _bundle(sources, topological_order(sources), header)


def bundle_inline(sources: Mapping[str, str]) -> str:
    """Bundle modules into the code of a module script inside a page, which shares nothing with the other scripts."""
    return _bundle(sources, topological_order(sources), ["const modules = {};"]).code


def bundle_lazy(sources: Mapping[str, str], main_sources: Mapping[str, str], phrases: object) -> Bundle:
    """Bundle modules that load later, with phrases by language.

    They may import the modules of `main_sources`, the main bundle, which the page loads first.
    """
    all_sources = {**main_sources, **sources}
    for path in main_sources:
        lazy_imports = [imported for imported in find_imports(path, main_sources[path]) if imported in sources]
        if lazy_imports:
            raise BundleError(
                f"{path} imports {lazy_imports[0]}, a module of the lazy bundle, which is not loaded yet."
            )
    header = ["export const modules = globalThis.headlightModules;", f"const phrases = {_to_javascript(phrases)};"]
    header.append("for (const code in phrases) Object.assign(globalThis.headlightTables.words[code], phrases[code]);")
    return _bundle(sources, [path for path in topological_order(all_sources) if path in sources], header)


def _to_javascript(values: object) -> str:
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"), sort_keys=True).replace("<", "\\u003c")


def _bundle(sources: Mapping[str, str], order: list[str], header: list[str]) -> Bundle:
    lines = list(header)
    positions: list[tuple[int, int] | None] = [None for _ in header]  # per line: module index and original line
    for index, path in enumerate(order):
        body = wrap_module(path, sources[path]).split("\n")
        lines += [f"modules['{path}'] = (() => {{", *body, "})();"]
        # The last line of a body returns the exports and has no source line.
        positions += [None, *((index, line) for line in range(len(body) - 1)), None, None]
    contents = [sources[path] for path in order]
    source_map = {
        "version": 3,
        "sources": order,
        "sourcesContent": contents,
        "names": [],
        "mappings": encode_mappings(positions),
    }
    return Bundle("\n".join(lines) + "\n", json.dumps(source_map, ensure_ascii=False))


def required_modules(entry: str, sources: Mapping[str, str]) -> dict[str, str]:
    """Return the module `entry` and all modules that it imports, directly or indirectly."""
    results: dict[str, str] = {}
    pending = [entry]
    while pending:
        path = pending.pop()
        if path not in sources:
            raise BundleError(f"{path} is imported, but there is no such file.")
        if path not in results:
            results[path] = sources[path]
            pending += find_imports(path, sources[path])
    return results


def topological_order(sources: Mapping[str, str]) -> list[str]:
    """Return the paths in an order in which each module follows its imports."""
    graph = {path: sorted(find_imports(path, sources[path])) for path in sorted(sources)}
    for path, dependencies in graph.items():
        for dependency in dependencies:
            if dependency not in sources:
                raise BundleError(f"{path} imports {dependency}, but there is no such file.")
    try:
        return list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        raise BundleError(f"These modules import each other: {' → '.join(error.args[1])}.") from error


def find_imports(path: str, source: str) -> Iterator[str]:
    """Yield the paths of the modules that a module imports."""
    for match in IMPORT.finditer(source):
        yield posixpath.normpath(posixpath.join(posixpath.dirname(path), match[2]))


def wrap_module(path: str, source: str) -> str:
    """Return the function body of a module. Line numbers do not change; an added last line returns the exports."""
    recognised = sum(len(form.findall(source)) for form in (IMPORT, EXPORT_DECLARATION, EXPORT_LIST))
    if recognised != len(STATEMENT.findall(source)):
        forms = "import { a, b as c } from './d.js'; and export function, class, const, or { a, b as c };"
        raise BundleError(f"{path} has an import or export that the bundler does not support. It supports {forms}")
    source = COMMENT.sub(lambda match: "\n" * match[0].count("\n"), source)
    if any(line.count("`") % 2 for line in source.split("\n")):
        raise BundleError(f"{path} has a multi-line template literal. One of its lines could look like a comment.")
    if DYNAMIC_IMPORT.search(source):
        raise BundleError(f"{path} has a dynamic import. Import the module at the top of the file.")
    for text, reason in FORBIDDEN.items():
        if text in source:
            raise BundleError(f"{path} contains `{text}`, which {reason}.")

    def replace_import(match: re.Match[str]) -> str:
        imported = posixpath.normpath(posixpath.join(posixpath.dirname(path), match[2]))
        names = [name if name == alias else f"{name}: {alias}" for name, alias in _parse_names(path, match[1])]
        newlines = "\n" * match[0].count("\n")
        return f"const {{ {', '.join(names)} }} = modules['{imported}'];{newlines}"

    exported = [(name, name) for name in EXPORT_DECLARATION.findall(source)]
    for names in EXPORT_LIST.findall(source):
        exported += _parse_names(path, names)
    body = EXPORT_DECLARATION.sub("", IMPORT.sub(replace_import, source))
    body = EXPORT_LIST.sub(lambda match: "\n" * match[0].count("\n"), body)
    # URLs remain relative to their module within the bundle.
    body = body.replace("import.meta.url", f"new URL('{path}', import.meta.url).href")
    value = ", ".join(f"{alias}: {name}" for name, alias in exported)
    return f"{body.rstrip(chr(10))}\nreturn {{ {value} }};"


def _parse_names(path: str, names: str) -> list[tuple[str, str]]:
    """Parse a list of names: `a, b as c` → [(a, a), (b, c)]."""
    pairs = []
    for item in filter(None, (name.strip() for name in names.split(","))):
        match = NAME_PATTERN.match(item)
        if match is None:
            raise BundleError(f"{path} imports or exports {item!r}, which is not a valid name.")
        pairs.append((match[1], match[2] or match[1]))
    return pairs


# ------------------------------------------------------------ source map

BASE64_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def encode_mappings(positions: list[tuple[int, int] | None]) -> str:
    """Return the field `mappings` of a source map (https://tc39.es/ecma426/): delta-encoded starts of lines."""
    lines = []
    previous = (0, 0)
    for position in positions:
        if position is None:
            lines.append("")
        else:
            lines.append(
                "".join(_encode_vlq(number) for number in (0, position[0] - previous[0], position[1] - previous[1], 0))
            )
            previous = position
    return ";".join(lines)


def _encode_vlq(number: int) -> str:
    """Encode a number as base64 VLQ: groups of five bits, with the sign in the lowest bit."""
    remaining = abs(number) << 1 | (number < 0)
    text = ""
    while True:
        group, remaining = remaining & 31, remaining >> 5
        text += BASE64_DIGITS[group | (32 if remaining else 0)]
        if not remaining:
            return text
