"""Translation with a model folder: text in, `Translation` out.

    translator = Translator.load("assets/models/de-en")
    result = translator.translate("Ich trinke ein Bier.", beam_size=4)
    result.text, result.attention.cross  # [layer, head, query, key]

Decoding uses caches and is not watched. Then one teacher-forced pass over source and translation captures every map;
all probabilities come from this pass.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cache, cached_property, partial
from itertools import groupby
from pathlib import Path
from typing import Any, get_args

import torch

from headlight.model.checkpoints.shipped import find_folder
from headlight.model.core.interventions import apply_interventions
from headlight.model.core.probes import has_user_hooks, is_editing
from headlight.model.core.transformer import DecoderState, Transformer, count_bytes
from headlight.model.decoding.generation_defaults import GenerationDefaults
from headlight.model.decoding.search import BeamSearch, Candidate, SearchInputs, SingleHypothesisSearch
from headlight.model.decoding.speculative import DraftModels, SpeculativeSearch, Verifier
from headlight.model.decoding.step import (
    HypothesisState,
    Sampler,
    choose_best,
    end_ids,
    get_forbidden_ids,
    make_rules,
)
from headlight.model.errors import RequestError, choice_error
from headlight.model.families.loading import load_checkpoint
from headlight.model.records import (
    Hypothesis,
    Progress,
    ReliabilityRule,
    Timing,
    Token,
    Translation,
    TranslationRequest,
)
from headlight.model.text.languages import Languages
from headlight.model.text.vocabulary import Vocabulary, find_unknown_tokens
from headlight.model.translate.capture import (
    Captured,
    TargetCapture,
    TokenScores,
    encode_with_capture,
    logits_without_capture,
    score_target,
)
from headlight.model.translate.device import DeviceChoice, choose_device, in_smaller_batches
from headlight.model.translate.drafting import draft_model_bytes, make_draft_models
from headlight.model.translate.model_info import ModelInfo
from headlight.model.translate.packed_model import PackedModel, Packing, StepWeights, can_pack_float16
from headlight.model.translate.reliability import load_rule
from headlight.model.translate.requests import PreparedBatch, batch_key, batches_by_length, check_is_list
from headlight.model.translate.reranking import REVERSE_WEIGHT, rerank_batch
from headlight.model.translate.results import SearchResult, make_hypotheses, make_translation

logger = logging.getLogger(__name__)
InterventionContext = Callable[[], AbstractContextManager[None]]
# Batch size from which products take longer than reading weights. Then a pass that verifies drafts costs as much as
# exact decoding. If maps are captured, this pass is needed in any case.
NO_DRAFTS_FROM = 32
BEAM = 4  # default number of hypotheses that the reverse model reranks


class Translator(ModelInfo):
    """A loaded model with its vocabularies. Stateless, so threads can share it.

    The model runs in evaluation mode, without gradients, with its weights packed for the processor. After changing
    weights, create a new `Translator`, or use `step_weights="plain"`, which does not pack. `packing` describes the
    copies of weights and their reason.
    """

    def __init__(
        self,
        model: Transformer,
        source_tokenizer: Vocabulary,
        target_tokenizer: Vocabulary,
        *,
        name: str = "",
        choice: DeviceChoice | None = None,
        step_weights: StepWeights = "float16",
        rule: ReliabilityRule | None = None,
        languages: Languages | None = None,
        generation_defaults: GenerationDefaults | None = None,
    ) -> None:
        self.choice = choice or DeviceChoice(torch.device("cpu"), torch.float32, "given by the caller.")
        self.device = self.choice.device
        super().__init__(
            model.to(self.device, self.choice.dtype).eval().requires_grad_(requires_grad=False),
            source_tokenizer,
            target_tokenizer,
            name=name,
            device=self.device,
            rule=rule,
            languages=languages,
            generation_defaults=generation_defaults,
        )
        if step_weights not in get_args(StepWeights):
            raise choice_error("step_weights", step_weights, get_args(StepWeights))
        on_cpu = self.device.type == "cpu" and self.choice.dtype == torch.float32
        own_bytes = count_bytes(self.model)
        self._prepared: PackedModel | None = None
        self.passes: Any = self.model
        self.packing = Packing(0, 0, _unpacked_reason(step_weights, self.choice))  # copies of weights and their reason
        self._rounds = False  # whether steps round weights, so that greedy tokens are drafts until a pass verifies them
        if on_cpu and step_weights != "plain":
            self._prepared = PackedModel(self.model, step_weights, own_bytes)
            self.passes, self.packing = self._prepared.passes, self._prepared.packing
            self._rounds = step_weights == "float16" and can_pack_float16()
            # Pack the weights at load time, not during the first request.
            _ = self.draft_models if self._rounds and self.generation_defaults.beam_size == 1 else self.step
        values = {"model": self.name, "weights": self.packing.reason}
        logger.info("A model is ready: %s: %s", self.name or "model", self.packing.reason, extra={"values": values})
        draft_bytes = draft_model_bytes(self.model.decoder) if self._rounds else 0
        self.copied_bytes = self.packing.step_bytes + self.packing.pass_bytes + draft_bytes
        self.loaded_bytes = own_bytes + self.copied_bytes

    @classmethod
    def load(
        cls, folder: str | Path, device: str | None = None, *, step_weights: StepWeights = "float16"
    ) -> Translator:
        """Load a model folder, or a shipped model by its name. Without `device`, the best one is chosen."""
        choice = choose_device(device)
        folder = find_folder(folder)
        loaded = load_checkpoint(folder, device=choice.device, dtype=choice.dtype)
        return cls(
            loaded.model,
            loaded.source_tokenizer,
            loaded.target_tokenizer,
            name=Path(folder).resolve().name,
            choice=choice,
            step_weights=step_weights,
            rule=load_rule(loaded.folder),
            languages=loaded.languages,
            generation_defaults=loaded.generation_defaults,
        )

    @property
    def weight_bytes(self) -> int:
        """Bytes of the weights and their copies."""
        return self.loaded_bytes

    # ------------------------------------------------------------ translating

    def translate(
        self,
        text: str | TranslationRequest,
        *,
        way_back: Translator | None = None,
        cancelled: Callable[[], bool] | None = None,
        **options: Any,
    ) -> Translation:
        """Translate one sentence and record all attention. Options are those of `DecodingOptions` and of the request.

        `way_back`: a translator of the opposite direction, which reranks the hypotheses of the beam. A `back_weight`
        without it raises a `RequestError`; in a `TranslationRequest` it only keeps all hypotheses for a later `rerank`.
        `cancelled` is polled between tokens; if it returns true, the result is the text so far.
        """
        answer = self._translate_batch([self._request(text, way_back, options)], cancelled)[0]
        return answer if way_back is None else rerank_batch(way_back, self, [answer])[0]

    def translate_batch(
        self, texts: Sequence[str | TranslationRequest], *, way_back: Translator | None = None, **options: Any
    ) -> list[Translation]:
        """Translate several sentences in as few passes as their options allow; return one `Translation` each."""
        check_is_list(texts)
        requests = [self._request(text, way_back, options) for text in texts]
        answers: dict[int, Translation] = {}
        order = sorted(range(len(requests)), key=lambda index: repr(batch_key(requests[index])))
        for _, group in groupby(order, key=lambda index: batch_key(requests[index])):
            indices = list(group)
            batch = [requests[index] for index in indices]
            answers |= zip(indices, in_smaller_batches(self._translate_batch, batch), strict=True)
        results = [answers[index] for index in range(len(requests))]
        return results if way_back is None else rerank_batch(way_back, self, results)

    def _request(
        self, text: str | TranslationRequest, way_back: Translator | None, options: Mapping[str, Any]
    ) -> TranslationRequest:
        """Return a validated request. A reranking weight in the options needs a reverse model."""
        if way_back is None or isinstance(text, TranslationRequest):
            request = self.checker.request(text, **options)
        else:
            beam = max(BEAM, self.generation_defaults.beam_size)
            request = self.checker.request(text, **{"beam_size": beam, "back_weight": REVERSE_WEIGHT, **options})
        weight = 0.0 if isinstance(text, TranslationRequest) else request.options.back_weight
        if weight and way_back is None:
            raise RequestError("no_way_back", field="back_weight", given=f"{weight:g}")
        if weight and (request.options.beam_size < 2 or request.target is not None):
            raise RequestError("nothing_to_choose", field="back_weight")
        return request

    def translate_lines(self, lines: Sequence[str], **options: Any) -> list[str]:
        """Translate several lines, batched by length, without capturing attention. A blank line stays blank.

        A line that cannot be read raises an error, or with `on_refused(index, error)` is reported and left blank.
        """
        if weight := options.get("back_weight"):
            raise RequestError("no_way_back", field="back_weight", given=weight)
        return [hypotheses[0].text if hypotheses else "" for hypotheses in self.hypotheses_of_lines(lines, **options)]

    def hypotheses_of_lines(
        self,
        lines: Sequence[str],
        *,
        batch_tokens: int = 3000,
        on_progress: Callable[[int], None] | None = None,
        on_refused: Callable[[int, RequestError], None] | None = None,
        **options: Any,
    ) -> list[list[Hypothesis]]:
        """Return the `n_best` hypotheses of each line, best first; an empty list for a blank line."""
        languages = options.pop("source_language", ""), options.pop("target_language", "")
        decoding_options = self.checker.options(options, also=("source_language", "target_language"))
        requests, lengths = self.checker.lines(lines, decoding_options, on_refused, languages)
        results: list[list[Hypothesis]] = [[] for _ in lines]
        for indices in batches_by_length(lengths, batch_tokens // decoding_options.beam_size):
            batch_results = in_smaller_batches(self._search_without_capture, [requests[index] for index in indices])
            for index, hypotheses in zip(indices, batch_results, strict=True):
                results[index] = hypotheses
            if on_progress:
                on_progress(len(indices))
        return results

    def score(self, requests: Sequence[TranslationRequest]) -> list[list[float]]:
        """Return the log probability of each token of translations that are given as `target`, without capture."""
        return in_smaller_batches(self._score_without_capture, [self.checker.request(request) for request in requests])

    def stream(self, text: str | TranslationRequest, **options: Any) -> Iterator[Progress]:
        """Translate like `translate`, with progress after each token; the last progress has the translation.

        Leaving the loop or closing the iterator stops the translation: nothing runs between two tokens.
        """
        request = self._request(text, None, options)
        batch = self.checker.prepare([request])
        clock = StageTimer()
        changing = self.intervention_context(request)
        with torch.inference_mode(), changing():
            state, reader = self._encode(batch)
        clock.lap("encode")
        search = self._search(batch, state, reader.select_logits, scored=True)
        step = 0
        while search is not None:
            with torch.inference_mode(), changing():
                advanced = search.advance()
            clock.lap("decode")
            if not advanced:
                break
            step += 1
            yield self._progress(step, search.best(0))
            clock.resume()
        translation = self._capture_and_record(batch, search, reader, clock, changing)[0]
        yield Progress(step + 1, lambda: (translation.text, translation.target_tokens), translation)

    # ------------------------------------------------------------ batches

    def _translate_batch(
        self, requests: Sequence[TranslationRequest], cancelled: Callable[[], bool] | None = None
    ) -> list[Translation]:
        batch = self.checker.prepare(requests)
        changing = self.intervention_context(requests[0])
        clock = StageTimer()
        with torch.inference_mode(), changing():
            state, reader = self._encode(batch)
            clock.lap("encode")
            search = self._search(batch, state, reader.select_logits, scored=False)
            while search is not None and search.advance():
                if cancelled is not None and cancelled():
                    break
            clock.lap("decode")
        return self._capture_and_record(batch, search, reader, clock, changing)

    def _search_without_capture(self, requests: Sequence[TranslationRequest]) -> list[list[Hypothesis]]:
        batch = self.checker.prepare_lines(requests)
        with torch.inference_mode():
            memory = self.passes.encode(batch.source_ids, padded=batch.padded)
            state = self.passes.decoder.new_state(memory, cached=True)
            exact = (
                partial(logits_without_capture, self.passes, memory, state.cross)
                if len(requests) < NO_DRAFTS_FROM
                else None
            )
            search = self._search(batch, state, exact, scored=False, keep_tree=False)
            while search is not None and search.advance():
                pass
        assert search is not None  # noqa: S101 - lines come without targets
        return [make_hypotheses(self.target_tokenizer, candidates, batch.options) for candidates in search.results]

    def _score_without_capture(self, requests: Sequence[TranslationRequest]) -> list[list[float]]:
        batch = self.checker.prepare_lines(requests)
        rows = [target for target in batch.targets if target is not None]
        with torch.inference_mode():
            memory = self.passes.encode(batch.source_ids, padded=batch.padded)
            cross = self.passes.decoder.new_state(memory, cached=True).cross
            logits = logits_without_capture(self.passes, memory, cross, range(len(rows)), rows)
            log_probabilities = logits.float().log_softmax(dim=-1).gather(2, self.checker.pad(rows)[..., None])[..., 0]
        return [scores[: len(row)] for scores, row in zip(log_probabilities.tolist(), rows, strict=True)]

    @cached_property
    def step(self) -> Any:
        """The decoder step for beam search and sampling."""
        return self.model.decoder if self._prepared is None else self._prepared.step

    @cached_property
    def draft_models(self) -> DraftModels:
        """Draft decoders of greedy search, whose tokens a pass verifies."""
        assert self._prepared is not None  # noqa: S101 - only prepared weights are rounded
        return make_draft_models(self.model.decoder, self._prepared)

    def _encode(self, batch: PreparedBatch) -> tuple[DecoderState, TargetCapture]:
        """Encode the source and create an empty decoder state."""
        patterns = batch.requests[0].capture
        memory, captured = encode_with_capture(
            self.model, self.passes, batch.source_ids, patterns, mask=batch.source_mask, padded=batch.padded
        )
        state = self.passes.decoder.new_state(memory, cached=True)
        return state, TargetCapture(self.model, self.passes, memory, state.cross, captured, patterns)

    def intervention_context(self, request: TranslationRequest) -> InterventionContext:
        """Return a factory of context managers that apply the request's interventions."""
        attention_by_text = {
            borrowed.text: self.translate(borrowed).attention for borrowed in self.checker.borrowed_sentences(request)
        }
        return partial(apply_interventions, self.model, request.interventions, attention_by_text)

    def _search(
        self, batch: PreparedBatch, state: DecoderState, exact: Verifier | None, *, scored: bool, keep_tree: bool = True
    ) -> SingleHypothesisSearch | SpeculativeSearch | BeamSearch | None:
        """Create the search for the options; None if targets are given.

        `exact` verifies drafts. Without it, greedy search decodes in float32.
        """
        if batch.targets[0] is not None:
            return None
        options, config = batch.options, self.model.config
        changed = self._has_interventions(batch)
        rounds = self._rounds and not (changed or options.samples or options.beam_size > 1)
        verify = exact if rounds else None
        plan = SearchInputs(
            # Drafts have their own decoders. The step has no probes and may round, so the decoder of the passes runs
            # if there are interventions, or if rounded tokens would not be verified.
            decoder=self.passes.decoder if changed or rounds else self.step,
            state=state,
            rules=make_rules(config, options, batch.prefixes, self.device, self.generation_defaults, batch.limits),
            limits=batch.limits,
            start_id=config.start_id,
            ends=end_ids(config, self.generation_defaults),
            vocabulary=config.target_vocabulary,
            device=self.device,
        )
        if options.beam_size > 1:
            width, penalty = options.beam_size, options.length_penalty
            defaults = self.generation_defaults
            return BeamSearch(plan, width=width, length_penalty=penalty, keep_tree=keep_tree, defaults=defaults)
        if options.samples:
            return SingleHypothesisSearch(plan, Sampler(options, len(batch.limits)), scored=scored)
        if verify:
            return SpeculativeSearch(plan, verify, drafters=self.draft_models, scored=scored)
        return SingleHypothesisSearch(plan, choose_best, scored=scored)

    def _has_interventions(self, batch: PreparedBatch) -> bool:
        return bool(batch.requests[0].interventions) or is_editing() or has_user_hooks(self.model)

    def _capture_and_record(
        self,
        batch: PreparedBatch,
        search: SingleHypothesisSearch | SpeculativeSearch | BeamSearch | None,
        reader: TargetCapture,
        clock: StageTimer,
        changing: InterventionContext,
    ) -> list[Translation]:
        """Capture attention and probabilities of the output, and create the records."""
        cancelled = set() if search is None else {row.sentence for row in search.rows}  # unfinished sentences
        candidates_by_sentence = [
            _forced_candidate(target)
            if target is not None
            else _candidates(search, sentence, sentence in cancelled, prefix)
            for sentence, (target, prefix) in enumerate(zip(batch.targets, batch.prefixes, strict=True))
        ]
        rows = [candidates[0].ids for candidates in candidates_by_sentence]
        with torch.inference_mode(), changing():
            alternatives, never = (
                batch.options.alternatives,
                get_forbidden_ids(self.model.config, self.generation_defaults),
            )
            scores = score_target(reader.logits(rows), self.checker.pad(rows), alternatives, never)
        clock.lap("capture")
        search_results = [
            SearchResult(
                candidates, search.trees[sentence] if isinstance(search, BeamSearch) else [], sentence in cancelled
            )
            for sentence, candidates in enumerate(candidates_by_sentence)
        ]
        return [
            self._make_translation(batch, sentence, search_results[sentence], reader.captured, scores, clock)
            for sentence in range(len(rows))
        ]

    def _make_translation(
        self,
        batch: PreparedBatch,
        sentence: int,
        search: SearchResult,
        captured: Captured,
        scores: TokenScores,
        clock: StageTimer,
    ) -> Translation:
        return make_translation(
            self.model,
            self.target_tokenizer,
            request=batch.requests[sentence],
            source_text=batch.texts[sentence],
            source_tokens=batch.sources[sentence],
            hidden=batch.hidden[sentence],
            adaptations=batch.adaptations[sentence],
            unknown=find_unknown_tokens(self.source_tokenizer, batch.sources[sentence]),
            sentence=sentence,
            search=search,
            captured=captured,
            scores=scores,
            timing=clock.timing(),
            device=str(self.device),
            rule=self.rule,
            searched=self.generation_defaults.counted != "before",
        )

    def _progress(self, step: int, row: HypothesisState) -> Progress:
        ids, gains = list(row.ids), list(row.token_log_probabilities)  # the search still extends its lists

        @cache
        def read() -> tuple[str, tuple[Token, ...]]:  # most progress records are never read
            tokens = self.target_tokenizer.written_tokens(ids)
            pairs = zip(tokens, gains, strict=True)
            return self.target_tokenizer.decode(ids), tuple(
                replace(token, probability=math.exp(gain)) for token, gain in pairs
            )

        return Progress(step, read)


class StageTimer:
    """Timer of named stages, in seconds."""

    def __init__(self) -> None:
        self._last = time.perf_counter()
        self._laps: dict[str, float] = {}

    def lap(self, name: str) -> None:
        """Add the time since the last call to a stage."""
        now = time.perf_counter()
        self._laps[name] = self._laps.get(name, 0.0) + now - self._last
        self._last = now

    def resume(self) -> None:
        """Ignore the time since the last call, which the caller spent."""
        self._last = time.perf_counter()

    def timing(self) -> Timing:
        """Return the seconds of all stages as a record."""
        return Timing(**self._laps)


def _unpacked_reason(step_weights: StepWeights, choice: DeviceChoice) -> str:
    """Return the sentence that explains why weights are not copied."""
    if step_weights == "plain":
        return "The model's weights are used as they are: step_weights is plain."
    kind = str(choice.dtype).removeprefix("torch.")
    return f"The model's weights are used as they are: only float32 on a CPU is packed, not {kind} on {choice.device}."


def _forced_candidate(target: list[int]) -> list[Candidate]:
    """Return a given translation as the only candidate."""
    return [Candidate(target, [], 0.0, ended=False)]


def _candidates(
    search: SingleHypothesisSearch | SpeculativeSearch | BeamSearch | None,
    sentence: int,
    cancelled: bool,
    prefix: list[int],
) -> list[Candidate]:
    """Return the candidates of the search. If it was cancelled, the best hypothesis comes first, with the prefix."""
    assert search is not None  # noqa: S101 - there is a search if there is no target
    if not cancelled:
        return search.results[sentence]
    row = search.best(sentence)
    ids = row.ids if len(row.ids) >= len(prefix) else list(prefix)
    leader = Candidate(
        ids, row.token_log_probabilities, row.log_probability, ended=bool(ids) and ids[-1] in search.inputs.ends
    )
    return [leader, *(candidate for candidate in search.results[sentence] if candidate.ids != ids)]
