"""Conversion of the Markdown of a model card to plain nodes that the browser renders.

HTML in a card stays text, images become their alternative text, and only http and https links are kept.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

Block = dict[str, Any]  # {"tag": "p", "inside": [nodes]}; a node is a block or a string

TAGS = {
    "heading": "h4",  # below the page's own headings
    "paragraph": "p",
    "bullet_list": "ul",
    "ordered_list": "ol",
    "list_item": "li",
    "table": "table",
    "thead": "thead",
    "tbody": "tbody",
    "tr": "tr",
    "th": "th",
    "td": "td",
    "strong": "strong",
    "em": "em",
    "blockquote": "blockquote",
    "hr": "hr",
}
MAX_DEPTH = 20  # nesting levels; deeper nodes are dropped
FRONT_MATTER = re.compile(r"\A---\r?\n.*?\r?\n---\r?\n", flags=re.DOTALL)
HEADING = re.compile(r"^(#{1,2}) +(.+?)\s*#*\s*$")
FENCE = re.compile(r"^ {0,3}(```|~~~)")
LICENCE = re.compile(r"\bLicen[cs]e[^:\n]{0,40}: *(.+?)(?:\. |\.?$)", flags=re.MULTILINE)
QUOTED_PAIR = re.compile(r'"([^"]+)" → "([^"]+)"')
WEB_ADDRESS = re.compile(r"https?://", flags=re.IGNORECASE)


@dataclass(frozen=True)
class Section:
    """The text below one heading."""

    title: str  # empty above the first heading
    source: str
    blocks: list[Block]


def sections(text: str) -> list[Section]:
    """Split a card at its second-level headings. The first section is the text above them, without the title."""
    results: list[tuple[str, list[str]]] = [("", [])]
    is_in_fence = False
    for line in FRONT_MATTER.sub("", text).splitlines():
        is_in_fence ^= bool(FENCE.match(line))
        heading = None if is_in_fence else HEADING.match(line)
        if heading and heading[1] == "##":
            results.append((heading[2], []))
        elif not (heading and len(results) == 1):
            results[-1][1].append(line)
    return [Section(title, "\n".join(lines), blocks("\n".join(lines))) for title, lines in results]


def blocks(source: str) -> list[Block]:
    """Convert Markdown to nodes."""
    root = SyntaxTreeNode(_parser().parse(source))
    return [node for child in root.children for node in _nodes(child, 0) if isinstance(node, dict)]


def find_licence(source: str) -> str:
    """Return the licence of the weights in the card's text, or ""."""
    match = LICENCE.search(" ".join(source.split()))
    return match[1].strip() if match else ""


def find_training_curve(blocks: list[Block]) -> dict[str, Any] | None:
    """Return the first table whose first column is `step`, as series of numbers, or `None`."""
    for table in (block for block in blocks if block["tag"] == "table"):
        rows = [[_text(cell) for cell in row["inside"]] for part in table["inside"] for row in part["inside"]]
        names, *lines = rows
        numbers = [[_number(cell) for cell in line] for line in lines]
        if names[0] != "step" or len(lines) < 2 or any(None in line for line in numbers):
            continue
        steps, *values = zip(*numbers, strict=True)
        return {
            "steps": steps,
            "series": [{"name": name, "values": column} for name, column in zip(names[1:], values, strict=True)],
        }
    return None


def find_test_scores(blocks: list[Block]) -> dict[str, Any] | None:
    """Return the measure and the scores and goals of the first table whose first column is `test`, or `None`."""
    for table in (block for block in blocks if block["tag"] == "table"):
        names, *lines = [[_text(cell) for cell in row["inside"]] for part in table["inside"] for row in part["inside"]]
        if names[0] != "test" or len(names) < 2:
            continue
        goal_column = names.index("goal") if "goal" in names else None
        tests = [
            {"test": line[0], "score": score, "goal": _number(line[goal_column]) if goal_column is not None else None}
            for line in lines
            if (score := _number(line[1])) is not None
        ]
        return {"measure": names[1], "tests": tests} if tests else None
    return None


def find_failure(blocks: list[Block]) -> dict[str, str] | None:
    """Return the shortest pair `"text" → "answer"` of the lists, or `None`."""
    lists = (_text(block) for block in blocks if block["tag"] == "ul")
    pairs = [pair for text in lists for pair in QUOTED_PAIR.findall(text)]
    if not pairs:
        return None
    text, answer = min(pairs, key=lambda pair: len("".join(pair)))
    return {"text": text, "answer": answer}


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable("table")


def _nodes(node: SyntaxTreeNode, depth: int) -> list[Block | str]:
    """Convert a parser node to nodes of the page. Unknown nodes are replaced by their children."""
    inside: list[Block | str] = []
    if depth < MAX_DEPTH:
        inside = [converted for child in node.children for converted in _nodes(child, depth + 1)]
    if node.type in ("text", "softbreak", "hardbreak"):
        return [" " if node.type == "softbreak" else "\n" if node.type == "hardbreak" else node.content]
    if node.type in ("code_inline", "code_block", "fence"):
        return [{"tag": "code" if node.type == "code_inline" else "pre", "inside": [node.content.rstrip("\n")]}]
    if node.type == "link" and WEB_ADDRESS.match(str(node.attrs.get("href", ""))):
        return [{"tag": "a", "inside": inside, "href": str(node.attrs["href"])}]
    if node.type not in TAGS:
        return inside or ([node.content] if node.type in ("html_block", "html_inline") else [])
    block: Block = {"tag": TAGS[node.type], "inside": inside}
    if "right" in str(node.attrs.get("style", "")):
        block["end"] = True
    return [block]


def _text(node: Block | str) -> str:
    return node if isinstance(node, str) else "".join(map(_text, node["inside"]))


def _number(text: str) -> float | None:
    try:
        number = float(text.replace(",", "").removesuffix("%"))
    except ValueError:
        return None
    return number if math.isfinite(number) else None  # JSON has no infinity or NaN
