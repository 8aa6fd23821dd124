"""The beam tree: all candidates with parent, probability and outcome."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Any

import pytest
import torch

from headlight.model.decoding.search import BeamSearch
from headlight.model.decoding.step import NoRepeatNgrams
from headlight.model.records import BeamNode, BeamTree, Translation
from headlight.model.translate.translator import Translator
from tests.tiny import SENTENCES, Toy, run_to_the_end, tiny_translator

WIDTH = 3


@pytest.fixture(scope="module")
def translator() -> Translator:
    return tiny_translator()


@pytest.fixture(scope="module")
def answers(translator: Translator) -> list[Translation]:
    """Translations of one batch: sentences that finish early must not mix up the trees."""
    return translator.translate_batch(SENTENCES, beam_size=WIDTH, n_best=WIDTH, length_penalty=0.7, max_length=11)


def toy_tree(toy: Toy, width: int, limit: int) -> BeamSearch:
    with torch.inference_mode():
        search: BeamSearch = run_to_the_end(
            BeamSearch(toy.plan([limit]), width=width, length_penalty=1.0, keep_tree=True)
        )
    return search


def test_parents_are_kept_nodes_of_previous_step(answers: list[Translation]) -> None:
    for answer in answers:
        nodes = answer.tree.nodes
        assert nodes
        for node in nodes:
            if node.step == 0:
                assert node.parent == -1
            else:
                parent = nodes[node.parent]
                assert (parent.step, parent.outcome) == (node.step - 1, "kept")
                assert node.log_probability < parent.log_probability


def test_path_has_one_token_per_step(answers: list[Translation]) -> None:
    for answer in answers:
        for index, node in enumerate(answer.tree.nodes):
            path = answer.tree.path(index)
            assert len(path) == node.step + 1
            assert path[-1] == node.id
            if node.parent >= 0:
                assert path[:-1] == answer.tree.path(node.parent)


def test_path_starts_at_root() -> None:
    def node(parent: int, step: int, token: int) -> BeamNode:
        return BeamNode(parent, step, token, "", -1.0, -1.0, "kept")

    tree = BeamTree((node(-1, 0, 5), node(-1, 0, 7), node(1, 1, 3), node(0, 1, 4), node(2, 2, 9)))
    assert [tree.path(index) for index in range(5)] == [(5,), (7,), (7, 3), (5, 4), (7, 3, 9)]


def test_scores_are_length_normalised(answers: list[Translation]) -> None:
    for answer in answers:
        for node in answer.tree.nodes:
            assert node.score == pytest.approx(node.log_probability / (node.step + 1) ** 0.7)


def test_steps_limit_candidates_to_beam_width() -> None:
    outcomes = Counter[str]()
    for seed, (width, limit) in itertools.product(range(10), ((1, 5), (2, 7), (4, 6), (5, 1))):
        search = toy_tree(Toy(6, seed), width, limit)
        last = search.trees[0][-1].step
        for step in range(last + 1):
            nodes = [node for node in search.trees[0] if node.step == step]
            counts = Counter(node.outcome for node in nodes)
            outcomes += counts
            assert len(nodes) <= 2 * width
            assert counts["kept"] <= width
            assert counts["finished"] <= width
            assert [node.log_probability for node in nodes] == sorted(
                (node.log_probability for node in nodes), reverse=True
            )
            if step < last:  # kept candidates rank above dropped ones
                kept_ranks = [rank for rank, node in enumerate(nodes) if node.outcome == "kept"]
                assert all(
                    rank > max(kept_ranks)
                    for rank, node in enumerate(nodes)
                    if node.outcome == "dropped" and node.id != Toy.END
                )
                continued = {node.parent for node in search.trees[0] if node.step == step + 1}
                assert continued <= {place for place, node in enumerate(search.trees[0]) if node.outcome == "kept"}
            else:  # the last step keeps nothing
                assert counts["kept"] == 0
    assert set(outcomes) == {"kept", "finished", "dropped"}


def test_results_are_best_finished_nodes() -> None:
    for seed in range(10):
        limit, width = 5, 4
        search = toy_tree(Toy(4, seed), width, limit)
        finished = [node for node in search.trees[0] if node.outcome == "finished"]
        assert all(node.id == Toy.END or node.step == limit - 1 for node in finished)
        finished.sort(key=lambda node: (node.id != Toy.END, -node.score))
        scores = [candidate.score for candidate in search.results[0]]
        assert scores == [node.score for node in finished[:width]]


def test_nodes_have_probabilities_without_rules() -> None:
    toy = Toy(4)
    with torch.inference_mode():
        search = run_to_the_end(
            BeamSearch(toy.plan([6], [NoRepeatNgrams(1)]), width=3, length_penalty=1.0, keep_tree=True)
        )
    tree = BeamTree(
        tuple(BeamNode(n.parent, n.step, n.id, "", n.log_probability, 0.0, n.outcome) for n in search.trees[0])
    )
    for index, node in enumerate(tree.nodes):
        path = tree.path(index)
        gains = [toy.log_probabilities(0, path[:step])[token] for step, token in enumerate(path)]
        assert node.log_probability == pytest.approx(sum(gains), abs=1e-5)


def test_search_without_tree_gives_same_results() -> None:
    for seed in range(5):
        with torch.inference_mode():
            without_tree = run_to_the_end(
                BeamSearch(Toy(5, seed).plan([7, 4]), width=3, length_penalty=1.0, keep_tree=False)
            )
            with_tree = run_to_the_end(
                BeamSearch(Toy(5, seed).plan([7, 4]), width=3, length_penalty=1.0, keep_tree=True)
            )
        assert without_tree.results == with_tree.results
        assert without_tree.trees == [[], []]
        assert all(with_tree.trees)


@pytest.mark.parametrize("outcome", ["kept", "finished", "dropped"])
def test_captured_node_has_log_probability_of_tree(
    translator: Translator, answers: list[Translation], outcome: str
) -> None:
    for answer in answers:
        indices = [index for index, node in enumerate(answer.tree.nodes) if node.outcome == outcome][::7]
        assert indices
        paths = [answer.tree.path(index) for index in indices]
        requests = [translator.request(answer.request.text, target=path) for path in paths]
        for index, path, captured in zip(indices, paths, translator.translate_batch(requests), strict=True):
            node = answer.tree.nodes[index]
            assert captured.stopped == "forced"
            assert tuple(token.id for token in captured.target_tokens) == path
            assert captured.log_probability == pytest.approx(node.log_probability, abs=1e-4)
            assert captured.attention.cross.shape[2:] == (len(path), len(answer.source_tokens))
            assert captured.attention.cross.sum(axis=-1) == pytest.approx(1, abs=1e-5)


def test_hypotheses_are_sorted_and_reproducible_as_targets(translator: Translator, answers: list[Translation]) -> None:
    for answer in answers:
        assert len(answer.hypotheses) == WIDTH
        assert answer.hypotheses[0].ids == tuple(token.id for token in answer.target_tokens)
        assert answer.hypotheses[0].score == answer.score
        end = translator.model.config.end_id
        order = [(hypothesis.ids[-1] != end, -hypothesis.score) for hypothesis in answer.hypotheses]
        assert order == sorted(order)
        for hypothesis in answer.hypotheses:
            again = translator.translate(answer.request.text, target=hypothesis.ids, length_penalty=0.7)
            assert again.text == hypothesis.text
            assert again.score == pytest.approx(hypothesis.score, abs=1e-4)
            assert again.log_probability == pytest.approx(hypothesis.log_probability, abs=1e-4)


def test_hypotheses_are_finished_paths(answers: list[Translation]) -> None:
    for answer in answers:
        finished = {answer.tree.path(i) for i, node in enumerate(answer.tree.nodes) if node.outcome == "finished"}
        assert {hypothesis.ids for hypothesis in answer.hypotheses} <= finished


def test_node_texts_are_vocabulary_labels(translator: Translator, answers: list[Translation]) -> None:
    for node in answers[0].tree.nodes:
        assert node.text == translator.target_tokenizer.label(node.id)


@pytest.mark.parametrize("options", [{}, {"temperature": 1.0}, {"target": "The dog."}])
def test_only_beam_search_has_tree(translator: Translator, options: dict[str, Any]) -> None:
    answer = translator.translate(SENTENCES[0], **options)
    assert answer.tree == BeamTree()
    assert len(answer.hypotheses) == 1


def test_forced_prefix_keeps_model_probabilities(translator: Translator) -> None:
    answer = translator.translate(
        SENTENCES[0], prefix=(9, 9, 9), no_repeat=1, beam_size=WIDTH, n_best=WIDTH, max_length=7
    )
    assert len(answer.hypotheses) == WIDTH
    for hypothesis in answer.hypotheses:
        again = translator.translate(SENTENCES[0], target=hypothesis.ids)
        assert hypothesis.log_probability == pytest.approx(again.log_probability, abs=1e-4)
    assert all(math.isfinite(node.score) for node in answer.tree.nodes)
