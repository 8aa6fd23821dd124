"""Reranking of beam hypotheses by the score of a reverse model.

A reverse model scores the sentence given each hypothesis. If "übermorgen" was translated as "tomorrow", this score is
low, however fluent the hypothesis is. The weighted sum of both scores ranks the hypotheses: Bayes' rule, known as the
noisy channel (Yee et al. 2019, arXiv:1908.05731).

    translation = translator.translate(text, way_back=reverse)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Any, Protocol

from headlight.model.errors import RequestError
from headlight.model.records import Hypothesis, Timing, Translation, TranslationRequest
from headlight.model.translate.requests import RequestChecker, batches_by_length

REVERSE_WEIGHT = 0.3  # weight of the reverse score, tuned on held-out sentences
BATCH_TOKENS = 3000  # maximum tokens per batch, with padding
ReverseScores = Sequence[float | None]  # log probability of the source per token; None: cannot be computed
SentencePair = tuple[str, str]  # source and translation


class BatchTranslator(Protocol):
    """The methods of a `Translator` that reranking calls. A protocol avoids a circular import."""

    @property
    def checker(self) -> RequestChecker:
        """Validator and encoder of requests."""

    def score(self, requests: Sequence[TranslationRequest]) -> list[list[float]]:
        """Return the log probability of each token of forced translations."""

    def translate_batch(self, texts: Sequence[str | TranslationRequest]) -> list[Translation]:
        """Translate and capture requests."""

    def hypotheses_of_lines(self, lines: Sequence[str], **options: Any) -> list[list[Hypothesis]]:
        """Return the beam hypotheses of each line."""


# ------------------------------------------------------------ reverse scores


def reverse_scores(reverse: BatchTranslator, sentence: str, translations: Sequence[str]) -> ReverseScores:
    """Return the log probability of the sentence per token, given each translation."""
    return reverse_scores_batch(reverse, [(sentence, text) for text in translations])


def reverse_scores_batch(reverse: BatchTranslator, pairs: Sequence[SentencePair]) -> list[float | None]:
    """Return the reverse scores of several pairs, in as few passes as their lengths allow."""
    results: list[float | None] = [None] * len(pairs)
    requests: dict[int, TranslationRequest] = {}
    lengths: dict[int, int] = {}
    for index, pair in enumerate(pairs):
        try:
            requests[index], lengths[index] = reverse_request(reverse, *pair)
        except RequestError:
            continue  # the translation is empty or too long for the model
    for indices in batches_by_length(lengths, BATCH_TOKENS):
        log_probabilities = reverse.score([requests[index] for index in indices])
        for index, token_scores in zip(indices, log_probabilities, strict=True):
            results[index] = sum(token_scores) / len(token_scores)
    return results


def reverse_request(reverse: BatchTranslator, sentence: str, text: str) -> tuple[TranslationRequest, int]:
    """Return the request that scores `sentence` given `text`, and the token count of the longer side.

    Raises:
        RequestError: the translation is empty or too long for the model.
    """
    sentence = reverse.checker.adapted(sentence, side=1).read  # the forward model has read this form
    request = reverse.checker.request(TranslationRequest(text=text, target=sentence))
    batch = reverse.checker.prepare_lines([request])
    return request, max(batch.source_ids.shape[1], len(batch.targets[0] or ()))


# ------------------------------------------------------------ ranking


def can_rerank(translation: Translation) -> bool:
    """Whether reranking applies: it is enabled and there are several hypotheses."""
    return translation.request.options.back_weight > 0 and len(translation.hypotheses) > 1


def own_choice(request: TranslationRequest) -> TranslationRequest:
    """Return the request without reranking.

    Comparisons of a model with and without interventions call it for both. The reverse model has no interventions, so
    reranking would prefer hypotheses that hide their effect.
    """
    return replace(request, options=replace(request.options, back_weight=0.0))


def visible_text(translation: Translation) -> str:
    """Return the sentence as the model read it, without hidden words."""
    text, hidden = translation.source_text, set(translation.attention.masked_source)
    for index in sorted(hidden, reverse=True):
        token = translation.source_tokens[index]
        if token.piece == 0:  # the pieces of one character share its span
            text = text[: token.start] + text[token.end :]
    return " ".join(text.split())


def rank_hypotheses(hypotheses: Sequence[Hypothesis], scores: ReverseScores, weight: float) -> tuple[Hypothesis, ...]:
    """Rank hypotheses by both scores, best first.

    Truncated hypotheses follow finished ones, as in the search. Hypotheses without a reverse score are last.
    """

    def sort_key(item: Hypothesis) -> tuple[bool, bool, float]:
        return item.reverse_score is None, not item.ended, -item.score - weight * (item.reverse_score or 0.0)

    return tuple(
        sorted(
            (replace(item, reverse_score=score) for item, score in zip(hypotheses, scores, strict=True)), key=sort_key
        )
    )


def with_hypothesis(
    translation: Translation, scores: ReverseScores, capture: Callable[[TranslationRequest], Translation]
) -> Translation:
    """Return the reranked translation. If the best hypothesis changes, `capture(request)` computes its attention."""
    ranked = rank_hypotheses(translation.hypotheses, scores, translation.request.options.back_weight)
    if ranked[0].ids == translation.hypotheses[0].ids:
        return replace(translation, hypotheses=ranked)
    return _attach_capture(translation, ranked, capture(_capture_request(translation, ranked[0])))


def _capture_request(translation: Translation, hypothesis: Hypothesis) -> TranslationRequest:
    """Return the request that captures a hypothesis of a translation's search."""
    return replace(translation.request, target=hypothesis.ids, prefix=None)


def _attach_capture(searched: Translation, hypotheses: tuple[Hypothesis, ...], captured: Translation) -> Translation:
    """Combine the capture of the best hypothesis with the request, tree and timing of its search."""
    names = [field.name for field in fields(Timing)]
    seconds = {name: getattr(searched.timing, name) + getattr(captured.timing, name) for name in names}
    return replace(
        captured,
        request=searched.request,
        hypotheses=hypotheses,
        tree=searched.tree,
        stopped="end" if hypotheses[0].ended else "length",
        timing=Timing(**seconds),
    )


# ------------------------------------------------------------ with both models


def rerank(reverse: BatchTranslator, translator: BatchTranslator, translation: Translation) -> Translation:
    """Rerank a translation with both models, if its request has a `back_weight`."""
    return rerank_batch(reverse, translator, [translation])[0]


def rerank_batch(
    reverse: BatchTranslator, translator: BatchTranslator, translations: Sequence[Translation]
) -> list[Translation]:
    """Rerank several translations, in as few passes as their lengths allow."""
    indices = [index for index, candidate in enumerate(translations) if can_rerank(candidate)]
    pairs = [
        (visible_text(translations[index]), candidate.text)
        for index in indices
        for candidate in translations[index].hypotheses
    ]
    scores = iter(reverse_scores_batch(reverse, pairs))
    answers, changed = list(translations), dict[int, tuple[Hypothesis, ...]]()
    for index in indices:
        translation = translations[index]
        ranked = rank_hypotheses(
            translation.hypotheses,
            [next(scores) for _ in translation.hypotheses],
            translation.request.options.back_weight,
        )
        if ranked[0].ids == translation.hypotheses[0].ids:
            answers[index] = replace(translation, hypotheses=ranked)
        else:
            changed[index] = ranked
    requests = [_capture_request(translations[index], ranked[0]) for index, ranked in changed.items()]
    for (index, ranked), captured in zip(changed.items(), translator.translate_batch(requests), strict=True):
        answers[index] = _attach_capture(translations[index], ranked, captured)
    return answers


def translate_lines(
    reverse: BatchTranslator, translator: BatchTranslator, lines: Sequence[str], **options: Any
) -> list[str]:
    """Translate lines like `Translator.translate_lines`, with reranking if the options have a `back_weight`."""
    return [best.text if best else "" for best in best_of_lines(reverse, translator, lines, **options)]


def best_of_lines(
    reverse: BatchTranslator | None, translator: BatchTranslator, lines: Sequence[str], **options: Any
) -> list[Hypothesis | None]:
    """Return the best hypothesis of each line, or None for a blank line.

    Raises:
        RequestError: the options have a `back_weight`, but there is no reverse model.
    """
    weight = options.get("back_weight", 0.0)
    if reverse is None and weight:
        raise RequestError("no_way_back", field="back_weight", given=f"{weight:g}")
    beams = translator.hypotheses_of_lines(lines, **options)
    if reverse is None or not weight:
        return [hypotheses[0] if hypotheses else None for hypotheses in beams]
    pairs = [
        (line, hypothesis.text) for line, hypotheses in zip(lines, beams, strict=True) for hypothesis in hypotheses
    ]
    scores = iter(reverse_scores_batch(reverse, pairs))
    return [
        next(iter(rank_hypotheses(hypotheses, [next(scores) for _ in hypotheses], weight)), None)
        for hypotheses in beams
    ]
