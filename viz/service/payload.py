"""JSON of a translation for the browser: tokens, and one character per weight (`weight_encoding.py`).

A weight takes 1.1 to 1.7 bytes and is exact in the decimals that the page shows. Cells above the diagonal of decoder
maps are not sent. Masked words are listed in `hidden`.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np

from headlight.model.intervention_records import change_to_dict
from headlight.model.measures.alignment_head import UNMEASURED, CrossHeads
from headlight.model.measures.roles import Role, head_roles
from headlight.model.measures.statistics import STATISTICS, map_geometry, measure_weights
from headlight.model.records import (
    KINDS,
    BeamNode,
    FloatArray,
    Kind,
    Reliability,
    Token,
    Translation,
    TranslationRequest,
)
from headlight.model.translate.opening import late_heads, opening
from headlight.viz.service.messages import (
    ANSWER_VERSION,
    Answer,
    AnswerExtras,
    AnswerModel,
    DownloadMessage,
    EncodedTensor,
    MeasureValues,
    NodeValues,
    ReliabilityValues,
    RequestValues,
    RoleValues,
    TokenValues,
    TranslationMessage,
    WaitingMessage,
)
from headlight.viz.service.weight_encoding import encode_weights
from headlight.viz.token_labels import token_labels


def translation_json(
    translation: Translation, model: AnswerModel, cross_heads: CrossHeads = UNMEASURED, **extras: Unpack[AnswerExtras]
) -> str:
    """Return the JSON of `answer_dict` with the fields `extras`.

    Weights are inserted after encoding: they need no escapes, and searching megabytes for them takes 10 ms.
    """
    answer = answer_dict(translation, model, cross_heads)
    letters = {kind: maps["letters"] for kind, maps in answer["attention"].items()}
    attention = {kind: {**maps, "letters": kind} for kind, maps in answer["attention"].items()}
    remaining, parts = _json({**answer, **extras, "attention": attention}), []
    for kind, text in letters.items():
        placeholder = f'"letters":"{kind}"'  # unique, because quotes in user text are escaped
        prefix, remaining = remaining.split(placeholder, 1)
        parts += [prefix, f'"letters":"{text}"']
    return "".join([*parts, remaining])


def answer_dict(translation: Translation, model: AnswerModel, cross_heads: CrossHeads = UNMEASURED) -> Answer:
    """Return all data that the page shows. `model`: data of the model. `cross_heads`: its measured heads."""
    roles = head_roles(translation)
    languages = {"source": model.get("source", ""), "target": model.get("target", "")}
    view = opening(translation, roles["cross"], cross_heads, **languages)
    answer: Answer = {
        "what": "answer",
        "version": ANSWER_VERSION,
        "model": model,
        "request": _make_request_values(translation.request),
        "source_text": translation.source_text,
        "text": translation.text,
        "source": make_token_values(translation.source_tokens),
        "target": make_token_values(translation.target_tokens),
        "start": make_token_values((translation.start_token,))[0],
        "attention": {kind: encode_tensor(translation.attention.of(kind), causal=kind == "decoder") for kind in KINDS},
        "roles": make_role_values(roles),
        "measures": {kind: make_measure_values(translation, kind) for kind in KINDS},
        "opening": None if view is None else {"layer": view.layer, "head": view.head, "row": view.row},
        "late": late_heads(roles["cross"], cross_heads),
        "hypotheses": [dataclasses.asdict(hypothesis) for hypothesis in translation.hypotheses],
        "tree": [_make_node_values(node) for node in translation.tree.nodes],
        "score": translation.score,
        "log_probability": translation.log_probability,
        "stopped": translation.stopped,
        "reliability": make_reliability_values(translation.reliability),
        "device": translation.device,
        "seconds": sum(dataclasses.astuple(translation.timing)),
    }
    if translation.attention.masked_source:
        answer["hidden"] = list(translation.attention.masked_source)
    if translation.unknown:
        answer["unknown"] = list(translation.unknown)
    if translation.adaptations:
        answer["adaptations"] = list(translation.adaptations)
    return answer


def _make_request_values(request: TranslationRequest) -> RequestValues:
    values: RequestValues = {
        "text": request.text,
        "model": request.model,
        "options": dataclasses.asdict(request.options),
        "target": request.target,
        "prefix": request.prefix,
        "source_language": request.source_language,
        "target_language": request.target_language,
    }
    if request.interventions:
        values["interventions"] = [change_to_dict(change) for change in request.interventions]
    return values


def _make_node_values(node: BeamNode) -> NodeValues:
    """Return a node of the beam search. Numbers have six decimals; the page shows two."""
    log_probability, score = round(node.log_probability, 6), round(node.score, 6)
    return node.parent, node.step, node.id, node.text, log_probability, score, node.outcome


def make_reliability_values(reliability: Reliability | None) -> ReliabilityValues | None:
    """Return the reliability with its reasons. Spans are character positions in the sentence and in the translation."""
    if reliability is None:
        return None
    return {
        "probability": None if reliability.probability is None else round(reliability.probability, 4),
        "grade": reliability.grade,
        "reasons": [dataclasses.asdict(reason) for reason in reliability.reasons],
        "back": reliability.back_translation,
    }


def encode_partial(text: str, tokens: Sequence[Token]) -> str:
    """Return the message with the tokens written so far."""
    return encode_message({"what": "progress", "text": text, "target": make_token_values(tokens)})


def encode_queue_position(requests_ahead: int | None, ticket: str = "") -> str:
    """Return the message with the position in the queue. The browser polls with `ticket`.

    `requests_ahead` counts requests of other visitors; `None`: only the visitor's own requests run first.
    """
    message: WaitingMessage = {"what": "waiting", "before": requests_ahead}
    if ticket:
        message["ticket"] = ticket
    return encode_message(message)


def encode_busy() -> str:
    """Return the message that live requests are deferred because the server is busy."""
    return encode_message({"what": "busy"})


def encode_deferred(name: str) -> str:
    """Return the message that the answer is too large to stream and must be fetched by this name."""
    return encode_message({"what": "parcel", "name": name})


def encode_error(field: str, word: str, values: Mapping[str, Any]) -> str:
    """Return the message of an error: a key of the phrase tables, with the request field that it belongs to."""
    return encode_message({"what": "error", "field": field, "word": word, "values": dict(values)})


def make_token_values(tokens: Sequence[Token]) -> list[TokenValues]:
    """Return tokens with their labels; default values are omitted."""
    values = []
    for token, label in zip(tokens, token_labels(tokens), strict=True):
        entry: TokenValues = {
            "text": token.text,
            "label": label.text,
            "id": token.id,
            "start": token.start,
            "end": token.end,
            "word": token.word,
        }
        if label.full != label.text:
            entry["full"] = label.full
        if token.special:
            entry["special"] = True
        if label.continues_word:
            entry["joined"] = True
        if token.pieces > 1:
            entry["piece"], entry["pieces"] = token.piece, token.pieces
        if token.probability is not None:
            entry["probability"] = round(token.probability, 6)
            entry["alternatives"] = [
                (alternative.text, alternative.id, round(alternative.probability, 6))
                for alternative in token.alternatives
            ]
        values.append(entry)
    return values


def encode_tensor(weights: FloatArray, *, causal: bool = False) -> EncodedTensor:
    """Encode an array of any shape; `causal` omits the cells above the diagonal of the last two axes."""
    return {"shape": list(weights.shape), "letters": encode_weights(weights, causal=causal)}


def make_role_values(roles: Mapping[Kind, Sequence[Sequence[Role]]]) -> dict[Kind, list[list[RoleValues]]]:
    """Return the role of each head in this sentence, `[layer][head]`: name, share and spread."""
    return {
        kind: [[(role.name, round(role.share, 4), round(role.spread, 2)) for role in layer] for layer in layers]
        for kind, layers in roles.items()
    }


def make_measure_values(translation: Translation, kind: Kind) -> dict[str, MeasureValues]:
    """Return the measures that apply to a kind, by name: the unit, a scale and a letter for each head, layer by layer.

    A number is the scale times the weight of its letter. The scale is a power of ten, so that a number below 100 keeps
    the two decimals that the page shows. A space means NaN.
    """
    measures = measure_weights(translation.attention.of(kind), map_geometry(translation, kind))
    values = np.stack([measure.ravel() for measure in measures.values()])  # [measure, head]
    # Processors sum weights in different orders: without rounding, 0.99999994 and 1 would have different letters.
    numbers = np.nan_to_num(values).astype(np.float64).round(6)
    scales = 10 ** np.ceil(np.log10(numbers.max(axis=1, initial=1)))
    letters = np.array(list(encode_weights(numbers / scales[:, None]))).reshape(values.shape)
    letters[np.isnan(values)] = " "
    rows = zip(measures, scales, letters.tolist(), strict=True)
    return {name: (STATISTICS[name].unit, int(scale), "".join(row)) for name, scale, row in rows}


def encode_message(message: TranslationMessage | DownloadMessage) -> str:
    """Return the JSON of a message of a stream."""
    return _json(message)


def _json(values: Any) -> str:
    text = json.dumps(values, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")  # so that user text cannot open a <script> wherever the JSON is embedded
