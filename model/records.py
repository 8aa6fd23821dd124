"""Requests and results: frozen records without tensors, which any code can draw, store or send.

`TranslationRequest` alone decides a translation. `Translation` is the result, with every attention map.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from headlight.model.errors import RequestError, choice_error, range_error
from headlight.model.intervention_records import ACTIONS as ACTIONS
from headlight.model.intervention_records import KINDS as KINDS
from headlight.model.intervention_records import Change, check_float, check_int
from headlight.model.intervention_records import Intervention as Intervention
from headlight.model.intervention_records import Kind as Kind

MapKind = Kind | Literal["self"]  # of a model with one stack: its tokens look at each other
Grade = Literal["right", "check", "doubt"]  # probably right; check it; do not rely on it
StopReason = Literal["end", "length", "forced", "cancelled"]
FloatArray = npt.NDArray[np.float32]
BoolArray = npt.NDArray[np.bool_]


# ---------------------------------------------------------------- requests

# The lowest and the highest value of each option of decoding that is a number. `n_best` ends at the beam.
INT_RANGES: Mapping[str, tuple[int, int]] = MappingProxyType(
    {
        "beam_size": (1, 64),
        "top_k": (0, 1_000_000),
        "seed": (0, 2**63 - 1),
        "no_repeat": (0, 100),
        "alternatives": (0, 50),
        "max_length": (1, 4096),
    }
)
FLOAT_RANGES: Mapping[str, tuple[float, float]] = MappingProxyType(
    {"length_penalty": (0.0, 10.0), "temperature": (0.0, 10.0), "top_p": (0.0, 1.0), "back_weight": (0.0, 10.0)}
)


@dataclass(frozen=True, kw_only=True)
class DecodingOptions:
    """The options of decoding. A beam of one is greedy; a temperature above zero samples."""

    beam_size: int = 1
    length_penalty: float = 1.0  # a hypothesis counts log p / length ** length_penalty
    n_best: int = 1
    max_length: int | None = None  # tokens written, the end token among them; None: twice the source + 16
    temperature: float = 0.0
    top_k: int = 0  # 0: all
    top_p: float = 1.0
    seed: int = 0
    no_repeat: int = 0  # no n-gram of this length is written twice; 0: no such rule
    alternatives: int = 5  # how many candidates of each step are reported
    # A beam's hypotheses are ranked by score + back_weight × the sentence's log probability given the hypothesis, from
    # a reverse model (`model/translate/reranking.py`). 0: by their score alone.
    back_weight: float = 0.0

    def __post_init__(self) -> None:
        for name, (low, high) in INT_RANGES.items():
            if name != "max_length" or self.max_length is not None:
                check_int(self, name, low, high)
        check_int(self, "n_best", 1, self.beam_size)
        for name, (lowest, highest) in FLOAT_RANGES.items():
            check_float(self, name, lowest, highest)
        if self.temperature > 0 and self.beam_size > 1:
            raise RequestError("sampling_with_beam", field="beam_size")
        if self.top_p == 0.0:
            raise RequestError("top_p_zero", field="top_p")

    @property
    def samples(self) -> bool:
        """Whether decoding samples."""
        return self.temperature > 0


TextOrIds = str | tuple[int, ...]  # text, or exact token ids where text would be ambiguous


@dataclass(frozen=True, kw_only=True)
class TranslationRequest:
    """Everything that decides a translation; equal requests have equal results, so it is the key of a cache."""

    text: str
    model: str = ""
    options: DecodingOptions = field(default_factory=DecodingOptions)
    target: TextOrIds | None = None  # the whole translation is given: score it and look at it
    prefix: TextOrIds | None = None  # the translation begins so: go on from there
    interventions: tuple[Change, ...] = ()
    capture: tuple[str, ...] = ()  # further probes to capture, by pattern
    source_language: str = ""  # of models that read several; "": the model's default
    target_language: str = ""

    def __post_init__(self) -> None:
        if self.target is not None and self.prefix is not None:
            raise RequestError("target_and_prefix", field="prefix")


# ---------------------------------------------------------------- results


@dataclass(frozen=True, slots=True)
class Alternative:
    """One candidate for a place in the translation."""

    text: str
    id: int
    probability: float


@dataclass(frozen=True, slots=True)
class Token:
    """One sub-word: its text, its place, and the word it belongs to.

    `start` and `end` count characters of the sentence it stands in. A character that the vocabulary lacks is cut into
    bytes; then all its pieces carry the whole character as text, and `piece` of `pieces` tells them apart.
    """

    text: str
    id: int
    start: int
    end: int
    word: int | None = None  # None for special tokens
    special: bool = False
    piece: int = 0
    pieces: int = 1
    probability: float | None = None  # of written tokens
    alternatives: tuple[Alternative, ...] = ()


@dataclass(frozen=True, eq=False)
class AttentionMap:
    """One matrix with the names of its axes: `weights[row, column]`, rows look at columns."""

    weights: FloatArray  # [rows, columns]
    allowed: BoolArray  # [rows, columns]: False if masked; the weight is then exactly zero
    rows: tuple[Token, ...]  # decoder, cross: the tokens being written
    columns: tuple[Token, ...]
    # From whose states the queries of the rows are computed: of the rows themselves, or of the tokens before.
    previous_tokens: tuple[Token, ...]
    kind: MapKind
    layer: int
    head: int | None  # None: the average of all heads


@dataclass(frozen=True, eq=False)
class Attention:
    """All maps of one sentence, each `[layer, head, query, key]`, float32, read-only."""

    encoder: FloatArray
    decoder: FloatArray
    cross: FloatArray
    masked_source: tuple[int, ...] = ()  # the source tokens that no token may look at

    def of(self, kind: Kind) -> FloatArray:
        """The maps of one kind."""
        if kind not in KINDS:
            raise choice_error("kind", kind, KINDS)
        maps: FloatArray = getattr(self, kind)
        return maps

    def allowed(self, kind: Kind) -> BoolArray:
        """The cells that are not masked, `[query, key]`: all, except later keys in the decoder and hidden tokens."""
        allowed = np.ones(self.of(kind).shape[-2:], dtype=np.bool_)
        if kind == "decoder":
            return np.tril(allowed)
        allowed[:, list(self.masked_source)] = False
        return allowed


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One finished or abandoned translation of the beam. Its `ids` as a request's `target` bring its attention."""

    text: str
    ids: tuple[int, ...]  # with the end token, if it was reached
    score: float  # log probability / length ** length_penalty
    log_probability: float
    ended: bool = True  # with the end token; False: truncated
    reverse_score: float | None = None  # reverse log probability per token; None: not computed


@dataclass(frozen=True, slots=True)
class BeamNode:
    """One continuation that the search considered."""

    parent: int  # index of the node it continues; -1 for the first step
    step: int
    id: int
    text: str
    log_probability: float  # of the whole path up to here
    score: float
    outcome: Literal["kept", "finished", "dropped"]


@dataclass(frozen=True, slots=True)
class BeamTree:
    """All continuations that a beam search considered, in order of steps."""

    nodes: tuple[BeamNode, ...] = ()

    def path(self, index: int) -> tuple[int, ...]:
        """The token ids from the start to this node: as a request's `target` they bring its attention."""
        ids: list[int] = []
        while index >= 0:
            ids.append(self.nodes[index].id)
            index = self.nodes[index].parent
        return tuple(reversed(ids))


@dataclass(frozen=True, slots=True)
class Timing:
    """The seconds of each stage. A sentence of a batch has the seconds of the whole batch."""

    encode: float = 0.0
    decode: float = 0.0
    capture: float = 0.0


class Span(NamedTuple):
    """A place in a text: characters from `start` to before `end`."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason to doubt a translation, with the words concerned.

    Kinds: `language` (the sentence is of another: `source` is its code), `unfinished`, `numbers`, `left_out`, `name`
    (written otherwise than in the sentence), `copied` (not translated), `repeated`, `unsure` (the model guessed).
    """

    kind: str
    source_spans: tuple[Span, ...]
    target_spans: tuple[Span, ...]
    source: str  # the words at those spans
    target: str


@dataclass(frozen=True, slots=True)
class Reliability:
    """Estimated reliability of a translation."""

    probability: float | None  # that the translation is right; None if no rule was fitted
    grade: Grade | None  # None: no rule was fitted, and nothing speaks against it
    reasons: tuple[Reason, ...]
    back_translation: str | None = None  # the back-translation, if the rule used it

    @property
    def is_doubtful(self) -> bool:
        """Whether the page warns about it."""
        return self.grade in ("check", "doubt")


class BackTranslation(NamedTuple):
    """The back-translation, and the source sentence as scored by the reverse model."""

    text: str
    tokens: tuple[Token, ...]  # of the sentence, each with its probability given the translation


class ReliabilityRule(Protocol):
    """Computes the `Reliability` of a translation."""

    @property
    def uses_back_translation(self) -> bool:
        """Whether it weighs a translation read back."""

    def judge(self, translation: Translation, back: BackTranslation | None = None) -> Reliability | None:
        """The verdict, or None if the rule does not apply."""


@dataclass(frozen=True, eq=False)
class Translation:
    """A translation with all attention maps: NumPy arrays, read-only, without padding."""

    request: TranslationRequest
    source_text: str  # the sentence as the model read it (NFC); source tokens count its characters
    text: str
    source_tokens: tuple[Token, ...]  # the end token last
    target_tokens: tuple[Token, ...]  # as written; the end token last, if it was reached
    start_token: Token  # decoder input before the first written token
    attention: Attention
    # "encoder", "decoder": the encoding's table or bias (of each layer, if they differ), as far as it is used
    positions: Mapping[str, FloatArray]
    score: float
    log_probability: float
    stopped: StopReason
    captured: Mapping[str, FloatArray] = field(default_factory=lambda: MappingProxyType({}))
    hypotheses: tuple[Hypothesis, ...] = ()
    tree: BeamTree = BeamTree()
    timing: Timing = Timing()
    device: str = "cpu"
    rule: ReliabilityRule | None = None  # of the model, if it has one
    unknown: tuple[int, ...] = ()  # indices of unknown source tokens

    @cached_property
    def reliability(self) -> Reliability | None:
        """How far this can be relied on: worked out when it is first asked for. None: the model has no rule."""
        return self.read_back(None)

    @property
    def uses_back_translation(self) -> bool:
        """Whether `read_back` uses the back-translation."""
        return self.request.target is None and self.rule is not None and self.rule.uses_back_translation

    def read_back(self, back: BackTranslation | None) -> Reliability | None:
        """A copy whose reliability also uses the back-translation."""
        return None if self.rule is None else self.rule.judge(self, back)

    @property
    def decoder_tokens(self) -> tuple[Token, ...]:
        """The input of the decoder, and its keys: the start token, then all written tokens but the last."""
        return (self.start_token, *self.target_tokens[:-1])

    def attention_map(self, kind: Kind, layer: int, head: int | None = None) -> AttentionMap:
        """One head's matrix with its tokens; without a head, the average of the layer."""
        maps = self.attention.of(kind)
        layers, heads = maps.shape[:2]
        if type(layer) is not int or not 0 <= layer < layers:
            raise range_error("layer", layer, 0, layers - 1)
        if head is not None and (type(head) is not int or not 0 <= head < heads):
            raise range_error("head", head, 0, heads - 1)
        weights = maps[layer].mean(axis=0, dtype=np.float32) if head is None else maps[layer, head]
        rows = self.source_tokens if kind == "encoder" else self.target_tokens
        columns = self.decoder_tokens if kind == "decoder" else self.source_tokens
        return AttentionMap(
            weights=read_only(weights),
            allowed=read_only(self.attention.allowed(kind)),
            rows=rows,
            columns=columns,
            previous_tokens=self.source_tokens if kind == "encoder" else self.decoder_tokens,
            kind=kind,
            layer=layer,
            head=head,
        )


@dataclass(frozen=True, eq=False)
class Judgement:
    """The verdict of a classifier, the contribution of each token if it is additive, and all attention maps."""

    text: str  # as the model read it; an ellipsis replaces the middle of a long text
    truncated: bool
    tokens: tuple[Token, ...]  # the end token last
    classes: tuple[str, ...]  # two or more of which the text has one, or any that are asked for one by one
    exclusive: bool  # the text has one of the classes
    class_log_odds: tuple[float, ...]  # ln p / (1 − p) of each class
    attention: FloatArray  # [layer, head, query, key]; each row sums to one
    shares: (
        tuple[float, ...] | None
    )  # contribution of each token to `log_odds`, which are their sum + bias; None: the model is not additive
    bias: float = 0.0
    unknown: tuple[int, ...] = ()  # indices of unknown tokens

    @property
    def log_odds(self) -> float:
        """Of the last class: of two, the second."""
        return self.class_log_odds[-1]

    @property
    def probability(self) -> float:
        """Of the last class."""
        return self.probabilities[-1]

    @property
    def probabilities(self) -> tuple[float, ...]:
        """Of each class; of exclusive ones they sum to one."""
        return tuple(map(sigmoid, self.class_log_odds))

    @property
    def verdicts(self) -> tuple[str, ...]:
        """The classes that hold: of exclusive ones the most probable, of others all above one half."""
        if self.exclusive:
            likeliest = max(range(len(self.classes)), key=self.class_log_odds.__getitem__)
            return (self.classes[likeliest],)
        return tuple(name for name, odds in zip(self.classes, self.class_log_odds, strict=True) if odds > 0)

    @property
    def verdict(self) -> str:
        """The classes as one text; empty if none applies."""
        return ", ".join(self.verdicts)


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a running translation, without tensors; only the last one carries the whole translation."""

    step: int
    decode: Callable[[], tuple[str, tuple[Token, ...]]] = field(repr=False)  # text so far
    translation: Translation | None = None

    @property
    def text(self) -> str:
        """Text decoded so far; a beam may still revise it. Decoded lazily."""
        return self.decode()[0]

    @property
    def tokens(self) -> tuple[Token, ...]:
        """The tokens of the text."""
        return self.decode()[1]


def sigmoid(log_odds: float) -> float:
    """1 / (1 + exp −x): the probability whose log-odds these are."""
    return 1 / (1 + math.exp(-log_odds)) if log_odds > -700 else 0.0  # e^709 is the last that there is


def read_only(array: Any) -> Any:
    """The same array, made read-only."""
    array.flags.writeable = False
    return array
