"""The command line: `headlight COMMAND`, or `python -m headlight COMMAND` in a checkout.

A command is a module in `model/commands/` with the functions `add(parser)` and `run(arguments)`. It is imported only
when it runs.
"""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress

from headlight import __version__, exit_on_interrupt
from headlight.model.errors import MissingPackageError, ModelError, require_packages

COMMANDS = {
    "translate": "translate a sentence, or every line of standard input",
    "inspect": "write every attention map of one sentence to a file",
    "tokenizer": "learn a sub-word vocabulary from text files",
    "data": "list or fetch public texts to train on",
    "train": "train a model by a recipe, or resume a training run",
    "export": "write a training run's weights as a model folder",
    "import": "convert a model folder, or a model of the Hub",
    "evaluate": "measure a model folder on a test file: BLEU, chrF, speed; or accuracy",
    "reliability": "fit and measure how reliable a model's answers are",
    "importance": "measure what a translation loses without each head, layer and kind of attention",
    "effects": "measure how much each head supported a written word",
    "scan": "find what stands out in a translation, and test it",
    "patch": "find which state or head of a sentence brings its word back in another",
    "faithfulness": "measure how faithful each attribution method is for a model",
    "heads": "measure how well each cross-attention head aligns words",
    "atlas": "measure what each head contributes over many sentences, and which words it reads",
    "steadiness": "measure what each head does over many sentences, and how consistently",
    "measured": "repeat the measurements that were made with other weights",
    "align": "write the word links of the sentence pairs of a file, by one head",
}


def main(arguments: Sequence[str] | None = None, *, more: Mapping[str, tuple[str, str]] | None = None) -> int:
    """Run one command, and return its exit status. A `ModelError` prints one line, without a traceback.

    `more` has additional commands: name → (purpose, module).
    """
    argv = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # the default encoding of pipes on Windows cannot encode "ł" and "的"
            stream.reconfigure(encoding="utf-8")
    parser = argparse.ArgumentParser(
        prog="headlight", description="Translate, look at attention, make models, start the page."
    )
    parser.add_argument("--version", action="version", version=f"headlight {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    extra_commands = more or {}
    for name, purpose in ({name: purpose for name, (purpose, _) in extra_commands.items()} | COMMANDS).items():
        command = commands.add_parser(name, help=purpose, description=purpose[0].upper() + purpose[1:] + ".")
        if name in argv[:1]:
            file = "importing" if name == "import" else name  # a module cannot be called `import`
            try:
                with exit_on_interrupt(), require_packages("the command"):
                    module = importlib.import_module(
                        extra_commands[name][1] if name in extra_commands else f"headlight.model.commands.{file}"
                    )
            except MissingPackageError as error:
                print(f"{parser.prog} {name}: {error}", file=sys.stderr)
                return 2
            module.add(command)
            command.set_defaults(run_command=module.run)
    parsed, unknown = parser.parse_known_args(argv)
    if unknown:  # the parser of the command prints its usage, too
        commands.choices[parsed.command].error(f"unrecognized arguments: {' '.join(unknown)}")
    try:
        with require_packages("the command"):
            return int(parsed.run_command(parsed) or 0)
    except ModelError as error:
        print(f"{parser.prog} {parsed.command}: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader closed standard output, as `head` does
        _drop_output()
        return 1
    except OSError as error:
        prefix = f"{error.filename}: " if error.filename else ""
        print(f"{parser.prog} {parsed.command}: {prefix}{error.strerror or error}.", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"{parser.prog} {parsed.command}: stopped.", file=sys.stderr)
        return 130


def _drop_output() -> None:
    """Redirect standard output, because Python flushes it at exit and would report the broken pipe."""
    with suppress(OSError, ValueError):  # standard output has no file descriptor
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
