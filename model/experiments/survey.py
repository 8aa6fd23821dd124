"""A survey measures every head in thousands of sentences: one row per sentence, kind, layer and head.

`survey_batch` is a pure function of a batch of sentences: equal batches give equal rows in every process and on every
machine. `survey_files.py` handles files, parts and processes.

A sentence with a translation is teacher-forced on it; one without is translated greedily. Words are segmented by
`segmentation.py`. A measure is a name of `STATISTICS`, or a group:

- `roles`: the role of a head in the sentence, the share of the role, the head's coverage of the visible keys, and the
  share and the chance of each role (`role_previous`, `chance_previous`, …), NaN if a role is impossible.
- `alignment`: counts against links in Pharaoh format: linked words, sure links, and for both readings of a row the sure
  and the possible links of the head. The sums over sentences give the alignment error rate.
- `importance`: the log probability, in nats, that the translation loses if this head is ablated.
- `looks`: the key with the highest weight in each row, and the weight, so that `survey_search.py` can find words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headlight.model.errors import CommandError, RequestError, choice_error
from headlight.model.experiments.importance import AttentionPart, measure_all_ablation_losses
from headlight.model.measures.alignment import GoldLinks, count_head_errors, parse_links
from headlight.model.measures.roles import ROLES, assign_roles, role_shares
from headlight.model.measures.statistics import STATISTICS, measure, measure_all
from headlight.model.records import KINDS, Kind, Token, Translation
from headlight.model.text.gold_links import SegmentedText, parse_segmented
from headlight.model.translate.translator import Translator

MEASURE_GROUPS = ("roles", "alignment", "importance", "looks")
DEFAULT_MEASURES = ("entropy", "roles", "looks")
BATCH_SENTENCES = 16  # sentences per pass
# Cells of one map over a batch, which limit the memory of captured maps. Token counts are estimated as characters / 3.
MAX_CELLS_PER_BATCH = 16 * 40 * 40
LOOK_SCALE = 255  # stored value of a weight of 1 in `looks`
EVERY_ROLE = tuple(dict.fromkeys(name for kind in KINDS for name in ROLES[kind]))
ALIGNMENT_COLUMNS = (
    "linked",
    "sure",
    *(f"{count_name}_{shift}" for shift in (0, 1) for count_name in ("right_sure", "right_possible")),
)


@dataclass(frozen=True)
class SurveyLine:
    """A line of a file: its number from 0, its text, and an optional translation and links."""

    number: int
    source: str
    target: str | None = None
    links: str | None = None  # Pharaoh: "0-0 1?2"


Columns = dict[str, Any]  # name → array or list; all have the same length


@dataclass(frozen=True)
class SurveyBatch:
    """The tables of a batch: one row per head of each sentence, and one row per sentence."""

    heads: Columns
    sentences: Columns


def check_measures(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names in canonical order, without duplicates; reject unknown ones."""
    valid_names = (*STATISTICS, *MEASURE_GROUPS)
    for name in names:
        if name not in valid_names:
            raise choice_error("measure", name, valid_names)
    return tuple(name for name in valid_names if name in names)


def survey_batch(translator: Translator, sentences: Sequence[SurveyLine], measures: Sequence[str]) -> SurveyBatch:
    """Measure every head in these sentences. An invalid sentence has no rows of heads, and its error in `refused`."""
    answers: dict[int, Translation | str] = {}
    for group in _group_sentences(sentences):
        answers |= zip((item.number for item in group), _translate_group(translator, group), strict=True)
    rows: list[Columns] = []
    sentence_columns: Columns = {name: [] for name in ("sentence", "source", "target", "read", "written", "refused")}
    for sentence in sentences:
        answer = answers[sentence.number]
        refused = answer if isinstance(answer, str) else ""
        if not isinstance(answer, str):
            rows += _measure_rows(translator, sentence, answer, measures)
        sentence_columns["sentence"].append(sentence.number)
        sentence_columns["source"].append(sentence.source if isinstance(answer, str) else answer.source_text)
        sentence_columns["target"].append("" if isinstance(answer, str) else answer.text)
        sentence_columns["read"].append(
            [] if isinstance(answer, str) else word_per_token(answer.source_tokens, answer.source_text)
        )
        sentence_columns["written"].append(
            [] if isinstance(answer, str) else word_per_token(answer.target_tokens, answer.text)
        )
        sentence_columns["refused"].append(refused)
    names = _list_column_names(measures)
    empty = {"kind": np.array([], dtype=object), "role": np.array([], dtype=object)}
    heads: Columns = {
        name: np.concatenate([item[name] for item in rows]) if rows else empty.get(name, np.array([], np.float32))
        for name in names
    }
    return SurveyBatch(heads, sentence_columns)


def word_per_token(tokens: Sequence[Token], text: str) -> list[str]:
    """Return the word of each token. The word of a special token is the text of the token."""
    spans: dict[int, tuple[int, int]] = {}
    for token in tokens:
        if token.word is not None:
            start, end = spans.get(token.word, (token.start, token.end))
            spans[token.word] = (min(start, token.start), max(end, token.end))
    return [token.text if token.word is None else text[slice(*spans[token.word])].strip() for token in tokens]


def _list_column_names(measures: Sequence[str]) -> list[str]:
    names = ["sentence", "kind", "layer", "head", *(name for name in measures if name in STATISTICS)]
    if "roles" in measures:
        names += [
            "role",
            "share",
            "coverage",
            *(f"{prefix}_{name}" for prefix in ("role", "chance") for name in EVERY_ROLE),
        ]
    if "alignment" in measures:
        names += ALIGNMENT_COLUMNS
    if "importance" in measures:
        names.append("importance")
    if "looks" in measures:
        names += ["looks_at", "looks_with"]
    return names


def _group_sentences(sentences: Sequence[SurveyLine]) -> Iterator[list[SurveyLine]]:
    """Yield groups that share a pass: their lengths are similar, and all or none of their lines have a translation."""
    ordered = sorted(sentences, key=lambda line: (line.target is None, len(line.source), line.number))
    group: list[SurveyLine] = []
    for line in ordered:
        longest = max(len(line.source), len(line.target or "")) / 3 + 2
        mixed = bool(group) and (group[0].target is None) != (line.target is None)
        if group and (mixed or len(group) == BATCH_SENTENCES or (len(group) + 1) * longest**2 > MAX_CELLS_PER_BATCH):
            yield group
            group = []
        group.append(line)
    if group:
        yield group


def _translate_group(translator: Translator, group: Sequence[SurveyLine]) -> list[Translation | str]:
    """Translate a group in one pass, or one by one if a sentence is invalid; its result is then the error message."""
    try:
        requests = [translator.request(line.source, target=line.target, alternatives=0, beam_size=1) for line in group]
        return list(translator.translate_batch(requests))
    except RequestError as error:
        if len(group) == 1:
            return [str(error)]
        return [answer for line in group for answer in _translate_group(translator, [line])]


def _measure_rows(
    translator: Translator, sentence: SurveyLine, answer: Translation, measures: Sequence[str]
) -> Iterator[Columns]:
    """Yield the rows of one sentence, one kind of attention at a time."""
    gold = _parse_gold(sentence, answer) if "alignment" in measures else None
    for kind in KINDS:
        layers, heads = answer.attention.of(kind).shape[:2]
        layer, head = np.divmod(np.arange(layers * heads), heads)
        results: Columns = {
            "sentence": np.full(layers * heads, sentence.number, dtype=np.int32),
            "kind": np.full(layers * heads, kind, dtype=object),
            "layer": layer.astype(np.int16),
            "head": head.astype(np.int16),
        }
        results |= {name: values.ravel() for name, values in _measure_statistics(answer, kind, measures).items()}
        if "roles" in measures:
            results |= _measure_roles(answer, kind)
        if gold is not None:
            results |= _count_alignment(answer, kind, *gold)
        if "importance" in measures:
            parts = [(AttentionPart(kind, index // heads, index % heads),) for index in range(layers * heads)]
            results["importance"] = np.array(measure_all_ablation_losses(translator, answer, parts), dtype=np.float32)
        if "looks" in measures:
            results |= _find_strongest_keys(answer, kind)
        yield results


def _measure_statistics(answer: Translation, kind: Kind, measures: Sequence[str]) -> Columns:
    names = [name for name in measures if name in STATISTICS]
    if len(names) > 2:
        statistics = measure_all(answer, kind)
        return {name: statistics[name] for name in names}
    return {name: measure(answer, kind, name) for name in names}


def _measure_roles(answer: Translation, kind: Kind) -> Columns:
    shares = role_shares(answer, kind)
    names, values = assign_roles(kind, shares.shares, shares.chances, shares.coverage)
    results: Columns = {"role": names.ravel(), "share": values.ravel().astype(np.float32)}
    results["coverage"] = shares.coverage.ravel()
    for name in EVERY_ROLE:
        index = ROLES[kind].index(name) if name in ROLES[kind] else None
        missing = np.full(names.size, np.nan, dtype=np.float32)
        results[f"role_{name}"] = missing if index is None else shares.shares[..., index].ravel()
        results[f"chance_{name}"] = missing if index is None else np.full_like(missing, shares.chances[index])
    return results


def _parse_gold(sentence: SurveyLine, answer: Translation) -> tuple[GoldLinks, SegmentedText, SegmentedText]:
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


def _count_alignment(
    answer: Translation, kind: Kind, gold: GoldLinks, source: SegmentedText, target: SegmentedText
) -> Columns:
    count = int(np.prod(answer.attention.of(kind).shape[:2]))
    results: Columns = {name: np.zeros(count, dtype=np.int32) for name in ALIGNMENT_COLUMNS}
    if kind != "cross":
        return results
    tokens = answer.target_tokens, answer.source_tokens
    heads = answer.attention.cross.shape[1]
    counts = count_head_errors(answer.attention.cross, tokens[0], target.spans, tokens[1], source.spans, gold)
    for (layer, head, shift), errors in counts.items():
        index = layer * heads + head
        results["linked"][index], results["sure"][index] = errors.linked, errors.sure
        results[f"right_sure_{shift}"][index] = errors.linked_and_sure
        results[f"right_possible_{shift}"][index] = errors.linked_and_possible
    return results


def _find_strongest_keys(answer: Translation, kind: Kind) -> Columns:
    """Return the key with the highest weight per row, as bytes of 16-bit numbers, and the weights, as 8-bit ones."""
    weights = answer.attention.of(kind)  # [layer, head, row, key]
    flat = weights.reshape(-1, *weights.shape[2:])
    if not flat.size:
        empty = [b""] * len(flat)
        return {"looks_at": np.array(empty, dtype=object), "looks_with": np.array(empty, dtype=object)}
    keys = flat.argmax(axis=-1)
    highest = np.take_along_axis(flat, keys[..., None], axis=-1)[..., 0]
    key_bytes = [row.tobytes() for row in keys.astype("<u2")]
    weight_bytes = [row.tobytes() for row in np.rint(highest * LOOK_SCALE).astype(np.uint8)]
    return {"looks_at": np.array(key_bytes, dtype=object), "looks_with": np.array(weight_bytes, dtype=object)}
