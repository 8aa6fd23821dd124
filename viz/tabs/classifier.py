"""Sentiment tab: prediction, contribution of each word, and attention maps."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import gradio as gr

from headlight.model.experiments.queries import ErasureEffects
from headlight.model.records import Judgement
from headlight.viz.errors import PageError, repr_short
from headlight.viz.server.calls import CallTable
from headlight.viz.server.widget import widget
from headlight.viz.service.model_json import classifiers
from headlight.viz.service.payload import encode_tensor, make_token_values
from headlight.viz.service.service import REVIEW_FACTOR, Service

# Up to both limits all weights are sent; above them, column means per head.
MAX_TOKENS = 200
MAX_CELLS = 2_000_000  # weights of all layers and heads: 200 tokens allow 50 heads
# Multiplications, in total, of the runs that erase one word each.
MAX_INITIAL_ERASURE_WORK = 2e10  # together with the classification: a second on two cores
MAX_ERASURE_WORK = 5e11  # when the visitor requests it: 20 seconds


class Review(NamedTuple):
    """An example review; its label is the phrase `sentiment_example_NAME`."""

    name: str
    text: str


REVIEWS = (
    Review(
        "warm",
        "A quiet film with a warm heart. The two leads play so well together that I forgot the time, and the music "
        "stayed with me for days.",
    ),
    Review(
        "dull",
        "The first half hour is dull, the jokes are tired, and the ending makes no sense. I kept looking at my watch.",
    ),
    Review(
        "mixed",
        "The pictures are beautiful and the cast does what it can, but the story is so predictable that I nearly fell "
        "asleep.",
    ),
    Review("denial", "It is not bad at all, and I was never bored."),
    Review("negation", "I never want to see this again."),
    Review(
        "long",
        "I went in expecting very little. The poster promised one more story about a retired detective and his last "
        "case, and the first ten minutes are exactly that: rain, an empty bar, a telephone that rings too late. Then "
        "his daughter comes home, and the film turns into something else. She does not ask for help, and he does not "
        "offer any; they repair an old boat together and hardly talk. The case goes on somewhere in the background, "
        "as cases do. What I liked most is how much the director trusts the faces. There is a scene at a kitchen "
        "table, four minutes long, in which nothing happens but a cup of tea getting cold, and it moved me more than "
        "all the chases of last summer. Not everything works. The younger brother is a cliché, the music explains "
        "what we have already understood, and the villain is so silly that people around me laughed. The end comes "
        "twenty minutes too late. Still, I walked home slowly, and on the way I called my father. I cannot say that "
        "of many films this year.",
    ),
)


def build(service: Service, calls: CallTable) -> gr.HTML:
    """Build the tab inside a `gr.Blocks`."""

    def classify_review(values: Mapping[str, Any]) -> dict[str, Any]:
        return judgement_json(*parse_and_classify(service, values))

    def erase(values: Mapping[str, Any]) -> dict[str, Any]:
        return {"erased": erasure_json(parse_and_classify(service, values, max_work=MAX_ERASURE_WORK)[1])}

    limit = REVIEW_FACTOR * service.settings.max_characters
    examples = [review._asdict() for review in REVIEWS if len(review.text) <= limit]
    config = {"examples": examples, "limit": limit, "models": classifiers(service)}
    calls.add(classify_review, erase)
    return widget("sentiment/classifier-tab", "sentiment", config=json.dumps(config, ensure_ascii=False))


def parse_and_classify(
    service: Service, values: Mapping[str, Any], *, max_work: float = MAX_INITIAL_ERASURE_WORK
) -> tuple[Judgement, ErasureEffects]:
    """Classify the text that the browser sent, with erasure effects if they stay within the limits."""
    if "text" not in values:
        raise PageError("text", "missing", {"name": "text"})
    model = values.get("model", "")
    if not isinstance(model, str):
        raise PageError("model", "not_text", {"name": "model", "given": repr_short(model)})
    return service.classify_with_erasure(values["text"], model, max_tokens=MAX_TOKENS, max_work=max_work)


def judgement_json(judgement: Judgement, effects: ErasureEffects) -> dict[str, Any]:
    """Return a judgement for the page, with one row of effects per class."""
    contributions = judgement.shares
    is_small = len(judgement.tokens) <= MAX_TOKENS and judgement.attention.size <= MAX_CELLS
    return {
        "text": judgement.text,
        "truncated": judgement.truncated,
        "tokens": make_token_values(judgement.tokens),
        "classes": judgement.classes,
        "exclusive": judgement.exclusive,
        "log_odds": [round(log_odds, 6) for log_odds in judgement.class_log_odds],
        "probabilities": [round(probability, 6) for probability in judgement.probabilities],
        "contributions": None if contributions is None else [round(value, 6) for value in contributions],
        "unknown": list(judgement.unknown),
        "bias": round(judgement.bias, 6),
        "erased": erasure_json(effects),
        "erasable": effects.work <= MAX_ERASURE_WORK,
        "shape": list(judgement.attention.shape[:2]),
        "attention": encode_tensor(judgement.attention) if is_small else None,
        # Mean weight that each token receives, [layer, head, key]; sums to one over keys.
        "received": judgement.attention.mean(axis=2).astype(float).round(7).tolist(),
    }


def erasure_json(effects: ErasureEffects) -> list[list[float]] | None:
    """Return, for each class, the effect of erasing each token's word; `None` for texts over the limit."""
    if effects.changes is None:
        return None
    return [[round(change, 5) for change in changes] for changes in effects.changes]
