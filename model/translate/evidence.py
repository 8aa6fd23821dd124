"""Features and reasons for the reliability of a translation.

Everything is read off the `Translation` itself: no model runs. The translation read back, which needs a second model,
is given or missing.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher

import numpy as np

from headlight.model.measures.chrf import chrf
from headlight.model.records import BackTranslation, FloatArray, Reason, Span, Token, Translation
from headlight.model.text.identification import FREQUENT, identify
from headlight.model.text.numbers import find_numbers, unmatched_numbers

FEATURES = (  # in the order of a rule's weights
    "mean",  # log probability of a token
    "worst_token",
    "worst_word",
    "second_word",  # the least likely word but one
    "unseen",  # share of source words that no written word looks at
    "left_out",  # words that hardly any written word looks at, frequent words aside
    "least_seen",  # attention of the least attended source word
    "numbers",  # that have no counterpart
    "names",  # names that the other side spells differently
    "length",  # log ratio of both lengths, less the usual one: how far off
    "rare",  # share of source words in three pieces or more: words that the vocabulary does not know well
    "peak",  # the most that a written token looks at one source token, on average
    "to_end",  # share of attention on the end token
    "invented",  # share of unlikely words in several pieces
    "copied",  # words of the source that stand untranslated
    "repeated",  # words that the translation repeats and the source does not
    "words",  # log of the number of source words
)
BACK_TRANSLATION_FEATURES = (  # with back-translation
    *FEATURES,
    "back",  # how like the sentence what came back is: chrF
    "back_numbers",  # that did not come back
    "recovered",  # log probability of a token of the sentence, given its translation alone
    "least_recovered",  # of its least likely word
    "second_recovered",
)
POSITIVE_FEATURES = frozenset(  # of which more speaks for an answer; more of all others speaks against it
    ["mean", "worst_token", "worst_word", "second_word", "least_seen", "peak", "back", "recovered", "least_recovered",
     "second_recovered"]
)  # fmt: skip
ATTENDED_FROM = 0.25  # attention that counts as a look
UNSURE_BELOW = math.log(0.25)  # of a word
MAX_UNSURE_WORDS = 2  # words that are named
SHORT_WORD_LETTERS = 4  # letters below which a word is common by chance
WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
MIN_LOG_PROBABILITY = -12.0  # lower log probabilities are clamped


@dataclass(frozen=True)
class Evidence:
    """Features by name, and the reasons, most severe first."""

    features: Mapping[str, float] = field(default_factory=dict)
    reasons: tuple[Reason, ...] = ()


@dataclass(frozen=True)
class Word:
    """One word of a side: its letters, its place in the text, its tokens, and how likely it was."""

    text: str
    start: int
    end: int
    tokens: tuple[int, ...]
    log_probability: float  # of all its tokens; 0 on the side of the source

    @property
    def span(self) -> Span:
        """Its place alone."""
        return Span(self.start, self.end)


def collect_evidence(
    answer: Translation, source: str, target: str, usual_length: float, back: BackTranslation | None = None
) -> Evidence:
    """All that speaks against an answer.

    Args:
        answer: The translation.
        source: The language that it reads, as a code of two letters.
        target: The language that it writes.
        usual_length: The log ratio of characters, target to source, that right answers have.
        back: The back-translation, if a reverse model is available.
    """
    read, written = (
        content_words(answer.source_tokens, answer.source_text),
        content_words(answer.target_tokens, answer.text),
    )
    chances = [math.log(max(token.probability or 0.0, 1e-9)) for token in answer.target_tokens]
    likely = sorted(word.log_probability for word in written) or [0.0]
    seen = source_coverage(answer.attention.cross, read)
    named, target_numbers = find_numbers(answer.source_text, source), find_numbers(answer.text, target)
    here, there = unmatched_numbers(named, target_numbers)
    misspelt = list(_misspelt(read, written))
    copied = _untranslated_words(read, written) if source != target else []
    repeated = _repeated(read, written)
    doubtful = sorted(
        (word for word in written if word.log_probability < UNSURE_BELOW), key=lambda word: word.log_probability
    )
    left = _omitted_words(read, seen, source)
    ratio = math.log((len(answer.text) + 1) / (len(answer.source_text) + 1))
    features = {
        "mean": sum(chances) / max(1, len(chances)),
        "worst_token": max(MIN_LOG_PROBABILITY, min(chances, default=0.0)),
        "worst_word": max(MIN_LOG_PROBABILITY, likely[0]),
        "second_word": max(MIN_LOG_PROBABILITY, likely[min(1, len(likely) - 1)]),
        "unseen": sum(weight < ATTENDED_FROM for weight in seen) / max(1, len(seen)),
        "left_out": float(min(3, sum(map(len, left)))),
        "least_seen": min(seen, default=1.0),
        "numbers": float(min(3, len(here) + len(there))),
        "names": float(min(3, len(misspelt))),
        "length": abs(ratio - usual_length),
        "rare": sum(len(word.tokens) > 2 for word in read) / max(1, len(read)),
        **_sharpness(answer.attention.cross),
        "invented": sum(len(word.tokens) > 2 for word in doubtful) / max(1, len(written)),
        "copied": float(min(3, len(copied))),
        "repeated": float(min(3, len(repeated))),
        "words": math.log(max(1, len(read))),
    }
    reasons = [*_language(answer, source), *_unfinished(answer)]
    if here or there:
        spans = tuple(Span(each.start, each.end) for each in here), tuple(Span(each.start, each.end) for each in there)
        reasons.append(_reason(answer, "numbers", *spans))
    if back is not None:
        lost = unmatched_numbers(find_numbers(answer.source_text, source), find_numbers(back.text, source))
        features |= {"back": chrf(back.text, answer.source_text) / 100}
        features |= {
            "back_numbers": float(min(3, sum(map(len, lost)))),
            **_reverse_features(back.tokens, answer.source_text),
        }
        again = {_stem(word) for word in WORD.findall(back.text)} if source != "zh" else set(back.text)
        left = [group for group in left if not _in_back_translation(group, again, source)]
        features["left_out"] = float(min(3, sum(map(len, left))))
    names = _by_spelling(answer, misspelt)
    explained = [span for reason in (*reasons, *names) if reason.kind != "language" for span in reason.source_spans]
    left = [group for group in left if not all(_is_within(word, explained) for word in group)]
    reasons += [_reason(answer, "left_out", (Span(group[0].start, group[-1].end),)) for group in left]
    reasons += names
    reasons += [_reason(answer, "copied", (), (word.span,)) for word in copied]
    reasons += [_reason(answer, "repeated", (), (word.span,)) for word in repeated]
    # A number that the sentence has, too, may be written in more ways than one: a small chance makes it no guess.
    explained = [span for reason in reasons for span in reason.target_spans]
    explained += [Span(each.start, each.end) for each in target_numbers if each.required and each not in there]
    guessed = [word for word in doubtful if not _is_within(word, explained)]
    reasons += [_reason(answer, "unsure", (), (word.span,)) for word in guessed[:MAX_UNSURE_WORDS]]
    return Evidence(features, tuple(reasons))


def content_words(tokens: Sequence[Token], text: str) -> list[Word]:
    """The words of one side that hold a letter or a digit."""
    places: dict[int, list[int]] = {}
    for place, token in enumerate(tokens):
        if token.word is not None:
            places.setdefault(token.word, []).append(place)
    words = []
    for own in places.values():
        start, end = tokens[own[0]].start, tokens[own[-1]].end
        written = text[start:end]
        start += len(written) - len(written.lstrip())
        chance = sum(math.log(max(tokens[place].probability or 1.0, 1e-9)) for place in own)
        if any(letter.isalnum() for letter in written):
            words.append(Word(written.strip(), start, end, tuple(own), chance))
    return words


def source_coverage(cross: FloatArray, words: Sequence[Word]) -> list[float]:
    """The most that any written token gives each source word, in the mean of all heads."""
    if not cross.size:
        return []
    mean = cross.mean(axis=(0, 1), dtype=np.float64)  # [target, source]
    return [float(mean[:, list(word.tokens)].sum(axis=1).max()) for word in words]


def _sharpness(cross: FloatArray) -> dict[str, float]:
    """Sharpness of cross-attention; a hallucinating model attends diffusely."""
    if not cross.size:
        return {"peak": 1.0, "to_end": 0.0}
    mean = cross.mean(axis=(0, 1), dtype=np.float64)[:-1]  # [target without its end, source]
    if not len(mean):
        return {"peak": 1.0, "to_end": 0.0}
    return {"peak": float(mean.max(axis=1).mean()), "to_end": float(mean[:, -1].mean())}


def _reverse_features(tokens: Sequence[Token], text: str) -> dict[str, float]:
    """Features from the reverse model; an omitted word has a low reverse probability."""
    chances = [math.log(max(token.probability or 0.0, 1e-9)) for token in tokens] or [0.0]
    words = sorted(word.log_probability for word in content_words(tokens, text)) or [0.0]
    return {
        "recovered": sum(chances) / len(chances),
        "least_recovered": max(MIN_LOG_PROBABILITY, words[0]),
        "second_recovered": max(MIN_LOG_PROBABILITY, words[min(1, len(words) - 1)]),
    }


def _omitted_words(words: Sequence[Word], seen: Sequence[float], language: str) -> list[list[Word]]:
    """Neighbouring words that hardly any written word looks at, with one among them that is not all too frequent."""
    groups: list[list[Word]] = []
    last = -2
    for place, (word, weight) in enumerate(zip(words, seen, strict=True)):
        if weight >= ATTENDED_FROM:
            continue
        if place == last + 1:
            groups[-1].append(word)
        else:
            groups.append([word])
        last = place
    common = set(FREQUENT.get(language, "").split())
    return [group for group in groups if any(word.text.lower() not in common for word in group)]


def _in_back_translation(group: Sequence[Word], again: set[str], language: str) -> bool:
    """Whether the translation read back holds these words."""
    if language == "zh":
        return all(sign in again for word in group for sign in word.text)
    return all(_stem(part) in again for word in group for part in WORD.findall(word.text))


def _misspelt(read: Sequence[Word], written: Sequence[Word]) -> list[tuple[Word, Word]]:
    """Unlikely words that resemble a capitalised word of the source and are not the same."""
    names = [word for word in read[1:] if word.text[:1].isupper() and len(word.text) >= SHORT_WORD_LETTERS]
    known = {word.text.casefold() for word in read}
    results = []
    for word in written[1:]:  # the first has a capital in any case
        if word.log_probability > math.log(0.5) or word.text.casefold() in known or len(word.text) < SHORT_WORD_LETTERS:
            continue
        if not word.text[:1].isupper():
            continue
        alike = [(SequenceMatcher(None, name.text, word.text).ratio(), name) for name in names]
        likeness, name = max(alike, default=(0.0, word), key=lambda each: each[0])
        if likeness >= 0.6:
            results.append((name, word))
    return results


def _by_spelling(answer: Translation, misspelt: Sequence[tuple[Word, Word]]) -> list[Reason]:
    """One reason for each name that is spelt in one other way, however often."""
    results: dict[tuple[str, str], tuple[set[Span], set[Span]]] = {}
    for name, word in misspelt:
        spans = results.setdefault((name.text, word.text), (set(), set()))
        spans[0].add(name.span)
        spans[1].add(word.span)
    return [_reason(answer, "name", *(tuple(sorted(each)) for each in spans)) for spans in results.values()]


def _is_within(word: Word, spans: Sequence[Span]) -> bool:
    """Whether a reason is about this word already."""
    return any(word.start < span.end and span.start < word.end for span in spans)


def _untranslated_words(read: Sequence[Word], written: Sequence[Word]) -> list[Word]:
    """Untranslated lower-case words of four letters or more."""
    known = {word.text for word in read if word.text.islower() and len(word.text) >= SHORT_WORD_LETTERS}
    return [word for word in written if word.text in known and word.log_probability < math.log(0.7)]


def _repeated(read: Sequence[Word], written: Sequence[Word]) -> list[Word]:
    """Words that come again in the translation, more often than any word does in the source."""
    allowed = max(
        Counter(_stem(word.text) for word in read if len(word.text) >= SHORT_WORD_LETTERS).values(), default=1
    )
    counted = Counter[str]()
    results = []
    for word in written:
        if len(word.text) >= SHORT_WORD_LETTERS:
            stem = _stem(word.text)
            counted[stem] += 1
            if counted[stem] > allowed:
                results.append(word)
    return results


def _stem(word: str) -> str:
    return word.casefold()[:5]


def _language(answer: Translation, source: str) -> list[Reason]:
    result = identify(answer.source_text)
    if result is None or result == source:
        return []
    return [Reason("language", (Span(0, len(answer.source_text)),), (), result, "")]


def _unfinished(answer: Translation) -> list[Reason]:
    return [Reason("unfinished", (), (), "", "")] if answer.stopped == "length" else []


def _reason(answer: Translation, kind: str, source: tuple[Span, ...] = (), target: tuple[Span, ...] = ()) -> Reason:
    def words(text: str, spans: Sequence[Span]) -> str:
        return ", ".join(dict.fromkeys(text[span.start : span.end] for span in spans))

    return Reason(kind, source, target, words(answer.source_text, source), words(answer.text, target))
