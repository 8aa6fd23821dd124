"""The scan: what stands out in the attention of a translation, each confirmed by an experiment of its own.

Predictions only nominate candidates. A finding is reported with the two numbers of its experiment, and only if they
show what it says:

- `needed`: a written word loses probability without a head.
- `changed`: the model writes something else without a head.
- `reason`: a head loses the weight of its key without the largest part of the score, on the key's or the query's side.
- `hindered`: a written word gains probability without a head.
- `idle`: a head gives a word almost all its weight, and the written word does not depend on it.
- `neighbour`: an encoder head looks at the neighbouring token, also if two words of the sentence are swapped.

One finding of each name is reported, then further `needed` ones of other words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np
import torch

from headlight.model.experiments.effects import WordEffects, word_effects
from headlight.model.experiments.findings import Finding, FindingName
from headlight.model.experiments.importance import AttentionPart, logits_without
from headlight.model.experiments.score_parts import SIDES, Cell, score_parts, weight_without
from headlight.model.experiments.scoring import log_probabilities
from headlight.model.intervention_records import InputChange, Intervention
from headlight.model.measures.roles import ROLES, RoleName, role_shares
from headlight.model.measures.trace_records import Float64Array
from headlight.model.records import KINDS, Kind, Token, Translation
from headlight.model.translate.translator import Translator

MAX_FINDINGS = 5  # per translation
MAX_WORDS = 40  # written words whose effects are predicted: the cost of one grows with the length of the text
MAX_CANDIDATES = 24  # heads that are switched off, one at a time
HINDERING_CANDIDATES, IDLE_CANDIDATES, CHANGING_CANDIDATES, REASON_CANDIDATES = 6, 6, 3, 3
MIN_DROP, MIN_RISE = 0.1, 0.05  # change of a word's probability
MIN_LOOK = 0.9  # weight of a sure look
EARLY_LAYERS = 2  # encoder layers whose looks are candidates for a `reason`: later ones have many small reasons
MAX_IDLE_NATS = 0.02  # largest change of the word's log probability that counts as none
MIN_LOOK_NAMED = 0.3  # weight from which a finding names the key that its head looks at
MAX_WEIGHT_LEFT = 0.7  # share of the weight left without a part that is a reason
MIN_NEIGHBOUR = 0.8  # mean weight on the neighbouring token
NEIGHBOURS: tuple[RoleName, ...] = ("previous", "next")


class _Experiments(NamedTuple):
    """The probability of every written word, with all heads and without each candidate."""

    heads: list[AttentionPart]
    effects: dict[int, WordEffects]  # of the words at these positions
    before: Float64Array  # [words]
    after: Float64Array  # [heads, words]

    def cell(self, head: AttentionPart, position: int) -> Cell:
        """Return the head's cell with the largest effect on a word."""
        assert head.layer is not None  # noqa: S101 - candidates are single heads
        assert head.head is not None  # noqa: S101
        cells = self.effects[position].cells[head.kind][head.layer, head.head]
        row, column = np.unravel_index(np.abs(cells).argmax(), cells.shape)
        return Cell(head.kind, head.layer, head.head, int(row), int(column))


def scan(translator: Translator, translation: Translation) -> list[Finding]:
    """Return the findings about a translation, at most `MAX_FINDINGS`. The request's interventions apply."""
    experiments = _run_experiments(translator, translation)
    needed = _needed_findings(translation, experiments)
    finders = (
        iter(needed),
        _changed_findings(translator, translation, experiments),
        _reasons(translator, translation, needed),
        _hindered_findings(translation, experiments),
        _idle_findings(translation, experiments),
        _neighbours(translator, translation),
    )
    firsts = [first for finder in finders if (first := next(finder, None)) is not None]
    return [*firsts, *needed[1:]][:MAX_FINDINGS]


def _run_experiments(translator: Translator, translation: Translation) -> _Experiments:
    """Predict all effects, then switch off the heads that they nominate."""
    positions = range(len(translation.target_tokens))
    words = [position for position in positions if _is_word(translation.target_tokens[position])][:MAX_WORDS]
    effects = {word.position: word for word in word_effects(translator, translation, words)} if words else {}
    heads = _candidates(translation, effects)
    batches = logits_without(translator, translation, [(), *((head,) for head in heads)])
    with torch.inference_mode():
        probabilities = torch.cat(
            [log_probabilities(logits, translation, positions).double() for logits in batches]
        ).exp()
    before, *after = probabilities.cpu().numpy()
    return _Experiments(heads, effects, before, np.array(after).reshape(len(heads), len(positions)))


def _candidates(translation: Translation, effects: Mapping[int, WordEffects]) -> list[AttentionPart]:
    """Nominate heads: the largest effects for and against a word, and sure looks with the smallest effects."""
    if not effects:
        return []
    sums = {position: {kind: word.heads(kind) for kind in KINDS} for position, word in effects.items()}
    table = {
        AttentionPart(kind, *head): {position: float(sums[position][kind][head]) for position in sums}
        for kind in KINDS
        for head in np.ndindex(translation.attention.of(kind).shape[:2])
    }
    hindering = sorted(table, key=lambda head: min(table[head].values()))[:HINDERING_CANDIDATES]
    looks = {AttentionPart(cell.kind, cell.layer, cell.head): cell for cell in _clear_looks(translation)}
    idle = sorted(looks, key=lambda head: abs(table[head].get(looks[head].row, np.inf)))[:IDLE_CANDIDATES]
    helping = sorted(table, key=lambda head: -max(table[head].values()))[: MAX_CANDIDATES - len(hindering) - len(idle)]
    return list(dict.fromkeys([*helping, *hindering, *idle]))


def _clear_looks(translation: Translation, kind: Kind = "cross") -> Iterator[Cell]:
    """Yield the cells where the row of a word gives at least `MIN_LOOK` to a word of the sentence."""
    rows = translation.source_tokens if kind == "encoder" else translation.target_tokens
    for layer, head, row, column in np.argwhere(translation.attention.of(kind) >= MIN_LOOK).tolist():
        if _is_word(rows[row]) and _is_word(translation.source_tokens[column]):
            yield Cell(kind, layer, head, row, column)


def _needed_findings(translation: Translation, experiments: _Experiments) -> list[Finding]:
    """Return the word with the largest drop of each head and word, the largest drops first, one finding a word."""
    drops = experiments.before - experiments.after  # [heads, words]
    order = np.dstack(np.unravel_index(np.argsort(-drops, axis=None), drops.shape))[0].tolist()
    findings: dict[int, Finding] = {}
    for head, position in order:
        if drops[head, position] >= MIN_DROP and position in experiments.effects and position not in findings:
            findings[position] = _word_finding("needed", translation, experiments, head, position)
    return list(findings.values())


def _hindered_findings(translation: Translation, experiments: _Experiments) -> Iterator[Finding]:
    rises = experiments.after - experiments.before
    for head, position in np.dstack(np.unravel_index(np.argsort(-rises, axis=None), rises.shape))[0].tolist():
        if rises[head, position] >= MIN_RISE and position in experiments.effects:
            yield _word_finding("hindered", translation, experiments, head, position)


def _idle_findings(translation: Translation, experiments: _Experiments) -> Iterator[Finding]:
    indices = {head: index for index, head in enumerate(experiments.heads)}
    for cell in sorted(_clear_looks(translation), key=lambda cell: -_weight(translation, cell)):
        index = indices.get(AttentionPart(cell.kind, cell.layer, cell.head))
        if index is None:
            continue
        before, after = experiments.before[cell.row], experiments.after[index, cell.row]
        if abs(np.log(after / before)) <= MAX_IDLE_NATS:
            yield _finding("idle", translation, cell, cell.row, before, after)


def _changed_findings(translator: Translator, translation: Translation, experiments: _Experiments) -> Iterator[Finding]:
    """Translate without the heads that the whole translation depends on most."""
    if translation.request.target is not None or translation.request.prefix is not None:
        return  # the text was given
    losses = (np.log(experiments.before) - np.log(experiments.after)).sum(axis=1)
    if not len(losses) or translator.translate(translation.request).text != translation.text:
        return  # chosen by back-translation or by another seed
    for index in np.argsort(-losses)[:CHANGING_CANDIDATES].tolist():
        part = experiments.heads[index]
        switched_off = Intervention(kind=part.kind, layer=part.layer, head=part.head, action="remove")
        request = replace(translation.request, interventions=(*translation.request.interventions, switched_off))
        changed = translator.translate(request)
        if changed.text != translation.text:
            drops = experiments.before - experiments.after[index]
            position = max(experiments.effects, key=lambda position: float(drops[position]))
            cell = experiments.cell(part, position)
            before = float(np.log(experiments.before).sum())
            finding = _finding("changed", translation, cell, position, before, before - float(losses[index]))
            yield replace(finding, other=changed.text)


def _reasons(translator: Translator, translation: Translation, needed: Sequence[Finding]) -> Iterator[Finding]:
    """Remove the largest part of the scores of looks, and yield the look that loses most weight."""
    early_reads = [
        cell
        for cell in _clear_looks(translation, "encoder")
        if cell.layer < EARLY_LAYERS and abs(cell.row - cell.column) > 1
    ]
    early_reads.sort(key=lambda cell: -_weight(translation, cell))
    cells = [finding.cell for finding in needed if finding.key][:REASON_CANDIDATES] + early_reads[:REASON_CANDIDATES]
    findings = []
    for cell, side in product(dict.fromkeys(cells), SIDES):
        parts = score_parts(translator, translation, cell, side).parts
        first = next((part for part in parts if part.writer != "biases"), None)
        if first is None or _weight_without_score(_weight(translation, cell), first.value) > MAX_WEIGHT_LEFT:
            continue
        before, after = weight_without(translator, translation, cell, side, [first])
        if after <= MAX_WEIGHT_LEFT * before:
            finding = _finding("reason", translation, cell, cell.row, before, after)
            findings.append(replace(finding, part=first, side=side))
    yield from sorted(findings, key=lambda finding: finding.after - finding.before)


def _neighbours(translator: Translator, translation: Translation) -> Iterator[Finding]:
    """Swap two words of the sentence, and look whether a head still looks at the neighbouring token."""
    pair = _find_swappable_words(translation)
    if pair is None:
        return
    first, second = pair
    between = translation.source_text[first.end : second.start]
    swapped_text = f"{second.text.strip()}{between}{first.text.strip()}"
    change = InputChange(action="swap", start=first.start, end=second.end, text=swapped_text)
    ids = tuple(token.id for token in translation.target_tokens)
    interventions = (*translation.request.interventions, change)
    swapped = translator.translate(replace(translation.request, target=ids, prefix=None, interventions=interventions))
    before, after = (role_shares(side, "encoder").shares for side in (translation, swapped))
    columns = [ROLES["encoder"].index(name) for name in NEIGHBOURS]
    order = np.argsort(-before[:, :, columns], axis=None)
    for layer, head, side in np.dstack(np.unravel_index(order, before[:, :, columns].shape))[0].tolist():
        share, moved = float(before[layer, head, columns[side]]), float(after[layer, head, columns[side]])
        if share >= MIN_NEIGHBOUR and moved >= MIN_NEIGHBOUR * share:
            row = translation.source_tokens.index(second)
            cell = Cell("encoder", layer, head, row, row + (-1, 1)[side])
            yield Finding(
                name="neighbour",
                cell=cell,
                before=share,
                after=moved,
                word=first.text.strip(),
                key=second.text.strip(),
                other=NEIGHBOURS[side],
            )


def _find_swappable_words(translation: Translation) -> tuple[Token, Token] | None:
    """Return two neighbouring words of one token each in the middle of the sentence."""
    tokens = translation.source_tokens
    counts = [sum(other.word == token.word for other in tokens) for token in tokens]
    positions = [
        position
        for position in range(1, len(tokens) - 2)
        if all(counts[index] == 1 and _is_word(tokens[index]) for index in (position, position + 1))
        and tokens[position].text.strip().lower() != tokens[position + 1].text.strip().lower()
    ]
    if not positions:
        return None
    middle = min(positions, key=lambda position: abs(position - len(tokens) // 2))
    return tokens[middle], tokens[middle + 1]


def _word_finding(
    name: FindingName, translation: Translation, experiments: _Experiments, head: int, position: int
) -> Finding:
    cell = experiments.cell(experiments.heads[head], position)
    return _finding(name, translation, cell, position, experiments.before[position], experiments.after[head, position])


def _finding(
    name: FindingName, translation: Translation, cell: Cell, position: int, before: float, after: float
) -> Finding:
    rows = translation.source_tokens if name == "reason" and cell.kind == "encoder" else translation.target_tokens
    columns = translation.decoder_tokens if cell.kind == "decoder" else translation.source_tokens
    # The written word has no row in the encoder.
    is_look = name == "reason" or (
        cell.kind == "cross" and cell.row == position and _weight(translation, cell) >= MIN_LOOK_NAMED
    )
    key = columns[cell.column].text.strip() if is_look and _is_word(columns[cell.column]) else ""
    return Finding(
        name=name,
        cell=cell,
        before=float(before),
        after=float(after),
        position=None if name == "reason" else position,
        word=rows[position].text.strip(),
        key=key,
    )


def _weight(translation: Translation, cell: Cell) -> float:
    return float(translation.attention.of(cell.kind)[cell.layer, cell.head, cell.row, cell.column])


def _weight_without_score(weight: float, score: float) -> float:
    """Predict a weight from its score alone: the softmax with the score lowered, as if the others stayed."""
    lowered = weight * np.exp(-score)
    return float(lowered / (1 - weight + lowered))


def _is_word(token: Token) -> bool:
    """Whether a token has a letter, so that it can be named in a sentence."""
    return not token.special and any(map(str.isalpha, token.text))
