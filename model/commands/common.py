"""Functions of several commands: model loading, decoding options, the progress line."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headlight.model.checkpoints.shipped import MODELS, find_folder, shipped_models
from headlight.model.errors import INSTALL_APP, CheckpointError, CommandError
from headlight.model.families import FAMILIES
from headlight.model.text.languages import languages_from_name
from headlight.model.translate.back_translation import BACK_TRANSLATION_OPTIONS
from headlight.model.translate.reranking import REVERSE_WEIGHT
from headlight.model.translate.translator import Translator

if TYPE_CHECKING:
    from headlight.model.families.hub import DownloadPlan, DownloadProgress

LANGUAGES = ("source_language", "target_language")
DEFAULT_MODEL = next((name for name in ("de-en", "toy") if (MODELS / name / "config.json").exists()), "de-en")


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add `--model`, `--device` and `--step-weights`."""
    parser.add_argument(
        "--model",
        default=DEFAULT_MODEL,
        help=f"folder, name in assets/models, or id on the Hub: OWNER/NAME[@REVISION] (default: {DEFAULT_MODEL})",
    )
    add_device(parser)
    parser.add_argument(
        "--step-weights",
        choices=("float16", "float32", "plain"),
        default="float16",
        help="storage type of the decoder's weights on a CPU (default: float16)",
    )


def add_sentences(parser: argparse.ArgumentParser) -> None:
    """Add `--sentences`, the number of sentences of a table to measure."""
    parser.add_argument(
        "--sentences",
        type=int,
        default=200,
        metavar="N",
        help="number of sentences, evenly spaced in the table (default: 200)",
    )


def add_device(parser: argparse.ArgumentParser) -> None:
    """Add `--device`."""
    parser.add_argument("--device", help="cuda, mps or cpu (default: the fastest available)")


def add_decoding(parser: argparse.ArgumentParser) -> None:
    """Add the options of decoding: beam, length penalty, sampling, languages."""
    parser.add_argument("--beam", type=int, metavar="N", help="beam size; 1: greedy (default: the model's, else 1)")
    parser.add_argument("--length-penalty", type=float, metavar="X", help="scores are divided by length^X (default: 1)")
    parser.add_argument(
        "--max-length", type=int, metavar="N", help="maximum number of tokens (default: twice the source + 16)"
    )
    parser.add_argument("--no-repeat", type=int, metavar="N", help="do not repeat N tokens in a row (default: 0, off)")
    parser.add_argument("--temperature", type=float, metavar="X", help="sample at this temperature (default: 0, off)")
    parser.add_argument("--top-k", type=int, metavar="N", help="sample from the N likeliest tokens (default: 0, all)")
    parser.add_argument(
        "--top-p",
        type=float,
        metavar="X",
        help="sample from the likeliest tokens with a total probability of X (default: 1)",
    )
    parser.add_argument("--seed", type=int, metavar="N", help="seed of the sampling (default: 0)")
    parser.add_argument(
        "--from", dest="source_language", metavar="CODE", help="source language, for multilingual models"
    )
    parser.add_argument("--to", dest="target_language", metavar="CODE", help="target language, for multilingual models")


def decoding_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options of `add_decoding` as keyword arguments of `Translator.translate`.

    Options that are not set are omitted, so that the model's generation defaults apply.
    """
    names = ("length_penalty", "max_length", "no_repeat", "temperature", "top_k", "top_p", "seed")
    options = {"beam_size": arguments.beam} | {name: getattr(arguments, name) for name in (*names, *LANGUAGES)}
    return {name: value for name, value in options.items() if value is not None}


def add_reverse_model(parser: argparse.ArgumentParser) -> None:
    """Add `--way-back`."""
    parser.add_argument(
        "--way-back",
        metavar="MODEL",
        help="reverse model that reranks the translations of the beam (4 without --beam), as on the page",
    )


def load_reverse_model(arguments: argparse.Namespace) -> tuple[Translator | None, dict[str, Any]]:
    """Load the reverse model of `--way-back`. Return it with the options of reranking, or (None, {}) without it."""
    if arguments.way_back is None:
        return None, {}
    beam = BACK_TRANSLATION_OPTIONS["beam_size"] if arguments.beam is None else arguments.beam
    if beam < 2:
        raise CommandError(
            f"--way-back chooses among the translations of a beam, but --beam is {beam}. Set it to 2 or more."
        )
    folder = model_folder(arguments.way_back)
    forward_pair, reverse_pair = (
        languages_from_name(Path(model).resolve().name) for model in (arguments.model, folder)
    )
    if forward_pair and reverse_pair and reverse_pair != forward_pair[::-1]:
        raise CommandError(
            f"--way-back {folder.name} does not translate in the reverse direction of {Path(arguments.model).name}."
        )
    reverse = Translator.load(folder, arguments.device)
    return reverse, {"beam_size": beam, "back_weight": REVERSE_WEIGHT}


def load(arguments: argparse.Namespace) -> Translator:
    """Load the translator of `--model`."""
    return Translator.load(model_folder(arguments.model), arguments.device, step_weights=arguments.step_weights)


def model_folder(name: str) -> Path:
    """Return the folder of a model. `name`: a path, a shipped model, or a Hub id, which is downloaded if missing."""
    folder = find_folder(name)
    if folder.is_dir():
        return folder
    if is_id(name):
        return fetch_model(name)
    raise CheckpointError(
        f"There is no model {name!r}. Name a folder, an id on the Hub (owner/name), or one of assets/models: "
        f"{', '.join(shipped_models()) or f'none is installed ({INSTALL_APP})'}."
    )


def is_id(name: str) -> bool:
    """Whether a name has the form of a Hub id and is not a path."""
    return name.partition("@")[0].count("/") == 1 and not Path(name).is_absolute() and not Path(name).exists()


def fetch_model(name: str, revision: str = "main", *, without_confirmation: bool = False) -> Path:
    """Return the folder of a Hub model. If it is missing, download it, by default after a confirmation by the user."""
    from headlight.model.families.hub import fetch, read_id  # imported only for a download

    model_id = read_id(name, revision)

    def confirm(plan: DownloadPlan) -> bool:
        if plan.family and plan.family not in FAMILIES:
            raise CheckpointError(
                f"{model_id} belongs to the family {plan.family!r}, but only these can be read: "
                f"{', '.join(FAMILIES)}. Nothing was downloaded: choose another model."
            )
        return without_confirmation or _confirm(plan)

    return fetch(model_id.repository, revision=model_id.revision, confirm=confirm, on_progress=_print_progress)


def _confirm(plan: DownloadPlan) -> bool:
    """Ask the user to confirm a download; without a terminal, return False."""
    from headlight.model.families.hub import megabytes

    terms = f", licence {plan.licence}" if plan.licence else ""
    print(f"{plan.repository}: {megabytes(plan.missing):,} MB to download{terms}.", file=sys.stderr)
    if not sys.stdin.isatty():
        print(f"Download it with `python -m headlight import {plan.repository} FOLDER --yes`.", file=sys.stderr)
        return False
    return input("Download it? [y/N] ").strip().lower() in ("y", "yes")


def _print_progress(progress: DownloadProgress) -> None:
    last = progress.done >= progress.total
    in_place = sys.stderr.isatty()
    if in_place or last:
        print(f"\r{progress}\x1b[K" if in_place else str(progress), end="\n" if last else "", file=sys.stderr)


class ProgressLine:
    """A progress line on standard error: `1,200 of 2,000 lines, 310 a second, 3 s left`. A terminal overwrites it."""

    def __init__(self, total: int | None, *, min_lines: int = 0) -> None:
        self.total = total  # None if unknown
        self.min_lines = min_lines  # nothing is printed for this number of lines or fewer
        self.done = 0
        self._start_time = time.perf_counter()
        self._print_time = 0.0
        self._overwrites = sys.stderr.isatty()

    def add(self, lines: int) -> None:
        """Count more finished lines."""
        self.done += lines
        current_time = time.perf_counter()
        last = self.total is not None and self.done >= self.total
        if last or current_time - self._print_time >= (0.2 if self._overwrites else 5.0):
            self._print_time = current_time
            self._print(current_time, last=last)

    def end(self) -> None:
        """Print the final number of lines."""
        self._print(time.perf_counter(), last=True)

    def _print(self, now: float, *, last: bool) -> None:
        if self.done <= self.min_lines:
            return
        rate = self.done / max(now - self._start_time, 1e-9)
        total = "" if self.total is None else f" of {self.total:,}"
        remaining = "" if self.total is None else f", {(self.total - self.done) / rate:,.0f} s left"
        line = f"{self.done:,}{total} lines, {rate:,.0f} a second{remaining}"
        end = "\n" if last or not self._overwrites else ""
        print(f"\r{line}\x1b[K" if self._overwrites else line, end=end, file=sys.stderr, flush=True)
