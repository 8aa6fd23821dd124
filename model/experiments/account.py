"""The account of a word: what each source word and each word written before added to its lead over a rival.

With attention weights, the scales of the norms and the gates of the activations fixed at their values of this run, the
model is affine in its embeddings. So the difference of two logits is a sum over the embeddings of the source tokens and
of the decoder's inputs, plus what the biases add. Each summand is an embedding times its gradient; one backward pass
gives all of them (layer-wise relevance propagation with frozen attention, Ali et al. 2022, arXiv:2202.07304).

An account is not a forecast: without a word, the model would attend to other words. The weights are taken as given, so
it does not tell why a head looks where it looks.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from headlight.model.core.blocks import ACTIVATIONS
from headlight.model.core.probes import watch
from headlight.model.core.transformer import attention_path
from headlight.model.errors import range_error
from headlight.model.experiments.fixed_nonlinearities import FixedNonlinearities
from headlight.model.experiments.scoring import forced_logits
from headlight.model.records import KINDS, Translation
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


def word_account(translator: Translator, translation: Translation, position: int, rival: int) -> WordAccount:
    """Return the account of the token at `position` against the token ID `rival`.

    Raises:
        RequestError: the position or the rival does not exist.
    """
    config = translator.model.config
    if not 0 <= position < len(translation.target_tokens):
        raise range_error("word", position, 0, len(translation.target_tokens) - 1)
    if not 0 <= rival < config.target_vocabulary:
        raise range_error("rival", rival, 0, config.target_vocabulary - 1)
    weights = [f"{attention_path(kind, layer)}.weights" for kind in KINDS for layer in range(config.layer_count(kind))]
    embeddings: dict[str, Tensor] = {}

    def track(stream: Tensor, name: str) -> Tensor:
        embeddings[name] = stream.detach().requires_grad_()
        return embeddings[name]

    def fix(value: Tensor, name: str) -> Tensor:
        return value.detach()

    with (
        torch.inference_mode(mode=False),
        torch.enable_grad(),
        translator.intervention_context(translation.request)(),
        watch(translator.model, *weights, edit=fix),
        watch(translator.model, SOURCE, TARGET, edit=track),
        FixedNonlinearities(gated=ACTIVATIONS[config.activation].gated),
    ):
        logits = forced_logits(translator, translation, position + 1, 1)[0, position].float()
        lead = logits[translation.target_tokens[position].id] - logits[rival]
        gradients = torch.autograd.grad(lead, [embeddings[SOURCE], embeddings[TARGET]], materialize_grads=True)
    parts = [
        (embeddings[name].detach() * gradient)[0].double().sum(dim=-1).tolist()
        for name, gradient in zip((SOURCE, TARGET), gradients, strict=True)
    ]
    total = float(lead.detach())
    # An affine function is its gradient times its input, plus its constants.
    return WordAccount(position, rival, total, tuple(parts[0]), tuple(parts[1]), total - sum(parts[0]) - sum(parts[1]))
