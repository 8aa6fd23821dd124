"""The self-attention classifier: sum of contributions, padding, folder, and `Judge`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from headlight.model.checkpoints.checkpoint import save_checkpoint
from headlight.model.core.classifier import SelfAttentionClassifier, classification_loss, truncate_middle
from headlight.model.core.classifier_config import ClassifierConfig
from headlight.model.core.masks import pad_sequences
from headlight.model.core.probes import watch
from headlight.model.errors import CheckpointError, ConfigError, RequestError
from headlight.model.families.loading import kind_of_folder
from headlight.model.text.cleaning import normalise_review
from headlight.model.text.tokenizer import Tokenizer
from headlight.model.translate.judge import Judge
from headlight.model.translate.translator import Translator
from tests.compare import assert_close
from tests.reference import attention_reference

VOCABULARY, D_MODEL, HEADS, HEAD_WIDTH, TOKENS = 31, 14, 3, 5, 11
LAYOUTS: list[dict[str, Any]] = [{}, {"position_width": 4}, {"layers": 2}, {"positions": "alibi"}]


def make_classifier(**fields: Any) -> SelfAttentionClassifier:
    """A classifier with random weights, nonzero biases and distinct sizes."""
    torch.manual_seed(5)
    sizes: dict[str, Any] = {"vocabulary": VOCABULARY, "d_model": D_MODEL, "heads": HEADS, "head_width": HEAD_WIDTH}
    model = SelfAttentionClassifier(ClassifierConfig(**(sizes | {"dropout": 0.0} | fields))).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.2)
    return model.requires_grad_(False)


def make_judge(**fields: Any) -> Judge:
    """A judge with this classifier and a vocabulary learned from a few words."""
    tokenizer = Tokenizer.train(["a good film with a warm heart", "it's not good, it doesn't work"] * 3, 300)
    return Judge(make_classifier(vocabulary=tokenizer.vocabulary_size, **fields), tokenizer)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_log_odds_are_linear_in_mean_pooled_encoding(layout: dict[str, Any]) -> None:
    model = make_classifier(**layout)
    ids = torch.randint(3, VOCABULARY, (2, TOKENS))
    with watch(model, "encoded") as seen:
        log_odds = model(ids)
    pooled = seen["encoded"].mean(dim=1)  # [batch, d_model]
    assert_close(log_odds, pooled @ model.verdict.weight[0] + model.verdict.bias, tolerance=1e-6)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_token_contributions_sum_to_log_odds_without_padding(layout: dict[str, Any]) -> None:
    model = make_classifier(**layout)
    ids = torch.randint(3, VOCABULARY, (2, TOKENS))
    ids[1, 7:] = model.config.pad_id
    shares = model.token_contributions(ids)
    assert torch.equal(shares[1, 7:], torch.zeros(TOKENS - 7))
    assert_close(shares.sum(dim=1) + model.verdict.bias, model(ids), tolerance=1e-6)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_padding_does_not_change_log_odds(layout: dict[str, Any]) -> None:
    model = make_classifier(**layout)
    rows = [torch.randint(3, VOCABULARY, (length,)).tolist() for length in (TOKENS, 4)]
    batched = model(pad_sequences(rows, model.config.pad_id))
    single = torch.cat([model(torch.tensor([row])) for row in rows])
    assert_close(batched, single, tolerance=1e-6)


def test_layer_matches_pytorch_attention() -> None:
    model = make_classifier(d_model=HEADS * HEAD_WIDTH)  # PyTorch supports no other head width
    layer = model.layers[0]
    reference = attention_reference(layer.self_attention).eval()
    ids = torch.randint(3, VOCABULARY, (2, TOKENS))
    x = model.embedding(ids)
    with watch(model, "layers.0.self_attention.weights") as seen:
        ours = model.encode(ids, None)
    mixed, weights = reference(x, x, x, average_attn_weights=False)
    assert_close(ours, layer.around_self_attention.norm(x + mixed), tolerance=1e-5)
    assert_close(seen["layers.0.self_attention.weights"], weights, tolerance=1e-5)


def test_order_matters_only_with_positions() -> None:
    ids = torch.randint(3, VOCABULARY, (1, TOKENS))
    with_positions, without_positions = make_classifier(), make_classifier(positions="none")
    assert_close(without_positions(ids), without_positions(ids.flip(1)), tolerance=1e-6)
    assert not torch.allclose(with_positions(ids), with_positions(ids.flip(1)), atol=1e-4)


def test_loss_by_hand() -> None:
    log_odds = torch.tensor([0.0, math.log(3)])  # probabilities 1/2 and 3/4
    positive = torch.tensor([1, 0])
    assert float(classification_loss(log_odds, positive)) == pytest.approx(math.log(2) + math.log(4))


def test_truncation_keeps_beginning_and_end() -> None:
    assert truncate_middle([1, 2, 3], 3) == [1, 2, 3]
    assert truncate_middle(list(range(20)), 8) == [0, 1, 14, 15, 16, 17, 18, 19]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It's GREAT, don't miss it!", "it's great, don't miss it!"),  # as typed
        ("it 's great , do n't miss it !", "it's great, don't miss it!"),  # as tokenized in corpora
        ("-lrb- a -rrb- shapeless blob", "(a) shapeless blob"),
        ("`` the time machine '' is a movie", '"the time machine" is a movie'),
        ("either\\/or ... and so on", "either/or... and so on"),
        ("rock 'n' roll", "rock 'n' roll"),
    ],
)
def test_tokenized_corpus_text_is_normalised(text: str, expected: str) -> None:
    assert normalise_review(text) == expected
    assert normalise_review(expected) == expected


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"vocabulary": 0}, "vocabulary is 0"),
        ({"pad_id": 40}, "pad_id is 40, but the vocabulary ends at 30"),
        ({"pad_id": 2}, "pad_id and end_id must differ"),
        ({"negative": "positive"}, "must differ"),
        ({"max_length": 3}, "too short"),
        ({"position_width": 128}, "below d_model"),
        ({"positions": "compass"}, "must be one of"),
        ({"dropout": 1.0}, "must lie in"),
    ],
)
def test_invalid_config_raises(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ClassifierConfig(**({"vocabulary": VOCABULARY} | fields))


def test_judgement_contains_tokens_shares_and_attention() -> None:
    judgement = make_judge(layers=2).judge("It does n't WORK .")
    assert judgement.text == "it doesn't work."
    assert [judgement.text[token.start : token.end] for token in judgement.tokens[:-1]] == [
        token.text for token in judgement.tokens[:-1]
    ]
    assert judgement.tokens[-1].special
    assert sum(judgement.shares) + judgement.bias == pytest.approx(judgement.log_odds, abs=1e-5)
    assert judgement.probability == pytest.approx(1 / (1 + math.exp(-judgement.log_odds)))
    count = len(judgement.tokens)
    assert judgement.attention.shape == (2, HEADS, count, count)
    assert np.allclose(judgement.attention.sum(axis=-1), 1, atol=1e-6)
    assert not judgement.attention.flags.writeable
    assert judgement.verdict == ("positive" if judgement.probability > 0.5 else "negative")


def test_batch_matches_single_judgements() -> None:
    judge = make_judge()
    texts = ["a good film", "it's not good, it doesn't work", "heart"]
    progress: list[int] = []
    batched = judge.probabilities(texts, on_progress=progress.append)
    for probabilities, text in zip(batched, texts, strict=True):
        assert probabilities == pytest.approx(judge.judge(text).probabilities, abs=1e-6)
    assert sum(progress) == len(texts)


def test_long_text_is_truncated_and_marked() -> None:
    judge = make_judge(max_length=9)
    assert not judge.judge("a good film").truncated
    judgement = judge.judge("good " * 30)
    assert judgement.truncated
    assert len(judgement.tokens) == 9


def test_blank_text_raises() -> None:
    with pytest.raises(RequestError, match="Type a sentence first"):
        make_judge().judge("  ")


def test_saved_classifier_roundtrips_and_is_not_a_translator(tmp_path: Path) -> None:
    judge = make_judge(position_width=4)
    save_checkpoint(tmp_path / "m", judge.model, judge.tokenizer, judge.tokenizer, storage="float32")
    loaded = Judge.load(tmp_path / "m", device="cpu")
    assert loaded.name == "m"
    assert loaded.judge("a warm film").log_odds == pytest.approx(judge.judge("a warm film").log_odds, abs=1e-6)
    assert kind_of_folder(tmp_path / "m") == "classifier"
    with pytest.raises(CheckpointError, match="contains SelfAttentionClassifier, not Transformer"):
        Translator.load(tmp_path / "m", device="cpu")
