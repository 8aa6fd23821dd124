"""The classifier: praise or complaint, what each token adds to that, and where its heads look."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import gradio as gr

from headlight.model.records import Judgement
from headlight.viz.answers.payload import tokens_values, weights_values
from headlight.viz.answers.service import REVIEW, Service
from headlight.viz.errors import PageError
from headlight.viz.wire.rpc import answering
from headlight.viz.wire.widget import widget

MOST_TOKENS = 200  # up to here every weight travels: 0.9 MB for 8 heads; beyond, what each head looks at on average


class Review(NamedTuple):
    """One example; `name` has words of its own: `sentiment_example_NAME`."""

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
        return judgement_values(*ask(service, values))

    limit = REVIEW * service.settings.max_characters
    config = {"examples": [review._asdict() for review in REVIEWS if len(review.text) <= limit], "limit": limit}
    return widget("sentiment/sentiment", server=[judge], config=json.dumps(config, ensure_ascii=False))


def ask(service: Service, values: Mapping[str, Any]) -> tuple[Judgement, tuple[float, ...] | None]:
    """The judgement of what a browser sent, and of a text that is not too long what each word did for it."""
    if "text" not in values:
        raise PageError("text", "missing", {"name": "text"})
    return service.judge_and_erase(values["text"], most_tokens=MOST_TOKENS)


def judgement_values(judgement: Judgement, erased: tuple[float, ...] | None) -> dict[str, Any]:
    """All that the page shows of a judgement."""
    few = len(judgement.tokens) <= MOST_TOKENS
    return {
        "text": judgement.text,
        "shortened": judgement.shortened,
        "tokens": tokens_values(judgement.tokens),
        "shares": [round(share, 6) for share in judgement.shares],
        "erased": [round(change, 6) for change in erased] if erased else None,
        "bias": round(judgement.bias, 6),
        "log_odds": round(judgement.log_odds, 6),
        "probability": round(judgement.probability, 6),
        "verdict": judgement.verdict,
        "classes": judgement.classes,
        "shape": list(judgement.attention.shape[:2]),
        "attention": weights_values(judgement.attention) if few else None,
        # How much of an average row each token gets: [layer, head, key], and the keys sum to one.
        "received": judgement.attention.mean(axis=2).astype(float).round(7).tolist(),
    }
