"""`headlight effects TEXT --word WORD`: predicted and measured effects of each head on a written word."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import cast

from headlight.model.commands.common import add_decoding, add_model, decoding_options, load
from headlight.model.errors import CommandError
from headlight.model.experiments.effects import HeadEffect, summarise_effects
from headlight.model.experiments.findings import head_name
from headlight.model.experiments.reasons import find_rival, find_token
from headlight.model.records import DEFAULT_TOP, Token, Translation


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("text", metavar="TEXT", help="the sentence to translate")
    parser.add_argument("--word", metavar="WORD", help="a written token (default: each one with its strongest head)")
    parser.add_argument(
        "--rival",
        metavar="WORD",
        help="measure the lead over this token (the first of a word), not the probability",
    )
    parser.add_argument("--target", metavar="TEXT", help="use this translation instead of the model's own")
    parser.add_argument(
        "--top",
        type=int,
        default=DEFAULT_TOP,
        metavar="N",
        help=f"heads to print and measure for --word (default: {DEFAULT_TOP})",
    )
    parser.add_argument("--json", action="store_true", help="print a JSON object instead of text")
    add_model(parser)
    add_decoding(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the heads with their predicted and measured effects, the largest prediction first."""
    if arguments.top < 1:
        raise CommandError(f"--top must be at least 1, not {arguments.top}.")
    translator = load(arguments)
    forced = {} if arguments.target is None else {"target": arguments.target}
    translation = translator.translate(arguments.text, **forced, **decoding_options(arguments))
    if arguments.word is None and arguments.rival is not None:
        raise CommandError("--rival needs --word, the written token that it is compared with.")
    every_word, tokens = arguments.word is None, translation.target_tokens
    positions = range(len(tokens)) if every_word else [find_token(tokens, arguments.word)]
    rival = None if every_word else find_rival(translator.target_tokenizer, arguments.rival, tokens[positions[0]])
    top = 1 if every_word else arguments.top
    summaries = {position: summarise_effects(translator, translation, position, top, rival) for position in positions}
    if arguments.json:
        words = [
            {
                "word": _label(translation.target_tokens[position]),
                "place": position,
                "heads": [asdict(head) for head in summary.strongest],
            }
            for position, summary in summaries.items()
        ]
        values = {"source": translation.source_text, "text": translation.text, "rival": arguments.rival, "unit": "nats"}
        print(json.dumps(values | {"words": words}, ensure_ascii=False))
        return 0
    print(translation.text)
    against = "" if rival is None else f", on the lead over “{translator.target_tokenizer.label(rival).strip()}”"
    print(f"predicted  measured  head  (effects in nats{against})")
    for position, summary in summaries.items():
        for head in summary.strongest:
            print(_format_line(translation, position, head))
    return 0


def _format_line(translation: Translation, position: int, head: HeadEffect) -> str:
    word = _label(translation.target_tokens[position])
    rows = translation.source_tokens if head.kind == "encoder" else translation.target_tokens
    columns = translation.source_tokens if head.kind != "decoder" else (translation.start_token, *rows)
    layer, index = cast("tuple[int, int]", (head.layer, head.head))  # `HeadEffect` is always about a single head
    name = head_name(head.kind, layer, index)
    row, column = _label(rows[head.row]), _label(columns[head.column])
    return (
        f"{head.predicted:+9.3f} {head.measured:+9.3f}  {name} for “{word}”,"
        f" mostly where “{row}” looks at “{column}” ({head.cell:+.3f})"
    )


def _label(token: Token) -> str:
    return token.text.strip()
