"""Requests and results: frozen records without tensors, which can be drawn, stored or sent.

A `TranslationRequest` fully determines a translation. `Translation` is the result, with every attention map.
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

MapKind = Kind | Literal["self"]  # "self": in a model with a single stack
Grade = Literal["right", "check", "doubt"]  # probably right; check it; do not rely on it
StopReason = Literal["end", "length", "forced", "cancelled"]
FloatArray = npt.NDArray[np.float32]
BoolArray = npt.NDArray[np.bool_]


# ---------------------------------------------------------------- requests

# The lowest and the highest value of each numeric decoding option. `n_best` is at most `beam_size`.
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
DEFAULT_TOP = 10  # default number of heads whose effects on a word are measured
FLOAT_RANGES: Mapping[str, tuple[float, float]] = MappingProxyType(
    {"length_penalty": (0.0, 10.0), "temperature": (0.0, 10.0), "top_p": (0.0, 1.0), "back_weight": (0.0, 10.0)}
)


@dataclass(frozen=True, kw_only=True)
class DecodingOptions:
    """Decoding options. A beam of one is greedy; a temperature above zero samples."""

    beam_size: int = 1
    length_penalty: float = 1.0  # the score of a hypothesis is log p / length ** length_penalty
    n_best: int = 1
    max_length: int | None = (
        None  # maximum number of target tokens, including the end token; None: 2 × source tokens + 16
    )
    temperature: float = 0.0
    top_k: int = 0  # 0: all
    top_p: float = 1.0
    seed: int = 0
    no_repeat: int = 0  # no n-gram of this length is repeated; 0: off
    alternatives: int = 5  # number of candidates reported per step
    # Hypotheses are ranked by score + back_weight × the log probability of the source given the hypothesis, computed by
    # a reverse model (`model/translate/reranking.py`). 0: by score alone.
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
        """Whether tokens are sampled."""
        return self.temperature > 0


TextOrIds = str | tuple[int, ...]  # text, or token ids if text would be ambiguous


@dataclass(frozen=True, kw_only=True)
class TranslationRequest:
    """Everything that determines a translation. Equal requests have equal results, so requests are cache keys."""

    text: str
    model: str = ""
    options: DecodingOptions = field(default_factory=DecodingOptions)
    target: TextOrIds | None = None  # a complete translation, which the model scores
    prefix: TextOrIds | None = None  # the start of the translation, which the model continues
    interventions: tuple[Change, ...] = ()
    capture: tuple[str, ...] = ()  # patterns of further probes to capture
    source_language: str = ""  # for models that read several languages; "": the model's default
    target_language: str = ""

    def __post_init__(self) -> None:
        if self.target is not None and self.prefix is not None:
            raise RequestError("target_and_prefix", field="prefix")


# ---------------------------------------------------------------- results


@dataclass(frozen=True, slots=True)
class Alternative:
    """A candidate token at one step of decoding."""

    text: str
    id: int
    probability: float


@dataclass(frozen=True, slots=True)
class Token:
    """A sub-word: its text, its position, and the index of its word.

    `start` and `end` count characters of the sentence. A character that is not in the vocabulary is split into bytes.
    The `text` of each byte is the whole character, and `piece` of `pieces` distinguishes the bytes.
    """

    text: str
    id: int
    start: int
    end: int
    word: int | None = None  # None for special tokens
    special: bool = False
    piece: int = 0
    pieces: int = 1
    probability: float | None = None  # only for written tokens
    alternatives: tuple[Alternative, ...] = ()


@dataclass(frozen=True, eq=False)
class AttentionMap:
    """A matrix of attention weights with the tokens of its axes. Rows are queries, columns are keys."""

    weights: FloatArray  # [rows, columns]
    allowed: BoolArray  # [rows, columns]: False if masked; the weight is then exactly zero
    rows: tuple[Token, ...]  # decoder, cross: the tokens being written
    columns: tuple[Token, ...]
    # Tokens whose vectors become the queries: in the encoder the rows, else the tokens before them.
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
    masked_source: tuple[int, ...] = ()  # source tokens hidden from all attention

    def of(self, kind: Kind) -> FloatArray:
        """Return the maps of one kind."""
        if kind not in KINDS:
            raise choice_error("kind", kind, KINDS)
        maps: FloatArray = getattr(self, kind)
        return maps

    def allowed(self, kind: Kind) -> BoolArray:
        """Return the unmasked cells, `[query, key]`: all except later keys in the decoder and hidden tokens."""
        allowed = np.ones(self.of(kind).shape[-2:], dtype=np.bool_)
        if kind == "decoder":
            return np.tril(allowed)
        allowed[:, list(self.masked_source)] = False
        return allowed


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A finished or abandoned translation of the beam. A request with its `ids` as `target` returns its attention."""

    text: str
    ids: tuple[int, ...]  # including the end token, if it was reached
    score: float  # log probability / length ** length_penalty
    log_probability: float
    ended: bool = True  # True: reached the end token; False: truncated
    reverse_score: float | None = None  # reverse log probability per token; None: not computed


@dataclass(frozen=True, slots=True)
class BeamNode:
    """A candidate token of the beam search."""

    parent: int  # index of the parent node; -1 for the first step
    step: int
    id: int
    text: str
    log_probability: float  # of the path from the start to this node
    score: float
    outcome: Literal["kept", "finished", "dropped"]


@dataclass(frozen=True, slots=True)
class BeamTree:
    """All candidate tokens of a beam search, in order of steps."""

    nodes: tuple[BeamNode, ...] = ()

    def path(self, index: int) -> tuple[int, ...]:
        """Return the token ids from the start to a node. A request with these ids as `target` returns its attention."""
        ids: list[int] = []
        while index >= 0:
            ids.append(self.nodes[index].id)
            index = self.nodes[index].parent
        return tuple(reversed(ids))


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds per stage. For a sentence of a batch, these are the seconds of the whole batch."""

    encode: float = 0.0
    decode: float = 0.0
    capture: float = 0.0


class Span(NamedTuple):
    """A range of characters in a text, from `start` to before `end`."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason to doubt a translation, with the words concerned.

    Kinds: `language` (the sentence is in another language, whose code is `source`), `unfinished`, `numbers`,
    `left_out`, `name` (spelled differently in the translation), `copied` (not translated), `repeated` (a word), `loop`
    (consecutive repetitions of several words), `unsure` (low probability).
    """

    kind: str
    source_spans: tuple[Span, ...]
    target_spans: tuple[Span, ...]
    source: str  # the words at `source_spans`
    target: str


@dataclass(frozen=True, slots=True)
class Reliability:
    """Estimated reliability of a translation."""

    probability: float | None  # that the translation is right; None: no rule was fitted
    grade: Grade | None  # None: no rule was fitted, and there is no reason to doubt the translation
    reasons: tuple[Reason, ...]
    back_translation: str | None = None  # the back-translation, if the rule used it

    @property
    def is_doubtful(self) -> bool:
        """Whether the page warns about the translation."""
        return self.grade in ("check", "doubt")


class BackTranslation(NamedTuple):
    """A back-translation, and the source sentence as scored by the reverse model."""

    text: str
    tokens: tuple[Token, ...]  # of the sentence, with their probabilities given the translation
    sentence: str = ""  # in the spelling of the back-translation; empty: as the model read it


class ReliabilityRule(Protocol):
    """Interface of the rules that compute the `Reliability` of a translation."""

    @property
    def uses_back_translation(self) -> bool:
        """Whether the rule uses the back-translation."""

    def judge(self, translation: Translation, back: BackTranslation | None = None) -> Reliability | None:
        """Return the reliability, or None if the rule does not apply."""


@dataclass(frozen=True, eq=False)
class Translation:
    """A translation with all attention maps. The NumPy arrays are read-only and have no padding."""

    request: TranslationRequest
    source_text: str  # the sentence as typed (NFC), without emoji; source tokens count its characters
    text: str
    source_tokens: tuple[Token, ...]  # the end token last
    target_tokens: tuple[Token, ...]  # as written; the end token last, if it was reached
    start_token: Token  # decoder input before the first written token
    attention: Attention
    # "encoder", "decoder": the used part of the position table or bias, with a layer axis if the layers differ
    positions: Mapping[str, FloatArray]
    score: float
    log_probability: float
    stopped: StopReason
    captured: Mapping[str, FloatArray] = field(default_factory=lambda: MappingProxyType({}))
    hypotheses: tuple[Hypothesis, ...] = ()
    tree: BeamTree = BeamTree()
    timing: Timing = Timing()
    device: str = "cpu"
    rule: ReliabilityRule | None = None  # the model's rule, if it has one
    unknown: tuple[int, ...] = ()  # indices of unknown source tokens
    # Changes of the sentence for the model: "simplified" (Chinese), "capitals" (to lower case), "emoji" (removed).
    adaptations: tuple[str, ...] = ()

    @cached_property
    def reliability(self) -> Reliability | None:
        """Reliability without a back-translation, computed on first access. None if the model has no rule."""
        return self.read_back(None)

    @property
    def uses_back_translation(self) -> bool:
        """Whether `read_back` uses the back-translation."""
        return self.request.target is None and self.rule is not None and self.rule.uses_back_translation

    def read_back(self, back: BackTranslation | None) -> Reliability | None:
        """Compute the reliability, with the back-translation unless it is None. Return None if there is no rule."""
        return None if self.rule is None else self.rule.judge(self, back)

    @property
    def decoder_tokens(self) -> tuple[Token, ...]:
        """Decoder input, and keys of its self-attention: the start token, then all written tokens except the last."""
        return (self.start_token, *self.target_tokens[:-1])

    def attention_map(self, kind: Kind, layer: int, head: int | None = None) -> AttentionMap:
        """Return the map of one head, or without a head the average of the layer."""
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
    """The result of a classifier: log-odds, the contribution of each token if the model is additive, attention maps."""

    text: str  # as the model read it; an ellipsis replaces the middle of a long text
    truncated: bool
    tokens: tuple[Token, ...]  # the end token last
    classes: tuple[str, ...]  # names, in the order of the log-odds
    exclusive: bool  # True: exactly one class applies; False: any number of classes
    class_log_odds: tuple[float, ...]  # ln p / (1 − p) of each class
    attention: FloatArray  # [layer, head, query, key]; each row sums to one
    # Contribution of each token to `log_odds`, which is their sum + bias. None: the model is not additive.
    shares: tuple[float, ...] | None
    bias: float = 0.0
    unknown: tuple[int, ...] = ()  # indices of unknown tokens

    @property
    def log_odds(self) -> float:
        """Log-odds of the last class."""
        return self.class_log_odds[-1]

    @property
    def probability(self) -> float:
        """Probability of the last class."""
        return self.probabilities[-1]

    @property
    def probabilities(self) -> tuple[float, ...]:
        """Probability of each class. Those of exclusive classes sum to one."""
        return tuple(map(sigmoid, self.class_log_odds))

    @property
    def verdicts(self) -> tuple[str, ...]:
        """The classes that apply: the most probable one if exclusive, else all with a probability above one half."""
        if self.exclusive:
            best = max(range(len(self.classes)), key=self.class_log_odds.__getitem__)
            return (self.classes[best],)
        return tuple(name for name, odds in zip(self.classes, self.class_log_odds, strict=True) if odds > 0)

    @property
    def verdict(self) -> str:
        """The classes that apply, separated by commas; empty if no class applies."""
        return ", ".join(self.verdicts)


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a running translation, without tensors. Only the last one has a `translation`."""

    step: int
    decode: Callable[[], tuple[str, tuple[Token, ...]]] = field(repr=False)  # text so far, with its tokens
    translation: Translation | None = None

    @property
    def text(self) -> str:
        """Text written so far, decoded on access. A beam may still revise it."""
        return self.decode()[0]

    @property
    def tokens(self) -> tuple[Token, ...]:
        """Tokens of the text written so far."""
        return self.decode()[1]


def sigmoid(log_odds: float) -> float:
    """Convert log-odds to a probability: 1 / (1 + exp −x)."""
    return 1 / (1 + math.exp(-log_odds)) if log_odds > -700 else 0.0  # exp overflows above 709


def read_only(array: Any) -> Any:
    """Make an array read-only and return it."""
    array.flags.writeable = False
    return array
