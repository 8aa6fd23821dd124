"""What if: the same sentence translated again with some heads, layers, positions or words changed.

Two passes answer one question: the changed model translates anew, and it scores the words of the original translation.
Nothing is estimated: several changes at once are one run of the model. Both the original and the changed translation
are the model's own first choice, without a way back.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import gradio as gr

from headlight.model.errors import shown
from headlight.model.experiments.asked import first_change
from headlight.model.experiments.importance import Part, all_losses, heads_of, parts_of, rows_at_once
from headlight.model.experiments.pruning import read_curve
from headlight.model.measures.changed_words import Written, pair_words, words_written
from headlight.model.measures.chrf import chrf
from headlight.model.records import KINDS, Translation
from headlight.model.translate.choosing import own_choice
from headlight.viz.answers.model_values import values_of
from headlight.viz.answers.own_choice import ids_of, own_translation
from headlight.viz.answers.service import Service
from headlight.viz.errors import PageError
from headlight.viz.values import check_choice, check_whole
from headlight.viz.wire.rpc import answering
from headlight.viz.wire.widget import widget

AT_ONCE = 4  # ablated translations per call; a long call delays other visitors
LEAST = 1e-45  # the smallest probability: its logarithm is still a number


def build(service: Service) -> gr.HTML:
    """Inside a `gr.Blocks`."""
    asked = (changed_of, importance_of, interactions_of, curve_of, pruned_of)
    return widget("whatif/whatif", server=[answering(function(service)) for function in asked])


def changed_of(service: Service) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """The function that answers a request again with its `interventions`."""

    def answer_changed(values: Mapping[str, Any]) -> dict[str, Any]:
        plain = service.check(values.get("request"), interventions=None)
        changed = service.check(values.get("request"), interventions=values.get("interventions"))
        request = own_choice(changed)
        before, own = own_translation(service, plain)
        after = service.translate(request)
        # The words of the original, as the changed model scores them: the maps of both then have the same rows.
        held = service.translate(replace(request, target=ids_of(before), prefix=None))
        return {
            "answer": values_of(service, after),
            "held": values_of(service, held),
            "before": round(before.log_probability, 6),
            "after": round(held.log_probability, 6),
            "chrf": round(chrf(after.text, before.text), 2),
            "words": word_values(before, held, after),
            "own": own,
        }

    return answer_changed


def importance_of(service: Service) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """The function that measures what the answer loses without each kind, layer and head: one batch of them a call.

    A browser asks again from `next` on, and each call waits for its turn, so that no other visitor waits for all.
    """

    def measure_importance(values: Mapping[str, Any]) -> dict[str, Any]:
        request = own_choice(service.check(values.get("request")))
        answer = service.translate(request)
        return next_losses(values, service, answer, parts_of(service.outline(request.model).model.config))

    return measure_importance


def interactions_of(service: Service) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """The function that measures what the answer loses without one head and another one together, a batch a call.

    The browser knows what each loses alone: what is more than both sums is their interaction.
    """

    def measure_interactions(values: Mapping[str, Any]) -> dict[str, Any]:
        request = own_choice(service.check(values.get("request")))
        answer = service.translate(request)
        heads = heads_of(service.outline(request.model).model.config)
        return next_losses(values, service, answer, heads, (part_from(values.get("part"), heads),))

    return measure_interactions


def next_losses(
    values: Mapping[str, Any],
    service: Service,
    answer: Translation,
    parts: Sequence[Part],
    together: tuple[Part, ...] = (),
) -> dict[str, Any]:
    """What the answer loses without each of the parts from the `first` on, a batch of them, and where to go on."""
    first = check_whole("first", values.get("first", 0), low=0, high=len(parts) - 1)
    name = answer.request.model
    batch = parts[first : first + rows_at_once(service.outline(name).model.config, answer)]
    found: list[float] = service.run(name, all_losses, answer, [(*together, part) for part in batch])
    return {
        "losses": [
            {"kind": part.kind, "layer": part.layer, "head": part.head, "loss": round(loss, 4)}
            for part, loss in zip(batch, found, strict=True)
        ],
        "next": first + len(batch),
        "all": len(parts),
    }


def part_from(values: Any, heads: Sequence[Part]) -> Part:
    """One of a model's heads, by its kind, layer and head."""
    given = values if isinstance(values, Mapping) else {}
    kind = check_choice("kind", given.get("kind"), choices=KINDS)
    own = [part for part in heads if part.kind == kind]
    layer = check_whole("layer", given.get("layer"), low=0, high=max(part.layer or 0 for part in own))
    head = check_whole("head", given.get("head"), low=0, high=max(part.head or 0 for part in own))
    return next(part for part in own if (part.layer, part.head) == (layer, head))


def curve_of(service: Service) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Server function: the stored pruning curve of a model."""

    def tell_curve(values: Mapping[str, Any]) -> dict[str, Any]:
        request = service.check(values.get("request"))
        card = service.catalogue.card(request.model or service.default, "transformer")
        own = heads_of(service.outline(request.model).model.config)
        curve = read_curve(service.catalogue.folder(card), own)
        if curve is None:
            return {"curve": None}
        heads = [{"kind": part.kind, "layer": part.layer, "head": part.head} for part in curve.order]
        points = [{"off": point.off, "chrf": point.chrf, "same": point.same} for point in curve.points]
        about = {"corpus": curve.corpus, "sentences": curve.sentences, "ranked_on": curve.ranked_on}
        return {"curve": about | {"command": curve.command, "order": heads, "points": points}}

    return tell_curve


def pruned_of(service: Service) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """The function that tells at which of the next few heads the translation changes, as they go off in order."""

    def find_change(values: Mapping[str, Any]) -> dict[str, Any]:
        own = own_choice(service.check(values.get("request"), interventions=None))
        plain = service.translate(own)
        order = values.get("order")
        heads = heads_of(service.outline(own.model).model.config)
        if not isinstance(order, list) or len(order) != len(heads):
            raise PageError("order", "wrong_type", {"name": "order", "given": shown(order), "needed": "[{…}]"})
        parts = [part_from(each, heads) for each in order]
        first = check_whole("first", values.get("first", 1), low=1, high=len(parts))
        last = min(first + AT_ONCE, len(parts) + 1)
        # Its answers are of no use to others: they are not kept.
        count: int | None = service.run(own.model, first_change, own, plain.text, parts, first, last)
        return {"found": count, "next": last if count is None else count + 1, "all": len(parts)}

    return find_change


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
