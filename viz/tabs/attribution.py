"""Word tab: the account of a target word, its attribution by thirteen methods, and its logit decomposition.

Each method and each erasure curve is a separate call, so that the browser can stop between calls and the queue can
serve other visitors.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import gradio as gr

from headlight.model.experiments.account import (
    WordAccount,
    account_by_head,
    account_by_key,
    find_likeliest_rival,
    list_other_candidates,
    word_account,
)
from headlight.model.experiments.attribution import (
    METHODS,
    Attribution,
    AttributionQuery,
    attribution_query,
    source_words,
)
from headlight.model.experiments.faithfulness import RANDOM_ORDERS, agreement, sample_random_orders, sort_for_removal
from headlight.model.experiments.logit_lens import LayerPrediction, LogitDecomposition, decompose_logit, logit_lens
from headlight.model.experiments.queries import WordQuery, attribute_word, measure_word_erasure_curve
from headlight.model.measures.alignment_head import AlignmentHead
from headlight.model.measures.trace_records import Float64Array
from headlight.model.records import Translation
from headlight.viz.errors import PageError, repr_short
from headlight.viz.field_values import check_choice, check_head, check_int
from headlight.viz.server.calls import CallTable
from headlight.viz.server.widget import widget
from headlight.viz.service.model_json import model_json
from headlight.viz.service.service import Service
from headlight.viz.service.stored_reports import FAITHFULNESS, load_stored_report
from headlight.viz.service.word_query import parse_word
from headlight.viz.token_labels import make_visible, truncate

MAX_SECONDS = 3.0  # time limit of integrated gradients, because other requests wait meanwhile
MAX_RIVALS = 3  # in the menu, by probability
MAX_WORD_TOKENS = 40  # of a target word


def build(service: Service, calls: CallTable) -> gr.HTML:
    """Build the tab inside a `gr.Blocks`."""
    calls.add(make_faithfulness_call(service), computes=False)
    calls.add(make_account_call(service), make_account_heads_call(service), make_account_keys_call(service))
    calls.add(make_method_call(service))
    calls.add(make_erasure_curve_call(service), make_logit_call(service))
    config = {"methods": METHODS, "chances": RANDOM_ORDERS}
    return widget("attribution/attribution-tab", "word", config=json.dumps(config))


def make_faithfulness_call(service: Service) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Return the call `faithfulness_report`: a model's stored report, measured over many sentences."""

    def faithfulness_report(values: Mapping[str, Any]) -> dict[str, Any]:
        request = service.check(values.get("request"))
        return {"report": load_stored_report(service, FAITHFULNESS, request.model or service.default)}

    return faithfulness_report


def make_method_call(service: Service) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Return the call `run_method`: the scores of one method for a target word.

    It also compares them with the scores of other methods, which the browser sends as `known`.
    """

    def run_method(values: Mapping[str, Any]) -> dict[str, Any]:
        name = check_choice("method", values.get("method"), choices=METHODS)
        translation = service.translate(service.check(values.get("request")))
        query = parse_word_query(service, translation, values)
        word = WordQuery(query.positions, query.head, query.alignment_head, MAX_SECONDS)
        result: Attribution = service.run_on_translator(
            translation.request.model, attribute_word, translation, word, name
        )
        other_scores = parse_scores(values.get("known"), len(result.scores))
        return {
            "words": word_values(translation),
            "scores": [None if score is None else round(score, 6) for score in result.scores],
            "order": sort_for_removal(query, result.scores),
            "ms": round(1000 * result.seconds, 1),
            "gap": result.gap and {name: round(value, 4) for name, value in result.gap._asdict().items()},
            "head": query.head if name == "head" else query.alignment_head[:2] if name == "aligning" else None,
            "agrees": {
                other: [
                    None if math.isnan(value) else round(value, 4) for value in agreement(query, result.scores, scores)
                ]
                for other, scores in other_scores.items()
            },
        }

    return run_method


def make_erasure_curve_call(service: Service) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Return the call `hide_words`: the score of the target word after each source word is hidden.

    The words are hidden in the order `order`, or in the random order with the index `chance`.
    """

    def hide_words(values: Mapping[str, Any]) -> dict[str, Any]:
        translation = service.translate(service.check(values.get("request")))
        query = parse_word_query(service, translation, values)
        if values.get("order") is None:
            order = sample_random_orders(query)[
                check_int("chance", values.get("chance"), low=0, high=RANDOM_ORDERS - 1)
            ]
        else:
            order = parse_order(values["order"], query)
        curve = service.run_on_translator(
            translation.request.model, measure_word_erasure_curve, translation, query.positions, order
        )
        return {"curve": [round(score, 6) for score in curve]}

    return hide_words


def make_account_call(service: Service) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Return the call `account_word`: the contribution of each token to a target token's lead over a rival."""

    def account_word(values: Mapping[str, Any]) -> dict[str, Any]:
        translation, position, rival = _parse_account(service, values)
        name = translation.request.model
        info = service.model_info(name)
        token = translation.target_tokens[position]
        rivals = list_other_candidates(token)[:MAX_RIVALS]
        account: WordAccount = service.run_on_translator(name, word_account, translation, position, rival)

        def label(token_id: int) -> str:
            return truncate(make_visible(info.target_tokenizer.label(token_id)))

        return {
            "word": label(token.id),
            "probability": round(token.probability or 0.0, 4),
            "rival": {"id": rival, "label": label(rival)},
            "rivals": [
                {"id": other.id, "label": label(other.id), "probability": round(other.probability, 4)}
                for other in rivals
            ],
            "lead": round(account.lead, 5),
            "source": [round(part, 5) for part in account.source],
            "prefix": [round(part, 5) for part in account.prefix],
            "constants": round(account.constants, 5),
        }

    return account_word


def make_account_heads_call(service: Service) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Return the call `account_heads`: source token contributions by cross-attention head, `[layer][head][token]`."""

    def account_heads(values: Mapping[str, Any]) -> dict[str, Any]:
        translation, position, rival = _parse_account(service, values)
        heads: Float64Array = service.run_on_translator(
            translation.request.model, account_by_head, translation, position, rival
        )
        return {"heads": heads.round(5).tolist()}

    return account_heads


def make_account_keys_call(service: Service) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Return the call `account_keys`: source token contributions by key of a cross-attention head, `[key][token]`."""

    def account_keys(values: Mapping[str, Any]) -> dict[str, Any]:
        translation, position, rival = _parse_account(service, values)
        layers, heads = translation.attention.cross.shape[:2]
        layer, head = check_head(values, layers, heads)
        keys: Float64Array = service.run_on_translator(
            translation.request.model, account_by_key, translation, position, rival, layer, head
        )
        return {"keys": keys.round(5).tolist()}

    return account_keys


def _parse_account(service: Service, values: Mapping[str, Any]) -> tuple[Translation, int, int]:
    """Parse the word of an account and its rival, by default the likeliest one."""
    translation, position, rival = parse_word(service, values)
    return translation, position, find_likeliest_rival(translation, position) if rival is None else rival


def make_logit_call(service: Service) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Return the call `logit_details`: the logit lens of a translation and the logit decomposition of one token."""

    def logit_details(values: Mapping[str, Any]) -> dict[str, Any]:
        translation = service.translate(service.check(values.get("request")))
        tokens = len(translation.target_tokens)
        position = check_int("token", values.get("token"), low=0, high=tokens - 1)
        name = translation.request.model
        layers: list[LayerPrediction] = service.run_on_translator(name, logit_lens, translation)
        decomposition: LogitDecomposition = service.run_on_translator(name, decompose_logit, translation, position)
        tokenizer = service.model_info(name).target_tokenizer

        def label(token: int) -> str:
            return truncate(make_visible(tokenizer.label(token)))

        return {
            "layers": [
                [
                    {"says": label(best), "chance": round(chance, 4), "own": round(own, 4), "rank": rank}
                    for best, chance, own, rank in zip(
                        layer.best_ids, layer.best_probabilities, layer.probabilities, layer.ranks, strict=True
                    )
                ]
                for layer in layers
            ],
            "words": [label(token) for token in decomposition.ids],
            "logits": [round(float(logit), 5) for logit in decomposition.logits],
            "terms": [
                {
                    "part": term.part,
                    "kind": term.kind,
                    "layer": term.layer,
                    "head": term.head,
                    "effects": [round(float(effect), 6) for effect in term.effects],
                }
                for term in decomposition.terms
            ],
        }

    return logit_details


def parse_word_query(service: Service, translation: Translation, values: Mapping[str, Any]) -> AttributionQuery:
    """Parse the target word of a request, and the heads for the methods `head` and `aligning`."""
    value = values.get("places")
    if not isinstance(value, list) or not 0 < len(value) <= MAX_WORD_TOKENS or len(set(map(repr, value))) < len(value):
        raise PageError("places", "wrong_field", {"name": "places"})
    tokens = len(translation.target_tokens)
    positions = [check_int("places", position, low=0, high=tokens - 1) for position in value]
    layers, heads = translation.attention.cross.shape[:2]
    head = None
    if values.get("head") is not None:
        head = check_head(values, layers, heads)
    best_head = model_json(service, translation)["best_head"]
    alignment_head = None
    if best_head and best_head["layer"] < layers and best_head["head"] < heads:
        alignment_head = AlignmentHead(best_head["layer"], best_head["head"], best_head.get("shift", 0))
    info = service.model_info(translation.request.model)
    return attribution_query(info, translation, positions, head=head, alignment_head=alignment_head)


def word_values(translation: Translation) -> list[dict[str, Any]]:
    """Return the source words with their labels and token positions."""
    results = []
    for word in source_words(translation):
        full = make_visible(word.text)
        special = translation.source_tokens[word.positions[0]].special
        results.append({"label": truncate(full), "full": full, "special": special, "places": list(word.positions)})
    return results


def parse_scores(value: Any, words: int) -> dict[str, list[float | None]]:
    """Parse the scores of other methods, sent back by the browser."""
    if value is None:
        return {}
    if not isinstance(value, dict) or not set(value) <= set(METHODS):
        raise PageError("known", "wrong_field", {"name": "known"})
    for scores in value.values():
        is_valid = isinstance(scores, list) and len(scores) == words and all(map(_is_score, scores))
        if not is_valid:
            raise PageError("known", "wrong_field", {"name": "known"})
    return value


def _is_score(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value))


def parse_order(value: Any, query: AttributionQuery) -> list[int]:
    """Parse a permutation of the words that can be hidden."""
    positions = sort_for_removal(query, [0.0] * len(query.words))
    if (
        not isinstance(value, list)
        or any(type(position) is not int for position in value)
        or sorted(value) != positions
    ):
        raise PageError("order", "wrong_field", {"name": f"order ({repr_short(value)})"})
    return value
