"""Views of attention in JupyterLab and in exported HTML: what is shown is what went in, and no other host is asked."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from playwright.sync_api import Browser, FrameLocator, Page, expect

import headlight
from tests.browser.conftest import PATIENCE, Watch, newcomer
from tests.model.arrays.test_reading import softmax

ROOT = Path(__file__).resolve().parents[2]
TOKEN = "none-but-this-test"  # noqa: S105 (of a server that lives for one test)
WORDS = ["the", "cat", "sat", "on", "a", "red", "mat"]
QUIET = [
    "--LabApp.news_url=None",
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    "--LabApp.extension_manager=readonly",
    "--ServerApp.allow_root=True",
    "--no-browser",
]
CODE = """
import numpy as np, headlight
from tests.model.arrays.test_reading import softmax
weights = softmax((2, 3, 7, 7), mask=np.tri(7))
view = headlight.show(weights, tokens="the cat sat on a red mat".split(), row=3)
view
"""
LARGE = """
row = softmax((512, 512))
large = headlight.show(np.broadcast_to(row, (9, 8, 512, 512)), layer=5, head=7)
large
"""


def shown_numbers(frame: FrameLocator) -> np.ndarray:
    """The table of numbers as it stands on the page; a dash is masked."""
    frame.locator("button[data-view=numbers]").click()
    expect(frame.locator(".numbers tbody tr[aria-rowindex='8'] td").first).to_be_visible()
    rows = frame.locator(".numbers tbody").evaluate(
        "(body) => [...body.querySelectorAll('tr[aria-rowindex]')].map((row) => "
        "[...row.querySelectorAll('td')].map((cell) => cell.textContent))"
    )
    return np.array([[np.nan if cell == "–" else float(cell) for cell in row] for row in rows])


def expected_numbers(weights: np.ndarray) -> np.ndarray:
    """To three decimals, with what lies above the diagonal masked."""
    said = np.array([[float(f"{weight:.3f}") for weight in row] for row in weights])
    return np.where(np.tri(len(said)) > 0, said, np.nan)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """JupyterLab with settings of its own; its address, and the folder that it shows."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folders = {
        name: str(tmp_path / name) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR", "HOME")
    }
    work = tmp_path / "work"
    work.mkdir()
    command = [sys.executable, "-m", "jupyterlab", f"--port={port}", f"--IdentityProvider.token={TOKEN}", *QUIET]
    environment = {**os.environ, **folders, "PYTHONPATH": str(ROOT), "JUPYTER_PREFER_ENV_PATH": "1"}
    with (tmp_path / "log").open("wb") as log:
        server = subprocess.Popen([*command, f"--ServerApp.root_dir={work}"], env=environment, stdout=log, stderr=log)
    address = f"http://127.0.0.1:{port}/"
    try:
        wait_for(f"{address}api?token={TOKEN}", server)
        yield address, work
    finally:
        server.terminate()
        server.wait()


def wait_for(address: str, server: subprocess.Popen[bytes]) -> None:
    while True:
        assert server.poll() is None, "JupyterLab has ended"
        with suppress(OSError), urllib.request.urlopen(address) as answer:  # noqa: S310 (our own server)
            if answer.status == 200:
                return
        time.sleep(0.1)


def kernel_of(lab: tuple[str, Path]) -> BlockingKernelClient:
    """A second client of the one kernel that runs."""
    address, work = lab
    with urllib.request.urlopen(f"{address}api/kernels?token={TOKEN}") as answer:  # noqa: S310
        (kernel,) = json.load(answer)
    client = BlockingKernelClient()
    client.load_connection_file(str(work.parent / "JUPYTER_RUNTIME_DIR" / f"kernel-{kernel['id']}.json"))
    client.start_channels()
    return client


def ask(client: BlockingKernelClient, code: str) -> Any:
    """The value of an expression in the kernel."""
    said: list[str] = []

    def hear(message: dict[str, Any]) -> None:
        if message["msg_type"] == "stream":
            said.append(message["content"]["text"])

    reply = client.execute_interactive(f"import json; print(json.dumps({code}))", output_hook=hear, store_history=False)
    assert reply["content"]["status"] == "ok", reply
    return json.loads("".join(said))


def told(client: BlockingKernelClient, code: str, wanted: Any) -> None:
    """Wait until the kernel has heard."""
    for _ in range(PATIENCE // 100):
        if (found := ask(client, code)) == wanted:
            return
        time.sleep(0.1)
    raise AssertionError(f"{code} is {found}, not {wanted}")


def open_lab(browser: Browser, lab: tuple[str, Path], watch: Watch) -> Iterator[Page]:
    address, work = lab
    cells = [nbformat.v4.new_code_cell(code.strip()) for code in (CODE, LARGE)]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), work / "view.ipynb")
    with newcomer(browser, address, live=None, height=1400) as page:
        leave = watch.follow(page)
        page.goto(f"{address}lab/tree/view.ipynb?token={TOKEN}&reset")
        page.locator(".jp-Notebook .jp-Cell").first.wait_for()
        yield page
        leave()


def test_a_view_in_jupyterlab_shows_what_went_in_and_tells_what_is_looked_at(
    browser: Browser, lab: tuple[str, Path]
) -> None:
    watch = Watch(lab[0], [])
    for page in open_lab(browser, lab, watch):
        page.get_by_text("Python 3 (ipykernel) | Idle").wait_for()
        page.locator(".jp-Notebook .jp-Cell .cm-content").first.click()
        page.keyboard.press("Shift+Enter")
        frame = page.frame_locator(".jp-OutputArea-output iframe").first
        expect(frame.locator(".recorded .strips .token")).to_have_text(WORDS)
        client = kernel_of(lab)
        weights = softmax((2, 3, 7, 7), mask=np.tri(7))
        np.testing.assert_array_equal(shown_numbers(frame), expected_numbers(weights[0, 0]))
        # A click in the view is read in Python.
        frame.locator(".thumb[data-layer='1'][data-head='2']").click()
        told(client, "[view.kind, view.layer, view.head, view.row]", ["self", 1, 2, 3])
        np.testing.assert_array_equal(shown_numbers(frame), expected_numbers(weights[1, 2]))
        frame.locator(".numbers th[data-row='5']").click()
        told(client, "[view.row, view.column]", [5, None])
        # What Python sets moves the view.
        ask(client, "[setattr(view, 'layer', 0), setattr(view, 'head', 1), setattr(view, 'row', 2)]")
        expect(frame.locator("h3.numeric")).to_have_text("Layer 1 · Head 2")
        expect(frame.locator(".numbers th.pinned-row, .numbers th[data-row='2'].pinned-row")).to_have_text("sat")
        np.testing.assert_array_equal(shown_numbers(frame), expected_numbers(weights[0, 1]))
        # Light and dark follow the notebook.
        expect(frame.locator("body")).not_to_have_class("dark")
        page.evaluate("() => document.body.style.setProperty('--jp-layout-color0', '#111')")
        page.evaluate(
            "() => (document.querySelector('.jp-OutputArea-output iframe').parentElement.style.background = '#111')"
        )
        page.evaluate("() => document.body.setAttribute('data-jp-theme-light', 'false')")
        expect(frame.locator("body")).to_have_class("dark")
        # Of a large model heads come when they are looked at.
        page.locator(".jp-Notebook .jp-Cell .cm-content").nth(1).click()
        page.keyboard.press("Shift+Enter")
        large = page.frame_locator(".jp-OutputArea-output iframe").last  # the first leaves when it is out of sight
        row = softmax((512, 512))
        strongest = sorted((f"{weight:.4f}" for weight in row.ravel()), reverse=True)[:6]
        expect(large.locator("h3.numeric")).to_have_text("Layer 6 · Head 8")
        expect(large.locator(".list .numeric")).to_have_text(strongest)
        painted = "(canvas) => canvas.width === 48 && canvas.getContext('2d').getImageData(0, 0, 1, 1).data[3] === 255"
        last = large.locator(".thumb[data-layer='mean'][data-head='max'] canvas")
        while not last.evaluate(painted):
            page.wait_for_timeout(100)
        client.stop_channels()
    assert not watch.faults, "\n".join(watch.faults)


def test_the_page_of_a_view_needs_nothing_around_it(browser: Browser, tmp_path: Path) -> None:
    """As exported HTML and repositories show it; on a dark page of somebody else it is dark."""
    weights = softmax((2, 3, 7, 7), mask=np.tri(7))
    view = headlight.show(weights, tokens=WORDS, name="<b>x</b>", row=6)
    dark = f'<!doctype html><meta charset="utf-8"><body style="background:#111">{view._repr_html_()}</body>'
    first = headlight.show(weights, tokens=WORDS)
    (tmp_path / "a.html").write_text(dark, encoding="utf-8")
    view.layer, view.head = 1, 1
    view.save(tmp_path / "b.html")
    headlight.compare(first, weights**2 / (weights**2).sum(axis=-1, keepdims=True)).save(tmp_path / "c.html")
    watch = Watch("file:", [])
    with browser.new_context(locale="en-US") as context:
        page = context.new_page()
        leave = watch.follow(page)
        page.goto((tmp_path / "a.html").as_uri())
        frame = page.frame_locator("iframe")
        expect(frame.locator("h2.recorded-name")).to_have_text("<b>x</b>")
        expect(frame.locator("body")).to_have_class("dark")
        expect(page.locator(".headlight-still")).to_have_count(0)
        np.testing.assert_array_equal(shown_numbers(frame), expected_numbers(weights[0, 0]))
        height = page.locator("iframe").evaluate(
            "(frame) => frame.clientHeight - frame.contentDocument.documentElement.scrollHeight"
        )
        assert abs(height) <= 1
        page.goto((tmp_path / "b.html").as_uri())
        expect(page.locator("h3.numeric")).to_have_text("Layer 2 · Head 2")
        page.goto((tmp_path / "c.html").as_uri())
        expect(page.locator(".headlight-both .frame h3")).to_have_count(3)
        leave()
    assert not watch.faults, "\n".join(watch.faults)
