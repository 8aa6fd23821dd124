"""Constants of the evidence about a translation: numbers, dates, languages, and the reasons to doubt it."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from typing import Any

from headlight.model.text import calendar_dates, clock_times, identification, number_words, numbers, respelling
from headlight.model.translate import back_translation, chinese_omissions, evidence, reliability, repetition
from headlight.viz.static_site.browser_patterns import browser_pattern

Pattern = tuple[str, str]  # source and flags


def evidence_tables() -> dict[str, Any]:
    """Return the tables of the modules about reliability."""
    return {
        "folds": {letter: fold for letter in map(chr, range(sys.maxunicode)) if (fold := _own_fold(letter))},
        "numbers": _number_tables(),
        "clock": _clock_tables(),
        "dates": _date_tables(),
        "identification": _identification_tables(),
        "evidence": _evidence_tables(),
        "reliability": {
            "max_probability": reliability.MAX_PROBABILITY_BY_REASON,
            "never_right": sorted(reliability.NEVER_RIGHT),
            "unfitted": sorted(reliability.UNFITTED_REASONS),
            "numbers": numbers.LANGUAGES,
        },
        "respelling": {
            "digraphs": respelling.DIGRAPHS,
            "bases": respelling.BASES,
            "ends": respelling.SENTENCE_ENDS,
            "chinese_ends": respelling.CHINESE_ENDS,
            "full_width": respelling.FULL_WIDTH,
            "min_slip_letters": respelling.MIN_SLIP_LETTERS,
            "word": browser_pattern(respelling.WORD),
            "english_i": browser_pattern(respelling.ENGLISH_I),
            "chinese_gap": browser_pattern(respelling.CHINESE_GAP),
            "after_chinese": browser_pattern(respelling.AFTER_CHINESE),
        },
        "back_translation": back_translation.BACK_TRANSLATION_OPTIONS,
    }


def _own_fold(letter: str) -> str:
    """Return the folded letter if it is not its small letter, else an empty text."""
    return letter.casefold() if letter.casefold() != letter.lower() else ""


def _patterns(patterns: Mapping[str, re.Pattern[str]]) -> dict[str, Pattern]:
    return {name: browser_pattern(pattern) for name, pattern in patterns.items()}


def _number_tables() -> dict[str, Any]:
    return {
        "small": {language: words.split() for language, words in number_words.SMALL.items()},
        "tens": {language: words.split() for language, words in number_words.TENS.items()},
        "ordinals": {
            "de": number_words.GERMAN_ORDINALS,
            "en": number_words.ENGLISH_ORDINALS,
            "fr": number_words.FRENCH_ORDINALS,
        },
        "german_spellings": number_words.GERMAN_SPELLINGS,
        "unsure": number_words.UNSURE,
        "scales": number_words.SCALES,
        "han": number_words.HAN,
        "han_digits": number_words.HAN_DIGITS,
        "han_units": number_words.HAN_UNITS,
        "han_scales": number_words.HAN_SCALES,
        "decimal_marks": numbers.DECIMAL_MARKS,
        "and": numbers.AND,
        "halves": _patterns(numbers.HALVES),
        "scale": _patterns(numbers.SCALE_WORDS),
        "patterns": _patterns(
            {
                "han_other": numbers.HAN_OTHER,
                "han_idiom": numbers.HAN_IDIOM,
                "han_decimal": numbers.HAN_DECIMAL,
                "han_scale": numbers.HAN_SCALE_NUMERALS,
                "digits": numbers.DIGITS,
                "word": numbers.WORD,
                "currency": numbers.CURRENCY,
                "cents": numbers.CENTS,
                "full_width": numbers.FULL_WIDTH,
            }
        ),
    }


def _clock_tables() -> dict[str, Any]:
    return {
        "half_day": clock_times.HALF_DAY,
        "patterns": _patterns(clock_times.CLOCK_PATTERNS),
        "spoken": clock_times.SPOKEN,
        "quarters": clock_times.QUARTERS,
        "times_of_day": sorted(clock_times.TIMES_OF_DAY),
        "not_at_all": browser_pattern(clock_times.NOT_AT_ALL),
    }


def _date_tables() -> dict[str, Any]:
    return {
        "months": calendar_dates.MONTHS,
        "han_months": calendar_dates.HAN_MONTHS,
        "ambiguous": {language: sorted(words) for language, words in calendar_dates.AMBIGUOUS_NAMES.items()},
        "before": _patterns(calendar_dates.MONTH_CONTEXT),
        "names": _patterns(calendar_dates.MONTH_NAMES),
        "patterns": _patterns(
            {
                "day_after": calendar_dates.FOLLOWING_DAY,
                "short_names": calendar_dates.SHORT_NAMES,
                "han_month": calendar_dates.HAN_MONTH,
                "short_date": calendar_dates.SHORT_DATE,
            }
        ),
    }


def _identification_tables() -> dict[str, Any]:
    return {
        "frequent": identification.FREQUENT,
        "letters": identification.LETTERS,
        "endings": identification.ENDINGS,
        "scripts": identification.SCRIPTS,
        "word": browser_pattern(identification.WORD),
        "max_words": identification.MAX_WORDS,
        "letter_weight": identification.LETTER_WEIGHT,
        "ending_weight": identification.ENDING_WEIGHT,
        "min_stem_letters": identification.MIN_STEM_LETTERS,
        "min_words": identification.MIN_WORDS,
        "min_vote": identification.MIN_VOTE,
        "min_vote_per_word": identification.MIN_VOTE_PER_WORD,
        "min_lead": identification.MIN_LEAD,
        "min_kana_share": identification.MIN_KANA_SHARE,
    }


def _evidence_tables() -> dict[str, Any]:
    return {
        "word": browser_pattern(evidence.WORD),
        "attended_from": evidence.ATTENDED_FROM,
        "unsure_below": evidence.UNSURE_BELOW,
        "max_unsure_words": evidence.MAX_UNSURE_WORDS,
        "in_any_language": evidence.IN_ANY_LANGUAGE,
        "short_word_letters": evidence.SHORT_WORD_LETTERS,
        "similar_from": evidence.SIMILAR_FROM,
        "doubtful_name_below": evidence.DOUBTFUL_NAME_BELOW,
        "doubtful_copy_below": evidence.DOUBTFUL_COPY_BELOW,
        "stem_letters": evidence.STEM_LETTERS,
        "min_probability": evidence.MIN_PROBABILITY,
        "min_log_probability": evidence.MIN_LOG_PROBABILITY,
        "max_unit": repetition.MAX_UNIT,
        "unexpected_below": chinese_omissions.UNEXPECTED_BELOW,
        "determiners": chinese_omissions.DETERMINERS,
        "classifiers": chinese_omissions.CLASSIFIERS,
        "without_counterpart": sorted(chinese_omissions.WITHOUT_COUNTERPART),
    }
