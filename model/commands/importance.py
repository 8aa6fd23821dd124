"""`headlight importance TEXT`: the log probability that a translation loses without a head, a layer or an attention.

With `--curve FILE`, it measures the chrF of a corpus as more and more heads are pruned.
"""

from __future__ import annotations

import argparse
import csv
import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from headlight.model.checkpoints.checksums import weights_digest
from headlight.model.commands.common import (
    ProgressLine,
    add_decoding,
    add_model,
    add_sentences,
    decoding_options,
    load,
    model_folder,
)
from headlight.model.errors import CommandError
from headlight.model.experiments.importance import (
    AttentionPart,
    interactions,
    list_all_parts,
    measure_all_ablation_losses,
)
from headlight.model.experiments.pruning import (
    PRUNING_FILE,
    PruningCurve,
    PruningPoint,
    list_pruning_counts,
    measure_points,
    rank_heads,
)
from headlight.model.files import write_file
from headlight.model.records import KINDS
from headlight.model.text.languages import languages_from_name
from headlight.model.training.card_section import refresh_checksums

Pairs = Sequence[tuple[str, str]]


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("text", metavar="TEXT", nargs="?", help="the sentence to translate")
    parser.add_argument("--target", metavar="TEXT", help="measure this translation instead of the model's own")
    parser.add_argument(
        "--top", type=int, default=20, metavar="N", help="print the N largest losses (default: 20; 0 prints all)"
    )
    parser.add_argument(
        "--with",
        dest="interaction_head",
        metavar="KIND.LAYER.HEAD",
        help="print how each head interacts with this one, e.g. cross.0.3: the joint loss minus both single losses",
    )
    parser.add_argument(
        "--curve",
        type=Path,
        metavar="FILE",
        help="measure chrF on a table of sentences while heads are removed; columns are languages",
    )
    parser.add_argument(
        "--languages", metavar="SOURCE-TARGET", help="language columns of the table (default: from the model's name)"
    )
    add_sentences(parser)
    parser.add_argument(
        "--ranked-on",
        type=int,
        default=50,
        metavar="N",
        help="number of sentences used to rank the heads (default: 50)",
    )
    parser.add_argument("--json", action="store_true", help="print a JSON object instead of text")
    parser.add_argument(
        "--write", action="store_true", help=f"store the curve in the model's folder, as {PRUNING_FILE}"
    )
    add_model(parser)
    add_decoding(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the losses, the largest first, and the time of the measurement; or measure a curve."""
    if (arguments.text is None) == (arguments.curve is None):
        raise CommandError("Give either a sentence or --curve FILE.")
    if arguments.curve is not None:
        return _run_curve(arguments)
    translator = load(arguments)
    forced = {} if arguments.target is None else {"target": arguments.target}
    translation = translator.translate(arguments.text, **forced, **decoding_options(arguments))
    parts = list_all_parts(translator.model.config)
    started = time.perf_counter()
    if arguments.interaction_head is None:
        result = measure_all_ablation_losses(translator, translation, [(part,) for part in parts])
        title = "log probability lost (nats)"
    else:
        parts = [part for part in parts if part.head is not None]
        result = interactions(translator, translation, _parse_head(arguments.interaction_head), parts)
        title = f"interaction with {arguments.interaction_head} (nats): the joint loss minus both single losses"
    seconds = time.perf_counter() - started
    order = sorted(range(len(parts)), key=lambda index: -abs(result[index]))[: arguments.top or None]
    if arguments.json:
        losses = [{**asdict(parts[index]), "loss": round(result[index], 6)} for index in order]
        values = {
            "source": translation.source_text,
            "text": translation.text,
            "with": arguments.interaction_head,
            "unit": "nats",
        }
        print(json.dumps(values | {"losses": losses, "measured": len(parts)}, ensure_ascii=False))
        return 0
    print(translation.text)
    print(title)
    for index in order:
        print(f"{result[index]:+9.3f}  {_format_part(parts[index])}")
    print(f"{len(parts)} parts measured in {seconds:.2f} s.")
    return 0


def _run_curve(arguments: argparse.Namespace) -> int:
    """Measure and print a curve; with `--write`, store it in the model's folder."""
    translator, options = load(arguments), decoding_options(arguments)
    pairs = sample_evenly(_read_pairs(arguments), arguments.sentences)
    texts = [text for text, _ in sample_evenly(pairs, arguments.ranked_on)]
    progress = ProgressLine(len(texts))
    ranked = rank_heads(translator, texts, progress.add, **options)
    order = tuple(part for part, _ in ranked)
    show_progress = not arguments.json
    if show_progress:
        print(
            f"{len(pairs)} sentences from {arguments.curve.name}; heads ranked on {len(texts)}, least important first"
        )
        print("heads off  heads left   chrF  sentences unchanged")
    points: list[PruningPoint] = []
    for point in measure_points(translator, pairs, order, list_pruning_counts(len(order)), **options):
        points.append(point)
        if show_progress:
            print(f"{point.off:9}  {len(order) - point.off:10}  {point.chrf:5.1f}  {point.same:19.0%}", flush=True)
    folder = model_folder(arguments.model)
    command = (
        f"headlight importance --curve {arguments.curve.name} --sentences {len(pairs)} --ranked-on {len(texts)}"
        f" --model {folder.name} --beam {options.get('beam_size', 1)}"
    )
    curve = PruningCurve(
        command=command,
        corpus=arguments.curve.name,
        sentences=len(pairs),
        ranked_on=len(texts),
        order=order,
        losses=tuple(loss for _, loss in ranked),
        points=tuple(points),
        weights=weights_digest(folder),
    )
    if arguments.json:
        print(json.dumps(json.loads(curve.to_json()), ensure_ascii=False))
    if arguments.write:
        write_file(folder / PRUNING_FILE, curve.to_json())
        refresh_checksums(folder)
    return 0


def sample_evenly(pairs: Pairs, count: int) -> Pairs:
    """Return `count` evenly spaced pairs, or all if there are fewer."""
    if count < 1:
        raise CommandError(f"The number of sentences must be at least 1, not {count}.")
    count = min(count, len(pairs))
    return [pairs[index * len(pairs) // count] for index in range(count)]


def _read_pairs(arguments: argparse.Namespace) -> Pairs:
    name = arguments.languages or Path(arguments.model).name
    source, _, target = (
        name.partition("-") if arguments.languages else ("-".join(languages_from_name(name))).partition("-")
    )
    with arguments.curve.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    columns = list(rows[0]) if rows else []
    if source not in columns or target not in columns:
        raise CommandError(
            f"{arguments.curve}: there is no column {source!r} or {target!r} among {', '.join(columns) or 'none'}. "
            f"Name two of them with --languages, e.g. de-en."
        )
    return [(row[source], row[target]) for row in rows]


def _format_part(part: AttentionPart) -> str:
    return ".".join(str(field) for field in (part.kind, part.layer, part.head) if field is not None)


def _parse_head(text: str) -> AttentionPart:
    kind, *indices = text.split(".")
    attention_kind = next((attention_kind for attention_kind in KINDS if attention_kind == kind), None)
    if attention_kind is None or len(indices) != 2 or not all(index.isdecimal() for index in indices):
        raise CommandError(f"--with {text!r} is not a head. Write KIND.LAYER.HEAD, counted from 0, such as cross.0.3.")
    return AttentionPart(attention_kind, int(indices[0]), int(indices[1]))
