"""A training run and its folder.

    run/recipe.json  tokenizer.json  data.json      its inputs
    run/curve.csv  validation.csv                   its progress
    run/step-00012000.safetensors …                 the latest checkpoints
    run/best.safetensors  last.safetensors          averaged weights to export

Every file is written atomically, so a run can resume with the same command after it was killed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import torch

from headlight.model.errors import TrainingError
from headlight.model.files import write_file
from headlight.model.training import checkpoints
from headlight.model.training.corpora import CorpusSpec
from headlight.model.training.initial_weights import check_start_exists, load_start_weights, load_word_vectors
from headlight.model.training.loop import ComputeSettings, Trainer, run_steps
from headlight.model.training.monitor import COLUMNS, CsvLog, Reporter, TensorBoardLog, format_duration, progress_bar
from headlight.model.training.prepare import EpochData, Tokenizers, load_or_train_tokenizers, read_corpora
from headlight.model.training.processes import Processes, autocast
from headlight.model.training.recipe import Recipe, recipe_from_json
from headlight.model.training.stop_signal import StopSignal
from headlight.model.training.tasks import TASKS
from headlight.model.training.validation import HeldOut


@dataclass(frozen=True, kw_only=True)
class RunSession:
    """Options of one call of the command."""

    minutes: float | None = None  # time limit of this session
    checkpoint_minutes: float = 5.0  # interval between checkpoints
    keep: int = 3  # number of checkpoints to keep
    report_every: int = 50  # steps between progress reports
    tensorboard: bool = False
    cool_down: int | None = None  # end the run with a cool-down of this many steps
    until: int | None = None  # stop at this step, before the end of the run


class ReportState(NamedTuple):
    """The state at the last progress report."""

    time: float  # seconds, monotonic
    step: int
    tokens: int


class Run:
    """A training run: a recipe, a data folder and a run folder."""

    def __init__(
        self,
        recipe: Recipe,
        data: Path,
        folder: Path,
        session: RunSession,
        setting: ComputeSettings,
        processes: Processes,
    ) -> None:
        self.recipe, self.folder, self.session, self.processes = recipe, folder, session, processes
        self.task = TASKS[recipe.task]
        self.report = Reporter(enabled=processes.first)
        self.tokenizers, self.data, self.held_out, self.digest = self._prepare(data)
        torch.manual_seed(recipe.seed)
        model = self.task.make_model(recipe, self.tokenizers)
        self.report(f"{recipe.name}: {model.parameter_count():,} parameters on {setting.device}")
        if not checkpoints.list_checkpoints(folder):
            if recipe.start:
                load_start_weights(model, recipe, self.tokenizers)
            if recipe.vectors_from:
                load_word_vectors(model, recipe, self.tokenizers)
        self.trainer = Trainer(model, recipe, self.tokenizers.special, setting, processes)
        self._resume()
        self.last, self.cool_down = self._end_and_cool_down()
        self.stopper = StopSignal(session.minutes)
        self.save_time = time.monotonic()
        self.last_report = ReportState(self.save_time, self.trainer.progress.step, self.trainer.progress.tokens)
        if processes.first:
            step = self.trainer.progress.step
            names = [f"{kind} {corpus.name}" for corpus in self.held_out for kind in ("loss", self.task.score)]
            self.curve = CsvLog(folder / "curve.csv", COLUMNS, step=step)
            self.validation = CsvLog(folder / "validation.csv", ("step", "seconds", "loss", *names), step=step)
            self.board = TensorBoardLog(folder / "tensorboard" if session.tensorboard else None)

    def train(self) -> bool:
        """Train to the end of the run or of this session. Return whether the run is finished."""
        progress = self.trainer.progress
        if progress.finished:
            self.report(f"{self.folder} is finished at step {progress.step:,}. A --cool-down N adds N steps.")
            return True
        if self._reached_stop_step():
            self.report(f"{self.folder} is already at step {progress.step:,}. Choose a later step for --until.")
            return False
        with self.stopper.handle_signals():
            run_steps(self.trainer, self.data, self.last, self.cool_down, self._after_step)
            progress.finished = progress.step >= self.last or self._early_stop()
            if progress.finished and progress.step % self.recipe.validate_every:
                self._validate()
            self._save()
            if self.processes.first:
                self._write_weights("last")
        state = "finished" if progress.finished else f"stopped ({self.stopper.reason}); the same command resumes it"
        self.report(
            f"{self.folder}: {state} at step {progress.step:,} after {format_duration(progress.seconds)} of training"
        )
        return progress.finished

    # ------------------------------------------------------------ preparation

    def _prepare(self, data: Path) -> tuple[Tokenizers, EpochData, list[HeldOut], str]:
        recipe, first = self.recipe, self.processes.first
        check_start_exists(recipe)
        if recipe.validation and not self.task.can_score():
            self.report(
                f"No {self.task.score} during training: pip install -r requirements-train.txt installs sacreBLEU."
            )
        text = read_corpora(recipe.corpora, recipe, data, self.report)
        if first:
            self._check_folder(text.digest)
            load_or_train_tokenizers(self.folder, recipe, text, self.report)
        self.processes.barrier()  # until the first process has written the tokenizers
        tokenizers = load_or_train_tokenizers(self.folder, recipe, text, self.report)
        held_out = []
        for spec in recipe.validation:
            held_out_text = read_corpora((spec,), recipe, data, self.report)
            encoded = self.task.encode(held_out_text, tokenizers, recipe)
            held_out.append(HeldOut(_make_corpus_name(spec), held_out_text, encoded, recipe.target_language))
        plain = self.task.encode(text, tokenizers, recipe)
        epochs = EpochData(text, plain, tokenizers, recipe, self.folder, self.processes)
        return tokenizers, epochs, held_out, text.digest

    def _check_folder(self, digest: str) -> None:
        """Store the recipe and the data hash of a new run; raise a TrainingError if those of an old run differ."""
        recipe_path, data_path = self.folder / "recipe.json", self.folder / "data.json"
        if not recipe_path.exists():
            write_file(recipe_path, self.recipe.to_json())
        elif recipe_from_json(recipe_path.read_text(encoding="utf-8"), origin=str(recipe_path)) != self.recipe:
            raise TrainingError(
                f"{recipe_path} differs from the given recipe. Choose another --run folder for a changed recipe."
            )
        if not data_path.exists():
            write_file(data_path, json.dumps({"sha256": digest}) + "\n")
        elif json.loads(data_path.read_text(encoding="utf-8"))["sha256"] != digest:
            raise TrainingError(
                f"{data_path}: the training text has changed since this run began, so it cannot resume. "
                "Restore the text, or choose another --run folder."
            )

    def _resume(self) -> None:
        if self.processes.first:
            for part in self.folder.glob("*.part"):  # incomplete files of a killed process
                part.unlink()
        for path in reversed(checkpoints.list_checkpoints(self.folder)):
            try:
                groups, progress, _ = checkpoints.load_checkpoint(path, self.trainer.setting.device)
            except TrainingError as error:
                self.report(str(error))
                continue
            self.trainer.restore(groups, progress)
            self.report(f"{path}: resumes from step {progress.step:,}")
            return

    def _end_and_cool_down(self) -> tuple[int, int]:
        """Return the last step and the length of the cool-down, as requested in any session, else from the recipe."""
        progress = self.trainer.progress
        if self.session.cool_down is not None and not progress.cool_down_steps:
            progress.last_step, progress.cool_down_steps = (
                progress.step + self.session.cool_down,
                self.session.cool_down,
            )
            progress.finished = False
            if self.processes.first:
                self._write(self.folder / f"before-cool-down-{progress.step}.safetensors")
        if progress.cool_down_steps:
            return progress.last_step, progress.cool_down_steps
        return self.recipe.steps, self.recipe.optimisation.cool_down_steps

    # ------------------------------------------------------------ after each step

    def _after_step(self, rate: float) -> bool:
        step = self.trainer.progress.step
        if step % self.session.report_every == 0:
            self._report_progress(rate)
        if step % self.recipe.validate_every == 0:
            self._validate()
        if self.processes.any_process(time.monotonic() - self.save_time > 60 * self.session.checkpoint_minutes):
            self._tolerate_full_disk(self._save)
        if self._reached_stop_step():
            self.stopper.reason = f"--until {self.session.until}"
        return self.processes.any_process(self.stopper.is_set()) or self._early_stop()

    def _reached_stop_step(self) -> bool:
        until = self.session.until
        return until is not None and self.trainer.progress.step >= until

    def _report_progress(self, rate: float) -> None:
        progress, last_report, current_time = self.trainer.progress, self.last_report, time.monotonic()
        padded = self.trainer.padded / max(1, self.trainer.words)
        values = self.trainer.pop_mean_losses()
        self.last_report = ReportState(current_time, progress.step, progress.tokens)
        if not self.processes.first:
            return
        elapsed = current_time - last_report.time
        speed = (progress.tokens - last_report.tokens) / elapsed
        remaining = (self.last - progress.step) * elapsed / max(1, progress.step - last_report.step)
        self.curve.add(
            {"step": progress.step, "epoch": progress.epoch, "seconds": progress.seconds, "rate": rate,
             "tokens": progress.tokens, "tokens_per_second": speed, **values}
        )  # fmt: skip
        self.board.add({"rate": rate, "tokens_per_second": speed, **values}, progress.step)
        self.report.progress(
            f"{progress_bar(progress.step, self.last)} {progress.step:,}/{self.last:,} epoch {progress.epoch} "
            f"loss {values['loss']:.3f} rate {rate:.2e} {speed:,.0f} target tokens/s ({padded * speed:,.0f} in all) "
            f"{format_duration(remaining)} left"
        )

    def _validate(self) -> None:
        trainer, progress, device = self.trainer, self.trainer.progress, self.trainer.setting.device
        if self.processes.first and self.held_out:
            trainer.model.eval()
            with trainer.average.use_averages(), autocast(device, trainer.setting.precision):
                values = self.task.validate(trainer.model, self.held_out, self.tokenizers, device)
            self.validation.add({"step": progress.step, "seconds": progress.seconds, **values})
            self.board.add({f"validation {name}": value for name, value in values.items()}, progress.step)
            self.report(f"step {progress.step:,}: " + ", ".join(f"{key} {value:.3f}" for key, value in values.items()))
            progress.validations_without_gain += 1
            if values["loss"] < progress.best_loss:
                progress.best_loss, progress.validations_without_gain = values["loss"], 0
                self._tolerate_full_disk(lambda: self._write_weights("best"))

    def _early_stop(self) -> bool:
        patience = self.recipe.patience
        stops = bool(patience) and self.trainer.progress.validations_without_gain >= patience
        return self.processes.any_process(stops) if patience else False

    # ------------------------------------------------------------ saving

    def _tolerate_full_disk(self, save: Callable[[], None]) -> None:
        """Report a failed save instead of raising: a full disk may have space again at the next checkpoint."""
        try:
            save()
        except TrainingError as error:
            self.report(f"{error} Training continues.")

    def _save(self) -> None:
        self.save_time = time.monotonic()
        self.trainer.reduce_losses()
        if self.processes.first:
            self._write(checkpoints.make_checkpoint_path(self.folder, self.trainer.progress.step))
            checkpoints.remove_old_checkpoints(self.folder, self.session.keep)

    def _write(self, path: Path) -> None:
        checkpoints.save_checkpoint(path, self.trainer.tensors(), self.trainer.progress, self._metadata())

    def _write_weights(self, name: str) -> None:
        path = self.folder / f"{name}.safetensors"
        checkpoints.save_checkpoint(
            path, {"model": self.trainer.average.tensors()}, self.trainer.progress, self._metadata()
        )

    def _metadata(self) -> dict[str, str]:
        return {"recipe": self.recipe.to_json(), "data_sha256": self.digest}


def _make_corpus_name(spec: CorpusSpec) -> str:
    """Return the name of a held-out corpus in reports: the innermost folder of its path."""
    return Path(spec.source).parent.name or Path(spec.source).stem
