"""`headlight scan TEXT`: unusual attention patterns in a translation, tested by intervention."""

from __future__ import annotations

import argparse
import json

from headlight.model.commands.common import add_decoding, add_model, decoding_options, load
from headlight.model.experiments.scan import scan
from headlight.model.phrases import LANGUAGES


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("text", metavar="TEXT", help="the sentence to translate")
    parser.add_argument("--target", metavar="TEXT", help="use this translation instead of the model's own")
    parser.add_argument("--language", choices=LANGUAGES, default="en", help="language of the findings (default: en)")
    parser.add_argument("--json", action="store_true", help="print a JSON object instead of text")
    add_model(parser)
    add_decoding(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the translation, and one sentence per finding."""
    translator = load(arguments)
    forced = {} if arguments.target is None else {"target": arguments.target}
    translation = translator.translate(arguments.text, **forced, **decoding_options(arguments))
    findings = scan(translator, translation)
    if arguments.json:
        values = [finding.values(arguments.language) for finding in findings]
        print(json.dumps({"text": translation.text, "findings": values}, ensure_ascii=False))
        return 0
    print(translation.text)
    for finding in findings:
        print(f"- {finding.sentence(arguments.language)}")
    return 0
