"""`python -m headlight confidence`: measure below which confidence a model should say that a sentence is beyond it."""

from __future__ import annotations

import argparse
from pathlib import Path

from headlight.model.commands.common import ProgressLine, model_folder
from headlight.model.errors import CommandError
from headlight.model.translate.reliability import choose_floor, measure_floor
from headlight.model.translate.requests import batches_by_length
from headlight.model.translate.translator import Translator

BATCH_TOKENS = 2000


def add(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("--model", required=True, help="a folder, or a name in assets/models")
    parser.add_argument("--everyday", type=Path, nargs=2, required=True, metavar=("CHOOSE", "TEST"), help="one a line")
    parser.add_argument("--foreign", type=Path, required=True, help="others; every second one tests")
    parser.add_argument("--false-alarms", type=float, default=0.1, help="most of the everyday ones to chide (0.1)")
    parser.add_argument("--beam", type=int, default=1, help="(1)")
    parser.add_argument("--device", help="cuda, mps or cpu (the best there is)")
    parser.add_argument("--output", type=Path, help="where to write the rule, e.g. confidence.json")


def run(arguments: argparse.Namespace) -> int:
    """Choose the floor by some sentences, measure it on others."""
    if not 0 <= arguments.false_alarms < 1:
        raise CommandError("--false-alarms must lie in [0, 1).")
    translator = Translator.load(model_folder(arguments.model), arguments.device)
    everyday = [mean_log_probabilities(translator, _lines(path), arguments.beam) for path in arguments.everyday]
    foreign = mean_log_probabilities(translator, _lines(arguments.foreign), arguments.beam)
    floor = choose_floor(everyday[0], foreign[::2], most_false_alarms=arguments.false_alarms)
    names = arguments.everyday[1].name, arguments.foreign.name
    rule = measure_floor(floor, everyday[1], foreign[1::2], names=names)
    print(
        f"Below a mean log probability of {rule.floor:.3f} lie {rule.hit_rate:.1%} of {rule.foreign} "
        f"and {rule.false_alarm_rate:.1%} of {rule.everyday}."
    )
    if arguments.output:
        arguments.output.write_text(rule.to_json(), encoding="utf-8")
    return 0


def mean_log_probabilities(translator: Translator, lines: list[str], beam: int) -> list[float]:
    """The mean log probability of each line's own translation."""
    _, lengths = translator.checker.lines(lines, translator.checker.options({}))
    progress = ProgressLine(len(lengths))
    means: dict[int, float] = {}
    for places in batches_by_length(lengths, BATCH_TOKENS):
        answers = translator.translate_batch([lines[place] for place in places], beam_size=beam, alternatives=0)
        for place, answer in zip(places, answers, strict=True):
            means[place] = answer.log_probability / len(answer.target_tokens)
        progress.add(len(places))
    return [means[place] for place in sorted(means)]


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()
