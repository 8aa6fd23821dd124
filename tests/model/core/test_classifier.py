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
    """Random weights of distinct sizes, biases among them."""
    torch.manual_seed(5)
    sizes: dict[str, Any] = {"vocabulary": VOCABULARY, "d_model": D_MODEL, "heads": HEADS, "head_width": HEAD_WIDTH}
    model = SelfAttentionClassifier(ClassifierConfig(**(sizes | {"dropout": 0.0} | fields))).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.2)
    return model.requires_grad_(False)


def make_judge(**fields: Any) -> Judge:
    """The same model with a vocabulary learnt from a few words."""
    tokenizer = Tokenizer.train(["a good film with a warm heart", "it's not good, it doesn't work"] * 3, 300)
    return Judge(make_classifier(vocabulary=tokenizer.vocabulary_size, **fields), tokenizer)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_log_odds_are_the_average_of_what_attention_made_weighed_once(layout: dict[str, Any]) -> None:
    model = make_classifier(**layout)
    ids = torch.randint(3, VOCABULARY, (2, TOKENS))
    with watch(model, "encoded") as seen:
        log_odds = model(ids)
    pooled = seen["encoded"].mean(dim=1)  # [batch, d_model]
    assert_close(log_odds, pooled @ model.verdict.weight[0] + model.verdict.bias, within=1e-6)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_shares_add_up_to_the_log_odds_and_padding_has_none(layout: dict[str, Any]) -> None:
    model = make_classifier(**layout)
    ids = torch.randint(3, VOCABULARY, (2, TOKENS))
    ids[1, 7:] = model.config.pad_id
    shares = model.token_contributions(ids)
    assert torch.equal(shares[1, 7:], torch.zeros(TOKENS - 7))
    assert_close(shares.sum(dim=1) + model.verdict.bias, model(ids), within=1e-6)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_text_gets_the_same_alone_and_beside_a_longer_one(layout: dict[str, Any]) -> None:
    model = make_classifier(**layout)
    rows = [torch.randint(3, VOCABULARY, (length,)).tolist() for length in (TOKENS, 4)]
    together = model(pad_sequences(rows, model.config.pad_id))
    alone = torch.cat([model(torch.tensor([row])) for row in rows])
    assert_close(together, alone, within=1e-6)


def test_its_attention_is_that_of_torch_with_the_sum_and_norm_around_it() -> None:
    model = make_classifier(d_model=HEADS * HEAD_WIDTH)  # PyTorch's own knows no other head width
    layer = model.layers[0]
    reference = attention_reference(layer.self_attention).eval()
    ids = torch.randint(3, VOCABULARY, (2, TOKENS))
    x = model.embedding(ids)
    with watch(model, "layers.0.self_attention.weights") as seen:
        ours = model.encode(ids, None)
    mixed, weights = reference(x, x, x, average_attn_weights=False)
    assert_close(ours, layer.around_self_attention.norm(x + mixed), within=1e-5)
    assert_close(seen["layers.0.self_attention.weights"], weights, within=1e-5)


def test_order_counts_because_of_positions_alone() -> None:
    ids = torch.randint(3, VOCABULARY, (1, TOKENS))
    ordered, without = make_classifier(), make_classifier(positions="none")
    assert_close(without(ids), without(ids.flip(1)), within=1e-6)
    assert not torch.allclose(ordered(ids), ordered(ids.flip(1)), atol=1e-4)


def test_loss_by_hand() -> None:
    log_odds = torch.tensor([0.0, math.log(3)])  # chances of one half and three quarters
    positive = torch.tensor([1, 0])
    assert float(classification_loss(log_odds, positive)) == pytest.approx(math.log(2) + math.log(4))


def test_a_long_text_keeps_its_beginning_and_its_end() -> None:
    assert truncate_middle([1, 2, 3], 3) == [1, 2, 3]
    assert truncate_middle(list(range(20)), 8) == [0, 1, 14, 15, 16, 17, 18, 19]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("It's GREAT, don't miss it!", "it's great, don't miss it!"),  # as people write
        ("it 's great , do n't miss it !", "it's great, don't miss it!"),  # as corpora have it
        ("-lrb- a -rrb- shapeless blob", "(a) shapeless blob"),
        ("`` the time machine '' is a movie", '"the time machine" is a movie'),
        ("either\\/or ... and so on", "either/or... and so on"),
        ("rock 'n' roll", "rock 'n' roll"),
    ],
)
def test_text_is_folded_to_what_people_write(written: str, read: str) -> None:
    assert normalise_review(written) == read
    assert normalise_review(read) == read


@pytest.mark.parametrize(
    ("fields", "complaint"),
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
def test_impossible_sizes_are_refused(fields: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        ClassifierConfig(**({"vocabulary": VOCABULARY} | fields))


def test_judgement_says_what_the_model_read_and_why() -> None:
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


def test_judging_many_is_judging_each() -> None:
    judge = make_judge()
    texts = ["a good film", "it's not good, it doesn't work", "heart"]
    counted: list[int] = []
    together = judge.probabilities(texts, on_progress=counted.append)
    for found, text in zip(together, texts, strict=True):
        assert found == pytest.approx(judge.judge(text).probabilities, abs=1e-6)
    assert sum(counted) == len(texts)


def test_a_long_text_is_judged_by_its_ends_and_says_so() -> None:
    judge = make_judge(max_length=9)
    assert not judge.judge("a good film").truncated
    judgement = judge.judge("good " * 30)
    assert judgement.truncated
    assert len(judgement.tokens) == 9


def test_nothing_to_judge_is_said_kindly() -> None:
    with pytest.raises(RequestError, match="Type a sentence first"):
        make_judge().judge("  ")


def test_a_folder_brings_the_same_judge_back_and_no_translator(tmp_path: Path) -> None:
    judge = make_judge(position_width=4)
    save_checkpoint(tmp_path / "m", judge.model, judge.tokenizer, judge.tokenizer, storage="float32")
    loaded = Judge.load(tmp_path / "m", device="cpu")
    assert loaded.name == "m"
    assert loaded.judge("a warm film").log_odds == pytest.approx(judge.judge("a warm film").log_odds, abs=1e-6)
    assert kind_of_folder(tmp_path / "m") == "classifier"
    with pytest.raises(CheckpointError, match="contains SelfAttentionClassifier, not Transformer"):
        Translator.load(tmp_path / "m", device="cpu")
