"""`python -m headlight export`: write a training run as a model folder to publish."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import get_args

from headlight.model.checkpoints.storage import Storage
from headlight.model.training.export_run import Blend, export_run
from headlight.model.translate.reliability import FittedRule


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--run", type=Path, required=True, help="a run's folder")
    parser.add_argument("--to", type=Path, required=True, help="the model folder to write")
    parser.add_argument("--weights", default="best", help="best, last, or N: the mean of the last N checkpoints (best)")
    parser.add_argument("--storage", choices=get_args(Storage), default="float16")
    parser.add_argument("--blend", type=Path, metavar="FOLDER", help="the model it began with: go back towards it")
    parser.add_argument("--share", type=float, default=0.5, help="of that model in the weights (0.5)")
    parser.add_argument("--card", type=Path, help="the words of the model card; how to repeat the run is added")
    parser.add_argument("--heads", type=Path, help="which heads align words, as `heads` measured it")
    parser.add_argument("--reliability", type=Path, help="the rule that `reliability` fitted to these very weights")


def run(arguments: argparse.Namespace) -> int:
    """Write the model folder."""
    card = arguments.card.read_text(encoding="utf-8") if arguments.card else None
    rule = None
    if arguments.reliability:
        text = arguments.reliability.read_text(encoding="utf-8")
        rule = FittedRule.from_json(text, origin=str(arguments.reliability))
    heads = arguments.heads.read_text(encoding="utf-8") if arguments.heads else None
    export_run(
        arguments.run,
        arguments.to,
        weights=arguments.weights,
        storage=arguments.storage,
        card=card,
        rule=rule,
        heads=heads,
        blend=Blend(arguments.blend, arguments.share) if arguments.blend else None,
    )
    print(f"{arguments.to}: written")
    return 0
