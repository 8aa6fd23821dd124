"""The mask of padding, for the lesson on masks: a sentence in a batch with a longer one, so that padding follows it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from headlight.model.experiments.mask_removal import (
    PaddedBatch,
    PaddedResult,
    attention_masks,
    encode_batches,
    translate_padded,
)
from headlight.model.records import BoolArray, FloatArray, Kind
from headlight.viz.errors import PageError
from headlight.viz.lessons.batch_sentences import batch_ids, model_languages, plain_request
from headlight.viz.lessons.experiment import ExperimentInput
from headlight.viz.lessons.result_figures import (
    CurveSeries,
    ExperimentResult,
    Heatmap,
    LinePlot,
    Phrase,
    SideBySide,
    Table,
    TextBlock,
    TextColumns,
    TextPhraseOrNumber,
)
from headlight.viz.token_labels import token_labels

MAX_PADDING, PADDING_STEP = 32, 8  # of padding
MAX_TOKENS = 96  # of the sentence and of its translation: each is read some twenty times
MAX_WRITTEN = 40  # token limit of translations without a mask, which may not end
MASKS = {  # whether the encoder has its mask, and cross-attention
    "both": (True, True),
    "no_cross": (True, False),
    "no_encoder": (False, True),
    "neither": (False, False),
}


def masks_experiment(value: ExperimentInput) -> ExperimentResult:
    """The masks of all three attentions, as the live model's first layers get them."""
    places = value.values["places"]
    sentence, target = ids_if_small(value)
    masks: dict[Kind, BoolArray] = value.run(attention_masks, padded_pair(value, sentence, places), target)
    names = padded_names(value, places)
    written = [label.text for label in token_labels(value.translation.target_tokens)]
    before = [label.text for label in token_labels(value.translation.decoder_tokens)]
    sides: dict[Kind, tuple[list[str], list[str]]] = {
        "encoder": (names, names), "decoder": (written, before), "cross": (written, names),
    }  # fmt: skip
    encoder, decoder, cross = (
        Heatmap(Phrase(f"may_{kind}"), masks[kind].astype(np.float32), *sides[kind], scale="share") for kind in sides
    )
    lines: list[list[TextPhraseOrNumber]] = [
        [Phrase(f"of_{kind}"), f"{masks[kind].shape[0]} × {masks[kind].shape[1]}", str(int(masks[kind].sum()))]
        for kind in sides
    ]
    table = Table(Phrase("pairs"), (Phrase("attention"), Phrase("rows_columns"), Phrase("allowed")), lines)
    numbers: dict[str, TextPhraseOrNumber] = {
        "places": places, "written": len(target),
        "causal": int(masks["decoder"].sum()), "whole": masks["decoder"].size,
    }  # fmt: skip
    return ExperimentResult(
        (SideBySide((encoder, cross)), SideBySide((decoder, table))), numbers, ("padded",) if places else ()
    )


def ids_if_small(value: ExperimentInput) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The ids of the sentence and its translation, if the model and both texts are small enough."""
    _ = value.small_model_info
    sides = value.translation.source_tokens, value.translation.target_tokens
    if max(map(len, sides)) > MAX_TOKENS:
        raise PageError("text", "too_long_to_show")
    sentence, target = (tuple(token.id for token in side) for side in sides)
    return sentence, target


def padded_pair(value: ExperimentInput, sentence: Sequence[int], places: int) -> list[Sequence[int]]:
    """The visitor's sentence and one that is longer by `more` tokens, joined from other sentences."""
    others = [token for each in batch_ids(value) for token in each]
    wanted = len(sentence) + places
    longer = (others * math.ceil(wanted / len(others)))[:wanted]
    return [sentence, longer]


def padded_names(value: ExperimentInput, places: int) -> list[str]:
    """The tokens of the sentence as they are shown, and padding."""
    outline = value.model_info
    return [*value.tokens, *[outline.source_tokenizer.label(outline.model.config.pad_id)] * places]


def padding_experiment(value: ExperimentInput) -> ExperimentResult:
    """The sentence in a batch with a longer one, with all masks of padding and with none."""
    places = value.values["places"]
    sentence, _ = ids_if_small(value)
    counts = sorted({*range(0, MAX_PADDING + 1, PADDING_STEP), places})
    moved = {
        name: max_changes(value, [PaddedBatch(padded_pair(value, sentence, count), *masks) for count in counts])
        for name, masks in (("without", MASKS["neither"]), ("masked", MASKS["both"]))
    }
    without, masked = (each[counts.index(places)] for each in moved.values())
    rows = padded_pair(value, sentence, places)
    batches = PaddedBatch([sentence]), PaddedBatch(rows, *MASKS["both"]), PaddedBatch(rows, *MASKS["neither"])
    by_itself, safe, bare = translate_batches(value, *batches)
    names = padded_names(value, places)
    layer, head = head_with_most_leakage(bare.attention_to_padding)
    heats = [
        Heatmap(
            Phrase(name, {"layer": layer + 1, "head": head + 1}),
            each.weights[layer, head],
            value.tokens,
            names,
            "share",
        )
        for name, each in (("weights_with", safe), ("weights_without", bare))
    ]
    lines = [CurveSeries(Phrase(name), distances) for name, distances in moved.items()]
    texts = written_texts(value, {"alone": by_itself, "batch": safe, "open": bare})
    figures = (
        texts,
        SideBySide(heats),
        LinePlot(Phrase("moved"), counts, lines, Phrase("places"), mark=places, floor=0.0),
    )
    numbers: dict[str, TextPhraseOrNumber] = {
        "places": places, "share": format_mean_percent(bare.attention_to_padding),
        "with": masked, "without": without,
        "log_with": float(safe.log_probabilities.sum()), "log_without": float(bare.log_probabilities.sum()),
    }  # fmt: skip
    stays = bare.written.ids == by_itself.written.ids
    return ExperimentResult(figures, numbers, ("none" if not places else "stays" if stays else "changes",))


def cross_attention_experiment(value: ExperimentInput) -> ExperimentResult:
    """The mask of padding, which two attentions need: each of them without it."""
    places = value.values["places"]
    rows = padded_pair(value, ids_if_small(value)[0], places)
    batches = [PaddedBatch(rows, *masks) for masks in MASKS.values()]
    results = dict(zip(MASKS, translate_batches(value, *batches), strict=True))
    moved = dict(zip(MASKS, max_changes(value, batches), strict=True))
    layer, head = head_with_most_leakage(results["no_cross"].cross_attention_to_padding)
    written = [label.text for label in token_labels(value.translation.target_tokens)]
    names, where = padded_names(value, places), {"layer": layer + 1, "head": head + 1}
    heats = [
        Heatmap(Phrase(f"cross_{name}", where), results[name].cross[layer, head], written, names, "share")
        for name in ("both", "no_cross")
    ]
    lines: list[list[TextPhraseOrNumber]] = [
        [
            Phrase(name),
            moved[name],
            format_mean_percent(each.cross_attention_to_padding),
            float(each.log_probabilities.sum()),
        ]
        for name, each in results.items()
    ]
    table = Table(
        Phrase("four"), (Phrase("masks"), Phrase("vectors_move"), Phrase("cross_leaks"), Phrase("log_p")), lines
    )
    log_with, log_without = (float(results[name].log_probabilities.sum()) for name in ("both", "no_cross"))
    numbers: dict[str, TextPhraseOrNumber] = {
        "places": places, "moved": moved["no_cross"],
        "share": format_mean_percent(results["no_cross"].cross_attention_to_padding), "log_with": log_with,
        "log_without": log_without,
    }  # fmt: skip
    holds = ("none",) if not places else ("rises",) if log_without > log_with else ()
    return ExperimentResult((SideBySide(heats), table, written_texts(value, results)), numbers, holds)


def translate_batches(value: ExperimentInput, *batches: PaddedBatch) -> list[PaddedResult]:
    """The first sentence of each batch, read and translated."""
    _, target = ids_if_small(value)
    request = plain_request(value, value.request.text)
    results: list[PaddedResult] = value.run(translate_padded, request, target, batches, MAX_WRITTEN)
    return results


def written_texts(value: ExperimentInput, found: dict[str, PaddedResult]) -> TextColumns:
    """The translations, side by side."""
    decode, language = value.model_info.target_tokenizer.decode, model_languages(value)[1]
    return TextColumns(
        [TextBlock(Phrase(name), decode(each.written.ids) or "—", language=language) for name, each in found.items()]
    )


def head_with_most_leakage(leaks: FloatArray) -> tuple[int, int]:
    """The layer and head with the largest weight on masked keys; input `[layer, head, query]`."""
    layer, head = np.unravel_index(int(leaks.sum(axis=-1).argmax()), leaks.shape[:2])
    return int(layer), int(head)


def max_changes(value: ExperimentInput, batches: Sequence[PaddedBatch]) -> list[float]:
    """How far any of the encoder's numbers moves at most in each batch, of the sentence alone."""
    sentence, _ = ids_if_small(value)
    alone, *vectors = value.run(encode_batches, [PaddedBatch([sentence]), *batches])
    return [float(np.abs(each - alone).max()) for each in vectors]


def format_mean_percent(shares: FloatArray) -> str:
    """The mean of shares, as text."""
    return f"{shares.mean():.0%}"
