"""Atlas of a model's heads: the effect of each head over many sentences, and the words that it attends to most.

    {"weights": "31920fe6…", "corpus": "mini.tsv", "sentences": 100, "texts": {"17": "Der Hund …"},
     "heads": {"encoder": [[{"effect": 0.04, "spread": 0.11, "reads": [["Hund", 3.1], …], "deciles": [4, …, 90]}, …],
                           …], "decoder": …, "cross": …}}

Heads are indexed as `heads[kind][layer][head]`. `effect` is the mean predicted loss of a translation without the head,
in nats (`effects.py`), and `spread` its standard deviation between sentences. `reads` lists the words with the
largest lift: their share of the head's weight, divided by their share if each row spread its weight evenly.
`deciles` are indices of ten sentences, from the smallest effect to the largest, and `texts` contains only them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from headlight.model.errors import CommandError
from headlight.model.experiments.effects import compute_sentence_head_effects
from headlight.model.measures.map_reduction import word_groups
from headlight.model.measures.trace_records import Float64Array
from headlight.model.records import KINDS, Kind, Translation
from headlight.model.translate.translator import Translator

MIN_OCCURRENCES = 4  # minimum sentences with a word: rarer words have a large lift by chance
MAX_WORDS = 5  # words in `reads` per head
DECILES = 10


def head_atlas(
    translator: Translator, texts: Sequence[str], corpus: str, on_progress: Callable[[int], None] | None = None
) -> dict[str, Any]:
    """Translate the sentences greedily, and return the values of the atlas."""
    if not texts:
        raise CommandError("There are no sentences to measure. Name a file with some.")
    effects: dict[Kind, list[Float64Array]] = {kind: [] for kind in KINDS}
    word_weights = {kind: WordWeights() for kind in KINDS}
    for text in texts:
        translation = translator.translate(text, beam_size=1)
        for kind, values in compute_sentence_head_effects(translator, translation).items():
            effects[kind].append(values)
            word_weights[kind].add(translation, kind)
        if on_progress:
            on_progress(1)
    heads = {kind: _make_head_entries(np.stack(effects[kind]), word_weights[kind]) for kind in KINDS}
    numbers = {number for layers in heads.values() for layer in layers for head in layer for number in head["deciles"]}
    return {
        "corpus": corpus,
        "sentences": len(texts),
        "texts": {str(number): texts[number] for number in sorted(numbers)},
        "heads": heads,
    }


class WordWeights:
    """The weight of each head on each word, summed over sentences, compared with rows of even weights."""

    def __init__(self) -> None:
        self.weights: dict[str, Float64Array | float] = defaultdict(float)  # word → [layers, heads]
        self.even_weights: dict[str, float] = defaultdict(float)  # word → weight if each row spread it evenly
        self.occurrences: dict[str, int] = defaultdict(int)  # word → number of sentences

    def add(self, translation: Translation, kind: Kind) -> None:
        """Add the maps of a sentence. Special tokens are not words."""
        maps = translation.attention.of(kind).astype(np.float64)  # [layers, heads, queries, keys]
        allowed = translation.attention.allowed(kind).astype(np.float64)  # [queries, keys]
        even = allowed / np.maximum(allowed.sum(axis=1, keepdims=True), 1)
        columns = translation.attention_map(kind, 0, 0).columns
        words = set()
        for group in word_groups(columns):
            word = "".join(columns[index].text for index in group).strip()
            positions = list(group)
            self.weights[word] = self.weights[word] + maps[..., positions].sum(axis=(2, 3))
            self.even_weights[word] += float(even[:, positions].sum())
            words.add(word)
        for word in words:
            self.occurrences[word] += 1

    def find_largest_lifts(self, layer: int, head: int) -> list[list[Any]]:
        """Return the words with the largest lifts above 1, with their lifts."""
        lifts = [
            (float(np.asarray(self.weights[word])[layer, head]) / self.even_weights[word], word)
            for word, count in self.occurrences.items()
            if count >= MIN_OCCURRENCES and self.even_weights[word] > 0
        ]
        largest = sorted(lifts, key=lambda lift: (-lift[0], lift[1]))[:MAX_WORDS]
        return [[word, round(lift, 1)] for lift, word in largest if round(lift, 1) > 1]


def _make_head_entries(effects: Float64Array, word_weights: WordWeights) -> list[list[dict[str, Any]]]:
    """Return the entries of all heads of a kind. `effects`: `[sentences, layers, heads]`."""
    sentences, layers, heads = effects.shape
    ranks = [round(step * (sentences - 1) / (DECILES - 1)) for step in range(DECILES)]
    order = np.argsort(effects, axis=0, kind="stable")
    return [
        [
            {
                "effect": round(float(effects[:, layer, head].mean()), 3),
                "spread": round(float(effects[:, layer, head].std()), 3),
                "reads": word_weights.find_largest_lifts(layer, head),
                "deciles": [int(order[rank, layer, head]) for rank in ranks],
            }
            for head in range(heads)
        ]
        for layer in range(layers)
    ]
