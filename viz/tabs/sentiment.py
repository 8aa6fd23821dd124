"""Classifiers: verdict, contribution of each word, and attention maps."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import gradio as gr

from headlight.model.experiments.asked import Erased
from headlight.model.records import Judgement
from headlight.viz.answers.model_values import classifiers
from headlight.viz.answers.payload import tokens_values, weights_values
from headlight.viz.answers.service import REVIEW, Service
from headlight.viz.errors import PageError, shown
from headlight.viz.wire.rpc import answering
from headlight.viz.wire.widget import widget

# Up to this size all weights are sent: 0.9 MB for 200 tokens and 8 heads; beyond it, column means per head.
MOST_TOKENS, MOST_CELLS = 200, 2_000_000
# Multiplications that leaving out each word may take: at once, about a second of two cores; when asked again, twenty.
QUICK, MOST = 2e10, 5e11


class Review(NamedTuple):
    """One example; its phrase is `sentiment_example_NAME`."""

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


def build(service: Service) -> gr.HTML:
    """Inside a `gr.Blocks`."""

    @answering
    def judge(values: Mapping[str, Any]) -> dict[str, Any]:
        return judgement_values(*ask(service, values, most_work=QUICK))

    @answering
    def erase(values: Mapping[str, Any]) -> dict[str, Any]:
        return {"erased": erased_values(ask(service, values, most_work=MOST)[1])}

    limit = REVIEW * service.settings.max_characters
    examples = [review._asdict() for review in REVIEWS if len(review.text) <= limit]
    config = {"examples": examples, "limit": limit, "models": classifiers(service)}
    return widget("sentiment/sentiment", server=[judge, erase], config=json.dumps(config, ensure_ascii=False))


def ask(service: Service, values: Mapping[str, Any], *, most_work: float = QUICK) -> tuple[Judgement, Erased]:
    """Classify the browser's text, with erasure effects if the text is short enough."""
    if "text" not in values:
        raise PageError("text", "missing", {"name": "text"})
    model = values.get("model", "")
    if not isinstance(model, str):
        raise PageError("model", "not_text", {"name": "model", "given": shown(model)})
    return service.judge_and_erase(values["text"], model, most_tokens=MOST_TOKENS, most_work=most_work)


def judgement_values(judgement: Judgement, erased: Erased) -> dict[str, Any]:
    """All that the page shows of a judgement."""
    shares = judgement.shares
    few = len(judgement.tokens) <= MOST_TOKENS and judgement.attention.size <= MOST_CELLS
    return {
        "text": judgement.text,
        "shortened": judgement.shortened,
        "tokens": tokens_values(judgement.tokens),
        "classes": judgement.classes,
        "exclusive": judgement.exclusive,
        "log_odds": [round(each, 6) for each in judgement.class_log_odds],
        "probabilities": [round(each, 6) for each in judgement.probabilities],
        "shares": None if shares is None else [round(share, 6) for share in shares],
        "unknown": list(judgement.unknown),
        "bias": round(judgement.bias, 6),
        "erased": erased_values(erased),
        "erasable": erased.work <= MOST,
        "shape": list(judgement.attention.shape[:2]),
        "attention": weights_values(judgement.attention) if few else None,
        # How much of an average row each token gets: [layer, head, key], and the keys sum to one.
        "received": judgement.attention.mean(axis=2).astype(float).round(7).tolist(),
    }


def erased_values(erased: Erased) -> list[list[float]] | None:
    """Erasure effects per class; empty for texts over the limit."""
    if erased.changes is None:
        return None
    return [[round(change, 5) for change in changes] for changes in erased.changes]
