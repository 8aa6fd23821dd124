"""Attention views in JupyterLab and in exported HTML show their inputs and contact no other host."""

from __future__ import annotations

import base64
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

import numpy as np
import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from playwright.sync_api import Browser, FrameLocator, Page, Route, expect

import headlight
from headlight.viz.notebook.iframe import widget_module
from headlight.viz.notebook.view import View
from tests.browser.conftest import PATIENCE, Watch, newcomer
from tests.browser.polling import wait_for_function
from tests.jupyter import isolate_kernel
from tests.model.recordings.test_reading import softmax

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
from tests.model.recordings.test_reading import softmax
from tests.browser.polling import wait_for_function
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
    """Return the displayed table of numbers; a dash is a masked cell."""
    frame.locator("button[data-view=numbers]").click()
    expect(frame.locator(".numbers tbody tr[aria-rowindex='8'] td").first).to_be_visible()
    rows = frame.locator(".numbers tbody").evaluate(
        "(body) => [...body.querySelectorAll('tr[aria-rowindex]')].map((row) => "
        "[...row.querySelectorAll('td')].map((cell) => cell.textContent))"
    )
    return np.array([[np.nan if cell == "–" else float(cell) for cell in row] for row in rows])


def expected_numbers(weights: np.ndarray) -> np.ndarray:
    """Round to three decimals and mask the cells above the diagonal."""
    numbers = np.array([[float(f"{weight:.3f}") for weight in row] for row in weights])
    return np.where(np.tri(len(numbers)) > 0, numbers, np.nan)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """Start JupyterLab with separate settings; yield its address and its folder."""
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


def connect_to_kernel(lab: tuple[str, Path]) -> BlockingKernelClient:
    """Connect a second client to the running kernel."""
    address, work = lab
    with urllib.request.urlopen(f"{address}api/kernels?token={TOKEN}") as answer:  # noqa: S310
        (kernel,) = json.load(answer)
    client = BlockingKernelClient()
    client.load_connection_file(str(work.parent / "JUPYTER_RUNTIME_DIR" / f"kernel-{kernel['id']}.json"))
    client.start_channels()
    client.wait_for_ready(timeout=PATIENCE / 1000)  # else messages before the channel exists are lost
    return client


def evaluate(client: BlockingKernelClient, code: str) -> Any:
    """Return the value of an expression in the kernel."""
    output: list[str] = []

    def hear(message: dict[str, Any]) -> None:
        if message["msg_type"] == "stream":
            output.append(message["content"]["text"])

    reply = client.execute_interactive(f"import json; print(json.dumps({code}))", output_hook=hear, store_history=False)
    assert reply["content"]["status"] == "ok", reply
    return json.loads("".join(output))


def wait_for_value(client: BlockingKernelClient, code: str, expected: Any) -> None:
    """Wait until an expression in the kernel has the expected value."""
    for _ in range(PATIENCE // 100):
        if (value := evaluate(client, code)) == expected:
            return
        time.sleep(0.1)
    raise AssertionError(f"{code} is {value}, not {expected}")


def open_lab(browser: Browser, lab: tuple[str, Path], watch: Watch) -> Iterator[Page]:
    address, work = lab
    import nbformat  # imported here, because it takes seconds

    cells = [nbformat.v4.new_code_cell(code.strip()) for code in (CODE, LARGE)]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), work / "view.ipynb")
    with newcomer(browser, address, live=None, height=1400) as page:
        leave = watch.follow(page)
        page.goto(f"{address}lab/tree/view.ipynb?token={TOKEN}&reset")
        page.locator(".jp-Notebook .jp-Cell").first.wait_for()
        yield page
        leave()


def test_jupyterlab_widget_shows_inputs_and_syncs_selection(browser: Browser, lab: tuple[str, Path]) -> None:
    watch = Watch(lab[0], [])
    for page in open_lab(browser, lab, watch):
        page.get_by_text("Python 3 (ipykernel) | Idle").wait_for()
        page.locator(".jp-Notebook .jp-Cell .cm-content").first.click()
        page.keyboard.press("Shift+Enter")
        frame = page.frame_locator(".jp-OutputArea-output iframe").first
        expect(frame.locator(".recorded .strips .token")).to_have_text(WORDS)
        client = connect_to_kernel(lab)
        weights = softmax((2, 3, 7, 7), mask=np.tri(7))
        np.testing.assert_array_equal(shown_numbers(frame), expected_numbers(weights[0, 0]))
        # Python reads a click in the view.
        frame.locator(".thumb[data-layer='1'][data-head='2']").click()
        wait_for_value(client, "[view.kind, view.layer, view.head, view.row]", ["self", 1, 2, 3])
        np.testing.assert_array_equal(shown_numbers(frame), expected_numbers(weights[1, 2]))
        frame.locator(".numbers th[data-row='5']").click()
        wait_for_value(client, "[view.row, view.column]", [5, None])
        # The view follows selections set in Python.
        evaluate(client, "[setattr(view, 'layer', 0), setattr(view, 'head', 1), setattr(view, 'row', 2)]")
        expect(frame.locator("h3.numeric")).to_have_text("Layer 1 · Head 2")
        expect(frame.locator(".numbers th.pinned-row, .numbers th[data-row='2'].pinned-row")).to_have_text("sat")
        np.testing.assert_array_equal(shown_numbers(frame), expected_numbers(weights[0, 1]))
        # The theme follows the notebook.
        expect(frame.locator("body")).not_to_have_class("dark")
        page.evaluate("() => document.body.style.setProperty('--jp-layout-color0', '#111')")
        page.evaluate(
            "() => (document.querySelector('.jp-OutputArea-output iframe').parentElement.style.background = '#111')"
        )
        page.evaluate("() => document.body.setAttribute('data-jp-theme-light', 'false')")
        expect(frame.locator("body")).to_have_class("dark")
        # Heads of a large model are loaded when they are shown.
        page.locator(".jp-Notebook .jp-Cell .cm-content").nth(1).click()
        page.keyboard.press("Shift+Enter")
        large = page.frame_locator(".jp-OutputArea-output iframe").last  # the first is unloaded when it is not visible
        row = softmax((512, 512))
        strongest = sorted((f"{weight:.4f}" for weight in row.ravel()), reverse=True)[:6]
        expect(large.locator("h3.numeric")).to_have_text("Layer 6 · Head 8")
        expect(large.locator(".list .numeric")).to_have_text(strongest)
        painted = "(canvas) => canvas.width === 48 && canvas.getContext('2d').getImageData(0, 0, 1, 1).data[3] === 255"
        last = large.locator(".thumb canvas").last
        while not last.evaluate(painted):
            page.wait_for_timeout(100)
        client.stop_channels()
    assert not watch.faults, "\n".join(watch.faults)


# Host pages like those of other notebooks: their theme attributes, and a cross-origin frame for each output.
CSP = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:; "
    "font-src data:; frame-src 'self' http://outputs.test"
)
TALL = """() => {
  const frame = document.querySelector('iframe');
  return Math.abs(frame.clientHeight - frame.contentDocument.documentElement.scrollHeight) <= 1;
}"""
MODEL = """
const values = VALUES;
values._maps = Object.fromEntries(Object.entries(values._maps).map(([name, text]) =>
  [name, new DataView(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer)]));
const listeners = new Map();
globalThis.model = {
  get: (name) => values[name],
  set(name, value) { values[name] = value; for (const each of listeners.get(`change:${name}`) ?? []) each(); },
  save_changes() {}, send() {},
  on: (name, listener) => listeners.set(name, [...(listeners.get(name) ?? []), listener]),
  off: () => {},
};
render({ model, el: document.getElementById('output') });
"""


def output_page(content: str, about: str = "", body: str = "") -> str:
    """Return the HTML page of an output."""
    policy = f'<meta http-equiv="Content-Security-Policy" content="{CSP}">'
    return (
        f'<!doctype html><html {about}><head><meta charset="utf-8">{policy}</head><body {body}>{content}</body></html>'
    )


def frame_around(sandbox: str) -> str:
    """Return the notebook page with the output in a cross-origin frame."""
    about = f'sandbox="{sandbox}" src="http://outputs.test/" width="900" height="1400"'
    return f'<!doctype html><body style="background:#111"><iframe {about}></iframe></body>'


def as_widget(view: View) -> str:
    """Return the view as a widget, with a stub of the widget manager's model."""
    widget = view.widget
    values = {name: getattr(widget, name) for name in ("kind", "layer", "head", "row", "column", "_state")}
    maps = {name: base64.b64encode(content).decode() for name, content in widget._maps.items()}
    model_values = json.dumps(values | {"_maps": maps}).replace("</", "<\\/")
    module = widget_module().replace("</script", "<\\/script").partition("export default")[0]
    return f'<div id="output"></div><script type="module">{module}{MODEL.replace("VALUES", model_values)}</script>'


def other_notebook(page: Page, output: str, sandbox: str) -> FrameLocator:
    """Open the view in a cross-origin output frame."""
    pages = {"http://notebook.test/": frame_around(sandbox), "http://outputs.test/": output}

    def answer(route: Route) -> None:
        requested.append(route.request.url)
        route.fulfill(body=pages.get(route.request.url, ""), content_type="text/html", status=200)

    requested: list[str] = []
    page.context.unroute_all()
    page.context.route("**/*", answer)
    page.goto("http://notebook.test/")
    view = page.frame_locator("iframe").frame_locator("iframe")
    expect(view.locator("#headlight[data-ready]")).to_have_count(1)
    assert set(requested) <= {*pages, "http://notebook.test/favicon.ico"}
    return view


def test_cross_origin_frames_use_requested_theme(browser: Browser) -> None:
    weights = softmax((2, 3, 7, 7), mask=np.tri(7))
    view = headlight.show(weights, tokens=WORDS, row=3)
    own = "allow-scripts allow-same-origin"
    with browser.new_context(locale="en-US", color_scheme="light") as context:
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        for content in (view._repr_html_(), as_widget(view)):
            # Colab: `theme` at the root of each output's page; the surface itself is transparent.
            frame = other_notebook(page, output_page(content, about="theme=dark"), own)
            expect(frame.locator("body")).to_have_class("dark")
            # VS Code: the kind of theme is an attribute on the body.
            frame = other_notebook(page, output_page(content, body='data-vscode-theme-kind="vscode-dark"'), own)
            expect(frame.locator("body")).to_have_class("dark")
            output = page.frames[1]
            output.evaluate("() => (document.body.dataset.vscodeThemeKind = 'vscode-light')")
            expect(frame.locator("body")).not_to_have_class("dark")
            wait_for_function(output, TALL)
            frame.locator(".thumb[data-layer='1'][data-head='2']").click()
            np.testing.assert_array_equal(shown_numbers(frame), expected_numbers(weights[1, 2]))
        # The widget's model receives the selection and updates the view.
        assert output.evaluate("() => [model.get('layer'), model.get('head'), model.get('row')]") == [1, 2, 3]
        output.evaluate("() => model.set('head', 1)")
        expect(frame.locator("h3.numeric")).to_have_text("Layer 2 · Head 2")
        # A frame with an opaque origin cannot read its host, so the browser's preference applies.
        page.emulate_media(color_scheme="dark")
        frame = other_notebook(page, output_page(view._repr_html_()), "allow-scripts")
        expect(frame.locator("body")).to_have_class("dark")
        frame.locator(".thumb[data-layer='1'][data-head='2']").click()
        np.testing.assert_array_equal(shown_numbers(frame), expected_numbers(weights[1, 2]))
        assert not complaints, complaints


def test_shadow_root_widget_follows_page_theme(browser: Browser) -> None:
    """Test as in marimo, which also uses other CSS colour formats."""
    view = headlight.show(softmax((2, 3, 7, 7)), tokens=WORDS)
    with browser.new_context(locale="en-US", color_scheme="dark") as context:
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.set_content('<body style="background:color(srgb 1 1 1)"><div id="host"></div></body>')
        page.evaluate(
            "(html) => (document.getElementById('host').attachShadow({ mode: 'open' }).innerHTML = html)",
            view._repr_html_(),
        )
        frame = page.frame_locator("#host iframe")
        expect(frame.locator("#headlight[data-ready]")).to_have_count(1)
        expect(frame.locator("body")).not_to_have_class("dark")
        page.evaluate("() => (document.body.style.background = 'oklch(0.2 0 0)')")
        expect(frame.locator("body")).to_have_class("dark")


@pytest.mark.journey
def test_notebook_html_is_self_contained(browser: Browser, tmp_path: Path) -> None:
    """Test exported HTML: on a dark host page the view is dark."""
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
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        leave = watch.follow(page)
        page.goto((tmp_path / "a.html").as_uri())
        frame = page.frame_locator("iframe")
        expect(frame.locator("h2.recorded-name")).to_have_text("<b>x</b>")
        expect(frame.locator("body")).to_have_class("dark")
        expect(page.locator(".headlight-still")).to_have_count(0)
        np.testing.assert_array_equal(shown_numbers(frame), expected_numbers(weights[0, 0]))
        wait_for_function(page, TALL)
        page.goto((tmp_path / "b.html").as_uri())
        expect(page.locator("h3.numeric")).to_have_text("Layer 2 · Head 2")
        page.goto((tmp_path / "c.html").as_uri())
        expect(page.locator(".headlight-both .frame h3")).to_have_count(3)
        leave()
    assert not watch.faults, "\n".join(watch.faults)


def converted(notebook: Any) -> str:
    """Return the page that nbconvert makes of a notebook, with its default settings."""
    from nbconvert import HTMLExporter  # imported here, because it takes seconds

    return str(HTMLExporter().from_notebook_node(notebook)[0])


# ZeroMQ sockets and the kernel process are closed with the client's event loop, after Python's resource check.
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_executed_notebook_shows_its_view_offline(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """nbclient runs a notebook as papermill does, and nbconvert makes a page that is read without a network."""
    import nbformat
    from nbclient import NotebookClient

    isolate_kernel(monkeypatch, tmp_path)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CODE.strip())])
    NotebookClient(notebook, timeout=None, resources={"metadata": {"path": tmp_path}}).execute()
    (tmp_path / "executed.html").write_text(converted(notebook), encoding="utf-8")
    stored = nbformat.read(ROOT / "docs" / "notebooks" / "first_look.ipynb", as_version=4)
    (tmp_path / "stored.html").write_text(converted(stored), encoding="utf-8")
    weights = softmax((2, 3, 7, 7), mask=np.tri(7))
    with browser.new_context(locale="en-US", offline=True) as context:
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.goto((tmp_path / "executed.html").as_uri(), wait_until="domcontentloaded")
        frame = page.frame_locator("iframe")
        expect(frame.locator(".recorded .strips .token")).to_have_text(WORDS)
        np.testing.assert_array_equal(shown_numbers(frame), expected_numbers(weights[0, 0]))
        page.goto((tmp_path / "stored.html").as_uri(), wait_until="domcontentloaded")
        picture = page.locator(".jp-OutputArea-output svg, .jp-OutputArea-output img")
        expect(picture).to_have_count(1)
        assert (box := picture.bounding_box())
        assert box["width"] > 400
    with browser.new_context(locale="en-US", offline=True, java_script_enabled=False) as context:
        page = context.new_page()
        page.goto((tmp_path / "executed.html").as_uri(), wait_until="domcontentloaded")
        still = page.locator(".headlight-still img")
        expect(still).to_be_visible()
        assert still.evaluate("(image) => [image.naturalWidth, image.naturalHeight]") == [3 * 31, 2 * 31]
