"""Validation of requests, and their encoding as batches of ids."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import Tensor

from headlight.model.core.interventions import check_interventions
from headlight.model.core.masks import pad_sequences, padding_mask
from headlight.model.core.probes import matching_probes
from headlight.model.core.transformer import Transformer
from headlight.model.decoding.generation_defaults import GenerationDefaults
from headlight.model.errors import RequestError, range_error, repr_short
from headlight.model.intervention_records import (
    CHANGES,
    MAX_INTERVENTIONS,
    MAX_ROW_INTERVENTIONS,
    BorrowMap,
    SetWeight,
    parse_change,
)
from headlight.model.records import DecodingOptions, TextOrIds, Token, TranslationRequest
from headlight.model.text.adaptation import AdaptedText, adapt_text, remove_emoji
from headlight.model.text.cleaning import clean_text, is_blank
from headlight.model.text.languages import Languages, LanguageTokens, languages_from_name, source_with_tokens
from headlight.model.text.tokenizer import Tokenizer
from headlight.model.text.vocabulary import Vocabulary
from headlight.model.translate.input_changes import apply_input_changes, masked_token_positions

OPTION_NAMES = tuple(field.name for field in fields(DecodingOptions))
MAX_BORROWED_HEADS = 32  # heads per request with a map from another sentence; all rows of these heads are recomputed
MAX_BORROWED_SENTENCES = 2  # sentences per request from which maps are borrowed; each of them must be translated
REQUEST_NAMES = ("target", "prefix", "interventions", "capture", "source_language", "target_language")


@dataclass
class PreparedBatch:
    """A batch of requests that differ only in text, target and prefix, as ids for the model."""

    requests: Sequence[TranslationRequest]
    sources: list[tuple[Token, ...]]  # source tokens per sentence; empty for `prepare_lines`
    texts: list[str]
    adaptations: list[tuple[str, ...]]  # per sentence: names of the changes between the shown text and the model's
    source_ids: Tensor  # [batch, source]
    source_mask: Tensor | None  # [batch, 1, 1, source]: False at padding and hidden tokens; None: no hidden tokens
    hidden: list[tuple[int, ...]]  # per sentence: indices of its hidden tokens
    padded: bool  # whether any row has padding
    limits: list[int]  # per sentence: maximum number of output tokens
    prefixes: list[list[int]]  # per sentence: ids with which the translation begins
    targets: list[list[int] | None]  # per sentence: ids of a forced translation

    @property
    def options(self) -> DecodingOptions:
        """Decoding options, which all requests of the batch share."""
        return self.requests[0].options


class RequestChecker:
    """Validates requests to one model and encodes them as batches."""

    def __init__(
        self,
        model: Transformer,
        source_tokenizer: Vocabulary,
        target_tokenizer: Vocabulary,
        name: str,
        device: torch.device,
        languages: Languages,
        generation_defaults: GenerationDefaults,
    ) -> None:
        self.model = model
        self.config = model.config
        self.source_tokenizer = source_tokenizer
        self.target_tokenizer = target_tokenizer
        self.name = name
        self.device = device
        self.languages = languages
        self.generation_defaults = generation_defaults

    def request(self, text: str | TranslationRequest, **options: Any) -> TranslationRequest:
        """Return a validated request to this model, from text and options or from a request."""
        if isinstance(text, TranslationRequest):
            if options:
                raise RequestError("options_twice", field="options", given=", ".join(options))
            if text.model not in ("", self.name):
                raise RequestError(
                    "other_model", field="model", given=repr_short(text.model), model=repr_short(self.name)
                )
            request = replace(text, model=self.name)
        else:
            value = {name: _to_tuple(options.pop(name)) for name in REQUEST_NAMES if name in options}
            if isinstance(value.get("interventions"), tuple):
                changes = value["interventions"]
                value["interventions"] = tuple(
                    parse_change(change) if isinstance(change, dict) else change for change in changes
                )
            request = TranslationRequest(text=text, model=self.name, options=self.options(options), **value)
        clean_text(request.text)
        _check_types(request)
        self.language_route(request)
        check_interventions(self.config, request.interventions)
        for text in _borrowed_texts(request):
            clean_text(text, field="interventions")
        matching_probes(self.model, *request.capture)  # raises an error for an unknown probe
        return request

    def options(self, options: dict[str, Any], also: Sequence[str] = REQUEST_NAMES) -> DecodingOptions:
        """Create decoding options from names and values. An unknown name raises an error with all names and `also`."""
        unknown = sorted(set(options) - set(OPTION_NAMES))
        if unknown:
            names = ", ".join([*OPTION_NAMES, *also])
            raise RequestError(
                "unknown_name", field="options", given=", ".join(map(repr_short, unknown)), choices=names
            )
        return self.generation_defaults.options(options)

    def borrowed_sentences(self, request: TranslationRequest) -> list[TranslationRequest]:
        """Return requests for the sentences from which maps are borrowed: greedy, without interventions."""
        return [
            TranslationRequest(
                text=text,
                model=self.name,
                source_language=request.source_language,
                target_language=request.target_language,
            )
            for text in _borrowed_texts(request)
        ]

    def language_route(self, request: TranslationRequest) -> LanguageTokens:
        """Return the language tokens of a request. Raise a `RequestError` for unknown languages."""
        return self.languages.tokens_for(request.source_language, request.target_language)

    def prepare(self, requests: Sequence[TranslationRequest]) -> PreparedBatch:
        """Convert requests with equal options to a batch of ids, with their source tokens."""
        cleaned = [self._clean(request.text) for request in requests]
        changed = [
            apply_input_changes(text, request.interventions) for text, request in zip(cleaned, requests, strict=True)
        ]
        texts = [self.adapted(edited.text) for edited in changed]
        routes = self._routes(requests, [text.read for text in texts])
        sources = [self._source_tokens(text, route) for text, route in zip(texts, routes, strict=True)]
        hidden = [
            masked_token_positions(source, edited.hidden) for source, edited in zip(sources, changed, strict=True)
        ]
        for request, source in zip(requests, sources, strict=True):
            _check_set_weights(request, len(source))
        adaptations = [
            (*text.changes, *(["emoji"] if shorter != clean_text(request.text) else []))
            for request, shorter, text in zip(requests, cleaned, texts, strict=True)
        ]
        ids = [[token.id for token in source] for source in sources]
        return self._prepare(requests, [text.original for text in texts], ids, sources, hidden, adaptations)

    def prepare_lines(self, requests: Sequence[TranslationRequest]) -> PreparedBatch:
        """Convert requests to a batch of ids without source tokens, if only the text of the translation is needed."""
        texts = [self._read_text(request.text) for request in requests]
        routes = self._routes(requests, texts)
        lines = self.source_tokenizer.encode_batch(
            [route.text + text for route, text in zip(routes, texts, strict=True)]
        )
        end = self.source_tokenizer.end_id
        ids = [[*route.before, *line, end, *route.after] for route, line in zip(routes, lines, strict=True)]
        return self._prepare(requests, texts, ids, [], [()] * len(texts), [()] * len(texts))

    @property
    def _adapts(self) -> bool:
        """Whether texts are adapted before they are read. Third-party models read texts unchanged, as published."""
        return isinstance(self.source_tokenizer, Tokenizer)

    def _clean(self, text: str) -> str:
        return remove_emoji(clean_text(text)) if self._adapts else clean_text(text)

    def adapted(self, text: str, *, side: int = 0) -> AdaptedText:
        """Return a text as the model reads it. `side`: 0, a sentence; 1, a translation."""
        if not self._adapts:
            return AdaptedText(text, text, ())
        return adapt_text(text, "".join(languages_from_name(self.name)[side : side + 1]))

    def _read_text(self, text: str) -> str:
        return self.adapted(self._clean(text)).read

    def _routes(self, requests: Sequence[TranslationRequest], texts: Sequence[str]) -> list[LanguageTokens]:
        """Return the language tokens of each text, without those that the text contains."""
        pairs = zip(requests, texts, strict=True)
        return [self.languages.missing_tokens(self.language_route(request), text) for request, text in pairs]

    def _source_tokens(self, text: AdaptedText, route: LanguageTokens) -> tuple[Token, ...]:
        tokens = self.source_tokenizer.source_tokens(route.text + text.read)
        if route != LanguageTokens():
            tokens = source_with_tokens(tokens, route, self.source_tokenizer.label)
        return tokens if text.original == text.read else tuple(_restore_typed_text(token, text) for token in tokens)

    def _prepare(
        self,
        requests: Sequence[TranslationRequest],
        texts: list[str],
        ids: list[list[int]],
        sources: list[tuple[Token, ...]],
        hidden: list[tuple[int, ...]],
        adaptations: list[tuple[str, ...]],
    ) -> PreparedBatch:
        for source in ids:
            self.check_length(len(source), "text")
        longest, padding = max(map(len, ids)), self.config.pad_id
        firsts = [list(self.language_route(request).first or self.generation_defaults.first) for request in requests]
        prefixes = [
            self._target_ids(request.prefix, "prefix", first, add_end=False) or first
            for request, first in zip(requests, firsts, strict=True)
        ]
        source_ids = self.pad(ids)
        return PreparedBatch(
            requests=requests,
            sources=sources,
            texts=texts,
            adaptations=adaptations,
            source_ids=source_ids,
            source_mask=self._source_mask(source_ids, hidden) if any(hidden) else None,
            hidden=hidden,
            padded=any(len(source) < longest or padding in source for source in ids),
            limits=list(map(self._output_limit, requests, ids, prefixes)),
            prefixes=prefixes,
            targets=[
                self._target_ids(request.target, "target", first, add_end=True)
                for request, first in zip(requests, firsts, strict=True)
            ],
        )

    def _source_mask(self, source_ids: Tensor, hidden: list[tuple[int, ...]]) -> Tensor:
        """Return the mask of visible tokens, `[batch, 1, 1, source]`: False at padding and hidden tokens."""
        mask = padding_mask(source_ids, self.config.pad_id)
        for row, indices in enumerate(hidden):
            mask[row, 0, 0, list(indices)] = False
        return mask

    def _output_limit(self, request: TranslationRequest, source: Sequence[int], prefix: Sequence[int]) -> int:
        """Return the maximum number of output tokens."""
        limit = request.options.max_length or max(2 * len(source), len(prefix)) + 16
        limit = min(limit, self.config.max_length)
        if len(prefix) > limit:
            raise RequestError("prefix_too_long", field="prefix", given=len(prefix), limit=limit)
        return limit

    def _target_ids(self, words: TextOrIds | None, field: str, first: list[int], *, add_end: bool) -> list[int] | None:
        """Return the ids of a `target` or `prefix`. Text is encoded, after the ids `first`; ids remain unchanged."""
        if words is None:
            return None
        end = self.config.end_id
        if isinstance(words, str):
            text = clean_text(words, field=field)
            if self._adapts and "zh" in languages_from_name(self.name)[1:]:
                text = self.adapted(text, side=1).read
            ids = [*first, *self.target_tokenizer.encode(text)]
            ids += [end] if add_end else []
        else:
            size = self.config.target_vocabulary
            # `isinstance(True, int)` is true, so the type is compared.
            if not isinstance(words, tuple) or not all(type(token) is int and 0 <= token < size for token in words):
                raise RequestError("wrong_ids", field=field, name=field)
            ids = list(words)
        if not ids or end in ids[:-1]:
            raise RequestError("wrong_end", field=field, name=field, end=end)
        self.check_length(len(ids), field)
        return ids

    def check_length(self, tokens: int, field: str) -> None:
        """Raise an error for more tokens than the model can read."""
        limit = self.config.max_length
        if tokens > limit:
            raise RequestError("too_many_tokens", field=field, name=field, given=tokens, limit=limit)

    def lines(
        self,
        lines: Sequence[str],
        options: DecodingOptions,
        on_refused: Callable[[int, RequestError], None] | None = None,
        languages: tuple[str, str] = ("", ""),
    ) -> tuple[dict[int, TranslationRequest], dict[int, int]]:
        """Return requests for all lines that are not blank, and their token counts, including the end token."""
        check_is_list(lines)
        cleaned: dict[int, str] = {}
        for index, line in enumerate(lines):
            try:
                if not isinstance(line, str) or not is_blank(line):
                    cleaned[index] = clean_text(line)
            except RequestError as error:
                self._report_error(index, error, on_refused)
        route = self.languages.tokens_for(*languages)
        read_texts = list(map(self._read_text, cleaned.values()))
        routes = [self.languages.missing_tokens(route, text) for text in read_texts]
        texts = [line_route.text + text for line_route, text in zip(routes, read_texts, strict=True)]
        lengths = {
            index: len(line_route.before) + len(ids) + 1 + len(line_route.after)
            for index, line_route, ids in zip(cleaned, routes, self.source_tokenizer.encode_batch(texts), strict=True)
        }
        for index in list(lengths):
            try:
                self.check_length(lengths[index], "text")
            except RequestError as error:
                self._report_error(index, error, on_refused)
                del lengths[index]
        requests = {
            index: TranslationRequest(
                text=cleaned[index],
                model=self.name,
                options=options,
                source_language=languages[0],
                target_language=languages[1],
            )
            for index in lengths
        }
        return requests, lengths

    def _report_error(
        self, index: int, error: RequestError, on_refused: Callable[[int, RequestError], None] | None
    ) -> None:
        if on_refused is None:
            raise error.at_line(index + 1) from error
        on_refused(index, error)

    def pad(self, rows: Sequence[Sequence[int]]) -> Tensor:
        """Pad rows of ids to one tensor, `[batch, longest]`."""
        return pad_sequences(rows, self.config.pad_id).to(self.device)


def check_is_list(texts: Sequence[Any]) -> None:
    """Raise an error for a single string instead of a list."""
    if isinstance(texts, str):
        raise RequestError("one_text", field="text")


def batch_key(request: TranslationRequest) -> tuple[Any, ...]:
    """Return the values that requests of one batch must share."""
    return request.options, request.interventions, request.capture, request.target is None


def batches_by_length(lengths: dict[int, int], max_tokens: int) -> Iterator[list[int]]:
    """Yield batches of indices with similar lengths, longest first, to reduce padding."""
    batch: list[int] = []
    for index in sorted(lengths, key=lambda index: -lengths[index]):
        if batch and (len(batch) + 1) * lengths[batch[0]] > max_tokens:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def _restore_typed_text(token: Token, text: AdaptedText) -> Token:
    """Return the token with the typed characters instead of the adapted ones."""
    read, typed = text.read[token.start : token.end], text.original[token.start : token.end]
    return replace(token, text=token.text.replace(read, typed)) if read else token


def _borrowed_texts(request: TranslationRequest) -> list[str]:
    return sorted({change.text for change in request.interventions if isinstance(change, BorrowMap)})


def _to_tuple(value: Any) -> Any:
    """Convert a list to a tuple, so that a request is hashable."""
    return tuple(value) if isinstance(value, list) else value


def _check_types(request: TranslationRequest) -> None:
    """Check the types of a request. Text, target and prefix are checked when they are encoded."""
    if not isinstance(request.options, DecodingOptions):
        raise _wrong_type("options", request.options, "DecodingOptions")
    for name in ("source_language", "target_language"):
        if not isinstance(getattr(request, name), str):
            raise RequestError("not_text", field=name, name=name, given=repr_short(getattr(request, name)))
    for name, kinds, type_name in (("interventions", CHANGES, "Intervention"), ("capture", (str,), "str")):
        value = getattr(request, name)
        if not isinstance(value, tuple) or not all(isinstance(entry, kinds) for entry in value):
            raise _wrong_type(name, value, f"a tuple that holds {type_name} alone")
    if len(request.interventions) > MAX_INTERVENTIONS:
        value = len(request.interventions)
        raise RequestError("too_many_changes", field="interventions", given=value, limit=MAX_INTERVENTIONS)
    row_changes = sum(getattr(change, "action", "") not in ("remove", "scale") for change in request.interventions)
    if row_changes > MAX_ROW_INTERVENTIONS:
        raise RequestError("too_many_changes", field="interventions", given=row_changes, limit=MAX_ROW_INTERVENTIONS)
    borrows = sum(isinstance(change, BorrowMap) for change in request.interventions)
    if borrows > MAX_BORROWED_HEADS:
        raise RequestError("too_many_changes", field="interventions", given=borrows, limit=MAX_BORROWED_HEADS)
    borrowed_texts = _borrowed_texts(request)
    if len(borrowed_texts) > MAX_BORROWED_SENTENCES:
        raise RequestError(
            "too_many_others", field="interventions", given=len(borrowed_texts), limit=MAX_BORROWED_SENTENCES
        )


def _wrong_type(name: str, value: object, needed: str) -> RequestError:
    return RequestError("wrong_type", field=name, name=name, given=repr_short(value), needed=needed)


def _check_set_weights(request: TranslationRequest, tokens: int) -> None:
    """Raise an error unless manually set weights fit maps of this many source tokens.

    The number of target tokens is not known yet, so target indices are not checked. Rows beyond the translation are
    ignored.
    """
    for change in request.interventions:
        if isinstance(change, SetWeight) and change.kind != "decoder":
            for name in ("row", "column") if change.kind == "encoder" else ("column",):
                if getattr(change, name) >= tokens:
                    raise range_error(name, getattr(change, name), 0, tokens - 1)
