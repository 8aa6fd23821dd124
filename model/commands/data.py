"""`python -m headlight data …`: public sets, lines worth translating back, sentences and reviews made by rule."""

from __future__ import annotations

import argparse
from pathlib import Path

from headlight.model.training.datasets import SETS
from headlight.model.training.download import find_set, get_set
from headlight.model.training.templates.make import PAIRS, write_templates
from headlight.model.training.templates.reviews import letters_of_reviews, write_reviews
from headlight.model.training.unseen import letters_of_lines, unseen_lines


def add(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    actions = parser.add_subparsers(dest="action", required=True)
    get = actions.add_parser("get", help="fetch a public set")
    get.add_argument("name", help=", ".join(SETS))
    get.add_argument("--data", type=Path, default=Path("data"), help="the folder to put it in (data)")
    actions.add_parser("list", help="the public sets, their licence and size")
    unseen = actions.add_parser("unseen", help="lines that other files lack, to be translated back")
    unseen.add_argument("files", nargs="+", type=Path, metavar="FILE", help="where the lines are")
    unseen.add_argument("--known", nargs="+", type=Path, metavar="FILE", default=[], help="what must not have them")
    unseen.add_argument("--shortest", type=int, default=2, metavar="N", help="words of a line at least (2)")
    unseen.add_argument("--longest", type=int, default=80, metavar="N", help="words of a line at most (80)")
    templates = actions.add_parser("templates", help="sentences made by rule: numbers, times, dates, prices, names")
    templates.add_argument(
        "--data", type=Path, default=Path("data"), help="they go to templates/ in this folder (data)"
    )
    templates.add_argument(
        "--pairs", nargs="+", metavar="PAIR", default=["-".join(pair) for pair in PAIRS], help="de-en … (all)"
    )
    templates.add_argument(
        "--count", type=int, default=60_000, metavar="N", help="of each pair, tests included (60000)"
    )
    reviews = actions.add_parser("reviews", help="short film reviews made by rule: denied, contrasted, intensified")
    reviews.add_argument(
        "--data", type=Path, default=Path("data"), help="they go to templates/reviews/ in this folder (data)"
    )
    reviews.add_argument("--count", type=int, default=40_000, metavar="N", help="tests included (40000)")
    for made in (templates, reviews):
        made.add_argument(
            "--apart", nargs="+", type=Path, metavar="FILE", default=[], help="test files: no line of theirs is written"
        )
        made.add_argument("--seed", type=int, default=1, help="(1)")


def run(arguments: argparse.Namespace) -> int:
    """Fetch a public set, list them, print lines that other files lack, or write texts made by rule."""
    if arguments.action == "templates":
        pairs = tuple((name.partition("-")[0], name.partition("-")[2]) for name in arguments.pairs)
        folder, apart = arguments.data / "templates", letters_of_lines(arguments.apart)
        for line in write_templates(folder, pairs, arguments.count, arguments.seed, apart):
            print(line)
        return 0
    if arguments.action == "reviews":
        apart = letters_of_reviews(arguments.apart)
        print(write_reviews(arguments.data / "templates" / "reviews", arguments.count, arguments.seed, apart))
        return 0
    if arguments.action == "unseen":
        for line in unseen_lines(arguments.files, arguments.known, arguments.shortest, arguments.longest):
            print(line)
        return 0
    if arguments.action == "list":
        for each in SETS.values():
            print(f"{each.name}: {each.about}; {each.size}; licence: {each.licence}")
        return 0
    get_set(find_set(arguments.name), arguments.data, print)
    return 0
