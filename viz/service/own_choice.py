"""A model's own translation, without reranking, for comparisons under other options or interventions."""

from __future__ import annotations

from headlight.model.records import Translation, TranslationRequest
from headlight.model.translate.reranking import own_choice
from headlight.viz.service.messages import Answer
from headlight.viz.service.model_json import make_answer_dict
from headlight.viz.service.service import Service


def own_translation(service: Service, request: TranslationRequest) -> tuple[Translation, Answer | None]:
    """Return the model's own translation and its JSON data.

    The data is `None` if reranking selects the same translation for the page.
    """
    translation = service.translate(own_choice(request))
    is_same = target_ids(translation) == target_ids(service.translate(request))
    return translation, None if is_same else make_answer_dict(service, translation)


def target_ids(translation: Translation) -> tuple[int, ...]:
    """Return the ids of the target tokens."""
    return tuple(token.id for token in translation.target_tokens)
