"""The walkthrough: its claims and numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from headlight.model.core.attention import attention_scores
from headlight.model.core.positions import sinusoidal_table
from headlight.model.records import FloatArray
from headlight.viz.lessons.tensors import LOGITS
from tests.viz.lessons.asked import CLOSE, Asked, softmax


def ids_within_vocabulary(asked: Asked) -> None:
    assert all(0 <= token.id < asked.config.source_vocabulary for token in asked.translation.source_tokens)


def ends_with_end(asked: Asked) -> None:
    assert asked.translation.source_tokens[-1].special
    assert not any(token.special for token in asked.translation.source_tokens[:-1])


def embedding_is_scaled(asked: Asked) -> None:
    table = asked.translator.model.encoder.embedding.table.weight.detach().numpy()
    rows = table[[token.id for token in asked.translation.source_tokens]]
    scale = math.sqrt(asked.config.d_model) if asked.config.scale_embedding else 1.0
    np.testing.assert_allclose(asked.tensor("encoder.embedding.embedded"), scale * rows, atol=CLOSE)


def positions_add_up(asked: Asked) -> None:
    added = asked.tensor("encoder.embedding.positioned") - asked.tensor("encoder.embedding.embedded")
    np.testing.assert_allclose(added, asked.translation.positions["encoder"][: len(added)], atol=CLOSE)


def positions_are_waves(asked: Asked) -> None:
    length = len(asked.translation.source_tokens)
    table = sinusoidal_table(length, asked.config.d_model).numpy()
    np.testing.assert_allclose(asked.translation.positions["encoder"][:length], table, atol=CLOSE)
    left, right = (np.abs(np.diff(table[:, columns], axis=0)).mean() for columns in (slice(0, 2), slice(-2, None)))
    assert left > 100 * right  # the left dimensions change fast, the right ones hardly


def norm_by_hand(asked: Asked) -> None:
    place = "encoder.layers.0.around_self_attention"
    x = asked.tensor(f"{place}.carried")
    if not asked.config.norm_first:
        x = x + asked.encoder("attended")
    gamma, beta = asked.tensor(f"{place}.norm.weight"), asked.tensor(f"{place}.norm.bias")
    deviation = np.sqrt(x.var(axis=-1, keepdims=True) + asked.config.norm_epsilon)
    by_hand = gamma * (x - x.mean(axis=-1, keepdims=True)) / deviation + beta
    np.testing.assert_allclose(asked.tensor(f"{place}.normed"), by_hand, atol=1e-4)


def cell_column(asked: Asked, layer: str, x: FloatArray, column: int) -> FloatArray:
    """x times one column of a linear layer, plus its bias, as the page adds it up."""
    weights = asked.tensor(f"{layer}.weight[{column}]")
    bias = asked.tensor(f"{layer}.bias[{column}]")[0] if f"{layer}.bias" in parameters(asked) else 0.0
    return np.array([sum(float(a) * float(b) for a, b in zip(row, weights, strict=True)) + bias for row in x])


def parameters(asked: Asked) -> set[str]:
    return {name for name, _ in asked.translator.model.named_parameters(remove_duplicate=False)}


def attention_input(asked: Asked, part: str = "self_attention") -> FloatArray:
    return asked.tensor(f"encoder.layers.0.around_{part}.{'normed' if asked.config.norm_first else 'carried'}")


def queries_by_hand(asked: Asked) -> None:
    """q = LN(x) W_Q + b_Q with a norm before attention, and q = x W_Q + b_Q without one."""
    head, dimension, width = 1, 3, asked.config.resolved_head_width
    for name, layer in (("queries", "query"), ("keys", "key"), ("values", "value")):
        path = f"encoder.layers.0.self_attention.{layer}"
        by_hand = cell_column(asked, path, attention_input(asked), head * width + dimension)
        np.testing.assert_allclose(asked.encoder(name)[head, :, dimension], by_hand, atol=1e-4)
    if asked.config.norm_first:  # without the norm, the numbers are others
        without = cell_column(asked, path, asked.tensor("encoder.embedding.stream"), head * width + dimension)
        assert np.abs(without - by_hand).max() > 0.1


def joined_heads_by_hand(asked: Asked) -> None:
    mixed = asked.encoder("mixed")
    joined = mixed.swapaxes(0, 1).reshape(mixed.shape[1], -1)
    by_hand = cell_column(asked, "encoder.layers.0.self_attention.output", joined, 5)
    np.testing.assert_allclose(asked.encoder("attended")[:, 5], by_hand, atol=1e-4)


def feed_forward_by_hand(asked: Asked) -> None:
    path = "encoder.layers.0.feed_forward"
    hidden = asked.tensor(f"{path}.hidden")
    by_hand = np.maximum(0, cell_column(asked, f"{path}.wide", attention_input(asked, "feed_forward"), 7))
    np.testing.assert_allclose(hidden[:, 7], by_hand, atol=1e-4)
    np.testing.assert_allclose(
        asked.tensor(f"{path}.output")[:, 2], cell_column(asked, f"{path}.narrow", hidden, 2), atol=1e-4
    )


def logits_by_hand(asked: Asked) -> None:
    final = asked.tensor("decoder.final")
    for row, summary in enumerate(asked.answer(LOGITS)["logits"]):
        _, token, logit = summary["best"][0]
        assert cell_column(asked, "decoder.output.words", final[row : row + 1], token)[0] == pytest.approx(
            logit, abs=1e-3
        )


def heads_split_the_width(asked: Asked) -> None:
    tokens, config = len(asked.translation.source_tokens), asked.config
    for name in ("queries", "keys", "values"):
        assert asked.encoder(name).shape == (config.heads, tokens, config.resolved_head_width)


def products_add_up(asked: Asked) -> None:
    queries, keys = asked.encoder("queries"), asked.encoder("keys")
    products = queries[:, :, None] * keys[:, None]  # [heads, queries, keys, width]
    raw = products.sum(axis=-1)
    np.testing.assert_allclose(raw / math.sqrt(asked.config.resolved_head_width), asked.encoder("scores"), atol=1e-4)


def scaled_is_divided(asked: Asked) -> None:
    queries, keys = (torch.from_numpy(asked.encoder(name).copy()) for name in ("queries", "keys"))
    by_function = attention_scores(queries[None], keys[None])[0].numpy()
    np.testing.assert_allclose(by_function, asked.encoder("scores"), atol=1e-4)


def weights_sum_to_one(asked: Asked) -> None:
    np.testing.assert_allclose(softmax(asked.encoder("scores")).sum(axis=-1), 1.0, atol=1e-6)


def hand_softmax_is_the_models(asked: Asked) -> None:
    for layer in range(asked.config.encoder_layers):
        powers = np.exp(asked.encoder("scores", layer).astype(np.float64))  # one number after another, as in the table
        by_hand = powers / powers.sum(axis=-1, keepdims=True)
        np.testing.assert_allclose(by_hand, asked.translation.attention.encoder[layer], atol=1e-5)


def shift_changes_nothing(asked: Asked) -> None:
    scores = asked.encoder("scores").astype(np.float64)
    np.testing.assert_allclose(softmax(scores + 5), softmax(scores), atol=1e-12)


def mixture_adds_up(asked: Asked) -> None:
    mixed = softmax(asked.encoder("scores")) @ asked.encoder("values")
    np.testing.assert_allclose(mixed, asked.encoder("mixed"), atol=1e-4)


def heads_fill_the_vector(asked: Asked) -> None:
    heads, tokens, width = asked.encoder("mixed").shape
    assert heads * width == asked.translator.model.encoder.layers[0].self_attention.output.in_features
    assert asked.encoder("attended").shape == (tokens, asked.config.d_model)


def attended_is_added(asked: Asked) -> None:
    place = "encoder.layers.0.around_self_attention"
    total = asked.tensor(f"{place}.carried") + asked.encoder("attended")
    stream = asked.tensor(f"{place}.stream")
    if asked.config.norm_first:
        np.testing.assert_allclose(total, stream, atol=1e-4)
    else:
        np.testing.assert_allclose(normed(total, asked, place), stream, atol=1e-4)


def normed(x: FloatArray, asked: Asked, place: str) -> FloatArray:
    norm = asked.translator.model.get_submodule(f"{place}.norm")
    centred = x - x.mean(axis=-1, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + asked.config.norm_epsilon)
    return scaled * norm.weight.detach().numpy() + norm.bias.detach().numpy()


def norm_centres(asked: Asked) -> None:
    place = "encoder.layers.0.around_self_attention"
    source = asked.tensor(f"{place}.carried")
    if asked.config.norm_first:
        np.testing.assert_allclose(asked.tensor(f"{place}.normed"), normed(source, asked, place), atol=1e-4)
    else:
        np.testing.assert_array_equal(asked.tensor(f"{place}.normed"), asked.tensor(f"{place}.stream"))


def relu_is_never_negative(asked: Asked) -> None:
    assert asked.config.activation == "relu"
    for layer in range(asked.config.encoder_layers):
        hidden = asked.tensor(f"encoder.layers.{layer}.feed_forward.hidden")
        assert hidden.shape[1] == asked.config.d_ff
        assert hidden.min() == 0.0  # and some of them are zero


def feed_forward_is_added(asked: Asked) -> None:
    place = "encoder.layers.0.around_feed_forward"
    total = asked.tensor(f"{place}.carried") + asked.tensor("encoder.layers.0.feed_forward.output")
    expected = total if asked.config.norm_first else normed(total, asked, place)
    np.testing.assert_allclose(expected, asked.tensor(f"{place}.stream"), atol=1e-4)


def memory_is_one_vector_a_token(asked: Asked) -> None:
    memory = asked.tensor("encoder.memory")
    assert memory.shape == (len(asked.translation.source_tokens), asked.config.d_model)
    layer = asked.translator.model.decoder.layers[0].cross_attention
    keys = memory @ layer.key.weight.detach().numpy().T + layer.key.bias.detach().numpy()
    split = keys.reshape(len(keys), asked.config.heads, -1).swapaxes(0, 1)
    # The decoder's keys are computed from it, and from nothing else of the source.
    np.testing.assert_allclose(split, asked.tensor("decoder.layers.0.cross_attention.keys"), atol=1e-3)
    stages = [asked.tensor("encoder.embedding.positioned")]
    stages += [
        asked.tensor(f"encoder.layers.{layer}.around_feed_forward.stream")
        for layer in range(asked.config.encoder_layers)
    ]
    if asked.config.norm_first:  # layers add to the stream, so it grows
        first, last = (np.linalg.norm(stage, axis=-1).mean() for stage in (stages[0], stages[-1]))
        assert last > first


def later_keys_get_nothing(asked: Asked) -> None:
    weights = asked.translation.attention.decoder
    assert (np.triu(np.ones(weights.shape[-2:]), k=1) * weights == 0.0).all()
    scores = asked.tensor("decoder.layers.0.self_attention.scores")
    assert (
        softmax(scores) * np.triu(np.ones(scores.shape[-2:]), k=1)
    ).max() > 0.0  # without the mask, they would differ


def causal_rows_sum_to_one(asked: Asked) -> None:
    np.testing.assert_allclose(asked.translation.attention.decoder.sum(axis=-1), 1.0, atol=1e-5)


def cross_rows_sum_to_one(asked: Asked) -> None:
    scores = asked.tensor("decoder.layers.0.cross_attention.scores")
    np.testing.assert_allclose(softmax(scores), asked.translation.attention.cross[0], atol=1e-5)
    np.testing.assert_allclose(asked.translation.attention.cross.sum(axis=-1), 1.0, atol=1e-5)


def logits_are_no_probabilities(asked: Asked) -> None:
    rows = asked.answer(LOGITS)["logits"]
    assert len(rows) == len(asked.translation.target_tokens)
    for row in rows:
        assert row["low"] < 0 < row["high"]
        assert sum(row["counts"]) == asked.config.target_vocabulary
        assert row["mean"] * asked.config.target_vocabulary != pytest.approx(1.0, abs=0.5)


def chances_are_the_translations(asked: Asked) -> None:
    for row, token in zip(asked.answer(LOGITS)["logits"], asked.translation.target_tokens, strict=True):
        chances = {place: math.exp(logit - row["log_sum"]) for _, place, logit in row["best"]}
        if token.id in chances:
            assert chances[token.id] == pytest.approx(token.probability, abs=1e-4)
        assert sum(chances.values()) <= 1 + 1e-6
        assert list(chances.values()) == sorted(chances.values(), reverse=True)


def loss_is_the_mean_of_all_places(asked: Asked) -> None:
    """The loss of a place is −ln p of its target, and p is the softmax of the logits at that place."""
    translation = asked.translation
    losses = [-math.log(token.probability or 0) for token in translation.target_tokens]
    logits = asked.answer(LOGITS)["logits"]
    for token, row, loss in zip(translation.target_tokens, logits, losses, strict=True):
        logit = next(value for _, token_id, value in row["best"] if token_id == token.id)
        assert abs(row["log_sum"] - logit - loss) < 1e-3
    assert abs(sum(losses) + translation.log_probability) < 1e-3 * len(losses)
