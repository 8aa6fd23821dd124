"""Initial weights of a run that starts from another model, to which layers or new vocabularies may be added.

A classifier may load only the word vectors of a translator, which was trained on far more text.
"""

from __future__ import annotations

import re
from pathlib import Path

import torch
from torch import Tensor, nn

from headlight.model.checkpoints.reader import CONFIG
from headlight.model.core.classifier import SelfAttentionClassifier
from headlight.model.core.transformer import Transformer
from headlight.model.errors import TrainingError
from headlight.model.families.loading import read_checkpoint
from headlight.model.text.vocabulary import Vocabulary
from headlight.model.training.prepare import Tokenizers
from headlight.model.training.recipe import Recipe

SOURCE_VECTORS = ("encoder.embedding.table.weight",)
TARGET_VECTORS = ("decoder.embedding.table.weight", "decoder.output.words.weight")
LAYER = re.compile(r"\.layers\.\d+\.")
# Output projections of sub-layers, which add to the residual stream.
SUBLAYER_OUTPUT = re.compile(r"attention\.output\.|feed_forward\.narrow\.")


def check_start_exists(recipe: Recipe) -> None:
    """Raise a TrainingError if the folder `start` or `vectors_from` is missing.

    Call this before reading the corpora, which takes minutes.
    """
    for field in ("start", "vectors_from"):
        folder = getattr(recipe, field)
        if folder and not (Path(folder) / CONFIG).is_file():
            raise TrainingError(
                f"{recipe.name} starts from {folder}, but there is no model. Train and export it first, "
                f'or remove "{field}" from the recipe.'
            )


def load_word_vectors(model: SelfAttentionClassifier, recipe: Recipe, tokenizers: Tokenizers) -> None:
    """Load the word vectors of the translator `vectors_from`.

    An entry that the translator lacks gets the mean of the vectors of its pieces. Wider vectors are projected onto
    their principal components, which preserve most differences between words. Vectors are scaled to the mean length of
    the random table, because the lengths of a translator's vectors depend on word frequency.
    """
    translator = read_checkpoint(recipe.vectors_from, Transformer)
    vectors = translator.model.state_dict()[SOURCE_VECTORS[0]].float()  # [entries, width]
    table = model.embedding.table.weight.data  # [vocabulary, d_model]
    if vectors.shape[1] < table.shape[1]:
        raise TrainingError(
            f"{recipe.vectors_from} has word vectors of {vectors.shape[1]} numbers, the recipe's model of "
            f"{table.shape[1]}. Lower d_model to this size."
        )
    centred = vectors - vectors.mean(dim=0)
    directions = torch.linalg.svd(centred, full_matrices=False).Vh[: table.shape[1]]  # [d_model, width]
    projected = centred @ directions.T  # [entries, d_model]
    length = table.norm(dim=1).mean()
    for token_id, pieces in enumerate(map_vocabularies(translator.source_tokenizer, tokenizers.source)):
        if pieces:
            table[token_id] = nn.functional.normalize(projected[pieces].mean(dim=0), dim=0) * length


def load_start_weights(model: nn.Module, recipe: Recipe, tokenizers: Tokenizers) -> None:
    """Load the weights of the recipe's `start`, a model of the same sizes.

    With `norm_first` it may have fewer layers: the additional ones come last and start as the identity. The vectors of
    a new vocabulary are random, or with `vectors_of_pieces` the means of the vectors of their pieces in the old one.
    """
    start = read_checkpoint(recipe.start, type(model))
    weights, initial = start.model.state_dict(), model.state_dict()
    if recipe.new_source:
        _transfer_rows(
            weights,
            initial,
            SOURCE_VECTORS,
            start.source_tokenizer,
            tokenizers.source,
            recipe.vectors_of_pieces,
        )
    if recipe.new_target:
        _transfer_rows(
            weights,
            initial,
            TARGET_VECTORS,
            start.target_tokenizer,
            tokenizers.target,
            recipe.vectors_of_pieces,
        )
    if recipe.model.get("norm_first"):
        weights |= {
            name: _zero_output_projection(name, initial[name])
            for name in initial
            if name not in weights and LAYER.search(name)
        }
    shapes = {name: tuple(tensor.shape) for name, tensor in weights.items()}
    if shapes != {name: tuple(tensor.shape) for name, tensor in initial.items()}:
        raise TrainingError(
            f"{recipe.start} does not have the sizes of the recipe's model. "
            "Only a model with norm_first may have more layers."
        )
    model.load_state_dict(weights)


def _transfer_rows(
    weights: dict[str, Tensor], initial: dict[str, Tensor], names: tuple[str, ...], old: Vocabulary, new: Vocabulary,
    from_pieces: bool,
) -> None:  # fmt: skip
    vectors = initial[names[0]].clone()
    if from_pieces:
        old_vectors = weights[names[0]]
        for token_id, pieces in enumerate(map_vocabularies(old, new)):
            if pieces:
                vectors[token_id] = old_vectors[pieces].mean(dim=0)
    weights |= {name: vectors for name in names if name in initial}


def map_vocabularies(old: Vocabulary, new: Vocabulary) -> list[list[int]]:
    """Return the old ids for each new entry: the id of the equal entry, else those of its pieces, else none."""
    old_ids = {old.label(token_id): token_id for token_id in range(old.vocabulary_size)}
    results: list[list[int]] = []
    for token_id in range(new.vocabulary_size):
        label = new.label(token_id)
        text = new.decode([token_id])
        if label in old_ids:
            results.append([old_ids[label]])
        else:
            results.append([] if "\ufffd" in text else old.encode(text))
    return results


def _zero_output_projection(name: str, tensor: Tensor) -> Tensor:
    """Return the initial weight of an additional layer. Output projections are zero, so the layer is the identity."""
    return torch.zeros_like(tensor) if SUBLAYER_OUTPUT.search(name) else tensor
