"""`python -m headlight reliability`: fit and measure the reliability rule of a model.

Sentences with references are translated with the page's options, and back-translated if a reverse model exists.
`model/training/reliability_rule.py` fits the rule to these answers. The rule is then measured on the plain sentences,
whose answers have verdicts, and on the same sentences typed carelessly. `--write` stores the rule and its
metrics in the model's folder: reliability.json, the model card, and the checksums.
"""

from __future__ import annotations

import argparse
import csv
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from headlight.model.checkpoints.checksums import weights_digest
from headlight.model.checkpoints.shipped import ASSETS, shipped_models
from headlight.model.commands.common import ProgressLine, add_device, model_folder
from headlight.model.errors import CommandError
from headlight.model.files import write_file
from headlight.model.training.as_typed import VARIANTS, as_typed
from headlight.model.training.card_section import refresh_checksums, replace_section
from headlight.model.training.evaluate import read_test
from headlight.model.training.human_verdicts import read_mistakes, read_verdicts
from headlight.model.training.reliability_fit import min_chrf
from headlight.model.training.reliability_rule import MIN_REVIEWED_ANSWERS, Answer, fit_rule, measure
from headlight.model.translate.back_translation import (
    BACK_TRANSLATION_OPTIONS,
    back_translate_batch,
    is_word_for_word,
)
from headlight.model.translate.evidence import BACK_TRANSLATION_FEATURES
from headlight.model.translate.reliability import RELIABILITY_FILE, FittedRule
from headlight.model.translate.requests import batches_by_length
from headlight.model.translate.translator import Translator

# Files in the folder `--data`, by the language paired with English: everyday sentences, captions, news.
TEST_FILES = {
    "de": ("tatoeba-deu/val", "multi30k/val", "pud/dev"),
    "zh": ("tatoeba-cmn/val", "captions-zh/val", "pud/dev"),
}
SAMPLE_SHARES = (5, 1, 1)  # relative numbers of sentences from these files; everyday sentences resemble visitors' input
CORPORA = ASSETS / "corpora"
# Every `HELD_OUT`-th line of these files is held out of training. Of all texts, they resemble visitors' input most.
EVERYDAY_FILES = ("everyday-more.tsv", "everyday-extra.tsv", "everyday-further.tsv", "everyday-zh.tsv")
HELD_OUT = 32
TYPED = CORPORA / "typed.tsv"  # sentences like visitors' input; they determine the grade thresholds
VARIANT_EVERY = 2  # every second of them is fitted once more, typed carelessly
PLAIN = CORPORA / "plain.tsv"
AS_TYPED = "plain sentences typed carelessly"
VERDICT_TABLES = (CORPORA / "plain-judged.tsv", CORPORA / "read.tsv")
HARD = CORPORA / "hard.tsv"  # pronouns, negations, long sentences: to measure only
HARD_JUDGED = CORPORA / "hard-judged.tsv"  # with the kind of each mistake
MISTAKES = {
    "pronoun": "a pronoun",
    "negation": "a negation",
    "omission": "something left out",
    "word": "a wrong word",
    "order": "who does what to whom",
    "name": "a name or a number",
}
BATCH_TOKENS = 1500  # per batch, summed over the hypotheses of the beam
# Approximate numbers of everyday sentences and of other sentences that `--unread` adds to the plain ones.
UNREAD_COUNTS = (400, 200)


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--model", required=True, help="a folder, or a name in assets/models")
    parser.add_argument("--data", type=Path, help="folder of texts with references, named as in the recipes")
    parser.add_argument(
        "--texts", nargs="+", metavar="STEM", help="names of the text files without suffix: STEM.de and STEM.en"
    )
    parser.add_argument("--languages", metavar="SOURCE-TARGET", help="language pair (default: from the model's name)")
    parser.add_argument("--way-back", metavar="MODEL", help="reverse model (default: the bundled one, if there is one)")
    parser.add_argument("--sentences", type=int, default=2100, help="number of sentences (default: 2100)")
    parser.add_argument(
        "--bound",
        type=float,
        help=f"minimum chrF of a right answer (default: {min_chrf('')}; into Chinese {min_chrf('zh')})",
    )
    parser.add_argument("--plain", action="store_true", help="measure the model's own rule on plain sentences only")
    parser.add_argument(
        "--unread",
        type=Path,
        help="output file of unjudged answers: all plain sentences and some others",
    )
    parser.add_argument("--verdicts", type=Path, help="table of --unread with verdicts filled in, to include them")
    parser.add_argument("--write", action="store_true", help="store the rule and its figures in the model's folder")
    add_device(parser)


def run(arguments: argparse.Namespace) -> int:
    """Fit and measure the rule, and print its section of the model card; with `--write`, store both."""
    folder = model_folder(arguments.model)
    source, _, target = (arguments.languages or folder.resolve().name).partition("-")
    if not target:
        raise CommandError(f"{folder.name!r} does not contain a language pair. Add --languages, e.g. de-en.")
    translator = Translator.load(folder, arguments.device)
    reverse = _load_reverse_model(arguments, source, target)
    verdict_files = [*VERDICT_TABLES, HARD_JUDGED, *([arguments.verdicts] if arguments.verdicts else [])]
    verdicts = read_verdicts(verdict_files, f"{source}-{target}")
    if arguments.plain:
        stored_rule = translator.rule
        if not isinstance(stored_rule, FittedRule):
            raise CommandError(f"{folder} has no {RELIABILITY_FILE} to measure. Fit one without --plain.")
        plain = _make_answers(PLAIN, translator, reverse, source, target)
        if not plain:
            raise CommandError(
                f"The plain sentences are in German, English and Chinese, but {folder.name} has another language."
            )
        careless = _make_variants(PLAIN, 1, translator, reverse, source, target)
        _write_unread(arguments.unread, f"{source}-{target}", [*plain, *careless], verdicts)
        print(_format_plain_rows(_measure_plain(stored_rule, plain, verdicts)))
        print(_format_plain_rows(_measure_plain(stored_rule, careless, verdicts), AS_TYPED))
        print(_format_word_for_word([*plain, *careless], verdicts))
        return 0
    pair_groups = (
        [] if arguments.texts else list(_read_everyday_pairs(source, target)),
        list(_read_text_pairs(arguments, source, target)),
    )
    unread_pairs = [
        pair
        for pairs, limit in zip(pair_groups, UNREAD_COUNTS, strict=True)
        for pair in pairs[:: max(1, round(len(pairs) / limit))]
    ]
    # If there are enough verdicts, answers without a verdict add little, because only chrF would label them.
    pairs = (
        unread_pairs
        if len(verdicts) >= MIN_REVIEWED_ANSWERS and not arguments.texts
        else [*pair_groups[0], *pair_groups[1]]
    )
    if len(pairs) < 4 * len(BACK_TRANSLATION_FEATURES):
        raise CommandError(
            f"There are {len(pairs)} sentences, too few to fit {len(BACK_TRANSLATION_FEATURES)} weights."
        )
    plain = _make_answers(PLAIN, translator, reverse, source, target)
    careless = _make_variants(PLAIN, 1, translator, reverse, source, target)
    hard = _make_answers(HARD, translator, reverse, source, target)
    typed = [] if arguments.texts else _make_answers(TYPED, translator, reverse, source, target)
    if typed:
        typed += _make_variants(TYPED, VARIANT_EVERY, translator, reverse, source, target)
    typed = [replace(answer, typed=True) for answer in typed]
    answers = translate_pairs(pairs, translator, reverse)
    chosen_pairs = set(unread_pairs)
    unread_answers = [answer for answer, pair in zip(answers, pairs, strict=True) if pair in chosen_pairs]
    _write_unread(arguments.unread, f"{source}-{target}", [*plain, *careless, *hard, *typed, *unread_answers], verdicts)
    rule = fit_rule([*typed, *answers], source, target, verdicts, arguments.bound)
    measured = {
        **rule.measured,
        "plain": _measure_plain(rule, plain, verdicts),
        "plain_as_typed": _measure_plain(rule, careless, verdicts),
        "hard": _measure_hard(rule, hard, f"{source}-{target}", verdicts),
    }
    rule = replace(rule, measured=measured, weights=weights_digest(folder))
    section = card_section(rule, arguments)
    print(section)
    print(_format_word_for_word([*plain, *careless, *hard, *typed, *answers], verdicts))
    if arguments.write:
        write_file(folder / RELIABILITY_FILE, rule.to_json())
        (folder / "confidence.json").unlink(missing_ok=True)  # the file of an earlier version
        replace_section(folder, "Reliability", section)
        refresh_checksums(folder)
    return 0


def _load_reverse_model(arguments: argparse.Namespace, source: str, target: str) -> Translator | None:
    name = arguments.way_back or (f"{target}-{source}" if f"{target}-{source}" in shipped_models() else "")
    return Translator.load(model_folder(name), arguments.device) if name else None


def _read_text_pairs(arguments: argparse.Namespace, source: str, target: str) -> Iterator[tuple[str, str]]:
    """Yield sentences and references, evenly spaced in each file."""
    language = target if source == "en" else source
    stems = arguments.texts or [str(arguments.data / stem) for stem in TEST_FILES.get(language, ()) if arguments.data]
    if not stems:
        raise CommandError("Name the texts to fit on: --data FOLDER, or --texts STEM …")
    shares = SAMPLE_SHARES if not arguments.texts else (1,) * len(stems)
    for stem, share in zip(stems, shares, strict=True):
        limit = arguments.sentences * share // sum(shares)
        sources, references = read_test(Path(f"{stem}.{source}"), Path(f"{stem}.{target}"))
        step = max(1, len(sources) // max(1, limit))
        yield from list(zip(sources, references, strict=True))[::step][:limit]


def _read_everyday_pairs(source: str, target: str) -> Iterator[tuple[str, str]]:
    """Yield the everyday sentence pairs that are held out of training."""
    for name in EVERYDAY_FILES:
        rows = _read_rows(CORPORA / name)
        if source in rows[0] and target in rows[0]:
            yield from ((row[source], row[target]) for row in rows[::HELD_OUT])


def _read_rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def translate_pairs(
    pairs: Sequence[tuple[str, str]], translator: Translator, reverse: Translator | None
) -> list[Answer]:
    """Translate all sentences with the page's options, and back-translate them with `reverse`."""
    _, lengths = translator.checker.lines(
        [source for source, _ in pairs], translator.checker.options(BACK_TRANSLATION_OPTIONS)
    )
    progress, answers = ProgressLine(len(pairs)), dict[int, Answer]()
    for indices in batches_by_length(lengths, BATCH_TOKENS // int(BACK_TRANSLATION_OPTIONS["beam_size"])):
        translations = translator.translate_batch(
            [pairs[index][0] for index in indices], way_back=reverse, **BACK_TRANSLATION_OPTIONS
        )
        back_translations = back_translate_batch(reverse, translations) if reverse else [None] * len(indices)
        for index, translation, back_translation in zip(indices, translations, back_translations, strict=True):
            answers[index] = Answer(translation, pairs[index][1], back_translation)
        progress.add(len(indices))
    return [answers[index] for index in range(len(pairs))]


# ------------------------------------------------------------ answers with and without verdicts


def _make_answers(
    table: Path, translator: Translator, reverse: Translator | None, source: str, target: str
) -> list[Answer]:
    """Translate the sentences of a table that have both languages."""
    rows = [row for row in _read_rows(table) if row.get(source) and row.get(target)]
    return translate_pairs([(row[source], row[target]) for row in rows], translator, reverse)


def _make_variants(
    table: Path, every: int, translator: Translator, reverse: Translator | None, source: str, target: str
) -> list[Answer]:
    """Translate carelessly typed variants of every n-th sentence of a table."""
    rows = [row for row in _read_rows(table) if row.get(source) and row.get(target)]
    chosen = rows[::every] if source in VARIANTS else []
    variants = [(as_typed(row[source], source, number), row[target]) for number, row in enumerate(chosen)]
    answers = translate_pairs(variants, translator, reverse)
    return [replace(answer, origin=row[source]) for answer, row in zip(answers, chosen, strict=True)]


def _measure_plain(rule: FittedRule, answers: Sequence[Answer], verdicts: Mapping[str, bool]) -> dict[str, Any]:
    """Measure the rule on the plain sentences whose current answers have a verdict."""
    if not answers:
        return {}
    read_answers = [item for item in answers if item.fingerprint in verdicts]
    right = [verdicts[item.fingerprint] for item in read_answers]
    if len(set(right)) < 2:
        return {"read": len(read_answers), "sentences": len(answers)}
    results: dict[str, Any] = {"read": len(read_answers), "sentences": len(answers), "right": sum(right)}
    for name, weights in (("alone", rule.alone), ("with_back", rule.with_back)):
        if weights is None or (name == "with_back" and not any(item.back for item in read_answers)):
            continue
        judgements = [rule.judge(item.translation, item.back if name == "with_back" else None) for item in read_answers]
        probabilities = [item.probability if item and item.probability is not None else 0.0 for item in judgements]
        results[name] = measure(probabilities, right, [item.grade if item else None for item in judgements])
    return results


def _measure_hard(
    rule: FittedRule, answers: Sequence[Answer], direction: str, verdicts: Mapping[str, bool]
) -> dict[str, Any]:
    """Measure the rule on the hard sentences, and count the kinds of mistakes of their current answers."""
    known = read_mistakes(HARD_JUDGED, direction)
    kinds = Counter(known[answer.fingerprint] for answer in answers if answer.fingerprint in known)
    return {**_measure_plain(rule, answers, verdicts), "mistakes": dict(kinds.most_common())}


def _format_word_for_word(answers: Sequence[Answer], verdicts: Mapping[str, bool]) -> str:
    """Format the number of answers that are wrong although their back-translation matches word for word."""
    read_answers = [item for item in answers if item.back and item.fingerprint in verdicts]
    matches = [
        item for item in read_answers if item.back and is_word_for_word(item.translation.source_text, item.back.text)
    ]
    wrong = sum(not verdicts[item.fingerprint] for item in matches)
    return (
        f"Of {len(read_answers):,} answers with a verdict, {len(matches):,} have a back-translation that matches word "
        f"for word; {wrong:,} of them are wrong."
    )


def _write_unread(path: Path | None, direction: str, answers: Sequence[Answer], verdicts: Mapping[str, bool]) -> None:
    """Write the answers without a verdict as a table for `--verdicts`, with an empty verdict column."""
    if path is None:
        return
    lines = ["verdict\tdirection\tfingerprint\tsentence\treference\tanswer\n"]
    lines += [
        f"\t{direction}\t{row.fingerprint}\t{row.translation.source_text}\t{row.reference}\t{row.translation.text}\n"
        for row in answers
        if row.fingerprint not in verdicts
    ]
    write_file(path, "".join(lines))


# ------------------------------------------------------------ the model card


def _format_plain_rows(plain: dict[str, Any], kind: str = "plain sentences") -> str:
    """Format the metrics on the plain sentences as rows of the model card's table."""
    rows = []
    for name, title in (("alone", "alone"), ("with_back", "read back")):
        if name in plain:
            result = plain[name]
            label = f"{kind}, {plain['read']} read, {title}"
            rows.append(_format_row(label, result))
    return "\n".join(rows)


def _format_mistakes(hard: dict[str, Any]) -> str:
    """Format the kinds of mistakes in the answers to the hard sentences as a paragraph of the model card."""
    if not hard.get("mistakes"):
        return ""
    counts = ", ".join(f"{MISTAKES[kind]} {count}" for kind, count in hard["mistakes"].items())
    wrong = sum(hard["mistakes"].values())
    text = f"""Of {hard["read"]} hard sentences (`assets/corpora/{HARD.name}`: pronouns, negations, relative clauses,
    sentences of 30 words), {wrong} are translated wrongly. What is wrong most of all: {counts}."""
    return f"{textwrap.fill(' '.join(text.split()), 120)}\n\n"


def _format_row(label: str, rates: dict[str, Any]) -> str:
    return (
        f"| {label} | {rates['answers']:,} | {rates['answers'] - rates['right']:,} | {rates['area']:.2f} "
        f"| {rates['flagged_wrong']:.0%} | {rates['flagged_right']:.0%} | {rates['calibration_error']:.3f} |"
    )


def card_section(rule: FittedRule, arguments: argparse.Namespace) -> str:
    """Return the section "Reliability" of the model card."""
    metrics = rule.measured
    rows = [
        _format_row(f"{kind}, {title}", result)
        for name, title in (("alone", "alone"), ("with_back", "read back"))
        if name in metrics
        for kind, result in (
            ("held out", metrics[name]),
            ("of these as visitors type", metrics[name].get("typed")),
            ("of these typed carelessly", metrics[name].get("as_typed")),
        )
        if result
    ]
    criterion = f"chrF of {metrics['bound']:g} or more against the reference, with its numbers and names"
    labels = (
        f"{metrics['read']:,} of {metrics['sentences']:,} answers have a verdict of a language model that read them, "
        f"{metrics['right']:.0%} being right; "
        f"of the others, which count for little, chrF says so ({criterion})."
        if metrics["read"]
        else f"Right means: {criterion}. {metrics['right']:.0%} of {metrics['sentences']:,} answers are."
    )
    best = metrics.get("with_back") or metrics["alone"]
    table = "\n".join(f"| {chance:.2f} | {right:.2f} | {answers:,} |" for answers, chance, right in best["calibration"])
    tables = [
        *rows,
        _format_plain_rows(metrics["plain"]),
        _format_plain_rows(metrics["plain_as_typed"], AS_TYPED),
        _format_plain_rows(metrics["hard"], "hard sentences"),
    ]
    texts_option = f" --texts {' '.join(arguments.texts)}" if arguments.texts else " --data DATA"
    back_option = f" --way-back {arguments.way_back}" if arguments.way_back else ""
    text = f"""Each answer gets a probability that it is right, and reasons where it may not be (`{RELIABILITY_FILE}`,
    fitted by logistic regression). {labels} A fifth of the answers is held out from each of five fits and judged by it;
    where the grades begin was chosen on these. The plain sentences were in no fit, but helped to choose what is looked
    at, so take their rows as optimistic. Their answers were judged by reading."""
    return f"""## Reliability

{textwrap.fill(" ".join(text.split()), 120)}

| answers | number | wrong | area under ROC | wrong flagged | right flagged | calibration error |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
{chr(10).join(part for part in tables if part)}

{_format_mistakes(metrics["hard"])}| probability | right | held-out answers |
| ---: | ---: | ---: |
{table}

    python -m headlight reliability --model {Path(arguments.model).name}{texts_option}{back_option} --write
"""
