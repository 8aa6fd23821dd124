"""Downloads of models. Interrupted downloads resume; files are verified before they are renamed."""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from threading import Event
from typing import Any, NoReturn

from headlight.model.families.hub.cache import blob_file, cache_folder, find_folder, snapshot_folder, store_commit
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
    is_offline,
    make_plan,
    megabytes,
    offline_error,
    require_vocabulary,
    status_error,
)
from headlight.model.families.hub.file_checks import find_problem
from headlight.model.families.hub.model_id import HubError, ModelId, read_id

PROGRESS_INTERVAL = 0.25  # seconds between two progress reports
MAX_ATTEMPTS = 3  # consecutive attempts without new bytes before the download fails
RETRY_DELAY = 1.0  # seconds between two attempts
LOCK_POLL_SECONDS = 0.2  # interval at which to check whether another process has finished the same file

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
    """Return the folder of a model. Download it if it is not in the cache.

    A cached commit needs no network. Without network, the cached commit of a branch or tag is used.

    Args:
        repository: `owner/name` or `owner/name@revision`.
        revision: Branch, tag or commit.
        confirm: Called with the plan before the download, which starts only if the result is true.
        on_progress: Called a few times per second.
        stop: Event that stops the download. The next call resumes it, as after a broken connection.
    """
    model_id = read_id(repository, revision)
    cached_folder = find_folder(model_id)
    if cached_folder is not None and (model_id.is_commit or is_offline()):
        return cached_folder
    if is_offline():
        raise offline_error(model_id)
    try:
        plan = make_plan(model_id.repository, model_id.revision)
    except HubError as error:
        if cached_folder is not None and error.kind in ("offline", "busy"):
            return cached_folder
        raise
    if plan.missing:
        if confirm is not None and not confirm(plan):
            raise HubError("refused", repository=str(model_id), megabytes=megabytes(plan.missing))
        require_vocabulary(plan)
        _require_disk_space(model_id, plan.missing)
    folder = snapshot_folder(model_id.repository, plan.commit)
    with hub_errors(model_id):
        download = Download(model_id, plan, on_progress, stop or Event())
        for file in plan.files:
            if file.name not in METADATA_FILES:  # weights, which come last
                require_vocabulary(plan, folder)
            download.download_file(file)
        store_commit(model_id, plan.commit)
    return folder


class Download:
    """Downloads the files of one plan, one after the other."""

    def __init__(self, model_id: ModelId, plan: DownloadPlan, on_progress: Report | None, stop: Event) -> None:
        self.model_id = model_id
        self.plan = plan
        self.stop = stop
        self._on_progress = on_progress
        self._report_time, self._reported_bytes = -math.inf, -1
        cached_files = (file for file in plan.files if is_cached(plan.repository, plan.commit, file))
        self._done = {file.name: file.bytes for file in cached_files}

    def download_file(self, file: RemoteFile) -> None:
        """Download one file into the cache, under its name."""
        from huggingface_hub import hf_hub_download

        self._check_stop()
        if (snapshot_folder(self.plan.repository, self.plan.commit) / file.name).exists():
            return
        if not is_cached(self.plan.repository, self.plan.commit, file):
            self._download_content(file)
        self._report(file, file.bytes)
        # The content is cached, so this call only links it to the file's name, or copies it if links are not supported.
        hf_hub_download(
            self.plan.repository,
            file.name,
            revision=self.plan.commit,
            cache_dir=cache_folder(),
            endpoint=endpoint(),
            etag_timeout=TIMEOUT_SECONDS,
            headers={"user-agent": AGENT},
        )

    def _download_content(self, file: RemoteFile) -> None:
        """Download the content of one file to a partial file, which a later call can resume, and rename it."""
        from huggingface_hub.utils import WeakFileLock  # type: ignore[attr-defined]

        blob = blob_file(self.plan.repository, file.digest)
        blob.parent.mkdir(parents=True, exist_ok=True)
        part = blob.with_name(f"{blob.name}.headlight.incomplete")
        lock = cache_folder() / ".locks" / blob.parents[1].name / f"{blob.name}.headlight.lock"
        lock.parent.mkdir(parents=True, exist_ok=True)
        with ExitStack() as locks:
            while True:  # another process may be downloading the same file
                try:
                    locks.enter_context(WeakFileLock(lock, timeout=LOCK_POLL_SECONDS))
                    break
                except TimeoutError:
                    self._check_stop()
            if blob.exists():
                return
            is_single_attempt = self._stream_all(file, part)
            problem = find_problem(part, file)
            if problem and not is_single_attempt:  # an earlier attempt may have stored wrong bytes
                part.unlink()
                self._stream_all(file, part)
                problem = find_problem(part, file)
            if problem:
                self._discard(file, part, problem)
            part.replace(blob)

    def _stream_all(self, file: RemoteFile, part: Path) -> bool:
        """Request the missing bytes until the file is complete. Return whether one attempt was enough."""
        import httpx2
        from huggingface_hub.errors import HfHubHTTPError

        if _size(part) > file.bytes:
            part.unlink()
        failures, attempts = 0, 2 if _size(part) else 0  # an earlier call may have made several attempts
        while (offset := _size(part)) != file.bytes or not part.exists():
            status = 0
            try:
                self._stream(file, part, offset)
            except HfHubHTTPError as error:
                status = error.response.status_code
                if status < 500 and status != 429:
                    raise
            except (httpx2.TooManyRedirects, httpx2.UnsupportedProtocol):
                raise  # another attempt would fail, too
            except (httpx2.HTTPError, ConnectionError, TimeoutError):
                pass
            attempts += _size(part) > offset
            failures = 0 if _size(part) > offset else failures + 1
            if failures >= MAX_ATTEMPTS and status:
                raise status_error(self.model_id, status)
            if failures >= MAX_ATTEMPTS:
                values = {"repository": str(self.model_id), "file": file.name, "bytes": f"{file.bytes:,}"}
                raise HubError("broken_off", done=f"{_size(part):,}", **values)
            if _size(part) != file.bytes:
                self.stop.wait(RETRY_DELAY)
            self._check_stop()
        return attempts <= 1

    def _stream(self, file: RemoteFile, part: Path, offset: int) -> None:
        """Send one request for the missing bytes of a file, from byte `offset` on, and store them."""
        from huggingface_hub import get_session, hf_hub_url
        from huggingface_hub.utils import build_hf_headers, hf_raise_for_status  # type: ignore[attr-defined]

        url = hf_hub_url(self.plan.repository, file.name, revision=self.plan.commit, endpoint=endpoint())
        # A compressed response could not be resumed.
        headers = build_hf_headers(headers={"user-agent": AGENT, "accept-encoding": "identity"})
        if offset:
            headers["range"] = f"bytes={offset}-"
        with get_session().stream(
            "GET", url, headers=headers, timeout=TIMEOUT_SECONDS, follow_redirects=True
        ) as response:
            if response.status_code == 416:  # range not satisfiable: the server's file is shorter
                self._discard(file, part, f"it has less than the {file.bytes:,} bytes that the Hub lists")
            hf_raise_for_status(response)
            resumes = response.status_code == 206 and response.headers.get("content-range", "").startswith(
                f"bytes {offset}-"
            )
            done = offset if resumes else 0
            self._reject_web_page(file, response)
            with part.open("ab" if resumes else "wb") as out:
                # Without a chunk size: an incomplete chunk would be lost on an interruption.
                for block in response.iter_bytes():
                    done += len(block)
                    if done > file.bytes:
                        break  # never store more bytes than the Hub lists
                    out.write(block)
                    self._report(file, done)
                    self._check_stop()
        if done > file.bytes:
            self._discard(file, part, f"it has more than the {file.bytes:,} bytes that the Hub lists")

    def _reject_web_page(self, file: RemoteFile, response: Any) -> None:
        """Raise a HubError for a web page, such as the login page of a network, before a byte is stored."""
        if "html" in response.headers.get("content-type", "").lower():
            raise HubError("web_page", repository=str(self.model_id), file=file.name, host=host())

    def _discard(self, file: RemoteFile, part: Path, problem: str) -> NoReturn:
        part.unlink()
        raise HubError("wrong_file", repository=str(self.model_id), file=file.name, detail=problem)

    def _report(self, file: RemoteFile, done: int) -> None:
        """Report progress at most once per `PROGRESS_INTERVAL`, and always at the end."""
        self._done[file.name] = done
        current_time, done_bytes = time.monotonic(), sum(self._done.values())
        is_due = done_bytes == self.plan.bytes or current_time - self._report_time >= PROGRESS_INTERVAL
        if self._on_progress is not None and is_due and done_bytes != self._reported_bytes:
            self._report_time, self._reported_bytes = current_time, done_bytes
            self._on_progress(DownloadProgress(done_bytes, self.plan.bytes, file.name))

    def _check_stop(self) -> None:
        if self.stop.is_set():
            raise HubError("stopped", repository=str(self.model_id))


def _size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _require_disk_space(model_id: ModelId, needed: int) -> None:
    """Raise a HubError if the disk has less than `needed` free bytes."""
    # The cache folder may be missing; its parent is on the same disk.
    existing_folder = next(folder for folder in (cache_folder(), *cache_folder().absolute().parents) if folder.exists())
    free = shutil.disk_usage(existing_folder).free
    if free < needed:
        raise HubError("no_room", repository=str(model_id), megabytes=megabytes(needed), free=free // 1_000_000)
