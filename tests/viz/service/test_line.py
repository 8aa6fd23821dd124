"""The request queue: concurrency, fair shares, limits."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from random import Random
from threading import Thread

import pytest

from headlight.viz.errors import PageError
from headlight.viz.server.visitors import client_address
from headlight.viz.service import request_queue as line_module
from headlight.viz.service.fair_order import fair_order
from headlight.viz.service.request_queue import RequestQueue, Ticket, Visitor

CROWD, OTHER, THIRD = "203.0.113.5", "198.51.100.7", "192.0.2.9"


def joined(line: RequestQueue, address: str, sessions: Sequence[str]) -> list[Ticket]:
    return [line.enqueue(Visitor(address, session)) for session in sessions]


def test_concurrency_limit_is_enforced() -> None:
    line = RequestQueue(3, 20)
    places = [line.enqueue(Visitor(f"192.0.2.{number}", "s")) for number in range(7)]
    assert [place.granted for place in places] == [True] * 3 + [False] * 4
    assert [place.position() for place in places[3:]] == [0, 1, 2, 3]
    places[1].release()
    assert [place.granted for place in places[3:]] == [True, False, False, False]
    places[4].release()  # one who waits may go, too
    assert [place.position() for place in places[5:]] == [0, 1]


def test_crowd_of_one_address_delays_only_itself() -> None:
    line = RequestQueue(2, 40)
    crowd = joined(line, CROWD, [f"s{number}" for number in range(11)])
    assert sum(place.granted for place in crowd) == 1  # one turn is left for somebody else
    (other,) = joined(line, OTHER, ["s"])
    assert other.granted
    other.release()
    (again,) = joined(line, OTHER, ["s"])
    assert again.granted


def test_with_one_slot_longest_waiting_address_is_next() -> None:
    line = RequestQueue(1, 40)
    first, *crowd = joined(line, CROWD, "abcde")
    (other,) = joined(line, OTHER, ["s"])
    assert (other.position(), [place.position() for place in crowd]) == (0, [1, 2, 3, 4])
    first.release()
    assert other.granted
    other.release()
    assert crowd[0].granted


def test_sessions_of_one_address_alternate() -> None:
    line = RequestQueue(1, 40)
    greedy = joined(line, CROWD, "aaaa")
    (modest,) = joined(line, CROWD, "b")
    greedy[0].release()
    assert modest.granted


def test_queue_by_session_ignores_addresses() -> None:
    line = RequestQueue(1, 40, by_session=True)
    first, *crowd = joined(line, CROWD, "abcc")
    (other,) = joined(line, OTHER, ["s"])
    assert [place.position() for place in (*crowd, other)] == [0, 1, 2, 2]  # of the second "c": its own is no other one
    first.release()
    assert crowd[0].granted


def test_local_session_has_a_share() -> None:
    line = RequestQueue(3, 40)
    one = joined(line, "127.0.0.1", "aaa")
    assert [place.granted for place in one] == [True, True, False]
    assert joined(line, "127.0.0.1", "b")[0].granted


def test_one_address_may_use_half_of_the_queue() -> None:
    line = RequestQueue(1, 6)
    joined(line, THIRD, "x")
    crowd = joined(line, CROWD, "abc")
    with pytest.raises(PageError) as caught:
        line.enqueue(Visitor(CROWD, "d"))
    assert (caught.value.word, caught.value.values["before"]) == ("line_full", 3)
    joined(line, OTHER, "abc")
    with pytest.raises(PageError, match="Too many requests are waiting"):
        line.enqueue(Visitor("192.0.2.77", "e"))
    crowd[0].release()
    joined(line, "192.0.2.77", "e")


def test_zero_queue_length_still_allows_running_requests() -> None:
    line = RequestQueue(1, 0)
    (place,) = joined(line, CROWD, "a")
    assert place.granted
    with pytest.raises(PageError):
        line.enqueue(Visitor(OTHER, "b"))
    place.release()
    assert joined(line, OTHER, "b")[0].granted


def test_released_place_is_reserved_briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    line = RequestQueue(1, 9)
    first, second, third = joined(line, CROWD, "a") + joined(line, OTHER, "b") + joined(line, THIRD, "c")
    assert line.park(second)
    first.release()
    assert (second.granted, third.granted) == (False, True)
    assert line.resume(second.token, Visitor(CROWD, "a")) is None  # a name is no use to others
    assert line.resume(second.token, second.visitor) is second
    third.release()
    assert second.granted
    assert not line.park(second)
    (late,) = joined(line, THIRD, "d")
    assert line.park(late)
    monkeypatch.setattr(line_module, "ABANDONED_AFTER_SECONDS", -1.0)
    assert line.resume(late.token, late.visitor) is None
    assert late.cancelled


def test_waiters_are_woken_and_cancelled_ones_removed() -> None:
    line = RequestQueue(1, 9)
    (first,) = joined(line, CROWD, "a")
    heard: list[str] = []

    second = line.enqueue(Visitor(OTHER, "b"))

    def take() -> None:
        with second:
            assert second.wait(60)
            heard.append("turn")

    thread = Thread(target=take)
    thread.start()
    with line.enqueue(Visitor(THIRD, "c")) as third:
        assert not third.wait(0)
    first.release()
    thread.join(60)
    assert heard == ["turn"]
    assert not third.granted
    assert line.wait_until_empty(0.0)


def test_closed_queue_rejects_new_and_serves_queued_requests() -> None:
    line = RequestQueue(1, 9)
    first, second = joined(line, CROWD, "a") + joined(line, OTHER, "b")
    line.close()
    with pytest.raises(PageError) as caught:
        line.enqueue(Visitor(THIRD, "c"))
    assert caught.value.word == "leaving"
    assert not line.wait_until_empty(0.01)
    first.release()
    assert second.granted
    second.release()
    assert line.wait_until_empty(0.0)


@pytest.mark.parametrize(
    ("client", "forwarded", "on_a_space", "address"),
    [
        ("203.0.113.5", "", False, "203.0.113.5"),
        ("8.8.8.8", "9.9.9.9", True, "8.8.8.8"),  # no proxy stands at a public address
        ("10.3.5.7", "1.1.1.1, 9.9.9.9, 10.11.13.17", True, "9.9.9.9"),  # the first was invented
        ("10.3.5.7", "1.1.1.1, 9.9.9.9", False, "10.3.5.7"),
        ("10.3.5.7", "nonsense", True, "10.3.5.7"),
        ("2001:db8:1:2:3:4:5:6", "", False, "2001:db8:1:2::/64"),
        ("::1", "", False, "::1"),
        (None, "", False, ""),
    ],
)
def test_address_cannot_be_spoofed(client: str | None, forwarded: str, on_a_space: bool, address: str) -> None:
    scope = {"client": (client, 7) if client else None, "headers": [(b"x-forwarded-for", forwarded.encode())]}
    assert client_address(scope, on_a_space=on_a_space) == address


def typing(line: RequestQueue, session: str, address: str = CROWD) -> Ticket:
    return line.enqueue_live(Visitor(address, session))


def background(line: RequestQueue, session: str, address: str = CROWD) -> Ticket:
    return line.enqueue_background(Visitor(address, session))


def test_live_requests_run_only_while_queue_is_idle() -> None:
    line = RequestQueue(2, 20)
    (asked,) = joined(line, OTHER, ["s"])
    first, second = typing(line, "a"), typing(line, "b")
    assert not line.is_idle()
    assert (first.granted, second.granted) == (False, False)
    asked.release()
    assert line.is_idle()
    assert (first.granted, second.granted) == (True, False)  # one turn stays free
    (asked,) = joined(line, OTHER, ["s"])
    assert asked.granted
    assert not line.is_idle()
    first.release()
    assert not second.granted
    asked.release()
    assert second.granted


def test_with_one_slot_live_request_yields() -> None:
    line = RequestQueue(1, 20)
    live = typing(line, "a")
    (asked,) = joined(line, OTHER, ["s"])
    assert (live.granted, asked.granted, line.is_idle()) == (True, False, False)
    live.release()
    assert asked.granted


def test_newer_live_request_replaces_older_one() -> None:
    line = RequestQueue(3, 20)
    running = typing(line, "a")
    older = typing(line, "a")
    assert (running.granted, older.granted) == (True, False)  # although a turn is free: one at a time
    newer = typing(line, "a")
    assert older.cancelled
    assert not older.wait(0)
    running.release()
    assert newer.granted
    assert not older.granted


def test_live_requests_alternate_and_use_no_queue_slots() -> None:
    line = RequestQueue(2, 2)
    first, second = typing(line, "a"), typing(line, "b")
    again = typing(line, "a")
    first.release()
    assert (second.granted, again.granted) == (True, False)  # whoever waited longest is next
    assert joined(line, OTHER, "s")[0].granted


def test_full_request_is_served_during_own_live_or_background_request() -> None:
    for begins in (typing, background):
        line = RequestQueue(2, 20)
        own = begins(line, "a")
        assert own.granted
        (asked,) = joined(line, CROWD, "a")
        assert asked.granted, begins
        assert not joined(line, CROWD, "a")[0].granted  # no third one


def test_background_requests_run_last_and_leave_one_slot() -> None:
    line = RequestQueue(2, 20)
    first, second = background(line, "a"), background(line, "b", OTHER)
    assert (first.granted, second.granted) == (True, False)
    (asked,) = joined(line, THIRD, "x")
    assert asked.granted
    later = joined(line, THIRD, "y")[0]
    first.release()
    assert (later.granted, second.granted) == (False, False)  # its address has its turn already
    asked.release()
    assert (later.granted, second.granted) == (True, False)
    later.release()
    assert second.granted


def test_background_requests_use_no_queue_slots() -> None:
    line = RequestQueue(2, 2)
    own = background(line, "a")
    for number in range(12):
        background(line, f"s{number}")
    assert not line.is_full
    assert line.is_idle()
    live = typing(line, "b")
    assert live.granted  # beside what the page does by itself
    live.release()
    assert joined(line, CROWD, "x")[0].granted
    own.release()


def test_newer_background_request_replaces_older_one(monkeypatch: pytest.MonkeyPatch) -> None:
    line = RequestQueue(1, 20)
    (asked,) = joined(line, OTHER, ["s"])
    older, newer = background(line, "a"), background(line, "a")
    assert older.cancelled
    assert line.park(newer)
    assert line.resume(newer.token, Visitor(CROWD, "a")) is newer
    other = background(line, "b")
    assert line.park(other)
    monkeypatch.setattr(line_module, "ABANDONED_AFTER_SECONDS", -1.0)
    asked.release()
    line.is_idle()  # forgets who does not come back
    assert (newer.granted, other.cancelled) == (True, True)
    monkeypatch.setattr(line_module, "MAX_BACKGROUND_TICKETS", 0)
    with pytest.raises(PageError):
        background(line, "c")


def test_abandoned_place_does_not_block_live_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    line = RequestQueue(1, 20)
    (asked,) = joined(line, OTHER, ["s"])
    (forgotten,) = joined(line, THIRD, ["t"])
    assert line.park(forgotten)
    asked.release()
    monkeypatch.setattr(line_module, "ABANDONED_AFTER_SECONDS", -1.0)
    assert typing(line, "a").granted


def test_excess_live_requests_and_closed_queue_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_module, "MAX_LIVE_TICKETS", 1)
    line = RequestQueue(1, 20)
    typing(line, "a")
    typing(line, "b")
    with pytest.raises(PageError, match="Too many requests are waiting"):
        typing(line, "c")
    line.close()
    with pytest.raises(PageError) as caught:
        typing(line, "d")
    assert caught.value.word == "leaving"


# ---------------------------------------------------------------- how long one waits


def class_of(line: RequestQueue, pupils: int, address: str = CROWD) -> list[Ticket]:
    return [line.enqueue(Visitor(address, f"pupil {number}"), kind="translate") for number in range(pupils)]


def measured(line: RequestQueue, seconds: float) -> None:
    """Set the measured duration of a computation."""
    for _ in range(200):
        line._pace.record("translate", seconds)


def test_class_of_one_address_is_limited_by_expected_wait() -> None:
    for seconds, pupils in ((0.3, 180), (1.0, 60), (3.0, 20)):
        line = RequestQueue(2, 1000, max_wait_s=60)
        measured(line, seconds)
        fit = class_of(line, pupils)
        assert len(fit) == pupils
        with pytest.raises(PageError) as caught:
            class_of(line, 3 + pupils // 5)
        assert caught.value.word == "line_full"
        assert 1 <= int(str(caught.value.values["seconds"])) <= line_module.MAX_RETRY_S
        other = line.enqueue(Visitor(OTHER, "s"), kind="translate")
        assert other.granted  # one turn is left for another address


def test_flood_of_one_address_delays_others_by_less_than_one_request() -> None:
    for at_once in (1, 2):
        line = RequestQueue(at_once, 1000, max_wait_s=60)
        measured(line, 0.3)
        hostile, refused = [], 0
        for number in range(500):
            try:
                hostile.append(line.enqueue(Visitor(CROWD, f"{number}"), kind="translate"))
            except PageError:
                refused += 1
        assert (len(hostile) + refused, refused > 250) == (500, True)
        (other,) = joined(line, OTHER, "s")
        if not other.granted:
            assert other.position() == 0
            hostile[0].release()
        assert other.granted


def test_sessions_of_one_address_share_fairly() -> None:
    line = RequestQueue(2, 1000, max_wait_s=60)
    measured(line, 0.3)
    greedy = [line.enqueue(Visitor(CROWD, "greedy"), kind="translate") for _ in range(190)]
    with pytest.raises(PageError):
        joined(line, CROWD, ["greedy"] * 90)
    (pupil,) = joined(line, CROWD, ["pupil"])
    assert pupil.position() == 0
    greedy[0].release()
    assert pupil.granted


def test_single_slow_computation_does_not_reject_class() -> None:
    line = RequestQueue(2, 1000, max_wait_s=60)
    line._pace.record("translate", 60.0)
    assert len(class_of(line, 60)) == 60


def test_queue_is_limited_by_request_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_module, "MAX_BYTES", 1000)
    line = RequestQueue(1, 1000)
    joined(line, THIRD, "x")
    for address, most in ((CROWD, 2), (OTHER, 2)):  # half of it each
        for _ in range(most):
            line.enqueue(Visitor(address, "s"), size=240)
        with pytest.raises(PageError):
            line.enqueue(Visitor(address, "s"), size=240)


# ---------------------------------------------------------------- equal requests


def test_identical_requests_share_place_and_result() -> None:
    line = RequestQueue(1, 4)
    (runs,) = joined(line, THIRD, "x")
    first, *others = [line.enqueue(Visitor(CROWD, f"{number}"), same="ein bier") for number in range(2)]
    others += [line.enqueue(Visitor(OTHER, "z"), same="ein bier")]
    assert line.counts() == {"running": 1, "waiting": 1, "typing": 0}
    runs.release()
    assert (first.granted, [each.settled for each in others]) == (True, [False, False])
    first.finish("a beer")
    first.release()
    assert [(each.result, each.granted) for each in others] == [("a beer", False)] * 2
    for each in others:
        each.release()
    later = line.enqueue(Visitor(OTHER, "late"), same="ein bier")  # the cache has it, or it is computed anew
    assert (later.result, later.granted) == (None, True)


def test_identical_request_takes_over_after_cancellation() -> None:
    line = RequestQueue(1, 9)
    (runs,) = joined(line, THIRD, "x")
    first, second, third = [line.enqueue(Visitor(CROWD, name), same="ein bier") for name in "abc"]
    third.release()  # one that stands behind may go, too
    first.release()
    assert line.counts()["waiting"] == 1
    runs.release()
    assert second.granted
    fourth = line.enqueue(Visitor(OTHER, "d"), same="ein bier")
    second.release()  # stopped before its end
    assert fourth.granted


# ---------------------------------------------------------------- a visitor's own requests


def test_newest_tab_request_of_visitor_is_next_without_starvation() -> None:
    line, own = RequestQueue(2, 40), Visitor(CROWD, "s")
    runs = line.enqueue(own, kind="explain_row")
    older = line.enqueue(own, kind="judge")
    newer = line.enqueue(own, kind="cards")
    assert [place.position() for place in (older, newer)] == [None, None]  # nobody else is before them
    runs.release()
    assert (older.granted, newer.granted) == (False, True)
    again = line.enqueue(own, kind="cards")
    newer.release()
    assert (older.granted, again.granted) == (True, False)


def test_order_matches_repeated_application_of_rule() -> None:
    random = Random(7)  # noqa: S311 - chance, not secrets
    for _ in range(50):
        running = Counter({key: random.randrange(3) for key in ("a", "b", "c")})
        last = {"a": random.randrange(9), "b": random.randrange(9)}
        places = []
        for number in range(random.randrange(1, 13)):
            line = RequestQueue(1, 9, by_session=True)
            place = Ticket(line, Visitor("", random.choice("abc")), number)
            places.append(place)
        running = Counter({(key := place.visitor): running[key.session] for place in places})
        last = {place.visitor: last.get(place.visitor.session, 0) for place in places}
        found = list(fair_order(places, running, last))
        turns, since, left = Counter(running), dict(last), list(places)
        for place in found:
            expected = min(left, key=lambda each: (turns[each.visitor], since[each.visitor], each.sequence))
            assert place is expected
            left.remove(place)
            turns[place.visitor] += 1
            since[place.visitor] = 1 + max(since.values())
        assert not left


def test_waiter_without_thread_is_woken() -> None:
    async def waits() -> tuple[bool, bool]:
        line = RequestQueue(1, 9)
        first, second = joined(line, CROWD, "a") + joined(line, OTHER, "b")
        before = await second.wait_async(0.01)
        Thread(target=first.release).start()
        return before, await second.wait_async(60)

    assert asyncio.run(waits()) == (False, True)


def test_burst_of_requests_is_sorted_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five hundred requests that each get their position immediately, as pages do: one ordering takes 6 ms."""
    orders = []
    order = line_module.fair_order
    monkeypatch.setattr(line_module, "fair_order", lambda *given: orders.append(1) or order(*given))
    monkeypatch.setattr(line_module, "POSITION_SECONDS", 3600.0)
    line = RequestQueue(2, 2000, max_wait_s=60)
    hostile = [line.enqueue(Visitor("192.0.2.9", f"h{number}")) for number in range(100)]
    refused = 0
    for number in range(400):
        try:
            place = line.enqueue(Visitor("192.0.2.9", f"i{number}"))
        except PageError:
            refused += 1
            continue
        hostile.append(place)
        assert place.position() is not None
    assert refused > 100
    other = line.enqueue(Visitor("198.51.100.7", "other"))
    assert other.position() in (0, 1, 2)  # its turn is among the first, whatever others send
    assert len(orders) < 10
