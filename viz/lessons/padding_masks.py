"""Padding masks, for the lesson on masks: a longer sentence in the batch adds padding to the visitor's sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from headlight.model.experiments.mask_removal import (
    PaddedBatch,
    PaddedResult,
    encode_batches,
    make_attention_masks,
    translate_padded,
)
from headlight.model.records import BoolArray, FloatArray, Kind
from headlight.viz.errors import PageError
from headlight.viz.lessons.batch_sentences import find_model_languages, plain_request, tokenize_batch_sentences
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

MAX_PADDING, PADDING_STEP = 32, 8  # padding tokens
MAX_TOKENS = 96  # of the sentence and of its translation, because the model reads both about twenty times
MAX_WRITTEN = 40  # tokens of a translation without a mask, which may never end
MASKS = {  # whether the encoder and cross-attention have a padding mask
    "both": (True, True),
    "no_cross": (True, False),
    "no_encoder": (False, True),
    "neither": (False, False),
}


def run_masks_experiment(inputs: ExperimentInput) -> ExperimentResult:
    """Show the masks of all three attentions, as the first layers of the live model receive them."""
    padding = inputs.values["places"]
    sentence, target = get_ids_if_small(inputs)
    masks: dict[Kind, BoolArray] = inputs.run(make_attention_masks, make_padded_pair(inputs, sentence, padding), target)
    source_labels = make_padded_labels(inputs, padding)
    target_labels = inputs.row_names
    decoder_labels = [label.text for label in token_labels(inputs.translation.decoder_tokens)]
    labels: dict[Kind, tuple[list[str], list[str]]] = {
        "encoder": (source_labels, source_labels), "decoder": (target_labels, decoder_labels),
        "cross": (target_labels, source_labels),
    }  # fmt: skip
    encoder, decoder, cross = (
        Heatmap(Phrase(f"may_{kind}"), masks[kind].astype(np.float32), *labels[kind], scale="share") for kind in labels
    )
    rows: list[list[TextPhraseOrNumber]] = [
        [Phrase(f"of_{kind}"), f"{masks[kind].shape[0]} × {masks[kind].shape[1]}", str(int(masks[kind].sum()))]
        for kind in labels
    ]
    table = Table(Phrase("pairs"), (Phrase("attention"), Phrase("rows_columns"), Phrase("allowed")), rows)
    numbers: dict[str, TextPhraseOrNumber] = {
        "places": padding, "written": len(target),
        "causal": int(masks["decoder"].sum()), "whole": masks["decoder"].size,
    }  # fmt: skip
    return ExperimentResult(
        (SideBySide((encoder, cross)), SideBySide((decoder, table))), numbers, ("padded",) if padding else ()
    )


def get_ids_if_small(inputs: ExperimentInput) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the ids of the sentence and its translation. Raise a `PageError` if the model or a text is too large."""
    _ = inputs.small_model_info
    sides = inputs.translation.source_tokens, inputs.translation.target_tokens
    if max(map(len, sides)) > MAX_TOKENS:
        raise PageError("text", "too_long_to_show")
    sentence, target = (tuple(token.id for token in side) for side in sides)
    return sentence, target


def make_padded_pair(inputs: ExperimentInput, sentence: Sequence[int], padding: int) -> list[Sequence[int]]:
    """Return the visitor's sentence and a sentence longer by `padding` tokens, joined from other sentences."""
    other_ids = [token for sentence_ids in tokenize_batch_sentences(inputs) for token in sentence_ids]
    length = len(sentence) + padding
    longer = (other_ids * math.ceil(length / len(other_ids)))[:length]
    return [sentence, longer]


def make_padded_labels(inputs: ExperimentInput, padding: int) -> list[str]:
    """Return the labels of the sentence's tokens and of the padding."""
    info = inputs.model_info
    return [*inputs.tokens, *[info.source_tokenizer.label(info.model.config.pad_id)] * padding]


def run_padding_experiment(inputs: ExperimentInput) -> ExperimentResult:
    """Translate the sentence in a batch with a longer one, with all padding masks and without any."""
    padding = inputs.values["places"]
    sentence, _ = get_ids_if_small(inputs)
    counts = sorted({*range(0, MAX_PADDING + 1, PADDING_STEP), padding})
    changes = {
        name: find_max_changes(
            inputs, [PaddedBatch(make_padded_pair(inputs, sentence, count), *masks) for count in counts]
        )
        for name, masks in (("without", MASKS["neither"]), ("masked", MASKS["both"]))
    }
    without, masked = (change[counts.index(padding)] for change in changes.values())
    rows = make_padded_pair(inputs, sentence, padding)
    batches = PaddedBatch([sentence]), PaddedBatch(rows, *MASKS["both"]), PaddedBatch(rows, *MASKS["neither"])
    alone, masked_result, unmasked_result = translate_batches(inputs, *batches)
    source_labels = make_padded_labels(inputs, padding)
    layer, head = find_head_with_most_leakage(unmasked_result.attention_to_padding)
    heatmaps = [
        Heatmap(
            Phrase(name, {"layer": layer + 1, "head": head + 1}),
            result.weights[layer, head],
            inputs.tokens,
            source_labels,
            "share",
        )
        for name, result in (("weights_with", masked_result), ("weights_without", unmasked_result))
    ]
    curves = [CurveSeries(Phrase(name), distances) for name, distances in changes.items()]
    texts = make_text_columns(inputs, {"alone": alone, "batch": masked_result, "open": unmasked_result})
    figures = (
        texts,
        SideBySide(heatmaps),
        LinePlot(Phrase("moved"), counts, curves, Phrase("places"), mark=padding, floor=0.0),
    )
    numbers: dict[str, TextPhraseOrNumber] = {
        "places": padding, "share": format_mean_percent(unmasked_result.attention_to_padding),
        "with": masked, "without": without,
        "log_with": float(masked_result.log_probabilities.sum()),
        "log_without": float(unmasked_result.log_probabilities.sum()),
    }  # fmt: skip
    is_unchanged = unmasked_result.output.ids == alone.output.ids
    return ExperimentResult(figures, numbers, ("none" if not padding else "stays" if is_unchanged else "changes",))


def run_cross_attention_experiment(inputs: ExperimentInput) -> ExperimentResult:
    """Compare the four combinations of padding masks in the encoder and in cross-attention."""
    padding = inputs.values["places"]
    rows = make_padded_pair(inputs, get_ids_if_small(inputs)[0], padding)
    batches = [PaddedBatch(rows, *masks) for masks in MASKS.values()]
    results = dict(zip(MASKS, translate_batches(inputs, *batches), strict=True))
    changes = dict(zip(MASKS, find_max_changes(inputs, batches), strict=True))
    layer, head = find_head_with_most_leakage(results["no_cross"].cross_attention_to_padding)
    target_labels = inputs.row_names
    source_labels, position = make_padded_labels(inputs, padding), {"layer": layer + 1, "head": head + 1}
    heatmaps = [
        Heatmap(
            Phrase(f"cross_{name}", position), results[name].cross[layer, head], target_labels, source_labels, "share"
        )
        for name in ("both", "no_cross")
    ]
    table_rows: list[list[TextPhraseOrNumber]] = [
        [
            Phrase(name),
            changes[name],
            format_mean_percent(result.cross_attention_to_padding),
            float(result.log_probabilities.sum()),
        ]
        for name, result in results.items()
    ]
    table = Table(
        Phrase("four"), (Phrase("masks"), Phrase("vectors_move"), Phrase("cross_leaks"), Phrase("log_p")), table_rows
    )
    log_with, log_without = (float(results[name].log_probabilities.sum()) for name in ("both", "no_cross"))
    numbers: dict[str, TextPhraseOrNumber] = {
        "places": padding, "moved": changes["no_cross"],
        "share": format_mean_percent(results["no_cross"].cross_attention_to_padding), "log_with": log_with,
        "log_without": log_without,
    }  # fmt: skip
    facts = ("none",) if not padding else ("rises",) if log_without > log_with else ()
    return ExperimentResult((SideBySide(heatmaps), table, make_text_columns(inputs, results)), numbers, facts)


def translate_batches(inputs: ExperimentInput, *batches: PaddedBatch) -> list[PaddedResult]:
    """Encode and translate the first sentence of each batch."""
    _, target = get_ids_if_small(inputs)
    request = plain_request(inputs, inputs.request.text)
    results: list[PaddedResult] = inputs.run(translate_padded, request, target, batches, MAX_WRITTEN)
    return results


def make_text_columns(inputs: ExperimentInput, results: dict[str, PaddedResult]) -> TextColumns:
    """Return the translations side by side."""
    decode, language = inputs.model_info.target_tokenizer.decode, find_model_languages(inputs)[1]
    return TextColumns(
        [
            TextBlock(Phrase(name), decode(result.output.ids) or "—", language=language)
            for name, result in results.items()
        ]
    )


def find_head_with_most_leakage(leaks: FloatArray) -> tuple[int, int]:
    """Return the layer and head with the largest weight on masked keys; `leaks` is `[layer, head, query]`."""
    layer, head = np.unravel_index(int(leaks.sum(axis=-1).argmax()), leaks.shape[:2])
    return int(layer), int(head)


def find_max_changes(inputs: ExperimentInput, batches: Sequence[PaddedBatch]) -> list[float]:
    """Return, per batch, the largest difference from the encoder output of the sentence without a batch."""
    sentence, _ = get_ids_if_small(inputs)
    alone, *vectors = inputs.run(encode_batches, [PaddedBatch([sentence]), *batches])
    return [float(np.abs(batch_vectors - alone).max()) for batch_vectors in vectors]


def format_mean_percent(shares: FloatArray) -> str:
    """Format the mean of shares as a percentage."""
    return f"{shares.mean():.0%}"
