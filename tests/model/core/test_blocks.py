"""The parts between the attentions, each against its formula."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from headlight.model.core.blocks import (
    ACTIVATIONS,
    Embedding,
    FeedForward,
    OutputProjection,
    Residual,
    RMSNorm,
    make_norm,
)
from headlight.model.core.config import ACTIVATION_NAMES
from headlight.model.core.positions import make_positions, sinusoidal_table
from headlight.model.core.probes import watch
from tests.compare import assert_close
from tests.sizes import BATCH, D_FF, D_MODEL, POSITION_WIDTH, SOURCE, SOURCE_VOCABULARY, TARGET_VOCABULARY, small_config


def vectors() -> Tensor:
    return torch.randn(BATCH, SOURCE, D_MODEL)


# ---------------------------------------------------------------- norms


def test_rms_norm_divides_by_root_mean_square() -> None:
    norm = RMSNorm(2, epsilon=0.5)
    norm.weight.data = torch.tensor([1.0, 10.0])
    root = math.sqrt((3**2 + 4**2) / 2 + 0.5)
    assert_close(norm(torch.tensor([3.0, 4.0])), torch.tensor([3 / root, 10 * 4 / root]), tolerance=1e-7)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16], ids=str)
def test_rms_norm_matches_pytorch(dtype: torch.dtype) -> None:
    norm = RMSNorm(D_MODEL, epsilon=1e-6).to(dtype)
    nn.init.normal_(norm.weight)
    x = vectors().to(dtype).requires_grad_()
    output, expected = norm(x), F.rms_norm(x, (D_MODEL,), norm.weight, eps=1e-6)
    assert output.dtype == dtype
    assert_close(output, expected, tolerance=1e-5 if dtype.itemsize > 2 else 2e-2)
    weights = torch.randn_like(x)
    for our_gradient, their_gradient in zip(
        torch.autograd.grad((output * weights).sum(), [x, norm.weight]),
        torch.autograd.grad((expected * weights).sum(), [x, norm.weight]),
        strict=True,
    ):
        assert_close(our_gradient, their_gradient, tolerance=1e-5 if dtype.itemsize > 2 else 5e-2)


def test_rms_norm_squares_in_float32() -> None:
    """300² overflows float16."""
    x = torch.full((1, 4), 300.0, dtype=torch.float16)
    assert RMSNorm(4, epsilon=1e-6).half()(x).tolist() == [[1.0, 1.0, 1.0, 1.0]]


def test_rms_norm_of_zeros_is_zero_with_finite_gradients() -> None:
    norm, x = RMSNorm(D_MODEL, epsilon=1e-6), torch.zeros(1, D_MODEL, requires_grad=True)
    norm(x).sum().backward()
    assert x.grad is not None
    assert x.grad.isfinite().all()
    assert (norm(x) == 0).all()


def test_config_selects_norm_and_epsilon() -> None:
    rms, layer = make_norm(small_config(norm="rms", norm_epsilon=0.25)), make_norm(small_config(norm_epsilon=0.25))
    assert isinstance(rms, RMSNorm)
    assert isinstance(layer, nn.LayerNorm)
    assert rms.epsilon == layer.eps == 0.25
    x = vectors()
    centred = x - x.mean(dim=-1, keepdim=True)
    assert_close(layer(x), centred / (centred.square().mean(dim=-1, keepdim=True) + 0.25).sqrt())
    assert_close(rms(x), x / (x.square().mean(dim=-1, keepdim=True) + 0.25).sqrt())


# ---------------------------------------------------------------- feed-forward


def normal_cdf(x: Tensor) -> Tensor:
    return (1 + torch.erf(x / math.sqrt(2))) / 2


FORMULAS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": lambda x: torch.where(x > 0, x, 0.0),
    "gelu": lambda x: x * normal_cdf(x),
    "gelu_tanh": lambda x: x / 2 * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "silu": lambda x: x / (1 + torch.exp(-x)),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_feed_forward_matches_formula(name: str) -> None:
    forward, x = FeedForward(small_config(activation=name)), vectors()
    wide, narrow = forward.wide, forward.narrow
    assert wide.weight.shape == (D_FF, D_MODEL)
    assert forward.gate is None
    hidden = FORMULAS[name](x @ wide.weight.T + wide.bias)
    assert_close(forward(x), hidden @ narrow.weight.T + narrow.bias)


@pytest.mark.parametrize(("name", "activation"), [("swiglu", "silu"), ("geglu", "gelu_tanh"), ("reglu", "relu")])
@pytest.mark.parametrize("bias", [True, False])
def test_gated_feed_forward_matches_formula(name: str, activation: str, bias: bool) -> None:
    """SwiGLU(x) = (SiLU(x W_gate) ⊙ x W_wide) W_narrow, arXiv:2002.05202, equation 6, with optional biases."""
    forward, x = FeedForward(small_config(activation=name, feed_forward_bias=bias)), vectors()
    wide, gate, narrow = forward.wide, forward.gate, forward.narrow
    assert gate is not None
    assert [part.bias is not None for part in (wide, gate, narrow)] == [bias] * 3
    gated = FORMULAS[activation](F.linear(x, gate.weight, gate.bias))
    with watch(forward, "hidden") as seen:
        output = forward(x)
    assert_close(seen["hidden"], gated * F.linear(x, wide.weight, wide.bias))
    assert_close(output, F.linear(seen["hidden"], narrow.weight, narrow.bias))


@pytest.mark.parametrize("activation", ["relu", "swiglu"])
def test_feed_forward_dropout_applies_only_in_training(activation: str) -> None:
    forward, x = FeedForward(small_config(activation=activation, dropout=0.5)).eval(), vectors()
    with torch.no_grad():
        forward.narrow.weight.copy_(torch.eye(D_MODEL, D_FF))  # copies hidden values to the output
        forward.narrow.bias.zero_()
    with watch(forward, "hidden") as seen:
        assert torch.equal(forward(x)[..., :D_FF], seen["hidden"])
        output = forward.train()(x)[..., :D_FF]
    alive = seen["hidden"] != 0
    nonzero = output != 0
    assert_close(output[nonzero], seen["hidden"][nonzero] / 0.5)
    assert 0.4 < (nonzero & alive).sum() / alive.sum() < 0.6


def test_every_activation_is_tested() -> None:
    assert set(ACTIVATION_NAMES) == set(ACTIVATIONS) == {*FORMULAS, "swiglu", "geglu", "reglu"}


def test_feed_forward_is_position_wise() -> None:
    forward, x = FeedForward(small_config()), vectors()
    changed = x.clone()
    changed[2, 3] += 1
    same = (forward(changed) == forward(x)).all(dim=-1)
    assert same.sum() == BATCH * SOURCE - 1
    assert not same[2, 3]


# ---------------------------------------------------------------- residual sums


@pytest.mark.parametrize("norm", ["layer", "rms"])
def test_post_norm_normalises_the_sum(norm: str) -> None:
    residual, x = Residual(small_config(norm=norm)), vectors()
    assert_close(residual(x, torch.sin), residual.norm(x + torch.sin(x)))


@pytest.mark.parametrize("norm", ["layer", "rms"])
def test_pre_norm_normalises_only_the_sublayer_input(norm: str) -> None:
    residual, x = Residual(small_config(norm=norm, norm_first=True)), vectors()
    assert_close(residual(x, torch.sin), x + torch.sin(residual.norm(x)))
    assert torch.equal(residual(x, torch.zeros_like), x)


@pytest.mark.parametrize("norm_first", [False, True])
def test_residual_dropout_applies_only_to_the_sublayer(norm_first: bool) -> None:
    residual, x = Residual(small_config(dropout=0.5, norm_first=norm_first)).train(), vectors()
    residual.norm = nn.Identity()
    added = residual(x, lambda y: torch.full_like(y, 3.0)) - x
    dropped = added.abs() < 1e-5
    assert_close(added[~dropped], torch.full_like(added[~dropped], 3 / (1 - 0.5)))
    assert 0.45 < dropped.float().mean() < 0.55
    residual.eval()
    assert_close(residual(x, lambda y: torch.full_like(y, 3.0)), x + 3)


def test_embedding_norm_follows_positions() -> None:
    config = small_config(embedding_norm=True, positions="learned", position_offset=2)
    positions = make_positions(config, causal=False)
    embedding = Embedding(nn.Embedding(SOURCE_VOCABULARY, D_MODEL), positions, config).eval()
    assert isinstance(embedding.norm, nn.LayerNorm)
    nn.init.normal_(embedding.norm.weight)
    nn.init.normal_(embedding.norm.bias)
    ids = torch.tensor([[7, 3, 11]])
    with watch(embedding, "positioned", "stream") as seen:
        output = embedding(ids, 4)
    table = next(positions.parameters())
    added = embedding.table(ids) * math.sqrt(D_MODEL) + table[6:9]  # offset 2 plus start 4
    assert_close(seen["positioned"], added)
    normed = (added - added.mean(-1, keepdim=True)) / (added.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()
    assert_close(output, normed * embedding.norm.weight + embedding.norm.bias)
    assert output.equal(seen["stream"])


def test_stream_probe_is_the_output() -> None:
    residual, x = Residual(small_config()), vectors()
    with watch(residual, "stream") as seen:
        assert residual(x, torch.sin) is seen["stream"]


# ---------------------------------------------------------------- embedding


@pytest.mark.parametrize("scaled", [True, False])
def test_embedding_is_scaled_table_row_plus_position(scaled: bool) -> None:
    config = small_config(scale_embedding=scaled)
    embedding = Embedding(nn.Embedding(SOURCE_VOCABULARY, D_MODEL), make_positions(config, causal=False), config)
    ids = torch.randint(0, SOURCE_VOCABULARY, (BATCH, SOURCE))
    factor = math.sqrt(D_MODEL) if scaled else 1
    with watch(embedding, "*") as seen:
        output = embedding(ids, 4)
    rows = embedding.table.weight[ids] * factor
    assert_close(seen["embedded"], rows)
    assert_close(output, rows + sinusoidal_table(4 + SOURCE, D_MODEL)[4:])
    assert output is seen["positioned"]


def test_embedding_with_concatenated_positions_is_scaled_by_model_width() -> None:
    config = small_config(position_width=POSITION_WIDTH, tie_output=False)
    table = nn.Embedding(SOURCE_VOCABULARY, D_MODEL - POSITION_WIDTH)
    output = Embedding(table, make_positions(config, causal=False), config)(torch.tensor([[7]]))
    assert_close(output[0, 0, :-POSITION_WIDTH], table.weight[7] * math.sqrt(D_MODEL))


def test_embedding_dropout_applies_only_in_training() -> None:
    config = small_config(dropout=0.5, positions="none")
    embedding = Embedding(nn.Embedding(SOURCE_VOCABULARY, D_MODEL), make_positions(config, causal=False), config)
    ids = torch.randint(0, SOURCE_VOCABULARY, (BATCH, SOURCE))
    rows = embedding.table.weight[ids] * math.sqrt(D_MODEL)
    output = embedding(ids)
    nonzero = output != 0
    assert_close(output[nonzero], (rows / 0.5)[nonzero])
    assert 0.45 < nonzero.float().mean() < 0.55
    assert torch.equal(embedding.eval()(ids), rows)


# ---------------------------------------------------------------- output


@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("tied", [True, False])
def test_output_projection_matches_formula(tied: bool, bias: bool, scaled: bool) -> None:
    config = small_config(tie_output=tied, final_logits_bias=bias, scale_output=scaled)
    table = nn.Embedding(TARGET_VOCABULARY, D_MODEL)
    output, x = OutputProjection(config, table if tied else None), vectors()
    assert (output.words.weight is table.weight) == tied
    assert (output.words.bias is not None) == bias
    expected = x @ output.words.weight.T / (math.sqrt(D_MODEL) if scaled else 1)
    if bias:
        nn.init.normal_(output.words.bias)
        expected = expected + output.words.bias
    assert_close(output(x), expected)
    assert output(x).shape == (BATCH, SOURCE, TARGET_VOCABULARY)
