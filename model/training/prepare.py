"""Preparation of a recipe's data: cleaned and encoded sentences, tokenizers, and a hash of the data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

from headlight.model.checkpoints.checkpoint import SHARED, SOURCE, TARGET
from headlight.model.errors import TrainingError
from headlight.model.files import write_atomically, write_file
from headlight.model.text.cleaning import normalise_review
from headlight.model.text.tokenizer import Tokenizer
from headlight.model.training.batches import RaggedArray, Sentences, SpecialIds
from headlight.model.training.corpora import Cleaner, CleaningReport, CorpusSpec, Pair, read_pairs
from headlight.model.training.noise import noisy_sources
from headlight.model.training.processes import Processes
from headlight.model.training.recipe import Recipe
from headlight.model.training.segmenters import find_segmenter

OnMessage = Callable[[str], None]
EncodeBatch = Callable[[Sequence[str]], list[list[int]]]


@dataclass(frozen=True)
class Tokenizers:
    """Source and target tokenizers, which are one object if the vocabulary is shared."""

    source: Tokenizer
    target: Tokenizer

    @property
    def special(self) -> SpecialIds:
        """The ids of the special tokens around a sentence."""
        source, target = self.source, self.target
        return SpecialIds(target.pad_id, target.start_id, source.end_id, target.end_id)


@dataclass(frozen=True)
class CorpusText:
    """Cleaned pairs of one or several corpora."""

    pairs: list[Pair]
    corpus: list[int]  # corpus index per pair
    weights: tuple[float, ...]  # weight per corpus
    digest: str  # SHA-256 of all pairs in order


def read_corpora(specs: tuple[CorpusSpec, ...], recipe: Recipe, folder: Path, report: OnMessage) -> CorpusText:
    """Read and clean corpora. Report the number of kept pairs and of dropped pairs by reason, for each corpus."""
    cleaner = Cleaner(recipe.cleaning)
    pairs: list[Pair] = []
    corpus: list[int] = []
    for number, spec in enumerate(specs):
        counts = CleaningReport()
        raw = read_pairs(spec, folder)
        if recipe.task == "classification":
            raw = (Pair(normalise_review(pair.source), pair.target) for pair in raw)
        pairs += cleaner.clean(raw, counts)
        corpus += [number] * counts.kept
        report(f"{spec.source} (×{spec.weight:g}): {counts}")
    if not pairs:
        raise TrainingError(
            f"Cleaning dropped all pairs of {', '.join(spec.source for spec in specs)}. Check its limits."
        )
    return CorpusText(pairs, corpus, tuple(spec.weight for spec in specs), cleaner.digest.hexdigest())


def encode(text: CorpusText, tokenizers: Tokenizers) -> Sentences:
    """Encode the pairs as ids in compact arrays."""
    sources = encode_in_parts([pair.source for pair in text.pairs], tokenizers.source.encode_batch)
    targets = encode_in_parts([pair.target for pair in text.pairs], tokenizers.target.encode_batch)
    return Sentences(sources, targets, np.array(text.corpus, dtype=np.int32), text.weights)


def encode_in_parts(texts: list[str], encoder: EncodeBatch, part_size: int = 20_000) -> RaggedArray:
    """Encode texts in parts, because the encodings of the library take a hundred times the memory of the ids."""
    return RaggedArray.concatenate(
        [RaggedArray(encoder(texts[first : first + part_size])) for first in range(0, len(texts), part_size)]
    )


def find_tokenizer_paths(run: Path, recipe: Recipe) -> list[Path]:
    """Return the paths of a run's vocabularies: one if shared, else source and target."""
    names = [SHARED] if recipe.tokenizer.shared else [SOURCE, TARGET]
    return [run / name for name in names]


def load_or_train_tokenizers(run: Path, recipe: Recipe, text: CorpusText, report: OnMessage) -> Tokenizers:
    """Load the run's tokenizers. Missing tokenizers are first copied from `start` or trained on the run's text."""
    paths = find_tokenizer_paths(run, recipe)
    if not all(path.exists() for path in paths):
        copied_paths = paths if recipe.start else []
        if recipe.new_source or recipe.new_target:
            copied_paths = [
                path for path, is_new in zip(paths, (recipe.new_source, recipe.new_target), strict=True) if not is_new
            ]
        for path in copied_paths:
            source = _find_vocabulary_path(Path(recipe.start), path.name)
            if not source.exists():
                raise TrainingError(f"{source} does not exist. Check the recipe's `start` and the current folder.")
            write_file(path, source.read_bytes())
            report(f"{path}: the vocabulary of {recipe.start}")
        _train_tokenizers([path for path in paths if path not in copied_paths], recipe, text, report)
    loaded = [Tokenizer.load(path) for path in paths]
    return Tokenizers(loaded[0], loaded[-1])


def _find_vocabulary_path(folder: Path, name: str) -> Path:
    """Return the path of a model's vocabulary with this name, or of its shared vocabulary."""
    return folder / (name if (folder / name).exists() else SHARED)


def _train_tokenizers(paths: list[Path], recipe: Recipe, text: CorpusText, report: OnMessage) -> None:
    """Train vocabularies, each on the text of its side."""
    source, target = ([pair[side] for pair in text.pairs] for side in (0, 1))
    if recipe.task == "classification":
        target = []  # labels are not words
    lines_by_name = {SHARED: source + target, SOURCE: source, TARGET: target}
    languages = (recipe.source_language, recipe.target_language)
    languages_by_name = {SHARED: languages, SOURCE: languages[:1], TARGET: languages[1:]}
    for path in paths:
        lines, settings = lines_by_name[path.name], recipe.tokenizer
        segment = find_segmenter(languages_by_name[path.name]) if settings.segmented else None
        tokenizer = Tokenizer.train(
            lines, settings.vocabulary, minimum_frequency=settings.minimum_frequency, segment=segment
        )
        write_atomically(path, tokenizer.save)
        report(f"{path}: {tokenizer.vocabulary_size:,} sub-words learnt from {len(lines):,} sentences")


class EpochData:
    """Returns the encoded pairs of an epoch, with noise or BPE dropout on the sources if the recipe has them.

    The BPE dropout of the library has no seed. Its result is therefore stored in the run folder during the epoch, so
    that resumed runs and other processes read the same ids. Noise depends only on seed and epoch, and is recomputed.
    """

    def __init__(
        self,
        text: CorpusText,
        plain: Sentences,
        tokenizers: Tokenizers,
        recipe: Recipe,
        folder: Path,
        processes: Processes,
    ) -> None:
        self.text, self.plain, self.tokenizers, self.recipe = text, plain, tokenizers, recipe
        self.folder, self.processes = folder, processes

    def __call__(self, epoch: int) -> Sentences:
        """Return the encoded pairs of an epoch."""
        recipe, plain, encoder = self.recipe, self.plain, self.tokenizers.source
        dropout, noise = recipe.tokenizer.source_dropout, recipe.noise
        if not dropout and not noise.share:
            return plain
        sources = [pair.source for pair in self.text.pairs]
        noisy_texts = noisy_sources(sources, recipe.source_language, noise.share, recipe.seed, epoch, noise.careless)
        if dropout:
            for row, text in noisy_texts.items():
                sources[row] = text
            noisy_ids = self._store_once(
                epoch, lambda: encode_in_parts(sources, lambda texts: encoder.encode_with_dropout(texts, dropout))
            )
        else:
            encoded = RaggedArray(encoder.encode_batch(list(noisy_texts.values())))
            noisy_ids = plain.source.replace_rows(dict(zip(noisy_texts, encoded, strict=True)))
        return Sentences(noisy_ids, plain.target, plain.corpus, plain.weights)

    def _store_once(self, epoch: int, draw: Callable[[], RaggedArray]) -> RaggedArray:
        """Return the result of `draw` for an epoch. The first process computes it once and stores it."""
        path = self.folder / f"epoch-{epoch:05d}.safetensors"
        if self.processes.first and not path.exists():
            encoded = draw()
            write_atomically(path, lambda part: save_file({"ids": encoded.ids, "starts": encoded.starts}, part))
            # A killed run may resume in the previous epoch, so that file is kept, too.
            for old_path in sorted(self.folder.glob("epoch-*.safetensors"))[:-2]:
                old_path.unlink(missing_ok=True)
        self.processes.barrier()
        arrays = load_file(path)
        return RaggedArray.of_arrays(arrays["ids"], arrays["starts"])
