"""Comments, docstrings and documents are in plain English, and names are those of the field."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CODE = ("model", "viz", "workshop", "tests", "assets")
DOCUMENTS = (
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "app.py",
    "headlight.py",
)
# Phrases that are correct now and then but read as translated if they are frequent.
ODD = re.compile(
    r"\b(?:whoever|nobody|somebody|anybody|those who|he who"
    r"|who (?:asks|changes|types|listens|sends|reads|writes|leaves|opens|counts|waits|looks|gets|is)"
    r"|(?:is|are|be|was) told|tells? (?:of|how|what|whether|where|which)"
    r"|says? (?:what|how|which|whether|so|nothing|of|where|no)"
    r"|(?:comes?|becomes?) of|what (?:stands|is|was|they|it|a|the|each|every)"
    r"|so many|so long|where (?:there|nobody|none|that|it|they|one|nothing|no|a|the)"
    r"|brings? home|at home|on (?:its|their|the) way|door|lies? (?:in|there|as)|comes? along|lent"
    r"|(?:is|are|was|has) (?:no|none)|alike|by (?:itself|themselves)|of (?:its|their) own|anew|otherwise|beside)\b",
    re.IGNORECASE,
)
MAX_PER_100_WORDS = 0.5
STRICT = {"model/core", "model/decoding", "README.md", "CONTRIBUTING.md", "docs/architecture.md"}
MAX_PER_100_WORDS_STRICT = 0.3
MIN_WORDS = 200  # too few words for a meaningful rate
# A function is a verb, a value a noun. What something returns is its name, without "of".
PARTICIPLES = {
    "found", "given", "told", "kept", "said", "asked", "drawn", "shown", "made", "held", "written", "begun",
    "ended", "wanted",
}  # fmt: skip


def python_prose(text: str) -> Iterator[str]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.string[1:]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from (ast.get_docstring(node) or "").splitlines()


def javascript_prose(text: str) -> Iterator[str]:
    for line in text.splitlines():
        comment = re.match(r"\s*(?://|/\*\*?|\*)\s?(.*?)(?:\*/)?\s*$", line) or re.search(r"[;,{] // (.*)$", line)
        if comment:
            yield comment[1]


def markdown_prose(text: str) -> Iterator[str]:
    without_code = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    yield from (line for line in without_code.splitlines() if not line.startswith("|"))


READERS = {".py": python_prose, ".js": javascript_prose, ".md": markdown_prose}


def find_room(path: Path) -> str:
    """A folder of code, or a document."""
    relative = path.relative_to(ROOT)
    return relative.as_posix() if path.suffix == ".md" or len(relative.parts) == 1 else relative.parent.as_posix()


def rooms() -> dict[str, list[Path]]:
    """The files of each room."""
    files = defaultdict(list)
    paths = [path for top in CODE for path in sorted((ROOT / top).rglob("*")) if path.suffix in (".py", ".js")]
    for path in [*paths, *sorted((ROOT / "docs").glob("*.md")), *(ROOT / name for name in DOCUMENTS)]:
        files[find_room(path)].append(path)
    return files


ROOMS = rooms()


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_prose_is_plain_english(room: str) -> None:
    prose = [line for path in ROOMS[room] for line in READERS[path.suffix](path.read_text(encoding="utf-8"))]
    words = sum(len(line.split()) for line in prose)
    odd = [line.strip() for line in prose if ODD.search(line)]
    hits = sum(len(ODD.findall(line)) for line in odd)
    most = MAX_PER_100_WORDS_STRICT if room in STRICT else MAX_PER_100_WORDS
    assert words < MIN_WORDS or 100 * hits / words <= most, "\n".join(odd)


def test_patterns_match_examples() -> None:
    lines = ["Nobody is told what the model says of it.", "# comes home anew, beside the others"]
    assert [len(ODD.findall(line)) for line in lines] == [4, 2]
    assert not ODD.search("The cache evicts the least recently used model.")


def python_names(text: str) -> Iterator[str]:
    """Functions, arguments and variables."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def javascript_names(text: str) -> Iterator[str]:
    """Functions, variables, methods and fields; of arguments, those that are a callback."""
    yield from re.findall(r"\b(?:function|const|let) (\w+)", text)
    yield from re.findall(r"^ +(?:async )?(\w+)\([^()]*\) \{$", text, re.MULTILINE)
    yield from re.findall(r"\bthis\.(\w+) = ", text)


NAMES = {".py": python_names, ".js": javascript_names}
CLAIMS = ROOT / "tests" / "viz" / "lessons"  # `asked: Asked` is the argument of a claim
# Names that documents or callers use.
PUBLISHED = {
    "model/decoding/search.py: ended",
    "model/records.py: ended",
    "model/training/corpora.py: kept",
    "tests/browser/conftest.py: drawn",
    "tests/javascript/walkthrough.js: said",
    "tests/model/decoding/test_search.py: ended",
    "tests/test_packages.py: wanted",
    "viz/lessons/lesson_session.py: written",
    "viz/notebook/display.py: given",
    "viz/notebook/plot.py: given",
    "viz/request_fields.py: written",
}


def test_names_are_verbs_or_nouns() -> None:
    odd = Counter(
        f"{path.relative_to(ROOT)}: {name}"
        for top in CODE
        for path in sorted((ROOT / top).rglob("*"))
        if path.suffix in NAMES
        for name in NAMES[path.suffix](path.read_text(encoding="utf-8"))
        if name.strip("_") in PARTICIPLES or re.search(r"_of$|[a-z]Of$", name)
        if not (name == "asked" and CLAIMS in path.parents)
    )
    assert not odd.keys() - PUBLISHED, "\n".join(sorted(odd.keys() - PUBLISHED))
