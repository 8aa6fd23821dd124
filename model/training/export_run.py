"""Export of a training run as a model folder with averaged weights, vocabularies and a model card."""

from __future__ import annotations

import csv
import json
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import torch

from headlight.model.checkpoints.checkpoint import save_checkpoint
from headlight.model.checkpoints.storage import Storage
from headlight.model.errors import TrainingError
from headlight.model.text.tokenizer import Tokenizer
from headlight.model.training import checkpoints
from headlight.model.training.checkpoints import RunProgress, Tensors
from headlight.model.training.initial_weights import load_start_weights
from headlight.model.training.prepare import Tokenizers, find_tokenizer_paths
from headlight.model.training.recipe import Recipe, load_recipe
from headlight.model.training.tasks import TASKS
from headlight.model.translate import reliability
from headlight.model.translate.reliability import FittedRule

HEADS = "heads.json"  # the alignment heads


def export_run(
    run: Path,
    folder: Path,
    *,
    weights: str = "best",
    storage: Storage = "float16",
    card: str | None = None,
    rule: FittedRule | None = None,
    heads: str | None = None,
    blend: Blend | None = None,
) -> None:
    """Write a model folder from a run.

    Args:
        run: Folder of the run.
        folder: Folder to write.
        weights: `best` or `last` averaged weights, or a number N: the mean of the last N checkpoints.
        storage: Number format of the weights.
        card: Text of the model card; by default name and description of the recipe.
        rule: Reliability rule.
        heads: Content of `heads.json`.
        blend: Another model to interpolate the weights with.
    """
    model, tokenizers, progress = load_run(run, weights)
    recipe = read_recipe(run)
    if blend is not None:
        interpolate_weights(model, recipe, tokenizers, blend)
    other_files = {} if rule is None else {reliability.RELIABILITY_FILE: rule.to_json()}
    if heads is not None:
        other_files[HEADS] = heads
    card = f"# {recipe.name}\n\n{recipe.description}\n" if card is None else card
    card = f"{card.rstrip()}\n\n{format_training_facts(run, progress, weights, storage, blend)}"
    save_checkpoint(
        folder, model, tokenizers.source, tokenizers.target, storage=storage, card=card, extra_files=other_files
    )


class Blend(NamedTuple):
    """Another model, and its share in the exported weights."""

    folder: Path
    share: float


def interpolate_weights(model: Any, recipe: Recipe, tokenizers: Tokenizers, blend: Blend) -> None:
    """Interpolate a model's weights with those of its start model, which may have fewer layers.

    On the text for which the start model was trained, the mean of both is better than either model
    (https://arxiv.org/abs/2109.01903).
    """
    if not 0.0 < blend.share < 1.0:
        raise TrainingError(f"The share of {blend.folder} is {blend.share:g}, but must be between 0 and 1.")
    start_recipe = replace(recipe, start=str(blend.folder), new_source=False, new_target=False, vectors_of_pieces=False)
    start_model = deepcopy(model)
    load_start_weights(start_model, start_recipe, tokenizers)
    with torch.no_grad():
        for parameter, start_parameter in zip(model.parameters(), start_model.parameters(), strict=True):
            parameter.lerp_(start_parameter, blend.share)


def load_run(run: Path, weights: str = "best") -> tuple[Any, Tokenizers, RunProgress]:
    """Load the model of a run with its tokenizers and progress."""
    recipe, tokenizers = read_recipe(run), _read_tokenizers(run)
    tensors, progress = load_weights(run, weights)
    model = TASKS[recipe.task].make_model(recipe, tokenizers)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(tensors[name])
    return model.eval(), tokenizers, progress


def read_recipe(run: Path) -> Recipe:
    """Read the recipe of a run."""
    if not (run / "recipe.json").exists():
        raise TrainingError(f"{run} is not a run folder: recipe.json is missing. Name the --run folder of `train`.")
    return load_recipe(run / "recipe.json")


def load_weights(run: Path, weights: str) -> tuple[Tensors, RunProgress]:
    """Load the averaged weights `best` or `last`, or for a number N the mean of the newest N checkpoints."""
    if weights.isdigit() and int(weights) > 0:
        paths = checkpoints.list_checkpoints(run)[-int(weights) :]
        if len(paths) < int(weights):
            raise TrainingError(f"{run} has {len(paths)} checkpoint(s), too few for the mean of {weights}.")
        loaded = [checkpoints.load_checkpoint(path) for path in paths]
        return checkpoints.average_checkpoints([groups["model"] for groups, _, _ in loaded]), loaded[-1][1]
    if weights not in ("best", "last"):
        raise TrainingError(f"--weights is {weights!r}, but must be best, last, or a number of checkpoints.")
    path = run / f"{weights}.safetensors"
    if not path.exists():
        raise TrainingError(f"{path} does not exist yet. Train until the first validation, or choose other --weights.")
    groups, progress, _ = checkpoints.load_checkpoint(path)
    return groups["model"], progress


def format_training_facts(
    run: Path, progress: RunProgress, weights: str, storage: Storage, blend: Blend | None = None
) -> str:
    """Return the sections of a model card about the run: how to repeat it, and its validation log."""
    recipe = read_recipe(run)
    digest = json.loads((run / "data.json").read_text(encoding="utf-8"))["sha256"]
    corpora = "\n".join(f"| {' + '.join(spec.files)} | {spec.weight:g} |" for spec in recipe.corpora)
    start_lines = f"- begins with the weights of {recipe.start}\n" if recipe.start else ""
    until_option = f" --until {progress.step}" if weights == "last" and not progress.finished else ""
    blend_options = f" \\\n      --blend {blend.folder} --share {blend.share:g}" if blend else ""
    if blend:
        start_lines += f"- of the weights, {blend.share:g} are those of {blend.folder}\n"
    unit = "target tokens" if recipe.task == "translation" else "texts"
    return f"""## How to repeat it

    python -m headlight train assets/recipes/{recipe.name}.json --data DATA --run runs/{recipe.name}{until_option}
    python -m headlight export --run runs/{recipe.name} --weights {weights} --storage {storage} \
--to assets/models/{recipe.name}{blend_options}

{start_lines}- seed {recipe.seed}; these weights: step {progress.step:,}, {progress.tokens:,} {unit}, \
{progress.seconds / 3600:.1f} hours
- SHA-256 of the cleaned training text: `{digest}`

| text | times an epoch |
| --- | --- |
{corpora}

## How it learnt

{_read_validation_curve(run / "validation.csv")}"""


def _read_validation_curve(path: Path, max_rows: int = 12) -> str:
    """Return the validation log as a table of at most `max_rows` evenly spaced rows."""
    if not path.exists():
        return "Nothing was held out to validate with.\n"
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    columns = [name for name in range(len(header)) if header[name] != "seconds"]
    row_indices = sorted({round(index * (len(rows) - 1) / (max_rows - 1)) for index in range(max_rows)}) if rows else []
    lines = [[header[column] for column in columns], ["---"] * len(columns)]
    lines += [[_format_number(rows[index][column]) for column in columns] for index in row_indices]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _format_number(number: str) -> str:
    return number if number.isdigit() else f"{float(number):.3g}"


def _read_tokenizers(run: Path) -> Tokenizers:
    paths = find_tokenizer_paths(run, read_recipe(run))
    loaded = {path: Tokenizer.load(path) for path in paths}
    return Tokenizers(loaded[paths[0]], loaded[paths[-1]])
