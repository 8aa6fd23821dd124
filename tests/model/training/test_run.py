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
    chosen = RunSession(**({"report_every": 1} | session))
    return Run(recipe, data, folder, chosen, ComputeSettings(torch.device("cpu"), "float32"), Processes())


def first_model(folder: Path, steps: int = 3, **fields: Any) -> Path:
    """A model in `folder / "model"` for another run to begin with; gives the sentences that it was trained on."""
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


def test_twenty_sentences_are_learnt_by_heart_and_exported(tmp_path: Path) -> None:
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
        written = greedy_decode(loaded.model, batch.source, batch.source_mask, special, limit=50)
    assert [loaded.target_tokenizer.decode(ids) for ids in written] == [pair.target for pair in run.data.text.pairs]
    assert "SHA-256 of the cleaned training text: `" + run.digest in (tmp_path / "model" / "README.md").read_text()


@pytest.mark.slow
def test_a_run_killed_without_warning_goes_on_as_if_unbroken(tmp_path: Path) -> None:
    fields: dict[str, Any] = {"model": MODEL | {"dropout": 0.3}, "steps": 90, "batching": {"batch_tokens": 997}}
    (tmp_path / "recipe.json").write_text(recipe_text(**fields), encoding="utf-8")
    broken, whole = tmp_path / "broken", tmp_path / "whole"
    command = [sys.executable, "-m", "headlight", "train", str(tmp_path / "recipe.json")]
    options = ["--data", str(CORPORA), "--run", str(broken), "--report-every", "1", "--precision", "float32"]
    process = subprocess.Popen(
        [*command, *options, "--checkpoint-minutes", "0"],
        cwd=ROOT, env=os.environ | {"OMP_NUM_THREADS": "1"}, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    deadline = time.monotonic() + 300  # on a busy machine PyTorch alone takes a minute to start
    while (
        process.poll() is None
        and time.monotonic() < deadline
        and not ((broken / "curve.csv").exists() and len(losses(broken)) > 12)
    ):
        time.sleep(0.005)
    process.kill()
    assert process.wait() != 0  # killed, not ended
    recipe = make_recipe(**fields)
    resumed = make_run(recipe, CORPORA, broken)
    assert 0 < resumed.trainer.progress.step < 90
    assert resumed.train()
    assert make_run(recipe, CORPORA, whole).train()
    assert losses(broken) == losses(whole)


@pytest.mark.skipif(os.name == "nt", reason="on Windows SIGTERM to oneself ends the process at once")
def test_a_signal_writes_a_checkpoint_and_stops_tidily(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = make_recipe()
    run = make_run(recipe, CORPORA, tmp_path)
    before = run.trainer.step

    def step_and_signal(*arguments: Any) -> None:
        before(*arguments)
        if run.trainer.progress.step == 5:
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(run.trainer, "step", step_and_signal)
    assert not run.train()
    assert checkpoints.list_checkpoints(tmp_path) == [checkpoints.checkpoint_path(tmp_path, 5)]
    resumed = make_run(recipe, CORPORA, tmp_path)
    assert resumed.train()
    assert resumed.trainer.progress.step == recipe.steps
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_time_that_is_up_stops_and_a_finished_run_stays_finished(tmp_path: Path) -> None:
    recipe = make_recipe(steps=7)
    assert not make_run(recipe, CORPORA, tmp_path, minutes=0.0).train()
    assert checkpoints.list_checkpoints(tmp_path)[-1] == checkpoints.checkpoint_path(tmp_path, 1)
    assert make_run(recipe, CORPORA, tmp_path).train()
    again = make_run(recipe, CORPORA, tmp_path)
    assert again.train()
    assert again.trainer.progress.step == 7


def test_a_run_stops_at_the_step_asked_for_and_goes_on_from_there(tmp_path: Path) -> None:
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


def test_a_cool_down_ends_the_run_at_rate_zero_even_when_interrupted(tmp_path: Path) -> None:
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


def test_a_full_disk_in_the_middle_costs_a_checkpoint_but_not_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(make_recipe(steps=5), CORPORA, tmp_path, checkpoint_minutes=0.0)
    save, calls = checkpoints.save_checkpoint, []

    def full_at_first(*arguments: Any) -> None:
        calls.append(arguments)
        if len(calls) == 2:
            raise TrainingError("no room.")
        save(*arguments)

    monkeypatch.setattr(checkpoints, "save_checkpoint", full_at_first)
    assert run.train()
    assert "no room. Training continues." in capsys.readouterr().out
    assert [path.stem[-1] for path in checkpoints.list_checkpoints(tmp_path)] == ["3", "4", "5"]


def test_a_changed_recipe_or_corpus_is_refused(tmp_path: Path) -> None:
    recipe = make_recipe(steps=1)
    data = first_lines(tmp_path, 20)
    make_run(recipe, data, tmp_path / "run")
    with pytest.raises(TrainingError, match="differs from the given recipe"):
        make_run(dataclasses.replace(recipe, seed=2), data, tmp_path / "run")
    first_lines(tmp_path, 21)
    with pytest.raises(TrainingError, match="the training text has changed"):
        make_run(recipe, data, tmp_path / "run")


def test_a_broken_newest_checkpoint_is_passed_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = make_recipe(steps=5)
    make_run(recipe, CORPORA, tmp_path, checkpoint_minutes=0.0).train()
    checkpoints.checkpoint_path(tmp_path, 5).write_bytes(b"cut short")
    assert make_run(recipe, CORPORA, tmp_path).trainer.progress.step == 4
    assert "is not a complete training checkpoint" in capsys.readouterr().out


def test_early_stopping_keeps_the_best_weights(tmp_path: Path) -> None:
    recipe = make_recipe(
        optimisation={"peak_rate": 0.3, "warmup_steps": 1, "ema_decay": 0.0},  # so fast that it only gets worse
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


def test_sources_cut_by_chance_are_the_same_after_a_stop(tmp_path: Path) -> None:
    recipe = make_recipe(tokenizer={"vocabulary": 400, "source_dropout": 0.3}, steps=1)
    run = make_run(recipe, CORPORA, tmp_path)
    drawn = [run.data(epoch).source.ids for epoch in (0, 1)]
    assert not np.array_equal(drawn[0], drawn[1])
    again = EpochData(run.data.text, run.data.plain, run.tokenizers, recipe, tmp_path, Processes())
    assert np.array_equal(again(1).source.ids, drawn[1])


def test_separate_vocabularies_reach_the_model_folder(tmp_path: Path) -> None:
    recipe = make_recipe(tokenizer={"shared": False, "vocabulary": 300}, steps=2)
    make_run(recipe, CORPORA, tmp_path / "run").train()
    export_run(tmp_path / "run", tmp_path / "model", weights="1")
    loaded = load_checkpoint(tmp_path / "model")
    assert loaded.source_tokenizer is not loaded.target_tokenizer


def test_a_run_begins_with_the_weights_of_another_model(tmp_path: Path) -> None:
    data = first_model(tmp_path)
    recipe = make_recipe(steps=2, start=str(tmp_path / "model"))
    run = make_run(recipe, data, tmp_path / "second")
    begun = load_checkpoint(tmp_path / "model").model.state_dict()
    assert all(torch.equal(begun[name], tensor) for name, tensor in run.trainer.model.state_dict().items())
    assert (tmp_path / "second" / "tokenizer.json").read_bytes() == (tmp_path / "model" / "tokenizer.json").read_bytes()
    assert all(torch.equal(begun[name], average) for name, average in run.trainer.average.tensors().items())
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
def test_a_new_language_begins_anew_and_the_rest_with_the_start(
    tmp_path: Path, new: str, other: str, own_weights: set[str]
) -> None:
    """The rest: all weights but the new language's vectors, and the other language's vocabulary."""
    data = first_model(tmp_path)
    fields = {f"new_{new}": True, "tokenizer": {"shared": False, "vocabulary": 290}}
    run = make_run(make_recipe(steps=2, start=str(tmp_path / "model"), **fields), data, tmp_path / "second")
    begun = load_checkpoint(tmp_path / "model").model.state_dict()
    own = run.trainer.model.state_dict()
    assert {name for name in own if not torch.equal(own[name], begun[name])} == own_weights
    vocabulary = (tmp_path / "model" / "tokenizer.json").read_bytes()
    assert (tmp_path / "second" / f"{other}_tokenizer.json").read_bytes() == vocabulary
    assert (tmp_path / "second" / f"{new}_tokenizer.json").read_bytes() != vocabulary
    assert run.train()


def test_a_new_vocabulary_of_a_known_language_begins_with_the_mean_of_the_old_pieces(tmp_path: Path) -> None:
    data = first_model(tmp_path)
    settings = {"shared": False, "vocabulary": 420}
    recipe = make_recipe(
        steps=2, start=str(tmp_path / "model"), new_source=True, vectors_of_pieces=True, tokenizer=settings
    )
    run = make_run(recipe, data, tmp_path / "second")
    start = load_checkpoint(tmp_path / "model")
    old, new = start.source_tokenizer, run.tokenizers.source
    known = start.model.state_dict()["encoder.embedding.table.weight"]
    begun = run.trainer.model.state_dict()["encoder.embedding.table.weight"]
    same = {old.label(number): number for number in range(old.vocabulary_size)}
    cut = 0
    for number in range(new.vocabulary_size):
        if new.label(number) in same:
            assert torch.equal(begun[number], known[same[new.label(number)]])
        elif "\ufffd" not in new.decode([number]):
            pieces = old.encode(new.decode([number]))
            assert torch.allclose(begun[number], known[pieces].mean(dim=0))
            cut += len(pieces) > 1
    assert cut > 5


def test_a_start_of_other_sizes_or_none_is_refused(tmp_path: Path) -> None:
    data = first_model(tmp_path, steps=1)
    with pytest.raises(TrainingError, match="has other sizes"):
        make_run(make_recipe(start=str(tmp_path / "model"), model=MODEL | {"d_ff": 29}), data, tmp_path / "second")


DEEPER = {"norm_first": True, "final_norm": True, "encoder_layers": 3, "decoder_layers": 2}


def test_a_run_that_begins_with_a_shallower_model_computes_the_same_until_its_first_step(tmp_path: Path) -> None:
    shallow = MODEL | {"norm_first": True, "final_norm": True}
    data = first_model(tmp_path, model=shallow)
    start = load_checkpoint(tmp_path / "model").model
    run = make_run(make_recipe(steps=2, start=str(tmp_path / "model"), model=MODEL | DEEPER), data, tmp_path / "second")
    grown = run.trainer.model.eval()
    assert grown.parameter_count() > start.parameter_count()
    ids = torch.randint(3, 300, (3, 11)), torch.randint(3, 300, (3, 7))
    with torch.no_grad():
        expected = start(*ids)
        assert_close(grown(*ids), expected)
        assert_close(run.trainer.average.tensors()["encoder.layers.2.feed_forward.narrow.weight"], torch.zeros(22, 23))
    assert run.train()
    with torch.no_grad():
        assert not torch.allclose(grown.eval()(*ids), expected, atol=1e-4)
    for name in ("encoder.layers.2.feed_forward.narrow", "decoder.layers.1.cross_attention.output"):
        assert grown.get_submodule(name).weight.any(), f"{name} does not learn"


def test_a_blend_lies_between_a_run_and_the_shallower_model_it_began_with(tmp_path: Path) -> None:
    shallow = MODEL | {"norm_first": True, "final_norm": True}
    data = first_model(tmp_path, model=shallow)
    recipe = make_recipe(steps=5, start=str(tmp_path / "model"), model=MODEL | DEEPER)
    make_run(recipe, data, tmp_path / "second", until=4).train()
    blend = Blend(tmp_path / "model", 0.25)
    export_run(tmp_path / "second", tmp_path / "blend", weights="last", storage="float32", blend=blend)
    learnt, _, _ = load_run(tmp_path / "second", "last")
    own, begun = learnt.state_dict(), load_checkpoint(tmp_path / "model").model.state_dict()
    for name, tensor in load_checkpoint(tmp_path / "blend").model.state_dict().items():
        if name in begun:
            assert_close(tensor, 0.75 * own[name] + 0.25 * begun[name])
        # What the new layers say: a quarter of it says nothing yet.
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
        ({}, {"encoder_layers": 2}),  # the norm comes last: a silent layer would still norm what it gets
        ({"norm_first": True}, {"norm_first": True, "encoder_layers": 2, "d_ff": 29}),
        ({"norm_first": True, "encoder_layers": 2}, {"norm_first": True}),  # deeper than the recipe's
        ({"norm_first": True}, {"norm_first": True, "encoder_layers": 2, "final_norm": True}),
    ],
    ids=["post-norm", "wider", "shallower", "another norm"],
)
def test_a_start_that_does_not_fit_into_a_deeper_model_is_refused_in_words(
    tmp_path: Path, first: dict[str, Any], second: dict[str, Any]
) -> None:
    data = first_model(tmp_path, steps=1, model=MODEL | first)
    with pytest.raises(TrainingError, match=r"has other sizes than the recipe's model\. They must be equal"):
        make_run(make_recipe(start=str(tmp_path / "model"), model=MODEL | second), data, tmp_path / "second")


def test_a_missing_start_is_noticed_before_any_text_is_read(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match=r"starts from .*none, but there is no model"):
        make_run(make_recipe(start=str(tmp_path / "none")), tmp_path / "no data", tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_run_without_sacrebleu_says_so_and_gives_losses_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(validation, "find_spec", lambda name: None)
    data = first_lines(tmp_path, 20)
    recipe = make_recipe(steps=2, validate_every=1)
    make_run(dataclasses.replace(recipe, validation=recipe.corpora), data, tmp_path / "run").train()
    said = capsys.readouterr()
    assert (said.out + said.err).count("requirements-train.txt installs sacreBLEU") == 1
    rows = (tmp_path / "run" / "validation.csv").read_text(encoding="utf-8").splitlines()
    assert len(rows) == 3
    assert all(row.split(",")[3] for row in rows[1:])
