"""`python -m tests.model.families.shake NAME` finds a `shaken=(seed, factor)` for a shape of `test_exactness.py`.

It prints pairs up to the first with which sentences end at several lengths, both greedily and with the default beam.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.model.families.folders import LENGTHS, SENTENCES, Shaken, token_ids, translator
from tests.model.families.test_exactness import SHAPES

PAIRS: tuple[Shaken, ...] = tuple(product(range(1, 7), (2.0, 3.0, 5.0)))


def count_lengths(name: str, pairs: Sequence[Shaken] = PAIRS) -> Iterator[tuple[Shaken, int]]:
    """Yield each pair with its number of different output lengths: the smaller of greedy and beam search."""
    make, fields = SHAPES[name]
    for shaken in pairs:
        with TemporaryDirectory() as folder:
            ours = translator(make(Path(folder) / "model", **fields | {"shaken": shaken}))
            outputs = [token_ids(ours.translate_batch(SENTENCES, **options)) for options in ({"beam_size": 1}, {})]
        yield shaken, min(len(set(map(len, ids))) for ids in outputs)


def main(arguments: Sequence[str]) -> None:
    """Print the pairs up to the first with enough lengths."""
    parser = argparse.ArgumentParser(prog="python -m tests.model.families.shake", description=__doc__)
    parser.add_argument("name", choices=SHAPES, metavar="NAME", help="a key of SHAPES in test_exactness.py")
    for shaken, lengths in count_lengths(parser.parse_args(arguments).name):
        sys.stdout.write(f"shaken={shaken}: {lengths} {'length' if lengths == 1 else 'lengths'}\n")
        if lengths >= LENGTHS:
            return
    sys.exit(f"None of {len(PAIRS)} pairs gives {LENGTHS} lengths. Change a field of the shape, such as d_model.")


if __name__ == "__main__":
    main(sys.argv[1:])
