"""Score parts: linearity, biases as remainder, and the weight without a part."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from headlight.model.core.probes import watch
from headlight.model.core.transformer import attention_path
from headlight.model.errors import RequestError
from headlight.model.experiments.fixed_nonlinearities import FixedNonlinearities
from headlight.model.experiments.score_parts import (
    SIDES,
    STREAM_KINDS,
    Cell,
    ScorePart,
    Side,
    score_parts,
    weight_without,
)
from headlight.model.experiments.scoring import compute_forced_logits
from headlight.model.records import Translation
from headlight.model.translate.translator import Translator
from tests.tiny import SENTENCES, tiny_translator

TEXT = SENTENCES[0]
CELLS = (Cell("encoder", 1, 1, 2, 3), Cell("decoder", 1, 0, 4, 2), Cell("cross", 1, 1, 4, 3))
OPTIONS: tuple[dict[str, object], ...] = (
    {},
    {"norm_first": True, "final_norm": True},
    {"norm": "rms", "positions": "rotary", "activation": "swiglu"},
    {"positions": "alibi", "norm_first": True},
    {"positions": "relative", "scale_scores": False, "embedding_norm": True},
    {"position_width": 4, "norm_first": True},
)


def translator_with_biases(**options: object) -> tuple[Translator, Translation]:
    """A small translator with nonzero biases; those of a new model are zero."""
    translator = tiny_translator(**options)
    for name, value in translator.model.named_parameters():
        if name.endswith("bias"):
            with torch.no_grad():
                value.copy_(torch.linspace(-0.5, 0.7, value.numel()))
    return translator, translator.translate(TEXT, max_length=9)


def centred_score(translator: Translator, answer: Translation, cell: Cell) -> float:
    """The score that the model computes, minus the mean over the allowed keys of the row."""
    name = f"{attention_path(cell.kind, cell.layer)}.scores"
    with torch.inference_mode(), watch(translator.model, name) as captured:
        compute_forced_logits(translator, answer, len(answer.target_tokens), 1)
    scores = captured[name][0, cell.head, cell.row].double()
    allowed = torch.tensor(answer.attention_map(cell.kind, cell.layer, cell.head).allowed[cell.row])
    return float(scores[cell.column] - scores[allowed].mean())


def bias_attribution(translator: Translator, answer: Translation, cell: Cell, side: Side) -> float:
    """Sum of bias times gradient over all biases between the outputs of the writers and the score."""
    model = translator.model
    stream = "encoder" if cell.kind == "encoder" or (cell.kind == "cross" and side == "key") else "decoder"
    layers = range(len(getattr(model, stream).layers))
    outputs = [
        f"{stream}.embedding.positioned",
        *(f"{attention_path(kind, layer)}.mixed" for kind in STREAM_KINDS[stream] for layer in layers),
        *(f"{stream}.layers.{layer}.feed_forward.output" for layer in layers),
    ]
    path = attention_path(cell.kind, cell.layer)
    biases = [value for name, value in model.named_parameters() if name.endswith("bias")]
    allowed = torch.tensor(answer.attention_map(cell.kind, cell.layer, cell.head).allowed[cell.row])
    with torch.inference_mode(mode=False), torch.enable_grad(), FixedNonlinearities(gated=False):
        for value in biases:
            value.requires_grad_(True)
        with (
            watch(model, *outputs, edit=lambda value, name: value.detach()),
            watch(model, f"{path}.queries", f"{path}.keys") as captured,
        ):
            compute_forced_logits(translator, answer, len(answer.target_tokens), 1)
        query, keys = captured[f"{path}.queries"][0, cell.head, cell.row], captured[f"{path}.keys"][0, cell.head]
        key = keys[cell.column] - keys[allowed].mean(dim=0)
        score = query.detach() @ key if side == "key" else query @ key.detach()
        scale = translator.model.get_submodule(path).scale
        gradients = torch.autograd.grad(score * scale, biases, allow_unused=True, materialize_grads=True)
        for value in biases:
            value.requires_grad_(False)
    return float(sum((value.detach() * gradient).sum() for value, gradient in zip(biases, gradients, strict=True)))


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_parts_sum_to_score_and_rest_is_bias_attribution(options: dict[str, object], side: Side) -> None:
    translator, answer = translator_with_biases(**options)
    for cell in CELLS:
        result = score_parts(translator, answer, cell, side)
        assert result.score == pytest.approx(centred_score(translator, answer, cell), abs=1e-4)
        assert sum(part.value for part in result.parts) == pytest.approx(result.score, abs=1e-9)
        biases = next(part.value for part in result.parts if part.writer == "biases")
        assert biases == pytest.approx(bias_attribution(translator, answer, cell, side), abs=1e-4)
        sizes = [abs(part.value) for part in result.parts]
        assert sizes == sorted(sizes, reverse=True)
        assert any(part.writer == "distance" for part in result.parts) == (
            cell.kind != "cross" and options.get("positions") in ("alibi", "relative")
        )


def test_every_writer_below_the_head_has_one_part() -> None:
    translator, answer = translator_with_biases()
    config = translator.model.config
    key = score_parts(translator, answer, CELLS[2], "key")
    query = score_parts(translator, answer, CELLS[2], "query")
    heads, encoder_layers = config.heads, config.encoder_layers
    assert len(key.parts) == 2 + encoder_layers * (heads + 1) + 1
    assert len(query.parts) == 2 + CELLS[2].layer * (2 * heads + 1) + heads + 1  # including self-attention of its layer
    assert len({part.place for part in query.parts}) == len(query.parts)


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_part_of_a_head_is_sum_over_its_tokens(cell: Cell) -> None:
    translator, answer = translator_with_biases(norm_first=True)
    for side in SIDES:
        heads = [part for part in score_parts(translator, answer, cell, side).parts if part.writer == "head"]
        assert heads
        for part in heads:
            assert sum(part.reads) == pytest.approx(part.value, abs=1e-5)
            side_tokens = answer.source_tokens if part.kind != "decoder" else answer.target_tokens
            assert len(part.reads) == len(side_tokens)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_weight_with_all_parts_matches_map_and_each_part_changes_it(options: dict[str, object]) -> None:
    translator, answer = translator_with_biases(**options)
    for cell in CELLS:
        for side in SIDES:
            parts = [part for part in score_parts(translator, answer, cell, side).parts if part.writer != "biases"]
            weight, *without = weight_without(translator, answer, cell, side, parts)
            expected = answer.attention_map(cell.kind, cell.layer, cell.head).weights[cell.row, cell.column]
            assert weight == pytest.approx(expected, abs=1e-5)
            assert len(without) == len(parts)
            assert max(abs(each - weight) for each in without) > 1e-5


def test_weights_are_uniform_without_word_part() -> None:
    """In the first layer of a pre-norm encoder with a fixed norm scale, the word accounts for the whole difference."""
    translator, answer = translator_with_biases(positions="none", norm_first=True)
    cell = Cell("encoder", 0, 1, 2, 3)
    (word, *rest) = score_parts(translator, answer, cell, "key").parts
    assert word.writer == "word"
    assert {part.writer for part in rest} == {"biases"}
    # Without the word all keys are equal: each gets the same weight.
    _, without = weight_without(translator, answer, cell, "key", [word])
    columns = answer.attention.encoder.shape[-1]
    assert without == pytest.approx(1 / columns, abs=1e-5)


def test_missing_or_masked_cells_raise() -> None:
    translator, answer = translator_with_biases()
    with pytest.raises(RequestError, match="cannot look"):
        score_parts(translator, answer, Cell("decoder", 0, 0, 0, 3), "key")
    with pytest.raises(RequestError, match="column"):
        score_parts(translator, answer, Cell("cross", 0, 0, 0, 99), "key")
    with pytest.raises(ValueError, match="biases"):
        weight_without(translator, answer, CELLS[0], "key", [ScorePart(writer="biases", value=1.0)])


def test_removing_the_largest_part_moves_weight_in_its_direction() -> None:
    translator, answer = translator_with_biases(norm_first=True, final_norm=True)
    rng = np.random.default_rng(3)
    right = total = 0
    for _ in range(60):
        layers, heads, rows, columns = answer.attention.cross.shape
        indices = [int(rng.integers(size)) for size in (layers, heads, rows, columns)]
        cell = Cell("cross", *indices)
        first = next(part for part in score_parts(translator, answer, cell, "key").parts if part.writer != "biases")
        weight, without = weight_without(translator, answer, cell, "key", [first])
        right += (weight > without) == (first.value > 0)
        total += 1
    assert right / total >= 0.8
