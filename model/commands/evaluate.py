"""`python -m model evaluate`: BLEU, chrF and speed of a model folder on a test file."""

from __future__ import annotations

import argparse
from pathlib import Path

from model.training.evaluate import evaluate_translations, read_test
from model.training.files import write_text
from model.translator import Translator


def add(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("--model", type=Path, required=True, help="a model folder")
    parser.add_argument("--source", type=Path, required=True, help="sentences to translate, one a line")
    parser.add_argument("--target", type=Path, required=True, help="their references")
    parser.add_argument("--beam", type=int, default=4, help="(4)")
    parser.add_argument("--length-penalty", type=float, default=1.0, help="(1)")
    parser.add_argument("--no-repeat", type=int, default=0, metavar="N", help="write no run of N tokens twice (0: any)")
    parser.add_argument("--device", help="cuda, mps or cpu (the best there is)")
    parser.add_argument("--hypotheses", type=Path, help="where to write the translations")
    parser.add_argument("--json", type=Path, help="where to write the scores")


def run(arguments: argparse.Namespace) -> int:
    """BLEU, chrF and speed of a model folder on a test file."""
    sources, references = read_test(arguments.source, arguments.target)
    translator = Translator.load(arguments.model, arguments.device)

    def translate(lines: list[str]) -> list[str]:
        return translator.translate_lines(
            lines, beam_size=arguments.beam, length_penalty=arguments.length_penalty, no_repeat=arguments.no_repeat
        )

    scores = evaluate_translations(translate, sources, references, hypotheses_path=arguments.hypotheses)
    decoding = f"beam {arguments.beam}, length penalty {arguments.length_penalty:g}"
    print(f"{arguments.model} on {arguments.source}, {decoding}\n{scores}")
    if arguments.json:
        write_text(arguments.json, scores.to_json())
    return 0
