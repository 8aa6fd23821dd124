"""Writes the sentences made by rule: for each pair of languages a file to train on and one to test with."""

from __future__ import annotations

from collections.abc import Iterator, Set
from itertools import permutations
from pathlib import Path
from random import Random

from headlight.model.errors import TrainingError
from headlight.model.training.corpora import Pair
from headlight.model.training.files import write_text
from workshop.data.new_lines import text_fingerprint
from workshop.data.templates import amounts, names, sentences, times
from workshop.data.templates.frames import LANGUAGES, GeneratedPair, Languages, fill

SLOTS = times.SLOTS | amounts.SLOTS | names.SLOTS | sentences.SLOTS
PAIRS: tuple[Languages, ...] = tuple(pair for pair in permutations(LANGUAGES, 2) if "en" in pair)
TRIES = 50  # for one new sentence: some frames have few


def generate_pairs(languages: Languages, seed: int) -> Iterator[GeneratedPair]:
    """Pairs without end, no source twice, no source with two targets: the same ones for the same seed."""
    if languages not in PAIRS:
        known = ", ".join("-".join(pair) for pair in PAIRS)
        raise TrainingError(f"There are no templates for {'-'.join(languages)}. There are some for: {known}.")
    random = Random(f"{seed} {'-'.join(languages)}")  # noqa: S311  (nothing secret)
    kinds = [
        (kind, [frame for frame in kind.frames if set(languages) <= frame.texts.keys()]) for kind in sentences.KINDS
    ]
    shares = [kind.share for kind, _ in kinds]
    seen: set[str] = set()
    while True:
        for _ in range(TRIES):
            kind, frames = random.choices(kinds, shares)[0]
            made = fill(kind, random.choice(frames), SLOTS, random, languages)
            if made.pair.source not in seen:
                break
        else:
            return
        seen.add(made.pair.source)
        yield made


def split_pairs(
    languages: Languages, count: int, seed: int, apart: Set[str] = frozenset()
) -> tuple[list[Pair], list[Pair]]:
    """`count` pairs, split into training and a tenth for testing, without those that have a side in `apart`."""
    train: list[Pair] = []
    test: list[Pair] = []
    targets: set[str] = set()
    for made in generate_pairs(languages, seed):
        if len(train) + len(test) == count:
            break
        if apart and not apart.isdisjoint(map(text_fingerprint, made.pair)):
            continue
        if made.held_out:
            test.append(made.pair)
        else:
            train.append(made.pair)
            targets.add(made.pair.target)
    # Two values can read the same in one language; such a pair is not a test.
    sources = {pair.source for pair in train}
    return train, [pair for pair in test if pair.target not in targets and pair.source not in sources]


def write_templates(
    folder: Path, pairs: tuple[Languages, ...], count: int, seed: int, apart: Set[str] = frozenset()
) -> list[str]:
    """Write `FOLDER/de-en/train.de`, `train.en`, `test.de`, `test.en` and so on; a report, one line a pair."""
    report: list[str] = []
    for languages in pairs:
        parts = dict(zip(("train", "test"), split_pairs(languages, count, seed, apart), strict=True))
        place = folder / "-".join(languages)
        place.mkdir(parents=True, exist_ok=True)
        for name, made in parts.items():
            for side, language in enumerate(languages):
                write_text(place / f"{name}.{language}", "".join(f"{pair[side]}\n" for pair in made))
        report.append(f"{place}: {len(parts['train']):,} pairs to train on, {len(parts['test']):,} to test with")
    return report
