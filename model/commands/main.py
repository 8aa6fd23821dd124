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
    "inspect": "write all attention maps of one sentence to a file",
    "tokenizer": "learn a sub-word vocabulary from text files",
    "data": "list or download public corpora for training",
    "train": "train a model by a recipe, or resume a training run",
    "export": "write a training run's weights as a model folder",
    "import": "convert a model folder, or a model from the Hub",
    "evaluate": "evaluate a model on a test file: BLEU, chrF and speed, or accuracy",
    "reliability": "fit and measure how reliable a model's answers are",
    "importance": "measure the rise of the loss when a head, a layer or a type of attention is ablated",
    "effects": "measure the effect of each head's ablation on an output word's logit",
    "scan": "find unusual attention patterns in a translation, and test them by intervention",
    "patch": "find the hidden states or heads that restore a word in another sentence (activation patching)",
    "faithfulness": "measure how faithful each attribution method is for a model",
    "heads": "measure how well each cross-attention head aligns words",
    "atlas": "measure what each head contributes over many sentences, and which words it reads",
    "steadiness": "measure what each head does over many sentences, and how consistently",
    "measured": "rerun reports whose weights have changed",
    "align": "write word alignments of the sentence pairs in a file, from one attention head",
}


def main(arguments: Sequence[str] | None = None, *, extra_commands: Mapping[str, tuple[str, str]] | None = None) -> int:
    """Run one command, and return its exit status. A `ModelError` prints one line, without a traceback.

    `extra_commands` maps names of further commands to (purpose, module).
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
    extra_modules = {name: module for name, (_, module) in (extra_commands or {}).items()}
    extra_purposes = {name: purpose for name, (purpose, _) in (extra_commands or {}).items()}
    for name, purpose in (extra_purposes | COMMANDS).items():
        command = commands.add_parser(name, help=purpose, description=purpose[0].upper() + purpose[1:] + ".")
        if name in argv[:1]:
            module_name = "importing" if name == "import" else name  # a module cannot be called `import`
            try:
                with exit_on_interrupt(), require_packages("the command"):
                    module = importlib.import_module(extra_modules.get(name, f"headlight.model.commands.{module_name}"))
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
