"""Code that several commands share: the model, the decoding options, the progress line."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headlight.model.checkpoints.shipped import MODELS, find_folder, shipped_models
from headlight.model.errors import CheckpointError, CommandError
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
    """`--model`, `--device`, `--step-weights`."""
    parser.add_argument(
        "--model",
        default=DEFAULT_MODEL,
        help=f"a folder, a name in assets/models, or an id on the Hub: OWNER/NAME[@REVISION] ({DEFAULT_MODEL})",
    )
    parser.add_argument("--device", help="cuda, mps or cpu (the best there is)")
    parser.add_argument(
        "--step-weights",
        choices=("float16", "float32", "plain"),
        default="float16",
        help="how the decoding step holds its weights on a CPU (float16)",
    )


def add_decoding(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of decoding: beam, length penalty, sampling and the like."""
    parser.add_argument(
        "--beam", type=int, metavar="N", help="width of the beam; 1: greedy (the model's habit, else 1; so below)"
    )
    parser.add_argument("--length-penalty", type=float, metavar="X", help="scores are divided by length^X (1)")
    parser.add_argument("--max-length", type=int, metavar="N", help="the most tokens written (twice the source + 16)")
    parser.add_argument("--no-repeat", type=int, metavar="N", help="write no run of N tokens twice (0: any)")
    parser.add_argument("--temperature", type=float, metavar="X", help="sample at this temperature (0: don't)")
    parser.add_argument("--top-k", type=int, metavar="N", help="sample among the N likeliest (0: all)")
    parser.add_argument("--top-p", type=float, metavar="X", help="sample among the likeliest of joint X (1)")
    parser.add_argument("--seed", type=int, metavar="N", help="of the dice (0)")
    parser.add_argument(
        "--from", dest="source_language", metavar="CODE", help="language of the text, of models with several"
    )
    parser.add_argument(
        "--to", dest="target_language", metavar="CODE", help="language to write, of models with several"
    )


def decoding_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """The arguments of `add_decoding` as `translate` takes them; the model's defaults fill the rest."""
    names = ("length_penalty", "max_length", "no_repeat", "temperature", "top_k", "top_p", "seed")
    asked = {"beam_size": arguments.beam} | {name: getattr(arguments, name) for name in (*names, *LANGUAGES)}
    return {name: value for name, value in asked.items() if value is not None}


def add_reverse_model(parser: argparse.ArgumentParser) -> None:
    """`--way-back`."""
    parser.add_argument(
        "--way-back",
        metavar="MODEL",
        help="a model of the other direction, which favours those of the beam's translations (4 without --beam) from "
        "which it can guess the sentence, as on the page",
    )


def load_reverse_model(arguments: argparse.Namespace) -> tuple[Translator | None, dict[str, Any]]:
    """The reverse model of `--way-back` and its options, or none."""
    if arguments.way_back is None:
        return None, {}
    beam = BACK_TRANSLATION_OPTIONS["beam_size"] if arguments.beam is None else arguments.beam
    if beam < 2:
        raise CommandError(f"--way-back chooses among the translations of a beam, but --beam is {beam}. Widen it.")
    folder = model_folder(arguments.way_back)
    forth, back = (languages_from_name(Path(each).resolve().name) for each in (arguments.model, folder))
    if forth and back and back != forth[::-1]:
        raise CommandError(
            f"--way-back {folder.name} does not translate what {Path(arguments.model).name} writes back."
        )
    reverse = Translator.load(folder, arguments.device)
    return reverse, {"beam_size": beam, "back_weight": REVERSE_WEIGHT}


def load(arguments: argparse.Namespace) -> Translator:
    """The translator that `--model` names."""
    return Translator.load(model_folder(arguments.model), arguments.device, step_weights=arguments.step_weights)


def model_folder(name: str) -> Path:
    """The model folder that a path, the name of a shipped model, or a Hub id names."""
    folder = find_folder(name)
    if folder.is_dir():
        return folder
    if is_id(name):
        return fetch_model(name)
    raise CheckpointError(
        f"There is no model {name!r}. Name a folder, an id on the Hub (owner/name), or one of assets/models: "
        f"{', '.join(shipped_models()) or 'none'}."
    )


def is_id(name: str) -> bool:
    """Whether a name has the form of a Hub id."""
    return name.partition("@")[0].count("/") == 1 and not Path(name).is_absolute() and not Path(name).exists()


def fetch_model(name: str, revision: str = "main", *, without_confirmation: bool = False) -> Path:
    """The folder of a Hub model, downloaded if it is missing: after a confirmation, or without one if `unasked`."""
    from headlight.model.families.hub import fetch, read_id  # imported only when something is downloaded

    wanted = read_id(name, revision)

    def agreed(plan: DownloadPlan) -> bool:
        if plan.family and plan.family not in FAMILIES:
            raise CheckpointError(
                f"{wanted} is of the family {plan.family!r}, but those that can be read are: {', '.join(FAMILIES)}. "
                "Nothing was fetched: choose another model."
            )
        return without_confirmation or _confirm(plan)

    return fetch(wanted.repository, revision=wanted.revision, confirm=agreed, on_progress=_print_progress)


def _confirm(plan: DownloadPlan) -> bool:
    """Ask the user to confirm; without a terminal, return False."""
    from headlight.model.families.hub import megabytes

    terms = f", licence {plan.licence}" if plan.licence else ""
    print(f"{plan.repository}: {megabytes(plan.missing):,} MB to fetch{terms}.", file=sys.stderr)
    if not sys.stdin.isatty():
        print(f"Fetch it with `python -m headlight import {plan.repository} FOLDER --yes`.", file=sys.stderr)
        return False
    return input("Fetch it? [y/N] ").strip().lower() in ("y", "yes")


def _print_progress(progress: DownloadProgress) -> None:
    last = progress.done >= progress.total
    in_place = sys.stderr.isatty()
    if in_place or last:
        print(f"\r{progress}\x1b[K" if in_place else str(progress), end="\n" if last else "", file=sys.stderr)


class ProgressLine:
    """`1,200 of 2,000 lines, 310 a second, 3 s left` on standard error, rewritten in place on a terminal."""

    def __init__(self, total: int | None, *, least: int = 0) -> None:
        self.total = total  # None: unknown, until `end`
        self.least = least  # so few lines need no word
        self.done = 0
        self._started = time.perf_counter()
        self._shown = 0.0
        self._in_place = sys.stderr.isatty()

    def add(self, lines: int) -> None:
        """Count more finished lines."""
        self.done += lines
        now = time.perf_counter()
        last = self.total is not None and self.done >= self.total
        if last or now - self._shown >= (0.2 if self._in_place else 5.0):
            self._shown = now
            self._print(now, last=last)

    def end(self) -> None:
        """Report the total number."""
        self._print(time.perf_counter(), last=True)

    def _print(self, now: float, *, last: bool) -> None:
        if self.done <= self.least:
            return
        rate = self.done / max(now - self._started, 1e-9)
        of = "" if self.total is None else f" of {self.total:,}"
        left = "" if self.total is None else f", {(self.total - self.done) / rate:,.0f} s left"
        line = f"{self.done:,}{of} lines, {rate:,.0f} a second{left}"
        end = "\n" if last or not self._in_place else ""
        print(f"\r{line}\x1b[K" if self._in_place else line, end=end, file=sys.stderr, flush=True)
