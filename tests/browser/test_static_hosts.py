"""The folder of `headlight static` on hosts of several kinds, in frames, without a network, and with faulty files."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from headlight.model.phrases import phrases
from tests.browser.acting import state, translate
from tests.browser.browsers import ARGUMENTS
from tests.browser.conftest import PATIENCE, Watch
from tests.browser.polling import wait_for_function
from tests.browser.space import FRAME
from tests.browser.test_static import Host, open_panel, visit, write_folder

pytestmark = pytest.mark.slow
TEXT = "der Hund"
LAN = "lan.example"  # a name of this machine that browsers do not trust, as an address in a local network
HTML = b"<!doctype html><title>Not found</title>"


class NamesEncodings(SimpleHTTPRequestHandler):
    """Sends files as they are, and says for some endings how they are compressed."""

    def end_headers(self) -> None:
        for ending, encoding in {".gz": "gzip", ".deflate": "deflate"}.items():
            if self.path.endswith(ending):
                self.send_header("Content-Encoding", encoding)
        super().end_headers()


class CompressesAll(SimpleHTTPRequestHandler):
    """Compresses each file when it sends it."""

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        path = path / "index.html" if path.is_dir() else path
        content = gzip.compress(path.read_bytes(), 1)
        self.send_response(200)
        headers = {"Content-Type": self.guess_type(path), "Content-Encoding": "gzip", "Content-Length": len(content)}
        for name, value in headers.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(content)


class SendsPageForMissingFiles(SimpleHTTPRequestHandler):
    """Sends a page with the status 200 for each missing file, as some hosts of single-page apps do."""

    def do_GET(self) -> None:
        if Path(self.translate_path(self.path)).exists():
            super().do_GET()
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(HTML)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_folder(tmp_path_factory.mktemp("hosts"), "toy")


@contextmanager
def hosting(folder: Path, base: type[SimpleHTTPRequestHandler] = SimpleHTTPRequestHandler) -> Iterator[Host]:
    host = Host(folder, base)
    yield host
    host.close()


def use_page(page: Page) -> None:
    """See the styled map, translate, and open a view that is loaded on demand."""
    page.wait_for_selector(".explorer .plot .main-svg")
    assert page.evaluate("getComputedStyle(document.body).getPropertyValue('--font')")
    translate(page, TEXT)
    assert state(page, "translation")["model"]["name"] == "toy"
    open_panel(page, "learn")
    page.click(".lesson-row[data-lesson=walk]")
    expect(page.locator(".lesson h2")).to_be_visible()
    assert page.evaluate("[...document.styleSheets].length") >= 2


@pytest.mark.parametrize("base", [SimpleHTTPRequestHandler, NamesEncodings, CompressesAll, SendsPageForMissingFiles])
def test_hosts_may_compress_or_not(browser: Browser, folder: Path, base: type[SimpleHTTPRequestHandler]) -> None:
    with hosting(folder, base) as host, visit(browser, host.address) as page:
        use_page(page)


def test_page_works_below_a_path(browser: Browser, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "user").mkdir()
    (tmp_path / "user" / "page").symlink_to(folder, target_is_directory=True)
    with hosting(tmp_path) as host, visit(browser, f"{host.address}user/page/") as page:
        use_page(page)
        assert {path.startswith("/user/page/") for _, path in host.requests} == {True}


@pytest.fixture(scope="module")
def lan_browser(browser: Browser, chromium: str) -> Iterator[Browser]:
    rules = f"--host-resolver-rules=MAP {LAN} 127.0.0.1"
    other = browser.browser_type.launch(executable_path=chromium, args=[*ARGUMENTS, rules])
    yield other
    other.close()


def test_page_works_in_a_local_network_without_https(lan_browser: Browser, folder: Path) -> None:
    with hosting(folder) as host, visit(lan_browser, f"http://{LAN}:{host.server_port}/") as page:
        assert not page.evaluate("isSecureContext || 'serviceWorker' in navigator || 'subtle' in crypto")
        use_page(page)


def test_damaged_model_is_named_in_a_local_network(lan_browser: Browser, folder: Path, tmp_path: Path) -> None:
    copy, file = copied(folder, tmp_path, "models/toy/*/source_tokenizer.json.deflate")
    (copy / file).write_bytes((copy / file).read_bytes()[:-9])
    with hosting(copy) as host, visit(lan_browser, f"http://{LAN}:{host.server_port}/") as page:
        page.fill("#sentence", TEXT)
        page.press("#sentence", "Enter")
        expect(page.get_by_text(phrases("en")["error_file_damaged"].format(file=file, given="toy"))).to_be_visible()


def test_page_works_in_the_frame_of_another_site(browser: Browser, folder: Path, tmp_path: Path) -> None:
    with hosting(folder) as host, hosting(tmp_path) as hub:
        frame = FRAME.replace("https://someone-headlight.hf.space/", host.address)
        assert host.address in frame
        (tmp_path / "index.html").write_text(frame, encoding="utf-8")
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        faults = list[str]()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto(hub.address.replace("127.0.0.1", "localhost"))
        framed = page.frames[1]
        framed.wait_for_selector(".explorer .plot .main-svg", timeout=PATIENCE)
        framed.fill("#sentence", TEXT)
        framed.press("#sentence", "Enter")
        request = "headlightModules['core/state.js'].state.translation.request"
        wait_for_function(framed, f"() => {request}.text === '{TEXT}'")
        framed.locator(".tabs [role=tab]", has_text=phrases("en")["view_learn"]).click()
        framed.wait_for_selector(".lesson-row[data-lesson=walk]", timeout=PATIENCE)
        page.close()
        assert not faults


def test_map_is_visible_without_a_network_after_one_visit(browser: Browser, folder: Path) -> None:
    with hosting(folder) as host, visit(browser, host.address) as page:
        page.evaluate("navigator.serviceWorker.ready.then(() => null)")
        page.wait_for_selector(".explorer .plot .main-svg")
        page.context.set_offline(True)  # and the service worker's own requests fail, too
        host.close()
        page.goto(host.address)
        page.wait_for_selector(".explorer .plane")
        page.wait_for_selector(".explorer .plot :is(canvas, .main-svg)")


# ------------------------------------------------------------ faults


def copied(folder: Path, tmp_path: Path, pattern: str) -> tuple[Path, str]:
    """Copy the folder. Return the copy, and the path of the file that matches."""
    copy = tmp_path / "site"
    shutil.copytree(folder, copy)
    (file,) = copy.glob(pattern)
    return copy, file.relative_to(copy).as_posix()


FAULTS: dict[str, Callable[[Path], object]] = {
    "missing": Path.unlink,
    "zeros": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "short": lambda path: path.write_bytes(path.read_bytes()[:-100]),
    "changed": lambda path: path.write_bytes(path.read_bytes()[:-2] + b"  "),
}


def expect_sentence(page: Page, sentence: str) -> None:
    """The page shows this sentence, and nothing else."""
    expect(page.get_by_role("alert")).to_have_text(sentence, timeout=PATIENCE)
    expect(page.get_by_role("alert")).to_be_visible()
    assert page.inner_text("body").strip() == sentence


@pytest.mark.parametrize(
    ("name", "fault", "word", "language"),
    [
        ("headlight.js", "missing", "missing", "en"),
        ("headlight.js", "missing", "missing", "zh"),
        ("headlight.js", "zeros", "damaged", "de"),  # of which the page has no words
        ("headlight.js", "short", "damaged", "zh"),
        ("headlight.js", "changed", "damaged", "en"),
        ("page.css", "missing", "missing", "en"),
        ("page.css", "short", "damaged", "en"),
    ],
)
def test_bad_file_of_the_first_map_gives_one_sentence(
    browser: Browser, folder: Path, tmp_path: Path, name: str, fault: str, word: str, language: str
) -> None:
    copy, file = copied(folder, tmp_path, f"files/*/{name}.deflate")
    FAULTS[fault](copy / file)
    page = browser.new_page(locale=language)
    with hosting(copy) as host:
        page.goto(host.address)
        words = phrases("zh" if language == "zh" else "en")
        expect_sentence(page, words[f"start_{word}"].format(file=file))
    page.close()


def test_page_instead_of_the_script_gives_one_sentence(browser: Browser, folder: Path, tmp_path: Path) -> None:
    copy, file = copied(folder, tmp_path, "files/*/headlight.js.deflate")
    (copy / file).unlink()
    page = browser.new_page(locale="en")
    with hosting(copy, SendsPageForMissingFiles) as host:
        page.goto(host.address)
        expect_sentence(page, phrases("en")["start_damaged"].format(file=file))
    page.close()


def test_bad_files_of_later_views_leave_the_map(browser: Browser, folder: Path, tmp_path: Path) -> None:
    copy, file = copied(folder, tmp_path, "files/*/lessons.js.deflate")
    (copy / file).rename(tmp_path / "lessons")
    for plotly in copy.glob("files/*/plotly.js.deflate"):
        FAULTS["short"](plotly)
    page = browser.new_page(locale="en")
    with hosting(copy) as host:
        page.goto(host.address)
        page.wait_for_selector(".explorer .plot > canvas", timeout=PATIENCE)
        open_panel(page, "learn")
        expect(page.get_by_text(phrases("en")["error_unreachable"])).to_be_visible()
        (tmp_path / "lessons").rename(copy / file)  # opening the view once more loads it
        open_panel(page, "heads")
        open_panel(page, "learn")
        expect(page.locator(".lesson-row[data-lesson=walk]")).to_be_visible()
        open_panel(page, "heads")
        expect(page.locator(".explorer .plot > canvas").first).to_be_visible()
    page.close()


def test_page_without_a_server_says_how_to_start_one(browser: Browser, folder: Path) -> None:
    page = browser.new_page(locale="en")
    page.goto((folder / "index.html").as_uri())
    expect_sentence(page, phrases("en")["start_no_server"])
    page.close()


def test_old_browser_gives_one_sentence(browser: Browser, folder: Path) -> None:
    page = browser.new_page(locale="zh-CN")
    page.add_init_script("delete globalThis.DecompressionStream")
    faults = list[str]()
    with hosting(folder) as host:
        Watch(host.address, faults).follow(page)
        page.goto(host.address)
        expect_sentence(page, phrases("zh")["start_old_browser"])
    page.close()
    assert not faults
