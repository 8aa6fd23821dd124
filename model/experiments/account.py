"""The account of a written token: contributions of source tokens and earlier target tokens to its lead over a rival.

If attention weights, scales of norms and gates of activations are constants with the values of this run, the model is
affine in its embeddings. The difference of two logits is then a sum over the embeddings of the source tokens and of the
decoder's inputs, plus a constant from the biases. Each summand is an embedding times its gradient. One backward pass
computes all gradients (layer-wise relevance propagation with frozen attention, Ali et al. 2022, arXiv:2202.07304).

Source tokens reach the decoder only through the values of cross-attention. Their contributions are therefore sums over
its heads (`account_by_head`), and the contribution of a head is a sum over its keys (`account_by_key`).

An account does not predict the output without a word, because the model would then attend to other words. It does not
explain why a head attends to a word, because it treats attention weights as constants.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from headlight.model.core.blocks import ACTIVATIONS
from headlight.model.core.probes import watch
from headlight.model.core.transformer import attention_path
from headlight.model.errors import range_error
from headlight.model.experiments.fixed_nonlinearities import FixedNonlinearities
from headlight.model.experiments.scoring import compute_forced_logits
from headlight.model.measures.trace_records import Float64Array
from headlight.model.records import KINDS, Alternative, Token, Translation
from headlight.model.translate.translator import Translator

# Probes of the sum of word embedding and position, after the embedding's norm.
SOURCE, TARGET = "encoder.embedding.stream", "decoder.embedding.stream"


@dataclass(frozen=True)
class WordAccount:
    """The lead of a written token over a rival, in logits, as a sum of parts."""

    position: int  # of the token in the translation
    rival: int  # token ID
    lead: float  # logit of the token − logit of the rival
    source: tuple[float, ...]  # per source token
    prefix: tuple[float, ...]  # per decoder input: the start token and the tokens before `position`
    constants: float  # contribution of the model's biases, which belongs to no token


@dataclass(frozen=True)
class FixedRun:
    """A run with gradients in which attention weights, norms and gates are constants."""

    lead: Tensor  # []
    source: Tensor  # embeddings, [1, source tokens, d_model]
    prefix: Tensor  # [1, decoder inputs, d_model]
    values: Sequence[Tensor]  # of cross-attention, per layer [1, heads, source tokens, width]


def word_account(translator: Translator, translation: Translation, position: int, rival: int) -> WordAccount:
    """Return the account of the token at `position` against the token ID `rival`.

    Raises:
        RequestError: the position or the rival does not exist.
    """
    with fixed_run(translator, translation, position, rival) as run:
        gradients = torch.autograd.grad(run.lead, [run.source, run.prefix], materialize_grads=True)
        parts = [
            _list_summands(embeddings, gradient).tolist()
            for embeddings, gradient in zip((run.source, run.prefix), gradients, strict=True)
        ]
    total = float(run.lead.detach())
    # An affine function is its gradient times its input, plus its constants.
    return WordAccount(position, rival, total, tuple(parts[0]), tuple(parts[1]), total - sum(parts[0]) - sum(parts[1]))


def source_account(translator: Translator, translation: Translation, positions: Sequence[int]) -> Float64Array:
    """Return the contribution of each source token to the leads of a word's tokens over their rivals, `[tokens]`."""
    accounts = [
        word_account(translator, translation, position, find_likeliest_rival(translation, position))
        for position in positions
    ]
    total: Float64Array = np.sum([account.source for account in accounts], axis=0)
    return total


def find_likeliest_rival(translation: Translation, position: int) -> int:
    """Return the ID of the likeliest other token at a position of the translation."""
    others = list_other_candidates(translation.target_tokens[position])
    return others[0].id if others else int(translation.target_tokens[position].id == 0)


def list_other_candidates(token: Token) -> list[Alternative]:
    """Return the alternatives of a step except the written token, by probability."""
    return [other for other in token.alternatives if other.id != token.id]


def account_by_head(translator: Translator, translation: Translation, position: int, rival: int) -> Float64Array:
    """Return the contribution of each source token through each cross-attention head, `[layers, heads, source tokens]`.

    The sum over layers and heads is `WordAccount.source`.
    """
    with fixed_run(translator, translation, position, rival) as run:
        slopes = torch.autograd.grad(run.lead, list(run.values), retain_graph=True, materialize_grads=True)
        parts = [
            _compute_contributions_through(
                run, values, [_select_gradient(slope, head, slice(None)) for head in range(values.shape[1])]
            )
            for values, slope in zip(run.values, slopes, strict=True)
        ]
    return np.stack(parts)


def account_by_key(
    translator: Translator, translation: Translation, position: int, rival: int, layer: int, head: int
) -> Float64Array:
    """Return the contribution of each source token through each key of a cross-attention head, `[keys, source tokens]`.

    The sum over keys is the head's row of `account_by_head`.
    """
    config = translator.model.config
    for name, index, count in (("layer", layer, config.layer_count("cross")), ("head", head, config.heads)):
        if not 0 <= index < count:
            raise range_error(name, index, 0, count - 1)
    with fixed_run(translator, translation, position, rival) as run:
        values = run.values[layer]
        (slope,) = torch.autograd.grad(run.lead, [values], retain_graph=True, materialize_grads=True)
        return _compute_contributions_through(
            run, values, [_select_gradient(slope, head, key) for key in range(values.shape[2])]
        )


def _select_gradient(slope: Tensor, head: int, keys: int | slice) -> Tensor:
    """Return the gradient of the values with zeros outside these keys of a head."""
    selected = torch.zeros_like(slope)
    selected[:, head, keys] = slope[:, head, keys]
    return selected


def _compute_contributions_through(run: FixedRun, values: Tensor, slopes: Sequence[Tensor]) -> Float64Array:
    """Return the contribution of each source token for each gradient of the values, `[gradients, tokens]`."""
    results: tuple[Tensor | None, ...] = torch.autograd.grad(
        values, [run.source], torch.stack(list(slopes)), retain_graph=True, is_grads_batched=True, allow_unused=True
    )
    (gradients,) = results
    if gradients is None:  # interventions can disconnect the values from the sentence
        return np.zeros((len(slopes), run.source.shape[1]))
    return np.stack([_list_summands(run.source, gradient).cpu().numpy() for gradient in gradients])


def _list_summands(embeddings: Tensor, gradient: Tensor) -> Tensor:
    """Return embedding times gradient, summed over dimensions, per token, `[tokens]`."""
    return (embeddings.detach() * gradient)[0].double().sum(dim=-1)


@contextmanager
def fixed_run(translator: Translator, translation: Translation, position: int, rival: int) -> Iterator[FixedRun]:
    """Run the model teacher-forced on the translation, with constants instead of weights, scales and gates."""
    config = translator.model.config
    if not 0 <= position < len(translation.target_tokens):
        raise range_error("word", position, 0, len(translation.target_tokens) - 1)
    if not 0 <= rival < config.target_vocabulary:
        raise range_error("rival", rival, 0, config.target_vocabulary - 1)
    weights = [f"{attention_path(kind, layer)}.weights" for kind in KINDS for layer in range(config.layer_count(kind))]
    value_names = [f"{attention_path('cross', layer)}.values" for layer in range(config.layer_count("cross"))]
    tensors: dict[str, Tensor] = {}

    def track(stream: Tensor, name: str) -> Tensor:
        tensors[name] = stream.detach().requires_grad_()
        return tensors[name]

    def capture(values: Tensor, name: str) -> Tensor:
        tensors[name] = values
        return values

    def fix(value: Tensor, name: str) -> Tensor:
        return value.detach()

    with torch.inference_mode(mode=False), torch.enable_grad():
        with (
            translator.intervention_context(translation.request)(),
            watch(translator.model, *weights, edit=fix),
            watch(translator.model, *value_names, edit=capture),
            watch(translator.model, SOURCE, TARGET, edit=track),
            FixedNonlinearities(gated=ACTIVATIONS[config.activation].gated),
        ):
            logits = compute_forced_logits(translator, translation, position + 1, 1)[0, position].float()
            lead = logits[translation.target_tokens[position].id] - logits[rival]
        yield FixedRun(lead, tensors[SOURCE], tensors[TARGET], [tensors[name] for name in value_names])
