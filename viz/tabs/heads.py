"""Heads tab: head wall, large map, comparison, roles. The browser has all maps and
measures them; the server makes files, and tells what heads do over a corpus when a reader asks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import astuple
from typing import Any

import gradio as gr

from headlight.model.commands.heads import count_heads
from headlight.model.errors import CommandError
from headlight.model.measures.alignment import Errors, parse_links
from headlight.model.text.drawn_links import DrawnPair, cut
from headlight.viz.answers.kept_roles import roles_of
from headlight.viz.answers.service import Service
from headlight.viz.errors import PageError, shown
from headlight.viz.export.files import Exporter
from headlight.viz.wire.rpc import answering
from headlight.viz.wire.widget import widget

PAIRS_AT_ONCE = 4  # lines of a file of links before other requests get a turn


def build(service: Service) -> gr.HTML:
    """Inside a `gr.Blocks`."""
    functions = [
        answering(Exporter(service).export),
        answering(roles_of(service), computes=False),
        answering(links_of(service)),
    ]
    return widget("heads/explorer", server=functions)


def links_of(service: Service) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """The function that scores every head against a few pairs whose words people have linked."""

    def count_links(values: Mapping[str, Any]) -> dict[str, Any]:
        rows, turned = values.get("rows"), values.get("turned") is True
        if not isinstance(rows, list) or not 1 <= len(rows) <= PAIRS_AT_ONCE:
            raise PageError("links", "bad_links", {"given": shown(rows)})
        pairs = [drawn_pair(row, turned=turned) for row in rows]
        for pair in pairs:
            service.check({"text": pair.source.text, "model": values.get("model"), "target": pair.target.text})
        counts: dict[tuple[int, ...], list[Errors]] = service.run(str(values.get("model")), count_heads, pairs)
        return {"heads": [[*place, [list(astuple(each)) for each in errors]] for place, errors in counts.items()]}

    return count_links


def drawn_pair(row: Any, *, turned: bool) -> DrawnPair:
    """A row of a file, `[sentence, translation, links]`; `turned`: the model reads the second and writes the first."""
    if not (isinstance(row, list) and len(row) == 3 and all(isinstance(each, str) for each in row)):
        raise PageError("links", "bad_links", {"given": shown(row)})
    first, second = cut(row[0]), cut(row[1])
    try:
        pair = DrawnPair(first, second, parse_links(row[2], len(first.spans), len(second.spans)))
    except CommandError as error:
        raise PageError("links", "bad_links", {"given": shown(row[2])}) from error
    return pair.turned() if turned else pair
