"""Measures, roles, removed heads, effects and attributions, each against a second, plain computation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
import transformers

import headlight
from headlight.errors import RecordingError
from headlight.model.measures.statistics import STATISTICS
from headlight.model.records import MapKind
from tests.model.recordings import families

TEXT = "the cat sat on the cat"
TARGET = "a dog ran"


def token_ids(text: str) -> torch.Tensor:
    ids: torch.Tensor = families.tokenizer()(text, return_tensors="pt")["input_ids"]
    return ids


def plain_loss(model: Any, *, target: bool = False) -> float:
    """The mean of −log p, token by token, of the model as it is."""
    ids = token_ids(TARGET if target else TEXT)[0].tolist()
    if target:
        start = model.generation_config.decoder_start_token_id
        inputs = {"input_ids": token_ids(TEXT), "decoder_input_ids": torch.tensor([[start, *ids[:-1]]])}
        predicted = list(enumerate(ids))
    else:
        inputs = {"input_ids": token_ids(TEXT)}
        predicted = [(place - 1, ids[place]) for place in range(1, len(ids))]
    with torch.no_grad():
        logits = model(**inputs).logits[0].double()
    return float(np.mean([-torch.log_softmax(logits[row], dim=0)[token] for row, token in predicted]))


def projections(model: Any, kind: MapKind) -> list[torch.nn.Parameter]:
    """The matrix after the heads, by layer, as `[…, head × width]` or, in GPT-2, `[head × width, …]`."""
    if kind == "self" and hasattr(model, "transformer"):
        return [block.attn.c_proj.weight for block in model.transformer.h]
    if kind == "self":
        return [layer.self_attn.o_proj.weight for layer in model.model.layers if hasattr(layer, "self_attn")]
    if hasattr(model, "decoder"):
        part = {"encoder": 0, "decoder": 0, "cross": 1}[kind]
        stack = model.encoder if kind == "encoder" else model.decoder
        modules = [block.layer[part] for block in stack.block]
        return [getattr(module, "EncDecAttention" if part else "SelfAttention").o.weight for module in modules]
    layers = model.model.encoder.layers if kind == "encoder" else model.model.decoder.layers
    return [getattr(layer, "encoder_attn" if kind == "cross" else "self_attn").out_proj.weight for layer in layers]


def loss_without_columns(model: Any, weight: torch.nn.Parameter, head: int, heads: int, *, target: bool) -> float:
    """The loss with the columns of one head set to zero in the matrix after the heads."""
    before = weight.data.clone()
    transposed = hasattr(model, "transformer")
    matrix = weight.data.T if transposed else weight.data
    width = matrix.shape[1] // heads
    matrix[:, head * width : (head + 1) * width] = 0
    try:
        return plain_loss(model, target=target)
    finally:
        weight.data.copy_(before)


@pytest.mark.parametrize(
    ("family", "kind", "heads"),
    [
        ("fused_gpt2", "self", 3), ("llama", "self", 6), ("gemma2", "self", 4), ("jamba", "self", 4),
        ("t5", "encoder", 3), ("t5", "cross", 3), ("bart", "encoder", 3), ("bart", "decoder", 5), ("bart", "cross", 5),
    ],
)  # fmt: skip
def test_removed_heads_and_gradients_match_plain_computations(family: str, kind: MapKind, heads: int) -> None:
    model, tokenizer = getattr(families, family)(), families.tokenizer()
    target = {"target": TARGET} if kind != "self" else {}
    implementation = model.config._attn_implementation
    effects = headlight.head_effects(model, tokenizer, TEXT, **target)  # type: ignore[arg-type]
    assert effects.loss == pytest.approx(plain_loss(model, target=bool(target)), abs=1e-5)
    numbers = effects.layers[kind]
    matrices = projections(model, kind)
    assert effects.values[kind].shape == (len(matrices), heads)
    for place, (number, matrix) in enumerate(zip(numbers, matrices, strict=True)):
        head = (place + 1) % heads
        change = headlight.remove_heads(model, tokenizer, TEXT, [(number, head)], kind=kind, **target)  # type: ignore[arg-type]
        expected = loss_without_columns(model, matrix, head, heads, target=bool(target))
        assert change.before == pytest.approx(effects.loss, abs=1e-5)
        assert change.after == pytest.approx(expected, abs=1e-5)
        assert change.change == pytest.approx(expected - effects.loss, abs=2e-5)
    # The gradient is the slope at 1, which a difference of two almost complete heads approaches.
    scale = 0.02
    before = matrices[0].data.clone()
    columns = matrices[0].data.T if hasattr(model, "transformer") else matrices[0].data
    width = columns.shape[1] // heads
    losses = []
    for factor in (1 - scale, 1 + scale):
        matrices[0].data.copy_(before)
        columns[:, :width] *= factor
        losses.append(plain_loss(model, target=bool(target)))
    matrices[0].data.copy_(before)
    slope = (losses[1] - losses[0]) / (2 * scale)
    assert effects.values[kind][0, 0] == pytest.approx(-slope, rel=0.02, abs=1e-4)
    assert model.config._attn_implementation == implementation
    assert all(parameter.grad is None for parameter in model.parameters())


def test_several_heads_are_removed_together_and_sorted_by_effect() -> None:
    model, tokenizer = families.fused_gpt2(), families.tokenizer()
    every_head = [(layer, head) for layer in range(2) for head in range(3)]
    change = headlight.remove_heads(model, tokenizer, TEXT, every_head)
    before = [matrix.data.clone() for matrix in projections(model, "self")]
    for matrix in projections(model, "self"):
        matrix.data.zero_()
    assert change.after == pytest.approx(plain_loss(model), abs=1e-5)
    for matrix, values in zip(projections(model, "self"), before, strict=True):
        matrix.data.copy_(values)
    effects = headlight.head_effects(model, tokenizer, TEXT)
    strongest = effects.strongest(4)
    sizes = np.sort(np.abs(effects.values["self"]).ravel())[::-1]
    np.testing.assert_allclose([abs(row[3]) for row in strongest], sizes[:4])
    kind, layer, head, effect = strongest[0]
    assert effects.values[kind][layer, head] == pytest.approx(effect)


def test_labels_give_the_loss_of_a_classifier() -> None:
    config = transformers.BertConfig(
        hidden_size=15, num_hidden_layers=2, num_attention_heads=3, intermediate_size=7, num_labels=3, **families.SIZES
    )
    torch.manual_seed(5)
    model = transformers.BertForSequenceClassification(config).eval()
    change = headlight.remove_heads(model, families.tokenizer(), TEXT, [(1, 2)], labels=[2])
    with torch.no_grad():
        logits = model(token_ids(TEXT)).logits
        assert change.before == pytest.approx(float(F.cross_entropy(logits, torch.tensor([2]))), abs=1e-5)
        model.bert.encoder.layer[1].attention.output.dense.weight.data[:, 10:] = 0
        logits = model(token_ids(TEXT)).logits
    assert change.after == pytest.approx(float(F.cross_entropy(logits, torch.tensor([2]))), abs=1e-5)


def mamba() -> Any:
    torch.manual_seed(6)
    return transformers.MambaForCausalLM(
        transformers.MambaConfig(hidden_size=8, num_hidden_layers=1, **families.SIZES)
    ).eval()


def ctrl() -> Any:
    """A model that scales its embeddings in place."""
    torch.manual_seed(3)
    config = transformers.CTRLConfig(n_embd=16, n_layer=2, n_head=2, dff=8, n_positions=32, **families.SIZES)
    return transformers.CTRLLMHeadModel(config).eval()


@pytest.mark.parametrize("family", ["fused_gpt2", "t5", "bart", "mamba", "ctrl"])
def test_attributions_are_slopes_of_the_log_probability(family: str) -> None:
    """The attribution of a token is the change of the log probability while its embedding grows in proportion."""
    model, tokenizer = (
        {"mamba": mamba, "ctrl": ctrl}.get(family, getattr(families, family, None))(),
        families.tokenizer(),
    )
    is_pair = family in ("t5", "bart")
    result = headlight.attribute_tokens(model, tokenizer, TEXT, **({"target": TARGET} if is_pair else {}))
    assert list(result.tokens) == (TEXT.split() if is_pair else TEXT.split()[:-1])
    assert result.predicted == ("ran" if is_pair else "cat")
    reader = model.get_encoder() if is_pair else model
    table = reader.get_input_embeddings()
    inputs: dict[str, torch.Tensor] = {"input_ids": token_ids(TEXT)}
    if is_pair:
        start = model.generation_config.decoder_start_token_id
        inputs["decoder_input_ids"] = torch.tensor([[start, *token_ids(TARGET)[0, :-1].tolist()]])
    token, row = int(token_ids(TARGET if is_pair else TEXT)[0, -1]), 2 if is_pair else 4

    def log_probability(place: int, factor: float) -> float:
        def scale(_: Any, __: Any, output: torch.Tensor) -> torch.Tensor | None:
            if output.shape[1] != 6:
                return None
            output = output.clone()
            output[0, place] *= factor
            return output

        handle = table.register_forward_hook(scale)
        with torch.no_grad():
            value = model(**inputs).logits[0, row].double().log_softmax(dim=0)[token]
        handle.remove()
        return float(value)

    assert result.log_probability == pytest.approx(log_probability(0, 1.0), abs=1e-5)
    for place in range(len(result.tokens)):
        slope = (log_probability(place, 1.01) - log_probability(place, 0.99)) / 0.02
        assert result.values[place] == pytest.approx(slope, rel=0.02, abs=2e-3)
    if family == "mamba":
        assert result.attention is None
        assert result.table()[0] == ("the", result.values[0], None)
    else:
        assert result.attention is not None
        kind: MapKind = "cross" if is_pair else "self"
        options = {"target": TARGET} if is_pair else {}
        maps = headlight.record(model, tokenizer, TEXT, **options).attention.of(kind)
        expected = maps.mean(axis=(0, 1))[row][: len(result.tokens)]
        np.testing.assert_allclose(result.attention, expected, atol=1e-6)


def test_an_earlier_token_is_attributed_by_its_position() -> None:
    result = headlight.attribute_tokens(families.fused_gpt2(), families.tokenizer(), TEXT, position=2)
    assert (list(result.tokens), result.predicted) == (["the", "cat"], "sat")
    shorter = headlight.attribute_tokens(families.fused_gpt2(), families.tokenizer(), "the cat sat")
    np.testing.assert_allclose(result.values, shorter.values, atol=1e-5)


@pytest.mark.parametrize("family", ["fused_gpt2", "bert"])
def test_measures_match_plain_loops(family: str) -> None:
    measures = headlight.measure(getattr(families, family)(), families.tokenizer(), TEXT)
    recording = headlight.record(getattr(families, family)(), families.tokenizer(), TEXT)
    weights = recording.attention.of("self")
    causal = family == "fused_gpt2"
    assert set(measures) == {name for name in STATISTICS if not (causal and name in ("next", "last"))} | {"induction"}
    words = TEXT.split()
    rows = [row for row in range(6) if row or not causal]  # the first row of a causal map has one key
    for layer in range(2):
        for head in range(3):
            cells = weights[layer, head].astype(float)
            entropy = np.mean([-sum(w * np.log2(w) for w in cells[row] if w) for row in rows])
            assert measures["entropy"][layer, head] == pytest.approx(entropy, abs=1e-5)
            previous = np.mean([cells[row, row - 1] for row in range(1, 6)])
            assert measures["previous"][layer, head] == pytest.approx(previous, abs=1e-6)
            assert measures["first"][layer, head] == pytest.approx(np.mean(cells[rows, 0]), abs=1e-6)
            induction = [
                sum(cells[row, key] for key in range(1, row + 1) if words[key - 1] == words[row])
                for row in range(6)
                if any(words[key - 1] == words[row] for key in range(1, row + 1))
            ]
            assert len(induction) == 2
            assert measures["induction"][layer, head] == pytest.approx(np.mean(induction), abs=1e-6)
    assert np.isnan(headlight.measure(families.fused_gpt2(), families.tokenizer(), "the cat")["induction"]).all()


def test_measures_of_several_kinds_need_one() -> None:
    model, tokenizer = families.t5(), families.tokenizer()
    measures = headlight.measure(model, tokenizer, TEXT, target=TARGET, kind="cross")
    weights = headlight.record(model, tokenizer, TEXT, target=TARGET).attention.of("cross")
    np.testing.assert_allclose(measures["peak"], weights.max(axis=-1).mean(axis=-1), atol=1e-6)
    assert "induction" not in measures
    with pytest.raises(RecordingError, match="kind must be one of encoder, decoder, cross"):
        headlight.measure(model, tokenizer, TEXT, target=TARGET)


def test_roles_are_means_over_sentences() -> None:
    """Heads that attend to the previous token, to the first and to none in particular."""

    def heads(count: int, names: list[str]) -> Any:
        previous, first = np.eye(count, k=-1), np.zeros((count, count))
        previous[0, 0] = first[:, 0] = 1
        uniform = np.tri(count) / np.arange(1, count + 1)[:, None]
        return headlight.record(np.stack([previous, first, uniform])[None], tokens=names)

    from headlight.model.recordings.recording_roles import roles_of_recordings

    names = ["<s>", "the", "cat", "sat", "on", "mat"]
    roles = roles_of_recordings([heads(6, names), heads(5, names[:5])])
    assert [(role.layer, role.head, role.role) for role in roles] == [
        (0, 0, "previous"), (0, 1, "start"), (0, 2, "spreads"),
    ]  # fmt: skip
    assert [role.stability for role in roles] == [1.0, 1.0, 1.0]
    assert roles[1].share == pytest.approx(1.0)
    hybrid = headlight.roles(families.jamba(), families.tokenizer(), [TEXT, "a dog ran far"])
    assert {(role.kind, role.layer) for role in hybrid} == {("self", 1), ("self", 4)}
    pairs = headlight.roles(families.t5(), families.tokenizer(), [TEXT], targets=[TARGET])
    assert {role.kind for role in pairs} == {"encoder", "decoder", "cross"}


def test_errors_say_what_to_do() -> None:
    model, tokenizer = families.fused_gpt2(), families.tokenizer()
    for call, says in (
        (lambda: headlight.remove_heads(model, tokenizer, TEXT, [(7, 0)]), "layer must be a whole number from 0 to 1"),
        (lambda: headlight.remove_heads(model, tokenizer, TEXT, [(0, 7)]), "head must be a whole number from 0 to 2"),
        (lambda: headlight.remove_heads(families.t5(), tokenizer, TEXT, [(0, 0)]), "Give it: target="),
        (
            lambda: headlight.remove_heads(families.t5(), tokenizer, TEXT, [(0, 0)], target=TARGET),
            "kind must be one of encoder, decoder, cross",
        ),
        (lambda: headlight.head_effects(families.bert(), tokenizer, TEXT), "needs labels="),
        (lambda: headlight.head_effects(mamba(), tokenizer, TEXT), "computes its attention in its own code"),
        (lambda: headlight.head_effects(model, tokenizer, "the"), "Add words"),
        (lambda: headlight.attribute_tokens(model, tokenizer, TEXT, position=6), "position must be a whole number"),
        (lambda: headlight.roles(model, tokenizer, TEXT), "Give a list"),
        (lambda: headlight.roles(model, tokenizer, []), "There are no sentences"),
        (lambda: headlight.roles(model, tokenizer, [TEXT], targets=["a", "b"]), "1 sentences and 2 targets"),
    ):
        with pytest.raises(RecordingError, match=says):
            call()
