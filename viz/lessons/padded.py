"""The mask of padding, for the lesson on masks: a sentence in a batch with a longer one, so that padding follows it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from headlight.model.experiments.masking import Padded, PaddedBatch, encode_batches, masks_of, translate_padded
from headlight.model.records import BoolArray, FloatArray, Kind
from headlight.viz.errors import PageError
from headlight.viz.labels import labels
from headlight.viz.lessons.drawn import Beside, Cell, Found, Heat, Line, Lines, Say, Table, Text, Texts
from headlight.viz.lessons.experiment import Given
from headlight.viz.lessons.neighbours import languages_of, neighbours, plain_request

MOST_PLACES, PLACES_APART = 32, 8  # of padding
MOST_TOKENS = 96  # of the sentence and of its translation: each is read some twenty times
MOST_WRITTEN = 40  # token limit of translations without a mask, which may not end
MASKS = {  # whether the encoder has its mask, and cross-attention
    "both": (True, True),
    "no_cross": (True, False),
    "no_encoder": (False, True),
    "neither": (False, False),
}


def drawn(given: Given) -> Found:
    """The masks of all three attentions, as the live model's first layers get them."""
    places = given.values["places"]
    sentence, target = few_tokens(given)
    masks: dict[Kind, BoolArray] = given.run(masks_of, together(given, sentence, places), target)
    names = padded_names(given, places)
    written = [label.text for label in labels(given.translation.target_tokens)]
    before = [label.text for label in labels(given.translation.decoder_tokens)]
    sides: dict[Kind, tuple[list[str], list[str]]] = {
        "encoder": (names, names), "decoder": (written, before), "cross": (written, names),
    }  # fmt: skip
    encoder, decoder, cross = (
        Heat(Say(f"may_{kind}"), masks[kind].astype(np.float32), *sides[kind], scale="share") for kind in sides
    )
    lines: list[list[Cell]] = [
        [Say(f"of_{kind}"), f"{masks[kind].shape[0]} × {masks[kind].shape[1]}", str(int(masks[kind].sum()))]
        for kind in sides
    ]
    table = Table(Say("pairs"), (Say("attention"), Say("rows_columns"), Say("allowed")), lines)
    numbers: dict[str, Cell] = {
        "places": places, "written": len(target),
        "causal": int(masks["decoder"].sum()), "whole": masks["decoder"].size,
    }  # fmt: skip
    return Found((Beside((encoder, cross)), Beside((decoder, table))), numbers, ("padded",) if places else ())


def few_tokens(given: Given) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The ids of the sentence and its translation, if the model and both texts are small enough."""
    _ = given.small_outline
    sides = given.translation.source_tokens, given.translation.target_tokens
    if max(map(len, sides)) > MOST_TOKENS:
        raise PageError("text", "too_long_to_show")
    sentence, target = (tuple(token.id for token in side) for side in sides)
    return sentence, target


def together(given: Given, sentence: Sequence[int], places: int) -> list[Sequence[int]]:
    """The visitor's sentence and one that is longer by `more` tokens, joined from other sentences."""
    others = [token for each in neighbours(given) for token in each]
    wanted = len(sentence) + places
    longer = (others * math.ceil(wanted / len(others)))[:wanted]
    return [sentence, longer]


def padded_names(given: Given, places: int) -> list[str]:
    """The tokens of the sentence as they are shown, and padding."""
    outline = given.outline
    return [*given.tokens, *[outline.source_tokenizer.label(outline.model.config.pad_id)] * places]


def padding(given: Given) -> Found:
    """The sentence in a batch with a longer one, with all masks of padding and with none."""
    places = given.values["places"]
    sentence, _ = few_tokens(given)
    counts = sorted({*range(0, MOST_PLACES + 1, PLACES_APART), places})
    moved = {
        name: moves(given, [PaddedBatch(together(given, sentence, count), *masks) for count in counts])
        for name, masks in (("without", MASKS["neither"]), ("masked", MASKS["both"]))
    }
    without, masked = (each[counts.index(places)] for each in moved.values())
    rows = together(given, sentence, places)
    batches = PaddedBatch([sentence]), PaddedBatch(rows, *MASKS["both"]), PaddedBatch(rows, *MASKS["neither"])
    by_itself, safe, bare = translated(given, *batches)
    names = padded_names(given, places)
    layer, head = largest(bare.leaks)
    heats = [
        Heat(Say(name, {"layer": layer + 1, "head": head + 1}), each.weights[layer, head], given.tokens, names, "share")
        for name, each in (("weights_with", safe), ("weights_without", bare))
    ]
    lines = [Line(Say(name), distances) for name, distances in moved.items()]
    texts = written_texts(given, {"alone": by_itself, "batch": safe, "open": bare})
    figures = (texts, Beside(heats), Lines(Say("moved"), counts, lines, Say("places"), mark=places, floor=0.0))
    numbers: dict[str, Cell] = {
        "places": places, "share": percent(bare.leaks),
        "with": masked, "without": without,
        "log_with": float(safe.log_probabilities.sum()), "log_without": float(bare.log_probabilities.sum()),
    }  # fmt: skip
    stays = bare.written.ids == by_itself.written.ids
    return Found(figures, numbers, ("none" if not places else "stays" if stays else "changes",))


def crossing(given: Given) -> Found:
    """The mask of padding, which two attentions need: each of them without it."""
    places = given.values["places"]
    rows = together(given, few_tokens(given)[0], places)
    batches = [PaddedBatch(rows, *masks) for masks in MASKS.values()]
    found = dict(zip(MASKS, translated(given, *batches), strict=True))
    moved = dict(zip(MASKS, moves(given, batches), strict=True))
    layer, head = largest(found["no_cross"].cross_leaks)
    written = [label.text for label in labels(given.translation.target_tokens)]
    names, where = padded_names(given, places), {"layer": layer + 1, "head": head + 1}
    heats = [
        Heat(Say(f"cross_{name}", where), found[name].cross[layer, head], written, names, "share")
        for name in ("both", "no_cross")
    ]
    lines: list[list[Cell]] = [
        [Say(name), moved[name], percent(each.cross_leaks), float(each.log_probabilities.sum())]
        for name, each in found.items()
    ]
    table = Table(Say("four"), (Say("masks"), Say("vectors_move"), Say("cross_leaks"), Say("log_p")), lines)
    log_with, log_without = (float(found[name].log_probabilities.sum()) for name in ("both", "no_cross"))
    numbers: dict[str, Cell] = {
        "places": places, "moved": moved["no_cross"],
        "share": percent(found["no_cross"].cross_leaks), "log_with": log_with, "log_without": log_without,
    }  # fmt: skip
    holds = ("none",) if not places else ("rises",) if log_without > log_with else ()
    return Found((Beside(heats), table, written_texts(given, found)), numbers, holds)


def translated(given: Given, *batches: PaddedBatch) -> list[Padded]:
    """The first sentence of each batch, read and translated."""
    _, target = few_tokens(given)
    request = plain_request(given, given.request.text)
    found: list[Padded] = given.run(translate_padded, request, target, batches, MOST_WRITTEN)
    return found


def written_texts(given: Given, found: dict[str, Padded]) -> Texts:
    """The translations, side by side."""
    decode, language = given.outline.target_tokenizer.decode, languages_of(given)[1]
    return Texts([Text(Say(name), decode(each.written.ids) or "—", language=language) for name, each in found.items()])


def largest(leaks: FloatArray) -> tuple[int, int]:
    """The layer and head with the largest weight on masked keys; input `[layer, head, query]`."""
    layer, head = np.unravel_index(int(leaks.sum(axis=-1).argmax()), leaks.shape[:2])
    return int(layer), int(head)


def moves(given: Given, batches: Sequence[PaddedBatch]) -> list[float]:
    """How far any of the encoder's numbers moves at most in each batch, of the sentence alone."""
    sentence, _ = few_tokens(given)
    alone, *vectors = given.run(encode_batches, [PaddedBatch([sentence]), *batches])
    return [float(np.abs(each - alone).max()) for each in vectors]


def percent(shares: FloatArray) -> str:
    """The mean of shares, as text."""
    return f"{shares.mean():.0%}"
