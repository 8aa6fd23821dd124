"""Downloads a model after confirmation. Interrupted downloads resume; files are verified before they are renamed."""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from threading import Event
from typing import Any, NoReturn

from headlight.model.families.hub.cache import blob_file, cache_folder, find_folder, remember_commit, snapshot_folder
from headlight.model.families.hub.download_plan import (
    AGENT,
    METADATA_FILES,
    TIMEOUT_SECONDS,
    DownloadPlan,
    DownloadProgress,
    RemoteFile,
    endpoint,
    host,
    hub_errors,
    is_cached,
    make_plan,
    megabytes,
    no_network,
    offline_error,
    require_vocabulary,
    status_error,
)
from headlight.model.families.hub.file_checks import find_fault
from headlight.model.families.hub.model_id import HubError, ModelId, read_id

PROGRESS_INTERVAL = 0.25  # seconds between two progress reports
MAX_ATTEMPTS = 3  # attempts in a row without a byte, after which a file is given up
RETRY_DELAY = 1.0  # seconds between two attempts
LOCK_POLL_INTERVAL = 0.2  # seconds between two checks whether another process has finished the same file

Confirm = Callable[[DownloadPlan], bool]
Report = Callable[[DownloadProgress], None]


def fetch(
    repository: str,
    *,
    revision: str = "main",
    confirm: Confirm | None = None,
    on_progress: Report | None = None,
    stop: Event | None = None,
) -> Path:
    """The folder of a model, downloaded if it is not in the cache yet.

    `confirm` gets the plan, with sizes, before the download. `on_progress` is called a few times a second. Setting
    `stop` ends the download soon; as after a broken connection, the next call resumes it. A commit that is in the cache
    needs no network. Without network, a cached branch or tag is used as it is.
    """
    wanted = read_id(repository, revision)
    kept = find_folder(wanted)
    if kept is not None and (wanted.is_commit or no_network()):
        return kept
    if no_network():
        raise offline_error(wanted)
    try:
        result = make_plan(wanted.repository, wanted.revision)
    except HubError as error:
        if kept is not None and error.kind in ("offline", "busy"):
            return kept
        raise
    if result.missing:
        if confirm is not None and not confirm(result):
            raise HubError("refused", repository=str(wanted), megabytes=megabytes(result.missing))
        require_vocabulary(result)
        _require_disk_space(wanted, result.missing)
    folder = snapshot_folder(wanted.repository, result.commit)
    with hub_errors(wanted):
        download = Download(wanted, result, on_progress, stop or Event())
        for file in result.files:
            if file.name not in METADATA_FILES:  # weights, which come last
                require_vocabulary(result, folder)
            download.download_file(file)
        remember_commit(wanted, result.commit)
    return folder


class Download:
    """Downloads the files of one plan, one after the other."""

    def __init__(self, wanted: ModelId, found: DownloadPlan, on_progress: Report | None, stop: Event) -> None:
        self.wanted = wanted
        self.plan = found
        self.stop = stop
        self._tell = on_progress
        self._told_at, self._told = -math.inf, -1
        here = (file for file in found.files if is_cached(found.repository, found.commit, file))
        self._done = {file.name: file.bytes for file in here}

    def download_file(self, file: RemoteFile) -> None:
        """Bring one file into the cache, under its name."""
        from huggingface_hub import hf_hub_download

        self._check_stop()
        if (snapshot_folder(self.plan.repository, self.plan.commit) / file.name).exists():
            return
        if not is_cached(self.plan.repository, self.plan.commit, file):
            self._content(file)
        self._report(file, file.bytes)
        # Name the cached content, by a link or, if the disk has no links, a copy.
        hf_hub_download(
            self.plan.repository,
            file.name,
            revision=self.plan.commit,
            cache_dir=cache_folder(),
            endpoint=endpoint(),
            etag_timeout=TIMEOUT_SECONDS,
            headers={"user-agent": AGENT},
        )

    def _content(self, file: RemoteFile) -> None:
        """Download the content of one file, by way of a partial file that a later call resumes."""
        from huggingface_hub.utils import WeakFileLock  # type: ignore[attr-defined]

        blob = blob_file(self.plan.repository, file.digest)
        blob.parent.mkdir(parents=True, exist_ok=True)
        part = blob.with_name(f"{blob.name}.headlight.incomplete")
        lock = cache_folder() / ".locks" / blob.parents[1].name / f"{blob.name}.headlight.lock"
        lock.parent.mkdir(parents=True, exist_ok=True)
        with ExitStack() as held:
            while True:  # another process may be downloading the same file
                try:
                    held.enter_context(WeakFileLock(lock, timeout=LOCK_POLL_INTERVAL))
                    break
                except TimeoutError:
                    self._check_stop()
            if blob.exists():
                return
            in_one = self._stream_all(file, part)
            fault = find_fault(part, file)
            if fault and not in_one:  # an attempt may have stored other bytes, so the file is downloaded again
                part.unlink()
                self._stream_all(file, part)
                fault = find_fault(part, file)
            if fault:
                self._discard(file, part, fault)
            part.replace(blob)

    def _stream_all(self, file: RemoteFile, part: Path) -> bool:
        """Request the rest until the file is complete; raise without progress. Returns if one attempt was enough."""
        import httpx2
        from huggingface_hub.errors import HfHubHTTPError

        if _size(part) > file.bytes:
            part.unlink()
        idle, pieces = 0, 2 if _size(part) else 0  # the bytes of an earlier call may be of several attempts
        while (have := _size(part)) != file.bytes or not part.exists():
            status = 0
            try:
                self._stream(file, part, have)
            except HfHubHTTPError as error:
                status = error.response.status_code
                if status < 500 and status != 429:
                    raise
            except (httpx2.TooManyRedirects, httpx2.UnsupportedProtocol):
                raise  # another attempt would end the same way
            except (httpx2.HTTPError, ConnectionError, TimeoutError):
                pass
            pieces += _size(part) > have
            idle = 0 if _size(part) > have else idle + 1
            if idle >= MAX_ATTEMPTS and status:
                raise status_error(self.wanted, status)
            if idle >= MAX_ATTEMPTS:
                values = {"repository": str(self.wanted), "file": file.name, "bytes": f"{file.bytes:,}"}
                raise HubError("broken_off", done=f"{_size(part):,}", **values)
            if _size(part) != file.bytes:
                self.stop.wait(RETRY_DELAY)
            self._check_stop()
        return pieces <= 1

    def _stream(self, file: RemoteFile, part: Path, have: int) -> None:
        """One request for the missing bytes of a file."""
        from huggingface_hub import get_session, hf_hub_url
        from huggingface_hub.utils import build_hf_headers, hf_raise_for_status  # type: ignore[attr-defined]

        address = hf_hub_url(self.plan.repository, file.name, revision=self.plan.commit, endpoint=endpoint())
        # A compressed response could not be resumed.
        headers = build_hf_headers(headers={"user-agent": AGENT, "accept-encoding": "identity"})
        if have:
            headers["range"] = f"bytes={have}-"
        with get_session().stream(
            "GET", address, headers=headers, timeout=TIMEOUT_SECONDS, follow_redirects=True
        ) as answer:
            if answer.status_code == 416:  # the server has no more bytes
                self._discard(file, part, f"it has less than the {file.bytes:,} bytes that the Hub states")
            hf_raise_for_status(answer)
            goes_on = answer.status_code == 206 and answer.headers.get("content-range", "").startswith(f"bytes {have}-")
            done = have if goes_on else 0
            self._refuse_page(file, answer)
            with part.open("ab" if goes_on else "wb") as out:
                for block in answer.iter_bytes():  # as they arrive: a block of a fixed size would be lost at a break
                    done += len(block)
                    if done > file.bytes:
                        break  # never more than the announced size
                    out.write(block)
                    self._report(file, done)
                    self._check_stop()
        if done > file.bytes:
            self._discard(file, part, f"it has more than the {file.bytes:,} bytes that the Hub states")

    def _refuse_page(self, file: RemoteFile, answer: Any) -> None:
        """Refuse a web page, such as the login of a network, before writing any of it."""
        if "html" in answer.headers.get("content-type", "").lower():
            raise HubError("web_page", repository=str(self.wanted), file=file.name, host=host())

    def _discard(self, file: RemoteFile, part: Path, fault: str) -> NoReturn:
        part.unlink()
        raise HubError("wrong_file", repository=str(self.wanted), file=file.name, detail=fault)

    def _report(self, file: RemoteFile, done: int) -> None:
        """Report progress, but not too often; the end is always reported."""
        self._done[file.name] = done
        now, all_done = time.monotonic(), sum(self._done.values())
        due = all_done == self.plan.bytes or now - self._told_at >= PROGRESS_INTERVAL
        if self._tell is not None and due and all_done != self._told:
            self._told_at, self._told = now, all_done
            self._tell(DownloadProgress(all_done, self.plan.bytes, file.name))

    def _check_stop(self) -> None:
        if self.stop.is_set():
            raise HubError("stopped", repository=str(self.wanted))


def _size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _require_disk_space(wanted: ModelId, needed: int) -> None:
    """Raise an error before the download if the disk is too small. A missing cache folder counts as its parent."""
    place = next(folder for folder in (cache_folder(), *cache_folder().absolute().parents) if folder.exists())
    free = shutil.disk_usage(place).free
    if free < needed:
        raise HubError("no_room", repository=str(wanted), megabytes=megabytes(needed), free=free // 1_000_000)
