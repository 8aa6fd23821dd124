"""Search for findings about the attention of a translation. An experiment confirms each finding.

Predicted effects select candidates. A finding is reported with the two numbers of its experiment, and only if they
confirm it:

- `needed`: a written word loses probability without a head.
- `changed`: the translation changes without a head.
- `reason`: a cell loses weight without the largest part of its score, on the key's or the query's side.
- `hindered`: a written word gains probability without a head.
- `idle`: a head gives a word almost all its weight, but the written word does not depend on the head.
- `neighbour`: an encoder head attends to the neighbouring token, also if two words of the sentence are swapped.

One finding of each name is reported, then more `needed` findings about other words.
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
from headlight.model.experiments.importance import AttentionPart, compute_logits_without
from headlight.model.experiments.score_parts import SIDES, Cell, score_parts, weight_without
from headlight.model.experiments.scoring import log_probabilities
from headlight.model.intervention_records import InputChange, Intervention
from headlight.model.measures.roles import ROLES, RoleName, role_shares
from headlight.model.measures.trace_records import Float64Array
from headlight.model.records import KINDS, Kind, Token, Translation
from headlight.model.translate.translator import Translator

MAX_FINDINGS = 5  # per translation
MAX_WORDS = 40  # written words whose effects are predicted; the time per word grows with the length of the text
MAX_CANDIDATES = 24  # heads that are switched off one at a time
HINDERING_CANDIDATES, IDLE_CANDIDATES, CHANGING_CANDIDATES, REASON_CANDIDATES = 6, 6, 3, 3
MIN_DROP, MIN_RISE = 0.1, 0.05  # change of a word's probability
MIN_LOOK = 0.9  # minimum of a strong weight
EARLY_LAYERS = 2  # encoder layers with candidates for a `reason`; in later layers, scores have many small parts
MAX_IDLE_NATS = 0.02  # maximum change of the word's log probability without an `idle` head
MIN_LOOK_NAMED = 0.3  # minimum weight of a key that a finding names
MAX_WEIGHT_LEFT = 0.7  # maximum share of the weight that remains without the part of a `reason`
MIN_NEIGHBOUR = 0.8  # minimum mean weight on the neighbouring token
NEIGHBOURS: tuple[RoleName, ...] = ("previous", "next")


class _Experiments(NamedTuple):
    """The probability of every written word, with all heads and without each candidate."""

    heads: list[AttentionPart]
    effects: dict[int, WordEffects]  # position of a word → predicted effects
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
    needed = _find_needed(translation, experiments)
    finders = (
        iter(needed),
        _find_changed(translator, translation, experiments),
        _find_reasons(translator, translation, needed),
        _find_hindered(translation, experiments),
        _find_idle(translation, experiments),
        _find_neighbours(translator, translation),
    )
    firsts = [first for finder in finders if (first := next(finder, None)) is not None]
    return [*firsts, *needed[1:]][:MAX_FINDINGS]


def _run_experiments(translator: Translator, translation: Translation) -> _Experiments:
    """Predict all effects, then switch off the candidates one at a time."""
    positions = range(len(translation.target_tokens))
    words = [position for position in positions if _is_word(translation.target_tokens[position])][:MAX_WORDS]
    effects = {word.position: word for word in word_effects(translator, translation, words)} if words else {}
    heads = _candidates(translation, effects)
    batches = compute_logits_without(translator, translation, [(), *((head,) for head in heads)])
    with torch.inference_mode():
        probabilities = torch.cat(
            [log_probabilities(logits, translation, positions).double() for logits in batches]
        ).exp()
    before, *after = probabilities.cpu().numpy()
    return _Experiments(heads, effects, before, np.array(after).reshape(len(heads), len(positions)))


def _candidates(translation: Translation, effects: Mapping[int, WordEffects]) -> list[AttentionPart]:
    """Select heads with the largest effects for or against a word, and heads with strong weights but small effects."""
    if not effects:
        return []
    sums = {position: {kind: word.heads(kind) for kind in KINDS} for position, word in effects.items()}
    table = {
        AttentionPart(kind, *head): {position: float(sums[position][kind][head]) for position in sums}
        for kind in KINDS
        for head in np.ndindex(translation.attention.of(kind).shape[:2])
    }
    hindering = sorted(table, key=lambda head: min(table[head].values()))[:HINDERING_CANDIDATES]
    strong_cells = {AttentionPart(cell.kind, cell.layer, cell.head): cell for cell in _find_strong_weights(translation)}
    idle = sorted(strong_cells, key=lambda head: abs(table[head].get(strong_cells[head].row, np.inf)))[:IDLE_CANDIDATES]
    helping = sorted(table, key=lambda head: -max(table[head].values()))[: MAX_CANDIDATES - len(hindering) - len(idle)]
    return list(dict.fromkeys([*helping, *hindering, *idle]))


def _find_strong_weights(translation: Translation, kind: Kind = "cross") -> Iterator[Cell]:
    """Yield the cells in which the row of a word gives at least `MIN_LOOK` to a source word."""
    rows = translation.source_tokens if kind == "encoder" else translation.target_tokens
    for layer, head, row, column in np.argwhere(translation.attention.of(kind) >= MIN_LOOK).tolist():
        if _is_word(rows[row]) and _is_word(translation.source_tokens[column]):
            yield Cell(kind, layer, head, row, column)


def _find_needed(translation: Translation, experiments: _Experiments) -> list[Finding]:
    """Return one finding per word, about the head without which its probability drops most, largest drop first."""
    drops = experiments.before - experiments.after  # [heads, words]
    order = np.dstack(np.unravel_index(np.argsort(-drops, axis=None), drops.shape))[0].tolist()
    findings: dict[int, Finding] = {}
    for head, position in order:
        if drops[head, position] >= MIN_DROP and position in experiments.effects and position not in findings:
            findings[position] = _make_word_finding("needed", translation, experiments, head, position)
    return list(findings.values())


def _find_hindered(translation: Translation, experiments: _Experiments) -> Iterator[Finding]:
    rises = experiments.after - experiments.before
    for head, position in np.dstack(np.unravel_index(np.argsort(-rises, axis=None), rises.shape))[0].tolist():
        if rises[head, position] >= MIN_RISE and position in experiments.effects:
            yield _make_word_finding("hindered", translation, experiments, head, position)


def _find_idle(translation: Translation, experiments: _Experiments) -> Iterator[Finding]:
    indices = {head: index for index, head in enumerate(experiments.heads)}
    for cell in sorted(_find_strong_weights(translation), key=lambda cell: -_weight(translation, cell)):
        index = indices.get(AttentionPart(cell.kind, cell.layer, cell.head))
        if index is None:
            continue
        before, after = experiments.before[cell.row], experiments.after[index, cell.row]
        if abs(np.log(after / before)) <= MAX_IDLE_NATS:
            yield _make_finding("idle", translation, cell, cell.row, before, after)


def _find_changed(translator: Translator, translation: Translation, experiments: _Experiments) -> Iterator[Finding]:
    """Translate without each of the heads whose removal lowers the translation's probability most."""
    if translation.request.target is not None or translation.request.prefix is not None:
        return  # the model did not choose the text
    losses = (np.log(experiments.before) - np.log(experiments.after)).sum(axis=1)
    if not len(losses) or translator.translate(translation.request).text != translation.text:
        return  # the request does not reproduce the text, which was reranked or sampled
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
            finding = _make_finding("changed", translation, cell, position, before, before - float(losses[index]))
            yield replace(finding, other=changed.text)


def _find_reasons(translator: Translator, translation: Translation, needed: Sequence[Finding]) -> Iterator[Finding]:
    """Remove the largest part of the scores of cells, and yield findings by lost weight, largest loss first."""
    early_cells = [
        cell
        for cell in _find_strong_weights(translation, "encoder")
        if cell.layer < EARLY_LAYERS and abs(cell.row - cell.column) > 1
    ]
    early_cells.sort(key=lambda cell: -_weight(translation, cell))
    cells = [finding.cell for finding in needed if finding.key][:REASON_CANDIDATES] + early_cells[:REASON_CANDIDATES]
    findings = []
    for cell, side in product(dict.fromkeys(cells), SIDES):
        parts = score_parts(translator, translation, cell, side).parts
        first = next((part for part in parts if part.writer != "biases"), None)
        if first is None or _weight_without_score(_weight(translation, cell), first.value) > MAX_WEIGHT_LEFT:
            continue
        before, after = weight_without(translator, translation, cell, side, [first])
        if after <= MAX_WEIGHT_LEFT * before:
            finding = _make_finding("reason", translation, cell, cell.row, before, after)
            findings.append(replace(finding, part=first, side=side))
    yield from sorted(findings, key=lambda finding: finding.after - finding.before)


def _find_neighbours(translator: Translator, translation: Translation) -> Iterator[Finding]:
    """Swap two words of the sentence, and yield the heads that attend to the neighbouring token in both sentences."""
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
        share, share_after = float(before[layer, head, columns[side]]), float(after[layer, head, columns[side]])
        if share >= MIN_NEIGHBOUR and share_after >= MIN_NEIGHBOUR * share:
            row = translation.source_tokens.index(second)
            cell = Cell("encoder", layer, head, row, row + (-1, 1)[side])
            yield Finding(
                name="neighbour",
                cell=cell,
                before=share,
                after=share_after,
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


def _make_word_finding(
    name: FindingName, translation: Translation, experiments: _Experiments, head: int, position: int
) -> Finding:
    cell = experiments.cell(experiments.heads[head], position)
    return _make_finding(
        name, translation, cell, position, experiments.before[position], experiments.after[head, position]
    )


def _make_finding(
    name: FindingName, translation: Translation, cell: Cell, position: int, before: float, after: float
) -> Finding:
    rows = translation.source_tokens if name == "reason" and cell.kind == "encoder" else translation.target_tokens
    columns = translation.decoder_tokens if cell.kind == "decoder" else translation.source_tokens
    # A written word has no row in encoder maps.
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
    """Predict the softmax weight of a key if its score falls by `score` and the other scores do not change."""
    lowered = weight * np.exp(-score)
    return float(lowered / (1 - weight + lowered))


def _is_word(token: Token) -> bool:
    """Whether a token has a letter, so that a finding can name it."""
    return not token.special and any(map(str.isalpha, token.text))
