"""Writes the types of messages and calls for JavaScript: `python -m workshop.message_types`.

`make check` checks the widgets against these TypeScript declarations, which describe the types of
`viz/service/messages.py` and the page's calls.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
import types
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

from headlight.model.files import write_file
from headlight.viz.page import build_page
from headlight.viz.server.calls import CallTable
from headlight.viz.service import messages
from headlight.viz.settings import Settings

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "tests" / "javascript" / "messages.d.ts"
PLAIN_TYPES = {
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    type(None): "null",
    Any: "any",
    object: "any",
}
MAX_WIDTH = 140  # characters per line, as in `biome.settings.json`
HEADER = """// Made by `python -m workshop.message_types` from `viz/service/messages.py` and the calls of the page.

declare module 'messages' {
"""
CALL_TYPES = """  export type Reply<Result> = Promise<Result | WaitingMessage | ErrorMessage>;

  /** A function of the server. A reply that is a place in the queue names the ticket of the next call. */
  export type Call<Result> = (values: object, ticket?: string, options?: RequestInit) => Reply<Result>;
"""
STREAM_METHOD = """    /** Passes each message to `hear` until the response ends. */
    stream<Name extends keyof Streams>(
      name: Name,
      values: object,
      hear: (message: Streams[Name]) => void,
      signal?: AbortSignal,
    ): Promise<void>;
"""


class Declarations:
    """TypeScript declarations of Python types, including the types that they refer to.

    `aliases` are the unions, literals and tuples to declare by name.
    """

    def __init__(self, aliases: Mapping[str, Any]) -> None:
        self.names = {alias: name for name, alias in aliases.items()}
        self.texts: dict[str, str] = {}
        for name, alias in aliases.items():
            text = self._written_out(alias)
            line = f"  export type {name} = {text};\n"
            rows = "".join(f"\n    | {member}" for member in text.split(" | "))
            self.texts[name] = line if len(line) <= MAX_WIDTH else f"  export type {name} ={rows};\n"

    def type_text(self, hint: Any) -> str:
        """Return a type in TypeScript."""
        return self.names[hint] if hint in self.names else self._written_out(hint)

    def _written_out(self, hint: Any) -> str:
        if hint in PLAIN_TYPES:
            return PLAIN_TYPES[hint]
        origin, arguments = get_origin(hint), get_args(hint)
        if origin is Annotated:  # the JSON of the dataclass in the metadata
            return self.type_text(hint.__metadata__[0])
        if origin in (Union, types.UnionType):
            return " | ".join(map(self.type_text, arguments))
        if origin is Literal:
            return " | ".join(f"'{value}'" if isinstance(value, str) else str(value).lower() for value in arguments)
        if origin in (list, Sequence) or (origin is tuple and arguments[-1] is ...):
            inner = self.type_text(arguments[0])
            return f"({inner})[]" if " | " in inner else f"{inner}[]"
        if origin is tuple:
            return f"[{', '.join(map(self.type_text, arguments))}]"
        if origin in (dict, Mapping):
            return f"Record<{', '.join(map(self.type_text, arguments))}>"
        if is_typeddict(hint) or dataclasses.is_dataclass(hint):
            return self._add_interface(hint)
        if isinstance(hint, type) and issubclass(hint, tuple):  # JSON encodes a named tuple as a list
            return f"[{', '.join(map(self.type_text, get_type_hints(hint).values()))}]"
        raise TypeError(f"{hint} has no TypeScript type: add one to {__file__}.")

    def _add_interface(self, kind: Any) -> str:
        name: str = kind.__name__
        if name not in self.texts:
            self.texts[name] = ""  # marks it as declared, because types may be recursive
            rows = []
            for key, hint in get_type_hints(kind, include_extras=True).items():
                optional = get_origin(hint) is NotRequired or key in getattr(kind, "__optional_keys__", ())
                inner = get_args(hint)[0] if get_origin(hint) is NotRequired else hint
                rows.append(f"    {key}{'?' if optional else ''}: {self.type_text(inner)};\n")
            description = (inspect.getdoc(kind) or "").partition("\n")[0]
            self.texts[name] = f"  /** {description} */\n  export interface {name} {{\n{''.join(rows)}  }}\n"
        return name


def write_declarations(table: CallTable) -> str:
    """Return the text of the declaration file."""
    result = Declarations(_list_aliases())
    for kind in vars(messages).values():
        if is_typeddict(kind):
            result.type_text(kind)
    streams = [f"    {name}: {result.type_text(messages.STREAMS[name])};\n" for name in sorted(table.streams)]
    calls = [f"    {name}: Call<{result.type_text(_find_result_type(table, name))}>;\n" for name in sorted(table.calls)]
    parts = [result.texts[name] for name in sorted(result.texts)]
    parts += [CALL_TYPES, f"  /** Messages of each stream. */\n  export interface Streams {{\n{''.join(streams)}  }}\n"]
    parts.append(f"  /** What a widget calls. */\n  export interface Server {{\n{STREAM_METHOD}{''.join(calls)}  }}\n")
    return HEADER + "\n".join(parts) + "}\n"


def _list_aliases() -> dict[str, Any]:
    """Return the named unions, literals and tuples of `messages.py`."""
    origins = (Union, types.UnionType, Literal, tuple)
    return {name: alias for name, alias in vars(messages).items() if get_origin(alias) in origins}


def _find_result_type(table: CallTable, name: str) -> Any:
    """Return the result type of a call, or `Any` if the type is not defined in `messages.py`."""
    function = table.calls[name].function
    hint = get_type_hints(inspect.unwrap(function), include_extras=True).get("return", Any)
    message_types = [
        message_type for message_type in _find_typed_dictionaries(hint) if message_type.__module__ == messages.__name__
    ]
    return hint if message_types else Any


def _find_typed_dictionaries(hint: Any) -> Iterator[Any]:
    """Yield all typed dictionaries that a type contains."""
    if is_typeddict(hint):
        yield hint
    for inner_type in (*get_args(hint), *getattr(hint, "__metadata__", ())):
        yield from _find_typed_dictionaries(inner_type)


def main(arguments: Sequence[str]) -> None:
    """Write the declaration file, or print it with `--print`."""
    text = write_declarations(build_page(Settings()).calls)
    if "--print" in arguments:
        sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
        sys.stdout.write(text)
    else:
        write_file(FILE, text)


if __name__ == "__main__":
    main(sys.argv[1:])
