"""Pruning: heads are removed by mean loss, and curve points match translations."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pytest

from headlight.model.checkpoints.checksums import weights_digest
from headlight.model.experiments.importance import AttentionPart, measure_all_ablation_losses
from headlight.model.experiments.pruning import (
    PRUNING_FILE,
    PruningCurve,
    PruningPoint,
    list_pruning_counts,
    measure_points,
    rank_heads,
    read_curve,
    switch_off,
)
from headlight.model.measures.chrf import chrf
from headlight.model.translate.translator import Translator
from tests.tiny import DECODER_LAYERS, ENCODER_LAYERS, HEADS, SENTENCES, tiny_translator

ALL = (ENCODER_LAYERS + 2 * DECODER_LAYERS) * HEADS


@pytest.fixture(scope="module")
def translator() -> Translator:
    return tiny_translator()


def test_heads_are_ranked_by_their_mean_loss(translator: Translator) -> None:
    ranked = rank_heads(translator, SENTENCES[:2], max_length=9)
    assert len({part for part, _ in ranked}) == ALL
    losses = [loss for _, loss in ranked]
    assert losses == sorted(losses)
    answers = [translator.translate(text, max_length=9) for text in SENTENCES[:2]]
    for part, loss in ranked[:: ALL // 5]:
        expected = fmean(measure_all_ablation_losses(translator, answer, [(part,)])[0] for answer in answers)
        assert loss == pytest.approx(expected, abs=1e-4)


def test_points_match_translations_without_heads(translator: Translator) -> None:
    order = [AttentionPart("cross", layer, head) for layer in range(DECODER_LAYERS) for head in range(HEADS)]
    pairs = [(SENTENCES[0], "The dog is sleeping."), (SENTENCES[2], "The cats, too.")]
    plain = [translator.translate(text, max_length=9).text for text, _ in pairs]
    points = list(measure_points(translator, pairs, order, [0, 7, len(order)], max_length=9))
    assert [point.off for point in points] == [0, 7, len(order)]
    assert points[0].same == 1
    for point in points:
        off = switch_off(order[: point.off])
        outputs = [translator.translate(text, interventions=off, max_length=9).text for text, _ in pairs]
        scores = [chrf(own, other) for own, (_, other) in zip(outputs, pairs, strict=True)]
        assert point.chrf == pytest.approx(fmean(scores), abs=1e-6)
        assert point.same == fmean(own == before for own, before in zip(outputs, plain, strict=True))


def test_pruning_counts_run_from_none_to_all_heads() -> None:
    assert list_pruning_counts(8, 4) == [0, 2, 4, 6, 8]
    assert list_pruning_counts(3, 7) == [0, 1, 2, 3]


def test_stored_curve_roundtrips_until_weights_change(tmp_path: Path) -> None:
    assert read_curve(tmp_path) is None
    order = (AttentionPart("cross", 0, 1), AttentionPart("encoder", 2, 0))
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    points = (PruningPoint(0, 80.32, 1.0), PruningPoint(2, 11.0, 0.0))
    curve = PruningCurve("a command", "mini.tsv", 200, 50, order, (-0.25, 1.5), points, weights_digest(tmp_path))
    (tmp_path / PRUNING_FILE).write_text(curve.to_json(), encoding="utf-8")
    assert read_curve(tmp_path) == curve
    assert read_curve(tmp_path, set(order)) == curve
    (tmp_path / "model.safetensors").write_bytes(b"others")
    assert read_curve(tmp_path) is None


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", "7", '{"command": "", "corpus": "", "sentences": 1, "ranked_on": 1, "order": 7}', "[" * 100_000],
)
def test_invalid_curve_file_is_ignored(tmp_path: Path, text: str) -> None:
    (tmp_path / PRUNING_FILE).write_text(text, encoding="utf-8")
    assert read_curve(tmp_path) is None


def test_curve_with_other_heads_one_point_or_nan_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    order = (AttentionPart("cross", 0, 1), AttentionPart("encoder", 2, 0))
    points = (PruningPoint(0, 80.32, 1.0), PruningPoint(2, 11.0, 0.0))
    invalid = [
        (PruningCurve("", "", 200, 50, order, (0.0, 1.5), points), {AttentionPart("cross", 0, 0)}),
        (PruningCurve("", "", 200, 50, order, (0.0, 1.5), points[:1]), set(order)),
        (PruningCurve("", "", 200, 50, order, (0.0, float("nan")), points), set(order)),
    ]
    for curve, heads in invalid:
        current = replace(curve, weights=weights_digest(tmp_path))
        (tmp_path / PRUNING_FILE).write_text(current.to_json(), encoding="utf-8")
        assert read_curve(tmp_path, heads) is None
