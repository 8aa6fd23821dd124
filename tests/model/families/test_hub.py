"""Downloads by id from a local Hub: complete, interrupted, gated, damaged, too large, offline."""

from __future__ import annotations

import json
import os
import pickle
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event, Timer
from typing import Any

import pytest

from headlight.model.families.hub import (
    DownloadPlan,
    DownloadProgress,
    HubError,
    RemoteFile,
    cached_models,
    download,
    download_plan,
    fetch,
    find_folder,
    is_reachable,
    make_plan,
    read_id,
)
from headlight.model.families.hub.cache import blob_file, repository_folder
from headlight.model.families.hub.file_checks import find_problem
from headlight.model.families.hub.quota import MARK_FILE, make_room, mark_claimed, mark_used, marked_sizes
from headlight.model.phrases import phrases
from tests.hub_server import Hub, Repository, digest, local_hub, marian_files, pieces, safetensors, torch_zip

ROOT = Path(__file__).resolve().parents[3]
NAME = "Helsinki-NLP/opus-mt-de-en"
WEIGHTS = "model.safetensors"
READ = {
    "config.json",
    "generation_config.json",
    "tokenizer_config.json",
    "vocab.json",
    "source.spm",
    "target.spm",
    WEIGHTS,
    "README.md",
}


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """Create a Hub with one model."""
    with local_hub(monkeypatch, tmp_path / "home") as running:
        running.repositories[NAME] = Repository()
        running.repositories[NAME].push(marian_files())
        yield running


def error_kind(ask: Callable[[], Any]) -> str:
    """Return the kind of the raised error, and check that its message contains no URL and no token."""
    with pytest.raises(HubError) as error_info:
        ask()
    assert "http:" not in str(error_info.value)
    assert "secret" not in str(error_info.value)
    return error_info.value.kind


def snapshot(files: Path) -> dict[str, bytes]:
    return {path.relative_to(files).as_posix(): path.read_bytes() for path in files.rglob("*") if path.is_file()}


# ---------------------------------------------------------------- complete downloads


def test_download_is_complete_and_contains_only_needed_files(hub: Hub) -> None:
    folder = fetch(NAME)
    assert snapshot(folder) == {name: content for name, content in marian_files().items() if name in READ}
    assert find_folder(read_id(NAME)) == folder
    assert folder.name == hub.repositories[NAME].references["main"]
    assert hub.body_ranges(WEIGHTS) == [None]


def test_plan_lists_files_before_download(hub: Hub) -> None:
    plan = make_plan(NAME)
    assert {file.name for file in plan.files} == READ
    assert plan.bytes == plan.missing == sum(len(marian_files()[name]) for name in READ)
    assert (plan.licence, plan.repository, plan.revision) == ("cc-by-4.0", NAME, "main")
    assert [file.name for file in plan.files][-1] == WEIGHTS
    assert [each.method for each in hub.requests] == ["GET"]
    fetch(NAME)
    assert make_plan(NAME).missing == 0


def test_licence_falls_back_to_tag(hub: Hub) -> None:
    hub.repositories[NAME].card = {}
    assert make_plan(NAME).licence == "mit"


def test_refused_plan_is_not_downloaded(hub: Hub) -> None:
    plans: list[DownloadPlan] = []

    def refuse(plan: DownloadPlan) -> bool:
        plans.append(plan)
        return False

    assert error_kind(lambda: fetch(NAME, confirm=refuse)) == "refused"
    assert [plan.missing for plan in plans] == [make_plan(NAME).bytes]
    assert not any("/resolve/" in each.path for each in hub.requests)
    fetch(NAME, confirm=lambda plan: True)
    fetch(NAME, confirm=refuse)  # cached: no confirmation needed


def test_progress_reaches_total_and_names_files(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "PROGRESS_INTERVAL", 0.0)
    reports: list[DownloadProgress] = []
    fetch(NAME, on_progress=reports.append)
    done = [each.done for each in reports]
    total = make_plan(NAME).bytes
    assert done == sorted(done)
    assert (done[-1], {each.total for each in reports}) == (total, {total})
    assert {each.file for each in reports} == READ
    assert str(reports[-1]).startswith(f"[{'#' * 24}] 100%")


def test_progress_is_throttled_except_last(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "PROGRESS_INTERVAL", 3600.0)
    reports: list[DownloadProgress] = []
    fetch(NAME, on_progress=reports.append)
    assert len(reports) == 2  # the first and the last
    assert reports[-1].done == reports[-1].total


def test_shards_are_downloaded_with_index(hub: Hub) -> None:
    files = marian_files()
    del files[WEIGHTS]
    shards = [f"model-0000{number}-of-00002.safetensors" for number in (1, 2)]
    places = b'{"weight_map": {"a": "%s", "b": "%s"}}' % (shards[0].encode(), shards[1].encode())
    files |= {shards[0]: safetensors(11, "a"), shards[1]: safetensors(13, "b"), f"{WEIGHTS}.index.json": places}
    hub.repositories[NAME].push(files)
    downloaded = snapshot(fetch(NAME))
    assert {*shards, f"{WEIGHTS}.index.json"} < set(downloaded)
    assert "pytorch_model.bin" not in downloaded
    (find_folder(read_id(NAME)) or Path()).joinpath(shards[1]).unlink()
    assert find_folder(read_id(NAME)) is None


def test_pickle_is_downloaded_without_safetensors(hub: Hub) -> None:
    files = marian_files()
    del files[WEIGHTS]
    hub.repositories[NAME].push(files)
    assert snapshot(fetch(NAME))["pytorch_model.bin"] == torch_zip()


@pytest.mark.parametrize("folder", ["de-en", "zh-en", "toy"])
def test_native_folder_is_downloaded_completely(hub: Hub, folder: str) -> None:
    files = {path.name: path.read_bytes() for path in (ROOT / "assets" / "models" / folder).iterdir()}
    hub.repositories["me/own"] = Repository()
    hub.repositories["me/own"].push(files)
    assert {file.name for file in make_plan("me/own").files} == set(files)


def test_identical_files_are_downloaded_once(hub: Hub) -> None:
    hub.repositories[NAME].push(marian_files(target__spm=pieces(b"<unk>")))
    reports: list[DownloadProgress] = []
    files = snapshot(fetch(NAME, on_progress=reports.append))
    assert files["source.spm"] == files["target.spm"]
    assert hub.body_ranges("source.spm") == [None]
    assert reports[-1].done == reports[-1].total


def test_token_is_sent_only_to_hub(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    fetch(NAME)
    to_store = [each.token for each in hub.requests if each.path.count("/") == 1]
    assert len(to_store) == 3
    assert set(to_store) == {None}
    assert {each.token for each in hub.requests if each.path.count("/") > 1} == {"Bearer hf_secret"}


def test_no_other_requests_and_no_telemetry(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_DISABLE_TELEMETRY", False)
    fetch(NAME)
    paths = {each.path for each in hub.requests if each.path.count("/") > 1}
    assert paths == {f"/api/models/{NAME}/revision/main", *(f"/{NAME}/resolve/{commit}/{name}"
                     for commit in hub.repositories[NAME].commits for name in READ)}  # fmt: skip
    assert {each.agent for each in hub.requests} == {"headlight"}


# ---------------------------------------------------------------- interrupted downloads


def test_interrupted_file_resumes(hub: Hub) -> None:
    small = sum(name.endswith(".spm") for name in READ)
    hub.cut_after = [10**6] * small + [10_007, 5_003]
    assert snapshot(fetch(NAME))[WEIGHTS] == marian_files()[WEIGHTS]
    first, second, third = hub.body_ranges(WEIGHTS)
    assert first is None
    assert [second, third] == ["bytes=10007-", "bytes=15010-"]


def test_partial_file_is_resumed_by_later_download(hub: Hub) -> None:
    hub.cut_after = [10**6, 10**6, 10_007, 0, 0, 0]
    assert error_kind(lambda: fetch(NAME)) == "broken_off"
    assert find_folder(read_id(NAME)) is None
    assert hub.body_ranges(WEIGHTS) == [None, *["bytes=10007-"] * 3]
    hub.requests.clear()
    assert snapshot(fetch(NAME))[WEIGHTS] == marian_files()[WEIGHTS]
    assert hub.body_ranges(WEIGHTS) == ["bytes=10007-"]
    assert hub.body_ranges("vocab.json") == []


def test_server_without_ranges_restarts_download(hub: Hub) -> None:
    hub.cut_after, hub.ranges = [10**6, 10**6, 10_007], False
    assert snapshot(fetch(NAME))[WEIGHTS] == marian_files()[WEIGHTS]


def test_oversized_partial_file_is_discarded(hub: Hub, tmp_path: Path) -> None:
    blobs = tmp_path / "home" / "hub" / "models--Helsinki-NLP--opus-mt-de-en" / "blobs"
    blobs.mkdir(parents=True)
    (blobs / f"{digest(marian_files()[WEIGHTS])}.headlight.incomplete").write_bytes(b"x" * 50_000)
    assert snapshot(fetch(NAME))[WEIGHTS] == marian_files()[WEIGHTS]


def test_stopped_download_keeps_received_bytes(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "PROGRESS_INTERVAL", 0.0)
    stop = Event()
    hub.cut_after = [10**6, 10**6, 10_007]  # limits the bytes received before the stop

    def watch(progress: DownloadProgress) -> None:
        if progress.file == WEIGHTS:
            stop.set()

    assert error_kind(lambda: fetch(NAME, on_progress=watch, stop=stop)) == "stopped"
    hub.requests.clear()
    fetch(NAME)
    (rest,) = hub.body_ranges(WEIGHTS)
    assert rest is not None
    assert 0 < int(rest.removeprefix("bytes=").rstrip("-")) <= 10_007


def test_concurrent_downloads_of_a_model_are_shared(hub: Hub) -> None:
    hub.resumed.clear()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(fetch, NAME)
        assert hub.paused.wait(60)
        second = pool.submit(fetch, NAME)
        stop = Event()
        Timer(0.3, stop.set).start()
        assert error_kind(lambda: fetch(NAME, stop=stop)) == "stopped"  # a waiting download can be stopped, too
        hub.resumed.set()
        assert first.result(60) == second.result(60)
    assert hub.body_ranges(WEIGHTS) == [None]


# ---------------------------------------------------------------- rejected downloads


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ((401, "RepoNotFound"), "not_found"),
        ((404, "RepoNotFound"), "not_found"),
        ((404, ""), "not_found"),
        ((404, "RevisionNotFound"), "not_found"),
        ((401, "GatedRepo"), "gated"),
        ((403, "GatedRepo"), "gated"),
        ((403, ""), "gated"),
        ((429, ""), "busy"),
        ((503, ""), "busy"),
    ],
)
def test_hub_errors_are_reported(hub: Hub, error: tuple[int, str], kind: str) -> None:
    hub.repositories[NAME].error = error
    assert error_kind(lambda: fetch(NAME)) == kind


def test_unknown_model_is_not_found(hub: Hub) -> None:
    assert error_kind(lambda: fetch("no/such")) == "not_found"
    assert error_kind(lambda: fetch(f"{NAME}@v7")) == "not_found"


@pytest.mark.parametrize("token", ["", "hf_secret"])
def test_gated_model_error_mentions_licence_and_token(hub: Hub, monkeypatch: pytest.MonkeyPatch, token: str) -> None:
    if token:
        monkeypatch.setenv("HF_TOKEN", token)
    hub.repositories[NAME].gated = True
    with pytest.raises(HubError, match=r"Accept its licence .* HF_TOKEN") as error_info:
        fetch(NAME)
    assert error_info.value.kind == "gated"


def test_password_in_url_is_not_revealed(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", hub.address.replace("//", "//me:secret@"))
    hub.repositories[NAME].error = (503, "")
    assert error_kind(lambda: fetch(NAME)) == "busy"


def test_too_large_model_is_rejected_before_download(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.repositories[NAME].false_listing[WEIGHTS] = {"size": 3_000_000_000}
    with pytest.raises(HubError, match="is 3001 MB, but at most 3000 MB") as error_info:
        fetch(NAME)
    assert error_info.value.kind == "too_large"
    assert not any("/resolve/" in each.path for each in hub.requests)
    monkeypatch.setenv("HEADLIGHT_MAX_DOWNLOAD_MB", "4000")
    assert make_plan(NAME).bytes > 3_000_000_000
    monkeypatch.setenv("HEADLIGHT_MAX_DOWNLOAD_MB", "many")
    assert error_kind(lambda: make_plan(NAME)) == "bad_limit"


def test_download_needs_free_disk_space(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = download.shutil.disk_usage("/")._replace(free=31_000)
    monkeypatch.setattr(download.shutil, "disk_usage", lambda place: usage)
    assert error_kind(lambda: fetch(NAME)) == "no_room"


def test_unwritable_cache_is_reported(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "file"))
    assert error_kind(lambda: fetch(NAME)) == "not_writable"


@pytest.mark.parametrize("missing", ["config.json", "weights"])
def test_repository_without_model_is_rejected(hub: Hub, missing: str) -> None:
    gone = (WEIGHTS, "pytorch_model.bin") if missing == "weights" else (missing,)
    hub.repositories[NAME].push({name: content for name, content in marian_files().items() if name not in gone})
    assert error_kind(lambda: fetch(NAME)) == "not_a_model"


@pytest.mark.parametrize(
    "stated", [{"size": None}, {"size": -1}, {"lfs": {"sha256": "../../x", "size": 1, "pointerSize": 1}}, {"lfs": [1]}]
)
def test_file_list_needs_sizes_and_checksums(hub: Hub, stated: dict[str, Any]) -> None:
    hub.repositories[NAME].false_listing[WEIGHTS] = stated
    assert error_kind(lambda: fetch(NAME)) == "odd_answer"


# ---------------------------------------------------------------- unexpected content

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (WEIGHTS, b"<html>Not here</html>"),
        (WEIGHTS, b""),
        (WEIGHTS, POINTER),
        (WEIGHTS, safetensors(17)[:-1]),
        (WEIGHTS, safetensors(17) + b"\0"),
        (WEIGHTS, b"\x02" + bytes(7) + b"[]"),
        (WEIGHTS, b"\x07" + bytes(7) + b'{"a":1}'),
        (WEIGHTS, b"\xff" * 32),
        ("config.json", b"<html>"),
        ("config.json", b"7"),
        ("config.json", b"[" * 100_000),
        ("vocab.json", POINTER),
        ("vocab.json", b"\xff{}"),
        ("source.spm", b"<html>Not here</html>"),
        ("source.spm", POINTER),
        ("source.spm", b""),
        ("source.spm", b"\x0a\xff\x01\x0a"),
        ("source.spm", b"\x0a\x05hello"),
    ],
)
def test_file_with_wrong_content_is_not_stored(hub: Hub, name: str, content: bytes) -> None:
    hub.repositories[NAME].push(marian_files() | {name: content})
    with pytest.raises(HubError, match=name) as error_info:
        fetch(NAME)
    assert error_info.value.kind == "wrong_file"
    assert find_folder(read_id(NAME)) is None
    cache = Path(download.cache_folder())
    assert [path for path in cache.rglob(name) if path.exists()] == []
    assert [path for path in cache.rglob("*.incomplete") if path.exists()] == []


@pytest.mark.parametrize("content", [b"<html>Not here</html>", b"PK\x03\x04 but no archive", POINTER])
def test_pickle_must_be_a_pytorch_file(hub: Hub, content: bytes) -> None:
    files = marian_files(pytorch_model__bin=content)
    del files[WEIGHTS]
    hub.repositories[NAME].push(files)
    assert error_kind(lambda: fetch(NAME)) == "wrong_file"


def test_files_of_older_pytorch_are_accepted(tmp_path: Path) -> None:
    content = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.and so on"
    (tmp_path / "x").write_bytes(content)
    assert find_problem(tmp_path / "x", RemoteFile("pytorch_model.bin", len(content), digest(content))) == ""


@pytest.mark.parametrize(
    ("stated", "fault"),
    [
        ({"size": 30_011}, "more than the 30,011 bytes"),
        ({"size": 50_021}, "less than the 50,021 bytes"),
        ({"lfs": {"sha256": digest(b"other"), "size": 1, "pointerSize": 1}}, "differs from the checksum"),
    ],
)
def test_downloaded_file_must_match_list(hub: Hub, stated: dict[str, Any], fault: str) -> None:
    hub.repositories[NAME].false_listing[WEIGHTS] = stated
    with pytest.raises(HubError, match=fault) as error_info:
        fetch(NAME)
    assert error_info.value.kind == "wrong_file"
    assert find_folder(read_id(NAME)) is None


def test_incomplete_responses_exhaust_retries(hub: Hub) -> None:
    hub.ranges, hub.repositories[NAME].false_listing[WEIGHTS] = False, {"size": 50_021}
    assert error_kind(lambda: fetch(NAME)) == "broken_off"


# ---------------------------------------------------------------- proxies and login pages


def test_login_page_is_reported_and_discarded(hub: Hub) -> None:
    hub.login_pages = ["text/html; charset=utf-8"]
    with pytest.raises(HubError, match=r"A web page arrived .* login") as error_info:
        fetch(NAME)
    assert error_info.value.kind == "web_page"
    assert not [path for path in Path(download.cache_folder()).rglob("*.incomplete") if path.stat().st_size]
    assert snapshot(fetch(NAME))[WEIGHTS] == marian_files()[WEIGHTS]


def test_login_page_keeps_partial_file(hub: Hub) -> None:
    hub.cut_after = [10**6, 10**6, 10_007, 0, 0, 0]
    assert error_kind(lambda: fetch(NAME)) == "broken_off"
    hub.login_pages = ["text/html"]
    assert error_kind(lambda: fetch(NAME)) == "web_page"
    hub.requests.clear()
    fetch(NAME)
    assert hub.body_ranges(WEIGHTS) == ["bytes=10007-"]


@pytest.mark.parametrize("ranges", [True, False])
def test_wrong_partial_content_does_not_affect_retry(hub: Hub, ranges: bool) -> None:
    hub.ranges, hub.login_pages = ranges, ["text/plain"] * 2  # the content type does not show that it is not the file
    assert snapshot(fetch(NAME))[WEIGHTS] == marian_files()[WEIGHTS]


def test_wrong_partial_file_is_discarded(hub: Hub, tmp_path: Path) -> None:
    blobs = tmp_path / "home" / "hub" / "models--Helsinki-NLP--opus-mt-de-en" / "blobs"
    blobs.mkdir(parents=True)
    part = blobs / f"{digest(marian_files()[WEIGHTS])}.headlight.incomplete"
    for wrong in (b"<html>Log in first</html>", b"x" * len(marian_files()[WEIGHTS])):
        part.write_bytes(wrong)
        folder = fetch(NAME)
        assert snapshot(folder)[WEIGHTS] == marian_files()[WEIGHTS]
        (folder / WEIGHTS).resolve().unlink()
        (folder / WEIGHTS).unlink()


@pytest.mark.parametrize("status", [429, 503])
def test_unavailable_hub_is_reported_busy(hub: Hub, status: int) -> None:
    hub.body_status = status
    with pytest.raises(HubError, match=rf"status {status}") as error_info:
        fetch(NAME)
    assert error_info.value.kind == "busy"


@pytest.mark.parametrize("away", ["circle", "ftp://127.0.0.1/x", "file:///etc/passwd"])
def test_redirect_loop_or_invalid_target_is_reported(hub: Hub, away: str) -> None:
    hub.redirect = away
    with pytest.raises(HubError, match="redirects in a circle, or to something that cannot be asked") as error_info:
        fetch(NAME)
    assert error_info.value.kind == "astray"
    assert len(hub.requests) < 40


def test_invalid_hub_url_is_reported(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "gopher://127.0.0.1")
    assert error_kind(lambda: fetch(NAME)) == "astray"


@pytest.mark.parametrize("metadata", [b"[" * 100_000, b'{"a":' * 100_000, b"<html>Log in</html>", b"[]", b"null"])
def test_malformed_metadata_is_one_clear_error(hub: Hub, metadata: bytes) -> None:
    hub.metadata = metadata
    assert error_kind(lambda: fetch(NAME)) == "odd_answer"


# ---------------------------------------------------------------- offline


def test_offline_mode_uses_cache_without_requests(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = fetch(NAME)
    hub.requests.clear()
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert fetch(NAME) == folder
    assert hub.requests == []
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # nothing listens on this port
    assert fetch(NAME) == folder


@pytest.mark.parametrize("way", ["HF_HUB_OFFLINE", "connection refused"])
def test_offline_error_names_cache_folder(hub: Hub, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    monkeypatch.setenv(*((way, "1") if way.startswith("HF") else ("HF_ENDPOINT", "http://127.0.0.1:9")))
    with pytest.raises(HubError) as error_info:
        fetch(NAME)
    assert error_info.value.kind == "offline"
    for part in ("assets/models", "HEADLIGHT_MODELS_FOLDER", "config.json", "model.safetensors", "pytorch_model.bin"):
        assert part in str(error_info.value)
    with pytest.raises(HubError, match="cannot be reached"):
        make_plan(NAME)
    if way.startswith("HF"):
        assert hub.requests == []


def test_reachability_check_names_no_model(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_reachable()
    assert (hub.connection_checks, hub.requests) == (1, [])
    hub.check_status = 503  # a gateway without a backend
    assert not is_reachable()
    hub.check_status = 200
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert not is_reachable()
    assert hub.connection_checks == 2
    monkeypatch.delenv("HF_HUB_OFFLINE")
    for nobody in ("http://127.0.0.1:9", "gopher://127.0.0.1", "http://[", "http://nowhere.invalid"):
        monkeypatch.setenv("HF_ENDPOINT", nobody)
        assert not is_reachable()


def test_partial_download_does_not_count_as_cached(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.cut_after = [10**6, 10**6, 10_007, 0, 0, 0]
    assert error_kind(lambda: fetch(NAME)) == "broken_off"
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert error_kind(lambda: fetch(NAME)) == "offline"


# ---------------------------------------------------------------- revisions


def test_cached_commit_needs_no_request(hub: Hub) -> None:
    commit = hub.repositories[NAME].references["main"]
    folder = fetch(f"{NAME}@{commit}")
    hub.repositories[NAME].push(marian_files(vocab__json=b'{"new": 1}'))
    hub.requests.clear()
    assert fetch(NAME, revision=commit) == folder
    assert hub.requests == []
    assert find_folder(read_id(NAME)) is None  # the commit of main is unknown


def test_moved_main_downloads_only_changes(hub: Hub) -> None:
    old = fetch(NAME)
    hub.repositories[NAME].push(marian_files(vocab__json=b'{"new": 1}'))
    hub.requests.clear()
    new = fetch(NAME)
    assert new != old
    assert (new / "vocab.json").read_bytes() == b'{"new": 1}'
    assert hub.body_ranges("vocab.json") == [None]
    assert hub.body_ranges(WEIGHTS) == []
    assert (old / "vocab.json").read_bytes() == marian_files()["vocab.json"]


def test_branches_and_pull_requests_have_separate_refs(hub: Hub) -> None:
    for revision in ("v1.0", "refs/pr/7"):
        hub.repositories[NAME].push(marian_files(), revision)
        folder = fetch(f"{NAME}@{revision}")
        assert find_folder(read_id(NAME, revision)) == folder
    assert find_folder(read_id(NAME)) is None


def test_cached_models_are_found_by_requested_id(hub: Hub) -> None:
    assert list(cached_models()) == []
    fetch(NAME)
    assert [str(each) for each in cached_models()] == [NAME]
    hub.repositories[NAME].push(marian_files(vocab__json=b'{"new": 1}'))
    fetch(NAME)  # its main has moved: the older commit stays in the cache, but was never requested explicitly
    hub.repositories[NAME].push(marian_files(), "refs/pr/7")
    fetch(f"{NAME}@refs/pr/7")
    hub.repositories["me/other"] = Repository()
    commit = hub.repositories["me/other"].push(marian_files())
    fetch("me/other", revision=commit)
    assert {str(each) for each in cached_models()} == {f"me/other@{commit}", NAME, f"{NAME}@refs/pr/7"}


def test_all_files_of_a_family_are_downloaded(hub: Hub) -> None:
    named = set()
    for path in Path("model/families").glob("*.py"):
        named |= set(re.findall(r'"([\w.]+\.(?:json|spm|model))"', path.read_text(encoding="utf-8")))
    assert {"target_vocab.json", "source.spm", "spiece.model"} <= named
    assert named <= set(download_plan.METADATA_FILES)


def test_repository_without_vocabulary_is_rejected_before_download(hub: Hub) -> None:
    files = marian_files()
    del files["source.spm"]
    hub.repositories[NAME].push(files)
    with pytest.raises(HubError, match="has no vocabulary") as error_info:
        fetch(NAME)
    assert error_info.value.kind == "not_a_model"
    assert hub.body_ranges(WEIGHTS) == []


@pytest.mark.parametrize("named", ["ByT5Tokenizer", "T5Tokenizer"])
def test_byte_models_need_no_vocabulary(hub: Hub, named: str) -> None:
    settings = json.dumps({"tokenizer_class": named}).encode()
    needed = ("config.json", "generation_config.json", WEIGHTS)
    files = {name: data for name, data in marian_files().items() if name in needed}
    hub.repositories[NAME].push(files | {"tokenizer_config.json": settings})
    if named == "ByT5Tokenizer":
        assert (fetch(NAME) / WEIGHTS).exists()
        assert NAME in {str(each) for each in cached_models()}
        return
    with pytest.raises(HubError, match="has no vocabulary"):
        fetch(NAME)
    assert hub.body_ranges(WEIGHTS) == []


def test_partial_and_foreign_files_are_not_listed(hub: Hub) -> None:
    folder = fetch(NAME)
    cache = folder.parents[2]
    for strange in ("models--gpt2", "models--a--b--c", "models--me--.git", "datasets--me--data"):
        shutil.copytree(folder.parents[1], cache / strange, symlinks=True)
    (cache / "models--me--empty").mkdir()
    assert [str(each) for each in cached_models()] == [NAME]
    (folder / WEIGHTS).unlink()
    assert list(cached_models()) == []


# ---------------------------------------------------------------- ids


@pytest.mark.parametrize(
    "model_id",
    [
        "",
        "opus-mt-de-en",
        "a/b/c",
        "../a",
        "a/..",
        "a/b..c",
        "a\\b/c",
        "https://huggingface.co/a/b",
        "a/b?x=1",
        "a/b#c",
        "a /b",
        "a/b\n",
        "/a/b",
        "a/",
        "-a/b",
        "a/b-",
        "a/.b",
        "a--b/c",
        "a/b.git",
        "ä/b",
        "a/" + "b" * 95,
        "a/b@",
        "a/b@../main",
        "a/b@refs/heads/main",
        "a/b@x y",
        "a/b@c@d",
        "a/b@" + "f" * 97,
    ],
)
def test_invalid_id_is_rejected_without_request(hub: Hub, model_id: str) -> None:
    with pytest.raises(HubError, match="owner/name") as error_info:
        fetch(model_id)
    assert error_info.value.kind == "bad_id"
    assert len(str(error_info.value)) < 300
    assert str(error_info.value).isprintable()
    assert hub.requests == []


def test_ids_are_parsed() -> None:
    assert str(read_id("a/b")) == "a/b"
    assert str(read_id("a/b@main")) == "a/b"
    assert str(read_id("A.1/b_2-c@v1.0")) == "A.1/b_2-c@v1.0"
    assert read_id("a/b", "v2").revision == "v2"
    assert (read_id("a/b@" + "0" * 40).is_commit, read_id("a/b@" + "0" * 39).is_commit) == (True, False)


# ---------------------------------------------------------------- disk space


def test_least_recently_used_own_models_are_deleted(hub: Hub) -> None:
    names = ["a/one", "a/two", "a/three"]
    for age, name in enumerate(names):
        mark_claimed(name)
        blob_file(name, "x").parent.mkdir(parents=True)
        blob_file(name, "x").write_bytes(b"x" * 1_000_000)
        os.utime(repository_folder(name) / MARK_FILE, (100 + age, 100 + age))
    blob_file("some/body", "x").parent.mkdir(parents=True)
    mark_claimed("some/body")  # no effect: another process claimed it first
    assert list(marked_sizes()) == names
    mark_used("a/one")
    assert make_room("a/four", 1_000_000, 3_000_000, ()) == ["a/two"]
    assert make_room("a/three", 1_000_000, 3_000_000, ()) == []  # nothing is deleted
    assert error_kind(lambda: make_room("a/four", 2_000_000, 2_000_000, {"a/one"})) == "full"
    assert list(marked_sizes()) == ["a/one"]


# ---------------------------------------------------------------- other tests


def test_every_error_kind_is_tested() -> None:
    source = Path(__file__).read_text(encoding="utf-8")
    kinds = [key.removeprefix("error_hub_") for key in phrases() if key.startswith("error_hub_")]
    assert "stopped" in kinds
    assert [kind for kind in kinds if f'"{kind}"' not in source] == []


def test_errors_can_be_pickled() -> None:
    error = HubError("stopped", repository="a/b")
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - made above
    assert (again.kind, dict(again.values), str(again)) == ("stopped", {"repository": "a/b"}, str(error))


def test_cache_folder_comes_from_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name, value, expected in (
        ("HOME", "", ".cache/huggingface/hub"),
        ("XDG_CACHE_HOME", "x", "x/huggingface/hub"),
        ("HF_HOME", "h", "h/hub"),
        ("HF_HUB_CACHE", "c", "c"),
    ):
        if value:
            monkeypatch.setenv(name, str(tmp_path / value))
        assert download.cache_folder() == tmp_path / expected


def test_cache_layout_matches_huggingface_hub(hub: Hub) -> None:
    from huggingface_hub import try_to_load_from_cache

    folder = fetch(NAME)
    cached_path = try_to_load_from_cache(NAME, WEIGHTS, cache_dir=download.cache_folder())
    assert cached_path == str(folder / WEIGHTS)


def test_import_loads_neither_huggingface_hub_nor_torch() -> None:
    code = (
        "import sys, headlight.model.families.hub\n"
        "print(*sorted({'torch', 'huggingface_hub', 'httpx2', 'numpy'} & set(sys.modules)))"
    )
    process = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert process.stdout.split() == []
