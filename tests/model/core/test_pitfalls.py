"""Common mistakes in Transformers. Each has a check that passes for our code and fails for the mistake."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from headlight.model.core import attention as attention_module
from headlight.model.core import blocks as blocks_module
from headlight.model.core import transformer as transformer_module
from headlight.model.core.attention import MultiHeadAttention, attention_scores, attention_weights, fused_attention
from headlight.model.core.blocks import FeedForward, OutputProjection, Residual
from headlight.model.core.config import POSITION_NAMES
from headlight.model.core.masks import causal_mask, padding_mask
from headlight.model.core.positions import SinusoidalPositions, sinusoidal_table
from headlight.model.core.probes import watch
from headlight.model.core.transformer import Transformer
from headlight.model.records import Attention, AttentionMap, Kind, Token, Translation, TranslationRequest
from tests.compare import assert_close
from tests.sizes import (
    BATCH,
    D_MODEL,
    DECODER_LAYERS,
    ENCODER_LAYERS,
    HEAD_WIDTH,
    HEADS,
    KEYS,
    QUERIES,
    SOURCE,
    SOURCE_VOCABULARY,
    TARGET,
    TARGET_VOCABULARY,
    small_config,
    tiny_config,
)


def assert_fails(check: Callable[..., None], *arguments: Any) -> None:
    """Assert that the check fails, either by an assertion or by an error in PyTorch."""
    with pytest.raises((AssertionError, RuntimeError)):
        check(*arguments)


def make_ids(source: int = SOURCE, target: int = TARGET) -> tuple[Tensor, Tensor]:
    return torch.randint(3, SOURCE_VOCABULARY, (BATCH, source)), torch.randint(3, TARGET_VOCABULARY, (BATCH, target))


def make_model(**fields: Any) -> Transformer:
    return Transformer(small_config(**fields)).eval()


# ---------------------------------------------------------------- the exponent of the sinusoid


def check_wavelengths(table: Tensor) -> None:
    """Wavelengths form a geometric progression from 2π to 10,000 · 2π over pairs of columns: 10000^(2i/d)."""
    length, width = table.shape
    for pair in range(width // 2):
        speed = 10_000 ** (-2 * pair / width)
        for position in (0, 1, length - 1):
            assert abs(table[position, 2 * pair].item() - math.sin(position * speed)) < 1e-5
            assert abs(table[position, 2 * pair + 1].item() - math.cos(position * speed)) < 1e-5


def sinusoid_table(exponent: Callable[[Tensor], Tensor]) -> Tensor:
    columns = torch.arange(22)
    angles = torch.arange(50)[:, None] / 10_000 ** exponent(columns)
    return torch.where(columns % 2 == 0, angles.sin(), angles.cos())


def test_pitfall_sinusoid_exponent() -> None:
    check_wavelengths(sinusoidal_table(50, 22))
    check_wavelengths(sinusoid_table(lambda column: 2 * (column // 2) / 22))
    assert_fails(
        check_wavelengths, sinusoid_table(lambda column: column / 22)
    )  # sine and cosine of a pair have different wavelengths
    assert_fails(
        check_wavelengths, sinusoid_table(lambda column: 2 * column / 22)
    )  # 2i of the paper taken as twice the column
    assert_fails(check_wavelengths, sinusoid_table(lambda column: (column // 2) / 22))  # factor 2 missing
    assert_fails(check_wavelengths, sinusoidal_table(50, 22).flip(1))


# ---------------------------------------------------------------- a dropped residual sum


def check_residual_stream_is_kept(norm_first: bool) -> None:
    """Sublayers with zero output leave the residual stream unchanged."""
    model = make_model(norm_first=norm_first)
    for module in model.modules():
        if isinstance(module, MultiHeadAttention | FeedForward):
            last = module.output if isinstance(module, MultiHeadAttention) else module.narrow
            nn.init.zeros_(last.weight)
            nn.init.zeros_(last.bias)
    source, target = make_ids()
    with watch(model, "**.positioned", "**.stream") as seen:
        model(source, target)
    for side, layers in (("encoder", ENCODER_LAYERS), ("decoder", DECODER_LAYERS)):
        start = seen[f"{side}.embedding.positioned"]
        expected = start if norm_first else F.layer_norm(start, (D_MODEL,))
        streams = [name for name in seen if name.startswith(f"{side}.layers") and name.endswith("stream")]
        assert len(streams) == layers * (2 if side == "encoder" else 3)
        for name in streams:
            assert_close(seen[name], expected, tolerance=1e-4, of=name)


@pytest.mark.parametrize("norm_first", [False, True])
def test_pitfall_missing_residual_connection(norm_first: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    check_residual_stream_is_kept(norm_first)

    def without_sum(self: Residual, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        return self.stream(self.norm(sublayer(x)))

    monkeypatch.setattr(Residual, "forward", without_sum)
    assert_fails(check_residual_stream_is_kept, norm_first)


# ---------------------------------------------------------------- queries and keys swapped in cross-attention


def check_cross_attention_formula(length: int) -> None:
    """Rows are target positions, columns source positions: softmax of decoder queries times source keys.

    Equal lengths are tested too, because then a swap does not change any shape.
    """
    model, (source, target) = make_model(norm_first=True), make_ids(length)
    layer = model.decoder.layers[0]
    with watch(model, "decoder.layers.0.**", "decoder.layers.0.cross_attention.weights") as seen:
        memory = model.encode(source).vectors
        model(source, target)
    attention = layer.cross_attention
    x = layer.around_cross_attention.norm(seen["decoder.layers.0.around_self_attention.stream"])
    queries, keys = attention.split_heads(attention.query(x)), attention.split_heads(attention.key(memory))
    expected = (queries @ keys.transpose(-2, -1) / math.sqrt(HEAD_WIDTH)).softmax(dim=-1)
    weights = seen["decoder.layers.0.cross_attention.weights"]
    assert weights.shape == (BATCH, HEADS, TARGET, length)
    assert_close(weights, expected)
    values = attention.split_heads(attention.value(memory))
    assert_close(seen["decoder.layers.0.cross_attention.mixed"], expected @ values)


@pytest.mark.parametrize("length", [SOURCE, TARGET])
def test_pitfall_queries_and_keys_swapped_in_cross_attention(length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    check_cross_attention_formula(length)

    def swap_scores(query: Tensor, key: Tensor, bias: Tensor | None = None, scale: float | None = None) -> Tensor:
        return attention_scores(key, query, bias, scale)

    monkeypatch.setattr(attention_module, "attention_scores", swap_scores)
    assert_fails(check_cross_attention_formula, length)


# ---------------------------------------------------------------- normalisation over the wrong axis


def check_norm_is_per_token() -> None:
    model, (source, _) = make_model(), make_ids()
    vectors = model.encode(source).vectors
    assert_close(vectors.mean(dim=-1), torch.zeros(BATCH, SOURCE), tolerance=1e-5)
    assert_close(vectors.var(dim=-1, correction=0), torch.ones(BATCH, SOURCE), tolerance=1e-3)
    residual, x = model.encoder.layers[0].around_feed_forward, torch.randn(BATCH, SOURCE, D_MODEL)
    changed = x.clone()
    changed[2, 3] += torch.randn(D_MODEL)
    moved = (residual(changed, torch.zeros_like) - residual(x, torch.zeros_like)).abs().amax(dim=-1) > 1e-6
    assert moved.nonzero().tolist() == [[2, 3]]


@pytest.mark.parametrize("axes", [(1,), (0,), (1, 2)], ids=["over tokens", "over the batch", "over tokens and width"])
def test_pitfall_normalisation_over_wrong_axis(axes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    check_norm_is_per_token()

    class WrongNorm(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            centred = x - x.mean(dim=axes, keepdim=True)
            return centred * (centred.square().mean(dim=axes, keepdim=True) + 1e-5).rsqrt()

    monkeypatch.setattr(blocks_module, "make_norm", lambda config: WrongNorm())
    assert_fails(check_norm_is_per_token)


# ---------------------------------------------------------------- a norm created at each call


def check_norms_are_trained(norm: str) -> None:
    """The weights of every norm are parameters with gradients."""
    model = make_model(norm=norm, final_norm=True).train()
    norms = {name: p for name, p in model.named_parameters() if "norm" in name and name.endswith("weight")}
    assert len(norms) == 2 * ENCODER_LAYERS + 3 * DECODER_LAYERS + 2
    before = {name: p.detach().clone() for name, p in norms.items()}
    model(*make_ids()).square().mean().backward()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter -= 0 if parameter.grad is None else parameter.grad  # a step of gradient descent
    assert [name for name, p in norms.items() if torch.equal(p, before[name])] == [], "never trained"


@pytest.mark.parametrize("norm", ["layer", "rms"])
def test_pitfall_norm_created_at_each_call(norm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check_norms_are_trained(norm)

    def with_new_norm(self: Residual, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        return self.stream(nn.LayerNorm(D_MODEL)(x + sublayer(x)))

    monkeypatch.setattr(Residual, "forward", with_new_norm)
    assert_fails(check_norms_are_trained, norm)


# ---------------------------------------------------------------- positions in place of the embedding


def check_positions_are_added(positions: str) -> None:
    """Two words at one position differ by their table rows; one word at two positions differs by the positions."""
    embedding = make_model(positions=positions).encoder.embedding
    words = embedding(torch.tensor([[7, 11, 7, 11]]))[0]
    swapped = embedding(torch.tensor([[11, 7, 11, 7]]))[0]
    rows = embedding.table.weight * math.sqrt(D_MODEL)
    assert_close(words[0] - swapped[0], rows[7] - rows[11])
    assert_close(words[2] - words[0], swapped[2] - swapped[0])
    assert (words[2] - words[0]).abs().max() > 0.1


@pytest.mark.parametrize("positions", ["sinusoidal", "sinusoidal_halves", "learned"])
def test_pitfall_positions_replace_the_embedding(positions: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check_positions_are_added(positions)

    def replace_embedding(self: SinusoidalPositions, embedded: Tensor, start: int = 0) -> Tensor:
        return self.rows(start, start + embedded.shape[1], embedded).expand(embedded.shape)

    monkeypatch.setattr("headlight.model.core.positions.AddedPositions.forward", replace_embedding)
    assert_fails(check_positions_are_added, positions)
    monkeypatch.setattr(
        "headlight.model.core.positions.AddedPositions.forward", lambda self, embedded, start=0: embedded
    )
    assert_fails(check_positions_are_added, positions)


# ---------------------------------------------------------------- masks as bytes


def check_byte_masks_raise() -> None:
    """Byte masks raise, because they could be added to the scores or interpreted with the opposite meaning."""
    attention, x = MultiHeadAttention(D_MODEL, HEADS).eval(), torch.randn(BATCH, QUERIES, D_MODEL)
    query = key = value = torch.randn(BATCH, HEADS, QUERIES, HEAD_WIDTH)
    mask = causal_mask(QUERIES).to(torch.uint8)
    calls: list[Callable[[], object]] = [
        lambda: attention_weights(query, key, mask),
        lambda: fused_attention(query, key, value, mask),
        lambda: attention(x, mask=mask),
    ]
    for call in calls:
        with pytest.raises(TypeError, match="must be boolean"):
            call()
    with pytest.raises(TypeError, match="must be boolean"), watch(attention, "weights"):
        attention(x, mask=mask)


def test_pitfall_byte_masks(monkeypatch: pytest.MonkeyPatch) -> None:
    check_byte_masks_raise()
    assert causal_mask(QUERIES).dtype == padding_mask(make_ids()[0], 0).dtype == torch.bool
    monkeypatch.setattr(attention_module, "split_mask", lambda mask: (None, mask.float()))
    with pytest.raises(pytest.fail.Exception):  # without the check, the mask would add 1 to the scores
        check_byte_masks_raise()


# ---------------------------------------------------------------- a mask added after the softmax


def check_masked_rows_still_sum_to_one(weigh: Callable[[Tensor, Tensor, Tensor], Tensor]) -> None:
    query, key = torch.randn(BATCH, HEADS, QUERIES, HEAD_WIDTH), torch.randn(BATCH, HEADS, KEYS, HEAD_WIDTH)
    mask = causal_mask(QUERIES, KEYS)
    weights = weigh(query, key, mask)
    assert (weights[..., ~mask] == 0.0).all()
    assert_close(weights.sum(dim=-1), torch.ones(BATCH, HEADS, QUERIES), tolerance=1e-6)


def test_pitfall_mask_applied_after_softmax() -> None:
    check_masked_rows_still_sum_to_one(attention_weights)
    assert_fails(check_masked_rows_still_sum_to_one, lambda query, key, mask: attention_weights(query, key) * mask)
    added = torch.zeros(QUERIES, KEYS).masked_fill(~causal_mask(QUERIES, KEYS), -1e9)
    assert_fails(check_masked_rows_still_sum_to_one, lambda query, key, mask: attention_weights(query, key) + added)


# ---------------------------------------------------------------- hard-coded devices


def check_tensors_are_on_the_model_device(positions: str) -> None:
    """The meta device rejects tensors of other devices, so it replaces a GPU."""
    model = Transformer(tiny_config(positions=positions)).to("meta").train()
    source, target = (ids.to("meta") for ids in make_ids())
    mask = torch.ones(BATCH, 1, 1, SOURCE, dtype=torch.bool, device="meta")
    logits = model(source, target, mask)
    assert logits.device.type == "meta"
    logits.sum().backward()
    model.eval()
    state = model.decoder.new_state(model.encode(source, mask), cached=True)
    for word in target[:, :3].split(1, dim=1):
        assert model.decoder(word, state).device.type == "meta"
    with watch(model, "**") as seen:
        model(source, target, mask)
    assert {tensor.device.type for tensor in seen.values()} == {"meta"}


@pytest.mark.parametrize("positions", POSITION_NAMES)
def test_pitfall_hard_coded_devices(positions: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check_tensors_are_on_the_model_device(positions)
    wrong = causal_mask(TARGET)
    monkeypatch.setattr(transformer_module, "causal_mask", lambda queries, keys, device: wrong)
    assert_fails(check_tensors_are_on_the_model_device, positions)


CORE_MODULES = ("masks", "attention", "positions", "probes", "blocks", "transformer")


def find_device_names(source: str) -> list[str]:
    """Lines that name a GPU device. Computing code must use the device of its tensors."""
    lines = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and str(node.value).split(":")[0] in ("cuda", "mps"):
            lines.append(f"line {node.lineno}: {node.value!r}")
        if isinstance(node, ast.Attribute) and node.attr in ("cuda", "mps"):
            lines.append(f"line {node.lineno}: .{node.attr}")
    return lines


@pytest.mark.parametrize("name", CORE_MODULES)
def test_core_modules_name_no_gpu(name: str) -> None:
    assert find_device_names(Path(f"model/core/{name}.py").read_text(encoding="utf-8")) == []


def test_find_device_names_reports_gpus() -> None:
    assert find_device_names('x = y.to("cuda:0")\nif torch.cuda.is_available():\n    z.cuda()') == [
        "line 1: 'cuda:0'",
        "line 2: .cuda",
        "line 3: .cuda",
    ]


# ---------------------------------------------------------------- a softmax before the loss


def check_logits_are_raw() -> None:
    """A constant added to the output bias appears in the logits; softmax and log-softmax would remove it."""
    model, (source, target) = make_model(final_logits_bias=True), make_ids()
    before = model(source, target)
    with torch.no_grad():
        model.decoder.output.words.bias += 3.0
    assert_close(model(source, target), before + 3.0)
    assert (before.sum(dim=-1) - 1).abs().min() > 1e-4
    assert (before.exp().sum(dim=-1) - 1).abs().min() > 1e-4


def test_pitfall_softmax_before_the_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    check_logits_are_raw()
    for function in (torch.softmax, torch.log_softmax):
        monkeypatch.setattr(OutputProjection, "forward", lambda self, x, squash=function: squash(self.words(x), dim=-1))
        assert_fails(check_logits_are_raw)


# ---------------------------------------------------------------- axes swapped, or labelled with the wrong language


def check_axes_of_all_maps(translation: Translation) -> None:
    """Rows are queries, columns keys. A decoder row is the token being written; it follows the previous token."""
    source, target, decoder_inputs = "A1 A2 A3 </s>", "B1 B2 </s>", "<s> B1 B2"
    expected: dict[Kind, tuple[str, str, str]] = {
        "encoder": (source, source, source),
        "decoder": (target, decoder_inputs, decoder_inputs),
        "cross": (target, source, decoder_inputs),
    }
    for kind, (rows, columns, previous) in expected.items():
        for head in (1, None):
            view = translation.attention_map(kind, 0, head)
            assert " ".join(token.text for token in view.rows) == rows
            assert " ".join(token.text for token in view.columns) == columns
            assert " ".join(token.text for token in view.previous_tokens) == previous
            assert view.weights.shape == (len(view.rows), len(view.columns)) == view.allowed.shape
            assert np.allclose(view.weights.sum(axis=1), 1.0, atol=1e-6), "weights of a row share one"
            assert (view.weights[~view.allowed] == 0.0).all()


def make_translation() -> Translation:
    """A translation of four source and three target tokens, with the maps of a real model."""
    transformer = make_model()
    source, decoder_ids = torch.tensor([[3, 4, 5, 2]]), torch.tensor([[1, 6, 7]])
    with torch.inference_mode(), watch(transformer, "**.weights") as seen:
        transformer(source, decoder_ids)

    def maps(side: str, name: str) -> np.ndarray:
        weights = [tensor[0].numpy() for path, tensor in seen.items() if path.startswith(side) and name in path]
        return np.stack(weights)

    def tokens(text: str) -> tuple[Token, ...]:
        return tuple(Token(piece, 0, 0, 0, special=piece.startswith("<")) for piece in text.split())

    return Translation(
        request=TranslationRequest(text="A1 A2 A3"),
        source_text="A1 A2 A3",
        text="B1 B2",
        source_tokens=tokens("A1 A2 A3 </s>"),
        target_tokens=tokens("B1 B2 </s>"),
        start_token=tokens("<s>")[0],
        attention=Attention(
            encoder=maps("encoder", "self_attention"),
            decoder=maps("decoder", "self_attention"),
            cross=maps("decoder", "cross_attention"),
        ),
        positions={},
        score=0.0,
        log_probability=0.0,
        stopped="end",
    )


def test_pitfall_swapped_or_mislabelled_axes(monkeypatch: pytest.MonkeyPatch) -> None:
    translation = make_translation()
    check_axes_of_all_maps(translation)
    maps = translation.attention
    transposed = replace(maps, cross=maps.cross.swapaxes(2, 3), decoder=maps.decoder.swapaxes(2, 3))
    assert_fails(check_axes_of_all_maps, replace(translation, attention=transposed))
    transposed_encoder = replace(maps, encoder=maps.encoder.swapaxes(2, 3))  # equal lengths: only the row sums differ
    assert_fails(check_axes_of_all_maps, replace(translation, attention=transposed_encoder))

    attention_map = Translation.attention_map

    def mislabel(self: Translation, kind: Kind, layer: int, head: int | None = None) -> AttentionMap:
        view = attention_map(self, kind, layer, head)
        return replace(view, rows=view.columns, columns=view.rows) if kind == "cross" else view

    monkeypatch.setattr(Translation, "attention_map", mislabel)
    assert_fails(check_axes_of_all_maps, translation)


# ---------------------------------------------------------------- state dict


def test_state_dict_does_not_contain_sinusoids() -> None:
    published, halves = make_model(positions="sinusoidal"), make_model(positions="sinusoidal_halves")
    names = set(published.state_dict())
    assert names == set(halves.state_dict())
    assert not [name for name in names if "position" in name]
    source, target = make_ids(target=101)
    published(source, target)  # the position table has grown
    assert set(published.state_dict()) == names
    halves.load_state_dict(published.state_dict())


# ---------------------------------------------------------------- comparison helper


def test_assert_close_reports_largest_difference() -> None:
    expected = torch.zeros(2, 3, 5)
    actual = expected.clone()
    actual[1, 2, 3], actual[0, 1, 1] = 0.5, 1e-3
    with pytest.raises(AssertionError, match=r"weights: 2 of 30 numbers .* at \[1, 2, 3\]: 0.5 instead of 0"):
        assert_close(actual, expected, of="weights")
    assert_close(actual, expected, tolerance=0.6)


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_assert_close_rejects_nan_and_infinity(wrong: float) -> None:
    expected = torch.zeros(3)
    actual = torch.tensor([0.0, wrong, 0.0])
    with pytest.raises(AssertionError, match=r"at \[1\]"):
        assert_close(actual, expected, tolerance=1e9)
    with pytest.raises(AssertionError, match=r"at \[1\]"):
        assert_close(expected, actual, tolerance=1e9)
    assert_close(torch.tensor([math.inf]), torch.tensor([math.inf]))
    with pytest.raises(AssertionError, match="of 1 numbers"):
        assert_close(torch.tensor([math.nan]), torch.tensor([math.nan]))


def test_assert_close_rejects_other_shapes() -> None:
    with pytest.raises(AssertionError, match=r"result: shape \[3\], but \[1, 3\] expected"):
        assert_close(torch.zeros(3), torch.zeros(1, 3))
