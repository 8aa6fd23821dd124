"""A small training run that the page shows live, with sample outputs at each snapshot.

A run is a function of its settings alone: its corpus, its sizes and its seed. Two runs advance in turn, so that they
can be seen side by side; neither changes the other, because the loop seeds every step.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from threading import Lock
from typing import Any

import torch

from headlight.model.checkpoints.base64_arrays import encode_array
from headlight.model.core.probes import watch
from headlight.model.core.transformer import attention_path
from headlight.model.errors import TrainingError
from headlight.model.records import FloatArray
from headlight.model.text.tokenizer import Tokenizer
from headlight.model.training.batches import Batch, make_batch
from headlight.model.training.checkpoints import RunProgress
from headlight.model.training.corpora import Pair, read_pairs
from headlight.model.training.live_run_settings import CORPORA, CORPUS_BY_NAME, SEED, SMOOTHING, LiveRunSettings
from headlight.model.training.loop import ComputeSettings, Trainer, training_steps
from headlight.model.training.mistakes import apply_mistakes, make_loss
from headlight.model.training.prepare import CorpusText, Tokenizers, encode
from headlight.model.training.processes import Processes
from headlight.model.training.recipe import TokenizerSettings
from headlight.model.training.schedule import make_schedule
from headlight.model.training.tasks import make_translator
from headlight.model.training.validation import greedy_decode

SNAPSHOT_COUNT = 28  # of a run, its untrained beginning among them


@dataclass(frozen=True)
class SentenceSnapshot:
    """One sentence at one moment."""

    written: str  # free translation
    probabilities: tuple[float, ...]  # of each token of the right translation, the tokens before it given
    cross: FloatArray  # [layer, head, query, key]: cross-attention while it reads the right translation


@dataclass(frozen=True)
class Snapshot:
    """A run as it stands after `step` steps; `losses`: of the steps since the last moment, per token."""

    step: int
    losses: tuple[float, ...]
    shown: tuple[SentenceSnapshot, ...]


@dataclass(frozen=True)
class RunFailure:
    """A failed run: the loss became NaN, or PyTorch raised an error."""

    reason: str  # diverged, broken
    message: str = ""


@dataclass(frozen=True)
class RunHeader:
    """Properties of a run before its first step."""

    run: LiveRunSettings
    parameters: int
    vocabulary: int  # of the target
    snapshot_steps: tuple[int, ...]  # the steps after which there is one
    sources: tuple[tuple[str, ...], ...]  # tokens of each sentence that is shown, as labels
    targets: tuple[tuple[str, ...], ...]
    accepted_targets: tuple[tuple[str, ...], ...]  # all translations of each; the first is the one that is shown
    unseen: tuple[bool, ...]  # whether no step trains on it
    tokens: int  # of all translations that it trains on


def snapshot_steps(steps: int) -> tuple[int, ...]:
    """Snapshot steps, dense at the start and sparser later."""
    return tuple(sorted({round(steps * (place / (SNAPSHOT_COUNT - 1)) ** 1.5) for place in range(SNAPSHOT_COUNT)}))


class LiveRun:
    """One run: `beginning`, then its `moments` one after another, each computed when it is asked for."""

    def __init__(self, run: LiveRunSettings) -> None:
        self.run, self.recipe = run, run.recipe()
        corpus = CORPUS_BY_NAME[run.corpus]
        self.trained = pairs = list(islice(read_pairs(self.recipe.corpora[0], CORPORA), corpus.pairs))
        self.tokenizers = learn_tokenizers(pairs, self.recipe.tokenizer)
        self.sentences = encode(_text(pairs), self.tokenizers)
        torch.manual_seed(self.recipe.seed)
        self.model = make_translator(self.recipe, self.tokenizers)
        mistakes = [run.mistake] if run.mistake else []
        apply_mistakes(self.model, mistakes)
        setting = ComputeSettings(torch.device("cpu"), precision="float32")
        self.trainer = Trainer(self.model, self.recipe, self.tokenizers.special, setting, Processes())
        self.trainer.losses = make_loss(self.model, SMOOTHING, mistakes)
        self.pairs = [*(pairs[place] for place in corpus.shown), *corpus.unseen]
        shown = encode(_text(self.pairs), self.tokenizers)
        special = self.tokenizers.special
        self.batches = [make_batch(shown, torch.tensor([row]).numpy(), special) for row in range(len(self.pairs))]

    @property
    def beginning(self) -> RunHeader:
        """Sizes, and the sentences that are shown."""
        source, target = self.tokenizers.source, self.tokenizers.target
        known = len(CORPUS_BY_NAME[self.run.corpus].shown)
        return RunHeader(
            self.run,
            self.model.parameter_count(),
            target.vocabulary_size,
            snapshot_steps(self.run.steps),
            tuple(_labels(source, batch.source[0].tolist()) for batch in self.batches),
            tuple(_labels(target, batch.words.tolist()) for batch in self.batches),
            tuple(self._translations(pair) for pair in self.pairs),
            tuple(row >= known for row in range(len(self.pairs))),
            int(self.sentences.target.lengths.sum()),
        )

    def _translations(self, pair: Pair) -> tuple[str, ...]:
        """Accepted translations of a sentence; the guessing lesson has several."""
        others = (each.target for each in self.trained if each.source == pair.source)
        return tuple(dict.fromkeys([pair.target, *others]))

    def snapshots(self) -> Iterator[Snapshot]:
        """All moments of the run, from the untrained model on.

        Raises:
            TrainingError: the loss is NaN or infinite.
        """
        yield self.snapshot(())
        wanted, losses = set(snapshot_steps(self.run.steps)), []
        rate_at = make_schedule(self.recipe.optimisation, self.run.steps, self.recipe.optimisation.cool_down_steps)
        for sentences, step in training_steps(lambda _: self.sentences, self.recipe.batching, SEED, RunProgress()):
            number = self.trainer.progress.step + 1
            self.trainer.step(sentences, step, rate_at(number))
            losses.append(self.trainer.pop_mean_losses()["loss"])
            if number in wanted:
                yield self.snapshot(losses)
                losses = []
            if number == self.run.steps:
                return

    @torch.no_grad()
    def snapshot(self, losses: Sequence[float]) -> Snapshot:
        """The current translation and its cross-attention."""
        self.model.eval()
        shown = tuple(self._snapshot(batch) for batch in self.batches)
        return Snapshot(self.trainer.progress.step, tuple(losses), shown)

    def _snapshot(self, batch: Batch) -> SentenceSnapshot:
        special, tokenizer = self.tokenizers.special, self.tokenizers.target
        limit = 2 * batch.words.numel() + 4
        written = greedy_decode(self.model, batch.source, batch.source_mask, special, limit)[0]
        paths = [f"{attention_path('cross', layer)}.weights" for layer in range(self.run.layers)]
        with watch(self.model, *paths) as seen:
            logits = self.model(batch.source, batch.target[:, : len(batch.words)], batch.source_mask)
        chances = logits[0].softmax(dim=-1).gather(1, batch.words[:, None])[:, 0]
        cross = torch.stack([seen[path][0] for path in paths]).numpy()
        return SentenceSnapshot(tokenizer.decode(written), tuple(chances.tolist()), cross)


def interleave(runs: Sequence[LiveRun]) -> Iterator[tuple[int, Snapshot | RunFailure]]:
    """The moments of several runs in turn, each with the number of its run; a run that breaks ends alone."""
    going = [(number, run.snapshots()) for number, run in enumerate(runs)]
    while going:
        for number, moments in list(going):
            try:
                moment: Snapshot | RunFailure | None = next(moments, None)
            except TrainingError:
                moment = RunFailure("diverged")
            except RuntimeError as error:  # tensors that do not fit, as of a mistake
                moment = RunFailure("broken", str(error).partition("\n")[0])
            if not isinstance(moment, Snapshot):
                going.remove((number, moments))
            if moment is not None:
                yield number, moment


def learn_tokenizers(pairs: Sequence[Pair], settings: TokenizerSettings) -> Tokenizers:
    """A vocabulary of each side, of these sentences alone."""
    source, target = (
        Tokenizer.train(
            [pair[side] for pair in pairs], settings.vocabulary, minimum_frequency=settings.minimum_frequency
        )
        for side in (0, 1)
    )
    return Tokenizers(source, target)


_init_lock = Lock()  # weights begin with PyTorch's one generator


def untrained_snapshot(run: LiveRunSettings) -> tuple[RunHeader, Snapshot | RunFailure]:
    """A run before its first step, as `Watched.moments` begins, without training anything.

    Threads may ask: the generator is put back as it was.
    """
    with _init_lock, torch.random.fork_rng(devices=[]):
        watched = LiveRun(run)
    try:
        return watched.beginning, watched.snapshot(())
    except RuntimeError as error:  # a mistake that cannot even be looked at
        return watched.beginning, RunFailure("broken", str(error).partition("\n")[0])


def uniform_loss(vocabulary: int) -> float:
    """The loss of a guess that finds all tokens equally likely."""
    return math.log(vocabulary)


# ---------------------------------------------------------------- as they travel


def header_message(beginnings: Sequence[RunHeader]) -> dict[str, Any]:
    """The first message of runs."""
    return {"what": "begun", "runs": [asdict(beginning) for beginning in beginnings]}


def snapshot_message(number: int, moment: Snapshot | RunFailure) -> dict[str, Any]:
    """The message of one moment, or of the end, of the run of this number."""
    if isinstance(moment, RunFailure):
        return {"what": "ended", "run": number, "why": moment.reason, "says": moment.message}
    shown = [
        {
            "written": each.written,
            "chances": [round(chance, 5) for chance in each.probabilities],
            "cross": encode_array(each.cross),
        }
        for each in moment.shown
    ]
    losses = [round(loss, 5) for loss in moment.losses]
    return {"what": "moment", "run": number, "step": moment.step, "losses": losses, "shown": shown}


def _text(pairs: Sequence[Pair]) -> CorpusText:
    return CorpusText(list(pairs), [0] * len(pairs), (1.0,), digest="")


def _labels(tokenizer: Tokenizer, ids: Sequence[int]) -> tuple[str, ...]:
    return tuple(tokenizer.label(token) for token in ids)
