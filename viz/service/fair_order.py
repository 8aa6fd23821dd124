"""Fair scheduling of waiting requests.

The address with the fewest running requests gets the next slot; among equals, the one served least recently. The same
rule then selects a session of the address and a kind of work of the session. Among kinds that were never served, the
newest is first, because it belongs to the tab that the visitor has just opened.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any, Protocol, TypeVar


class Request(Protocol):
    """The attributes of a waiting request that the order depends on."""

    sequence: int  # order of arrival

    @property
    def keys(self) -> tuple[Hashable, ...]:
        """The groups that share slots, from the widest to the narrowest; the last one is a kind of work."""


Waiting = TypeVar("Waiting", bound=Request)
NumberByKey = Mapping[Hashable, int]
Rank = tuple[int, ...]  # the smallest is next; ranks are unique


def fair_order(waiting: Iterable[Waiting], running: NumberByKey, last_slots: NumberByKey) -> Iterator[Waiting]:
    """Yield the waiting requests in scheduling order. Lazy, so the first request is cheap.

    `running`: number of running requests per key. `last_slots`: sequence number of the last slot granted to each key.
    """
    by_age = sorted(waiting, key=lambda request: request.sequence)
    latest = max(last_slots.values(), default=0)
    return (request for _, request in _order_group(by_age, 0, running, last_slots, latest))


def _order_group(
    waiting: list[Waiting], level: int, running: NumberByKey, last_slots: NumberByKey, latest: int
) -> Iterator[tuple[Rank, Waiting]]:
    """Yield the requests of one group in order, each with its rank within the group.

    `level`: index of the keys that split this group further. `latest`: largest sequence number of a granted slot.
    """
    if len(waiting) == 1:  # the common case: a burst consists of hundreds of such groups
        yield _rank_single(waiting[0], level, running, last_slots), waiting[0]
        return
    if waiting and level == len(waiting[0].keys):
        yield from (((request.sequence,), request) for request in waiting)
        return
    groups: dict[Hashable, list[Waiting]] = defaultdict(list)
    for request in waiting:
        groups[request.keys[level]].append(request)
    newest_first = waiting and level == len(waiting[0].keys) - 1
    # Heap entries are (*rank, index, request, requests). Indices are unique, so requests are never compared.
    heap: list[tuple[Any, ...]] = []
    for index, (key, members) in enumerate(groups.items()):
        requests = _order_group(members, level + 1, running, last_slots, latest)
        rank, request = next(requests)
        sign = -1 if newest_first else 1
        counts = running.get(key, 0), last_slots.get(key, 0)
        heap.append((*counts, *(sign * part for part in rank), index, request, requests))
    heapq.heapify(heap)
    while heap:
        running_count, last_slot, *parts, index, request, requests = heapq.heappop(heap)
        latest += 1
        yield (running_count, last_slot, *(abs(part) for part in parts)), request
        if (successor := next(requests, None)) is not None:
            heapq.heappush(heap, (running_count + 1, latest, *successor[0], index, successor[1], requests))


def _rank_single(request: Request, level: int, running: NumberByKey, last_slots: NumberByKey) -> Rank:
    """Return the rank of the only request of its group."""
    parts: list[int] = []
    for key in request.keys[level:]:
        parts += (running.get(key, 0), last_slots.get(key, 0))
    return (*parts, request.sequence)
