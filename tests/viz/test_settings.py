"""Settings: reading, validation, and documentation."""

from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path

import pytest

from headlight.model.families.hub.download_plan import MAX_MEGABYTES
from headlight.model.families.hub.model_id import read_id
from headlight.viz.settings import (
    ANY_MODEL,
    SETTINGS,
    Settings,
    SettingsError,
    check_can_bind,
    load_hub_list,
    read_settings,
)

LISTED = tuple(each["id"] for each in load_hub_list())


def test_empty_environment_gives_defaults() -> None:
    usual = replace(Settings(), models=(*LISTED, ANY_MODEL))
    assert read_settings({}) == usual
    assert read_settings({"HEADLIGHT_PORT": "", "HEADLIGHT_MODEL": "  "}) == usual


def test_all_settings_are_read(tmp_path: Path) -> None:
    environ = {
        "HEADLIGHT_MODEL": "toy",
        "HEADLIGHT_MAX_CHARACTERS": "211",
        "HEADLIGHT_MAX_TOKENS": "31",
        "HEADLIGHT_MAX_BEAM": "7",
        "HEADLIGHT_CACHE_MB": "0",
        "HEADLIGHT_MAX_REQUEST_KB": "17",
        "HEADLIGHT_CONCURRENCY": "3",
        "HEADLIGHT_HOST": "0.0.0.0",  # noqa: S104
        "HEADLIGHT_PORT": " 7861 ",
        "HEADLIGHT_MODELS_FOLDER": str(tmp_path),
        "HEADLIGHT_MODELS": "me/one, me/two@v1,me/one",
        "HEADLIGHT_MODELS_MB": "499",
        "HEADLIGHT_MAX_ANSWER_MB": "13",
        "HEADLIGHT_LINE": "5",
        "HEADLIGHT_MAX_WAIT_S": "7",
        "HEADLIGHT_HUB_MB": "997",
        "HEADLIGHT_CACHE_URL": "redis://127.0.0.1:6379/0",
        "HEADLIGHT_CACHE_KEY": "sixteen or more characters",
        "HEADLIGHT_METRICS_PORT": "9091",
        "HEADLIGHT_METRICS_HOST": "::1",
        "HEADLIGHT_LOG": "json",
        "HEADLIGHT_BACKEND": "ray",
        "HEADLIGHT_RAY_ADDRESS": "http://ray:8001",
        "HEADLIGHT_ALLOWED_HOSTS": "me.example",
        "HEADLIGHT_FRAMES": "https://me.example:81/, https://you.example",
    }
    assert read_settings(environ) == Settings(
        model="toy",
        max_characters=211,
        max_tokens=31,
        max_beam=7,
        cache_mb=0,
        max_request_kb=17,
        concurrency=3,
        host="0.0.0.0",  # noqa: S104
        port=7861,
        models_folder=tmp_path.resolve(),
        models=("me/one", "me/two@v1"),
        models_mb=499,
        max_answer_mb=13,
        line=5,
        max_wait_s=7,
        hub_mb=997,
        cache_url="redis://127.0.0.1:6379/0",
        cache_key="sixteen or more characters",
        metrics_port=9091,
        metrics_host="::1",
        log="json",
        backend="ray",
        ray_address="http://ray:8001",
        allowed_hosts=("me.example",),
        frames=("https://me.example:81", "https://you.example"),
    )
    assert {setting.name for setting in SETTINGS} == set(environ)


def test_environment_is_read_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADLIGHT_MAX_BEAM", "5")
    assert read_settings().max_beam == 5


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("HEADLIGHT_PORT", "0", "from 1 to 65535"),
        ("HEADLIGHT_PORT", "seven", "'seven'"),
        ("HEADLIGHT_PORT", "٧٨٦٠", "whole number"),
        ("HEADLIGHT_MAX_BEAM", "-1", "from 1 to 64"),
        ("HEADLIGHT_MAX_TOKENS", "2.5", "from 2 to 4096"),
        ("HEADLIGHT_MAX_CHARACTERS", "9" * 5000, "from 1 to 100000"),
        ("HEADLIGHT_CACHE_MB", "1e3", "whole number"),
        ("HEADLIGHT_CONCURRENCY", "0", "from 1 to 256"),
        ("HEADLIGHT_MODELS_FOLDER", "/no/such/folder", "no such folder"),
        ("HEADLIGHT_MODELS_MB", "0", "from 1 to 1000000"),
        ("HEADLIGHT_MODELS", "de-en", "owner/name"),
        ("HEADLIGHT_MODELS", "me/one,../two", "owner/name"),
        ("HEADLIGHT_FRAMES", "https://me.example; script-src *", "such as https://example.org"),
        ("HEADLIGHT_CACHE_KEY", "short", "has 5 characters, but must have at least 16"),
        ("HEADLIGHT_LINE", "-1", "from 0 to 10000"),
        ("HEADLIGHT_BACKEND", "spark", "must be here or ray"),
        ("HEADLIGHT_RAY_ADDRESS", "ray://head:10001", "such as http://127.0.0.1:8000"),
    ],
)
def test_invalid_setting_error_names_variable(name: str, text: str, complaint: str) -> None:
    with pytest.raises(SettingsError) as error_info:
        read_settings({name: text})
    assert name in str(error_info.value)
    assert complaint in str(error_info.value)
    assert len(str(error_info.value)) < 220


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("HEADLIGHT_LINES", "HEADLIGHT_LINE"),
        ("HEADLIGHT_DEVISE", "HEADLIGHT_DEVICE"),
        ("HEADLIGHT_METRIC_PORT", "HEADLIGHT_METRICS_PORT"),
        ("HEADLIGHT_D_TYPE", "HEADLIGHT_DTYPE"),
        ("HEADLIGHT_CACHEKEY", "HEADLIGHT_CACHE_KEY"),
        ("HEADLIGHT_", "HEADLIGHT_LOG"),
    ],
)
def test_unknown_setting_error_names_the_most_similar(name: str, nearest: str) -> None:
    with pytest.raises(SettingsError, match=f"{name} is not a setting; the most similar one is {nearest}. Rename"):
        read_settings({name: "7"})
    read_settings({name: " "})


def test_variables_that_are_not_settings_are_allowed() -> None:
    # Kubernetes adds these for a service called "headlight-page".
    services = {
        "HEADLIGHT_PAGE_SERVICE_HOST": "10.0.0.1",
        "HEADLIGHT_PAGE_SERVICE_PORT": "80",
        "HEADLIGHT_PAGE_SERVICE_PORT_HTTP": "80",
        "HEADLIGHT_PAGE_PORT": "tcp://10.0.0.1:80",
        "HEADLIGHT_PAGE_PORT_80_TCP": "tcp://10.0.0.1:80",
        "HEADLIGHT_PAGE_PORT_80_TCP_ADDR": "10.0.0.1",
    }
    others = {"HEADLIGHT_CHROMIUM": "/usr/bin/chromium", "HEADLIGHT_DTYPE": "float32", "PATH": "/bin", "LIGHT": "7"}
    assert read_settings(services | others) == read_settings({})


def test_download_limit_is_checked_at_the_start() -> None:
    with pytest.raises(SettingsError, match="HEADLIGHT_MAX_DOWNLOAD_MB is 'many'"):
        read_settings({"HEADLIGHT_MAX_DOWNLOAD_MB": "many"})
    assert read_settings({"HEADLIGHT_MAX_DOWNLOAD_MB": "4000"}) == read_settings({})


def test_cluster_default_concurrency_is_higher() -> None:
    assert read_settings({"HEADLIGHT_BACKEND": "ray"}).concurrency == 32
    assert read_settings({"HEADLIGHT_BACKEND": "here"}).concurrency == 2
    assert read_settings({"HEADLIGHT_BACKEND": "ray", "HEADLIGHT_CONCURRENCY": "5"}).concurrency == 5


def test_every_setting_has_a_meaning() -> None:
    assert all(setting.meaning and setting.default for setting in SETTINGS)
    table = {setting.name: setting.default for setting in SETTINGS}
    assert table["HEADLIGHT_MAX_TOKENS"] == str(Settings().max_tokens)


@pytest.mark.parametrize(
    ("environ", "models"),
    [
        ({}, (*LISTED, ANY_MODEL)),
        ({"SPACE_ID": "me/headlight"}, LISTED),
        ({"SPACE_ID": "me/headlight", "HEADLIGHT_MODELS": "*"}, (*LISTED, ANY_MODEL)),
        ({"SPACE_ID": "me/headlight", "HEADLIGHT_MODELS": "me/one"}, ("me/one",)),
        ({"HEADLIGHT_MODELS": "me/one"}, ("me/one",)),
        ({"HEADLIGHT_MODELS": "*,me/one"}, (*LISTED, ANY_MODEL, "me/one")),
        ({"HEADLIGHT_MODELS": "none"}, ()),
        ({"HEADLIGHT_HOST": "0.0.0.0"}, LISTED),  # noqa: S104
        ({"HEADLIGHT_HOST": "192.168.7.11"}, LISTED),
        ({"HEADLIGHT_HOST": "[::]"}, LISTED),
        ({"HEADLIGHT_HOST": "lessons.example"}, LISTED),
        ({"GRADIO_SERVER_NAME": "0.0.0.0"}, LISTED),  # noqa: S104
        ({"GRADIO_SHARE": "True"}, LISTED),
        ({"GRADIO_ROOT_PATH": "/lessons"}, LISTED),
        ({"HEADLIGHT_HOST": "localhost"}, (*LISTED, ANY_MODEL)),
        ({"HEADLIGHT_HOST": "127.0.0.5"}, (*LISTED, ANY_MODEL)),
        ({"HEADLIGHT_HOST": "::1"}, (*LISTED, ANY_MODEL)),
        ({"HEADLIGHT_HOST": "0.0.0.0", "HEADLIGHT_MODELS": "*"}, (*LISTED, ANY_MODEL)),  # noqa: S104
    ],
)
def test_public_page_allows_only_listed_models(environ: dict[str, str], models: tuple[str, ...]) -> None:
    assert read_settings(environ).models == models


def test_list_has_both_directions_with_sizes() -> None:
    listed = load_hub_list()
    pairs = {tuple(each["languages"]) for each in listed if each["languages"] and "kind" not in each}
    assert len(pairs) == 11
    for language in ("de", "zh", "fr", "ru", "es"):
        assert {(language, "en"), ("en", language)} < pairs
    assert ("ja", "en") in pairs
    for each in listed:
        assert set(each) - {"kind"} == {"id", "languages", "bytes"}
        assert each.get("kind", "classifier") == "classifier"
        read_id(each["id"])
        assert len(each["languages"]) < 2 or 250e6 < each["bytes"] < 350e6
    ids = [each["id"] for each in listed]
    assert len(set(ids)) == len(ids)
    assert "Helsinki-NLP/opus-mt-en-jap" not in ids  # trained only on the Bible


def test_documented_families_are_listed() -> None:
    promises = (Path(__file__).resolve().parents[2] / "docs" / "models.md").read_text(encoding="utf-8")
    sizes = {each["id"]: each["bytes"] for each in load_hub_list()}
    for promised, named in (
        ("OPUS-MT", "opus-mt"), ("M2M100", "m2m100"), ("NLLB-200", "nllb"), ("T5", "t5"), ("SMaLL-100", "small100"),
        ("DistilBERT", "distilbert"), ("RoBERTa", "roberta"),
    ):  # fmt: skip
        assert promised in promises
        assert any(named in each for each in sizes), promised
    assert max(sizes.values()) < MAX_MEGABYTES * 1_000_000
    # Float32: about four bytes per parameter in the model cards.
    for name, millions in (
        ("facebook/nllb-200-distilled-600M", 615), ("facebook/m2m100_418M", 484), ("alirezamsh/small100", 333),
        ("google-t5/t5-small", 60.5), ("google-t5/t5-base", 223),
        ("distilbert/distilbert-base-uncased-finetuned-sst-2-english", 66.96),
        ("SamLowe/roberta-base-go_emotions", 124.7),
    ):  # fmt: skip
        assert 1.0 < sizes[name] / (4e6 * millions) < 1.02


@pytest.mark.parametrize("host", ["999.1.1.1", "a b", "192.0.2.1", "http://127.0.0.1", "x" * 300, "fe80::zz", "ü" * 70])
def test_invalid_host_is_reported_in_one_line(host: str) -> None:
    with pytest.raises(SettingsError, match="HEADLIGHT_HOST") as error_info:
        check_can_bind(Settings(host=host))
    assert "\n" not in str(error_info.value)
    assert len(str(error_info.value)) < 260


@pytest.mark.parametrize("host", [None, "localhost", "127.0.0.1", "[::1]", "::1"])
def test_used_port_is_reported_and_free_port_stays_free(host: str | None) -> None:
    family = socket.AF_INET6 if ":" in (host or "") else socket.AF_INET
    with socket.create_server(((host or "127.0.0.1").strip("[]"), 0), family=family) as taken:
        settings = Settings(host=host, port=taken.getsockname()[1])
        with pytest.raises(SettingsError, match=r"port \d+: .+ HEADLIGHT_HOST or HEADLIGHT_PORT"):
            check_can_bind(settings)
    for _ in range(2):
        check_can_bind(settings)
