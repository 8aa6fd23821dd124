"""Registry of functions that may run on another machine. Replicas reject all other functions."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from headlight.model.commands.heads import count_heads
from headlight.model.experiments import queries
from headlight.model.experiments.account import account_by_head, account_by_key, word_account
from headlight.model.experiments.effects import (
    compute_sentence_head_effects,
    make_effect_maps,
    measured_effects,
    summarise_effects,
)
from headlight.model.experiments.importance import measure_all_ablation_losses
from headlight.model.experiments.logit_lens import decompose_logit, logit_lens
from headlight.model.experiments.mask_removal import (
    encode_batches,
    force_with_relaxed_mask,
    make_attention_masks,
    translate_in_all_modes,
    translate_padded,
)
from headlight.model.experiments.patching import measure_patched_shares
from headlight.model.experiments.pooling import pool_text
from headlight.model.experiments.scan import scan
from headlight.model.experiments.score_parts import score_parts, weight_without
from headlight.model.training.mistake_experiments import run_tests, try_mistakes
from headlight.model.translate.back_translation import back_translate
from headlight.model.translate.judge import Judge
from headlight.model.translate.reranking import reverse_scores
from headlight.model.translate.sentences import translate_sentences
from headlight.model.translate.translator import Translator
from headlight.viz.service.backend import RemoteFunction

REMOTE_FUNCTIONS: Mapping[str, RemoteFunction] = MappingProxyType(
    {
        work.__qualname__: work
        for work in (
            Translator.translate,
            translate_sentences,
            reverse_scores,
            back_translate,
            measure_all_ablation_losses,
            summarise_effects,
            measured_effects,
            measure_patched_shares,
            scan,
            word_account,
            account_by_head,
            account_by_key,
            score_parts,
            weight_without,
            make_effect_maps,
            compute_sentence_head_effects,
            count_heads,
            encode_batches,
            logit_lens,
            make_attention_masks,
            decompose_logit,
            force_with_relaxed_mask,
            translate_padded,
            run_tests,
            try_mistakes,
            translate_in_all_modes,
            queries.capture_encoder_activations,
            queries.apply_output_projection,
            queries.get_parameter_rows,
            queries.attribute_word,
            queries.encode_both_orders,
            queries.find_first_change,
            queries.measure_word_erasure_curve,
            queries.compute_row_contributions,
            queries.apply_norm,
            queries.position_table,
            Judge.without_words,
            queries.measure_negation,
            queries.judge_with_erasure,
            pool_text,
        )
    }
)


def function_name(work: RemoteFunction) -> str:
    """Return the name of a function in the registry. Raises `LookupError` if it is not registered."""
    name = work.__qualname__
    if REMOTE_FUNCTIONS.get(name) is not work:
        raise LookupError(f"{name} is not in REMOTE_FUNCTIONS, so it cannot run on another machine.")
    return name
