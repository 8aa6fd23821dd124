"""Sentences as people type them: small letters, no full stop, `ue` for `ü`, a typing error, traditional characters.

The variant is a function of the sentence and its number, so that a table of verdicts stays valid.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from headlight.model.text.adaptation import ALSO_SIMPLIFIED
from headlight.model.text.simplified_characters import SIMPLIFIED, TRADITIONAL
from headlight.model.training.noise import (
    NoiseFunction,
    add_typo,
    drop_apostrophes,
    drop_commas,
    drop_final_punctuation,
    lower_case,
    strip_umlauts,
    transliterate_umlauts,
    use_half_width_punctuation,
)

# Simplified characters that traditional texts have, too, in another or in the same sense.
_ALSO_TRADITIONAL = frozenset(
    "家出真回克同表布合教修却杯玩千脚才吃板床冬刮念幸扣糊彩局秋累扎注凌霉舍酸群占杆娘抬谷吊困卜既余棋席污秘扇岳抛志旋"
    "私致姜核咽沾症朱凶旗碱范噪泄抵矩昆巨恤沈搜捆欲愈粽郁熏呆峰僵岩唇佛溪哄弦灶雇涌恒逾虱栖俊朴栗梁戚只松卷斗丑"
)
_TO_TRADITIONAL = str.maketrans(
    {
        simple: full
        for full, simple in zip(TRADITIONAL, SIMPLIFIED, strict=True)
        if SIMPLIFIED.count(simple) == 1 and full not in ALSO_SIMPLIFIED and simple not in _ALSO_TRADITIONAL
    }
)
_TO_SPACES = str.maketrans(dict.fromkeys("，、；：", " "))


def use_traditional(text: str, random: Random) -> str:
    """Write traditional characters where a simplified one has only one."""
    return text.translate(_TO_TRADITIONAL)


def space_for_commas(text: str, random: Random) -> str:
    """Write spaces for Chinese commas."""
    return text.translate(_TO_SPACES)


# Changes of the variants, one row after the other.
VARIANTS: dict[str, tuple[tuple[NoiseFunction, ...], ...]] = {
    "de": (
        (lower_case, drop_final_punctuation),
        (lower_case, drop_final_punctuation, transliterate_umlauts),
        (transliterate_umlauts,),
        (lower_case, drop_final_punctuation, add_typo),
        (lower_case, drop_final_punctuation, drop_commas, strip_umlauts),
        (drop_final_punctuation,),
    ),
    "en": (
        (lower_case, drop_final_punctuation),
        (lower_case, drop_final_punctuation, drop_apostrophes),
        (lower_case,),
        (lower_case, drop_final_punctuation, add_typo),
        (lower_case, drop_final_punctuation, drop_commas, drop_apostrophes),
        (drop_final_punctuation,),
    ),
    "zh": (
        (drop_final_punctuation,),
        (use_half_width_punctuation,),
        (use_traditional, drop_final_punctuation),
        (space_for_commas, drop_final_punctuation),
    ),
}


def as_typed(sentence: str, language: str, number: int) -> str:
    """Return the variant of a sentence with this number. A variant without effect is replaced by the next one."""
    variants = VARIANTS[language]
    for step in range(len(variants)):
        text = _apply(sentence, variants[(number + step) % len(variants)], number)
        if text != sentence:
            return text
    return sentence


def _apply(sentence: str, changes: Sequence[NoiseFunction], number: int) -> str:
    random = Random(number)  # noqa: S311 (no secret)
    for change in changes:
        sentence = change(sentence, random) or sentence
    return sentence
