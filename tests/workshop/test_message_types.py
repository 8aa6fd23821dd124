"""TypeScript declarations of messages and calls match the Python types."""

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


@pytest.mark.slow  # `make check` regenerates the declarations
def test_declarations_are_current() -> None:
    # In another process, because building a page without serving it leaves an event loop open.
    command = [sys.executable, "-m", "workshop.message_types", "--print"]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=True)
    assert FILE.read_text(encoding="utf-8") == process.stdout, "Run python -m workshop.message_types."


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
def test_python_types_become_typescript_types(hint: Any, text: str) -> None:
    assert Declarations({}).type_text(hint) == text


def test_typed_dict_becomes_interface_with_its_dependencies() -> None:
    declarations = Declarations({})
    assert declarations.type_text(Outer) == "Outer"
    assert declarations.texts["Outer"] == (
        "  /** The first line. */\n  export interface Outer {\n    what: 'outer';\n"
        "    inner: (Inner | null)[];\n    maybe?: boolean;\n  }\n"
    )
    assert declarations.texts["Inner"].endswith("{\n    number: number;\n  }\n")


def test_type_without_typescript_type_raises() -> None:
    with pytest.raises(TypeError, match="has no TypeScript type"):
        Declarations({}).type_text(set[int])
