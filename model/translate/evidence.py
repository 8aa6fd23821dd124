"""Features and reasons for the reliability of a translation.

They are computed from the `Translation` without running a model. The back-translation, which a second model has
computed, is optional.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher

import numpy as np

from headlight.model.measures.chrf import chrf
from headlight.model.records import BackTranslation, FloatArray, Reason, Span, Token, Translation
from headlight.model.text.adaptation import adapt_text
from headlight.model.text.identification import FREQUENT, identify
from headlight.model.text.numbers import find_numbers, unmatched_numbers
from headlight.model.text.respelling import respell
from headlight.model.translate.chinese_omissions import ChineseWord, omitted_chinese_words
from headlight.model.translate.repetition import WordPosition, repeated_runs, repeats_itself

FEATURES = (  # `reliability.json` stores its weights in this order
    "mean",  # mean log probability of the tokens
    "worst_token",
    "worst_word",
    "second_word",  # log probability of the second least likely word
    "unseen",  # share of source words with hardly any attention
    "left_out",  # number of source words with hardly any attention, without frequent words
    "least_seen",  # attention of the least attended source word
    "numbers",  # count of numbers without a counterpart
    "names",  # number of names that the translation spells differently
    "length",  # deviation of the log ratio of target to source characters from its usual value
    "rare",  # share of source words with at least three pieces; such words are rare in the training text
    "peak",  # mean over target tokens of the highest attention weight
    "to_end",  # share of attention on the end token
    "invented",  # share of unlikely words with at least three pieces
    "copied",  # number of untranslated source words
    "repeated",  # number of words that are repeated in the translation but not in the source
    "words",  # log of the number of source words
)
BACK_TRANSLATION_FEATURES = (  # features of an answer with back-translation
    *FEATURES,
    "back",  # chrF of the back-translation and the source
    "back_numbers",  # count of numbers that differ in the back-translation
    "recovered",  # mean log probability of the source tokens, given the translation
    "least_recovered",  # log probability of the least likely source word
    "second_recovered",
)
# Higher values of these features indicate a right answer; of all other features, lower values do.
POSITIVE_FEATURES = frozenset(
    ["mean", "worst_token", "worst_word", "second_word", "least_seen", "peak", "back", "recovered", "least_recovered",
     "second_recovered"]
)  # fmt: skip
ATTENDED_FROM = 0.25  # minimum attention of an attended source word
UNSURE_BELOW = math.log(0.25)  # log probability below which a word is unlikely
MAX_UNSURE_WORDS = 2  # maximum number of reasons of the kind "unsure"
IN_ANY_LANGUAGE = ("language", "unfinished", "loop", "unsure")  # reasons that do not depend on the source language
SHORT_WORD_LETTERS = 4  # words with fewer letters may be equal by chance
WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
SIMILAR_FROM = 0.6  # similarity of two spellings of a name
DOUBTFUL_NAME_BELOW = math.log(0.5)  # maximum log probability of a name that may be misspelt
DOUBTFUL_COPY_BELOW = math.log(0.7)  # log probability below which an untranslated word is reported
STEM_LETTERS = 5  # words with the same first five letters count as equal
MIN_PROBABILITY = 1e-9  # lower probabilities are clamped
MIN_LOG_PROBABILITY = -12.0  # lower log probabilities are clamped


@dataclass(frozen=True)
class Evidence:
    """Features by name, and the reasons, most severe first."""

    features: Mapping[str, float] = field(default_factory=dict)
    reasons: tuple[Reason, ...] = ()


@dataclass(frozen=True)
class Word:
    """A word of a sentence."""

    text: str
    start: int  # index of the first character
    end: int
    tokens: tuple[int, ...]  # indices
    log_probability: float  # sum over its tokens; 0 in the source

    @property
    def span(self) -> Span:
        """Start and end of the word."""
        return Span(self.start, self.end)


def collect_evidence(
    answer: Translation, source: str, target: str, usual_length: float, back: BackTranslation | None = None
) -> Evidence:
    """Collect the features of an answer and the reasons to doubt it.

    Args:
        answer: The translation.
        source: Two-letter code of the source language.
        target: Two-letter code of the target language.
        usual_length: Usual log ratio of characters, target to source, in right answers.
        back: The back-translation, if a reverse model is available.
    """
    original = answer
    answer = replace(answer, source_text=adapt_text(answer.source_text, source).read)
    source_words, target_words = (
        content_words(answer.source_tokens, answer.source_text),
        content_words(answer.target_tokens, answer.text),
    )
    log_probabilities = [math.log(max(token.probability or 0.0, MIN_PROBABILITY)) for token in answer.target_tokens]
    word_log_probabilities = sorted(word.log_probability for word in target_words) or [0.0]
    coverage = source_coverage(answer.attention.cross, source_words)
    source_numbers, target_numbers = find_numbers(answer.source_text, source), find_numbers(answer.text, target)
    source_only, target_only = unmatched_numbers(source_numbers, target_numbers)
    misspelt = list(_misspelt_pairs(source_words, target_words))
    copied = _untranslated_words(source_words, target_words) if source != target else []
    repeated = _repeated_words(source_words, target_words)
    doubtful = sorted(
        (word for word in target_words if word.log_probability < UNSURE_BELOW), key=lambda word: word.log_probability
    )
    omitted = _omitted_words(source_words, coverage, source)
    ratio = math.log((len(answer.text) + 1) / (len(answer.source_text) + 1))
    features = {
        "mean": sum(log_probabilities) / max(1, len(log_probabilities)),
        "worst_token": max(MIN_LOG_PROBABILITY, min(log_probabilities, default=0.0)),
        "worst_word": max(MIN_LOG_PROBABILITY, word_log_probabilities[0]),
        "second_word": max(MIN_LOG_PROBABILITY, word_log_probabilities[min(1, len(word_log_probabilities) - 1)]),
        "unseen": sum(weight < ATTENDED_FROM for weight in coverage) / max(1, len(coverage)),
        "left_out": float(min(3, sum(map(len, omitted)))),
        "least_seen": min(coverage, default=1.0),
        "numbers": float(min(3, len(source_only) + len(target_only))),
        "names": float(min(3, len(misspelt))),
        "length": abs(ratio - usual_length),
        "rare": sum(len(word.tokens) > 2 for word in source_words) / max(1, len(source_words)),
        **_attention_features(answer.attention.cross),
        "invented": sum(len(word.tokens) > 2 for word in doubtful) / max(1, len(target_words)),
        "copied": float(min(3, len(copied))),
        "repeated": float(min(3, len(repeated))),
        "words": math.log(max(1, len(source_words))),
    }
    loops = _find_loops(source_words, target_words, answer.text)
    reasons = [*_language_reasons(answer, source), *_unfinished_reasons(answer)]
    reasons += [_make_reason(answer, "loop", (), (span,)) for span in loops]
    if source_only or target_only:
        spans = (
            tuple(Span(number.start, number.end) for number in source_only),
            tuple(Span(number.start, number.end) for number in target_only),
        )
        reasons.append(_make_reason(answer, "numbers", *spans))
    if back is not None:
        sentence = back.sentence or answer.source_text
        unmatched = unmatched_numbers(find_numbers(sentence, source), find_numbers(back.text, source))
        features |= {"back": chrf(back.text, sentence) / 100}
        features |= {
            "back_numbers": float(min(3, sum(map(len, unmatched)))),
            **_reverse_features(back.tokens, sentence),
        }
        omitted = [group for group in omitted if not _is_in_back_translation(group, back, source)]
        features["left_out"] = float(min(3, sum(map(len, omitted))))
    names = _spelling_reasons(answer, misspelt)
    explained = [span for reason in (*reasons, *names) if reason.kind != "language" for span in reason.source_spans]
    reasons += _omission_reasons(answer, _omitted_spans(answer, source_words, omitted, source, back), explained)
    reasons += names
    reasons += [_make_reason(answer, "copied", (), (word.span,)) for word in copied]
    reasons += [_make_reason(answer, "repeated", (), (word.span,)) for word in repeated if not _is_within(word, loops)]
    # A number on both sides can be written in several ways, so a low probability does not make it a guess.
    explained = [span for reason in reasons for span in reason.target_spans]
    explained += [
        Span(number.start, number.end) for number in target_numbers if number.required and number not in target_only
    ]
    guessed = [word for word in doubtful if not _is_within(word, explained)]
    reasons += [_make_reason(answer, "unsure", (), (word.span,)) for word in guessed[:MAX_UNSURE_WORDS]]
    if any(reason.kind == "language" for reason in reasons):  # a wrong source language explains most other reasons
        reasons = [reason for reason in reasons if reason.kind in IN_ANY_LANGUAGE]
    return Evidence(features, tuple(_quote_typed_text(reason, original.source_text) for reason in reasons))


def _quote_typed_text(reason: Reason, text: str) -> Reason:
    """Quote the sentence as it was typed: `collect_evidence` read the text as it is adapted for the model."""
    if reason.kind == "language" or not reason.source_spans:
        return reason
    return replace(reason, source=_join_spans(text, reason.source_spans))


def content_words(tokens: Sequence[Token], text: str) -> list[Word]:
    """Return the words of a sentence that contain a letter or a digit."""
    indices_by_word: dict[int, list[int]] = {}
    for index, token in enumerate(tokens):
        if token.word is not None:
            indices_by_word.setdefault(token.word, []).append(index)
    words = []
    for indices in indices_by_word.values():
        start, end = tokens[indices[0]].start, tokens[indices[-1]].end
        word_text = text[start:end]
        start += len(word_text) - len(word_text.lstrip())
        log_probability = sum(math.log(max(tokens[index].probability or 1.0, MIN_PROBABILITY)) for index in indices)
        if any(character.isalnum() for character in word_text):
            words.append(Word(word_text.strip(), start, end, tuple(indices), log_probability))
    return words


def source_coverage(cross: FloatArray, words: Sequence[Word]) -> list[float]:
    """Return the highest weight that each source word gets from a target token, averaged over heads.

    `cross` has the axes `[layer, head, target, source]`.
    """
    if not cross.size:
        return []
    mean = cross.mean(axis=(0, 1), dtype=np.float64)  # [target, source]
    return [float(mean[:, list(word.tokens)].sum(axis=1).max()) for word in words]


def _attention_features(cross: FloatArray) -> dict[str, float]:
    """Return features of cross-attention, `[layer, head, target, source]`. Hallucinations have diffuse attention."""
    if not cross.size:
        return {"peak": 1.0, "to_end": 0.0}
    mean = cross.mean(axis=(0, 1), dtype=np.float64)[:-1]  # [target without its end, source]
    if not len(mean):
        return {"peak": 1.0, "to_end": 0.0}
    return {"peak": float(mean.max(axis=1).mean()), "to_end": float(mean[:, -1].mean())}


def _reverse_features(tokens: Sequence[Token], text: str) -> dict[str, float]:
    """Return the features from the reverse model. An omitted word has a low reverse probability."""
    log_probabilities = [math.log(max(token.probability or 0.0, MIN_PROBABILITY)) for token in tokens] or [0.0]
    words = sorted(word.log_probability for word in content_words(tokens, text)) or [0.0]
    return {
        "recovered": sum(log_probabilities) / len(log_probabilities),
        "least_recovered": max(MIN_LOG_PROBABILITY, words[0]),
        "second_recovered": max(MIN_LOG_PROBABILITY, words[min(1, len(words) - 1)]),
    }


def _omitted_words(words: Sequence[Word], coverage: Sequence[float], language: str) -> list[list[Word]]:
    """Group neighbouring source words with hardly any attention. Groups of only frequent words are skipped."""
    groups: list[list[Word]] = []
    last = -2
    for index, (word, weight) in enumerate(zip(words, coverage, strict=True)):
        if weight >= ATTENDED_FROM:
            continue
        if index == last + 1:
            groups[-1].append(word)
        else:
            groups.append([word])
        last = index
    common = set(FREQUENT.get(language, "").split())
    return [group for group in groups if any(word.text.lower() not in common for word in group)]


def _omitted_spans(
    answer: Translation,
    words: Sequence[Word],
    omitted: Sequence[Sequence[Word]],
    language: str,
    back: BackTranslation | None,
) -> list[list[Span]]:
    """Return the spans of each group of words that the translation leaves out."""
    if language != "zh":
        return [[word.span for word in group] for group in omitted]
    pieces = [ChineseWord(word.start, word.end, word.tokens) for word in words]
    cross = answer.attention.cross
    spans = omitted_chinese_words(answer.source_text, pieces, cross, back, attended_from=ATTENDED_FROM)
    return [[span] for span in spans]


def _omission_reasons(
    answer: Translation, omitted: Sequence[Sequence[Span]], explained: Sequence[Span]
) -> list[Reason]:
    """Return a reason per omitted group of words, with all occurrences of the group, unless `explained` covers it."""
    occurrences: dict[str, list[Span]] = {}
    for group in omitted:
        if not all(any(word.start < span.end and span.start < word.end for span in explained) for word in group):
            span = Span(group[0].start, group[-1].end)
            occurrences.setdefault(answer.source_text[span.start : span.end], []).append(span)
    return [_make_reason(answer, "left_out", tuple(spans)) for spans in occurrences.values()]


def _is_in_back_translation(group: Sequence[Word], back: BackTranslation, language: str) -> bool:
    """Whether the back-translation contains these words, in whatever spelling."""
    if language == "zh":
        return all(character in back.text for word in group for character in word.text)
    stems = {_stem(word) for word in WORD.findall(back.text)}
    parts = [part for word in group for part in WORD.findall(respell(word.text, back.text, language))]
    return all(_stem(part) in stems for part in parts)


def _misspelt_pairs(source: Sequence[Word], target: Sequence[Word]) -> list[tuple[Word, Word]]:
    """Pair capitalised source words with unlikely target words that resemble them but are not equal."""
    names = [word for word in source[1:] if word.text[:1].isupper() and len(word.text) >= SHORT_WORD_LETTERS]
    source_texts = {word.text.casefold() for word in source}
    results = []
    for word in target[1:]:  # the first word is always capitalised
        if (
            word.log_probability > DOUBTFUL_NAME_BELOW
            or word.text.casefold() in source_texts
            or len(word.text) < SHORT_WORD_LETTERS
        ):
            continue
        if not word.text[:1].isupper():
            continue
        similarities = [(SequenceMatcher(None, name.text, word.text).ratio(), name) for name in names]
        similarity, name = max(similarities, default=(0.0, word), key=lambda pair: pair[0])
        if similarity >= SIMILAR_FROM:
            results.append((name, word))
    return results


def _spelling_reasons(answer: Translation, misspelt: Sequence[tuple[Word, Word]]) -> list[Reason]:
    """Return one reason per name and its different spelling, with all occurrences."""
    results: dict[tuple[str, str], tuple[set[Span], set[Span]]] = {}
    for name, word in misspelt:
        spans = results.setdefault((name.text, word.text), (set(), set()))
        spans[0].add(name.span)
        spans[1].add(word.span)
    return [
        _make_reason(answer, "name", *(tuple(sorted(side_spans)) for side_spans in spans)) for spans in results.values()
    ]


def _is_within(word: Word, spans: Sequence[Span]) -> bool:
    """Whether one of the spans overlaps the word."""
    return any(word.start < span.end and span.start < word.end for span in spans)


def _untranslated_words(source: Sequence[Word], target: Sequence[Word]) -> list[Word]:
    """Return untranslated lower-case words of at least four letters."""
    source_texts = {word.text for word in source if word.text.islower() and len(word.text) >= SHORT_WORD_LETTERS}
    return [word for word in target if word.text in source_texts and word.log_probability < DOUBTFUL_COPY_BELOW]


def _repeated_words(source: Sequence[Word], target: Sequence[Word]) -> list[Word]:
    """Return the words that the translation repeats more often than the source repeats any word."""
    allowed = max(
        Counter(_stem(word.text) for word in source if len(word.text) >= SHORT_WORD_LETTERS).values(), default=1
    )
    counts = Counter[str]()
    results = []
    for word in target:
        if len(word.text) >= SHORT_WORD_LETTERS:
            stem = _stem(word.text)
            counts[stem] += 1
            if counts[stem] > allowed:
                results.append(word)
    return results


def _find_loops(source: Sequence[Word], target: Sequence[Word], text: str) -> list[Span]:
    """Return the spans of immediate repetitions in the translation, unless the source repeats a word, too."""
    source_positions, target_positions = (
        [WordPosition(word.text.casefold(), word.start, word.end) for word in words] for words in (source, target)
    )
    return [] if repeats_itself(source_positions) else [Span(*run) for run in repeated_runs(target_positions, text)]


def _stem(word: str) -> str:
    return word.casefold()[:STEM_LETTERS]


def _language_reasons(answer: Translation, source: str) -> list[Reason]:
    identified = identify(answer.source_text)
    if identified is None or identified == source:
        return []
    return [Reason("language", (Span(0, len(answer.source_text)),), (), identified, "")]


def _unfinished_reasons(answer: Translation) -> list[Reason]:
    return [Reason("unfinished", (), (), "", "")] if answer.stopped == "length" else []


def _make_reason(
    answer: Translation, kind: str, source: tuple[Span, ...] = (), target: tuple[Span, ...] = ()
) -> Reason:
    return Reason(kind, source, target, _join_spans(answer.source_text, source), _join_spans(answer.text, target))


def _join_spans(text: str, spans: Sequence[Span]) -> str:
    return ", ".join(dict.fromkeys(text[span.start : span.end] for span in spans))
