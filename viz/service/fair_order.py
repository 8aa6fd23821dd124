"""Fair turns: the order in which waiting requests have theirs.

The next turn goes to the address that has the fewest turns, and of those to the one that has waited longest. Within an
address it goes to the session by the same rule, and within a session to the kind of work: of those without a turn yet
the newest, as it belongs to the tab that its visitor has just opened.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any, Protocol, TypeVar


class Request(Protocol):
    """What the order needs of a waiting request."""

    sequence: int  # the order of arrival

    @property
    def keys(self) -> tuple[Hashable, ...]:
        """Among whom turns are shared, the widest first; the last one is a kind of work."""


Waiting = TypeVar("Waiting", bound=Request)
Turns = Mapping[Hashable, int]
Rank = tuple[int, ...]  # the least is next; numbers are unique, so no two are equal


def fair_order(waiting: Iterable[Waiting], running: Turns, last: Turns) -> Iterator[Waiting]:
    """The requests in the order of their turns, if no other one comes and none ends; the first is found soon.

    `running`: how many turns each key has now. `last`: the number of each key's last turn.
    """
    by_age = sorted(waiting, key=lambda request: request.sequence)
    return (request for _, request in _in_turns(by_age, 0, running, last, max(last.values(), default=0)))


def _in_turns(
    waiting: list[Waiting], level: int, running: Turns, last: Turns, latest: int
) -> Iterator[tuple[Rank, Waiting]]:
    """The requests of one key, or of all, in their order, each with its rank below that key."""
    if waiting and level == len(waiting[0].keys):
        yield from (((request.sequence,), request) for request in waiting)
        return
    groups: dict[Hashable, list[Waiting]] = defaultdict(list)
    for request in waiting:
        groups[request.keys[level]].append(request)
    newest_first = waiting and level == len(waiting[0].keys) - 1
    heap: list[
        tuple[Any, ...]
    ] = []  # (*rank, place, request, requests): a place is unique, so requests are not compared
    for place, (key, own) in enumerate(groups.items()):
        requests = _in_turns(own, level + 1, running, last, latest)
        rank, request = next(requests)
        sign = -1 if newest_first else 1
        heap.append((running.get(key, 0), last.get(key, 0), *(sign * part for part in rank), place, request, requests))
    heapq.heapify(heap)
    while heap:
        turns, since, *parts, place, request, requests = heapq.heappop(heap)
        latest += 1
        yield (turns, since, *(abs(part) for part in parts)), request
        if (following := next(requests, None)) is not None:
            heapq.heappush(heap, (turns + 1, latest, *following[0], place, following[1], requests))
