"""The packed decoder matches the plain one: equal logits, equal output, unchanged model.

Tolerances: with float32 weights 1e-5; with float16 weights the probability of any token changes by less than 0.002.
"""

from __future__ import annotations

import copy
import gc
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from headlight.model.core.config import ACTIVATION_NAMES, NORM_NAMES, POSITION_NAMES
from headlight.model.core.probes import watch
from headlight.model.core.transformer import Transformer, count_bytes
from headlight.model.decoding.speculative import SpeculativeSearch
from headlight.model.translate import drafting, packed_model, translator
from headlight.model.translate.packed_model import (
    CopyBudget,
    PackedModel,
    StepWeights,
    can_pack_float16,
    can_pack_float32,
    can_pack_int8,
    prepare_passes,
    prepare_step,
)
from headlight.model.translate.translator import Translator
from tests.compare import assert_close
from tests.tiny import (
    D_FF,
    D_MODEL,
    DECODER_LAYERS,
    HEAD_WIDTH,
    HEADS,
    SENTENCES,
    TARGET_VOCABULARY,
    tiny_model,
    tiny_translator,
    tokenizers,
)

ROOT = Path(__file__).resolve().parents[3]
STEPS = 40  # beyond the room that caches begin with
FLOAT16 = 0.002
VARIANTS: list[dict[str, Any]] = [
    *({"positions": name} for name in POSITION_NAMES),
    *({"activation": name} for name in ACTIVATION_NAMES),
    *({"norm": name} for name in NORM_NAMES),
    {"norm_first": True, "final_norm": True},
    {"norm_first": True, "final_norm": True, "norm": "rms"},
    {"embedding_norm": True},
    {"positions": "relative", "relative_each_layer": True},
    {"embedding_norm": True, "norm": "rms", "norm_first": True, "final_norm": True},
    {"attention_bias": False},
    {"feed_forward_bias": False},
    {"attention_bias": False, "feed_forward_bias": False, "final_logits_bias": False},
    {"tie_output": True},
    {"tie_output": True, "scale_output": True, "final_logits_bias": False},
    {"scale_embedding": False, "scale_scores": False},
    {"positions": "sinusoidal", "position_width": 6},
    {"positions": "learned", "position_offset": 2},
    {"positions": "rotary", "position_offset": 3},
    {"dropout": 0.3, "attention_dropout": 0.2},  # not while translating
]


@pytest.fixture
def pack_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pack even matrices as small as those of the tests."""
    monkeypatch.setattr(packed_model, "MIN_PACKED_ENTRIES", 1)


@torch.inference_mode()
def steps(plain: Transformer, decoder: Any) -> Tensor:
    """Return the log probabilities of many cached steps of a padded batch, `[steps, rows, vocabulary]`."""
    ids = torch.randint(3, 400, (3, 11), generator=torch.Generator().manual_seed(1))
    ids[1, 4:] = plain.config.pad_id
    state = plain.decoder.new_state(plain.encode(ids), cached=True)
    rows, decoder_ids = torch.arange(3), torch.full((3, 1), plain.config.start_id)
    outputs = []
    for step in range(STEPS):
        if step == 5:
            rows = torch.tensor([2, 0])  # one is finished
            state.select(rows)
            decoder_ids = decoder_ids[rows]
        logits = decoder(decoder_ids, state)
        assert logits.shape == (len(rows), 1, TARGET_VOCABULARY)
        outputs.append(logits[-2:, 0].log_softmax(dim=-1))
        decoder_ids = (decoder_ids * 7 + step * 11) % TARGET_VOCABULARY  # some words or other
    return torch.stack(outputs)


@pytest.mark.slow(after=8)
@pytest.mark.parametrize("fields", VARIANTS, ids=str)
def test_packed_decoder_matches_decoder(fields: dict[str, Any]) -> None:
    plain = tiny_model(**fields)
    twin, _ = prepare_step(plain.decoder, "float32")
    assert_close(steps(plain, twin), steps(plain, plain.decoder))


@pytest.mark.slow(after=8)
@pytest.mark.parametrize("fields", VARIANTS, ids=str)
def test_packed_float16_is_close(pack_all: None, fields: dict[str, Any]) -> None:
    plain = tiny_model(**fields)
    twin, _ = prepare_step(plain.decoder, "float16")
    expected, actual = steps(plain, plain.decoder).exp(), steps(plain, twin).exp()
    gap = float((actual - expected).abs().max())
    assert gap < FLOAT16
    assert (gap > 1e-6) == can_pack_float16()  # float16 was used if available


def test_int8_drafts_do_not_change_output(pack_all: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drafting, "MIN_DECODER_ENTRIES", 1)
    plain, fast = tiny_translator(), tiny_translator(step_weights="float16")
    assert (fast.draft_models.current is not fast.step) == can_pack_int8()
    exact, drafted = steps(plain.model, plain.model.decoder).exp(), steps(plain.model, fast.draft_models.current).exp()
    assert (float((drafted - exact).abs().max()) > FLOAT16) == can_pack_int8()  # int8 was used if available
    given_up = tiny_translator(step_weights="float16")
    given_up.draft_models.record(given_up.draft_models.current, 2, 2)
    steady = steps(plain.model, given_up.draft_models.current)
    same = steady.argmax(dim=-1) == exact.argmax(dim=-1)
    assert float(same.float().mean()) > 0.95  # its output of 8 bits only finds the words
    for options in ({}, {"no_repeat": 2}, {"prefix": "the"}):
        expected = plain.translate_batch(SENTENCES, **options)
        assert [one.text for one in fast.translate_batch(SENTENCES, **options)] == [one.text for one in expected]
        alone = [fast.translate(text, **options).text for text in SENTENCES]
        assert alone == [plain.translate(text, **options).text for text in SENTENCES]
    assert fast.translate_lines(SENTENCES) == plain.translate_lines(SENTENCES)


def test_large_batch_output_is_exact(pack_all: None, monkeypatch: pytest.MonkeyPatch) -> None:
    drafts: list[SpeculativeSearch] = []

    def record(*arguments: Any, **options: Any) -> SpeculativeSearch:
        drafts.append(SpeculativeSearch(*arguments, **options))
        return drafts[-1]

    monkeypatch.setattr(translator, "SpeculativeSearch", record)
    plain, fast = tiny_translator(), tiny_translator(step_weights="float16")
    lines = [SENTENCES[number % len(SENTENCES)] for number in range(translator.NO_DRAFTS_FROM)]
    assert fast.translate_lines(lines) == plain.translate_lines(lines)
    assert not drafts
    assert fast.translate_lines(lines[1:]) == plain.translate_lines(lines[1:])
    assert bool(drafts) == can_pack_float16()


@torch.inference_mode()
def test_shortlist_is_rescored_in_float32() -> None:
    generator = torch.Generator().manual_seed(5)
    weight, bias, x = (torch.randn(*size, generator=generator) for size in ((101, 7), (101,), (3, 2, 7)))
    exact = x[:, -1:] @ weight.T + bias
    rough = exact[:, 0] + 0.05 * torch.randn(3, 101, generator=generator)
    logits = drafting.Shortlist(lambda newest: rough.clone(), weight, bias)(x)
    best = exact.topk(3, dim=-1).indices
    assert logits.shape == (3, 1, 101)  # of the newest token alone
    assert_close(logits.gather(-1, best), exact.gather(-1, best))
    assert int((logits[:, 0] == rough).sum()) == 3 * (101 - drafting.SHORTLIST_SIZE)
    assert_close(drafting.Shortlist(lambda newest: rough - bias, weight, None)(x).amax(), (exact - bias).amax())


def test_inaccurate_drafter_is_dropped(pack_all: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drafting, "MIN_DECODER_ENTRIES", 1)
    fast = tiny_translator(step_weights="float16")
    if not can_pack_int8():
        assert drafting.draft_model_bytes(fast.model.decoder) == 0
        return
    assert fast.copied_bytes == fast.packing.step_bytes + fast.packing.pass_bytes + packed_entries()
    light = weakref.ref(fast.draft_models.current)
    fast.draft_models.record(fast.draft_models.current, 20, 2)
    gc.collect()
    assert light() is None
    assert fast.draft_models.current is not fast.step
    assert fast.translate(SENTENCES[0]).text == tiny_translator().translate(SENTENCES[0]).text


def test_processor_supports_int8_drafts() -> None:
    """On x86, int8 drafts must not be disabled silently."""
    assert can_pack_int8() == (can_pack_float16() and torch.backends.quantized.engine in ("x86", "fbgemm"))


@pytest.mark.parametrize("weights", ["float32", "float16"])
def test_packed_translator_gives_same_output(pack_all: None, weights: StepWeights) -> None:
    plain, fast = tiny_translator(), tiny_translator(step_weights=weights)
    for options in ({}, {"beam_size": 3}, {"temperature": 0.5, "seed": 2}):
        for one, other in zip(
            plain.translate_batch(SENTENCES, **options), fast.translate_batch(SENTENCES, **options), strict=True
        ):
            assert [token.id for token in one.target_tokens] == [token.id for token in other.target_tokens]


# ---------------------------------------------------------------- passes: the same numbers, the same probes


def usual_joined(plain: Transformer) -> int:
    """Return the size of the joined projections in bytes."""
    layers = plain.config.encoder_layers + plain.config.decoder_layers
    return 4 * layers * 3 * HEADS * HEAD_WIDTH * D_MODEL


@torch.inference_mode()
def whole(plain: Transformer, passes: Any) -> Tensor:
    """Run a padded batch through the whole model, `[batch, target, vocabulary]`."""
    draw = torch.Generator().manual_seed(3)
    source, target = (
        torch.randint(3, 400, (3, 11), generator=draw),
        torch.randint(3, TARGET_VOCABULARY, (3, 7), generator=draw),
    )
    source[1, 4:] = plain.config.pad_id
    logits: Tensor = passes.decoder(target, passes.decoder.new_state(passes.encode(source), cached=False))
    return logits


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_packed_pass_matches_plain_pass(pack_all: None, variant: dict[str, Any]) -> None:
    plain = tiny_model(**variant)
    assert_close(whole(plain, prepare_passes(plain)[0]), whole(plain, plain))


def test_probes_work_with_packed_weights(pack_all: None) -> None:
    plain = tiny_model()
    passes, _ = prepare_passes(plain)
    with watch(plain, "**") as expected:
        whole(plain, plain)
    with watch(plain, "**") as seen:
        whole(plain, passes)
    assert list(seen) == list(expected)
    for name in expected:
        assert_close(seen[name], expected[name])


def test_edits_work_with_packed_weights(pack_all: None) -> None:
    plain = tiny_model()
    passes, _ = prepare_passes(plain)
    untouched = whole(plain, passes)
    with watch(plain, "decoder.layers.0.cross_attention.weights", edit=lambda weights, name: weights * 0):
        edited = whole(plain, passes)
        assert_close(edited, whole(plain, plain))
    assert not torch.allclose(edited, untouched)
    assert torch.equal(whole(plain, passes), untouched)


# ---------------------------------------------------------------- memory


def packed_entries() -> int:
    """Return the number of matrix entries that a step of a tiny decoder uses."""
    width = HEADS * HEAD_WIDTH
    self_attention = 3 * width * D_MODEL + D_MODEL * width
    cross_attention = 2 * width * D_MODEL  # queries and output; keys and values are made by the plain model
    feed_forward = 2 * D_FF * D_MODEL
    return DECODER_LAYERS * (self_attention + cross_attention + feed_forward) + TARGET_VOCABULARY * D_MODEL


def test_float16_copies_take_two_bytes_per_weight(pack_all: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_model, "can_pack_float16", lambda: True)
    linear = torch.nn.functional.linear  # only the size is checked, so any kernel works
    monkeypatch.setattr(packed_model, "_linear_float16", lambda kernel, packed, x: linear(x, *packed))
    _, copied = prepare_step(tiny_model().decoder, "float16")
    assert copied == 2 * packed_entries()


def test_without_packing_only_joined_projections_are_copied() -> None:
    joined = 4 * DECODER_LAYERS * 3 * HEADS * HEAD_WIDTH * D_MODEL
    for weights in ("float32", "float16"):  # of which these are too small to pack
        _, copied = prepare_step(tiny_model().decoder, weights)
        assert copied == joined


def test_plain_weights_make_no_copies() -> None:
    decoder = tiny_model().decoder
    assert prepare_step(decoder, "plain") == (decoder, 0)
    translator = tiny_translator(step_weights="plain")
    assert translator.copied_bytes == 0
    assert translator.weight_bytes == count_bytes(translator.model)


def test_translator_reports_memory_use(pack_all: None) -> None:
    translator = tiny_translator(step_weights="float16")
    _, for_steps = prepare_step(translator.model.decoder, "float16")
    for_passes = translator.packing.pass_bytes
    assert translator.packing.step_bytes == for_steps > 0
    assert translator.copied_bytes == for_steps + for_passes
    assert translator.weight_bytes == count_bytes(translator.model) + for_steps + for_passes


@pytest.mark.parametrize("share", [0.25, 1.0, 4.0])
def test_passes_use_memory_left_by_steps(pack_all: None, monkeypatch: pytest.MonkeyPatch, share: float) -> None:
    monkeypatch.setattr(packed_model, "COPY_SHARE", share)
    plain = tiny_model()
    own = count_bytes(plain)
    packing = PackedModel(plain, "float16", own).packing
    assert packing.step_bytes == prepare_step(plain.decoder, "float16")[1]  # of a small model all
    assert packing.pass_bytes <= max(0, int(share * own) - packing.step_bytes)
    if share == 4.0:
        assert packing.pass_bytes == prepare_passes(plain)[1]


# ---------------------------------------------------------------- falling back


def test_missing_kernels_keep_float32(pack_all: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_model, "can_pack_float16", lambda: False)
    plain = tiny_model()
    twin, copied = prepare_step(plain.decoder, "float16")
    assert_close(steps(plain, twin), steps(plain, plain.decoder))
    assert copied == prepare_step(plain.decoder, "float32")[1]


def test_without_onednn_passes_use_plain_weights(pack_all: None, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = tiny_model()
    _, usual = prepare_passes(plain)
    monkeypatch.setattr(packed_model, "can_pack_float32", lambda: False)
    passes, copied = prepare_passes(plain)
    assert_close(whole(plain, passes), whole(plain, plain))
    assert copied == usual_joined(plain)
    if can_pack_float32.__wrapped__():
        assert copied < usual


@pytest.mark.parametrize("machine", ["aarch64", "arm64"])
def test_arm_does_not_pack(monkeypatch: pytest.MonkeyPatch, machine: str) -> None:
    monkeypatch.setattr("platform.machine", lambda: machine)
    assert can_pack_float16.__wrapped__() is False


def test_failing_kernel_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: Any) -> None:
        raise RuntimeError("no fbgemm here")

    monkeypatch.setattr(torch.ops.quantized, "linear_prepack_fp16", fail, raising=False)
    assert can_pack_float16.__wrapped__() is False


@pytest.mark.parametrize("name", ["self_attention.query", "self_attention.output", "feed_forward.wide"])
def test_weights_beyond_float16_range_stay_float32(pack_all: None, name: str) -> None:
    plain = tiny_model()
    _, usual = prepare_step(plain.decoder, "float16")
    layer: Any = plain.decoder.layers[1]
    linear = layer.get_submodule(name)
    with torch.no_grad():
        linear.weight[0, 0] = 70_000.0
    twin, copied = prepare_step(plain.decoder, "float16")
    actual = steps(plain, twin)
    assert torch.isfinite(actual).all()
    assert_close(actual, steps(plain, plain.decoder), tolerance=0.02)
    if can_pack_float16():
        joined = name == "self_attention.query"  # whose joined projection is a copy all the same
        entries = linear.weight.numel() * (3 if joined else 1)
        assert copied == usual + (2 * entries if joined else -2 * entries)


def test_small_matrices_are_not_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = tiny_model()
    # Above feed-forward, below the joined projection.
    monkeypatch.setattr(packed_model, "MIN_PACKED_ENTRIES", D_FF * D_MODEL + 1)
    _, copied = prepare_step(plain.decoder, "float16")
    joined = DECODER_LAYERS * 3 * HEADS * HEAD_WIDTH * D_MODEL
    assert copied == (2 * (joined + TARGET_VOCABULARY * D_MODEL) if can_pack_float16() else 4 * joined)


# Features that a platform can lack. For example, wheels for Apple silicon have no oneDNN linear product.
OPERATORS = (
    "mkldnn._linear_pointwise", "mkldnn._reorder_linear_weight", "quantized.linear_prepack_fp16",
    "quantized.linear_dynamic_fp16", "quantized.linear_dynamic", "quantized.linear_prepack",
)  # fmt: skip
WITHOUT = """
import platform
import sys
import torch
from torch._ops import _OpNamespace

hidden, asked = set(sys.argv[1].split()), set()
find = _OpNamespace.__getattr__

def without(self, name):
    if f"{self.name}.{name}" in hidden:
        asked.add(f"{self.name}.{name}")
        raise AttributeError(f"'_OpNamespace' '{self.name}' object has no attribute '{name}'")
    return find(self, name)

_OpNamespace.__getattr__ = without
for name in hidden:
    getattr(torch.ops, name.partition(".")[0]).__dict__.pop(name.partition(".")[2], None)

import headlight.viz.page  # all that the app imports
from headlight.model.translate import drafting, packed_model
assert not asked, f"looked for at import: {asked}"
packed_model.MIN_PACKED_ENTRIES = drafting.MIN_DECODER_ENTRIES = 1
translator = headlight.Translator.load("assets/models/toy", device="cpu")
text = translator.translate("der hund schläft").text
assert asked or platform.machine().lower() not in ("x86_64", "amd64"), "this would not see a kernel in use"
print(text)
"""


@pytest.mark.slow
@pytest.mark.parametrize("hidden", [*OPERATORS, " ".join(OPERATORS)])
def test_platform_without_kernels_translates(hidden: str) -> None:
    text = Translator.load("assets/models/toy", device="cpu", step_weights="plain").translate("der hund schläft").text
    result = subprocess.run(
        [sys.executable, "-c", WITHOUT, hidden], capture_output=True, text=True, cwd=ROOT, encoding="utf-8"
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == text


# ---------------------------------------------------------------- no more copies than there is room for


def test_copies_respect_limit_and_prefer_steps(pack_all: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_model, "MIN_COPY_BUDGET", 0)
    plain = tiny_model()
    own = count_bytes(plain)
    limit = int(packed_model.COPY_SHARE * own)
    weights = PackedModel(plain, "float16", own)
    packing = weights.packing
    largest = 4 * TARGET_VOCABULARY * D_MODEL
    assert limit - largest < packing.step_bytes + packing.pass_bytes <= limit
    assert packing.step_bytes > packing.pass_bytes
    if can_pack_float16():
        assert "float16 for writing" in packing.reason
    assert "more would be faster, but are read where the model has them" in packing.reason
    expected, actual = steps(plain, plain.decoder).exp(), steps(plain, weights.step).exp()
    assert float((actual - expected).abs().max()) < FLOAT16
    assert_close(whole(plain, weights.passes), whole(plain, plain))


def test_model_without_copies_gives_same_output(pack_all: None) -> None:
    plain = tiny_model()
    (step, for_steps), (passes, for_passes) = (
        prepare_step(plain.decoder, "float16", CopyBudget(0)),
        prepare_passes(plain, CopyBudget(0)),
    )
    assert for_steps == for_passes == 0
    assert_close(steps(plain, step), steps(plain, plain.decoder))
    assert_close(whole(plain, passes), whole(plain, plain))


def test_model_with_all_copies_reports_it(pack_all: None, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "more would be faster" in tiny_translator(step_weights="float16").packing.reason
    monkeypatch.setattr(packed_model, "COPY_SHARE", 4.0)
    translator = tiny_translator(step_weights="float16")
    _, for_steps = prepare_step(translator.model.decoder, "float16")
    assert translator.packing.step_bytes == for_steps
    assert "more would be faster" not in translator.packing.reason
    assert "step_weights is plain" in tiny_translator().packing.reason


def test_steps_and_passes_share_identical_copies(pack_all: None) -> None:
    plain = tiny_model()
    copies = CopyBudget()
    _, for_steps = prepare_step(plain.decoder, "float32", copies)
    _, for_passes = prepare_passes(plain, copies)
    assert 0 < for_passes < prepare_passes(plain)[1]
    assert prepare_passes(plain)[1] <= for_steps + for_passes


@pytest.mark.parametrize("fields", [{"attention_bias": False}, {}], ids=str)
def test_probe_hook_acts_during_decoding(pack_all: None, fields: dict[str, Any]) -> None:
    """The packed decoder has no probes, so it is not used if a hook applies to all runs."""
    plain, fast = tiny_translator(**fields), tiny_translator(step_weights="float16", **fields)
    usual = fast.translate(SENTENCES[2]).text
    for each in (plain, fast):
        probe: Any = each.model.get_submodule("decoder.layers.1.cross_attention.weights")
        probe.register_forward_hook(lambda module, arguments, value: value * 0)
    changed = fast.translate(SENTENCES[2])
    assert changed.text == plain.translate(SENTENCES[2]).text != usual
    assert not changed.attention.cross[1].any()


# ---------------------------------------------------------------- the model stays as it was


@pytest.mark.parametrize("weights", ["float32", "float16"])
def test_packing_and_decoding_do_not_modify_model(pack_all: None, weights: StepWeights) -> None:
    plain = tiny_model(norm="rms", positions="relative")
    before, attributes = copy.deepcopy(plain.state_dict()), {name: set(vars(m)) for name, m in plain.named_modules()}
    expected = steps(plain, plain.decoder)
    twin, _ = prepare_step(plain.decoder, weights)
    steps(plain, twin)
    assert {name: set(vars(m)) for name, m in plain.named_modules()} == attributes
    for name, tensor in plain.state_dict().items():
        assert torch.equal(tensor, before[name]), name
    assert torch.equal(steps(plain, plain.decoder), expected)
    assert all(parameter.requires_grad for parameter in plain.parameters())


def test_packed_decoder_is_stateless(pack_all: None) -> None:
    plain = tiny_model()
    twin, _ = prepare_step(plain.decoder, "float16")
    first = steps(plain, twin)
    names = set(vars(twin))
    assert torch.equal(steps(plain, twin), first)
    assert set(vars(twin)) == names
    assert not isinstance(twin, nn.Module)


def test_packed_decoder_is_in_eval_mode() -> None:
    plain = tiny_model(dropout=0.5, attention_dropout=0.5)
    expected = steps(plain, plain.decoder)
    twin, _ = prepare_step(plain.train().decoder, "float32")
    plain.eval()
    assert_close(steps(plain, twin), expected)


def test_interventions_bypass_packed_decoder(pack_all: None) -> None:
    """The packed decoder has no probes, so interventions cannot act on it."""
    from headlight.model.records import Intervention

    interventions = (Intervention(kind="cross", layer=1, head=None, action="remove"),)
    plain, fast = tiny_translator(), Translator(tiny_model(), *tokenizers(), step_weights="float16")
    fast.step = None  # any call would fail
    for text in SENTENCES[:3]:
        one, other = (each.translate(text, interventions=interventions) for each in (plain, fast))
        assert [token.id for token in one.target_tokens] == [token.id for token in other.target_tokens]
