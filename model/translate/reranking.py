"""Reranks beam hypotheses by the reverse model's score.

A reverse model scores the sentence given each hypothesis. If "übermorgen" has become "tomorrow", this score is low,
however fluent the hypothesis is. The weighted sum of both scores ranks them: Bayes' rule, known as the noisy channel
(Yee et al. 2019, arXiv:1908.05731).

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
BATCH_TOKENS = 3000
ReverseScores = Sequence[float | None]  # log probability of the source per token; None: it cannot be encoded
Pair = tuple[str, str]  # a sentence and a translation of it


class BatchTranslator(Protocol):
    """The methods of a `Translator` that reranking calls; the translator itself imports this module."""

    @property
    def checker(self) -> RequestChecker:
        """Validates and encodes requests."""

    def score(self, requests: Sequence[TranslationRequest]) -> list[list[float]]:
        """Log probability of each token of forced translations."""

    def translate_batch(self, texts: Sequence[str | TranslationRequest]) -> list[Translation]:
        """Translate and capture requests."""

    def hypotheses_of_lines(self, lines: Sequence[str], **options: Any) -> list[list[Hypothesis]]:
        """Beam hypotheses of each line."""


# ------------------------------------------------------------ how well the sentence can be guessed


def reverse_scores(reverse: BatchTranslator, sentence: str, translations: Sequence[str]) -> ReverseScores:
    """Reverse score: log probability of the sentence given each translation."""
    return reverse_scores_batch(reverse, [(sentence, text) for text in translations])


def reverse_scores_batch(reverse: BatchTranslator, pairs: Sequence[Pair]) -> list[float | None]:
    """The same of many sentences, each with a translation, in as few passes as their lengths allow."""
    results: list[float | None] = [None] * len(pairs)
    requests: dict[int, TranslationRequest] = {}
    lengths: dict[int, int] = {}
    for place, pair in enumerate(pairs):
        try:
            requests[place], lengths[place] = reverse_request(reverse, *pair)
        except RequestError:
            continue  # it is empty, or longer than the model reads
    for places in batches_by_length(lengths, BATCH_TOKENS):
        gained = reverse.score([requests[place] for place in places])
        for place, own in zip(places, gained, strict=True):
            results[place] = sum(own) / len(own)
    return results


def reverse_request(reverse: BatchTranslator, sentence: str, text: str) -> tuple[TranslationRequest, int]:
    """The reverse request, and the token count of the longer side.

    A translation that is empty, or longer than the model reads, raises an error.
    """
    request = reverse.checker.request(TranslationRequest(text=text, target=sentence))
    batch = reverse.checker.prepare_lines([request])
    return request, max(batch.source_ids.shape[1], len(batch.targets[0] or ()))


# ------------------------------------------------------------ the choice


def can_rerank(translation: Translation) -> bool:
    """Whether reranking applies: it is enabled and there are several hypotheses."""
    return translation.request.options.back_weight > 0 and len(translation.hypotheses) > 1


def own_choice(request: TranslationRequest) -> TranslationRequest:
    """The same request, answered by its model alone.

    Comparisons of a changed model with the unchanged one use it on both sides: the reverse model is unchanged, and it
    would choose the hypothesis that hides the damage.
    """
    return replace(request, options=replace(request.options, back_weight=0.0))


def visible_text(translation: Translation) -> str:
    """The sentence as its model read it: without the words that were hidden from it."""
    text, hidden = translation.source_text, set(translation.attention.masked_source)
    for place in sorted(hidden, reverse=True):
        token = translation.source_tokens[place]
        if token.piece == 0:  # the pieces of one character share its place
            text = text[: token.start] + text[token.end :]
    return " ".join(text.split())


def rank_hypotheses(hypotheses: Sequence[Hypothesis], guesses: ReverseScores, weight: float) -> tuple[Hypothesis, ...]:
    """Best first, by both scores. Truncated hypotheses follow finished ones, as in the search; hypotheses that cannot
    be scored come last, in the order of the search.
    """

    def order(each: Hypothesis) -> tuple[bool, bool, float]:
        return each.reverse_score is None, not each.ended, -each.score - weight * (each.reverse_score or 0.0)

    return tuple(
        sorted((replace(each, reverse_score=back) for each, back in zip(hypotheses, guesses, strict=True)), key=order)
    )


def with_hypothesis(
    translation: Translation, guesses: ReverseScores, capture: Callable[[TranslationRequest], Translation]
) -> Translation:
    """The reranked translation; `capture(request)` captures it if it is not the first hypothesis."""
    result = rank_hypotheses(translation.hypotheses, guesses, translation.request.options.back_weight)
    if result[0].ids == translation.hypotheses[0].ids:
        return replace(translation, hypotheses=result)
    return _chosen(translation, result, capture(_request_for(translation, result[0])))


def _request_for(translation: Translation, hypothesis: Hypothesis) -> TranslationRequest:
    """The request that captures another hypothesis of the same search."""
    return replace(translation.request, target=hypothesis.ids, prefix=None)


def _chosen(searched: Translation, found: tuple[Hypothesis, ...], captured: Translation) -> Translation:
    """Attach the capture of another hypothesis to the original request."""
    names = [field.name for field in fields(Timing)]
    seconds = {name: getattr(searched.timing, name) + getattr(captured.timing, name) for name in names}
    return replace(
        captured,
        request=searched.request,
        hypotheses=found,
        tree=searched.tree,
        stopped="end" if found[0].ended else "length",
        timing=Timing(**seconds),
    )


# ------------------------------------------------------------ with both models at hand


def rerank(reverse: BatchTranslator, translator: BatchTranslator, translation: Translation) -> Translation:
    """One translation, chosen by both models, if its request asks for that."""
    return rerank_batch(reverse, translator, [translation])[0]


def rerank_batch(
    reverse: BatchTranslator, translator: BatchTranslator, translations: Sequence[Translation]
) -> list[Translation]:
    """Many, in as few passes as their lengths allow."""
    places = [place for place, each in enumerate(translations) if can_rerank(each)]
    pairs = [
        (visible_text(translations[place]), each.text) for place in places for each in translations[place].hypotheses
    ]
    guesses = iter(reverse_scores_batch(reverse, pairs))
    answers, moved = list(translations), dict[int, tuple[Hypothesis, ...]]()
    for place in places:
        own = translations[place]
        result = rank_hypotheses(
            own.hypotheses, [next(guesses) for _ in own.hypotheses], own.request.options.back_weight
        )
        if result[0].ids == own.hypotheses[0].ids:
            answers[place] = replace(own, hypotheses=result)
        else:
            moved[place] = result
    wanted = [_request_for(translations[place], result[0]) for place, result in moved.items()]
    for (place, result), captured in zip(moved.items(), translator.translate_batch(wanted), strict=True):
        answers[place] = _chosen(translations[place], result, captured)
    return answers


def translate_lines(
    reverse: BatchTranslator, translator: BatchTranslator, lines: Sequence[str], **options: Any
) -> list[str]:
    """`Translator.translate_lines` with reranking, if the options have a `back_weight`."""
    return [best.text if best else "" for best in best_of_lines(reverse, translator, lines, **options)]


def best_of_lines(
    reverse: BatchTranslator | None, translator: BatchTranslator, lines: Sequence[str], **options: Any
) -> list[Hypothesis | None]:
    """The same with scores, without reranking if no reverse model exists; None for a blank line."""
    result = translator.hypotheses_of_lines(lines, **options)
    weight = options.get("back_weight", 0.0)
    if reverse is None or not weight:
        return [own[0] if own else None for own in result]
    pairs = [(line, each.text) for line, own in zip(lines, result, strict=True) for each in own]
    guesses = iter(reverse_scores_batch(reverse, pairs))
    return [next(iter(rank_hypotheses(own, [next(guesses) for _ in own], weight)), None) for own in result]
