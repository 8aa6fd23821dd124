"""`headlight patch TEXT OTHER`: which activations of one sentence restore its word in another sentence."""

from __future__ import annotations

import argparse
import json

from headlight.model.commands.common import add_decoding, add_model, decoding_options, load
from headlight.model.experiments.findings import head_name
from headlight.model.experiments.patching import Patching, patching
from headlight.model.records import Translation

MAX_LISTED_HEADS = 5


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("text", metavar="TEXT", help="the sentence whose activations are used")
    parser.add_argument("other", metavar="OTHER", help="the sentence whose activations are replaced")
    parser.add_argument("--json", action="store_true", help="print a JSON object instead of text")
    add_model(parser)
    add_decoding(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the restored share of each layer and token of the encoder, and the heads with the largest shares."""
    translator = load(arguments)
    options = decoding_options(arguments)
    translation, other = (translator.translate(text, **options) for text in (arguments.text, arguments.other))
    result = patching(translator, translation, other)
    if arguments.json:
        print(json.dumps(_make_json_values(result, translation, other), ensure_ascii=False))
        return 0
    print(f"{translation.text}\n{other.text}")
    print(f"“{result.word}” leads “{result.other_word}” by {result.lead:+.2f} and by {result.other_lead:+.2f} logits.")
    print("Restored share by layer (rows; first the embedding) and token of the second sentence:")
    labels = [token.text.strip()[:7] for token in other.source_tokens]
    print("      " + " ".join(f"{label:>7}" for label in labels))
    for layer, row in enumerate(result.states):
        print(f"{layer or '':>5} " + " ".join(f"{share:7.2f}" for share in row))
    print("Restored share by head:")
    for kind, layer, head, share in result.largest_heads(MAX_LISTED_HEADS):
        print(f"{share:7.2f} {head_name(kind, layer, head)}")
    return 0


def _make_json_values(result: Patching, translation: Translation, other: Translation) -> dict[str, object]:
    return {
        "text": translation.text,
        "other_text": other.text,
        "word": result.word,
        "other_word": result.other_word,
        "place": result.position,
        "lead": round(result.lead, 6),
        "other_lead": round(result.other_lead, 6),
        "tokens": [token.text for token in other.source_tokens],
        "states": result.states.round(6).tolist(),
        "heads": {kind: table.round(6).tolist() for kind, table in result.heads.items()},
    }
