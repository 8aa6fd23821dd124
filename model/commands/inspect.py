"""`python -m model inspect TEXT --output FILE`: every attention map of one sentence, as NPZ, CSV or JSON."""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from model.commands.common import add_decoding, add_model, decoding_options, load
from model.errors import RequestError
from model.records import KINDS, Translation


def add(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("text", metavar="TEXT", help="the sentence to translate and look at")
    parser.add_argument("--output", required=True, type=Path, metavar="FILE", help="FILE.npz, FILE.csv or FILE.json")
    parser.add_argument("--target", metavar="TEXT", help="look at this translation instead of the model's own")
    parser.add_argument("--prefix", metavar="TEXT", help="begin the translation so")
    add_model(parser)
    add_decoding(parser)


def run(arguments: argparse.Namespace) -> int:
    """Translate, write, and say in one line what was written."""
    write = WRITERS.get(arguments.output.suffix.lower())
    if write is None:
        raise RequestError(f"{arguments.output}: the name must end in {', '.join(WRITERS)}.", field="output")
    if not arguments.output.absolute().parent.is_dir():
        raise RequestError(
            f"{arguments.output}: there is no folder {arguments.output.parent}. Make it first.", field="output"
        )
    given = {name: getattr(arguments, name) for name in ("target", "prefix") if getattr(arguments, name) is not None}
    translation = load(arguments).translate(arguments.text, **given, **decoding_options(arguments))
    write(translation, arguments.output)
    layers, heads, rows, columns = translation.attention.cross.shape
    print(translation.text)
    print(f"{arguments.output}: {layers} × {heads} decoder heads, {rows} tokens written, {columns} read.")
    return 0


def write_npz(translation: Translation, path: Path) -> None:
    """Arrays `encoder`, `decoder`, `cross` [layer, head, query, key], `source_tokens`, `target_tokens`."""
    maps = {kind: translation.attention.of(kind) for kind in KINDS}
    with path.open("wb") as file:  # given a name, NumPy would add another ending to "maps.NPZ"
        np.savez_compressed(
            file,
            allow_pickle=False,
            **maps,
            source_tokens=np.array([token.text for token in translation.source_tokens]),
            target_tokens=np.array([token.text for token in translation.target_tokens]),
        )


def write_csv(translation: Translation, path: Path) -> None:
    """One row a weight: kind, layer, head, query and key with their places, weight. Masked cells are left out."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["kind", "layer", "head", "query", "query_token", "key", "key_token", "weight"])
        for kind in KINDS:
            layers, heads = translation.attention.of(kind).shape[:2]
            for layer, head in np.ndindex(layers, heads):
                one = translation.attention_map(kind, layer, head)
                for row, column in zip(*np.nonzero(one.allowed), strict=True):
                    weight = f"{one.weights[row, column]:.6g}"
                    names = one.rows[row].text, one.columns[column].text
                    writer.writerow([kind, layer, head, row, names[0], column, names[1], weight])


def write_json(translation: Translation, path: Path) -> None:
    """Text, tokens with probabilities, and the three arrays as nested lists."""
    content: dict[str, Any] = {
        "source": translation.source_text,
        "translation": translation.text,
        "source_tokens": [token.text for token in translation.source_tokens],
        "target_tokens": [token.text for token in translation.target_tokens],
        "probabilities": [token.probability for token in translation.target_tokens],
        **{kind: translation.attention.of(kind).tolist() for kind in KINDS},
    }
    path.write_text(json.dumps(content, ensure_ascii=False) + "\n", encoding="utf-8")


WRITERS: dict[str, Callable[[Translation, Path], None]] = {".npz": write_npz, ".csv": write_csv, ".json": write_json}
