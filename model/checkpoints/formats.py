"""Export of a translation as NPZ, long CSV and JSON, in bytes for commands and the page."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import numpy as np

from headlight.model.records import KINDS, Translation

FORMULA_PREFIXES = ("=", "+", "-", "@", "\t", "\r")


def to_npz(translation: Translation) -> bytes:
    """Return the arrays `encoder`, `decoder`, `cross`, [layer, head, query, key], and the tokens on their axes.

    `decoder_tokens` are the keys of `decoder`: the start token, then the written tokens. `source` and `translation` are
    the texts of the tokens.
    """
    file = io.BytesIO()
    np.savez_compressed(
        file,
        allow_pickle=False,
        **{kind: translation.attention.of(kind) for kind in KINDS},
        source=np.array(translation.source_text),
        translation=np.array(translation.text),
        source_tokens=np.array([token.text for token in translation.source_tokens]),
        target_tokens=np.array([token.text for token in translation.target_tokens]),
        decoder_tokens=np.array([token.text for token in translation.decoder_tokens]),
    )
    return file.getvalue()


def to_long_csv(translation: Translation) -> bytes:
    """Return one row per weight: kind, layer, head, query and key with their indices, weight. Omit masked cells."""
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(["kind", "layer", "head", "query", "query_token", "key", "key_token", "weight"])
    for kind in KINDS:
        layers, heads = translation.attention.of(kind).shape[:2]
        for layer, head in np.ndindex(layers, heads):
            head_map = translation.attention_map(kind, layer, head)
            for row, column in zip(*np.nonzero(head_map.allowed), strict=True):
                names = escape_formula(head_map.rows[row].text), escape_formula(head_map.columns[column].text)
                writer.writerow(
                    [kind, layer, head, row, names[0], column, names[1], f"{head_map.weights[row, column]:.6g}"]
                )
    return file.getvalue().encode()


def to_json(translation: Translation) -> bytes:
    """Return text, tokens with probabilities, and the three arrays as nested lists."""
    content: dict[str, Any] = {
        "source": translation.source_text,
        "translation": translation.text,
        "source_tokens": [token.text for token in translation.source_tokens],
        "target_tokens": [token.text for token in translation.target_tokens],
        "decoder_tokens": [token.text for token in translation.decoder_tokens],
        "probabilities": [token.probability for token in translation.target_tokens],
        **{kind: translation.attention.of(kind).tolist() for kind in KINDS},
    }
    return (json.dumps(content, ensure_ascii=False) + "\n").encode()


def escape_formula(cell: str) -> str:
    """Escape text that a spreadsheet would run as a formula."""
    return "'" + cell if cell.startswith(FORMULA_PREFIXES) else cell
