"""A survey measures every head in thousands of sentences: one row per sentence, kind, layer and head.

`survey_batch` is a pure function of a batch of sentences: equal batches give equal rows, whichever process or machine
runs it, and nothing is kept between two. Files, parts and
processes are the business of `survey_files.py`.

A sentence with a translation is read teacher-forced on it; one without is translated greedily. Words are numbered as
`segmentation.py` cuts them. A measure is a name of `STATISTICS`, or a group:

- `roles`: the name of what a head does in this sentence, its share, how much of what a row may see it covers, and the
  share and the chance of each role (`role_previous`, `chance_previous`, …), NaN where a role is impossible.
- `alignment`: against links in Pharaoh format, for both readings of a row: how many words are linked, how many links
  are sure, and of each reading how many of the head's are sure and possible. They add up over sentences to AER.
- `importance`: the log probability, in nats, that the translation loses when this head alone is off.
- `looks`: for each row the key that it looks at most and the weight, so that `survey_search.py` can look for words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headlight.model.errors import CommandError, RequestError, choice_error
from headlight.model.experiments.importance import AttentionPart, all_ablation_losses
from headlight.model.measures.alignment import GoldLinks, count_heads, parse_links
from headlight.model.measures.roles import ROLES, assign_roles, role_shares
from headlight.model.measures.statistics import STATISTICS, measure, measure_all
from headlight.model.records import KINDS, Kind, Token, Translation
from headlight.model.text.gold_links import SegmentedText, parse_segmented
from headlight.model.translate.translator import Translator

MEASURE_GROUPS = ("roles", "alignment", "importance", "looks")
DEFAULT_MEASURES = ("entropy", "roles", "looks")
BATCH_SENTENCES = 16  # sentences of one pass
# Cells of one map over those sentences, estimated as characters / 3: bounds the memory of captured maps.
MAX_CELLS_PER_BATCH = 16 * 40 * 40
LOOK_SCALE = 255  # the number that stands for a weight of one in `looks`
EVERY_ROLE = tuple(dict.fromkeys(name for kind in KINDS for name in ROLES[kind]))
ALIGNMENT_COLUMNS = (
    "linked",
    "sure",
    *(f"{what}_{shift}" for shift in (0, 1) for what in ("right_sure", "right_possible")),
)


@dataclass(frozen=True)
class SurveyLine:
    """One line of a file: its number from 0, its text, and what may go with it."""

    number: int
    source: str
    target: str | None = None
    links: str | None = None  # Pharaoh: "0-0 1?2"


Columns = dict[str, Any]  # name → an array or a list, all of one length


@dataclass(frozen=True)
class SurveyBatch:
    """Rows of a batch: one per head and one per sentence."""

    heads: Columns
    sentences: Columns


def check_measures(names: Sequence[str]) -> tuple[str, ...]:
    """The names in one order, each once."""
    known = (*STATISTICS, *MEASURE_GROUPS)
    for name in names:
        if name not in known:
            raise choice_error("measure", name, known)
    return tuple(name for name in known if name in names)


def survey_batch(translator: Translator, sentences: Sequence[SurveyLine], measures: Sequence[str]) -> SurveyBatch:
    """Measure every head in these sentences. A sentence that cannot be read has no rows, and says why."""
    answers: dict[int, Translation | str] = {}
    for group in _group_sentences(sentences):
        answers |= zip((each.number for each in group), _translate_group(translator, group), strict=True)
    rows: list[Columns] = []
    about: Columns = {name: [] for name in ("sentence", "source", "target", "read", "written", "refused")}
    for sentence in sentences:
        answer = answers[sentence.number]
        refused = answer if isinstance(answer, str) else ""
        if not isinstance(answer, str):
            rows += _rows(translator, sentence, answer, measures)
        about["sentence"].append(sentence.number)
        about["source"].append(sentence.source if isinstance(answer, str) else answer.source_text)
        about["target"].append("" if isinstance(answer, str) else answer.text)
        about["read"].append(
            [] if isinstance(answer, str) else word_per_token(answer.source_tokens, answer.source_text)
        )
        about["written"].append([] if isinstance(answer, str) else word_per_token(answer.target_tokens, answer.text))
        about["refused"].append(refused)
    names = _columns(measures)
    empty = {"kind": np.array([], dtype=object), "role": np.array([], dtype=object)}
    heads: Columns = {
        name: np.concatenate([each[name] for each in rows]) if rows else empty.get(name, np.array([], np.float32))
        for name in names
    }
    return SurveyBatch(heads, about)


def word_per_token(tokens: Sequence[Token], text: str) -> list[str]:
    """The word that each token is part of, as it is written; special tokens stand for themselves."""
    spans: dict[int, tuple[int, int]] = {}
    for token in tokens:
        if token.word is not None:
            start, end = spans.get(token.word, (token.start, token.end))
            spans[token.word] = (min(start, token.start), max(end, token.end))
    return [token.text if token.word is None else text[slice(*spans[token.word])].strip() for token in tokens]


def _columns(measures: Sequence[str]) -> list[str]:
    names = ["sentence", "kind", "layer", "head", *(name for name in measures if name in STATISTICS)]
    if "roles" in measures:
        names += ["role", "share", "coverage", *(f"{of}_{name}" for of in ("role", "chance") for name in EVERY_ROLE)]
    if "alignment" in measures:
        names += ALIGNMENT_COLUMNS
    if "importance" in measures:
        names.append("importance")
    if "looks" in measures:
        names += ["looks_at", "looks_with"]
    return names


def _group_sentences(sentences: Sequence[SurveyLine]) -> Iterator[list[SurveyLine]]:
    """Groups for one pass each: of like length, and either all with a translation or none."""
    order = sorted(sentences, key=lambda each: (each.target is None, len(each.source), each.number))
    group: list[SurveyLine] = []
    for each in order:
        longest = max(len(each.source), len(each.target or "")) / 3 + 2
        mixed = bool(group) and (group[0].target is None) != (each.target is None)
        if group and (mixed or len(group) == BATCH_SENTENCES or (len(group) + 1) * longest**2 > MAX_CELLS_PER_BATCH):
            yield group
            group = []
        group.append(each)
    if group:
        yield group


def _translate_group(translator: Translator, group: Sequence[SurveyLine]) -> list[Translation | str]:
    """Translate a group in one pass, or one by one if one of them is rejected."""
    try:
        requests = [translator.request(each.source, target=each.target, alternatives=0, beam_size=1) for each in group]
        return list(translator.translate_batch(requests))
    except RequestError as error:
        if len(group) == 1:
            return [str(error)]
        return [item for each in group for item in _translate_group(translator, [each])]


def _rows(
    translator: Translator, sentence: SurveyLine, answer: Translation, measures: Sequence[str]
) -> Iterator[Columns]:
    """The rows of one sentence, a kind at a time."""
    gold = _gold(sentence, answer) if "alignment" in measures else None
    for kind in KINDS:
        layers, heads = answer.attention.of(kind).shape[:2]
        layer, head = np.divmod(np.arange(layers * heads), heads)
        results: Columns = {
            "sentence": np.full(layers * heads, sentence.number, dtype=np.int32),
            "kind": np.full(layers * heads, kind, dtype=object),
            "layer": layer.astype(np.int16),
            "head": head.astype(np.int16),
        }
        results |= {name: values.ravel() for name, values in _statistics(answer, kind, measures).items()}
        if "roles" in measures:
            results |= _roles(answer, kind)
        if gold is not None:
            results |= _aligned(answer, kind, *gold)
        if "importance" in measures:
            parts = [(AttentionPart(kind, place // heads, place % heads),) for place in range(layers * heads)]
            results["importance"] = np.array(all_ablation_losses(translator, answer, parts), dtype=np.float32)
        if "looks" in measures:
            results |= _strongest_keys(answer, kind)
        yield results


def _statistics(answer: Translation, kind: Kind, measures: Sequence[str]) -> Columns:
    wanted = [name for name in measures if name in STATISTICS]
    if len(wanted) > 2:
        every = measure_all(answer, kind)
        return {name: every[name] for name in wanted}
    return {name: measure(answer, kind, name) for name in wanted}


def _roles(answer: Translation, kind: Kind) -> Columns:
    shares = role_shares(answer, kind)
    names, values = assign_roles(kind, shares.shares, shares.chances, shares.coverage)
    results: Columns = {"role": names.ravel(), "share": values.ravel().astype(np.float32)}
    results["coverage"] = shares.coverage.ravel()
    for name in EVERY_ROLE:
        place = ROLES[kind].index(name) if name in ROLES[kind] else None
        nothing = np.full(names.size, np.nan, dtype=np.float32)
        results[f"role_{name}"] = nothing if place is None else shares.shares[..., place].ravel()
        results[f"chance_{name}"] = nothing if place is None else np.full_like(nothing, shares.chances[place])
    return results


def _gold(sentence: SurveyLine, answer: Translation) -> tuple[GoldLinks, SegmentedText, SegmentedText]:
    if sentence.target is None or sentence.links is None:
        raise CommandError(
            f"Line {sentence.number + 1} has no {'translation' if sentence.target is None else 'links'}, but alignment "
            "is measured against links: write the sentence, its translation and its links, with tabs between them."
        )
    source, target = parse_segmented(answer.source_text), parse_segmented(answer.text)
    try:
        return parse_links(sentence.links, len(source.spans), len(target.spans)), source, target
    except CommandError as error:
        raise CommandError(f"Line {sentence.number + 1}: {error}") from error


def _aligned(answer: Translation, kind: Kind, gold: GoldLinks, source: SegmentedText, target: SegmentedText) -> Columns:
    count = int(np.prod(answer.attention.of(kind).shape[:2]))
    results: Columns = {name: np.zeros(count, dtype=np.int32) for name in ALIGNMENT_COLUMNS}
    if kind != "cross":
        return results
    tokens = answer.target_tokens, answer.source_tokens
    heads = answer.attention.cross.shape[1]
    counts = count_heads(answer.attention.cross, tokens[0], target.spans, tokens[1], source.spans, gold)
    for (layer, head, shift), errors in counts.items():
        place = layer * heads + head
        results["linked"][place], results["sure"][place] = errors.linked, errors.sure
        results[f"right_sure_{shift}"][place] = errors.linked_and_sure
        results[f"right_possible_{shift}"][place] = errors.linked_and_possible
    return results


def _strongest_keys(answer: Translation, kind: Kind) -> Columns:
    """Of each row the key with the highest weight, as 16-bit numbers, and the weight, as 8-bit ones, in bytes."""
    weights = answer.attention.of(kind)  # [layer, head, row, key]
    flat = weights.reshape(-1, *weights.shape[2:])
    if not flat.size:
        nothing = [b""] * len(flat)
        return {"looks_at": np.array(nothing, dtype=object), "looks_with": np.array(nothing, dtype=object)}
    places = flat.argmax(axis=-1)
    highest = np.take_along_axis(flat, places[..., None], axis=-1)[..., 0]
    at = [row.tobytes() for row in places.astype("<u2")]
    strong = [row.tobytes() for row in np.rint(highest * LOOK_SCALE).astype(np.uint8)]
    return {"looks_at": np.array(at, dtype=object), "looks_with": np.array(strong, dtype=object)}
