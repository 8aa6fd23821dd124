"""Registry of functions that may run on another machine.

A replica runs only the functions listed here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from headlight.model.commands.heads import count_heads
from headlight.model.experiments import asked
from headlight.model.experiments.importance import all_losses
from headlight.model.experiments.inside import logit_lens, parts_of_logit
from headlight.model.experiments.masking import (
    encode_batches,
    masks_of,
    read_ahead,
    translate_padded,
    write_in_all_ways,
)
from headlight.model.training.mistaken import try_and_test, try_mistakes
from headlight.model.translate.choosing import guess_sentence
from headlight.model.translate.judge import Judge
from headlight.model.translate.read_back import read_back
from headlight.model.translate.translator import Translator

Work = Callable[..., Any]

WORK: Mapping[str, Work] = MappingProxyType(
    {
        work.__qualname__: work
        for work in (
            Translator.translate,
            guess_sentence,
            read_back,
            all_losses,
            count_heads,
            encode_batches,
            logit_lens,
            masks_of,
            parts_of_logit,
            read_ahead,
            translate_padded,
            try_and_test,
            try_mistakes,
            write_in_all_ways,
            asked.activations_of,
            asked.attended,
            asked.attribute_word,
            asked.both_orders,
            asked.first_change,
            asked.hide_in_order,
            asked.moves_of_row,
            asked.normed,
            asked.position_table,
            Judge.without_words,
            asked.denied,
            asked.judge_and_erase,
        )
    }
)


def name_of(work: Work) -> str:
    """By which name another machine knows it."""
    name = work.__qualname__
    if WORK.get(name) is not work:
        raise LookupError(f"{name} does not stand in WORK, so it cannot be asked of another machine.")
    return name
