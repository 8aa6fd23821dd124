"""`python -m headlight train RECIPE`: train a model, or resume an interrupted run."""

from __future__ import annotations

import argparse
from pathlib import Path

from headlight.model.errors import CommandError
from headlight.model.training.loop import ComputeSettings
from headlight.model.training.processes import PRECISIONS, choose_device, join_process_group
from headlight.model.training.recipe import load_recipe
from headlight.model.training.run import Run, RunSession


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("recipe", type=Path, help="a recipe, e.g. assets/recipes/de-en.json")
    parser.add_argument("--data", type=Path, required=True, help="base folder of the recipe's corpora")
    parser.add_argument("--run", type=Path, help="folder of the run (default: runs/NAME); an unfinished run is resumed")
    parser.add_argument("--minutes", type=float, help="stop after this time; the same command resumes the run")
    parser.add_argument(
        "--checkpoint-minutes", type=float, default=5.0, help="minutes between checkpoints (default: 5; 0: every step)"
    )
    parser.add_argument("--keep", type=int, default=3, metavar="N", help="number of checkpoints to keep (default: 3)")
    parser.add_argument(
        "--cool-down", type=int, metavar="STEPS", help="end the run with this many steps of falling learning rate"
    )
    parser.add_argument("--until", type=int, metavar="STEP", help="stop at this step")
    parser.add_argument(
        "--report-every", type=int, default=50, metavar="STEPS", help="steps between two reports (default: 50)"
    )
    parser.add_argument("--device", default="auto", help="cpu, cuda, cuda:1 (default: a GPU if available)")
    parser.add_argument(
        "--precision",
        choices=PRECISIONS,
        default="auto",
        help="precision of the forward pass (default: bfloat16 if it is faster)",
    )
    parser.add_argument("--compile", action="store_true", help="use torch.compile, which pays off on a GPU")
    parser.add_argument("--tensorboard", action="store_true", help="also write RUN/tensorboard")


def run(arguments: argparse.Namespace) -> int:
    """Train until the last step or the time limit, or until the user stops the run."""
    for name in ("minutes", "keep", "report_every", "cool_down", "until"):
        value = getattr(arguments, name)
        if value is not None and not value > 0:
            option = "--" + name.replace("_", "-")
            raise CommandError(f"{option} is {value:g}, but must be above 0. Choose another number.")
    recipe = load_recipe(arguments.recipe)
    folder = arguments.run or Path("runs") / recipe.name
    session = RunSession(
        minutes=arguments.minutes,
        checkpoint_minutes=arguments.checkpoint_minutes,
        keep=arguments.keep,
        report_every=arguments.report_every,
        tensorboard=arguments.tensorboard,
        cool_down=arguments.cool_down,
        until=arguments.until,
    )
    with join_process_group() as processes:
        compute = ComputeSettings(choose_device(arguments.device, processes), arguments.precision, arguments.compile)
        Run(recipe, arguments.data, folder, session, compute, processes).train()
    return 0
