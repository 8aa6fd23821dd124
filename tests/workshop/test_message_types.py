"""JavaScript's types of messages are those of Python, and name the page's calls."""

from __future__ import annotations

import subprocess
import sys
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, TypedDict

import pytest

from workshop.message_types import FILE, ROOT, Declarations


class Place(NamedTuple):
    row: int
    column: int


class Inner(TypedDict):
    number: float


class Outer(TypedDict):
    """The first line.

    The rest."""

    what: Literal["outer"]
    inner: list[Inner | None]
    maybe: NotRequired[bool]


@pytest.mark.slow  # `make check` writes them again
def test_the_declarations_are_those_of_today() -> None:
    # Another process, because a page that is built and never served leaves an event loop open.
    command = [sys.executable, "-m", "workshop.message_types", "--print"]
    made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=True)
    assert FILE.read_text(encoding="utf-8") == made.stdout, "Run python -m workshop.message_types."


@pytest.mark.parametrize(
    ("hint", "text"),
    [
        (int | None, "number | null"),
        (dict[str, list[int]], "Record<string, number[]>"),
        (list[str | None], "(string | null)[]"),
        (tuple[str, int], "[string, number]"),
        (tuple[int, ...], "number[]"),
        (Literal["a", "b"], "'a' | 'b'"),
        (Literal[2, True], "2 | true"),
        (Place, "[number, number]"),
        (Annotated[dict[str, Any], Inner], "Inner"),
    ],
)
def test_a_type_is_written_as_typescript_does(hint: Any, text: str) -> None:
    assert Declarations({}).type_text(hint) == text


def test_a_typed_dictionary_is_an_interface_with_those_that_it_names() -> None:
    made = Declarations({})
    assert made.type_text(Outer) == "Outer"
    assert made.texts["Outer"] == (
        "  /** The first line. */\n  export interface Outer {\n    what: 'outer';\n"
        "    inner: (Inner | null)[];\n    maybe?: boolean;\n  }\n"
    )
    assert made.texts["Inner"].endswith("{\n    number: number;\n  }\n")


def test_a_type_without_a_counterpart_is_an_error() -> None:
    with pytest.raises(TypeError, match="has no counterpart"):
        Declarations({}).type_text(set[int])
