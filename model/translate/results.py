"""Conversion of arrays to a `Translation`: tokens with probabilities, maps without padding, the beam's tree."""

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
    """The candidate translations of one sentence: hypotheses of a search, or a forced translation."""

    candidates: Sequence[Candidate]  # best first
    tree: Sequence[SearchNode]  # empty unless the search is a beam search
    cancelled: bool


def make_translation(
    model: Transformer,
    tokenizer: Vocabulary,
    *,
    request: TranslationRequest,
    source_text: str,
    source_tokens: tuple[Token, ...],
    hidden: tuple[int, ...],
    adaptations: tuple[str, ...],
    unknown: tuple[int, ...],
    sentence: int,
    search: SearchResult,
    captured: Captured,
    scores: TokenScores,
    timing: Timing,
    device: str,
    rule: ReliabilityRule | None,
    searched: bool,
) -> Translation:
    """Create the record of one sentence of a batch.

    Args:
        model: The model, for its config and positions.
        tokenizer: The target vocabulary.
        request: Request of the sentence.
        source_text: The sentence as it is shown.
        source_tokens: Tokens of the sentence.
        hidden: Indices of source tokens that attention masks.
        adaptations: Names of the changes between the shown text and the model's.
        unknown: Indices of unknown source tokens.
        sentence: Index in the batch.
        search: Candidates of the sentence.
        captured: Attention of the batch.
        scores: Token probabilities of the batch.
        timing: Seconds of each stage.
        device: Name of the device.
        rule: Rule for the reliability of the translation.
        searched: Whether several hypotheses keep the scores of the search, which differ from those of the capture.
    """
    best = search.candidates[0]
    source, target = len(source_tokens), len(best.ids)
    log_probability = float(scores.log_probabilities[sentence, :target].sum(dtype=np.float64))
    score = log_probability / target**request.options.length_penalty
    hypotheses = make_hypotheses(tokenizer, search.candidates, request.options)
    if not searched or len(hypotheses) == 1:
        # The captured pass has the exact sum of the best hypothesis. Other hypotheses keep the sums of the search.
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
        stopped=_stop_reason(request, search),
        captured=MappingProxyType(
            {name: _crop_probe(name, captured, sentence, source, target) for name in captured.probes}
        ),
        hypotheses=tuple(hypotheses),
        tree=_beam_tree(tokenizer, search.tree),
        timing=timing,
        device=device,
        rule=rule,
        unknown=unknown,
        adaptations=adaptations,
    )


def _scored_tokens(tokenizer: Vocabulary, ids: list[int], scores: TokenScores, sentence: int) -> tuple[Token, ...]:
    tokens = tokenizer.written_tokens(ids)
    probabilities = np.exp(scores.log_probabilities[sentence]).tolist()
    best_ids, best = scores.best_ids[sentence].tolist(), scores.best_probabilities[sentence].tolist()
    return tuple(
        replace(
            token,
            probability=probabilities[step],
            alternatives=tuple(
                Alternative(tokenizer.label(choice_id), choice_id, choice_probability)
                for choice_id, choice_probability in zip(best_ids[step], best[step], strict=True)
            ),
        )
        for step, token in enumerate(tokens)
    )


def make_hypotheses(
    tokenizer: Vocabulary, candidates: Sequence[Candidate], options: DecodingOptions
) -> list[Hypothesis]:
    """Return the best hypotheses as records: `n_best` of them, or all if they will be reranked."""
    selected = candidates if options.back_weight else candidates[: options.n_best]
    return [
        Hypothesis(
            tokenizer.decode(candidate.ids),
            tuple(candidate.ids),
            candidate.score,
            candidate.log_probability,
            candidate.ended,
        )
        for candidate in selected
    ]


def _stop_reason(request: TranslationRequest, search: SearchResult) -> StopReason:
    if request.target is not None:
        return "forced"
    if search.cancelled:
        return "cancelled"
    return "end" if search.candidates[0].ended else "length"


def _beam_tree(tokenizer: Vocabulary, nodes: Sequence[SearchNode]) -> BeamTree:
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
    table: FloatArray = to_numpy(getattr(model, side).embedding.positions.as_array(length))
    array: FloatArray = read_only(table.copy())
    return array


def _crop_probe(name: str, captured: Captured, sentence: int, source: int, target: int) -> FloatArray:
    """Return one sentence of a captured batch, without padding on the token axes."""
    query_count = source if name.startswith("encoder") else target
    key_count = source if name.startswith("encoder") or "cross_attention" in name else target
    lengths = {"tokens": query_count, "queries": query_count, "keys": key_count}
    axes, values = captured.axes[name], captured.probes[name]
    if axes[0] == "batch":
        axes, values = axes[1:], values[sentence]
    cropped = values[tuple(slice(lengths.get(axis)) for axis in axes)]
    array: FloatArray = read_only(cropped.copy())  # a view would keep the whole batch in memory
    return array
