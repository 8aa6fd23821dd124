"""First visit over a home connection: time to the first painted map, compared with an empty Gradio page.

The two pages are visited alternately, each time with an empty cache, so a slowdown of the machine affects both.
"""

from __future__ import annotations

import sys
from typing import Any

from tests.browser.browsers import find_chromium
from tests.browser.polling import wait_for_function
from workshop.benchmarks.arithmetic import compute_paired_ratio, summarise_quartiles
from workshop.benchmarks.page import PORT, Log, serve

LATENCY_MS = 80
BANDWIDTH_MBIT = 10  # per second
NETWORK_CONDITIONS = {
    "offline": False,
    "latency": LATENCY_MS,
    "downloadThroughput": BANDWIDTH_MBIT * 1e6 / 8,
    "uploadThroughput": BANDWIDTH_MBIT * 1e6 / 8,
}
MAP_SELECTOR, EMPTY_SELECTOR = ".explorer .plot > canvas, .explorer .plot .main-svg", "#there"
# Records the time from the start of the visit until the frame after the element's insertion is painted.
PAINT_OBSERVER = """
const recordPaint = () => {
  if (!document.querySelector('SELECTOR')) return;
  watcher.disconnect();
  requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => (window.paintedAt = performance.now());
    channel.port2.postMessage(0);
  });
};
const watcher = new MutationObserver(recordPaint);
watcher.observe(document, { childList: true, subtree: true });
"""


def measure(repetitions: int, log: Log) -> dict[str, Any]:
    """Measure both pages alternately, and the requests and bytes of the Headlight page."""
    from playwright.sync_api import sync_playwright

    headlight: list[float] = []
    empty: list[float] = []
    with (
        sync_playwright() as playwright,
        serve([sys.executable, "app.py"], PORT),
        serve([sys.executable, "-m", "workshop.benchmarks.empty_page"], PORT + 1),
    ):
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox", "--disable-gpu"])
        for turn in range(repetitions + 1):  # the first visits warm up the servers
            seconds, traffic = visit(browser, f"http://127.0.0.1:{PORT}", MAP_SELECTOR)
            empty_seconds, _ = visit(browser, f"http://127.0.0.1:{PORT + 1}", EMPTY_SELECTOR)
            log(f"first map {seconds:.2f} s, empty page {empty_seconds:.2f} s")
            if turn:
                headlight.append(seconds)
                empty.append(empty_seconds)
        browser.close()
    connection = {"latency": LATENCY_MS, "speed": BANDWIDTH_MBIT}
    return {
        "line": connection,
        "ours": summarise_quartiles(headlight),
        "empty": summarise_quartiles(empty),
        "ratio": compute_paired_ratio(headlight, empty),
    } | traffic


def visit(browser: Any, address: str, selector: str) -> tuple[float, dict[str, int]]:
    """Visit a page once.

    Return the seconds until painted, and the number and bytes of the requests until the page is complete.
    """
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    network = context.new_cdp_session(page)
    network.send("Network.enable")
    network.send("Network.emulateNetworkConditions", NETWORK_CONDITIONS)
    request_ids: set[str] = set()
    response_bytes: dict[str, float] = {}

    def record_request(event: Any) -> None:
        if event["request"]["url"].startswith("http"):  # no data or blob URLs
            request_ids.add(event["requestId"])

    def record_response(event: Any) -> None:
        response_bytes[event["requestId"]] = event["encodedDataLength"]

    network.on("Network.requestWillBeSent", record_request)
    network.on("Network.loadingFinished", record_response)
    page.add_init_script(PAINT_OBSERVER.replace("SELECTOR", selector))
    page.goto(address)
    wait_for_function(page, "() => window.paintedAt !== undefined")
    if selector == MAP_SELECTOR:
        page.wait_for_selector(".explorer .plot .main-svg")
    seconds = page.evaluate("window.paintedAt") / 1000
    context.close()
    received = sum(response_bytes.get(request, 0) for request in request_ids)
    return seconds, {"requests": len(request_ids), "bytes": round(received)}
