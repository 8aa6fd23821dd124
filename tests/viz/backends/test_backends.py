"""All backends give equal answers, and handle lost, slow and busy machines."""

from __future__ import annotations

import ast
import copy
import json
import pickle
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from threading import Event, Semaphore
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from headlight.model.errors import ModelError
from headlight.model.experiments.importance import list_all_parts
from headlight.model.experiments.queries import measure_negation
from headlight.model.records import KINDS, Progress, Translation
from headlight.model.translate.translator import Translator
from headlight.viz.backends import cluster_backend as cluster_module
from headlight.viz.backends.choice import choose_backend
from headlight.viz.backends.cluster_backend import ClusterBackend
from headlight.viz.backends.remote_calls import RemoteCall, decode_call, encode_call, read_frame
from headlight.viz.backends.remote_functions import REMOTE_FUNCTIONS, function_name
from headlight.viz.backends.zero_gpu import ZeroGpuBackend
from headlight.viz.errors import PageError
from headlight.viz.lessons.experiment_server import EXPERIMENTS, make_experiment_call
from headlight.viz.lessons.tensors import make_tensors_call
from headlight.viz.server.metrics import ServerMonitor
from headlight.viz.service.backend import LocalBackend
from headlight.viz.service.record_codec import DecodeError, encode
from headlight.viz.service.service import Service
from headlight.viz.settings import Settings
from headlight.viz.tabs.attribution import make_erasure_curve_call, make_logit_call, make_method_call
from headlight.viz.tabs.heads import make_links_call
from headlight.viz.tabs.positions import encoding_json
from headlight.viz.tabs.whatif import make_importance_call, make_pruning_search_call
from headlight.viz.tabs.whatif import make_pruning_curve_call as pruning_curve_of
from headlight.viz.tabs.why import make_row_call, make_stream_call
from tests.viz.backends.machine import Machine, served

ROOT = Path(__file__).resolve().parents[3]

TEXT = "ich mochte ein bier"
TOY = Settings(model="toy")
PAIR = ["ich mochte ein bier", "i want a beer .", "0-0 1-1 2-2 3?3"]
REQUEST = {"text": TEXT, "model": "toy"}
PLACE = {"kind": "cross", "layer": 0, "head": 1, "row": 1, "column": 1}


def on(machine: Machine) -> Service:
    """Return a service whose models are on a machine."""
    return Service(replace(TOY, backend="ray", ray_address=machine.address), choose_backend)


@pytest.fixture(scope="module")
def here() -> Service:
    return Service(TOY, choose_backend)


@pytest.fixture
def machine() -> Iterator[Machine]:
    with served() as running:
        yield running


@pytest.fixture(scope="module", params=["here", "lent", "cluster"])
def service(request: pytest.FixtureRequest) -> Iterator[Service]:
    with ExitStack() as stack:
        if request.param == "cluster":
            created = on(stack.enter_context(served()))
            assert isinstance(created.backend, ClusterBackend)
        else:
            patched = stack.enter_context(pytest.MonkeyPatch.context())
            if request.param == "lent":
                patched.setitem(sys.modules, "spaces", spaces())
            created = Service(TOY, choose_backend)
            assert isinstance(created.backend, ZeroGpuBackend if request.param == "lent" else LocalBackend)
        yield created


def spaces() -> ModuleType:
    """Return a stub of `spaces` whose calls copy their data, as calls in another process do."""

    def gpu(duration: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def lend(function: Callable[..., Any]) -> Callable[..., Any]:
            def elsewhere(*arguments: Any) -> Any:
                return pickle.loads(pickle.dumps(function(*pickle.loads(pickle.dumps(arguments)))))  # noqa: S301

            return elsewhere

        return lend

    module = ModuleType("spaces")
    module.GPU = gpu  # type: ignore[attr-defined]
    return module


def same(one: Translation, other: Translation) -> None:
    assert (one.request, one.text, one.target_tokens) == (other.request, other.text, other.target_tokens)
    assert (one.tree, one.hypotheses, one.score) == (other.tree, other.hypotheses, other.score)
    assert one.reliability == other.reliability
    for kind in KINDS:
        assert np.array_equal(one.attention.of(kind), other.attention.of(kind))
        assert not other.attention.of(kind).flags.writeable
    assert {name: array.tolist() for name, array in one.positions.items()} == {
        name: array.tolist() for name, array in other.positions.items()
    }


def stream_steps(service: Service, **more: Any) -> list[Progress]:
    return list(service.stream(service.check({"text": TEXT, **more}), Event()))


# ---------------------------------------------------------------- the same everywhere


def test_translation_is_equal_on_all_backends(service: Service, here: Service) -> None:
    request = service.check({"text": TEXT, "beam_size": 3})
    assert request == here.check({"text": TEXT, "beam_size": 3})
    same(here.translate(request), service.translate(request))


def test_progress_is_streamed_if_supported(service: Service) -> None:
    ours, theirs = stream_steps(Service(TOY, choose_backend), beam_size=4), stream_steps(service, beam_size=4)
    assert theirs[-1].translation is not None
    same(ours[-1].translation, theirs[-1].translation)  # type: ignore[arg-type]
    if not isinstance(service.backend, ZeroGpuBackend):
        assert [(each.text, each.tokens) for each in theirs] == [(each.text, each.tokens) for each in ours]


CALLS: Mapping[str, Callable[[Service], Any]] = {
    "erasure": lambda on: make_method_call(on)({"request": REQUEST, "method": "erasure", "places": [1]}),
    "aligning": lambda on: make_method_call(on)({"request": REQUEST, "method": "aligning", "places": [1, 2]}),
    "hidden words": lambda on: make_erasure_curve_call(on)({"request": REQUEST, "places": [1], "chance": 2}),
    "inside": lambda on: make_logit_call(on)({"request": REQUEST, "token": 2}),
    "row": lambda on: make_row_call(on)({"request": REQUEST, **PLACE}),
    "stream": lambda on: make_stream_call(on)({"request": REQUEST, **PLACE}),
    "stream of the encoder": lambda on: make_stream_call(on)({"request": REQUEST, **PLACE, "kind": "encoder"}),
    "importance": lambda on: make_importance_call(on)({"request": REQUEST}),
    "pruning": lambda on: pruning_curve_of(on)({"request": REQUEST}),
    "heads off": lambda on: make_pruning_search_call(on)({"request": REQUEST, "order": order(on), "first": 1}),
    "links": lambda on: make_links_call(on)({"model": "toy", "rows": [PAIR]}),
    "positions": lambda on: encoding_json(on, {"model": "toy", "theme": "light", "language": "en", "length": 7}),
    "tensors": lambda on: make_tensors_call(on)({"request": REQUEST, "names": tensors()}),
    "verdict": lambda on: on.classify("a bad film .").log_odds,
    "not": lambda on: on.run_on_classifier(measure_negation, "good").log_odds_without_head.tolist(),
    **{
        f"{lesson} {step}": lambda on, lesson=lesson, step=step: make_experiment_call(on)(  # type: ignore[misc]
            {"request": REQUEST, "lesson": lesson, "step": step}
        )
        for lesson, step in EXPERIMENTS
        if lesson != "train" and step != "trained"  # these train separate models locally
    },
}


def order(service: Service) -> list[dict[str, Any]]:
    heads = [part for part in list_all_parts(service.model_info().model.config) if part.head is not None]
    return [{"kind": part.kind, "layer": part.layer, "head": part.head} for part in heads]


def tensors() -> list[str]:
    layer = "encoder.layers.0"
    return ["encoder.memory", f"{layer}.self_attention.attended", f"{layer}.around_feed_forward.normed"]


@pytest.mark.slow(after=8)
@pytest.mark.parametrize("name", CALLS)
def test_tab_results_are_equal_on_all_backends(name: str, service: Service, here: Service) -> None:
    actual, expected = (copy.deepcopy(CALLS[name](each)) for each in (service, here))
    for each in (actual, expected):
        if isinstance(each, dict):
            each.pop("ms", None)  # how long it took
    assert json.dumps(actual, sort_keys=True) == json.dumps(expected, sort_keys=True)


def test_errors_are_propagated_unchanged(service: Service) -> None:
    request = replace(service.check(REQUEST), capture=("encoder.nothing",))  # past every check
    for ask in (lambda: service.translate(request), lambda: list(service.stream(request, Event()))):
        with pytest.raises(PageError) as error:
            ask()
        with pytest.raises(ModelError) as own:
            Translator.load("toy", device="cpu").translate(request)
        assert str(own.value) in str(error.value)


def test_only_listed_functions_are_callable(service: Service) -> None:
    assert all(function_name(work) == name for name, work in REMOTE_FUNCTIONS.items())
    if type(service.backend) is not LocalBackend:  # in this process, nothing crosses
        with pytest.raises(LookupError):
            service.run_on_translator("", print)


def test_every_model_function_of_the_page_is_listed() -> None:
    """A missing function would run locally, but fail on ZeroGPU and on a cluster."""
    names = set()
    for path in (ROOT / "viz").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            place = {"run_on_translator": 1, "run_on_classifier": 0}.get(node.func.attr)
            if place is not None and node.args:
                names.add(ast.unparse(node.args[place]).rpartition(".")[2])
    assert len(names) > 15
    assert names - {"work", "operation"} <= {name.rpartition(".")[2] for name in REMOTE_FUNCTIONS}


# ---------------------------------------------------------------- another machine


def test_page_with_cluster_loads_no_weights(machine: Machine) -> None:
    page = on(machine)
    page.translate(page.check(REQUEST))
    page.classify("a bad film .")
    assert [key[0] for key in page.loaded.cache.keys()] == ["model info"]  # type: ignore[index]  # noqa: SIM118
    assert {each.device.type for each in page.model_info().model.parameters()} == {"meta"}
    assert machine.models.cache.bytes > page.loaded.cache.bytes


def test_lost_replica_is_retried_without_repeated_progress(
    machine: Machine, here: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_module, "RETRY_DELAY_SECONDS", 0.0)
    machine.dies_after = [3]
    steps = stream_steps(on(machine))
    assert [each.text for each in steps] == [each.text for each in stream_steps(Service(TOY, choose_backend))]
    assert [each.step for each in steps[:-1]] == sorted({each.step for each in steps[:-1]})
    assert machine.calls == ["stream", "stream"]
    machine.dies_after = [0]
    page = on(machine)
    same(here.translate(page.check(REQUEST)), page.translate(page.check(REQUEST)))


def test_second_loss_is_reported(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "RETRY_DELAY_SECONDS", 0.0)
    machine.dies_after = [2, 1]
    with pytest.raises(PageError) as error:
        stream_steps(on(machine))
    assert (error.value.word, len(machine.calls)) == ("cluster_lost", 2)


def test_unreachable_cluster_is_reported_and_recovers(here: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "RETRY_DELAY_SECONDS", 0.0)
    monkeypatch.setattr(cluster_module, "BACK_OFF_SECONDS", 0.0)
    with served() as machine:
        page = on(machine)
        request = page.check(REQUEST)
        machine.status = 404  # the proxy is there, and no application
        with pytest.raises(PageError) as error:
            page.translate(request)
        assert error.value.word == "cluster_gone"
        machine.status, machine.dies_after = 500, []
        with pytest.raises(PageError) as error:
            page.translate(request)
        assert error.value.word == "cluster_lost"  # a machine has begun with it
    for ask in (lambda: page.translate(request), lambda: stream_steps(page), lambda: page.classify("a bad film .")):
        with pytest.raises(PageError) as error:
            ask()
        assert error.value.word == "cluster_gone"
    with served(int(machine.address.rpartition(":")[2])) as back:
        same(here.translate(request), page.translate(request))
        assert back.calls == ["Translator.translate"]


def test_requests_fail_fast_while_cluster_is_unreachable(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "RETRY_DELAY_SECONDS", 0.0)
    now = [0.0]
    monkeypatch.setattr(cluster_module, "time", SimpleNamespace(monotonic=lambda: now[0]))
    page = on(machine)
    request = page.check(REQUEST)
    machine.status = 404
    assert isinstance(page.backend, ClusterBackend)
    now[0] = 50.0
    for back in (404, 200):  # it is back, but was not looked at
        machine.status = back
        with pytest.raises(PageError) as error:
            page.translate(request)
        assert error.value.word == "cluster_gone"
    now[0] += 1.01 * cluster_module.BACK_OFF_SECONDS
    assert page.translate(request).text


def test_busy_cluster_is_reported_without_retry(machine: Machine) -> None:
    machine.busy = True
    page = on(machine)
    with pytest.raises(PageError) as error:
        stream_steps(page)
    assert error.value.word == "cluster_busy"
    with pytest.raises(PageError):
        page.translate(page.check(REQUEST))
    assert machine.calls == []
    machine.busy = False
    assert page.translate(page.check(REQUEST)).text  # and nothing of the refusal stays


def test_disconnect_stops_replica(machine: Machine) -> None:
    page = on(machine)
    machine.gate = Semaphore(2)
    stop = Event()
    with closing(page.stream(page.check(REQUEST), stop)) as steps:
        first, second = next(steps), next(steps)
        assert (first.step, second.step) == (1, 2)
        stop.set()
        assert next(steps, None) is None
    for _ in range(100):
        machine.gate.release()
    assert machine.noticed.wait(60)
    assert b"a" not in machine.sent  # no answer was computed


def test_disconnect_during_silence_returns_immediately(machine: Machine) -> None:
    page = on(machine)
    machine.gate = Semaphore(0)  # it never says a word
    stop = Event()
    stop.set()
    request = page.check(REQUEST)
    assert list(page.backend.stream(page.catalogue.card("toy", "transformer"), request, stop)) == []
    machine.gate.release(100)


def test_readiness_includes_cluster(machine: Machine) -> None:
    page = on(machine)
    watch = ServerMonitor(None, page)  # type: ignore[arg-type]
    assert page.backend.health_problems() == {}
    machine.routes = b"{}"
    assert page.backend.health_problems() == {"cluster": "has no application"}
    gone = Service(replace(TOY, backend="ray", ray_address="http://127.0.0.1:9"), choose_backend)
    assert gone.backend.health_problems() == {"cluster": "does not answer"}
    assert watch.service.backend.health_problems() != {}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\x80\x04}",
        encode(("transformer", "toy", "r", "eval", ("1",))),
        encode(("transformer", "toy", "r", "stream", "text")),
        encode(("transformer", "toy", 3, "stream", ())),
        encode({"work": "stream"}),
    ],
)
def test_invalid_call_is_rejected(body: bytes) -> None:
    with pytest.raises(DecodeError):
        decode_call(body)


def test_call_roundtrips_and_model_fits_header() -> None:
    call = RemoteCall("transformer", "maß:3/ü", "abc", "stream", ("x",))
    assert decode_call(encode_call(call)) == call
    assert call.model_id.isascii()


def test_truncated_frame_raises() -> None:
    for truncated in (b"a\x05", b"a" + (5).to_bytes(8, "little") + b"abc", b"a" + b"\xff" * 8):
        data = iter([truncated])
        with pytest.raises(EOFError):
            read_frame(lambda _, data=data: next(data, b""))  # type: ignore[misc]
    assert read_frame(lambda _: b"") is None
