"""Service layer: lists models, validates requests, translates.

Every limit is checked before the work begins: characters before a text is cut into tokens, tokens before the model
reads one. An expected error becomes a `PageError`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import astuple, dataclass, replace
from functools import partial
from threading import Event
from typing import Any

from headlight.model.errors import ModelError
from headlight.model.experiments.asked import Erased, judge_and_erase
from headlight.model.foreign.hub import Plan
from headlight.model.foreign.hub import Progress as Arrived
from headlight.model.records import Judgement, Progress, Reliability, Translation, TranslationRequest
from headlight.model.text.cleaning import is_blank
from headlight.model.translate.choosing import guess_sentence, has_choice, sentence_read, with_choice
from headlight.model.translate.outline import Outline
from headlight.model.translate.read_back import read_back
from headlight.model.translate.translator import Translator
from headlight.viz.answers.answer_cache import AnswerCache, Key
from headlight.viz.answers.backends import Backend, last_progress
from headlight.viz.answers.cards import ModelCard
from headlight.viz.answers.catalogue import Catalogue
from headlight.viz.answers.choosing import choose_backend
from headlight.viz.answers.defaults import ModelDefaults, model_defaults_of, plain_model_defaults
from headlight.viz.answers.line import Line
from headlight.viz.answers.loaded import LoadedModels, place_of
from headlight.viz.answers.shared import ALONE, SharedAnswers, Turn
from headlight.viz.answers.single_flight import Lead
from headlight.viz.answers.tallies import Purpose, Tallies
from headlight.viz.answers.training_runs import TrainingRuns
from headlight.viz.answers.work import Work
from headlight.viz.errors import PageError, page_error
from headlight.viz.fields import request_from
from headlight.viz.settings import Settings, SettingsError
from headlight.viz.values import check_text

DEFAULT_MODEL = "de-en"  # default translator
TOY = "toy"  # the default only if there is no other model
REVIEW = 8  # a review may have 8 times the characters of a sentence: a classifier reads pages
MEGABYTE = 1_000_000

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Cached(Progress):
    """A cached translation; its timings belong to an earlier request."""


class Service:
    """All models, and the caches in front of them. Threads may share it."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.tallies = Tallies()
        # Before everything that computes:
        self.line = Line(
            settings.concurrency,
            settings.line,
            on_refused=self.tallies.refused,
            max_wait_s=settings.max_wait_s,
        )
        self.answer_cache = AnswerCache(settings.cache_mb * MEGABYTE)
        self.shared = SharedAnswers(settings.cache_url) if settings.cache_url else None
        self.catalogue = Catalogue(settings)
        self.loaded = LoadedModels(self.catalogue, settings.models_mb * MEGABYTE)
        self.backend: Backend = choose_backend(settings, self.loaded)
        self.training = TrainingRuns()  # in separate processes with their own queue
        self._model_defaults: dict[tuple[str, str], ModelDefaults] = {}  # also of evicted models
        names = [card.name for card in self.catalogue.cards() if card.kind == "transformer" and card.downloaded]
        if settings.model and settings.model not in names:
            raise SettingsError(
                f"HEADLIGHT_MODEL is {settings.model!r}, but the translators in {settings.models_folder} are: "
                f"{', '.join(names) or 'none'}. Name one of them, or unset it."
            )
        self.default = settings.model or min(
            names, key=lambda name: (name == TOY, name != DEFAULT_MODEL, name), default=""
        )

    # ------------------------------------------------------------ which models

    def models(self) -> tuple[ModelCard, ...]:
        """All models: the local ones by name, then those of the Hub; one translator is the default."""
        return tuple(replace(card, default=card.name == self.default) for card in self.catalogue.cards())

    def offer(self, name: str) -> Plan:
        """The files and sizes of a model on the Hub, for the visitor to confirm."""
        return self.catalogue.offer(name)

    def fetch(
        self, name: str, on_progress: Callable[[Arrived], None] | None = None, stop: Event | None = None
    ) -> ModelCard:
        """Download an allowed model of the Hub. `on_progress` gets its progress; setting `stop` ends it soon."""
        return self.catalogue.fetch(name, on_progress, stop)

    def run(self, name: str, work: Work, *given: Any) -> Any:
        """Run `work(translator, *given)` on the backend of this translator, or of the default one."""
        with _in_our_words():
            return self.backend.run(self._card(name), work, *given)

    def run_judge(self, work: Work, *given: Any, name: str = "", linear: bool = False) -> Any:
        """The same of the classifier of this name, or the first one.

        `linear`: only one whose verdict is a sum of contributions will do.
        """
        known = [card.name for card in self.classifiers() if card.downloaded and (card.linear or not linear)]
        card = self.catalogue.card(name or next(iter(known), ""), "classifier")
        with _in_our_words():
            return self.backend.run(card, work, *given)

    def classifiers(self) -> list[ModelCard]:
        """All classifiers: first those whose verdict is a sum of contributions, last those that may be downloaded."""
        cards = (card for card in self.catalogue.cards() if card.kind == "classifier")
        return sorted(cards, key=lambda card: (not card.downloaded, card.where == "hub", not card.linear, card.name))

    def outline(self, name: str = "") -> Outline:
        """Model information of this translator, or of the default one."""
        return self.backend.outline(self._card(name))

    def model_defaults(self, name: str = "") -> ModelDefaults:
        """The default options of a translator. The model is loaded only if it has its own defaults."""
        card = self._card(name)
        if not card.brings_defaults and card.downloaded:
            read_back = card.read_back and bool(self.catalogue.reverse_of(card.name))
            return plain_model_defaults(self.settings, read_back=read_back)
        found = self._model_defaults.get(place_of(card))
        if found is None:
            found = self._model_defaults[place_of(card)] = model_defaults_of(self.outline(card.name), self.settings)
        return found

    def _card(self, name: str) -> ModelCard:
        return self.catalogue.card(name or self.default, "transformer")

    # ------------------------------------------------------------ translating

    def check(self, values: Any, *, model_defaults: bool = False, **instead: Any) -> TranslationRequest:
        """The request that a browser or a program sent, after every check and before the model computes.

        `model_defaults`: options that are not named are the defaults of this model, instead of those of the API.
        `instead`: fields that have these values, whatever was sent.
        """
        if instead and isinstance(values, Mapping):  # anything else is refused below
            values = {**values, **instead}
        try:
            return self._checked(values, model_defaults=model_defaults)
        except PageError as error:
            self.tallies.refused(error.word)
            raise

    def _checked(self, values: Any, *, model_defaults: bool) -> TranslationRequest:
        request = request_from(values, self.settings)
        if is_blank(request.text):
            raise PageError("text", "blank_text")
        most = self.settings.max_tokens
        with _in_our_words():
            outline = self.outline(request.model)
            defaults = self.model_defaults(request.model)
            if model_defaults:
                request = request_from(values, self.settings, defaults.decoding)
            request = outline.request(defaults.checked(request, most))
            batch = outline.checker.prepare([request])  # cuts all texts into tokens, and runs nothing
            others = [outline.checker.prepare([other]) for other in outline.checker.others(request)]
        for name, ids in (
            ("text", batch.sources[0]),
            ("target", batch.targets[0] or ()),
            ("prefix", batch.prefixes[0]),
            *(("interventions", other.sources[0]) for other in others),
        ):
            if len(ids) > most:
                raise PageError(name, "too_many_tokens", {"name": name, "given": len(ids), "limit": most})
        if batch.targets[0] is None and batch.limits[0] > most:  # output has the same limit as input
            request = replace(request, options=replace(request.options, max_length=most))
        return request

    def translate(self, request: TranslationRequest) -> Translation:
        """The translation of a checked request: from the cache, from an equal request that runs now, or a new one."""
        return self.translated(request)[0]

    def translated(self, request: TranslationRequest, purpose: Purpose = "view") -> tuple[Translation, bool]:
        """The same, and whether it was made for another request."""
        made: list[Translation] = []

        def make() -> Translation:
            with self._shared(request) as turn:
                if turn.found is not None:
                    return turn.found
                made.append(self._choose(self.run(request.model, Translator.translate, request), turn))
                return made[0]

        try:
            with _in_our_words():
                translation = self.answer_cache.answer(self.key(request), make)
        except Exception:
            self.tallies.ended(request.model or self.default, purpose, "failed")
            raise
        self._tell(request, purpose, translation, cached=not made)
        return translation, not made

    def stream(self, request: TranslationRequest, stop: Event) -> Generator[Progress]:
        """Progress after each word; the last carries the translation. A cached answer comes at once, and alone.

        Set `stop`, or close the iterator, and the work ends within one step, with no last progress.
        """
        with _in_our_words():
            seat = self.answer_cache.enter(self.key(request), stop)
            if seat is None:
                self.tallies.ended(request.model or self.default, "page", "stopped")
                return
            if isinstance(seat, Translation):
                self._tell(request, "page", seat, cached=True)
                yield last_progress(seat, Cached)
                return
            with seat as lead:
                yield from self._steps(request, lead, stop)

    def _steps(self, request: TranslationRequest, lead: Lead[Translation], stop: Event) -> Generator[Progress]:
        """Compute a request as the leader and yield its progress."""
        made: Translation | None = None
        cached = failed = False
        try:
            with self._shared(request, stop) as turn:
                if turn.found is not None:
                    made, cached = lead.done(turn.found), True
                    yield last_progress(made, Cached)
                    return
                with closing(self.backend.stream(self._card(request.model), request, stop)) as steps:
                    while not stop.is_set() and (progress := next(steps, None)) is not None:
                        lead.alive()
                        if progress.translation is not None:
                            made = lead.done(self._choose(progress.translation, turn))
                            progress = last_progress(made)
                        yield progress
        except Exception:
            failed = True
            raise
        finally:
            if made is not None:
                self._tell(request, "page", made, cached=cached)
            else:
                self.tallies.ended(request.model or self.default, "page", "failed" if failed else "stopped")

    def _choose(self, translation: Translation, turn: Turn) -> Translation:
        """Rerank with the reverse model if the request asks for it and the model is installed.

        If the reverse model fails, the search's own choice is returned.
        """
        name = self._reverse(translation.request) if has_choice(translation) else ""
        if not name:
            return turn.keep(translation)
        texts = [each.text for each in translation.hypotheses]
        started = time.perf_counter()
        try:
            guesses = self.run(name, guess_sentence, sentence_read(translation), texts)
            spent = replace(translation.timing, decode=translation.timing.decode + time.perf_counter() - started)
            translation = replace(translation, timing=spent)
            capture = partial(self.run, translation.request.model, Translator.translate)
            return turn.keep(with_choice(translation, guesses, capture))
        except PageError:
            LOG.exception("%s could not read an answer back, so the search chose alone.", name)
            return translation

    @contextmanager
    def _shared(self, request: TranslationRequest, left: Event | None = None) -> Iterator[Turn]:
        """The slot for this request in the shared cache; without one, always the lead."""
        if self.shared is None:
            yield ALONE
            return
        with self.shared.turn(self.key(request), self.outline(request.model).rule, left) as turn:
            yield turn

    def _tell(self, request: TranslationRequest, purpose: Purpose, translation: Translation, *, cached: bool) -> None:
        """Update metrics and write a log line."""
        name = request.model or self.default
        self.tallies.answer(name, purpose, translation, cached=cached)
        tokens = {"read": len(translation.source_tokens), "written": len(translation.target_tokens)}
        beam = request.options.beam_size
        seconds = round(sum(astuple(translation.timing)), 4)
        values = {"model": name, "for": purpose, "cached": cached, "beam": beam, "seconds": seconds, **tokens}
        LOG.info("An answer was given.", extra={"values": values})

    def way_back(self, translation: Translation) -> str:
        """The name of the reverse model; empty if none is installed or the answer is not judged."""
        return self._reverse(translation.request) if translation.judges_way_back else ""

    def _reverse(self, request: TranslationRequest) -> str:
        return self.catalogue.reverse_of(request.model or self.default)

    def read_back(self, translation: Translation) -> Reliability | None:
        """Reliability of an answer, with back-translation if a reverse model is installed."""
        name = self.way_back(translation)
        if not name:
            return translation.reliability
        return translation.read_back(self.run(name, read_back, translation))

    def key(self, request: TranslationRequest) -> Key:
        """Cache key of a checked request. Naming the default model gives the same key as naming none."""
        card = self._card(request.model)
        revision = card.revision
        if request.options.back_weight > 0 and request.options.beam_size > 1:  # another model chooses, too
            revision += f"+{self.partner_revision(card.name)}"
        return Key(revision, replace(request, model=card.name))

    def partner_revision(self, name: str) -> str:
        """The revision of the reverse model, or empty."""
        partner = self.catalogue.reverse_of(name)
        return self.catalogue.card(partner).revision if partner else ""

    # ------------------------------------------------------------ judging

    def judge(self, text: Any, model: str = "") -> Judgement:
        """The verdict of a classifier on a text."""
        return self.judge_and_erase(text, model)[0]

    def judge_and_erase(
        self, text: Any, model: str = "", *, most_tokens: int = 0, most_work: float = 0
    ) -> tuple[Judgement, Erased]:
        """The verdict and the contribution of each word, within the limits of tokens and cost."""
        text = check_text("text", text, limit=REVIEW * self.settings.max_characters)
        if is_blank(text):
            raise PageError("text", "blank_text")
        found: tuple[Judgement, Erased] = self.run_judge(judge_and_erase, text, most_tokens, most_work, name=model)
        return found


@contextmanager
def _in_our_words() -> Iterator[None]:
    """Turn a `ModelError` into a phrase of the page."""
    try:
        yield
    except ModelError as error:
        raise page_error(error) from error
