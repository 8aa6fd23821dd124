"""What if: the same sentence translated again with some heads, layers, positions or words changed.

Two passes answer one question: the changed model translates anew, and it scores the words of the original translation.
Nothing is estimated: several changes at once are one run of the model.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import gradio as gr

from headlight.model.experiments.importance import all_losses, parts_of, rows_at_once
from headlight.model.measures.changed_words import Written, pair_words, words_written
from headlight.model.measures.chrf import chrf
from headlight.model.records import Translation
from headlight.viz.answers.model_values import model_of
from headlight.viz.answers.payload import answer_values
from headlight.viz.answers.service import Service
from headlight.viz.values import check_whole
from headlight.viz.wire.rpc import answering
from headlight.viz.wire.widget import widget

LEAST = 1e-45  # the smallest probability: its logarithm is still a number


def build(service: Service) -> gr.HTML:
    """Inside a `gr.Blocks`."""
    return widget("whatif/whatif", server=[answering(changed_of(service)), answering(importance_of(service))])


def changed_of(service: Service) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """The function that answers a request again with its `interventions`."""

    def answer_changed(values: Mapping[str, Any]) -> dict[str, Any]:
        service.check(values.get("request"))
        own = service.check({**values["request"], "interventions": None})
        request = service.check({**values["request"], "interventions": values.get("interventions")})
        before, after = service.translate(own), service.translate(request)
        written = tuple(token.id for token in before.target_tokens)
        # The words of the original, as the changed model scores them: the maps of both then have the same rows.
        held = service.translate(replace(request, target=written, prefix=None))
        about = model_of(service, after)
        return {
            "answer": answer_values(after, about),
            "held": answer_values(held, about),
            "before": round(before.log_probability, 6),
            "after": round(held.log_probability, 6),
            "chrf": round(chrf(after.text, before.text), 2),
            "words": word_values(before, held, after),
        }

    return answer_changed


def importance_of(service: Service) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """The function that measures what the answer loses without each kind, layer and head: one batch of them a call.

    A browser asks again from `next` on, and each call waits for its turn, so that no other visitor waits for all.
    """

    def measure_importance(values: Mapping[str, Any]) -> dict[str, Any]:
        request = service.check(values.get("request"))
        answer = service.translate(request)
        with service.hold(request.model) as translator:
            parts = parts_of(translator.model.config)
            first = check_whole("first", values.get("first", 0), low=0, high=len(parts) - 1)
            batch = parts[first : first + rows_at_once(translator, answer)]
            found = all_losses(translator, answer, [(part,) for part in batch])
        return {
            "losses": [
                {"kind": part.kind, "layer": part.layer, "head": part.head, "loss": round(loss, 4)}
                for part, loss in zip(batch, found, strict=True)
            ],
            "next": first + len(batch),
            "all": len(parts),
        }

    return measure_importance


def word_values(before: Translation, held: Translation, after: Translation) -> list[dict[str, Any]]:
    """Word by word: the original with its log probability as it is and under the change, and what is written now."""
    first = words_written(before.target_tokens, before.text)
    second = words_written(after.target_tokens, after.text)
    values = []
    for pair in pair_words([word.text for word in first], [word.text for word in second]):
        each: dict[str, Any] = {"before": None, "after": None}
        if pair.before is not None:
            word = first[pair.before]
            each |= {"before": word.text, "places": list(word.places)}
            each |= {"log_before": log_of(before, word), "log_after": log_of(held, word)}
        if pair.after is not None:
            each["after"] = second[pair.after].text
        values.append(each)
    return values


def log_of(translation: Translation, word: Written) -> float:
    """The log probability of a word: the sum over its tokens."""
    chances = [translation.target_tokens[place].probability or 0.0 for place in word.places]
    return round(sum(math.log(max(chance, LEAST)) for chance in chances), 6)
