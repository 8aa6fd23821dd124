"""Decoding: the beam search tree, the finished hypotheses, and token probabilities.

A node of the tree is identified by the ids on its path, so every node, kept or dropped, can be opened as a translation
with all its attention.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Literal

import gradio as gr

from headlight.model.decoding.step import end_ids
from headlight.model.records import BeamNode, BeamTree, Hypothesis, Translation
from headlight.viz.server.calls import CallTable
from headlight.viz.server.widget import widget
from headlight.viz.service.service import Service
from headlight.viz.tabs.figure_json import figure_json, parse_style
from headlight.viz.token_labels import candidate_label

# A node was kept; finished by an end token ("ended") or by the length limit ("limit"); or dropped because enough nodes
# of its step were better ("worse"), its end token ranked below the beam ("late_end"), or the search ended ("over").
Reason = Literal["kept", "ended", "limit", "worse", "late_end", "over"]


def build(service: Service, calls: CallTable) -> gr.HTML:
    """Build the tab inside a `gr.Blocks`."""
    calls.add(make_search_call(service), make_probabilities_call(service))
    return widget("decoding/decoding")


def make_search_call(service: Service) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Return the call `draw_search`: the data of a request's search tree, which the page draws."""

    def draw_search(values: Mapping[str, Any]) -> dict[str, Any]:
        translation = service.translate(service.check(values.get("request")))
        info = service.model_info(translation.request.model)
        nodes = translation.tree.nodes
        ends = end_ids(info.model.config, info.generation_defaults)
        texts = path_texts(nodes, lambda ids: info.target_tokenizer.decode(list(ids)), translation)
        node_reasons = outcome_reasons(nodes, translation.request.options.beam_size, ends)
        return {
            "beam": translation.request.options.beam_size,
            "samples": translation.request.options.samples,
            "nodes": [
                [
                    node.parent,
                    node.step,
                    node.id,
                    candidate_label(node.text).text,
                    common,
                    added,
                    *node_numbers(node),
                    reason,
                ]
                for node, (common, added), reason in zip(nodes, texts, node_reasons, strict=True)
            ],
            "finished": (finished := finished_nodes(translation.tree, ends, translation.hypotheses)),
            "backs": reverse_scores(translation, finished),
            "back_weight": translation.request.options.back_weight,
            "written": {
                "ids": [token.id for token in translation.target_tokens],
                "text": translation.text,
                "score": translation.score,
                "log_probability": translation.log_probability,
            },
        }

    return draw_search


def make_probabilities_call(service: Service) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Return the call `draw_chances`: the figure of target token probabilities."""

    def draw_chances(values: Mapping[str, Any]) -> dict[str, Any]:
        style = parse_style(values)
        translation = service.translate(service.check(values.get("request")))
        return {"figure": figure_json("probabilities", style, translation)}

    return draw_chances


def node_numbers(node: BeamNode) -> tuple[float, float, str]:
    """Return the log probability and the score, rounded for transfer, and the outcome."""
    return round(node.log_probability, 6), round(node.score, 6), node.outcome


def path_texts(
    nodes: Sequence[BeamNode], decode: Callable[[tuple[int, ...]], str], translation: Translation
) -> Iterator[tuple[int, str]]:
    """Yield the text up to each node as a diff to its parent: the number of common characters and the appended text.

    Byte tokens decode only together, so each path is decoded as a whole; paths share most of their text.
    """
    text_by_node = {-1: ""}
    for index, node in enumerate(nodes):
        text, parent_text = decode(translation.tree.path(index)), text_by_node[node.parent]
        text_by_node[index] = text
        common = next(
            (place for place, (old, new) in enumerate(zip(parent_text, text, strict=False)) if old != new),
            min(len(parent_text), len(text)),
        )
        yield common, text[common:]


def finished_nodes(tree: BeamTree, ends: Collection[int], hypotheses: Sequence[Hypothesis] = ()) -> list[int]:
    """Return the indices of the finished nodes, best first; truncated ones last.

    Reranked hypotheses come first, in the order of the reranking.
    """
    nodes = tree.nodes
    ranks = {hypothesis.ids: rank for rank, hypothesis in enumerate(hypotheses) if hypothesis.reverse_score is not None}

    def order(index: int) -> tuple[int, bool, float]:
        return ranks.get(tree.path(index), len(ranks)), nodes[index].id not in ends, -nodes[index].score

    return sorted((index for index, node in enumerate(nodes) if node.outcome == "finished"), key=order)


def reverse_scores(translation: Translation, indices: Sequence[int]) -> list[float | None]:
    """Return the reverse score of each of these nodes, `None` for nodes that were not reranked."""
    scores = {hypothesis.ids: hypothesis.reverse_score for hypothesis in translation.hypotheses}
    results = [scores.get(translation.tree.path(index)) for index in indices]
    return [None if score is None else round(score, 6) for score in results]


def outcome_reasons(nodes: Sequence[BeamNode], beam: int, ends: Collection[int]) -> list[Reason]:
    """Return the reason why each node was kept, finished or dropped. Nodes of a step are ordered by probability."""
    results: list[Reason] = []
    last = max((node.step for node in nodes), default=0)
    is_truncated = any(node.outcome == "finished" and node.id not in ends for node in nodes)  # at the length limit
    step, rank, unfinished_ahead = -1, 0, 0  # `unfinished_ahead`: unfinished nodes ranked higher in this step
    for node in nodes:
        if node.step != step:
            step, rank, unfinished_ahead = node.step, 0, 0
        if node.outcome == "finished":
            results.append("ended" if node.id in ends else "limit")
        elif node.outcome == "kept":
            results.append("kept")
        elif node.id in ends and rank >= beam and unfinished_ahead < beam:
            results.append("late_end")
        elif unfinished_ahead >= beam or step < last or is_truncated:
            results.append("worse")
        else:
            results.append("over")
        rank += 1
        unfinished_ahead += node.id not in ends and node.outcome != "finished"
    return results
