"""Probes have names, can be watched and edited per run, and leave no state behind."""

from __future__ import annotations

import contextvars
import copy
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from headlight.model.core.attention import MultiHeadAttention
from headlight.model.core.probes import Probe, Watched, all_probes, matching_probes, watch
from headlight.model.core.transformer import Transformer
from headlight.model.errors import ModelError, ProbeError
from tests.compare import assert_close
from tests.sizes import (
    BATCH,
    D_FF,
    D_MODEL,
    DECODER_LAYERS,
    ENCODER_LAYERS,
    HEAD_WIDTH,
    HEADS,
    SOURCE,
    SOURCE_VOCABULARY,
    TARGET,
    TARGET_VOCABULARY,
    small_config,
    tiny_config,
)

ATTENTION = {"queries", "keys", "values", "allowed", "scores", "weights", "mixed"}


@pytest.fixture
def model() -> Transformer:
    return Transformer(small_config()).eval()


@pytest.fixture
def tiny() -> Transformer:
    return Transformer(tiny_config()).eval()


def sentences(rows: int = BATCH) -> tuple[Tensor, Tensor]:
    return torch.randint(3, SOURCE_VOCABULARY, (rows, SOURCE)), torch.randint(3, TARGET_VOCABULARY, (rows, TARGET))


def zeros(value: Tensor, name: str) -> Tensor:
    return torch.zeros_like(value)


def run_together(tasks: list[Callable[[], object]]) -> None:
    threads = [threading.Thread(target=task) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def count_hooks(model: nn.Module) -> int:
    return sum(len(module._forward_hooks) for module in model.modules())


# ---------------------------------------------------------------- names


EMBEDDING_PROBES = ("embedded", "positioned", "stream", "positions.places")  # of an embedding


def test_all_probes_have_names(model: Transformer) -> None:
    expected = set()
    for side, layers in (("encoder", ENCODER_LAYERS), ("decoder", DECODER_LAYERS)):
        expected |= {f"{side}.embedding.{name}" for name in EMBEDDING_PROBES}
        for layer in range(layers):
            for attention in ["self_attention"] + ["cross_attention"] * (side == "decoder"):
                expected |= {f"{side}.layers.{layer}.{attention}.{name}" for name in ATTENTION}
                expected |= {f"{side}.layers.{layer}.around_{attention}.{name}" for name in ("carried", "stream")}
            expected |= {f"{side}.layers.{layer}.around_feed_forward.{name}" for name in ("carried", "stream")}
            expected |= {f"{side}.layers.{layer}.feed_forward.{name}" for name in ("hidden", "output")}
    assert set(all_probes(model)) == expected | {"decoder.output.logits"}


def test_probe_tensors_have_declared_axes(model: Transformer) -> None:
    with watch(model, "**") as seen:
        model(*sentences())
    assert set(seen) == set(all_probes(model))
    for name, probe in all_probes(model).items():
        from_source = name.startswith("encoder")
        keys_of_source = from_source or "cross_attention" in name
        width = {"hidden": D_FF, "queries": HEAD_WIDTH, "keys": HEAD_WIDTH, "values": HEAD_WIDTH, "mixed": HEAD_WIDTH}
        sizes = {
            "batch": BATCH,
            "heads": HEADS,
            "queries": SOURCE if from_source else TARGET,
            "keys": SOURCE if keys_of_source else TARGET,
            "tokens": SOURCE if from_source else TARGET,
            "width": width.get(name.rpartition(".")[2], D_MODEL),
            "vocabulary": TARGET_VOCABULARY,
        }
        assert list(seen[name].shape) == [sizes[axis] for axis in probe.axes], name


def test_model_repr_shows_probes_and_axes(model: Transformer) -> None:
    assert "(weights): Probe(batch heads queries keys)" in repr(model)


# ---------------------------------------------------------------- patterns


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("encoder.layers.1.self_attention.weights", ["encoder.layers.1.self_attention.weights"]),
        (
            "encoder.layers.*.self_attention.weights",
            [f"encoder.layers.{layer}.self_attention.weights" for layer in range(ENCODER_LAYERS)],
        ),
        ("decoder.layers.2.*.weights", [f"decoder.layers.2.{kind}_attention.weights" for kind in ("self", "cross")]),
        ("decoder.layers.2.cross_*.we*ts", ["decoder.layers.2.cross_attention.weights"]),
        ("*.output.logits", ["decoder.output.logits"]),
        ("**.logits", ["decoder.output.logits"]),
        ("decoder.**.logits", ["decoder.output.logits"]),
        ("decoder.output.**.logits", ["decoder.output.logits"]),  # ** also matches nothing
        ("**.decoder.output.logits", ["decoder.output.logits"]),
        ("**.embedded", ["encoder.embedding.embedded", "decoder.embedding.embedded"]),
    ],
)
def test_patterns_match_path_components(model: Transformer, pattern: str, expected: list[str]) -> None:
    assert list(matching_probes(model, pattern)) == expected


def test_double_star_matches_everything_and_star_stops_at_dot(model: Transformer) -> None:
    assert matching_probes(model, "**") == all_probes(model)
    assert len(matching_probes(model, "encoder.**")) == sum(name.startswith("encoder.") for name in all_probes(model))
    with pytest.raises(ProbeError):
        matching_probes(model, "*")
    with pytest.raises(ProbeError):
        matching_probes(model, "encoder.*.weights")


def test_pattern_characters_are_literal(model: Transformer) -> None:
    for pattern in ("encoder.layers.[0-9].self_attention.weights", "encoder.layers.?.self_attention.weights", "(", ""):
        with pytest.raises(ProbeError):
            matching_probes(model, pattern)
    with pytest.raises(ProbeError):
        matching_probes(model, "encoder.layers.0.self_attention.weight")  # names are matched completely
    with pytest.raises(ProbeError):
        matching_probes(model, "encoderXembedding.embedded")


def test_standalone_attention_probes_have_no_path() -> None:
    attention = MultiHeadAttention(D_MODEL, HEADS)
    assert set(all_probes(attention)) == ATTENTION
    assert list(matching_probes(attention, "**.weights")) == ["weights"]


def test_overlapping_patterns_are_merged(model: Transformer) -> None:
    names = ["decoder.output.logits", "encoder.embedding.embedded", "decoder.embedding.embedded"]
    assert list(matching_probes(model, "**.logits", "**.embedded", "decoder.output.*")) == names
    with watch(model, "**.logits", "decoder.**") as seen:
        model(*sentences())
    assert len(seen.passes("decoder.output.logits")) == 1


def test_unmatched_pattern_error_suggests_nearest(model: Transformer) -> None:
    with (
        pytest.raises(ProbeError) as error_info,
        watch(model, "encoder.layers.0.self_attention.weights", "encoder.layers.0.self_atention.weigths"),
    ):
        pytest.fail("nothing is watched when one pattern of several matches nothing")
    message = str(error_info.value)
    assert message.startswith("No probe matches 'encoder.layers.0.self_atention.weigths'. Nearest: ")
    assert "Nearest: encoder.layers.0.self_attention.weights," in message
    assert count_hooks(model) == 0
    assert issubclass(ProbeError, ModelError)


def test_model_without_probes_raises() -> None:
    with pytest.raises(ProbeError, match="No probe matches 'weights': this model has none"):
        matching_probes(nn.Linear(2, 3), "weights")


# ---------------------------------------------------------------- reading


def test_unwatched_probe_returns_same_object() -> None:
    probe, value = Probe("batch width"), torch.randn(2, 3)
    assert probe(value) is value
    with watch(nn.ModuleList([probe]), "0") as seen:
        assert probe(value) is value
        assert seen["0"] is value
    assert probe(value) is value


def test_all_passes_are_recorded_in_order(tiny: Transformer) -> None:
    name = "decoder.output.logits"
    source, target = sentences()
    with watch(tiny, name) as seen:
        assert not seen
        assert seen.passes(name) == []
        outputs = [tiny(source, target[:, :length]) for length in (2, 5, 3)]
    assert [passed.shape[1] for passed in seen.passes(name)] == [2, 5, 3]
    assert all(passed is output for passed, output in zip(seen.passes(name), outputs, strict=True))
    assert seen[name] is outputs[-1]
    assert dict(seen) == {name: outputs[-1]}
    assert len(seen) == 1


def test_records_outlive_block_and_stop_growing(tiny: Transformer) -> None:
    with watch(tiny, "**.weights") as seen:
        tiny(*sentences())
    tiny(*sentences())
    assert all(len(seen.passes(name)) == 1 for name in seen)


def test_watching_does_not_change_results(model: Transformer) -> None:
    source, target = sentences()
    source[2, 5:] = model.config.pad_id
    plain = model(source, target)
    with watch(model, "**"):
        assert_close(model(source, target), plain)


# ---------------------------------------------------------------- editing


def test_edit_replaces_tensor(model: Transformer) -> None:
    """With zero weights, only the bias of the output projection is left."""
    name = "encoder.layers.1.self_attention.weights"
    with watch(model, name, edit=zeros) as seen, watch(model, "encoder.layers.1.self_attention.mixed") as mixed:
        model(*sentences())
    assert (seen[name] == 0).all()
    assert (mixed["encoder.layers.1.self_attention.mixed"] == 0).all()


def test_edit_of_one_head_keeps_others(model: Transformer) -> None:
    def silence(value: Tensor, name: str) -> Tensor:
        head = torch.arange(HEADS)[:, None, None] == 3
        return value.masked_fill(head, 0.0)

    source, _ = sentences()
    with watch(model, "encoder.layers.0.self_attention.mixed") as before:
        model.encode(source)
    with (
        watch(model, "encoder.layers.0.self_attention.weights", edit=silence),
        watch(model, "encoder.layers.0.self_attention.mixed") as after,
    ):
        model.encode(source)
    mixed, plain = after["encoder.layers.0.self_attention.mixed"], before["encoder.layers.0.self_attention.mixed"]
    assert (mixed[:, 3] == 0).all()
    others = [head for head in range(HEADS) if head != 3]
    assert_close(mixed[:, others], plain[:, others])


def test_edit_receives_probe_name(model: Transformer) -> None:
    names: list[str] = []

    def note(value: Tensor, name: str) -> Tensor:
        names.append(name)
        return value

    with watch(model, "encoder.layers.*.around_*.stream", edit=note):
        model(*sentences())
    steps = ("around_self_attention", "around_feed_forward")
    assert names == [f"encoder.layers.{layer}.{step}.stream" for layer in range(ENCODER_LAYERS) for step in steps]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda value, name: value[0], r"float32 \[7, 17, 17\] on cpu"),
        (lambda value, name: value.mean(dim=1, keepdim=True), r"float32 \[5, 1, 17, 17\] on cpu"),
        (lambda value, name: value.double(), r"float64 \[5, 7, 17, 17\] on cpu"),
        (lambda value, name: value.to("meta"), r"float32 \[5, 7, 17, 17\] on meta"),
        (lambda value, name: None, "'NoneType'"),
        (lambda value, name: value.numpy(), "'ndarray'"),
        (lambda value, name: 0.0, "'float'"),
    ],
    ids=["shape", "broadcastable shape", "dtype", "device", "nothing", "array", "number"],
)
def test_edit_with_wrong_shape_raises(model: Transformer, wrong: Callable[[Tensor, str], Any], message: str) -> None:
    name = "encoder.layers.0.self_attention.weights"
    expected = (
        rf"The edit of {name} returned {message}, but float32 \[5, 7, 17, 17\] on cpu \(batch heads queries keys\)"
    )
    with torch.inference_mode(), pytest.raises(ProbeError, match=expected), watch(model, name, edit=wrong):
        model(*sentences())
    assert count_hooks(model) == 0


# ---------------------------------------------------------------- nesting


def test_nested_watches_apply_outer_edit_first() -> None:
    module = nn.ModuleList([Probe("numbers")])
    one = torch.tensor([1.0])
    with (
        watch(module, "0") as before,
        watch(module, "0", edit=lambda value, name: value + 10) as outer,
        watch(module, "0") as between,
        watch(module, "0", edit=lambda value, name: value * 2) as inner,
        watch(module, "0") as after,
    ):
        assert module[0](one).item() == (1 + 10) * 2
    assert [seen["0"].item() for seen in (before, outer, between, inner, after)] == [1, 11, 11, 22, 22]


def test_closing_inner_watch_keeps_outer() -> None:
    module = nn.ModuleList([Probe("numbers")])
    one = torch.tensor([1.0])
    with watch(module, "0", edit=lambda value, name: value + 10) as outer:
        with watch(module, "0", edit=lambda value, name: value * 2):
            module[0](one)
        assert module[0](one).item() == 11
        with watch(module, "0", edit=lambda value, name: value * 3):
            assert module[0](one).item() == 33
    assert module[0](one) is one
    assert [passed.item() for passed in outer.passes("0")] == [11, 11, 11]


def test_watches_of_two_models_are_independent(tiny: Transformer) -> None:
    other = copy.deepcopy(tiny)
    source, target = sentences()
    with watch(tiny, "**.weights", edit=zeros) as seen, watch(other, "**.weights") as seen_by_other:
        assert not torch.equal(tiny(source, target), other(source, target))
    assert all((seen[name] == 0).all() for name in seen)
    assert all((seen_by_other[name].sum(dim=-1) > 0.99).all() for name in seen_by_other)


# ---------------------------------------------------------------- nothing stays behind


def snapshot(model: nn.Module) -> dict[str, Any]:
    """Return all attributes of all modules: tensors by identity and version, others by content."""

    def frozen(value: Any) -> Any:
        if isinstance(value, Tensor):
            return id(value), value._version
        if isinstance(value, nn.Module):
            return id(value)
        if isinstance(value, dict):
            return {key: frozen(item) for key, item in value.items()}
        if isinstance(value, list | tuple | set):
            return [frozen(item) for item in value]
        return value

    return {name: frozen(vars(module)) for name, module in model.named_modules()}


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "alibi", "relative"])
def test_no_hooks_remain_after_forward_or_capture(positions: str) -> None:
    model = Transformer(small_config(positions=positions)).eval()
    source, target = sentences()
    before = snapshot(model)
    model(source, target)
    assert snapshot(model) == before
    with watch(model, "**"):
        model(source, target)
    assert snapshot(model) == before
    with torch.inference_mode(), watch(model, "**.weights", edit=zeros):
        state = model.decoder.new_state(model.encode(source), cached=True)
        for word in target.split(1, dim=1):
            model.decoder(word, state)
    assert snapshot(model) == before
    with watch(model, "**"):
        assert snapshot(model) != before, "this test would not see a hook left behind"


def test_hooks_are_removed_after_exception(model: Transformer) -> None:
    class BrokenError(Exception):
        pass

    def broken(value: Tensor, name: str) -> Tensor:
        raise BrokenError

    source, target = sentences()
    plain = model(source, target)
    with pytest.raises(BrokenError), watch(model, "**", edit=zeros), watch(model, "**.logits", edit=broken):
        model(source, target)
    assert count_hooks(model) == 0
    assert not any(probe.watched for probe in all_probes(model).values())
    assert torch.equal(model(source, target), plain)


def test_only_watched_probes_have_hooks(model: Transformer) -> None:
    weights, scores = model.encoder.layers[0].self_attention.weights, model.encoder.layers[0].self_attention.scores
    assert not weights.watched
    with watch(model, "**.weights"):
        assert weights.watched
        assert not scores.watched
    assert not weights.watched


# ---------------------------------------------------------------- each run its own


def test_watch_is_thread_local(tiny: Transformer) -> None:
    source, target = sentences()
    plain = tiny(source, target)
    results: list[Any] = []

    def elsewhere() -> None:
        weights = tiny.encoder.layers[0].self_attention.weights
        results.extend([tiny(source, target), weights.watched])

    with watch(tiny, "**", edit=zeros) as seen:
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    assert torch.equal(results[0], plain)
    assert results[1] is False
    assert not seen


def test_concurrent_edits_give_correct_values() -> None:
    model = Transformer(tiny_config()).eval()
    source, target = torch.randint(3, SOURCE_VOCABULARY, (2, 3)), torch.randint(3, TARGET_VOCABULARY, (2, 2))
    first, second = "encoder.layers.0.self_attention.weights", "decoder.layers.0.cross_attention.weights"

    def ablated(*names: str) -> Tensor:
        with watch(model, *names, edit=zeros):
            return model(source, target)

    def looked_at(*names: str) -> Tensor:
        with watch(model, *names) as seen:
            logits = model(source, target)
        if [len(seen.passes(name)) for name in names] != [1] * len(names):
            raise AssertionError(f"saw {[len(seen.passes(name)) for name in names]} passes instead of one each")
        if not all(bool((seen[name].sum(dim=-1) > 0.99).all()) for name in names):
            raise AssertionError("saw the ablated weights of another thread")
        return logits

    def plain() -> Tensor:
        return model(source, target)

    ways: list[Callable[[], Tensor]] = [
        lambda: ablated(first),
        lambda: ablated(first, second),
        plain,
        lambda: looked_at(first),
    ]
    with torch.inference_mode():
        expected = [way() for way in ways]
    assert not torch.equal(expected[0], expected[1])
    assert not torch.equal(expected[0], expected[2])

    wrong: list[str] = []
    runs = [0] * len(ways)
    together = threading.Barrier(len(ways))

    def work(index: int) -> None:
        together.wait()
        with torch.inference_mode():
            for _ in range(500):
                try:
                    if not torch.equal(ways[index](), expected[index]):
                        wrong.append(f"thread {index}, run {runs[index]}")
                except Exception as error:
                    wrong.append(f"thread {index}: {error!r}")
                runs[index] += 1

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # switch threads within a forward pass
    try:
        run_together([partial(work, index) for index in range(len(ways))])
    finally:
        sys.setswitchinterval(interval)
    assert not wrong, wrong[:5]
    assert sum(runs) == 2_000
    assert count_hooks(model) == 0


def test_concurrency_test_detects_leaking_hook(tiny: Transformer) -> None:
    """Counterexample: a plain forward hook affects runs of other threads."""
    source, target = sentences()
    plain = tiny(source, target)
    results: list[Tensor] = []
    handle = tiny.decoder.output.logits.register_forward_hook(lambda module, arguments, value: value * 0)
    thread = threading.Thread(target=lambda: results.append(tiny(source, target)))
    thread.start()
    thread.join()
    handle.remove()
    assert not torch.equal(results[0], plain)


@pytest.mark.parametrize("name", ["encoder.layers.0.self_attention.weights", "decoder.output.logits"])
def test_pytorch_hooks_are_called_and_can_change_output(tiny: Transformer, name: str) -> None:
    """A hook on an unwatched probe also selects the explicit path."""
    source, target = sentences()
    plain, passed = tiny(source, target), []
    with watch(tiny, name) as seen:
        tiny(source, target)
    probe = tiny.get_submodule(name)
    handle = probe.register_forward_hook(lambda module, arguments, value: passed.append(value))
    assert_close(tiny(source, target), plain)
    handle.remove()
    assert len(passed) == 1
    assert_close(passed[0], seen[name])
    handle = probe.register_forward_hook(lambda module, arguments, value: value * 0)
    assert not torch.allclose(tiny(source, target), plain)
    handle.remove()
    assert torch.equal(tiny(source, target), plain)


def test_watch_sees_output_of_pre_hook(tiny: Transformer) -> None:
    name = "encoder.layers.0.self_attention.weights"
    source, target = sentences()
    plain = tiny(source, target)
    handle = tiny.get_submodule(name).register_forward_pre_hook(lambda module, arguments: (arguments[0] * 0,))
    changed = tiny(source, target)
    assert not torch.allclose(changed, plain)
    with watch(tiny, name) as seen:
        assert_close(tiny(source, target), changed)
    assert not seen[name].any()
    handle.remove()
    assert torch.equal(tiny(source, target), plain)


@pytest.mark.parametrize("kind", ["register_full_backward_hook", "register_full_backward_pre_hook"])
def test_backward_hook_is_called(tiny: Transformer, kind: str) -> None:
    gradients: list[Any] = []
    probe = tiny.get_submodule("encoder.layers.0.self_attention.weights")
    handle = getattr(probe, kind)(lambda module, *arguments: gradients.extend(arguments))
    tiny(*sentences()).sum().backward()
    assert gradients
    assert all(len(each) == 1 and each[0] is not None for each in gradients)
    handle.remove()


def test_watches_are_opened_serially(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch numbers hooks with an unguarded counter: two that register at once may become one."""
    module, one = nn.ModuleList([Probe("numbers")]), torch.ones(1)
    register, inside, overlaps, seen_by = Probe.register_forward_hook, threading.Lock(), [], []

    def slowly(self: Probe, hook: Any) -> Any:
        acquired = inside.acquire(blocking=False)
        overlaps.append(not acquired)
        time.sleep(0.002)
        handle = register(self, hook)
        if acquired:
            inside.release()
        return handle

    monkeypatch.setattr(Probe, "register_forward_hook", slowly)

    def work() -> None:
        for _ in range(5):
            with watch(module, "0") as seen:
                module[0](one)
            seen_by.append(len(seen.passes("0")))

    run_together([work] * 4)
    assert overlaps == [False] * 20
    assert seen_by == [1] * 20


def test_other_hooks_can_change_during_edit() -> None:
    module, one = nn.ModuleList([Probe("numbers")]), torch.ones(1)

    def from_elsewhere() -> None:
        with watch(module, "0", edit=zeros):
            module[0](one)

    def disturbed(value: Tensor, name: str) -> Tensor:
        run_together([from_elsewhere] * 3)
        return value + 1

    def broken(value: Tensor, name: str) -> Tensor:
        run_together([from_elsewhere] * 3)
        raise ProbeError("for a reason")

    with watch(module, "0", edit=disturbed), watch(module, "0", edit=disturbed) as seen:
        assert module[0](one).item() == 3.0
        assert len(seen.passes("0")) == 1
        with pytest.raises(ProbeError, match="for a reason"), watch(module, "0", edit=broken):
            module[0](one)
    assert count_hooks(module) == 0


def test_watch_in_generator_stays_in_its_context(tiny: Transformer) -> None:
    """A server may resume a generator in another context. There, the watch is inactive and does not leak."""
    source, target = sentences()
    plain = tiny(source, target)

    def translating() -> Iterator[tuple[Tensor, Watched]]:
        with watch(tiny, "**.weights", edit=zeros) as seen:
            while True:
                yield tiny(source, target), seen

    generator = translating()
    here, elsewhere = contextvars.copy_context(), contextvars.copy_context()
    output, seen = here.run(next, generator)
    assert not torch.equal(output, plain)
    assert all(len(seen.passes(name)) == 1 for name in seen)
    output, seen = elsewhere.run(next, generator)
    assert torch.equal(output, plain)
    assert all(len(seen.passes(name)) == 1 for name in seen)
    with pytest.raises(ValueError, match="different Context"):
        elsewhere.run(generator.close)
    assert count_hooks(tiny) == 0


def test_copied_context_shares_watch(tiny: Transformer) -> None:
    """A helper thread with a copied context belongs to the same run."""
    results: list[bool] = []
    weights = tiny.encoder.layers[0].self_attention.weights
    with watch(tiny, "**.weights"):
        context = contextvars.copy_context()
        thread = threading.Thread(target=lambda: results.append(context.run(lambda: weights.watched)))
        thread.start()
        thread.join()
    assert results == [True]


def test_probes_are_not_in_state_dict(tiny: Transformer) -> None:
    assert not [name for name in tiny.state_dict() if name in all_probes(tiny)]
    assert not list(tiny.decoder.output.logits.parameters())
