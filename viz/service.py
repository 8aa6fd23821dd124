"""All that the page and its API ask of the models: which there are, whether a request may be served, its answer.

Every limit is checked before any work begins: characters before a text is cut into tokens, tokens before the model
reads one. Whatever goes wrong on purpose becomes a `PageError`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from threading import Event, Lock
from typing import Any

from model.errors import ModelError
from model.judge import Judge
from model.records import Judgement, Progress, Translation, TranslationRequest
from model.text import is_blank
from model.translator import Translator
from viz.cards import ModelCard, read_cards
from viz.errors import PageError, page_error, shown
from viz.gpu import on_borrowed_gpu
from viz.session import check_text, session_from
from viz.settings import Settings, SettingsError
from viz.store import Key, Store

USUAL = ("de-en", "toy")  # who answers where nobody is named, in order of preference
REVIEW = 8  # a review may be so many times as long as a sentence: a classifier reads pages

LOG = logging.getLogger(__name__)


class Service:
    """The models of one folder and the store in front of them. Threads may share it."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.store = Store(settings.cache_mb * 1_000_000)
        cards = read_cards(settings.models_folder)
        names = [card.name for card in cards if card.kind == "transformer"]
        if settings.model and settings.model not in names:
            raise SettingsError(
                f"HEADLIGHT_MODEL is {settings.model!r}, but the translators in {settings.models_folder} are: "
                f"{', '.join(names) or 'none'}. Name one of them, or unset it."
            )
        self.default = settings.model or next((name for name in (*USUAL, *names) if name in names), "")
        self._cards = {card.name: replace(card, default=card.name == self.default) for card in cards}
        self._models: dict[str, Any] = {}
        self._loading = {card.name: Lock() for card in cards}
        self._away = on_borrowed_gpu(self._compute)

    # ------------------------------------------------------------ which models

    def models(self) -> tuple[ModelCard, ...]:
        """All models, by name; one translator is the default."""
        return tuple(self._cards.values())

    def translator(self, name: str = "") -> Translator:
        """The translator of this name, or the default one, loaded when it is first asked for."""
        found: Translator = self._model(self._card(name or self.default, "transformer"), Translator.load)
        return found

    def _judge(self, name: str) -> Judge:
        named = name or next((card.name for card in self.models() if card.kind == "classifier"), "")
        found: Judge = self._model(self._card(named, "classifier"), Judge.load)
        return found

    def _card(self, name: str, kind: str) -> ModelCard:
        """A known model of this kind. Names are looked up and never become a path."""
        names = [card.name for card in self.models() if card.kind == kind]
        if not names:
            raise PageError("model", "no_model")
        if name not in names:
            raise PageError("model", "unknown_model", {"given": shown(name), "choices": ", ".join(names)})
        return self._cards[name]

    def _model(self, card: ModelCard, load: Callable[[Any], Any]) -> Any:
        """Loaded once; who asks in the meantime waits, but nobody waits for another model. A failure is tried again."""
        if card.name not in self._models:
            with self._loading[card.name]:
                if card.name not in self._models:
                    try:
                        self._models[card.name] = load(self.settings.models_folder / card.name)
                    except (ModelError, OSError) as error:
                        LOG.exception("The model %s cannot be loaded.", card.name)
                        raise PageError("model", "model_cannot_load", {"given": card.name}) from error
        return self._models[card.name]

    # ------------------------------------------------------------ translating

    def check(self, values: Any) -> TranslationRequest:
        """The request in what a browser or a program sent, after every check and before any work of the model."""
        request = session_from(values, self.settings).request
        if is_blank(request.text):
            raise PageError("text", "blank_text")
        translator = self.translator(request.model)
        with _in_our_words():
            request = translator.request(request)
            job = translator.intake.job([request])  # cuts all texts into tokens, and runs nothing
        most = self.settings.max_tokens
        for name, ids in (("text", job.sources[0]), ("target", job.targets[0] or ()), ("prefix", job.prefixes[0])):
            if len(ids) > most:
                raise PageError(name, "too_many_tokens", {"name": name, "given": len(ids), "limit": most})
        if job.targets[0] is None and job.limits[0] > most:  # what is written has the same limit as what is read
            request = replace(request, options=replace(request.options, max_length=most))
        return request

    def translate(self, request: TranslationRequest) -> Translation:
        """The answer to a checked request: a kept one, one that somebody else waits for already, or a new one."""
        make = self._away or self._compute
        with _in_our_words():
            self.translator(request.model)
            return self.store.answer(self._key(request), lambda: make(request))

    def stream(self, request: TranslationRequest, stop: Event) -> Iterator[Progress]:
        """News after each word; the last carries the translation. A kept answer comes at once, and alone.

        Set `stop`, or close the iterator, and the work ends within one step, with no last news. A lent GPU answers in
        one call, without news on the way.
        """
        with _in_our_words():
            self.translator(request.model)
            seat = self.store.enter(self._key(request), stop)
            if seat is None:
                return
            if isinstance(seat, Translation):
                yield _last(seat)
                return
            with seat as lead:
                if self._away is not None:
                    yield _last(lead.done(self._away(request)))
                    return
                with closing(self._steps(request)) as steps:
                    while not stop.is_set() and (progress := next(steps, None)) is not None:
                        lead.alive()
                        if progress.translation is not None:
                            lead.done(progress.translation)
                        yield progress

    def _steps(self, request: TranslationRequest) -> Any:
        return self.translator(request.model).stream(request)

    def _compute(self, request: TranslationRequest) -> Translation:
        return self.translator(request.model).translate(request)

    def _key(self, request: TranslationRequest) -> Key:
        card = self._card(request.model or self.default, "transformer")
        return Key(card.revision, replace(request, model=card.name))

    # ------------------------------------------------------------ judging

    def judge(self, text: Any, model: str = "") -> Judgement:
        """What a classifier says of a text."""
        text = check_text("text", text, limit=REVIEW * self.settings.max_characters)
        if is_blank(text):
            raise PageError("text", "blank_text")
        judge = self._judge(model)
        with _in_our_words():
            return judge.judge(text)


@contextmanager
def _in_our_words() -> Iterator[None]:
    """What the model floor complains of becomes a phrase of the page."""
    try:
        yield
    except ModelError as error:
        raise page_error(error) from error


def _last(translation: Translation) -> Progress:
    tokens = translation.target_tokens
    return Progress(len(tokens) + 1, translation.text, tokens, translation)
