"""A run folder: training, kill, stop, resume, cooldown."""

from __future__ import annotations

import csv
import dataclasses
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from headlight.model.errors import TrainingError
from headlight.model.families.loading import load_checkpoint
from headlight.model.training import checkpoints, validation
from headlight.model.training.batches import make_batch
from headlight.model.training.export_run import Blend, export_run, load_run
from headlight.model.training.loop import ComputeSettings
from headlight.model.training.prepare import EpochData
from headlight.model.training.processes import Processes
from headlight.model.training.recipe import Recipe
from headlight.model.training.run import Run, RunSession
from headlight.model.training.validation import greedy_decode
from tests.compare import assert_close
from tests.model.training.examples import CORPORA, MODEL, first_lines, make_recipe, recipe_text

ROOT = Path(__file__).resolve().parents[3]


def make_run(recipe: Recipe, data: Path, folder: Path, **session: Any) -> Run:
    run_session = RunSession(**({"report_every": 1} | session))
    return Run(recipe, data, folder, run_session, ComputeSettings(torch.device("cpu"), "float32"), Processes())


def train_start_model(folder: Path, steps: int = 3, **fields: Any) -> Path:
    """Train a model into `folder / "model"` as the start of another run; return its corpus folder."""
    data = first_lines(folder, 20)
    make_run(make_recipe(steps=steps, **fields), data, folder / "first").train()
    export_run(folder / "first", folder / "model", weights="last", storage="float32")
    return data


def losses(folder: Path) -> dict[int, float]:
    with (folder / "curve.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    steps = [int(row["step"]) for row in rows]
    assert steps == sorted(set(steps))
    return {int(row["step"]): float(row["loss"]) for row in rows}


def test_twenty_sentences_are_memorised_and_exported(tmp_path: Path) -> None:
    recipe = make_recipe(
        model={"d_model": 64, "heads": 4, "d_ff": 128, "encoder_layers": 1, "decoder_layers": 1, "dropout": 0.0},
        optimisation={
            "schedule": "cosine", "peak_rate": 0.007, "warmup_steps": 20, "label_smoothing": 0.0, "ema_decay": 0.0,
        },
        batching={"batch_tokens": 1009, "max_sentence_tokens": 97},
        steps=120,
    )  # fmt: skip
    run = make_run(recipe, first_lines(tmp_path, 20), tmp_path / "run", report_every=10)
    assert run.train()
    assert losses(tmp_path / "run")[120] < 0.1
    export_run(tmp_path / "run", tmp_path / "model", weights="last", storage="float32")
    loaded = load_checkpoint(tmp_path / "model")
    sentences, special = run.data(0), run.tokenizers.special
    batch = make_batch(sentences, np.arange(20), special)
    with torch.no_grad():
        translations = greedy_decode(loaded.model, batch.source, batch.source_mask, special, limit=50)
    assert [loaded.target_tokenizer.decode(ids) for ids in translations] == [
        pair.target for pair in run.data.text.pairs
    ]
    assert "SHA-256 of the cleaned training text: `" + run.digest in (tmp_path / "model" / "README.md").read_text()


@pytest.mark.slow
def test_killed_run_resumes_with_identical_losses(tmp_path: Path) -> None:
    fields: dict[str, Any] = {"model": MODEL | {"dropout": 0.3}, "steps": 90, "batching": {"batch_tokens": 997}}
    (tmp_path / "recipe.json").write_text(recipe_text(**fields), encoding="utf-8")
    killed, uninterrupted = tmp_path / "broken", tmp_path / "whole"
    command = [sys.executable, "-m", "headlight", "train", str(tmp_path / "recipe.json")]
    options = ["--data", str(CORPORA), "--run", str(killed), "--report-every", "1", "--precision", "float32"]
    process = subprocess.Popen(
        [*command, *options, "--checkpoint-minutes", "0"],
        cwd=ROOT, env=os.environ | {"OMP_NUM_THREADS": "1"}, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    deadline = time.monotonic() + 300  # on a busy machine PyTorch alone takes a minute to start
    while (
        process.poll() is None
        and time.monotonic() < deadline
        and not ((killed / "curve.csv").exists() and len(losses(killed)) > 12)
    ):
        time.sleep(0.005)
    process.kill()
    assert process.wait() != 0  # killed, not ended
    recipe = make_recipe(**fields)
    resumed = make_run(recipe, CORPORA, killed)
    assert 0 < resumed.trainer.progress.step < 90
    assert resumed.train()
    assert make_run(recipe, CORPORA, uninterrupted).train()
    assert losses(killed) == losses(uninterrupted)


@pytest.mark.skipif(os.name == "nt", reason="on Windows SIGTERM to oneself ends the process at once")
def test_signal_writes_checkpoint_and_stops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = make_recipe()
    run = make_run(recipe, CORPORA, tmp_path)
    original_step = run.trainer.step

    def step_and_signal(*arguments: Any) -> None:
        original_step(*arguments)
        if run.trainer.progress.step == 5:
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(run.trainer, "step", step_and_signal)
    assert not run.train()
    assert checkpoints.list_checkpoints(tmp_path) == [checkpoints.make_checkpoint_path(tmp_path, 5)]
    resumed = make_run(recipe, CORPORA, tmp_path)
    assert resumed.train()
    assert resumed.trainer.progress.step == recipe.steps
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_time_limit_stops_run_and_finished_run_stays_finished(tmp_path: Path) -> None:
    recipe = make_recipe(steps=7)
    assert not make_run(recipe, CORPORA, tmp_path, minutes=0.0).train()
    assert checkpoints.list_checkpoints(tmp_path)[-1] == checkpoints.make_checkpoint_path(tmp_path, 1)
    assert make_run(recipe, CORPORA, tmp_path).train()
    again = make_run(recipe, CORPORA, tmp_path)
    assert again.train()
    assert again.trainer.progress.step == 7


def test_run_stops_at_requested_step_and_resumes(tmp_path: Path) -> None:
    recipe = make_recipe(steps=7)
    stopped = make_run(recipe, CORPORA, tmp_path, until=3)
    assert not stopped.train()
    assert stopped.trainer.progress.step == 3
    again = make_run(recipe, CORPORA, tmp_path, until=3)
    assert not again.train()
    assert again.trainer.progress.step == 3
    assert (tmp_path / "last.safetensors").exists()
    rest = make_run(recipe, CORPORA, tmp_path)
    assert rest.train()
    assert rest.trainer.progress.step == 7


def test_interrupted_cool_down_ends_at_rate_zero(tmp_path: Path) -> None:
    recipe = make_recipe(optimisation={"schedule": "constant", "peak_rate": 0.003, "warmup_steps": 2})
    make_run(recipe, CORPORA, tmp_path, minutes=0.0).train()  # one step
    assert not make_run(recipe, CORPORA, tmp_path, cool_down=10, minutes=0.0).train()
    resumed = make_run(recipe, CORPORA, tmp_path, cool_down=10)  # the same command again
    assert (resumed.last, resumed.cool_down) == (11, 10)
    assert resumed.train()
    assert (tmp_path / "before-cool-down-1.safetensors").exists()
    with (tmp_path / "curve.csv").open(encoding="utf-8", newline="") as file:
        rates = [float(row["rate"]) for row in csv.DictReader(file)]
    assert rates[-1] == 0.0
    assert rates[1:] == sorted(rates[1:], reverse=True)


def test_failed_checkpoint_does_not_stop_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(make_recipe(steps=5), CORPORA, tmp_path, checkpoint_minutes=0.0)
    save, calls = checkpoints.save_checkpoint, []

    def fail_once(*arguments: Any) -> None:
        calls.append(arguments)
        if len(calls) == 2:
            raise TrainingError("no room.")
        save(*arguments)

    monkeypatch.setattr(checkpoints, "save_checkpoint", fail_once)
    assert run.train()
    assert "no room. Training continues." in capsys.readouterr().out
    assert [path.stem[-1] for path in checkpoints.list_checkpoints(tmp_path)] == ["3", "4", "5"]


def test_changed_recipe_or_corpus_is_rejected(tmp_path: Path) -> None:
    recipe = make_recipe(steps=1)
    data = first_lines(tmp_path, 20)
    make_run(recipe, data, tmp_path / "run")
    with pytest.raises(TrainingError, match="differs from the given recipe"):
        make_run(dataclasses.replace(recipe, seed=2), data, tmp_path / "run")
    first_lines(tmp_path, 21)
    with pytest.raises(TrainingError, match="the training text has changed"):
        make_run(recipe, data, tmp_path / "run")


def test_corrupt_newest_checkpoint_is_skipped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = make_recipe(steps=5)
    make_run(recipe, CORPORA, tmp_path, checkpoint_minutes=0.0).train()
    checkpoints.make_checkpoint_path(tmp_path, 5).write_bytes(b"cut short")
    assert make_run(recipe, CORPORA, tmp_path).trainer.progress.step == 4
    assert "is not a complete training checkpoint" in capsys.readouterr().out


def test_early_stopping_keeps_the_best_weights(tmp_path: Path) -> None:
    recipe = make_recipe(
        optimisation={"peak_rate": 0.3, "warmup_steps": 1, "ema_decay": 0.0},  # so high that the loss only rises
        validation=[{"source": "mini.tsv", "header": True}],
        validate_every=2, patience=2, steps=1009,
    )  # fmt: skip
    run = make_run(recipe, CORPORA, tmp_path, report_every=5)
    assert run.train()
    assert run.trainer.progress.step < 1009
    with (tmp_path / "validation.csv").open(encoding="utf-8", newline="") as file:
        means = [float(row["loss"]) for row in csv.DictReader(file)]
    assert min(means[-2:]) >= min(means)
    _, _, progress = load_run(tmp_path, "best")
    assert progress.best_loss == pytest.approx(min(means), rel=1e-5)


def test_subword_dropout_is_reproducible_after_resume(tmp_path: Path) -> None:
    recipe = make_recipe(tokenizer={"vocabulary": 400, "source_dropout": 0.3}, steps=1)
    run = make_run(recipe, CORPORA, tmp_path)
    ids = [run.data(epoch).source.ids for epoch in (0, 1)]
    assert not np.array_equal(ids[0], ids[1])
    again = EpochData(run.data.text, run.data.plain, run.tokenizers, recipe, tmp_path, Processes())
    assert np.array_equal(again(1).source.ids, ids[1])


def test_separate_vocabularies_are_exported(tmp_path: Path) -> None:
    recipe = make_recipe(tokenizer={"shared": False, "vocabulary": 300}, steps=2)
    make_run(recipe, CORPORA, tmp_path / "run").train()
    export_run(tmp_path / "run", tmp_path / "model", weights="1")
    loaded = load_checkpoint(tmp_path / "model")
    assert loaded.source_tokenizer is not loaded.target_tokenizer


def test_run_starts_with_weights_of_another_model(tmp_path: Path) -> None:
    data = train_start_model(tmp_path)
    recipe = make_recipe(steps=2, start=str(tmp_path / "model"))
    run = make_run(recipe, data, tmp_path / "second")
    start_weights = load_checkpoint(tmp_path / "model").model.state_dict()
    assert all(torch.equal(start_weights[name], tensor) for name, tensor in run.trainer.model.state_dict().items())
    assert (tmp_path / "second" / "tokenizer.json").read_bytes() == (tmp_path / "model" / "tokenizer.json").read_bytes()
    assert all(torch.equal(start_weights[name], average) for name, average in run.trainer.average.tensors().items())
    run.train()
    export_run(tmp_path / "second", tmp_path / "other", weights="last")
    assert f"begins with the weights of {tmp_path / 'model'}" in (tmp_path / "other" / "README.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("new", "other", "own_weights"),
    [
        ("source", "target", {"encoder.embedding.table.weight"}),
        ("target", "source", {"decoder.embedding.table.weight", "decoder.output.words.weight"}),
    ],
)
def test_new_language_reinitialises_only_its_vectors(
    tmp_path: Path, new: str, other: str, own_weights: set[str]
) -> None:
    """All other weights and the other language's vocabulary come from the start model."""
    data = train_start_model(tmp_path)
    fields = {f"new_{new}": True, "tokenizer": {"shared": False, "vocabulary": 290}}
    run = make_run(make_recipe(steps=2, start=str(tmp_path / "model"), **fields), data, tmp_path / "second")
    start_weights = load_checkpoint(tmp_path / "model").model.state_dict()
    own = run.trainer.model.state_dict()
    assert {name for name in own if not torch.equal(own[name], start_weights[name])} == own_weights
    vocabulary = (tmp_path / "model" / "tokenizer.json").read_bytes()
    assert (tmp_path / "second" / f"{other}_tokenizer.json").read_bytes() == vocabulary
    assert (tmp_path / "second" / f"{new}_tokenizer.json").read_bytes() != vocabulary
    assert run.train()


def test_new_vocabulary_vectors_are_means_of_old_pieces(tmp_path: Path) -> None:
    data = train_start_model(tmp_path)
    settings = {"shared": False, "vocabulary": 420}
    recipe = make_recipe(
        steps=2, start=str(tmp_path / "model"), new_source=True, vectors_of_pieces=True, tokenizer=settings
    )
    run = make_run(recipe, data, tmp_path / "second")
    start = load_checkpoint(tmp_path / "model")
    old, new = start.source_tokenizer, run.tokenizers.source
    old_vectors = start.model.state_dict()["encoder.embedding.table.weight"]
    start_weights = run.trainer.model.state_dict()["encoder.embedding.table.weight"]
    old_ids = {old.label(number): number for number in range(old.vocabulary_size)}
    composed = 0
    for number in range(new.vocabulary_size):
        if new.label(number) in old_ids:
            assert torch.equal(start_weights[number], old_vectors[old_ids[new.label(number)]])
        elif "\ufffd" not in new.decode([number]):
            pieces = old.encode(new.decode([number]))
            assert torch.allclose(start_weights[number], old_vectors[pieces].mean(dim=0))
            composed += len(pieces) > 1
    assert composed > 5


def test_start_of_other_sizes_is_rejected(tmp_path: Path) -> None:
    data = train_start_model(tmp_path, steps=1)
    with pytest.raises(TrainingError, match="does not have the sizes"):
        make_run(make_recipe(start=str(tmp_path / "model"), model=MODEL | {"d_ff": 29}), data, tmp_path / "second")


DEEPER = {"norm_first": True, "final_norm": True, "encoder_layers": 3, "decoder_layers": 2}


def test_deepened_model_initially_matches_shallow_start(tmp_path: Path) -> None:
    shallow = MODEL | {"norm_first": True, "final_norm": True}
    data = train_start_model(tmp_path, model=shallow)
    start = load_checkpoint(tmp_path / "model").model
    run = make_run(make_recipe(steps=2, start=str(tmp_path / "model"), model=MODEL | DEEPER), data, tmp_path / "second")
    deepened = run.trainer.model.eval()
    assert deepened.parameter_count() > start.parameter_count()
    ids = torch.randint(3, 300, (3, 11)), torch.randint(3, 300, (3, 7))
    with torch.no_grad():
        expected = start(*ids)
        assert_close(deepened(*ids), expected)
        assert_close(run.trainer.average.tensors()["encoder.layers.2.feed_forward.narrow.weight"], torch.zeros(22, 23))
    assert run.train()
    with torch.no_grad():
        assert not torch.allclose(deepened.eval()(*ids), expected, atol=1e-4)
    for name in ("encoder.layers.2.feed_forward.narrow", "decoder.layers.1.cross_attention.output"):
        assert deepened.get_submodule(name).weight.any(), f"{name} does not learn"


def test_blend_interpolates_run_and_start_model(tmp_path: Path) -> None:
    shallow = MODEL | {"norm_first": True, "final_norm": True}
    data = train_start_model(tmp_path, model=shallow)
    recipe = make_recipe(steps=5, start=str(tmp_path / "model"), model=MODEL | DEEPER)
    make_run(recipe, data, tmp_path / "second", until=4).train()
    blend = Blend(tmp_path / "model", 0.25)
    export_run(tmp_path / "second", tmp_path / "blend", weights="last", storage="float32", blend=blend)
    trained, _, _ = load_run(tmp_path / "second", "last")
    own, start_weights = trained.state_dict(), load_checkpoint(tmp_path / "model").model.state_dict()
    for name, tensor in load_checkpoint(tmp_path / "blend").model.state_dict().items():
        if name in start_weights:
            assert_close(tensor, 0.75 * own[name] + 0.25 * start_weights[name])
        # The outputs of the new layers are zero in the start model.
        elif re.search(r"attention\.output\.|feed_forward\.narrow\.", name):
            assert_close(tensor, 0.75 * own[name])
        else:
            assert_close(tensor, own[name])
    card = (tmp_path / "blend" / "README.md").read_text("utf-8")
    assert f"--blend {tmp_path / 'model'} --share 0.25" in card
    assert "--until 4" in card
    with pytest.raises(TrainingError, match="between 0 and 1"):
        export_run(tmp_path / "second", tmp_path / "blend", weights="last", blend=Blend(tmp_path / "model", 1.5))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({}, {"encoder_layers": 2}),  # post-norm: a layer with zero output still normalises its input
        ({"norm_first": True}, {"norm_first": True, "encoder_layers": 2, "d_ff": 29}),
        ({"norm_first": True, "encoder_layers": 2}, {"norm_first": True}),  # deeper than the model of the recipe
        ({"norm_first": True}, {"norm_first": True, "encoder_layers": 2, "final_norm": True}),
    ],
    ids=["post-norm", "wider", "shallower", "another norm"],
)
def test_incompatible_start_is_rejected(tmp_path: Path, first: dict[str, Any], second: dict[str, Any]) -> None:
    data = train_start_model(tmp_path, steps=1, model=MODEL | first)
    with pytest.raises(
        TrainingError,
        match=r"does not have the sizes of the recipe's model\. Only a model with norm_first may have more layers",
    ):
        make_run(make_recipe(start=str(tmp_path / "model"), model=MODEL | second), data, tmp_path / "second")


def test_missing_start_is_reported_before_reading_corpora(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match=r"starts from .*none, but there is no model"):
        make_run(make_recipe(start=str(tmp_path / "none")), tmp_path / "no data", tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_run_without_sacrebleu_validates_by_loss_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(validation, "find_spec", lambda name: None)
    data = first_lines(tmp_path, 20)
    recipe = make_recipe(steps=2, validate_every=1)
    make_run(dataclasses.replace(recipe, validation=recipe.corpora), data, tmp_path / "run").train()
    output = capsys.readouterr()
    assert (output.out + output.err).count("requirements-train.txt installs sacreBLEU") == 1
    rows = (tmp_path / "run" / "validation.csv").read_text(encoding="utf-8").splitlines()
    assert len(rows) == 3
    assert all(row.split(",")[3] for row in rows[1:])
