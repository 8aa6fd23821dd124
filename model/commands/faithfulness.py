"""`headlight faithfulness`: compare attribution methods by masking source words in the order of their scores.

The report also compares predicted and measured effects of heads on these translations.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from headlight.model.checkpoints.alignment_heads import best_head
from headlight.model.checkpoints.checksums import weights_digest
from headlight.model.checkpoints.reports import WEIGHTS_KEY
from headlight.model.checkpoints.shipped import ASSETS
from headlight.model.commands.common import ProgressLine, add_device, add_sentences, model_folder
from headlight.model.commands.steadiness import sample_sentences
from headlight.model.errors import CommandError
from headlight.model.experiments.attribution import METHODS
from headlight.model.experiments.effect_agreement import MIN_EFFECT
from headlight.model.experiments.faithfulness import FaithfulnessSamples, Report, evaluate_corpus, make_report
from headlight.model.files import write_file
from headlight.model.text.languages import languages_from_name
from headlight.model.translate.translator import Translator

# The method "head" is excluded, because its scores depend on the chosen head.
COMPARED_METHODS = tuple(name for name in METHODS if name != "head")
SAVE_EVERY = 10  # sentences between two writes of an intermediate report
CORPUS = ASSETS / "corpora" / "mini.tsv"
INTEGRATION_POINTS = 20  # gradients per word, with which the completeness gap is a few tenths of a nat


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--model", required=True, help="a folder, or a name in assets/models")
    parser.add_argument(
        "--file", type=Path, default=CORPUS, help="table of sentences (default: assets/corpora/mini.tsv)"
    )
    parser.add_argument("--column", help="column of the table (default: the model's source language)")
    add_sentences(parser)
    parser.add_argument(
        "--methods", default=",".join(COMPARED_METHODS), help=f"comma-separated methods: {', '.join(METHODS)}"
    )
    add_device(parser)
    parser.add_argument("--output", type=Path, help="output file, e.g. assets/faithfulness/de-en.json")


def run(arguments: argparse.Namespace) -> int:
    """Print the area and bounds of each method, the most faithful method first.

    With `--output`, write the report, also an intermediate one after every `SAVE_EVERY` sentences.
    """
    folder = Path(model_folder(arguments.model))
    texts = sample_sentences(
        arguments.file, arguments.column or "".join(languages_from_name(folder.name)[:1]), arguments.sentences
    )
    translator = Translator.load(folder, arguments.device)
    samples = FaithfulnessSamples()
    progress = ProgressLine(len(texts))
    alignment_head = best_head(folder)  # as on the page
    methods = _parse_methods(arguments.methods)
    for samples in evaluate_corpus(
        translator, texts, methods, points=INTEGRATION_POINTS, alignment_head=alignment_head
    ):
        count = len(samples.curves[""])
        progress.add(count - progress.done)
        if arguments.output is not None and not count % SAVE_EVERY:
            _write(arguments.output, samples, folder)
    if not samples.areas:
        raise CommandError(f"{arguments.file}: no sentence has at least three maskable words.")
    report = make_report(samples)
    title = "area between the random curve and each method's curve, in probability"
    print(f"{folder.name}: {report.sentences} sentences; {title}")
    for name, result in sorted(report.methods.items(), key=lambda item: -item[1].area):
        print(f"{result.area:+.3f}  [{result.low:+.3f} {result.high:+.3f}]  {name}")
    effects = report.effects
    ranks = ", ".join(f"{name} {value:.2f}" for name, value in effects.spearman.items())
    print(f"predicted and measured effects of heads: Spearman {ranks};", end=" ")
    print(f"same sign: {effects.same_sign} of {effects.clear} heads beyond ±{MIN_EFFECT} nats")
    if arguments.output is not None:
        _write(arguments.output, samples, folder)
    return 0


def _write(path: Path, samples: FaithfulnessSamples, folder: Path) -> None:
    write_file(path, json.dumps(report_values(make_report(samples), folder), indent=1) + "\n")


def _parse_methods(text: str) -> list[str]:
    names = text.split(",")
    for name in names:
        if name not in METHODS:
            raise CommandError(f"--methods {name!r} is unknown. Choose from {', '.join(METHODS)}.")
    return names


def report_values(report: Report, folder: Path) -> dict[str, Any]:
    """Return the JSON values of the report, rounded, with the digest of the model's weights."""
    return {WEIGHTS_KEY: weights_digest(folder), **_round_floats(asdict(report))}


def _round_floats(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, dict):
        return {name: _round_floats(item) for name, item in value.items()}
    return [_round_floats(item) for item in value] if isinstance(value, list | tuple) else value
