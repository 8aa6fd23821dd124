"""A visitor of the services of docs/cluster/compose.yaml, some of which are killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.acting import translate, translation, wait_for_translation
from tests.browser.conftest import newcomer
from tests.browser.whole_cluster import PAGES, WholeCluster
from tests.viz.backends.real_cluster import PATIENCE, soon

FIRST, SECOND, THIRD = "Das Haus ist alt.", "Der Hund schläft im Garten.", "Die Katze trinkt Milch."
LONG = "Meine Mutter kauft morgen auf dem Markt frisches Brot und einen großen Fisch für uns alle."


@pytest.fixture
def whole() -> Iterator[WholeCluster]:
    with ExitStack() as stack:
        cluster = WholeCluster(stack)
        try:
            cluster.start()
            yield cluster
        except BaseException:
            for name in cluster.running:
                print(name, cluster.log(name)[-3000:])  # noqa: T201 - pytest shows it
            raise


@pytest.mark.cluster
def test_visitor_session_survives_killed_page_and_replica(browser: Browser, whole: WholeCluster) -> None:
    """Check everything in one test, so that the services start only once."""
    with newcomer(browser, whole.address) as page:
        page.set_default_timeout(PATIENCE * 1000)
        page.goto(whole.address)
        own = serving_page(page, whole)
        assert_answers_are_shared(whole)
        assert_killed_page_is_replaced(page, whole, own)
        assert_killed_replica_is_replaced(page, whole)
    assert_all_stop(whole)


def serving_page(page: Page, whole: WholeCluster) -> str:
    """Return the page process that serves this visitor."""
    before = {name: whole.answers(name) for name in PAGES}
    for text in (FIRST, SECOND, FIRST, SECOND):
        assert translate(page, text)
    more = {name: whole.answers(name) - before[name] for name in PAGES}
    (own,) = [name for name in PAGES if more[name]]
    return own


def assert_answers_are_shared(whole: WholeCluster) -> None:
    import valkey

    client = valkey.Valkey(whole.addresses["valkey"], int(whole.ports["6379"]))
    soon(lambda: client.dbsize() >= 2, "no answer is shared")  # type: ignore[operator]
    client.close()


def assert_killed_page_is_replaced(page: Page, whole: WholeCluster, own: str) -> None:
    (other,) = set(PAGES) - {own}
    before = whole.answers(other)
    whole.running[own].kill()
    whole.running[own].wait()
    assert translate(page, THIRD)
    assert whole.answers(other) > before
    whole.start_one(own)  # as `restart: unless-stopped` does
    soon(lambda: whole.ready(own), "the page does not come back")
    assert translate(page, FIRST)


def assert_killed_replica_is_replaced(page: Page, whole: WholeCluster) -> None:
    killed = whole.replicas()
    assert killed
    for number in killed:
        os.kill(number, signal.SIGKILL)
    page.fill("#sentence", LONG)
    page.press("#sentence", "Enter")
    wait_for_translation(page, LONG)
    assert translation(page)
    assert set(whole.replicas()) - set(killed)


def assert_all_stop(whole: WholeCluster) -> None:
    """Stop services in Compose's order, dependents first."""
    for name in ("balancer", *PAGES, "ray", "valkey"):
        whole.running[name].terminate()
        assert whole.running[name].wait(PATIENCE) == 0, name
        assert "Traceback" not in whole.log(name)
    assert whole.replicas() == []
