"""The Transformer matches PyTorch's with the same weights, forward and backward, and its own requirements."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from headlight.model.core.config import TransformerConfig
from headlight.model.core.masks import causal_mask, padding_mask
from headlight.model.core.transformer import DecoderState, Transformer, count_bytes
from tests.compare import assert_close
from tests.reference import assert_relative, assert_same_gradients, transformer_pairs, transformer_reference
from tests.sizes import (
    BATCH,
    D_MODEL,
    DECODER_LAYERS,
    SOURCE,
    SOURCE_VOCABULARY,
    TARGET,
    TARGET_VOCABULARY,
    small_config,
    tiny_config,
)

STYLES = [
    pytest.param({"norm_first": first, "activation": activation}, id=f"{'pre' if first else 'post'}-norm {activation}")
    for first in (False, True)
    for activation in ("relu", "gelu")
]


def make_model(**fields: Any) -> Transformer:
    """A model whose norms and biases are not the initial ones and zeros."""
    model = Transformer(small_config(**fields)).eval()
    for parameter in model.parameters():
        if parameter.dim() == 1:
            nn.init.normal_(parameter, mean=0.5, std=0.3)
    return model


def make_ids(*, padded: bool) -> tuple[Tensor, Tensor]:
    source = torch.randint(3, SOURCE_VOCABULARY, (BATCH, SOURCE))
    target = torch.randint(3, TARGET_VOCABULARY, (BATCH, TARGET))
    if padded:
        for row, (source_length, target_length) in enumerate([(17, 13), (1, 4), (5, 13), (16, 1), (9, 8)]):
            source[row, source_length:], target[row, target_length:] = 0, 0
    return source, target


def reference_vectors(theirs: nn.Transformer, source: Tensor, target: Tensor, masks: tuple[Tensor, Tensor]) -> Tensor:
    """PyTorch's decoder output. In its masks, True forbids."""
    source_padding, target_padding = masks
    result: Tensor = theirs(
        source,
        target,
        tgt_mask=~causal_mask(target.shape[1], device=target.device),
        src_key_padding_mask=source_padding,
        tgt_key_padding_mask=target_padding,
        memory_key_padding_mask=source_padding,
    )
    return result


# ---------------------------------------------------------------- against PyTorch


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-11)], ids=str)
@pytest.mark.parametrize("padded", [False, True], ids=["full", "padded"])
@pytest.mark.parametrize("style", STYLES)
def test_layers_match_pytorch_forward_and_backward(
    style: dict[str, Any], padded: bool, dtype: torch.dtype, tolerance: float, device: str
) -> None:
    ours = make_model(final_norm=True, **style).to(device, dtype).train()
    theirs = transformer_reference(ours).train()
    source_ids, target_ids = (ids.to(device) for ids in make_ids(padded=padded))
    words = target_ids != 0
    x = torch.randn(BATCH, SOURCE, D_MODEL, device=device, dtype=dtype)
    y, weights = torch.randn(2, BATCH, TARGET, D_MODEL, device=device, dtype=dtype)
    weights = weights * words[..., None]  # ignore padding
    x_ours, y_ours, x_theirs, y_theirs = (vectors.clone().requires_grad_() for vectors in (x, y, x, y))

    mask = padding_mask(source_ids, 0)
    memory = ours.encoder.run_layers(x_ours, mask)
    cross = [layer.cross_attention.project_memory(memory) for layer in ours.decoder.layers]
    output = ours.decoder.run_layers(y_ours, DecoderState(cross, mask, None))
    expected = reference_vectors(theirs, x_theirs, y_theirs, (source_ids == 0, ~words))
    assert_close(output[words], expected[words], tolerance=tolerance, of="output")
    assert_close(memory, theirs.encoder(x, src_key_padding_mask=source_ids == 0), tolerance=tolerance, of="memory")

    (output * weights).sum().backward()
    (expected * weights).sum().backward()
    for name, tensor, reference in (("source", x_ours, x_theirs), ("target", y_ours, y_theirs)):
        assert tensor.grad is not None
        assert reference.grad is not None
        assert reference.grad.abs().max() > 0.01
        assert_relative(tensor.grad, reference.grad, tolerance=tolerance, of=f"gradient of the {name} vectors")
    compared = assert_same_gradients(transformer_pairs(ours, theirs), tolerance=tolerance)
    assert compared == sum(p.numel() for p in theirs.parameters()), "a weight of the reference was not compared"


@pytest.mark.parametrize("padded", [False, True], ids=["full", "padded"])
@pytest.mark.parametrize("style", STYLES)
def test_logits_match_pytorch_layers_with_our_embeddings(style: dict[str, Any], padded: bool) -> None:
    ours = make_model(final_norm=True, **style)
    theirs = transformer_reference(
        ours
    ).train()  # avoids the fast path of PyTorch, which has another backward pass; dropout is 0
    source_ids, target_ids = make_ids(padded=padded)
    words = target_ids != 0
    vectors = reference_vectors(
        theirs, ours.encoder.embedding(source_ids), ours.decoder.embedding(target_ids), (source_ids == 0, ~words)
    )
    expected = vectors @ ours.decoder.embedding.table.weight.T
    logits = ours(source_ids, target_ids)
    assert logits.shape == (BATCH, TARGET, TARGET_VOCABULARY)
    assert_close(logits[words], expected[words], of="logits")

    loss = F.cross_entropy(logits[words], target_ids[words])
    ours.zero_grad()
    loss.backward()
    gradients = {name: parameter.grad for name, parameter in ours.named_parameters()}
    ours.zero_grad()
    F.cross_entropy(expected[words], target_ids[words]).backward()
    for part in ("encoder.embedding.table.weight", "decoder.embedding.table.weight"):
        gradient, reference = gradients[part], ours.get_parameter(part).grad
        assert gradient is not None
        assert reference is not None
        assert_close(gradient, reference, of=f"gradient of {part}")


def test_post_norm_without_final_norm_matches_pytorch() -> None:
    """Post-norm layers end in a norm; the paper has no additional final norm."""
    ours = make_model(final_norm=False)
    assert isinstance(ours.encoder.final_norm, nn.Identity)
    theirs = transformer_reference(copy_with_final_norms(ours)).train()
    theirs.encoder.norm, theirs.decoder.norm = None, None
    source_ids, target_ids = make_ids(padded=False)
    x, y = ours.encoder.embedding(source_ids), ours.decoder.embedding(target_ids)
    expected = reference_vectors(theirs, x, y, (source_ids == 0, target_ids == 0))
    state = ours.decoder.new_state(ours.encode(source_ids), cached=False)
    assert_close(ours.decoder.run_layers(y, state), expected)


def copy_with_final_norms(model: Transformer) -> Transformer:
    """The same weights with final norms, which the reference needs."""
    twin = make_model(final_norm=True)
    twin.load_state_dict(model.state_dict() | {k: v for k, v in twin.state_dict().items() if "final_norm" in k})
    return twin


# ---------------------------------------------------------------- the paper's base sizes


@pytest.fixture(scope="module")
def base() -> Transformer:
    torch.manual_seed(0)
    return Transformer(TransformerConfig(source_vocabulary=1_009, target_vocabulary=1_013)).eval()


def test_base_model_accepts_64_sentences_of_16_ids(base: Transformer) -> None:
    with torch.inference_mode():
        logits = base(torch.randint(3, 1_009, (64, 16)), torch.randint(3, 1_013, (64, 16)))
    assert logits.shape == (64, 16, 1_013)
    assert logits.isfinite().all()


def test_base_layers_accept_64_by_16_vectors_of_width_512(base: Transformer) -> None:
    x, y = torch.randn(2, 64, 16, 512)
    with torch.inference_mode():
        memory = base.encoder.run_layers(x)
        cross = [layer.cross_attention.project_memory(memory) for layer in base.decoder.layers]
        result = base.decoder.run_layers(y, DecoderState(cross, None, None))
    assert memory.shape == result.shape == (64, 16, 512)
    assert memory.isfinite().all()
    assert result.isfinite().all()


def test_base_model_has_published_parameter_count() -> None:
    """65 million in the paper, with 37,000 words in one table (section 5.1). The expected count is computed by hand."""
    with torch.device("meta"):
        model = Transformer(
            TransformerConfig(source_vocabulary=37_000, target_vocabulary=37_000, share_embeddings=True)
        )
    attention, norm = 4 * (512 * 512 + 512), 2 * 512
    forward = 512 * 2048 + 2048 + 2048 * 512 + 512
    layers = 6 * (attention + forward + 2 * norm) + 6 * (2 * attention + forward + 3 * norm)
    assert model.parameter_count() == 37_000 * 512 + layers
    assert 60e6 < model.parameter_count() < 66e6


# ---------------------------------------------------------------- embeddings, tied or not


def tables(model: Transformer) -> tuple[nn.Parameter, nn.Parameter, nn.Parameter]:
    return model.encoder.embedding.table.weight, model.decoder.embedding.table.weight, model.decoder.output.words.weight


SHARED = {"target_vocabulary": SOURCE_VOCABULARY, "share_embeddings": True}


@pytest.mark.parametrize(
    ("fields", "distinct"),
    [
        ({"tie_output": True}, (0, 1, 1)),
        ({"tie_output": False}, (0, 1, 2)),
        ({"tie_output": True, **SHARED}, (0, 0, 0)),
        ({"tie_output": False, **SHARED}, (0, 0, 2)),
    ],
    ids=["tied", "separate", "shared and tied", "shared, separate output"],
)
def test_embeddings_are_shared_as_configured(fields: dict[str, Any], distinct: tuple[int, ...]) -> None:
    model = Transformer(small_config(**fields))
    output = tables(model)
    assert all((output[i] is output[j]) == (distinct[i] == distinct[j]) for i in range(3) for j in range(3))
    count = sum(p.numel() for p in {id(p): p for p in model.parameters()}.values())
    assert model.parameter_count() == count

    source, target = make_ids(padded=False)
    model(source, target % model.config.target_vocabulary).square().sum().backward()
    assert all(table.grad is not None and table.grad.abs().max() > 0 for table in output)


def test_gradient_of_shared_table_is_sum_over_uses() -> None:
    shared = Transformer(small_config(tie_output=True, **SHARED))
    separate = Transformer(small_config(tie_output=False, target_vocabulary=SOURCE_VOCABULARY))
    separate.load_state_dict(shared.state_dict())
    source, target = make_ids(padded=False)
    target = target % SOURCE_VOCABULARY
    logits, separate_logits = shared(source, target), separate(source, target)
    assert_close(logits, separate_logits)
    weights = torch.randn_like(logits)
    (logits * weights).sum().backward()
    (separate_logits * weights).sum().backward()
    gradients = [table.grad for table in tables(separate)]
    total = sum((gradient for gradient in gradients if gradient is not None), torch.zeros(()))
    assert tables(shared)[0].grad is not None
    assert_relative(tables(shared)[0].grad, total, of="gradient of the shared table")  # type: ignore[arg-type]


@pytest.mark.parametrize("conversion", ["deepcopy", "pickle", "half"])
def test_tied_tables_stay_tied_after_copy_pickle_and_half(conversion: str) -> None:
    model = Transformer(small_config(tie_output=True, **SHARED))
    if conversion == "deepcopy":
        model = copy.deepcopy(model)
    elif conversion == "pickle":
        model = pickle.loads(pickle.dumps(model))  # noqa: S301 - our own bytes
    else:
        model = model.half()
    first, second, third = tables(model)
    assert first is second is third


def test_final_logits_bias_is_added_to_every_row() -> None:
    plain, biased = Transformer(small_config()), Transformer(small_config(final_logits_bias=True))
    bias = torch.randn(TARGET_VOCABULARY)
    biased.load_state_dict(plain.state_dict() | {"decoder.output.words.bias": bias})
    source, target = make_ids(padded=True)
    assert_close(biased(source, target), plain(source, target) + bias)


def test_scale_output_divides_logits_by_root_of_width() -> None:
    plain, scaled = Transformer(small_config()), Transformer(small_config(scale_output=True))
    scaled.load_state_dict(plain.state_dict())
    source, target = make_ids(padded=True)
    assert_close(scaled(source, target) * math.sqrt(D_MODEL), plain(source, target))


def test_scale_scores_and_scale_embedding_are_applied() -> None:
    attention = Transformer(small_config(scale_scores=False)).encoder.layers[0].self_attention
    assert attention.scale == 1.0  # type: ignore[union-attr]
    for scaled in (True, False):
        model = Transformer(small_config(positions="none", scale_embedding=scaled))
        ids = make_ids(padded=False)[0]
        rows = model.encoder.embedding.table.weight[ids]
        assert_close(model.encoder.embedding(ids), rows * math.sqrt(D_MODEL) if scaled else rows)


def test_dropout_rates_are_assigned_to_their_modules() -> None:
    model = Transformer(small_config(dropout=0.25, attention_dropout=0.5))
    rates = {name: module.p for name, module in model.named_modules() if isinstance(module, nn.Dropout)}
    attention_names = {name for name in rates if name.endswith("_attention.dropout") and "around" not in name}
    assert len(attention_names) == 2 + 2 * DECODER_LAYERS
    assert {rates[name] for name in attention_names} == {0.5}
    assert {rates[name] for name in rates.keys() - attention_names} == {0.25}


def test_initial_embeddings_have_unit_variance_and_logits_are_moderate() -> None:
    model = Transformer(small_config(source_vocabulary=997, target_vocabulary=997, positions="none")).eval()
    ids = torch.randint(3, 997, (BATCH, 101))
    assert model.encoder.embedding(ids).std().item() == pytest.approx(1.0, rel=0.05)
    assert 0.1 < model(ids, ids).std() < 3.0


# ---------------------------------------------------------------- masks, batches, cached steps


@pytest.mark.parametrize("style", STYLES)
def test_padded_batch_matches_single_sentences(style: dict[str, Any]) -> None:
    model = make_model(**style)
    source, target = make_ids(padded=True)
    batched = model(source, target)
    for row in range(BATCH):
        source_row, target_row = source[row][source[row] != 0], target[row][target[row] != 0]
        single = model(source_row[None], target_row[None])
        assert_close(single[0], batched[row, : len(target_row)], of=f"sentence {row}")


def test_ids_at_padding_do_not_matter() -> None:
    model = make_model()
    source, target = make_ids(padded=True)
    mask = padding_mask(source, 0)
    changed = torch.where(source == 0, torch.randint(3, SOURCE_VOCABULARY, source.shape), source)
    assert_close(model(changed, target, mask), model(source, target))


def test_decoder_is_causal() -> None:
    model, (source, target) = make_model(), make_ids(padded=False)
    before = model(source, target)
    for position in range(TARGET):
        changed = target.clone()
        changed[:, position] = 3 + (changed[:, position] - 2) % (TARGET_VOCABULARY - 3)
        after = model(source, changed)
        assert torch.equal(after[:, :position], before[:, :position])
        assert (after[:, position] - before[:, position]).abs().max() > 1e-4


def test_encoder_is_bidirectional() -> None:
    model, (source, _) = make_model(), make_ids(padded=False)
    before = model.encode(source).vectors
    changed = source.clone()
    changed[:, 8] = 3 + (changed[:, 8] - 2) % (SOURCE_VOCABULARY - 3)
    moved = (model.encode(changed).vectors - before).abs().amax(dim=(0, 2))
    assert (moved > 1e-4).all()


def test_unpadded_source_needs_no_mask() -> None:
    model, (source, _) = make_model(), make_ids(padded=False)
    memory = model.encode(source, padded=False)
    assert memory.mask is None
    masked = model.encode(source)
    assert masked.mask is not None
    assert masked.mask.all()
    assert_close(memory.vectors, masked.vectors)
    assert_close(memory.vectors, model.encode(source, torch.ones(BATCH, 1, 1, SOURCE, dtype=torch.bool)).vectors)


def test_exported_model_accepts_padding() -> None:
    model, (source, target) = make_model().eval(), make_ids(padded=False)
    program = torch.export.export(model, (source, target)).module()
    padded = make_ids(padded=True)
    with torch.no_grad():
        assert_close(program(source, target), model(source, target))
        assert_close(program(*padded), model(*padded))


def test_source_of_only_padding_gives_finite_values() -> None:
    model, (source, target) = make_model(), make_ids(padded=True)
    source[3] = 0
    logits = model(source, target)
    assert logits.isfinite().all()
    logits.square().sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


@pytest.mark.parametrize("style", STYLES)
def test_cached_steps_match_full_pass(style: dict[str, Any]) -> None:
    model = make_model(final_norm=True, **style)
    source, target = make_ids(padded=True)
    with torch.inference_mode():
        state = model.decoder.new_state(model.encode(source), cached=True)
        steps = torch.cat([model.decoder(word, state) for word in target.split(1, dim=1)], dim=1)
        assert_close(steps, model(source, target))
    assert state.length == TARGET


def test_uncached_state_keeps_nothing_between_calls() -> None:
    model, (source, target) = make_model(), make_ids(padded=True)
    state = model.decoder.new_state(model.encode(source), cached=False)
    assert torch.equal(model.decoder(target, state), model.decoder(target, state))
    assert state.length == 0


def test_selected_rows_continue_in_order() -> None:
    """After finished sentences leave the batch, the remaining ones continue unchanged."""
    model, (source, target) = make_model(), make_ids(padded=True)
    with torch.inference_mode():
        state = model.decoder.new_state(model.encode(source), cached=True)
        model.decoder(target[:, :4], state)
        rows = torch.tensor([4, 1, 4])
        state.select(rows)
        step = model.decoder(target[rows, 4:6], state)
        assert_close(step, model(source[rows], target[rows])[:, 4:6])
        assert_close(model(source, target)[rows, 4:6], step)


def test_reordered_hypotheses_keep_their_source() -> None:
    model, (source, target) = make_model(), make_ids(padded=False)
    source = source[:1].expand(BATCH, SOURCE)  # one sentence with one hypothesis per row
    with torch.inference_mode():
        state = model.decoder.new_state(model.encode(source), cached=True)
        model.decoder(target[:, :4], state)
        rows = torch.tensor([2, 2, 0, 4, 1])
        keys = state.cross[0].keys
        state.reorder(rows)
        assert state.cross[0].keys is keys, "the source was copied"
        step = model.decoder(target[:, 4:5], state)
        expected = model(source, torch.cat([target[rows, :4], target[:, 4:5]], dim=1))[:, 4:5]
    assert_close(step, expected)


def test_memory_selects_rows() -> None:
    model, (source, _) = make_model(), make_ids(padded=True)
    memory, rows = model.encode(source), torch.tensor([3, 0])
    selected = memory.select(rows)
    assert torch.equal(selected.vectors, memory.vectors[rows])
    assert selected.mask is not None
    assert memory.mask is not None
    assert torch.equal(selected.mask, memory.mask[rows])


# ---------------------------------------------------------------- module behaviour


def test_every_parameter_gets_a_gradient() -> None:
    model, (source, target) = make_model(activation="swiglu", norm="rms", positions="learned"), make_ids(padded=True)
    model.train()(source, target).square().mean().backward()
    assert [name for name, p in model.named_parameters() if p.grad is None or not p.grad.abs().max() > 0] == []


def test_training_steps_lower_the_loss() -> None:
    torch.manual_seed(0)
    model = Transformer(tiny_config(d_model=22, heads=2, head_width=None, dropout=0.1, attention_dropout=0.1)).train()
    source, target = make_ids(padded=True)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(30):
        logits = model(source, target[:, :-1])
        loss = F.cross_entropy(logits.transpose(1, 2), target[:, 1:], ignore_index=0)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[0] == pytest.approx(math.log(TARGET_VOCABULARY), abs=1.0)  # uniform predictions before training
    assert losses[-1] < losses[0] / 2


def test_state_dict_contains_only_parameters_and_roundtrips() -> None:
    model = make_model()
    assert set(model.state_dict()) == {name for name, _ in model.named_parameters(remove_duplicate=False)}
    twin = Transformer(model.config).eval()
    twin.load_state_dict(model.state_dict())
    source, target = make_ids(padded=True)
    assert torch.equal(twin(source, target), model(source, target))


def test_equal_seeds_give_equal_models() -> None:
    source, target = make_ids(padded=True)
    logits = []
    for _ in range(2):
        torch.manual_seed(3)
        logits.append(Transformer(small_config()).eval()(source, target))
    assert torch.equal(*logits)


def test_int32_ids_are_accepted() -> None:
    model, (source, target) = make_model(), make_ids(padded=True)
    assert torch.equal(model(source.int(), target.int()), model(source, target))


def test_shared_tables_are_counted_once() -> None:
    model = Transformer(small_config(**SHARED))
    assert count_bytes(model) == 4 * model.parameter_count()
    assert count_bytes(model.bfloat16()) == 2 * model.parameter_count()
    alibi = Transformer(small_config(positions="alibi"))
    assert count_bytes(alibi) == 4 * alibi.parameter_count() + 2 * 4 * 7  # plus the slopes of encoder and decoder


def test_number_of_layers_matches_config() -> None:
    model = make_model()
    assert len(model.decoder.layers) == DECODER_LAYERS
    assert len(model.encoder.layers) == 2
