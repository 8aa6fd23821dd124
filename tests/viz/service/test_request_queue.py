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
from headlight.viz.service import request_queue as queue_module
from headlight.viz.service.fair_order import fair_order
from headlight.viz.service.request_queue import RequestQueue, Ticket, Visitor

CROWD, OTHER, THIRD = "203.0.113.5", "198.51.100.7", "192.0.2.9"


def enqueue_all(queue: RequestQueue, address: str, sessions: Sequence[str]) -> list[Ticket]:
    return [queue.enqueue(Visitor(address, session)) for session in sessions]


def test_concurrency_limit_is_enforced() -> None:
    queue = RequestQueue(3, 20)
    tickets = [queue.enqueue(Visitor(f"192.0.2.{number}", "s")) for number in range(7)]
    assert [ticket.granted for ticket in tickets] == [True] * 3 + [False] * 4
    assert [ticket.position() for ticket in tickets[3:]] == [0, 1, 2, 3]
    tickets[1].release()
    assert [ticket.granted for ticket in tickets[3:]] == [True, False, False, False]
    tickets[4].release()  # a queued request can leave
    assert [ticket.position() for ticket in tickets[5:]] == [0, 1]


def test_crowd_of_one_address_delays_only_itself() -> None:
    queue = RequestQueue(2, 40)
    crowd = enqueue_all(queue, CROWD, [f"s{number}" for number in range(11)])
    assert sum(ticket.granted for ticket in crowd) == 1  # one slot stays free for other addresses
    (other,) = enqueue_all(queue, OTHER, ["s"])
    assert other.granted
    other.release()
    (again,) = enqueue_all(queue, OTHER, ["s"])
    assert again.granted


def test_with_one_slot_longest_waiting_address_is_next() -> None:
    queue = RequestQueue(1, 40)
    first, *crowd = enqueue_all(queue, CROWD, "abcde")
    (other,) = enqueue_all(queue, OTHER, ["s"])
    assert (other.position(), [ticket.position() for ticket in crowd]) == (0, [1, 2, 3, 4])
    first.release()
    assert other.granted
    other.release()
    assert crowd[0].granted


def test_sessions_of_one_address_alternate() -> None:
    queue = RequestQueue(1, 40)
    greedy = enqueue_all(queue, CROWD, "aaaa")
    (modest,) = enqueue_all(queue, CROWD, "b")
    greedy[0].release()
    assert modest.granted


def test_queue_by_session_ignores_addresses() -> None:
    queue = RequestQueue(1, 40, by_session=True)
    first, *crowd = enqueue_all(queue, CROWD, "abcc")
    (other,) = enqueue_all(queue, OTHER, ["s"])
    assert [ticket.position() for ticket in (*crowd, other)] == [
        0,
        1,
        2,
        2,
    ]  # requests of its own session do not count for the second "c"
    first.release()
    assert crowd[0].granted


def test_local_session_has_a_share() -> None:
    queue = RequestQueue(3, 40)
    one = enqueue_all(queue, "127.0.0.1", "aaa")
    assert [ticket.granted for ticket in one] == [True, True, False]
    assert enqueue_all(queue, "127.0.0.1", "b")[0].granted


def test_one_address_may_use_half_of_the_queue() -> None:
    queue = RequestQueue(1, 6)
    enqueue_all(queue, THIRD, "x")
    crowd = enqueue_all(queue, CROWD, "abc")
    with pytest.raises(PageError) as error_info:
        queue.enqueue(Visitor(CROWD, "d"))
    assert (error_info.value.word, error_info.value.values["before"]) == ("line_full", 3)
    enqueue_all(queue, OTHER, "abc")
    with pytest.raises(PageError, match="Too many requests are waiting"):
        queue.enqueue(Visitor("192.0.2.77", "e"))
    crowd[0].release()
    enqueue_all(queue, "192.0.2.77", "e")


def test_zero_queue_length_still_allows_running_requests() -> None:
    queue = RequestQueue(1, 0)
    (ticket,) = enqueue_all(queue, CROWD, "a")
    assert ticket.granted
    with pytest.raises(PageError):
        queue.enqueue(Visitor(OTHER, "b"))
    ticket.release()
    assert enqueue_all(queue, OTHER, "b")[0].granted


def test_released_place_is_reserved_briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = RequestQueue(1, 9)
    first, second, third = (
        enqueue_all(queue, CROWD, "a") + enqueue_all(queue, OTHER, "b") + enqueue_all(queue, THIRD, "c")
    )
    assert queue.park(second)
    first.release()
    assert (second.granted, third.granted) == (False, True)
    assert queue.resume(second.token, Visitor(CROWD, "a")) is None  # a token is valid only for its visitor
    assert queue.resume(second.token, second.visitor) is second
    third.release()
    assert second.granted
    assert not queue.park(second)
    (late,) = enqueue_all(queue, THIRD, "d")
    assert queue.park(late)
    monkeypatch.setattr(queue_module, "ABANDONED_AFTER_SECONDS", -1.0)
    assert queue.resume(late.token, late.visitor) is None
    assert late.cancelled


def test_waiters_are_woken_and_cancelled_ones_removed() -> None:
    queue = RequestQueue(1, 9)
    (first,) = enqueue_all(queue, CROWD, "a")
    turns_taken: list[str] = []

    second = queue.enqueue(Visitor(OTHER, "b"))

    def take() -> None:
        with second:
            assert second.wait(60)
            turns_taken.append("turn")

    thread = Thread(target=take)
    thread.start()
    with queue.enqueue(Visitor(THIRD, "c")) as third:
        assert not third.wait(0)
    first.release()
    thread.join(60)
    assert turns_taken == ["turn"]
    assert not third.granted
    assert queue.wait_until_empty(0.0)


def test_closed_queue_rejects_new_and_serves_queued_requests() -> None:
    queue = RequestQueue(1, 9)
    first, second = enqueue_all(queue, CROWD, "a") + enqueue_all(queue, OTHER, "b")
    queue.close()
    with pytest.raises(PageError) as error_info:
        queue.enqueue(Visitor(THIRD, "c"))
    assert error_info.value.word == "leaving"
    assert not queue.wait_until_empty(0.01)
    first.release()
    assert second.granted
    second.release()
    assert queue.wait_until_empty(0.0)


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


def enqueue_live(queue: RequestQueue, session: str, address: str = CROWD) -> Ticket:
    return queue.enqueue_live(Visitor(address, session))


def enqueue_background(queue: RequestQueue, session: str, address: str = CROWD) -> Ticket:
    return queue.enqueue_background(Visitor(address, session))


def test_live_requests_run_only_while_queue_is_idle() -> None:
    queue = RequestQueue(2, 20)
    (full_request,) = enqueue_all(queue, OTHER, ["s"])
    first, second = enqueue_live(queue, "a"), enqueue_live(queue, "b")
    assert not queue.is_idle()
    assert (first.granted, second.granted) == (False, False)
    full_request.release()
    assert queue.is_idle()
    assert (first.granted, second.granted) == (True, False)  # one slot stays free
    (full_request,) = enqueue_all(queue, OTHER, ["s"])
    assert full_request.granted
    assert not queue.is_idle()
    first.release()
    assert not second.granted
    full_request.release()
    assert second.granted


def test_with_one_slot_live_request_yields() -> None:
    queue = RequestQueue(1, 20)
    live = enqueue_live(queue, "a")
    (full_request,) = enqueue_all(queue, OTHER, ["s"])
    assert (live.granted, full_request.granted, queue.is_idle()) == (True, False, False)
    live.release()
    assert full_request.granted


def test_newer_live_request_replaces_older_one() -> None:
    queue = RequestQueue(3, 20)
    running = enqueue_live(queue, "a")
    older = enqueue_live(queue, "a")
    assert (running.granted, older.granted) == (
        True,
        False,
    )  # a slot is free, but a session has one live request at a time
    newer = enqueue_live(queue, "a")
    assert older.cancelled
    assert not older.wait(0)
    running.release()
    assert newer.granted
    assert not older.granted


def test_live_requests_alternate_and_use_no_queue_slots() -> None:
    queue = RequestQueue(2, 2)
    first, second = enqueue_live(queue, "a"), enqueue_live(queue, "b")
    again = enqueue_live(queue, "a")
    first.release()
    assert (second.granted, again.granted) == (True, False)  # the longest waiting session is next
    assert enqueue_all(queue, OTHER, "s")[0].granted


def test_full_request_is_served_during_own_live_or_background_request() -> None:
    for enqueue in (enqueue_live, enqueue_background):
        queue = RequestQueue(2, 20)
        own = enqueue(queue, "a")
        assert own.granted
        (full_request,) = enqueue_all(queue, CROWD, "a")
        assert full_request.granted, enqueue
        assert not enqueue_all(queue, CROWD, "a")[0].granted  # no third one


def test_background_requests_run_last_and_leave_one_slot() -> None:
    queue = RequestQueue(2, 20)
    first, second = enqueue_background(queue, "a"), enqueue_background(queue, "b", OTHER)
    assert (first.granted, second.granted) == (True, False)
    (full_request,) = enqueue_all(queue, THIRD, "x")
    assert full_request.granted
    later = enqueue_all(queue, THIRD, "y")[0]
    first.release()
    assert (later.granted, second.granted) == (False, False)  # its address already has a running request
    full_request.release()
    assert (later.granted, second.granted) == (True, False)
    later.release()
    assert second.granted


def test_background_requests_use_no_queue_slots() -> None:
    queue = RequestQueue(2, 2)
    own = enqueue_background(queue, "a")
    for number in range(12):
        enqueue_background(queue, f"s{number}")
    assert not queue.is_full
    assert queue.is_idle()
    live = enqueue_live(queue, "b")
    assert live.granted  # background requests do not block it
    live.release()
    assert enqueue_all(queue, CROWD, "x")[0].granted
    own.release()


def test_newer_background_request_replaces_older_one(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = RequestQueue(1, 20)
    (full_request,) = enqueue_all(queue, OTHER, ["s"])
    older, newer = enqueue_background(queue, "a"), enqueue_background(queue, "a")
    assert older.cancelled
    assert queue.park(newer)
    assert queue.resume(newer.token, Visitor(CROWD, "a")) is newer
    other = enqueue_background(queue, "b")
    assert queue.park(other)
    monkeypatch.setattr(queue_module, "ABANDONED_AFTER_SECONDS", -1.0)
    full_request.release()
    queue.is_idle()  # removes abandoned requests
    assert (newer.granted, other.cancelled) == (True, True)
    monkeypatch.setattr(queue_module, "MAX_BACKGROUND_TICKETS", 0)
    with pytest.raises(PageError):
        enqueue_background(queue, "c")


def test_abandoned_place_does_not_block_live_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = RequestQueue(1, 20)
    (full_request,) = enqueue_all(queue, OTHER, ["s"])
    (forgotten,) = enqueue_all(queue, THIRD, ["t"])
    assert queue.park(forgotten)
    full_request.release()
    monkeypatch.setattr(queue_module, "ABANDONED_AFTER_SECONDS", -1.0)
    assert enqueue_live(queue, "a").granted


def test_excess_live_requests_and_closed_queue_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue_module, "MAX_LIVE_TICKETS", 1)
    queue = RequestQueue(1, 20)
    enqueue_live(queue, "a")
    enqueue_live(queue, "b")
    with pytest.raises(PageError, match="Too many requests are waiting"):
        enqueue_live(queue, "c")
    queue.close()
    with pytest.raises(PageError) as error_info:
        enqueue_live(queue, "d")
    assert error_info.value.word == "leaving"


# ---------------------------------------------------------------- expected waiting time


def enqueue_class(queue: RequestQueue, pupils: int, address: str = CROWD) -> list[Ticket]:
    return [queue.enqueue(Visitor(address, f"pupil {number}"), kind="translate") for number in range(pupils)]


def set_duration(queue: RequestQueue, seconds: float) -> None:
    """Set the measured duration of a computation."""
    for _ in range(200):
        queue._pace.record("translate", seconds)


def test_class_of_one_address_is_limited_by_expected_wait() -> None:
    for seconds, pupils in ((0.3, 180), (1.0, 60), (3.0, 20)):
        queue = RequestQueue(2, 1000, max_wait_s=60)
        set_duration(queue, seconds)
        accepted = enqueue_class(queue, pupils)
        assert len(accepted) == pupils
        with pytest.raises(PageError) as error_info:
            enqueue_class(queue, 3 + pupils // 5)
        assert error_info.value.word == "line_full"
        assert 1 <= int(str(error_info.value.values["seconds"])) <= queue_module.MAX_RETRY_S
        other = queue.enqueue(Visitor(OTHER, "s"), kind="translate")
        assert other.granted  # one slot stays free for other addresses


def test_flood_of_one_address_delays_others_by_less_than_one_request() -> None:
    for at_once in (1, 2):
        queue = RequestQueue(at_once, 1000, max_wait_s=60)
        set_duration(queue, 0.3)
        hostile, rejected = [], 0
        for number in range(500):
            try:
                hostile.append(queue.enqueue(Visitor(CROWD, f"{number}"), kind="translate"))
            except PageError:
                rejected += 1
        assert (len(hostile) + rejected, rejected > 250) == (500, True)
        (other,) = enqueue_all(queue, OTHER, "s")
        if not other.granted:
            assert other.position() == 0
            hostile[0].release()
        assert other.granted


def test_sessions_of_one_address_share_fairly() -> None:
    queue = RequestQueue(2, 1000, max_wait_s=60)
    set_duration(queue, 0.3)
    greedy = [queue.enqueue(Visitor(CROWD, "greedy"), kind="translate") for _ in range(190)]
    with pytest.raises(PageError):
        enqueue_all(queue, CROWD, ["greedy"] * 90)
    (pupil,) = enqueue_all(queue, CROWD, ["pupil"])
    assert pupil.position() == 0
    greedy[0].release()
    assert pupil.granted


def test_single_slow_computation_does_not_reject_class() -> None:
    queue = RequestQueue(2, 1000, max_wait_s=60)
    queue._pace.record("translate", 60.0)
    assert len(enqueue_class(queue, 60)) == 60


def test_expected_wait_by_hand() -> None:
    """Two slots, two running requests of a second each (half done), four waiting ones, and two more of the address."""
    queue = RequestQueue(2, 1000, max_wait_s=60)
    set_duration(queue, 1.0)
    for number in range(6):
        queue.enqueue(Visitor(f"198.51.100.{number}", "s"), kind="translate")
    ticket = Ticket(queue, Visitor(OTHER, "s"), 99, kind="translate")
    assert queue._estimate_wait_s(ticket) == pytest.approx((0.5 + 0.5 + 4) / 2, abs=1e-4)
    ticket = Ticket(queue, Visitor(CROWD, "s"), 99, kind="translate")
    assert queue._estimate_wait_s(ticket, preceding=10) == pytest.approx(
        10, abs=1e-4
    )  # one slot is left to other addresses


def test_retry_delay_has_a_limit() -> None:
    queue = RequestQueue(1, 1000, max_wait_s=1)
    set_duration(queue, 1000.0)
    queue.enqueue(Visitor(CROWD, "s"), kind="translate")
    with pytest.raises(PageError) as error_info:
        queue.enqueue(Visitor(OTHER, "s"), kind="translate")
    assert error_info.value.values["seconds"] == queue_module.MAX_RETRY_S


def test_queue_is_limited_by_request_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue_module, "MAX_BYTES", 1000)
    queue = RequestQueue(1, 1000)
    enqueue_all(queue, THIRD, "x")
    for address, most in ((CROWD, 2), (OTHER, 2)):  # each address may use half
        for _ in range(most):
            queue.enqueue(Visitor(address, "s"), size=240)
        with pytest.raises(PageError):
            queue.enqueue(Visitor(address, "s"), size=240)


# ---------------------------------------------------------------- identical requests


def test_identical_requests_share_place_and_result() -> None:
    queue = RequestQueue(1, 4)
    (running,) = enqueue_all(queue, THIRD, "x")
    first, *others = [queue.enqueue(Visitor(CROWD, f"{number}"), request_key="ein bier") for number in range(2)]
    others += [queue.enqueue(Visitor(OTHER, "z"), request_key="ein bier")]
    assert queue.counts() == {"running": 1, "waiting": 1, "typing": 0}
    running.release()
    assert (first.granted, [each.settled for each in others]) == (True, [False, False])
    first.finish("a beer")
    first.release()
    assert [(each.result, each.granted) for each in others] == [("a beer", False)] * 2
    for each in others:
        each.release()
    later = queue.enqueue(
        Visitor(OTHER, "late"), request_key="ein bier"
    )  # a later request is not shared: it reads the cache or computes
    assert (later.result, later.granted) == (None, True)


def test_identical_request_takes_over_after_cancellation() -> None:
    queue = RequestQueue(1, 9)
    (running,) = enqueue_all(queue, THIRD, "x")
    first, second, third = [queue.enqueue(Visitor(CROWD, name), request_key="ein bier") for name in "abc"]
    third.release()  # a shared request can leave
    first.release()
    assert queue.counts()["waiting"] == 1
    running.release()
    assert second.granted
    fourth = queue.enqueue(Visitor(OTHER, "d"), request_key="ein bier")
    second.release()  # stopped early
    assert fourth.granted


# ---------------------------------------------------------------- a visitor's own requests


def test_newest_tab_request_of_visitor_is_next_without_starvation() -> None:
    queue, own = RequestQueue(2, 40), Visitor(CROWD, "s")
    running = queue.enqueue(own, kind="explain_row")
    older = queue.enqueue(own, kind="judge")
    newer = queue.enqueue(own, kind="cards")
    assert [ticket.position() for ticket in (older, newer)] == [None, None]  # no other visitor is ahead
    running.release()
    assert (older.granted, newer.granted) == (False, True)
    again = queue.enqueue(own, kind="cards")
    newer.release()
    assert (older.granted, again.granted) == (True, False)


def test_order_matches_repeated_application_of_rule() -> None:
    random = Random(7)  # noqa: S311 - not used for security
    for _ in range(50):
        running = Counter({key: random.randrange(3) for key in ("a", "b", "c")})
        last = {"a": random.randrange(9), "b": random.randrange(9)}
        tickets = []
        for number in range(random.randrange(1, 13)):
            queue = RequestQueue(1, 9, by_session=True)
            ticket = Ticket(queue, Visitor("", random.choice("abc")), number)
            tickets.append(ticket)
        running = Counter({(key := ticket.visitor): running[key.session] for ticket in tickets})
        last = {ticket.visitor: last.get(ticket.visitor.session, 0) for ticket in tickets}
        order = list(fair_order(tickets, running, last))
        turns, since, left = Counter(running), dict(last), list(tickets)
        for ticket in order:
            expected = min(left, key=lambda each: (turns[each.visitor], since[each.visitor], each.sequence))
            assert ticket is expected
            left.remove(ticket)
            turns[ticket.visitor] += 1
            since[ticket.visitor] = 1 + max(since.values())
        assert not left


def test_waiter_without_thread_is_woken() -> None:
    async def wait_before_and_after_release() -> tuple[bool, bool]:
        queue = RequestQueue(1, 9)
        first, second = enqueue_all(queue, CROWD, "a") + enqueue_all(queue, OTHER, "b")
        before = await second.wait_async(0.01)
        Thread(target=first.release).start()
        return before, await second.wait_async(60)

    assert asyncio.run(wait_before_and_after_release()) == (False, True)


def test_burst_of_requests_is_sorted_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five hundred requests that each get their position immediately, as pages do: one ordering takes 6 ms."""
    orders = []
    order = queue_module.fair_order
    monkeypatch.setattr(queue_module, "fair_order", lambda *args: orders.append(1) or order(*args))
    monkeypatch.setattr(queue_module, "POSITION_SECONDS", 3600.0)
    queue = RequestQueue(2, 2000, max_wait_s=60)
    hostile = [queue.enqueue(Visitor("192.0.2.9", f"h{number}")) for number in range(100)]
    rejected = 0
    for number in range(400):
        try:
            ticket = queue.enqueue(Visitor("192.0.2.9", f"i{number}"))
        except PageError:
            rejected += 1
            continue
        hostile.append(ticket)
        assert ticket.position() is not None
    assert rejected > 100
    other = queue.enqueue(Visitor("198.51.100.7", "other"))
    assert other.position() in (0, 1, 2)  # near the front despite the flood
    assert len(orders) < 10
