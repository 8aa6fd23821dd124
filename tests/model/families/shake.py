"""`python -m tests.model.families.shake NAME`: the first `shaken` of a shape of `test_exactness.py` that is of use.

With it, sentences end at several lengths, both greedily and with the beam that the folder names.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.model.families.folders import LENGTHS, SENTENCES, Shaken, ids_of, translator
from tests.model.families.test_exactness import SHAPES

PAIRS: tuple[Shaken, ...] = tuple(product(range(1, 7), (2.0, 3.0, 5.0)))


def counts_of_lengths(name: str, pairs: Sequence[Shaken] = PAIRS) -> Iterator[tuple[Shaken, int]]:
    """Each pair with the number of lengths that sentences end at, the smaller of greedy and beam."""
    make, fields = SHAPES[name]
    for shaken in pairs:
        with TemporaryDirectory() as folder:
            ours = translator(make(Path(folder) / "model", **fields | {"shaken": shaken}))
            written = [ids_of(ours.translate_batch(SENTENCES, **options)) for options in ({"beam_size": 1}, {})]
        yield shaken, min(len(set(map(len, ids))) for ids in written)


def main(arguments: Sequence[str]) -> None:
    """Print the pairs that were tried, up to the first that is of use."""
    parser = argparse.ArgumentParser(prog="python -m tests.model.families.shake", description=__doc__)
    parser.add_argument("name", choices=SHAPES, metavar="NAME", help="a key of SHAPES in test_exactness.py")
    for shaken, lengths in counts_of_lengths(parser.parse_args(arguments).name):
        sys.stdout.write(f"shaken={shaken}: {lengths} {'length' if lengths == 1 else 'lengths'}\n")
        if lengths >= LENGTHS:
            return
    sys.exit(f"None of {len(PAIRS)} pairs gives {LENGTHS} lengths. Change a field of the shape, such as d_model.")


if __name__ == "__main__":
    main(sys.argv[1:])
