"""Downloads of public corpora from a local server: complete, interrupted, resumed, damaged, missing."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from headlight.model.errors import TrainingError
from headlight.model.training.datasets import (
    PUBLIC_SETS,
    DatasetFile,
    PublicDataset,
    check_gzip_lines,
    unpack_pairs,
    unpack_reviews,
)
from headlight.model.training.download import download_dataset, find_dataset

PAIRS = "Go.\tGeh.\tCC-BY 2.0\nI drink.\tIch trinke.\tCC-BY 2.0\n" * 997


class Server(ThreadingHTTPServer):
    """Serves `content` by name, at most `limit` bytes, with or without range support; records `Range` headers."""

    content: dict[str, bytes]
    limit: int | None
    ranges: bool
    range_headers: list[str | None]


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        body = self.server.content.get(self.path.strip("/"))
        range_header = self.headers.get("Range")
        self.server.range_headers.append(range_header)
        if body is None:
            self.send_error(404)
            return
        start = int(range_header.removeprefix("bytes=").split("-")[0]) if range_header and self.server.ranges else 0
        if start >= len(body):
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(body) - start))
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        self.end_headers()
        self.wfile.write(body[start : None if self.server.limit is None else start + self.server.limit])

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as running:
        running.content, running.limit, running.ranges, running.range_headers = {}, None, True, []
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def zip_archive() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("_about.txt", "licence")
        archive.writestr("deu.txt", PAIRS)
    return buffer.getvalue()


def pairs_dataset(server: Server, **known: object) -> PublicDataset:
    file = DatasetFile(f"http://127.0.0.1:{server.server_port}/deu-eng.zip", **known)  # type: ignore[arg-type]
    return PublicDataset("pairs", "sentences", "CC BY", "small", "http://page", (file,), unpack_pairs)


def test_dataset_is_downloaded_and_unpacked_once(server: Server, tmp_path: Path) -> None:
    server.content["deu-eng.zip"] = zip_archive()
    lines: list[str] = []
    assert download_dataset(pairs_dataset(server), tmp_path, lines.append) == [tmp_path / "pairs" / "deu.txt"]
    assert (tmp_path / "pairs" / "deu.txt").read_text(encoding="utf-8") == PAIRS
    assert "licence: CC BY" in lines[0]
    assert "size: small" in lines[0]
    download_dataset(pairs_dataset(server), tmp_path, lines.append)
    assert server.range_headers == [None]  # the second call downloads nothing


@pytest.mark.parametrize("ranges", [True, False])
def test_interrupted_download_resumes(server: Server, tmp_path: Path, ranges: bool) -> None:
    body = zip_archive()
    server.content["deu-eng.zip"], server.limit, server.ranges = body, 53, ranges
    with pytest.raises(TrainingError, match=r"The connection failed.*repeat the command to resume"):
        download_dataset(pairs_dataset(server), tmp_path, lambda _: None)
    assert (tmp_path / "pairs" / "deu-eng.zip.part").stat().st_size == 53
    assert not (tmp_path / "pairs" / "deu-eng.zip").exists()
    server.limit = None
    download_dataset(
        pairs_dataset(server, digest="sha256:" + hashlib.sha256(body).hexdigest()), tmp_path, lambda _: None
    )
    assert server.range_headers == [None, "bytes=53-"]
    assert (tmp_path / "pairs" / "deu-eng.zip").read_bytes() == body


def test_complete_partial_file_is_used(server: Server, tmp_path: Path) -> None:
    body = zip_archive()
    server.content["deu-eng.zip"] = body
    (tmp_path / "pairs").mkdir()
    (tmp_path / "pairs" / "deu-eng.zip.part").write_bytes(body)
    download_dataset(pairs_dataset(server, size=len(body)), tmp_path, lambda _: None)
    assert server.range_headers == [f"bytes={len(body)}-"]


@pytest.mark.parametrize(
    ("known", "message"),
    [({"size": 7}, "bytes instead of 7"), ({"digest": "md5:00"}, "its md5 is")],
)
def test_wrong_size_or_digest_is_rejected_and_deleted(
    server: Server, tmp_path: Path, known: dict[str, object], message: str
) -> None:
    server.content["deu-eng.zip"] = zip_archive()
    with pytest.raises(TrainingError, match=message):
        download_dataset(pairs_dataset(server, **known), tmp_path, lambda _: None)
    assert list((tmp_path / "pairs").iterdir()) == []


def test_non_archive_is_reported(server: Server, tmp_path: Path) -> None:
    server.content["deu-eng.zip"] = b"<html>Please log in</html>"
    with pytest.raises(TrainingError, match=r"deu-eng\.zip is damaged or unexpected.*Delete it"):
        download_dataset(pairs_dataset(server), tmp_path, lambda _: None)


def test_http_and_network_errors_explain_manual_download(server: Server, tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match=r"returned 404.*look at http://page.*by hand"):
        download_dataset(pairs_dataset(server), tmp_path, lambda _: None)
    unreachable = DatasetFile("http://127.0.0.1:9/deu-eng.zip")  # a closed port
    offline = PublicDataset("pairs", "", "", "", "http://page", (unreachable,), unpack_pairs)
    with pytest.raises(TrainingError, match=r"a network, download http://127\.0\.0\.1:9/deu-eng\.zip on another"):
        download_dataset(offline, tmp_path, lambda _: None)


def test_manually_downloaded_file_is_unpacked(tmp_path: Path) -> None:
    (tmp_path / "pairs").mkdir()
    (tmp_path / "pairs" / "deu-eng.zip").write_bytes(zip_archive())
    unreachable = DatasetFile("http://127.0.0.1:9/deu-eng.zip")
    offline = PublicDataset("pairs", "", "", "", "http://page", (unreachable,), unpack_pairs)
    assert [path.name for path in download_dataset(offline, tmp_path, lambda _: None)] == ["deu.txt"]


def test_truncated_gzip_is_detected(tmp_path: Path) -> None:
    (tmp_path / "a.de.gz").write_bytes(gzip.compress(b"eins\n"))
    assert check_gzip_lines(tmp_path) == [tmp_path / "a.de.gz"]
    (tmp_path / "b.de.gz").write_bytes(gzip.compress(b"eins\n" * 997)[:-9])
    with pytest.raises(TrainingError, match=r"b\.de\.gz is damaged"):
        check_gzip_lines(tmp_path)


def test_reviews_become_labelled_lines(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "aclImdb_v1.tar.gz", "w:gz") as archive:
        for name in (
            "train/pos/0_9.txt",
            "train/neg/0_2.txt",
            "test/pos/1_8.txt",
            "test/neg/1_1.txt",
            "train/unsup/3.txt",
        ):
            content = f"A film.<br /><br />{name}".encode()
            entry = tarfile.TarInfo(f"aclImdb/{name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    train, test = unpack_reviews(tmp_path)
    assert gzip.decompress(train.read_bytes()).decode().splitlines() == [
        "label\ttext", "0\tA film. train/neg/0_2.txt", "1\tA film. train/pos/0_9.txt",
    ]  # fmt: skip
    assert len(gzip.decompress(test.read_bytes()).decode().splitlines()) == 3


def test_every_dataset_has_licence_size_and_https_urls() -> None:
    for name, each in PUBLIC_SETS.items():
        assert find_dataset(name) is each
        assert each.licence
        assert each.size
        assert all(file.url.startswith("https://") for file in each.files)
    with pytest.raises(TrainingError, match=r"There is no dataset 'wikipedia'\. Available are: multi30k"):
        find_dataset("wikipedia")
