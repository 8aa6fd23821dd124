"""`python -m headlight reliability`: fit and measure how far each answer of a model can be relied on.

Sentences with references are translated as the page does, and translated back where a model for the way back is there.
Every second answer is fitted, the others are measured; then the plain sentences, whose answers were read by a person.
With `--write`, the rule and its figures go into the model's folder: reliability.json, the card, the checksums.
"""

from __future__ import annotations

import argparse
import csv
import math
import random
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from headlight.model.commands.common import ProgressLine, model_folder
from headlight.model.errors import CommandError
from headlight.model.folders.shipped import ASSETS, shipped_models
from headlight.model.records import Grade, ReadBack, Translation
from headlight.model.training.card_section import replace_section, sign_again
from headlight.model.training.evaluate import read_test
from headlight.model.training.reliability import area, bound_into, calibration, calibration_error, fit, is_right
from headlight.model.translate.evidence import FEATURES, WITH_BACK, gather
from headlight.model.translate.read_back import WAY, read_all_back
from headlight.model.translate.reliability import FILE, FittedRule, Weights
from headlight.model.translate.requests import batches_by_length
from headlight.model.translate.translator import Translator

TEXTS = {  # below --data, by the language beside English: everyday sentences, captions, news
    "de": ("tatoeba-deu/val", "multi30k/val", "pud/dev"),
    "zh": ("tatoeba-cmn/val", "captions-zh/val", "pud/dev"),
}
SHARES = (5, 1, 1)  # of the sentences: what visitors type is everyday text
PLAIN, JUDGED = ASSETS / "corpora" / "plain.tsv", ASSETS / "corpora" / "plain-judged.tsv"
BATCH_TOKENS = 1500
SEED = 1


@dataclass(frozen=True)
class Answer:
    """One translation with its reference and its back-translation."""

    translation: Translation
    reference: str
    back: ReadBack | None


def add(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("--model", required=True, help="a folder, or a name in assets/models")
    parser.add_argument("--data", type=Path, help="a folder of texts with references, as the recipes name them")
    parser.add_argument("--texts", nargs="+", metavar="STEM", help="of the text files: STEM.de and STEM.en")
    parser.add_argument("--languages", metavar="SOURCE-TARGET", help="(the name of the model)")
    parser.add_argument("--way-back", metavar="MODEL", help="of the other direction (one that ships, if there is one)")
    parser.add_argument("--sentences", type=int, default=2100, help="in all (2100)")
    parser.add_argument(
        "--bound",
        type=float,
        help=f"of chrF, above which an answer is right ({bound_into('')}; into Chinese {bound_into('zh')})",
    )
    parser.add_argument(
        "--plain", action="store_true", help="measure the model's own rule on the plain sentences alone"
    )
    parser.add_argument("--unread", type=Path, help="where to write plain answers that nobody has judged yet")
    parser.add_argument("--write", action="store_true", help="put the rule and its figures into the model's folder")
    parser.add_argument("--device", help="cuda, mps or cpu (the best there is)")


def run(arguments: argparse.Namespace) -> int:
    """Fit, measure and print; with `--write`, also write."""
    folder = model_folder(arguments.model)
    source, _, target = (arguments.languages or folder.resolve().name).partition("-")
    if not target:
        raise CommandError(f"{folder.name!r} names no two languages. Say --languages, e.g. de-en.")
    translator = Translator.load(folder, arguments.device)
    reverse = _reverse(arguments, source, target)
    if arguments.plain:
        known = translator.rule
        if not isinstance(known, FittedRule):
            raise CommandError(f"{folder} has no {FILE} to measure. Fit one: leave out --plain.")
        print(_said(_measure_plain(known, translator, reverse, arguments.unread)))
        return 0
    pairs = list(_pairs(arguments, source, target))
    if len(pairs) < 4 * len(WITH_BACK):
        raise CommandError(f"There are {len(pairs)} sentences, too few to fit {len(WITH_BACK)} weights.")
    rule = fit_rule(answers_to(pairs, translator, reverse), source, target, arguments.bound)
    plain = _measure_plain(rule, translator, reverse, arguments.unread)
    rule = replace(rule, measured={**rule.measured, "plain": plain})
    section = in_words(rule, arguments)
    print(section)
    if arguments.write:
        (folder / FILE).write_text(rule.to_json(), encoding="utf-8")
        (folder / "confidence.json").unlink(missing_ok=True)  # the rule of an earlier version
        replace_section(folder, "Reliability", section)
        sign_again(folder)
    return 0


def _reverse(arguments: argparse.Namespace, source: str, target: str) -> Translator | None:
    name = arguments.way_back or (f"{target}-{source}" if f"{target}-{source}" in shipped_models() else "")
    return Translator.load(model_folder(name), arguments.device) if name else None


def _pairs(arguments: argparse.Namespace, source: str, target: str) -> Iterator[tuple[str, str]]:
    """Sentences and references, spread evenly over the files."""
    other = target if source == "en" else source
    stems = arguments.texts or [str(arguments.data / stem) for stem in TEXTS.get(other, ()) if arguments.data]
    if not stems:
        raise CommandError("Name the texts to fit on: --data FOLDER, or --texts STEM …")
    shares = SHARES if not arguments.texts else (1,) * len(stems)
    for stem, share in zip(stems, shares, strict=True):
        most = arguments.sentences * share // sum(shares)
        sources, references = read_test(Path(f"{stem}.{source}"), Path(f"{stem}.{target}"))
        step = max(1, len(sources) // max(1, most))
        yield from list(zip(sources, references, strict=True))[::step][:most]


def answers_to(pairs: Sequence[tuple[str, str]], translator: Translator, reverse: Translator | None) -> list[Answer]:
    """The answers to all sentences, each translated and translated back."""
    _, lengths = translator.checker.lines([source for source, _ in pairs], translator.checker.options(WAY))
    progress, answers = ProgressLine(len(pairs)), dict[int, Answer]()
    for places in batches_by_length(lengths, BATCH_TOKENS // int(WAY["beam_size"])):
        translations = translator.translate_batch([pairs[place][0] for place in places], **WAY)
        backs = read_all_back(reverse, translations) if reverse else [None] * len(places)
        for place, translation, back in zip(places, translations, backs, strict=True):
            answers[place] = Answer(translation, pairs[place][1], back)
        progress.add(len(places))
    return [answers[place] for place in range(len(pairs))]


def fit_rule(answers: Iterable[Answer], source: str, target: str, bound: float | None = None) -> FittedRule:
    """Fit the rule to one half of the answers and measure it on the other."""
    bound = bound_into(target) if bound is None else bound
    mixed = list(answers)
    random.Random(SEED).shuffle(mixed)  # noqa: S311 - which half an answer is in is no secret
    right = [
        is_right(each.translation.text, each.reference, each.translation.source_text, target, bound) for each in mixed
    ]
    lengths = [
        math.log((len(each.translation.text) + 1) / (len(each.translation.source_text) + 1))
        for each, is_good in zip(mixed, right, strict=True)
        if is_good
    ]
    usual = round(statistics.median(lengths), 4) if lengths else 0.0
    measured: dict[str, Any] = {"sentences": len(mixed), "bound": bound, "right": sum(right) / max(1, len(right))}
    weights: dict[str, Weights | None] = {"with_back": None}
    backs = [each.back for each in mixed]
    for name, features in (("alone", FEATURES), ("with_back", WITH_BACK)):
        if name == "with_back" and not all(backs):
            kept = [place for place, back in enumerate(backs) if back is not None]
            if len(kept) < len(mixed) / 2:
                continue
        else:
            kept = list(range(len(mixed)))
        given = [mixed[place].back if name == "with_back" else None for place in kept]
        rows = [
            gather(mixed[place].translation, source, target, usual, back).features
            for place, back in zip(kept, given, strict=True)
        ]
        truth = [right[place] for place in kept]
        fitted = fit(rows[::2], truth[::2], features)
        weights[name] = fitted
        chances = [fitted.probability(row) for row in rows[1::2]]
        grades = [
            fitted.grade(chance, differs=row["numbers"] > 0) for chance, row in zip(chances, rows[1::2], strict=True)
        ]
        measured[name] = _measure(chances, truth[1::2], grades)
    assert weights["alone"] is not None  # noqa: S101 - the loop began with it
    return FittedRule(
        source=source,
        target=target,
        usual_length=usual,
        alone=weights["alone"],
        with_back=weights["with_back"],
        measured=measured,
    )


def _measure(chances: Sequence[float], right: Sequence[bool], grades: Sequence[Grade | None]) -> dict[str, Any]:
    bins = calibration(chances, right)
    flagged = [grade != "right" for grade in grades]
    return {
        "answers": len(chances),
        "right": sum(right),
        "area": round(area(chances, right), 3),
        "calibration_error": round(calibration_error(bins), 3),
        "flagged_wrong": round(_share(flagged, [not each for each in right]), 3),
        "flagged_right": round(_share(flagged, right), 3),
        "calibration": [[each.answers, round(each.probability, 3), round(each.right, 3)] for each in bins],
    }


def _share(flagged: Sequence[bool], of: Sequence[bool]) -> float:
    return sum(flag and counts for flag, counts in zip(flagged, of, strict=True)) / max(1, sum(of))


# ------------------------------------------------------------ plain sentences, read by a person


def read_verdicts(path: Path, direction: str) -> dict[tuple[str, str], bool]:
    """A person's verdicts: sentence and answer → whether the answer is right."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {
            (row["sentence"], row["answer"]): row["verdict"] == "right" for row in rows if row["direction"] == direction
        }


def _measure_plain(
    rule: FittedRule, translator: Translator, reverse: Translator | None, unread: Path | None
) -> dict[str, Any]:
    """Measure the rule against a person's verdicts, on the plain sentences whose present answers have one."""
    direction = f"{rule.source}-{rule.target}"
    with PLAIN.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    if rule.source not in rows[0] or rule.target not in rows[0]:
        return {}
    verdicts = read_verdicts(JUDGED, direction)
    pairs = [(row[rule.source], row[rule.target]) for row in rows]
    answers = answers_to(pairs, translator, reverse)
    read = [each for each in answers if (each.translation.source_text, each.translation.text) in verdicts]
    if unread is not None:
        others = [each.translation for each in answers if each not in read]
        lines = (f"{direction}\t\t{each.source_text}\t{each.text}\n" for each in others)
        unread.write_text("direction\tverdict\tsentence\tanswer\n" + "".join(lines), encoding="utf-8")
    right = [verdicts[each.translation.source_text, each.translation.text] for each in read]
    if len(set(right)) < 2:
        return {"read": len(read), "sentences": len(rows)}
    found: dict[str, Any] = {"read": len(read), "sentences": len(rows), "right": sum(right)}
    for name, weights in (("alone", rule.alone), ("with_back", rule.with_back)):
        if weights is None or (name == "with_back" and reverse is None):
            continue
        judged = [rule.judge(each.translation, each.back if name == "with_back" else None) for each in read]
        chances = [each.probability if each and each.probability is not None else 0.0 for each in judged]
        found[name] = _measure(chances, right, [each.grade if each else None for each in judged])
    return found


# ------------------------------------------------------------ in words


def _said(plain: dict[str, Any]) -> str:
    """The measurements on the plain sentences, as rows of the card's table."""
    rows = []
    for name, title in (("alone", "alone"), ("with_back", "read back")):
        if name in plain:
            found = plain[name]
            label = f"plain sentences, {plain['read']} read, {title}"
            rows.append(_row(label, found))
    return "\n".join(rows)


def _row(label: str, found: dict[str, Any]) -> str:
    return (
        f"| {label} | {found['answers']:,} | {found['answers'] - found['right']:,} | {found['area']:.2f} "
        f"| {found['flagged_wrong']:.0%} | {found['flagged_right']:.0%} | {found['calibration_error']:.3f} |"
    )


def in_words(rule: FittedRule, arguments: argparse.Namespace) -> str:
    """The section of the model's card."""
    known = rule.measured
    rows = [
        _row(f"held out, {title}", known[name])
        for name, title in (("alone", "alone"), ("with_back", "read back"))
        if name in known
    ]
    best = known.get("with_back") or known["alone"]
    table = "\n".join(f"| {chance:.2f} | {right:.2f} | {answers:,} |" for answers, chance, right in best["calibration"])
    texts = f" --texts {' '.join(arguments.texts)}" if arguments.texts else " --data DATA"
    back = f" --way-back {arguments.way_back}" if arguments.way_back else ""
    return f"""## Reliability

Each answer gets a probability that it is right, and reasons where it may not be (`{FILE}`, fitted by logistic
regression). Right means: chrF of {known["bound"]:g} or more against the reference, with its numbers and names. One half
of {known["sentences"]:,} sentences was fitted, {known["right"]:.0%} of them all being right, and the other half
measured; the plain sentences were in neither, but helped to choose what is looked at, so take their rows as
optimistic. Their answers were judged by reading.

| answers | number | wrong | area under ROC | wrong flagged | right flagged | calibration error |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
{chr(10).join([*rows, _said(known["plain"])]).rstrip()}

| probability | right | held-out answers |
| ---: | ---: | ---: |
{table}

    python -m headlight reliability --model {Path(arguments.model).name}{texts}{back} --write
"""
