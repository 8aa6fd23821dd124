"""Phrase tables: equal keys in all languages, and every used phrase exists."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

from headlight.model.core.config import POSITION_NAMES
from headlight.model.measures.statistics import STATISTICS
from headlight.viz.figure_phrases import LANGUAGES, PHRASES_FOLDER, figure_words, phrase, phrases
from headlight.viz.figures import FIGURES
from headlight.viz.lessons import LESSONS
from headlight.viz.service.examples import EXAMPLES
from headlight.viz.tabs import TABS

VIZ = Path(__file__).resolve().parents[2] / "viz"
WIDGETS = VIZ / "widgets"
VISIBLE = re.compile(r"[A-Za-z一-鿿]{2,}")
CALL = re.compile(r"""\bt\(\s*(['"`])(?P<key>[^'"`]+)\1""")
CHOICE = re.compile(r"""\bt\((?P<inside>[^()`]*\?[^()`]*)\)""")
PLACES = re.compile(r"\{(\w+)\}")


def asked_for() -> set[str]:
    """The keys and prefixes of keys in our modules."""
    keys = set()
    for path in WIDGETS.rglob("*.js"):
        source = path.read_text(encoding="utf-8")
        keys |= {match["key"] for match in CALL.finditer(source)}
        for match in CHOICE.finditer(source):
            keys |= set(re.findall(r"[?:]\s*'(\w+)'", match["inside"]))
    return keys


def test_phrase_tables_have_same_keys() -> None:
    english, chinese = phrases("en"), phrases("zh")
    assert set(english) == set(chinese)
    for key, text in english.items():
        assert text.strip(), key
        assert chinese[key].strip(), key
        assert set(PLACES.findall(text)) == set(PLACES.findall(chinese[key])), key


def test_every_used_phrase_exists() -> None:
    known = set(phrases("en"))
    for key in asked_for():
        beginning = key.split("${")[0]
        if "${" in key:
            assert any(each.startswith(beginning) for each in known), key
        else:
            assert key in known, key


def test_modules_contain_no_user_visible_text() -> None:
    """Text reaches the page by `make(…, 'text')` or `textContent = 'text'`: so no phrase may be a literal."""
    assigned = r"(?:textContent|placeholder|title|ariaLabel) = (['\"`])(?P<text>[^'\"`]*)\1"
    literal = re.compile(assigned + r"|make\('\w+', \{[^{}]*\}, '(?P<child>[^']*)'")
    literals_in_calls = []
    for path in sorted(WIDGETS.rglob("*.js")):
        for match in literal.finditer(path.read_text(encoding="utf-8")):
            text = match["text"] or match["child"] or ""
            if VISIBLE.search(text.replace("Headlight", "")) and "${" not in text:
                literals_in_calls.append(f"{path.name}: {text}")
    assert not literals_in_calls


@cache
def literals(path: Path) -> frozenset[str]:
    """The string literals of a source file; templates as regular expressions."""
    return frozenset(parse_literals(path))


def parse_literals(path: Path) -> Iterator[str]:
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".js":
        yield from (re.escape(match["text"]) for match in re.finditer(r"(['\"])(?P<text>\w+)\1", source))
        for match in re.finditer(r"`(?P<text>(?:\w|\$\{[^{}`]*\})+)`", source):
            yield re.sub(r"\$\{[^{}]*\}", r"\\w+", match["text"])
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield re.escape(node.value)
        elif isinstance(node, ast.JoinedStr):
            parts = [re.escape(str(each.value)) if isinstance(each, ast.Constant) else r"\w+" for each in node.values]
            yield "".join(parts)


def unused(keys: Iterable[str], sources: Iterable[Path], prefix: str = "", *, templates: bool = True) -> list[str]:
    """Keys that occur in no source file, neither literally nor by a specific template."""
    texts = {text for path in sources for text in literals(path)}
    texts = {text for text in texts if r"\w+" not in text or (templates and len(text.replace(r"\w+", "")) > 2)}
    whole = re.compile("|".join(sorted(texts)))
    return sorted(key for key in keys if not whole.fullmatch(key.removeprefix(prefix)))


def modules() -> list[Path]:
    return [*WIDGETS.rglob("*.js"), *VIZ.rglob("*.py"), *(VIZ.parent / "model").rglob("*.py")]


def test_page_phrases_are_used() -> None:
    of_tools = ("scale_", "palette_")  # `${field}_${value}` of the panel's two selects
    keys = [key for key in phrases() if not key.startswith(("figure_", "error_", *of_tools))]
    assert unused(keys, modules()) == []
    assert unused(["translate", "translate_nothing"], modules()) == ["translate_nothing"]


def test_lesson_phrases_belong_to_lessons() -> None:
    lessons = tuple(f"lesson_{lesson.name}_" for lesson in LESSONS)
    keys = [key for key in phrases() if key.startswith("lesson_") and not key.startswith(lessons)]
    texts = {text for path in modules() for text in literals(path)}
    # "lesson_${lesson}_…" would match any such key.
    named = re.compile("|".join(sorted(text for text in texts if not text.startswith(r"lesson_\w+_"))))
    assert keys
    assert [key for key in keys if not named.fullmatch(key)] == []


def test_error_phrases_are_used() -> None:
    raised = [path for path in modules() if path.suffix == ".py"] + sorted((VIZ / "widgets" / "engine").glob("*.js"))
    keys = [key for key in phrases() if key.startswith("error_") and not key.startswith("error_hub_")]
    assert (
        unused(set(keys) - {"error_unreachable"}, raised, "error_", templates=False) == []
    )  # shown if no server responds
    assert unused(["error_nothing_at_all"], raised, "error_", templates=False) == ["error_nothing_at_all"]
    hub = [key for key in phrases() if key.startswith("error_hub_")]
    assert unused(hub, (VIZ.parent / "model" / "families" / "hub").rglob("*.py"), "error_hub_") == []


@pytest.mark.parametrize("figure", ["any", *FIGURES])
def test_figure_phrases_are_used_and_complete(figure: str) -> None:
    own = [VIZ / "figures" / f"{figure}.py"]
    shared = [path for path in (VIZ / "figures").glob("*.py") if path.stem not in FIGURES]
    sources = [*own, *shared]
    if figure == "any":
        # Names of kinds are keys, too.
        sources = [
            *(VIZ / "figures").glob("*.py"),
            *(VIZ.parent / "model" / name for name in ("intervention_records.py", "records.py")),
        ]
    keys = [key for key in phrases() if key.startswith(f"figure_{figure}_")]
    assert unused(keys, sources, f"figure_{figure}_") == []
    if figure != "any":
        named = re.findall(r'said\["(\w+)"\]', own[0].read_text(encoding="utf-8"))
        assert set(named) <= set(figure_words(figure))


def test_every_tab_and_example_has_a_name() -> None:
    for name in TABS:
        assert f"tab_{name}" in phrases("en")
    for example in EXAMPLES:
        assert f"example_{example.name}" in phrases("en")


def test_every_positional_encoding_has_phrases() -> None:
    forms = ("name", "short", "says", "where")
    expected = {f"positions_{form}_{name}" for name in POSITION_NAMES for form in forms}
    assert expected - set(phrases("en")) == {"positions_where_sinusoidal_halves"}  # that of `sinusoidal` is shown


def test_every_measure_has_phrases_and_unit() -> None:
    for name, statistic in STATISTICS.items():
        assert {f"measure_{name}", f"measure_{name}_says"} <= set(phrases("en"))
        assert statistic.unit == "share" or f"unit_{statistic.unit}" in phrases("en")  # a share has no unit


def test_values_are_filled_in() -> None:
    assert phrase("one_head", "zh", layer=3, head=5) == "第 3 层 · 第 5 头"


def test_tables_are_tidy_json() -> None:
    for language in LANGUAGES:
        text = (PHRASES_FOLDER / f"{language}.json").read_text(encoding="utf-8")
        assert text == json.dumps(json.loads(text), ensure_ascii=False, indent=1) + "\n"
