"""`python -m headlight evaluate`: the scores of a model folder on a test file.

The scores of a translator are BLEU, chrF and speed. Those of a classifier are the accuracy, also per kind if the file
has kinds, and the confusion matrix; `--heads-off` adds the accuracy without each head.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

from headlight.model.commands.common import add_device, add_reverse_model, load_reverse_model, model_folder
from headlight.model.errors import TrainingError
from headlight.model.families.loading import kind_of_folder
from headlight.model.files import write_file
from headlight.model.text.languages import languages_from_name
from headlight.model.training.evaluate import (
    LabelledTexts,
    evaluate_translations,
    make_confusion_matrix,
    read_labelled,
    read_test,
)
from headlight.model.translate.judge import Judge
from headlight.model.translate.reranking import translate_lines
from headlight.model.translate.translator import Translator


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--model", required=True, help="a folder, or a name in assets/models")
    parser.add_argument(
        "--source",
        type=Path,
        required=True,
        help="sentences to translate, one per line; for a classifier a TSV: label, text",
    )
    parser.add_argument("--target", type=Path, help="reference translations (not for a classifier)")
    parser.add_argument("--beam", type=int, default=4, help="beam size (default: 4)")
    parser.add_argument("--length-penalty", type=float, default=1.0, help="scores are divided by length^X (default: 1)")
    parser.add_argument(
        "--no-repeat", type=int, default=0, metavar="N", help="do not repeat N tokens in a row (default: 0, off)"
    )
    add_reverse_model(parser)
    parser.add_argument("--heads-off", action="store_true", help="measure a classifier's accuracy without each head")
    add_device(parser)
    parser.add_argument("--hypotheses", type=Path, help="output file of the translations")
    parser.add_argument("--json", type=Path, help="output file of the scores")


def run(arguments: argparse.Namespace) -> int:
    """Print the scores, and write the files that the options name."""
    arguments.model = model_folder(arguments.model)
    measure = _evaluate_translator if kind_of_folder(arguments.model) == "transformer" else _evaluate_classifier
    report, as_json = measure(arguments)
    print(report)
    if arguments.json:
        write_file(arguments.json, as_json)
    return 0


def _evaluate_translator(arguments: argparse.Namespace) -> tuple[str, str]:
    if arguments.target is None:
        raise TrainingError("--target is missing: name the file of references, one per line.")
    sources, references = read_test(arguments.source, arguments.target)
    translator = Translator.load(arguments.model, arguments.device)
    reverse, reverse_options = load_reverse_model(arguments)
    options = {
        "beam_size": arguments.beam,
        "length_penalty": arguments.length_penalty,
        "no_repeat": arguments.no_repeat,
    } | reverse_options

    def translate(lines: list[str]) -> list[str]:
        if reverse is None:
            return translator.translate_lines(lines, **options)
        return translate_lines(reverse, translator, lines, **options)

    language = translator.languages.target or target_language(arguments.model, arguments.target)
    scores = evaluate_translations(
        translate, sources, references, language=language, hypotheses_path=arguments.hypotheses
    )
    decoding = f"beam {arguments.beam}, length penalty {arguments.length_penalty:g}"
    if reverse is not None:
        decoding += f", read back by {reverse.name} with weight {reverse_options['back_weight']:g}"
    return f"{arguments.model} on {arguments.source}, {decoding}\n{scores}", scores.to_json()


def target_language(folder: Path, references: Path) -> str:
    """Return the target language, from the model's name (`de-en`) or the name of the references (`test.zh.gz`)."""
    languages = languages_from_name(folder.resolve().name)
    return languages[1] if languages else Path(references.name.removesuffix(".gz")).suffix.removeprefix(".")


def _evaluate_classifier(arguments: argparse.Namespace) -> tuple[str, str]:
    labelled = read_labelled(arguments.source)
    judge = Judge.load(arguments.model, arguments.device)
    texts = labelled.texts
    started = time.perf_counter()
    probabilities = judge.probabilities(texts)
    seconds = time.perf_counter() - started
    predictions = _predict_classes(probabilities)
    result = make_confusion_matrix(labelled.labels, predictions, judge.model.config.classes)
    if arguments.hypotheses:
        # With two classes, the second probability implies the first.
        columns = [row[-1:] if len(row) == 2 else row for row in probabilities]
        output_lines = ("\t".join(f"{probability:.4f}" for probability in row) for row in columns)
        write_file(arguments.hypotheses, "".join(f"{line}\n" for line in output_lines))
    speed = f"{len(texts):,} texts in {seconds:.1f} s: {len(texts) / seconds:.0f} texts/s"
    lines = [f"{arguments.model} on {arguments.source}", str(result), *_format_kinds(labelled, predictions), speed]
    if arguments.heads_off:
        lines += _measure_accuracy_without_heads(judge, labelled)
    return "\n".join(lines), result.to_json()


def _predict_classes(probabilities: list[tuple[float, ...]]) -> list[int]:
    return [max(range(len(row)), key=row.__getitem__) for row in probabilities]


def _format_kinds(labelled: LabelledTexts, predictions: list[int]) -> list[str]:
    if not labelled.kinds:
        return []
    return [f"{kind}: {100 * share:.1f}%" for kind, share in labelled.accuracy_by_kind(predictions).items()]


def _measure_accuracy_without_heads(judge: Judge, labelled: LabelledTexts) -> Iterator[str]:
    """Yield lines with the accuracy without each head, whose attention weights are zero."""
    yield "accuracy with one head off"
    config = judge.model.config
    for layer in range(config.layers):
        for head in range(config.heads):
            with judge.without_head(layer, head):
                predictions = _predict_classes(judge.probabilities(labelled.texts))
            accuracy = make_confusion_matrix(labelled.labels, predictions, config.classes).accuracy
            kinds = ", ".join(_format_kinds(labelled, predictions))
            yield f"layer {layer + 1}, head {head + 1}: {100 * accuracy:.1f}%" + (f" ({kinds})" if kinds else "")
