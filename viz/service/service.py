"""The service layer: lists models, validates requests, translates and classifies.

All limits are checked before the work starts: characters before tokenisation, tokens before the forward pass. Expected
errors become a `PageError`.
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
from headlight.model.experiments.queries import ErasureEffects, judge_with_erasure
from headlight.model.families.hub import DownloadPlan, DownloadProgress
from headlight.model.records import Judgement, Progress, Reliability, Translation, TranslationRequest
from headlight.model.text.cleaning import is_blank
from headlight.model.translate.back_translation import back_translate
from headlight.model.translate.model_info import ModelInfo
from headlight.model.translate.reranking import can_rerank, reverse_scores, visible_text, with_hypothesis
from headlight.model.translate.translator import Translator
from headlight.viz.errors import PageError, to_page_error
from headlight.viz.field_values import check_text
from headlight.viz.request_fields import parse_request
from headlight.viz.service.backend import Backend, BackendChoice, RemoteFunction, last_progress, make_local_backend
from headlight.viz.service.catalogue import Catalogue
from headlight.viz.service.class_scores import ClassScores
from headlight.viz.service.loaded_models import LoadedModels, make_model_key
from headlight.viz.service.model_cards import ModelCard
from headlight.viz.service.model_defaults import ModelDefaults, make_defaults, make_plain_defaults
from headlight.viz.service.request_queue import RequestQueue
from headlight.viz.service.shared_cache import NOT_SHARED, SharedCache, SharedSlot
from headlight.viz.service.single_flight import Leader
from headlight.viz.service.training_runs import TrainingRunPool
from headlight.viz.service.translation_cache import CacheKey, TranslationCache
from headlight.viz.service.usage_metrics import Purpose, UsageMetrics
from headlight.viz.settings import Settings, SettingsError

DEFAULT_MODEL = "de-en"
TOY = "toy"  # default only if no other model is installed
REVIEW_FACTOR = 8  # reviews may have 8 times the characters of a sentence, because classifiers read pages
MEGABYTE = 1_000_000

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CachedResult(Progress):
    """A cached translation; its timings belong to an earlier request."""


class Service:
    """All models and their caches. Thread-safe."""

    def __init__(self, settings: Settings, choose_backend: BackendChoice = make_local_backend) -> None:
        self.settings = settings
        self.usage_metrics = UsageMetrics()
        # All computations except training runs wait in this queue.
        self.request_queue = RequestQueue(
            settings.concurrency,
            settings.line,
            on_rejected=self.usage_metrics.count_rejection,
            max_wait_s=settings.max_wait_s,
        )
        self.answer_cache = TranslationCache(settings.cache_mb * MEGABYTE)
        self.shared = SharedCache(settings.cache_url, settings.cache_key) if settings.cache_url else None
        self.catalogue = Catalogue(settings)
        self.loaded = LoadedModels(self.catalogue, settings.models_mb * MEGABYTE)
        self.backend: Backend = choose_backend(settings, self.loaded)
        self.training = TrainingRunPool()  # runs in separate processes, with another queue
        self.class_scores = ClassScores(self.shared)
        self._model_defaults: dict[tuple[str, str], ModelDefaults] = {}  # also for evicted models
        names = [card.name for card in self.catalogue.cards() if card.kind == "transformer" and card.downloaded]
        if settings.model and settings.model not in names:
            raise SettingsError(
                f"HEADLIGHT_MODEL is {settings.model!r}, but the translators in {settings.models_folder} are: "
                f"{', '.join(names) or 'none'}. Name one of them, or unset it."
            )
        self.default = settings.model or min(
            names, key=lambda name: (name == TOY, name != DEFAULT_MODEL, name), default=""
        )

    # ------------------------------------------------------------ models

    def models(self) -> tuple[ModelCard, ...]:
        """Return all models: the local ones by name, then those on the Hub. One translator is marked as default."""
        return tuple(replace(card, default=card.name == self.default) for card in self.catalogue.cards())

    def download_info(self, name: str) -> DownloadPlan:
        """Return the files and size of a model on the Hub, for the visitor to confirm."""
        return self.catalogue.download_info(name)

    def fetch(
        self, name: str, on_progress: Callable[[DownloadProgress], None] | None = None, stop: Event | None = None
    ) -> ModelCard:
        """Download an allowed model from the Hub. Setting `stop` cancels the download."""
        return self.catalogue.fetch(name, on_progress, stop)

    def run_on_translator(self, name: str, work: RemoteFunction, *arguments: Any) -> Any:
        """Run `work(translator, *arguments)` on the backend of this translator, or of the default one."""
        with _as_page_errors():
            return self.backend.run(self._get_card(name), work, *arguments)

    def run_on_classifier(self, work: RemoteFunction, *arguments: Any, name: str = "", linear: bool = False) -> Any:
        """Run `work(classifier, *arguments)` on the backend of this classifier, or of the first one.

        `linear`: without a name, use the first classifier whose log-odds are a sum over tokens.
        """
        names = [card.name for card in self.classifiers() if card.downloaded and (card.is_additive or not linear)]
        card = self.catalogue.card(name or next(iter(names), ""), "classifier")
        with _as_page_errors():
            return self.backend.run(card, work, *arguments)

    def classifiers(self) -> list[ModelCard]:
        """Return all classifiers: additive ones first, missing ones last."""
        cards = (card for card in self.catalogue.cards() if card.kind == "classifier")
        return sorted(
            cards, key=lambda card: (not card.downloaded, card.location == "hub", not card.is_additive, card.name)
        )

    def model_info(self, name: str = "") -> ModelInfo:
        """Return the model information of this translator, or of the default one."""
        return self.backend.model_info(self._get_card(name))

    def model_defaults(self, name: str = "") -> ModelDefaults:
        """Return the default options of a translator. Its folder is read only if it has its own defaults."""
        card = self._get_card(name)
        if not card.has_defaults and card.downloaded:
            read_back = card.read_back and bool(self.catalogue.reverse_model(card.name))
            return make_plain_defaults(self.settings, read_back=read_back)
        result = self._model_defaults.get(make_model_key(card))
        if result is None:
            result = self._model_defaults[make_model_key(card)] = make_defaults(
                self.model_info(card.name), self.settings
            )
        return result

    def _get_card(self, name: str) -> ModelCard:
        return self.catalogue.card(name or self.default, "transformer")

    # ------------------------------------------------------------ translating

    def check(self, values: Any, *, model_defaults: bool = False, **overrides: Any) -> TranslationRequest:
        """Validate a request from a browser or an API client, before the model runs.

        `model_defaults`: missing options get the model's defaults, not those of the API. `overrides`: fields that
        replace those of the request.
        """
        if overrides and isinstance(values, Mapping):  # other types are rejected below
            values = {**values, **overrides}
        try:
            return self._validate(values, model_defaults=model_defaults)
        except PageError as error:
            self.usage_metrics.count_rejection(error.word)
            raise

    def _validate(self, values: Any, *, model_defaults: bool) -> TranslationRequest:
        request = parse_request(values, self.settings)
        if is_blank(request.text):
            raise PageError("text", "blank_text")
        limit = self.settings.max_tokens
        with _as_page_errors():
            info = self.model_info(request.model)
            defaults = self.model_defaults(request.model)
            if model_defaults:
                request = parse_request(values, self.settings, defaults.decoding)
            request = info.request(defaults.check_request(request, limit))
            batch = info.checker.prepare([request])  # tokenises all texts without running the model
            donor_batches = [info.checker.prepare([donor]) for donor in info.checker.borrowed_sentences(request)]
        for name, ids in (
            ("text", batch.sources[0]),
            ("target", batch.targets[0] or ()),
            ("prefix", batch.prefixes[0]),
            *(("interventions", donor.sources[0]) for donor in donor_batches),
        ):
            if len(ids) > limit:
                raise PageError(name, "too_many_tokens", {"name": name, "given": len(ids), "limit": limit})
        if batch.targets[0] is None and batch.limits[0] > limit:  # the output has the same limit as the input
            request = replace(request, options=replace(request.options, max_length=limit))
        return request

    def translate(self, request: TranslationRequest) -> Translation:
        """Translate a validated request, or return the result from the cache or from an equal running request."""
        return self.translate_with_source(request)[0]

    def translate_with_source(self, request: TranslationRequest, purpose: Purpose = "view") -> tuple[Translation, bool]:
        """Return the result of `translate`, and whether it was computed for another request."""
        computed: list[Translation] = []

        def make() -> Translation:
            with self._open_shared_slot(request) as slot:
                if slot.cached is not None:
                    return slot.cached
                computed.append(
                    self._rerank(self.run_on_translator(request.model, Translator.translate, request), slot)
                )
                return computed[0]

        try:
            with _as_page_errors():
                translation = self.answer_cache.get_or_compute(self.cache_key(request), make)
        except Exception:
            self.usage_metrics.count_unfinished(request.model or self.default, purpose, "failed")
            raise
        self._record_metrics(request, purpose, translation, cached=not computed)
        return translation, not computed

    def stream(self, request: TranslationRequest, stop: Event, purpose: Purpose = "page") -> Generator[Progress]:
        """Yield progress after each word. The last record contains the translation; a cached answer is one record.

        Setting `stop` or closing the iterator ends the work within one step, without a last record.
        """
        with _as_page_errors():
            result = self.answer_cache.get_or_lead(self.cache_key(request), stop)
            if result is None:
                self.usage_metrics.count_unfinished(request.model or self.default, purpose, "stopped")
                return
            if isinstance(result, Translation):
                self._record_metrics(request, purpose, result, cached=True)
                yield last_progress(result, CachedResult)
                return
            with result as lead:
                yield from self._stream_as_leader(request, lead, stop, purpose)

    def _stream_as_leader(
        self, request: TranslationRequest, lead: Leader[Translation], stop: Event, purpose: Purpose
    ) -> Generator[Progress]:
        """Compute a request as the leader and yield its progress."""
        translation: Translation | None = None
        cached = failed = False
        try:
            with self._open_shared_slot(request, stop) as slot:
                if slot.cached is not None:
                    translation, cached = lead.finish(slot.cached), True
                    yield last_progress(translation, CachedResult)
                    return
                with closing(self.backend.stream(self._get_card(request.model), request, stop)) as steps:
                    while not stop.is_set() and (progress := next(steps, None)) is not None:
                        lead.heartbeat()
                        if progress.translation is not None:
                            translation = lead.finish(self._rerank(progress.translation, slot))
                            progress = last_progress(translation)
                        yield progress
        except Exception:
            failed = True
            raise
        finally:
            if translation is not None:
                self._record_metrics(request, purpose, translation, cached=cached)
            else:
                self.usage_metrics.count_unfinished(
                    request.model or self.default, purpose, "failed" if failed else "stopped"
                )

    def _rerank(self, translation: Translation, slot: SharedSlot) -> Translation:
        """Rerank with the reverse model if the request enables it and the model is installed.

        If the reverse model fails, the translation chosen by the search is returned.
        """
        name = self._find_reverse_model(translation.request) if can_rerank(translation) else ""
        if not name:
            return slot.publish(translation)
        texts = [hypothesis.text for hypothesis in translation.hypotheses]
        started = time.perf_counter()
        try:
            back_scores = self.run_on_translator(name, reverse_scores, visible_text(translation), texts)
            timing = replace(translation.timing, decode=translation.timing.decode + time.perf_counter() - started)
            translation = replace(translation, timing=timing)
            capture = partial(self.run_on_translator, translation.request.model, Translator.translate)
            return slot.publish(with_hypothesis(translation, back_scores, capture))
        except PageError:
            LOG.exception("The reverse model %s failed, so an answer was not reranked.", name)
            return translation

    @contextmanager
    def _open_shared_slot(self, request: TranslationRequest, stop: Event | None = None) -> Iterator[SharedSlot]:
        """Yield the slot of this request in the shared cache, or an empty slot without a shared cache."""
        if self.shared is None:
            yield NOT_SHARED
            return
        with self.shared.slot(self.cache_key(request), self.model_info(request.model).rule, stop) as slot:
            yield slot

    def _record_metrics(
        self, request: TranslationRequest, purpose: Purpose, translation: Translation, *, cached: bool
    ) -> None:
        """Update metrics and write a log line."""
        name = request.model or self.default
        self.usage_metrics.count_answer(name, purpose, translation, cached=cached)
        token_counts = {"read": len(translation.source_tokens), "written": len(translation.target_tokens)}
        beam = request.options.beam_size
        seconds = round(sum(astuple(translation.timing)), 4)
        values = {"model": name, "for": purpose, "cached": cached, "beam": beam, "seconds": seconds, **token_counts}
        LOG.info("An answer was given.", extra={"values": values})

    def reverse_model(self, translation: Translation) -> str:
        """Return the name of the installed reverse model, or "" if the reliability does not need it."""
        return self._find_reverse_model(translation.request) if translation.uses_back_translation else ""

    def _find_reverse_model(self, request: TranslationRequest) -> str:
        return self.catalogue.reverse_model(request.model or self.default)

    def read_back(self, translation: Translation) -> Reliability | None:
        """Return the reliability of an answer, with back-translation if a reverse model is installed."""
        name = self.reverse_model(translation)
        if not name:
            return translation.reliability
        return translation.read_back(self.run_on_translator(name, back_translate, translation))

    def cache_key(self, request: TranslationRequest) -> CacheKey:
        """Return the cache key of a checked request. An empty model name gives the key of the default model."""
        card = self._get_card(request.model)
        revision = card.revision
        if request.options.back_weight > 0 and request.options.beam_size > 1:  # the reverse model affects the result
            revision += f"+{self.reverse_revision(card.name)}"
        return CacheKey(revision, replace(request, model=card.name))

    def reverse_revision(self, name: str) -> str:
        """Return the revision of the reverse model, or ""."""
        reverse_name = self.catalogue.reverse_model(name)
        return self.catalogue.card(reverse_name).revision if reverse_name else ""

    # ------------------------------------------------------------ classifying

    def classify(self, text: Any, model: str = "") -> Judgement:
        """Classify a text."""
        return self.classify_with_erasure(text, model)[0]

    def classify_with_erasure(
        self, text: Any, model: str = "", *, max_tokens: int = 0, max_work: float = 0
    ) -> tuple[Judgement, ErasureEffects]:
        """Classify a text, and measure the effect of erasing each word if the text is within both limits."""
        text = check_text("text", text, limit=REVIEW_FACTOR * self.settings.max_characters)
        if is_blank(text):
            raise PageError("text", "blank_text")
        results: tuple[Judgement, ErasureEffects] = self.run_on_classifier(
            judge_with_erasure, text, max_tokens, max_work, name=model
        )
        return results


@contextmanager
def _as_page_errors() -> Iterator[None]:
    """Convert a `ModelError` to a `PageError`."""
    try:
        yield
    except ModelError as error:
        raise to_page_error(error) from error
