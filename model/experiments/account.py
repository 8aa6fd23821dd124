"""The account of a word: what each source word and each word written before added to its lead over a rival.

With attention weights, the scales of the norms and the gates of the activations fixed at their values of this run, the
model is affine in its embeddings. So the difference of two logits is a sum over the embeddings of the source tokens and
of the decoder's inputs, plus what the biases add. Each summand is an embedding times its gradient; one backward pass
gives all of them (layer-wise relevance propagation with frozen attention, Ali et al. 2022, arXiv:2202.07304).

Source words reach the decoder through the values of cross-attention only, so their parts are sums over its heads, and
the part of a head is a sum over the keys that it attends to: `account_by_head` and `account_by_key`.

An account is not a forecast: without a word, the model would attend to other words. The weights are taken as given, so
it does not tell why a head looks where it looks.
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
from headlight.model.experiments.scoring import forced_logits
from headlight.model.measures.trace_records import Float64Array
from headlight.model.records import KINDS, Alternative, Token, Translation
from headlight.model.translate.translator import Translator

SOURCE, TARGET = (
    "encoder.embedding.stream",
    "decoder.embedding.stream",
)  # token and position, after the embedding's norm


@dataclass(frozen=True)
class WordAccount:
    """The lead of a written token over a rival, in logits, as a sum of parts."""

    position: int  # of the token in the translation
    rival: int  # token ID
    lead: float  # logit of the token − logit of the rival
    source: tuple[float, ...]  # per source token
    prefix: tuple[float, ...]  # per decoder input: the start token and the tokens before `position`
    constants: float  # what the biases of the model add; they belong to no token


@dataclass(frozen=True)
class FixedRun:
    """A run with gradients in which weights, norms and gates are constants."""

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
            _summands(embeddings, gradient).tolist()
            for embeddings, gradient in zip((run.source, run.prefix), gradients, strict=True)
        ]
    total = float(run.lead.detach())
    # An affine function is its gradient times its input, plus its constants.
    return WordAccount(position, rival, total, tuple(parts[0]), tuple(parts[1]), total - sum(parts[0]) - sum(parts[1]))


def source_account(translator: Translator, translation: Translation, positions: Sequence[int]) -> Float64Array:
    """Return the contribution of each source token to the leads of a word's tokens over their rivals, `[tokens]`."""
    accounts = [
        word_account(translator, translation, position, likeliest_rival(translation, position))
        for position in positions
    ]
    total: Float64Array = np.sum([account.source for account in accounts], axis=0)
    return total


def likeliest_rival(translation: Translation, position: int) -> int:
    """Return the ID of the likeliest other token at a position of the translation."""
    others = other_candidates(translation.target_tokens[position])
    return others[0].id if others else int(translation.target_tokens[position].id == 0)


def other_candidates(token: Token) -> list[Alternative]:
    """Return the candidates of a step that were not written, by probability."""
    return [other for other in token.alternatives if other.id != token.id]


def account_by_head(translator: Translator, translation: Translation, position: int, rival: int) -> Float64Array:
    """Return what each source token added through each head of cross-attention, `[layers, heads, source tokens]`.

    The sum over layers and heads is `WordAccount.source`.
    """
    with fixed_run(translator, translation, position, rival) as run:
        slopes = torch.autograd.grad(run.lead, list(run.values), retain_graph=True, materialize_grads=True)
        parts = [
            _trace_back(run, values, [_only(slope, head, slice(None)) for head in range(values.shape[1])])
            for values, slope in zip(run.values, slopes, strict=True)
        ]
    return np.stack(parts)


def account_by_key(
    translator: Translator, translation: Translation, position: int, rival: int, layer: int, head: int
) -> Float64Array:
    """Return what each source token added through each key of a head of cross-attention, `[keys, source tokens]`.

    The sum over keys is the head's row of `account_by_head`.
    """
    config = translator.model.config
    for name, index, count in (("layer", layer, config.layer_count("cross")), ("head", head, config.heads)):
        if not 0 <= index < count:
            raise range_error(name, index, 0, count - 1)
    with fixed_run(translator, translation, position, rival) as run:
        values = run.values[layer]
        (slope,) = torch.autograd.grad(run.lead, [values], retain_graph=True, materialize_grads=True)
        return _trace_back(run, values, [_only(slope, head, key) for key in range(values.shape[2])])


def _only(slope: Tensor, head: int, keys: int | slice) -> Tensor:
    """Return a gradient of values in which only some keys of a head are not zero."""
    selected = torch.zeros_like(slope)
    selected[:, head, keys] = slope[:, head, keys]
    return selected


def _trace_back(run: FixedRun, values: Tensor, slopes: Sequence[Tensor]) -> Float64Array:
    """Return what each source token added through values, for each gradient of the values, `[gradients, tokens]`."""
    results: tuple[Tensor | None, ...] = torch.autograd.grad(
        values, [run.source], torch.stack(list(slopes)), retain_graph=True, is_grads_batched=True, allow_unused=True
    )
    (gradients,) = results
    if gradients is None:  # interventions can disconnect the values from the sentence
        return np.zeros((len(slopes), run.source.shape[1]))
    return np.stack([_summands(run.source, gradient).cpu().numpy() for gradient in gradients])


def _summands(embeddings: Tensor, gradient: Tensor) -> Tensor:
    """Return the summand of each token, `[tokens]`."""
    return (embeddings.detach() * gradient)[0].double().sum(dim=-1)


@contextmanager
def fixed_run(translator: Translator, translation: Translation, position: int, rival: int) -> Iterator[FixedRun]:
    """Force the translation through the model, with everything fixed that is not affine."""
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

    def keep(values: Tensor, name: str) -> Tensor:
        tensors[name] = values
        return values

    def fix(value: Tensor, name: str) -> Tensor:
        return value.detach()

    with torch.inference_mode(mode=False), torch.enable_grad():
        with (
            translator.intervention_context(translation.request)(),
            watch(translator.model, *weights, edit=fix),
            watch(translator.model, *value_names, edit=keep),
            watch(translator.model, SOURCE, TARGET, edit=track),
            FixedNonlinearities(gated=ACTIVATIONS[config.activation].gated),
        ):
            logits = forced_logits(translator, translation, position + 1, 1)[0, position].float()
            lead = logits[translation.target_tokens[position].id] - logits[rival]
        yield FixedRun(lead, tensors[SOURCE], tensors[TARGET], [tensors[name] for name in value_names])
