"""Writes sentence pairs from templates: a training set and a test set per language pair."""

from __future__ import annotations

from collections.abc import Iterator, Set
from itertools import permutations
from pathlib import Path
from random import Random

from headlight.model.errors import TrainingError
from headlight.model.files import write_file
from headlight.model.training.corpora import Pair
from workshop.data.new_lines import make_fingerprint
from workshop.data.templates import amounts, names, sentences, times
from workshop.data.templates.frames import LANGUAGES, GeneratedPair, Languages, fill

SLOTS = times.SLOTS | amounts.SLOTS | names.SLOTS | sentences.SLOTS
PAIRS: tuple[Languages, ...] = tuple(pair for pair in permutations(LANGUAGES, 2) if "en" in pair)
TRIES = 50  # draws of one new sentence; some frames have few variants


def generate_pairs(languages: Languages, seed: int) -> Iterator[GeneratedPair]:
    """Yield pairs with distinct sources, until 50 draws in a row find no new source. Equal seeds give equal pairs.

    Raises:
        TrainingError: there are no templates for these languages.
    """
    if languages not in PAIRS:
        choices = ", ".join("-".join(pair) for pair in PAIRS)
        raise TrainingError(f"There are no templates for {'-'.join(languages)}. There are some for: {choices}.")
    random = Random(f"{seed} {'-'.join(languages)}")  # noqa: S311  (nothing secret)
    kinds = [
        (kind, [frame for frame in kind.frames if set(languages) <= frame.texts.keys()]) for kind in sentences.KINDS
    ]
    shares = [kind.share for kind, _ in kinds]
    seen: set[str] = set()
    while True:
        for _ in range(TRIES):
            kind, frames = random.choices(kinds, shares)[0]
            generated = fill(kind, random.choice(frames), SLOTS, random, languages)
            if generated.pair.source not in seen:
                break
        else:
            return
        seen.add(generated.pair.source)
        yield generated


def split_pairs(
    languages: Languages, count: int, seed: int, excluded: Set[str] = frozenset()
) -> tuple[list[Pair], list[Pair]]:
    """Return training pairs and test pairs, about a tenth of `count`, without pairs that have a side in `excluded`."""
    train: list[Pair] = []
    test: list[Pair] = []
    targets: set[str] = set()
    for generated in generate_pairs(languages, seed):
        if len(train) + len(test) == count:
            break
        if excluded and not excluded.isdisjoint(map(make_fingerprint, generated.pair)):
            continue
        if generated.held_out:
            test.append(generated.pair)
        else:
            train.append(generated.pair)
            targets.add(generated.pair.target)
    # Two values can have the same form in one language; such a pair is not a valid test.
    sources = {pair.source for pair in train}
    return train, [pair for pair in test if pair.target not in targets and pair.source not in sources]


def write_templates(
    folder: Path, pairs: tuple[Languages, ...], count: int, seed: int, excluded: Set[str] = frozenset()
) -> list[str]:
    """Write `FOLDER/de-en/train.de`, `train.en`, `test.de`, `test.en` and so on. Return one line per language pair."""
    report: list[str] = []
    for languages in pairs:
        splits = dict(zip(("train", "test"), split_pairs(languages, count, seed, excluded), strict=True))
        pair_folder = folder / "-".join(languages)
        pair_folder.mkdir(parents=True, exist_ok=True)
        for name, side_pairs in splits.items():
            for side, language in enumerate(languages):
                write_file(pair_folder / f"{name}.{language}", "".join(f"{pair[side]}\n" for pair in side_pairs))
        report.append(
            f"{pair_folder}: {len(splits['train']):,} pairs to train on, {len(splits['test']):,} to test with"
        )
    return report
