"""Train the tiny translators of the lesson "Build it yourself": `python -m workshop.build_lesson`.

About 15 minutes on one free core. A second run trains only the variants that the file lacks; `--again` trains all.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import torch

from headlight.model import files
from headlight.model.training.build_lesson import lesson_file, trained
from headlight.model.training.build_lesson.parts import VARIANTS


def main(arguments: Sequence[str] | None = None) -> None:
    """Train the final model and the variants, and write the file after each of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--again", action="store_true", help="train everything again")
    again = parser.parse_args(arguments).again
    torch.set_num_threads(1)
    if again or not lesson_file.FILE.is_file():
        final, right_shares = trained.train_final()
        variants: dict[str, trained.TrainedVariant] = {}
    else:
        known = lesson_file.read_file()
        final, right_shares, variants = known.final, list(known.final_right_shares), dict(known.variants)
    print("final:", right_shares)
    for name, parts in VARIANTS.items():
        if name not in variants:
            variants[name] = trained.train_variant(parts)
            print(name, variants[name].losses, variants[name].right_shares, flush=True)
        files.write_file(lesson_file.FILE, lesson_file.file_text(final, right_shares, variants))


if __name__ == "__main__":
    main()
