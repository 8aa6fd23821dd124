"""A small training run that the page shows live, with sample outputs at each snapshot.

The settings and a fixed seed determine a run. Several runs advance in turn, so that the page shows them side by side.
They do not affect each other, because the loop sets the seed before every step.
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
from headlight.model.training.corpora import FIRST_EAST_ASIAN, Pair, read_pairs
from headlight.model.training.live_run_settings import CORPORA, CORPUS_BY_NAME, SEED, SMOOTHING, LiveRunSettings
from headlight.model.training.loop import ComputeSettings, Trainer, training_steps
from headlight.model.training.mistakes import apply_mistakes, make_loss
from headlight.model.training.prepare import CorpusText, Tokenizers, encode
from headlight.model.training.processes import Processes
from headlight.model.training.recipe import TokenizerSettings
from headlight.model.training.schedule import make_schedule
from headlight.model.training.tasks import make_translator
from headlight.model.training.validation import greedy_decode

SNAPSHOT_COUNT = 28  # per run, including the untrained model


@dataclass(frozen=True)
class SentenceSnapshot:
    """Output for one sentence at one snapshot."""

    translation: str  # greedy translation
    probabilities: tuple[float, ...]  # probability of each reference token, given the reference tokens before it
    cross: FloatArray  # [layer, head, query, key]: cross-attention with the reference as decoder input


@dataclass(frozen=True)
class Snapshot:
    """State of a run after some steps."""

    step: int
    losses: tuple[float, ...]  # loss per token of each step since the last snapshot
    sentences: tuple[SentenceSnapshot, ...]


@dataclass(frozen=True)
class RunFailure:
    """A failed run: the loss became NaN or infinite, or PyTorch raised an error."""

    reason: str  # "diverged" or "broken"
    message: str = ""


@dataclass(frozen=True)
class RunHeader:
    """Properties of a run before its first step."""

    run: LiveRunSettings
    parameters: int
    vocabulary: int  # size of the target vocabulary
    snapshot_steps: tuple[int, ...]  # steps after which a snapshot is taken
    sources: tuple[tuple[str, ...], ...]  # token labels of each sample sentence
    targets: tuple[tuple[str, ...], ...]
    accepted_targets: tuple[tuple[str, ...], ...]  # all references per sentence, the displayed one first
    unseen: tuple[bool, ...]  # whether the sentence is held out of training
    tokens: int  # target tokens in the training corpus, without end tokens


def snapshot_steps(steps: int) -> tuple[int, ...]:
    """Return the snapshot steps, dense at the start and sparser later."""
    return tuple(sorted({round(steps * (index / (SNAPSHOT_COUNT - 1)) ** 1.5) for index in range(SNAPSHOT_COUNT)}))


class LiveRun:
    """One run. `beginning` has its properties, and `snapshots` trains it."""

    def __init__(self, run: LiveRunSettings) -> None:
        self.run, self.recipe = run, run.recipe()
        corpus = CORPUS_BY_NAME[run.corpus]
        all_pairs = read_pairs(self.recipe.corpora[0], CORPORA)
        pairs = [separate_characters(pair) for pair in islice(all_pairs, corpus.pairs)]
        self.trained = pairs
        self.tokenizers = learn_tokenizers(pairs, self.recipe.tokenizer)
        self.sentences = encode(_text(pairs), self.tokenizers)
        torch.manual_seed(self.recipe.seed)
        self.model = make_translator(self.recipe, self.tokenizers)
        mistakes = [run.mistake] if run.mistake else []
        apply_mistakes(self.model, mistakes)
        setting = ComputeSettings(torch.device("cpu"), precision="float32")
        self.trainer = Trainer(self.model, self.recipe, self.tokenizers.special, setting, Processes())
        self.trainer.losses = make_loss(self.model, SMOOTHING, mistakes)
        self.pairs = [*(pairs[index] for index in corpus.sentences), *map(separate_characters, corpus.unseen)]
        samples = encode(_text(self.pairs), self.tokenizers)
        special = self.tokenizers.special
        self.batches = [make_batch(samples, torch.tensor([row]).numpy(), special) for row in range(len(self.pairs))]

    @property
    def beginning(self) -> RunHeader:
        """The properties of the run before its first step."""
        source, target = self.tokenizers.source, self.tokenizers.target
        trained_sentence_count = len(CORPUS_BY_NAME[self.run.corpus].sentences)
        return RunHeader(
            self.run,
            self.model.parameter_count(),
            target.vocabulary_size,
            snapshot_steps(self.run.steps),
            tuple(_labels(source, batch.source[0].tolist()) for batch in self.batches),
            tuple(_labels(target, batch.words.tolist()) for batch in self.batches),
            tuple(self._translations(pair) for pair in self.pairs),
            tuple(row >= trained_sentence_count for row in range(len(self.pairs))),
            int(self.sentences.target.lengths.sum()),
        )

    def _translations(self, pair: Pair) -> tuple[str, ...]:
        """Return all references of a sentence, the displayed one first. The corpus "guess" has several."""
        references = (reference.target for reference in self.trained if reference.source == pair.source)
        return tuple(dict.fromkeys([pair.target, *references]))

    def snapshots(self) -> Iterator[Snapshot]:
        """Train, and yield all snapshots. The first one is of the untrained model.

        Raises:
            TrainingError: the loss is NaN or infinite.
        """
        yield self.snapshot(())
        due_steps, losses = set(snapshot_steps(self.run.steps)), []
        rate_at = make_schedule(self.recipe.optimisation, self.run.steps, self.recipe.optimisation.cool_down_steps)
        for sentences, step in training_steps(lambda _: self.sentences, self.recipe.batching, SEED, RunProgress()):
            number = self.trainer.progress.step + 1
            self.trainer.step(sentences, step, rate_at(number))
            losses.append(self.trainer.pop_mean_losses()["loss"])
            if number in due_steps:
                yield self.snapshot(losses)
                losses = []
            if number == self.run.steps:
                return

    @torch.no_grad()
    def snapshot(self, losses: Sequence[float]) -> Snapshot:
        """Translate the sample sentences with the current model. `losses`: those since the last snapshot."""
        self.model.eval()
        sentences = tuple(self._snapshot(batch) for batch in self.batches)
        return Snapshot(self.trainer.progress.step, tuple(losses), sentences)

    def _snapshot(self, batch: Batch) -> SentenceSnapshot:
        special, tokenizer = self.tokenizers.special, self.tokenizers.target
        limit = 2 * batch.words.numel() + 4
        ids = greedy_decode(self.model, batch.source, batch.source_mask, special, limit)[0]
        paths = [f"{attention_path('cross', layer)}.weights" for layer in range(self.run.layers)]
        with watch(self.model, *paths) as activations:
            logits = self.model(batch.source, batch.target[:, : len(batch.words)], batch.source_mask)
        probabilities = logits[0].softmax(dim=-1).gather(1, batch.words[:, None])[:, 0]
        cross = torch.stack([activations[path][0] for path in paths]).numpy()
        return SentenceSnapshot(tokenizer.decode(ids), tuple(probabilities.tolist()), cross)


def interleave(runs: Sequence[LiveRun]) -> Iterator[tuple[int, Snapshot | RunFailure]]:
    """Advance several runs in turn, and yield run index and snapshot. A failed run does not stop the other runs."""
    active = [(number, run.snapshots()) for number, run in enumerate(runs)]
    while active:
        for number, snapshots in list(active):
            try:
                event: Snapshot | RunFailure | None = next(snapshots, None)
            except TrainingError:
                event = RunFailure("diverged")
            except RuntimeError as error:  # for example mismatched shapes caused by the run's `mistake`
                event = RunFailure("broken", str(error).partition("\n")[0])
            if not isinstance(event, Snapshot):
                active.remove((number, snapshots))
            if event is not None:
                yield number, event


def separate_characters(pair: Pair) -> Pair:
    """Insert spaces between the characters of a Chinese source. Without spaces, a short sentence becomes one token."""
    is_unspaced = pair.source[:1] >= FIRST_EAST_ASIAN and " " not in pair.source
    return pair._replace(source=" ".join(pair.source)) if is_unspaced else pair


def learn_tokenizers(pairs: Sequence[Pair], settings: TokenizerSettings) -> Tokenizers:
    """Train one vocabulary per side on these sentences."""
    source, target = (
        Tokenizer.train(
            [pair[side] for pair in pairs], settings.vocabulary, minimum_frequency=settings.minimum_frequency
        )
        for side in (0, 1)
    )
    return Tokenizers(source, target)


_init_lock = Lock()  # protects PyTorch's global generator, which draws the initial weights


def make_untrained_snapshot(run: LiveRunSettings) -> tuple[RunHeader, Snapshot | RunFailure]:
    """Return the header and the first snapshot of a run, without training.

    Thread-safe. The state of PyTorch's global generator is restored.
    """
    with _init_lock, torch.random.fork_rng(devices=[]):
        live_run = LiveRun(run)
    try:
        return live_run.beginning, live_run.snapshot(())
    except RuntimeError as error:  # the run's `mistake` fails in the first forward pass
        return live_run.beginning, RunFailure("broken", str(error).partition("\n")[0])


def compute_uniform_loss(vocabulary: int) -> float:
    """Return the cross-entropy of a uniform prediction."""
    return math.log(vocabulary)


# ---------------------------------------------------------------- messages to the page


def make_header_message(beginnings: Sequence[RunHeader]) -> dict[str, Any]:
    """Create the first message: the headers of all runs."""
    return {"what": "begun", "runs": [asdict(beginning) for beginning in beginnings]}


def make_snapshot_message(number: int, event: Snapshot | RunFailure) -> dict[str, Any]:
    """Create the message for a snapshot or a failure of the run with this index."""
    if isinstance(event, RunFailure):
        return {"what": "ended", "run": number, "why": event.reason, "says": event.message}
    sentences = [
        {
            "written": sentence.translation,
            "chances": [round(probability, 5) for probability in sentence.probabilities],
            "cross": encode_array(sentence.cross),
        }
        for sentence in event.sentences
    ]
    losses = [round(loss, 5) for loss in event.losses]
    return {"what": "moment", "run": number, "step": event.step, "losses": losses, "shown": sentences}


def _text(pairs: Sequence[Pair]) -> CorpusText:
    return CorpusText(list(pairs), [0] * len(pairs), (1.0,), digest="")


def _labels(tokenizer: Tokenizer, ids: Sequence[int]) -> tuple[str, ...]:
    return tuple(tokenizer.label(token) for token in ids)
