"""`python -m headlight export`: export a training run as a model folder."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import get_args

from headlight.model.checkpoints.storage import Storage
from headlight.model.training.export_run import Blend, export_run
from headlight.model.translate.reliability import FittedRule


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--run", type=Path, required=True, help="folder of a training run")
    parser.add_argument("--to", type=Path, required=True, help="the model folder to write")
    parser.add_argument(
        "--weights", default="best", help="best, last, or N: the mean of the last N checkpoints (default: best)"
    )
    parser.add_argument(
        "--storage",
        choices=get_args(Storage),
        default="float16",
        help="storage type of the weights; int8 takes half the space, int4 a third (default: float16)",
    )
    parser.add_argument(
        "--blend",
        type=Path,
        metavar="FOLDER",
        help="average the weights with those of this model, with which the run began",
    )
    parser.add_argument("--share", type=float, default=0.5, help="share of that model in the average (default: 0.5)")
    parser.add_argument("--card", type=Path, help="text of the model card; the commands to repeat the run are added")
    parser.add_argument("--heads", type=Path, help="alignment heads, as measured by `heads`")
    parser.add_argument(
        "--reliability", type=Path, help="reliability rule, as fitted to these weights by `reliability`"
    )


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
