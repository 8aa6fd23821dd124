"""`python -m headlight reliability`: fit and measure how far each answer of a model can be relied on.

Sentences with references are translated as the page does, and translated back if a reverse model exists.
`model/training/reliability_rule.py` fits the rule to them; then it is measured on the plain sentences, whose answers
were read.
With `--write`, the rule and its figures go into the model's folder: reliability.json, the card, the checksums.
"""

from __future__ import annotations

import argparse
import csv
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from headlight.model.checkpoints.checksums import weights_digest
from headlight.model.checkpoints.shipped import ASSETS, shipped_models
from headlight.model.commands.common import ProgressLine, model_folder
from headlight.model.errors import CommandError
from headlight.model.training.card_section import refresh_checksums, replace_section
from headlight.model.training.evaluate import read_test
from headlight.model.training.files import write_text
from headlight.model.training.human_verdicts import read_verdicts
from headlight.model.training.reliability_fit import min_chrf
from headlight.model.training.reliability_rule import MIN_READ_ANSWERS, Answer, fit_rule, measure
from headlight.model.translate.back_translation import BACK_TRANSLATION_OPTIONS, back_translate_batch
from headlight.model.translate.evidence import BACK_TRANSLATION_FEATURES
from headlight.model.translate.reliability import RELIABILITY_FILE, FittedRule
from headlight.model.translate.requests import batches_by_length
from headlight.model.translate.translator import Translator

TEST_FILES = {  # below --data, by the language paired with English: everyday sentences, captions, news
    "de": ("tatoeba-deu/val", "multi30k/val", "pud/dev"),
    "zh": ("tatoeba-cmn/val", "captions-zh/val", "pud/dev"),
}
SAMPLE_SHARES = (5, 1, 1)  # of the sentences: what visitors type is everyday text
CORPORA = ASSETS / "corpora"
# Training text without every n-th line, which is held out: the closest text to what visitors type.
EVERYDAY_FILES = ("everyday-more.tsv", "everyday-extra.tsv", "everyday-further.tsv", "everyday-zh.tsv")
HELD_OUT = 32
TYPED = CORPORA / "typed.tsv"  # like visitors' sentences; used to choose the thresholds of the grades
PLAIN = CORPORA / "plain.tsv"
JUDGED = (CORPORA / "plain-judged.tsv", CORPORA / "read.tsv")
BATCH_TOKENS = 1500
# Approximate numbers of answers to everyday and to other sentences that `--unread` adds to the plain ones.
UNREAD_COUNTS = (400, 200)


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
        help=f"of chrF, above which an answer is right ({min_chrf('')}; into Chinese {min_chrf('zh')})",
    )
    parser.add_argument(
        "--plain", action="store_true", help="measure the model's own rule on the plain sentences alone"
    )
    parser.add_argument(
        "--unread",
        type=Path,
        help="where to write answers that nobody has judged yet: those to plain sentences, and some of the others",
    )
    parser.add_argument("--verdicts", type=Path, help="the same table, filled in: its verdicts count, too")
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
    value = [*JUDGED, *([arguments.verdicts] if arguments.verdicts else [])]
    verdicts = read_verdicts(value, f"{source}-{target}")
    if arguments.plain:
        known = translator.rule
        if not isinstance(known, FittedRule):
            raise CommandError(f"{folder} has no {RELIABILITY_FILE} to measure. Fit one: leave out --plain.")
        plain = _make_answers(PLAIN, translator, reverse, source, target)
        if not plain:
            raise CommandError(
                f"The plain sentences are in German, English and Chinese; {folder.name} reads or writes another."
            )
        _write_unread(arguments.unread, f"{source}-{target}", plain, verdicts)
        print(_plain_rows(_measure_plain(known, plain, verdicts)))
        return 0
    kinds = [] if arguments.texts else list(_everyday(source, target)), list(_pairs(arguments, source, target))
    offered = [
        pair
        for pairs, most in zip(kinds, UNREAD_COUNTS, strict=True)
        for pair in pairs[:: max(1, round(len(pairs) / most))]
    ]
    # With enough verdicts, the other answers would add little: only chrF would judge them.
    pairs = offered if len(verdicts) >= MIN_READ_ANSWERS and not arguments.texts else [*kinds[0], *kinds[1]]
    if len(pairs) < 4 * len(BACK_TRANSLATION_FEATURES):
        raise CommandError(
            f"There are {len(pairs)} sentences, too few to fit {len(BACK_TRANSLATION_FEATURES)} weights."
        )
    plain = _make_answers(PLAIN, translator, reverse, source, target)
    typed = [] if arguments.texts else _make_answers(TYPED, translator, reverse, source, target)
    typed = [replace(each, typed=True) for each in typed]
    answers = translate_pairs(pairs, translator, reverse)
    wanted = set(offered)
    some = [each for each, pair in zip(answers, pairs, strict=True) if pair in wanted]
    _write_unread(arguments.unread, f"{source}-{target}", [*plain, *typed, *some], verdicts)
    rule = fit_rule([*typed, *answers], source, target, verdicts, arguments.bound)
    measured = {**rule.measured, "plain": _measure_plain(rule, plain, verdicts)}
    rule = replace(rule, measured=measured, weights=weights_digest(folder))
    section = card_section(rule, arguments)
    print(section)
    if arguments.write:
        (folder / RELIABILITY_FILE).write_text(rule.to_json(), encoding="utf-8")
        (folder / "confidence.json").unlink(missing_ok=True)  # the rule of an earlier version
        replace_section(folder, "Reliability", section)
        refresh_checksums(folder)
    return 0


def _reverse(arguments: argparse.Namespace, source: str, target: str) -> Translator | None:
    name = arguments.way_back or (f"{target}-{source}" if f"{target}-{source}" in shipped_models() else "")
    return Translator.load(model_folder(name), arguments.device) if name else None


def _pairs(arguments: argparse.Namespace, source: str, target: str) -> Iterator[tuple[str, str]]:
    """Sentences and references, spread evenly over the files."""
    other = target if source == "en" else source
    stems = arguments.texts or [str(arguments.data / stem) for stem in TEST_FILES.get(other, ()) if arguments.data]
    if not stems:
        raise CommandError("Name the texts to fit on: --data FOLDER, or --texts STEM …")
    shares = SAMPLE_SHARES if not arguments.texts else (1,) * len(stems)
    for stem, share in zip(stems, shares, strict=True):
        most = arguments.sentences * share // sum(shares)
        sources, references = read_test(Path(f"{stem}.{source}"), Path(f"{stem}.{target}"))
        step = max(1, len(sources) // max(1, most))
        yield from list(zip(sources, references, strict=True))[::step][:most]


def _everyday(source: str, target: str) -> Iterator[tuple[str, str]]:
    """The everyday sentences of both languages that no translator has learnt from."""
    for name in EVERYDAY_FILES:
        rows = _rows(CORPORA / name)
        if source in rows[0] and target in rows[0]:
            yield from ((row[source], row[target]) for row in rows[::HELD_OUT])


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def translate_pairs(
    pairs: Sequence[tuple[str, str]], translator: Translator, reverse: Translator | None
) -> list[Answer]:
    """The answers to all sentences, each translated as the page does, and translated back."""
    _, lengths = translator.checker.lines(
        [source for source, _ in pairs], translator.checker.options(BACK_TRANSLATION_OPTIONS)
    )
    progress, answers = ProgressLine(len(pairs)), dict[int, Answer]()
    for places in batches_by_length(lengths, BATCH_TOKENS // int(BACK_TRANSLATION_OPTIONS["beam_size"])):
        translations = translator.translate_batch(
            [pairs[place][0] for place in places], way_back=reverse, **BACK_TRANSLATION_OPTIONS
        )
        backs = back_translate_batch(reverse, translations) if reverse else [None] * len(places)
        for place, translation, back in zip(places, translations, backs, strict=True):
            answers[place] = Answer(translation, pairs[place][1], back)
        progress.add(len(places))
    return [answers[place] for place in range(len(pairs))]


# ------------------------------------------------------------ answers that were read, and those that were not


def _make_answers(
    table: Path, translator: Translator, reverse: Translator | None, source: str, target: str
) -> list[Answer]:
    """Answers to the sentences of a table; empty if it lacks one of the languages."""
    rows = _rows(table)
    if source not in rows[0] or target not in rows[0]:
        return []
    return translate_pairs([(row[source], row[target]) for row in rows], translator, reverse)


def _measure_plain(rule: FittedRule, answers: Sequence[Answer], verdicts: Mapping[str, bool]) -> dict[str, Any]:
    """Measure the rule against a reader's verdicts, on the plain sentences whose present answers have one."""
    if not answers:
        return {}
    read = [each for each in answers if each.fingerprint in verdicts]
    right = [verdicts[each.fingerprint] for each in read]
    if len(set(right)) < 2:
        return {"read": len(read), "sentences": len(answers)}
    results: dict[str, Any] = {"read": len(read), "sentences": len(answers), "right": sum(right)}
    for name, weights in (("alone", rule.alone), ("with_back", rule.with_back)):
        if weights is None or (name == "with_back" and not any(each.back for each in read)):
            continue
        judged = [rule.judge(each.translation, each.back if name == "with_back" else None) for each in read]
        chances = [each.probability if each and each.probability is not None else 0.0 for each in judged]
        results[name] = measure(chances, right, [each.grade if each else None for each in judged])
    return results


def _write_unread(path: Path | None, direction: str, answers: Sequence[Answer], verdicts: Mapping[str, bool]) -> None:
    """A table for `--verdicts`, with an empty verdict column."""
    if path is None:
        return
    lines = ["verdict\tdirection\tfingerprint\tsentence\treference\tanswer\n"]
    lines += [
        f"\t{direction}\t{each.fingerprint}\t{each.translation.source_text}\t{each.reference}\t{each.translation.text}\n"
        for each in answers
        if each.fingerprint not in verdicts
    ]
    write_text(path, "".join(lines))


# ------------------------------------------------------------ in words


def _plain_rows(plain: dict[str, Any]) -> str:
    """The measurements on the plain sentences, as rows of the card's table."""
    rows = []
    for name, title in (("alone", "alone"), ("with_back", "read back")):
        if name in plain:
            result = plain[name]
            label = f"plain sentences, {plain['read']} read, {title}"
            rows.append(_row(label, result))
    return "\n".join(rows)


def _row(label: str, found: dict[str, Any]) -> str:
    return (
        f"| {label} | {found['answers']:,} | {found['answers'] - found['right']:,} | {found['area']:.2f} "
        f"| {found['flagged_wrong']:.0%} | {found['flagged_right']:.0%} | {found['calibration_error']:.3f} |"
    )


def card_section(rule: FittedRule, arguments: argparse.Namespace) -> str:
    """The section of the model's card."""
    known = rule.measured
    rows = [
        _row(f"{kind}, {title}", result)
        for name, title in (("alone", "alone"), ("with_back", "read back"))
        if name in known
        for kind, result in (("held out", known[name]), ("of these as visitors type", known[name].get("typed")))
        if result
    ]
    judge = f"chrF of {known['bound']:g} or more against the reference, with its numbers and names"
    how = (
        f"{known['read']:,} of {known['sentences']:,} answers have a verdict of a language model that read them, "
        f"{known['right']:.0%} being right; "
        f"of the others, which count for little, chrF says so ({judge})."
        if known["read"]
        else f"Right means: {judge}. {known['right']:.0%} of {known['sentences']:,} answers are."
    )
    best = known.get("with_back") or known["alone"]
    table = "\n".join(f"| {chance:.2f} | {right:.2f} | {answers:,} |" for answers, chance, right in best["calibration"])
    texts = f" --texts {' '.join(arguments.texts)}" if arguments.texts else " --data DATA"
    back = f" --way-back {arguments.way_back}" if arguments.way_back else ""
    text = f"""Each answer gets a probability that it is right, and reasons where it may not be (`{RELIABILITY_FILE}`,
    fitted by logistic regression). {how} A fifth of the answers is held out from each of five fits and judged by it;
    where the grades begin was chosen on these. The plain sentences were in no fit, but helped to choose what is looked
    at, so take their rows as optimistic. Their answers were judged by reading."""
    return f"""## Reliability

{textwrap.fill(" ".join(text.split()), 120)}

| answers | number | wrong | area under ROC | wrong flagged | right flagged | calibration error |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
{chr(10).join([*rows, _plain_rows(known["plain"])]).rstrip()}

| probability | right | held-out answers |
| ---: | ---: | ---: |
{table}

    python -m headlight reliability --model {Path(arguments.model).name}{texts}{back} --write
"""
