"""From arrays to the `Translation` record: tokens with probabilities, maps cropped of padding, the beam's tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from headlight.model.core.transformer import Transformer
from headlight.model.decoding.search import Candidate, SearchNode
from headlight.model.records import (
    Alternative,
    Attention,
    BeamNode,
    BeamTree,
    DecodingOptions,
    FloatArray,
    Hypothesis,
    ReliabilityRule,
    StopReason,
    Timing,
    Token,
    Translation,
    TranslationRequest,
    read_only,
)
from headlight.model.text.vocabulary import Vocabulary
from headlight.model.translate.capture import Captured, TokenScores, crop, to_numpy


@dataclass
class SearchResult:
    """The translations of one sentence, by a search or given by the user."""

    candidates: Sequence[Candidate]  # best first
    tree: Sequence[SearchNode]
    cancelled: bool


def make_translation(
    model: Transformer,
    tokenizer: Vocabulary,
    *,
    request: TranslationRequest,
    source_text: str,
    source_tokens: tuple[Token, ...],
    hidden: tuple[int, ...],
    unknown: tuple[int, ...],
    sentence: int,
    written: SearchResult,
    captured: Captured,
    scores: TokenScores,
    timing: Timing,
    device: str,
    rule: ReliabilityRule | None,
    searched: bool,
) -> Translation:
    """The record of one sentence of a batch. `searched`: hypotheses keep the search's own scores, which differ."""
    best = written.candidates[0]
    source, target = len(source_tokens), len(best.ids)
    log_probability = float(scores.log_probabilities[sentence, :target].sum(dtype=np.float64))
    score = log_probability / target**request.options.length_penalty
    hypotheses = make_hypotheses(tokenizer, written.candidates, request.options)
    if not searched or len(hypotheses) == 1:
        # The captured pass gives the exact sum of the best one; the others have the sums of the search.
        hypotheses[0] = replace(hypotheses[0], score=score, log_probability=log_probability)
    maps = captured.attention
    return Translation(
        request=request,
        source_text=source_text,
        text=tokenizer.decode(best.ids),
        source_tokens=source_tokens,
        target_tokens=_scored_tokens(tokenizer, best.ids, scores, sentence),
        start_token=Token(tokenizer.label(model.config.start_id), model.config.start_id, 0, 0, special=True),
        attention=Attention(
            encoder=crop(maps["encoder"][:, sentence], source, source),
            decoder=crop(maps["decoder"][:, sentence], target, target),
            cross=crop(maps["cross"][:, sentence], target, source),
            masked_source=hidden,
        ),
        positions=MappingProxyType(
            {
                "encoder": _positions_array(model, "encoder", source),
                "decoder": _positions_array(model, "decoder", target),
            }
        ),
        score=score,
        log_probability=log_probability,
        stopped=_stopped(request, written),
        captured=MappingProxyType(
            {name: _cropped(name, captured, sentence, source, target) for name in captured.probes}
        ),
        hypotheses=tuple(hypotheses),
        tree=_tree(tokenizer, written.tree),
        timing=timing,
        device=device,
        rule=rule,
        unknown=unknown,
    )


def _scored_tokens(tokenizer: Vocabulary, ids: list[int], scores: TokenScores, sentence: int) -> tuple[Token, ...]:
    tokens = tokenizer.written_tokens(ids)
    chances = np.exp(scores.log_probabilities[sentence]).tolist()
    best_ids, best = scores.best_ids[sentence].tolist(), scores.best_probabilities[sentence].tolist()
    return tuple(
        replace(
            token,
            probability=chances[step],
            alternatives=tuple(
                Alternative(tokenizer.label(choice), choice, chance)
                for choice, chance in zip(best_ids[step], best[step], strict=True)
            ),
        )
        for step, token in enumerate(tokens)
    )


def make_hypotheses(
    tokenizer: Vocabulary, candidates: Sequence[Candidate], options: DecodingOptions
) -> list[Hypothesis]:
    """The best hypotheses as records: `n_best` of them, or all if they will be reranked."""
    wanted = candidates if options.back_weight else candidates[: options.n_best]
    return [
        Hypothesis(tokenizer.decode(each.ids), tuple(each.ids), each.score, each.log_probability, each.ended)
        for each in wanted
    ]


def _stopped(request: TranslationRequest, written: SearchResult) -> StopReason:
    if request.target is not None:
        return "forced"
    if written.cancelled:
        return "cancelled"
    return "end" if written.candidates[0].ended else "length"


def _tree(tokenizer: Vocabulary, nodes: Sequence[SearchNode]) -> BeamTree:
    return BeamTree(
        tuple(
            BeamNode(
                parent=node.parent,
                step=node.step,
                id=node.id,
                text=tokenizer.label(node.id),
                log_probability=node.log_probability,
                score=node.score,
                outcome=node.outcome,
            )
            for node in nodes
        )
    )


def _positions_array(model: Transformer, side: str, length: int) -> FloatArray:
    picture: FloatArray = to_numpy(getattr(model, side).embedding.positions.as_array(length))
    closed: FloatArray = read_only(picture.copy())
    return closed


def _cropped(name: str, captured: Captured, sentence: int, source: int, target: int) -> FloatArray:
    """One sentence of a captured batch, without padding along every axis of tokens."""
    here = source if name.startswith("encoder") else target
    there = source if name.startswith("encoder") or "cross_attention" in name else target
    lengths = {"tokens": here, "queries": here, "keys": there}
    axes, values = captured.axes[name], captured.probes[name]
    if axes[0] == "batch":
        axes, values = axes[1:], values[sentence]
    cut = values[tuple(slice(lengths.get(axis)) for axis in axes)]
    closed: FloatArray = read_only(cut.copy())  # a view would hold on to the whole batch
    return closed
