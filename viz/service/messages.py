"""Types of all messages that the server sends for the page's translations.

`python -m workshop.message_types` writes the same types for JavaScript into `tests/javascript/messages.d.ts`.
A record that is sent as `dataclasses.asdict` is annotated with its class, which lists the fields.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal, NotRequired, TypedDict

from headlight.model.intervention_records import Kind
from headlight.model.measures.roles import RoleName
from headlight.model.records import DecodingOptions, Grade, Hypothesis, Reason, StopReason

# Version of the answer format, which saved pages contain. After a change of the format, increase this number and
# `Answer.version`, and convert the previous version in `viz/widgets/core/saved-answer.js`.
ANSWER_VERSION: Final = 2

# ---------------------------------------------------------------- parts of an answer

Alternative = tuple[str, int, float]  # text, id, probability
RoleValues = tuple[RoleName, float, float]  # name, share, number of tokens that a row covers
Unit = Literal["bits", "tokens", "share"]
MeasureValues = tuple[Unit, int, str]  # unit, scale, a letter for each head
# parent, step, id, text, log probability, score, outcome
NodeValues = tuple[int, int, int, str, float, float, Literal["kept", "finished", "dropped"]]


class TokenValues(TypedDict):
    """A token with its label. `start` and `end` count characters of its text."""

    text: str
    label: str
    id: int
    start: int
    end: int
    word: int | None  # index of its word; None for special tokens
    full: NotRequired[str]  # the full text of a truncated label
    special: NotRequired[bool]
    joined: NotRequired[bool]  # whether it continues the word of the previous token
    piece: NotRequired[int]  # index of the piece, if a character is split into `pieces`
    pieces: NotRequired[int]
    probability: NotRequired[float]  # only for output tokens
    alternatives: NotRequired[list[Alternative]]


class EncodedTensor(TypedDict):
    """Weights of any shape, a letter for each (`weight_encoding.py`)."""

    shape: list[int]
    letters: str


class OpeningValues(TypedDict):
    """Initial selection of a view; no row if the translation is empty."""

    layer: int
    head: int
    row: int | None


class BestHead(TypedDict):
    """The head that aligns words best, and the row offset at which it does."""

    layer: int
    head: int
    shift: int


class LanguageOffer(TypedDict):
    """A model that reads the sentence; `source_language` if a request must name it."""

    model: str
    source_language: str
    source: str
    target: str


class LanguageHint(TypedDict):
    """The sentence seems to be in another language than the model reads."""

    language: str
    reads: str
    offers: list[LanguageOffer]


class ReliabilityValues(TypedDict):
    """Reliability of a translation with its reasons."""

    probability: float | None
    grade: Grade | None
    reasons: list[Annotated[dict[str, Any], Reason]]
    back: str | None  # the back-translation, if the rule used it


# ---------------------------------------------------------------- models

Options = dict[str, Any]  # options of a request with their values


class ModelEntry(TypedDict):
    """A model of a menu."""

    name: str
    source: str  # language codes, or empty
    target: str
    best_head: BestHead | None
    where: Literal["here", "hub"]
    downloaded: bool
    bytes: int


class TranslatorEntry(ModelEntry):
    """A translator of the menu. The defaults of some are unknown before their first answer."""

    defaults: Options | None


class ClassifierEntry(ModelEntry):
    """A classifier of the menu."""

    linear: bool


class AnswerModel(ModelEntry):
    """The model of an answer, with the languages of the translation. In notebooks, defaults and choices are empty."""

    defaults: Options
    default_source: str
    default_target: str
    sources: Sequence[str]  # languages of a multilingual model
    targets: Sequence[str]
    left_out: Sequence[str]  # generation settings of the model that Headlight does not support
    python_defaults: (
        Annotated[dict[str, Any], DecodingOptions] | None
    )  # `Translator` defaults, if the model has its own


# ---------------------------------------------------------------- messages of a translation


class Message(TypedDict):
    """A streamed message. `turn` repeats the number of the request."""

    turn: NotRequired[int]


class RequestValues(TypedDict):
    """The request of an answer."""

    text: str
    model: str
    options: Annotated[dict[str, Any], DecodingOptions]
    target: str | Sequence[int] | None
    prefix: str | Sequence[int] | None
    source_language: str
    target_language: str
    interventions: NotRequired[list[dict[str, Any]]]


class Answer(Message):
    """A whole translation."""

    what: Literal["answer"]
    version: Literal[2]
    model: AnswerModel
    request: RequestValues
    source_text: str
    text: str
    source: list[TokenValues]
    target: list[TokenValues]
    start: TokenValues
    attention: dict[Kind, EncodedTensor]
    hidden: NotRequired[list[int]]  # masked source positions
    unknown: NotRequired[list[int]]  # positions of unknown source tokens
    adaptations: NotRequired[list[str]]  # how the model read the sentence: simplified, capitals, emoji
    roles: dict[Kind, list[list[RoleValues]]]  # [layer][head], averages last
    measures: dict[Kind, dict[str, MeasureValues]]
    opening: OpeningValues | None
    late: list[tuple[int, int]]  # layer and head of cross-attention heads that are shifted by one row
    hypotheses: list[Annotated[dict[str, Any], Hypothesis]]  # best first
    tree: list[NodeValues]
    score: float
    log_probability: float
    stopped: StopReason
    reliability: ReliabilityValues | None
    device: str
    seconds: float
    cached: NotRequired[bool]  # whether `seconds` belongs to an earlier request
    hint: NotRequired[LanguageHint | None]
    way_back: NotRequired[str]  # name of the reverse model, or empty


class AnswerExtras(TypedDict, total=False):
    """Fields of an answer that depend on the visitor's request or on other models."""

    cached: bool
    hint: LanguageHint | None
    way_back: str
    reliability: ReliabilityValues | None


class ProgressMessage(Message):
    """The tokens written so far."""

    what: Literal["progress"]
    text: str
    target: list[TokenValues]


class WaitingMessage(Message):
    """Position in the queue. `before`: requests of other visitors; None: only the visitor's own run first."""

    what: Literal["waiting"]
    before: int | None
    ticket: NotRequired[str]  # sent with the next poll


class BusyMessage(Message):
    """Live requests are deferred because the server is busy."""

    what: Literal["busy"]


class ErrorMessage(Message):
    """An error as a key of the phrase tables, with the request field that it belongs to."""

    what: Literal["error"]
    field: str
    word: str
    values: dict[str, Any]


class ParcelMessage(Message):
    """Name by which to fetch an answer that is too large to stream."""

    what: Literal["parcel"]
    name: str


class ReadBack(TypedDict):
    """Reliability of an answer from its back-translation."""

    reliability: ReliabilityValues | None


class FindingValues(TypedDict):
    """A finding about a translation, with the cell that shows it."""

    sentences: dict[str, str]  # language → sentence
    kind: Kind
    layer: int
    head: int
    row: int
    column: int


class Findings(TypedDict):
    """The strongest findings about a translation, in the order of the list."""

    findings: list[FindingValues]


TranslationMessage = Answer | ProgressMessage | WaitingMessage | BusyMessage | ErrorMessage | ParcelMessage

# ---------------------------------------------------------------- downloads


class DownloadPlan(TypedDict):
    """A model on the Hub before its download; sizes in bytes."""

    here: Literal[False]
    name: str
    source: str
    target: str
    bytes: int
    missing: int
    licence: str
    revision: str


class Downloaded(TypedDict):
    """A downloaded model, and all models of its kind."""

    name: str
    kind: Literal["transformer", "classifier"]
    models: list[TranslatorEntry] | list[ClassifierEntry]


class DownloadedBefore(Downloaded):
    """Another visitor has downloaded the model since the page was opened."""

    here: Literal[True]


class HubStatus(TypedDict):
    """The Hub's name if it is unreachable, else empty."""

    away: str


class FetchingMessage(TypedDict):
    """Progress of a download in bytes."""

    what: Literal["fetching"]
    done: int
    total: int


class FetchedMessage(Downloaded):
    """The download is complete."""

    what: Literal["fetched"]


DownloadMessage = FetchingMessage | FetchedMessage | ErrorMessage

# Message type of each stream of the page, by stream name.
STREAMS: Mapping[str, Any] = {"stream_messages": TranslationMessage, "fetch_model": DownloadMessage}
