"""What if: the same sentence translated again with some heads, layers, positions or words changed.

The changed model translates the sentence again and scores the words of the original translation. Nothing is estimated:
several changes are applied in one run of the model. Both translations are the model's own first choice, without
reranking.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import gradio as gr

from headlight.model.errors import repr_short
from headlight.model.experiments.effects import compute_sentence_head_effects
from headlight.model.experiments.importance import (
    AttentionPart,
    all_heads,
    batch_size,
    list_all_parts,
    measure_all_ablation_losses,
)
from headlight.model.experiments.pruning import read_curve
from headlight.model.experiments.queries import find_first_change
from headlight.model.measures.chrf import chrf
from headlight.model.measures.trace_records import Float64Array
from headlight.model.measures.word_diff import WrittenWord, diff_words, written_words
from headlight.model.records import KINDS, Kind, Translation
from headlight.model.translate.reranking import own_choice
from headlight.viz.errors import PageError
from headlight.viz.field_values import check_choice, check_int
from headlight.viz.server.calls import CallTable
from headlight.viz.server.widget import widget
from headlight.viz.service.model_json import make_answer_dict
from headlight.viz.service.own_choice import own_translation, target_ids
from headlight.viz.service.service import Service
from headlight.viz.tabs.patching import make_patching_call

BATCH_SIZE = 4  # ablated translations per call; long calls delay other visitors
MIN_PROBABILITY = 1e-45  # lower bound, so that the logarithm is finite


def build(service: Service, calls: CallTable) -> gr.HTML:
    """Build the tab inside a `gr.Blocks`."""
    calls.add(
        make_prediction_call(service),
        make_changed_answer_call(service),
        make_importance_call(service),
        make_interactions_call(service),
        make_pruning_curve_call(service),
        make_pruning_search_call(service),
        make_patching_call(service),
    )
    return widget("whatif/whatif")


def make_changed_answer_call(service: Service) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Return the call `changed_translation`, which translates a request again with its `interventions`."""

    def changed_translation(values: Mapping[str, Any]) -> dict[str, Any]:
        plain_request = service.check(values.get("request"), interventions=None)
        changed_request = service.check(values.get("request"), interventions=values.get("interventions"))
        request = own_choice(changed_request)
        before, unranked = own_translation(service, plain_request)
        after = service.translate(request)
        # The changed model scores the original words, so that both maps have the same rows.
        forced = service.translate(replace(request, target=target_ids(before), prefix=None))
        return {
            "answer": make_answer_dict(service, after),
            "held": make_answer_dict(service, forced),
            "before": round(before.log_probability, 6),
            "after": round(forced.log_probability, 6),
            "chrf": round(chrf(after.text, before.text), 2),
            "words": compare_words(before, forced, after),
            "own": unranked,
        }

    return changed_translation


def make_importance_call(service: Service) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Return the call `measure_importance`: the loss of log probability without each kind, layer and head.

    A call measures one batch, and the browser calls again with `next` as `first`. Each call waits in the queue, so that
    other visitors are served in between.
    """

    def measure_importance(values: Mapping[str, Any]) -> dict[str, Any]:
        request = own_choice(service.check(values.get("request")))
        answer = service.translate(request)
        return measure_next_batch(
            values, service, answer, list_all_parts(service.model_info(request.model).model.config)
        )

    return measure_importance


def make_prediction_call(service: Service) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Return the call `predict_losses`: the predicted loss of every head, from one backward pass."""

    def predict_losses(values: Mapping[str, Any]) -> dict[str, Any]:
        request = own_choice(service.check(values.get("request")))
        answer = service.translate(request)
        losses: dict[Kind, Float64Array] = service.run_on_translator(
            request.model, compute_sentence_head_effects, answer
        )
        return {"losses": {kind: effects.round(4).tolist() for kind, effects in losses.items()}}

    return predict_losses


def make_interactions_call(service: Service) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Return the call `measure_interactions`: the loss without a given head and each other head together.

    A call measures one batch. The browser subtracts both single losses; the remainder is the interaction.
    """

    def measure_interactions(values: Mapping[str, Any]) -> dict[str, Any]:
        request = own_choice(service.check(values.get("request")))
        answer = service.translate(request)
        heads = all_heads(service.model_info(request.model).model.config)
        return measure_next_batch(values, service, answer, heads, (parse_part(values.get("part"), heads),))

    return measure_interactions


def measure_next_batch(
    values: Mapping[str, Any],
    service: Service,
    answer: Translation,
    parts: Sequence[AttentionPart],
    also_ablated: tuple[AttentionPart, ...] = (),
) -> dict[str, Any]:
    """Measure the loss without each part of a batch from index `first`; `also_ablated` are ablated in every run."""
    first = check_int("first", values.get("first", 0), low=0, high=len(parts) - 1)
    name = answer.request.model
    batch = parts[first : first + batch_size(service.model_info(name).model.config, answer)]
    results: list[float] = service.run_on_translator(
        name, measure_all_ablation_losses, answer, [(*also_ablated, part) for part in batch]
    )
    return {
        "losses": [
            {"kind": part.kind, "layer": part.layer, "head": part.head, "loss": round(loss, 4)}
            for part, loss in zip(batch, results, strict=True)
        ],
        "next": first + len(batch),
        "all": len(parts),
    }


def parse_part(values: Any, heads: Sequence[AttentionPart]) -> AttentionPart:
    """Parse one of a model's heads from its kind, layer and head."""
    value = values if isinstance(values, Mapping) else {}
    kind = check_choice("kind", value.get("kind"), choices=KINDS)
    heads_of_kind = [part for part in heads if part.kind == kind]
    layer = check_int("layer", value.get("layer"), low=0, high=max(part.layer or 0 for part in heads_of_kind))
    head = check_int("head", value.get("head"), low=0, high=max(part.head or 0 for part in heads_of_kind))
    return next(part for part in heads_of_kind if (part.layer, part.head) == (layer, head))


def make_pruning_curve_call(service: Service) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Return the call `pruning_curve`: the stored pruning curve of a model."""

    def pruning_curve(values: Mapping[str, Any]) -> dict[str, Any]:
        request = service.check(values.get("request"))
        card = service.catalogue.card(request.model or service.default, "transformer")
        heads = all_heads(service.model_info(request.model).model.config)
        curve = read_curve(service.catalogue.folder(card), heads)
        if curve is None:
            return {"curve": None}
        order = [{"kind": part.kind, "layer": part.layer, "head": part.head} for part in curve.order]
        points = [{"off": point.off, "chrf": point.chrf, "same": point.same} for point in curve.points]
        source = {"corpus": curve.corpus, "sentences": curve.sentences, "ranked_on": curve.ranked_on}
        return {"curve": source | {"command": curve.command, "order": order, "points": points}}

    return pruning_curve


def make_pruning_search_call(service: Service) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Return the call `find_change`: which of the next few heads, pruned in order, changes the translation."""

    def find_change(values: Mapping[str, Any]) -> dict[str, Any]:
        request = own_choice(service.check(values.get("request"), interventions=None))
        original = service.translate(request)
        order = values.get("order")
        heads = all_heads(service.model_info(request.model).model.config)
        if not isinstance(order, list) or len(order) != len(heads):
            raise PageError("order", "wrong_type", {"name": "order", "given": repr_short(order), "needed": "[{…}]"})
        parts = [parse_part(part, heads) for part in order]
        first = check_int("first", values.get("first", 1), low=1, high=len(parts))
        last = min(first + BATCH_SIZE, len(parts) + 1)
        # These answers are not cached: no other request uses them.
        count: int | None = service.run_on_translator(
            request.model, find_first_change, request, original.text, parts, first, last
        )
        return {"found": count, "next": last if count is None else count + 1, "all": len(parts)}

    return find_change


def compare_words(before: Translation, forced: Translation, after: Translation) -> list[dict[str, Any]]:
    """Return the diff of original and changed words, with the original's log probabilities under both models."""
    first = written_words(before.target_tokens, before.text)
    second = written_words(after.target_tokens, after.text)
    values = []
    for pair in diff_words([word.text for word in first], [word.text for word in second]):
        entry: dict[str, Any] = {"before": None, "after": None}
        if pair.before is not None:
            word = first[pair.before]
            entry |= {"before": word.text, "places": list(word.positions)}
            entry |= {"log_before": word_log_probability(before, word), "log_after": word_log_probability(forced, word)}
        if pair.after is not None:
            entry["after"] = second[pair.after].text
        values.append(entry)
    return values


def word_log_probability(translation: Translation, word: WrittenWord) -> float:
    """Return the log probability of a word: the sum over its tokens."""
    probabilities = [translation.target_tokens[position].probability or 0.0 for position in word.positions]
    return round(sum(math.log(max(probability, MIN_PROBABILITY)) for probability in probabilities), 6)
