"""`headlight importance TEXT`: what the translation loses in log probability without each head, layer and kind."""

from __future__ import annotations

import argparse
import time

from headlight.model.commands.common import add_decoding, add_model, decoding_options, load
from headlight.model.errors import CommandError
from headlight.model.experiments.importance import Part, all_losses, interactions, parts_of
from headlight.model.records import KINDS


def add(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("text", metavar="TEXT", help="the sentence to translate")
    parser.add_argument("--target", metavar="TEXT", help="measure this translation instead of the model's own")
    parser.add_argument("--top", type=int, default=20, metavar="N", help="print the N costliest (20; 0: all)")
    parser.add_argument(
        "--with",
        dest="together",
        metavar="KIND.LAYER.HEAD",
        help="print how each head interacts with this one, e.g. cross.0.3: the loss of both minus the losses of each",
    )
    add_model(parser)
    add_decoding(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the losses, the largest first, and how long they took."""
    translator = load(arguments)
    given = {} if arguments.target is None else {"target": arguments.target}
    answer = translator.translate(arguments.text, **given, **decoding_options(arguments))
    parts = parts_of(translator.model.config)
    print(answer.text)
    started = time.perf_counter()
    if arguments.together is None:
        found = all_losses(translator, answer, [(part,) for part in parts])
        print("log probability lost (nats)")
    else:
        parts = [part for part in parts if part.head is not None]
        found = interactions(translator, answer, _part(arguments.together), parts)
        print(f"lost without both, minus what is lost without each: {arguments.together} and (nats)")
    seconds = time.perf_counter() - started
    order = sorted(range(len(parts)), key=lambda place: -abs(found[place]))
    for place in order[: arguments.top or None]:
        print(f"{found[place]:+9.3f}  {_name(parts[place])}")
    print(f"{len(parts)} measured in {seconds:.2f} s.")
    return 0


def _name(part: Part) -> str:
    return ".".join(str(place) for place in (part.kind, part.layer, part.head) if place is not None)


def _part(text: str) -> Part:
    kind, *places = text.split(".")
    known = next((known for known in KINDS if known == kind), None)
    if known is None or len(places) != 2 or not all(place.isdecimal() for place in places):
        raise CommandError(f"--with {text!r} names no head: write kind, layer and head, counted from 0, as cross.0.3.")
    return Part(known, int(places[0]), int(places[1]))
