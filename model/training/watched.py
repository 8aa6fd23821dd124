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

from headlight.model.core.probes import watch
from headlight.model.core.transformer import attention_path
from headlight.model.errors import TrainingError
from headlight.model.folders.packed import packed
from headlight.model.records import FloatArray
from headlight.model.text.tokenizer import Tokenizer
from headlight.model.training.batches import Batch, make_batch
from headlight.model.training.checkpoints import Progress
from headlight.model.training.corpora import Pair, read_pairs
from headlight.model.training.loop import Setting, Trainer, steps_from
from headlight.model.training.mistakes import losses_of, put_in
from headlight.model.training.prepare import Text, Tokenizers, encode
from headlight.model.training.processes import Processes
from headlight.model.training.recipe import TokenizerSettings
from headlight.model.training.schedule import make_schedule
from headlight.model.training.tasks import make_translator
from headlight.model.training.validation import greedy
from headlight.model.training.watched_settings import CORPORA, CORPUS, SEED, SMOOTHING, WatchedRun

MOMENTS = 28  # of a run, its untrained beginning among them


@dataclass(frozen=True)
class Shown:
    """One sentence at one moment."""

    written: str  # free translation
    chances: tuple[float, ...]  # of each token of the right translation, the tokens before it given
    cross: FloatArray  # [layer, head, query, key]: cross-attention while it reads the right translation


@dataclass(frozen=True)
class Moment:
    """A run as it stands after `step` steps; `losses`: of the steps since the last moment, per token."""

    step: int
    losses: tuple[float, ...]
    shown: tuple[Shown, ...]


@dataclass(frozen=True)
class Ended:
    """A failed run: the loss became NaN, or PyTorch raised an error."""

    why: str  # diverged, broken
    says: str = ""


@dataclass(frozen=True)
class Beginning:
    """Properties of a run before its first step."""

    run: WatchedRun
    parameters: int
    vocabulary: int  # of the target
    moments: tuple[int, ...]  # the steps after which there is one
    sources: tuple[tuple[str, ...], ...]  # tokens of each sentence that is shown, as labels
    targets: tuple[tuple[str, ...], ...]
    right: tuple[tuple[str, ...], ...]  # of each: all its translations, of which the first is the one that is shown
    unseen: tuple[bool, ...]  # whether no step trains on it
    tokens: int  # of all translations that it trains on


def moments_of(steps: int) -> tuple[int, ...]:
    """Snapshot steps, dense at the start and sparser later."""
    return tuple(sorted({round(steps * (place / (MOMENTS - 1)) ** 1.5) for place in range(MOMENTS)}))


class Watched:
    """One run: `beginning`, then its `moments` one after another, each computed when it is asked for."""

    def __init__(self, run: WatchedRun) -> None:
        self.run, self.recipe = run, run.recipe()
        corpus = CORPUS[run.corpus]
        self.trained = pairs = list(islice(read_pairs(self.recipe.corpora[0], CORPORA), corpus.pairs))
        self.tokenizers = learn_tokenizers(pairs, self.recipe.tokenizer)
        self.sentences = encode(_text(pairs), self.tokenizers)
        torch.manual_seed(self.recipe.seed)
        self.model = make_translator(self.recipe, self.tokenizers)
        mistakes = [run.mistake] if run.mistake else []
        put_in(self.model, mistakes)
        setting = Setting(torch.device("cpu"), precision="float32")
        self.trainer = Trainer(self.model, self.recipe, self.tokenizers.special, setting, Processes())
        self.trainer.losses = losses_of(self.model, SMOOTHING, mistakes)
        self.pairs = [*(pairs[place] for place in corpus.shown), *corpus.unseen]
        shown = encode(_text(self.pairs), self.tokenizers)
        special = self.tokenizers.special
        self.batches = [make_batch(shown, torch.tensor([row]).numpy(), special) for row in range(len(self.pairs))]

    @property
    def beginning(self) -> Beginning:
        """Sizes, and the sentences that are shown."""
        source, target = self.tokenizers.source, self.tokenizers.target
        known = len(CORPUS[self.run.corpus].shown)
        return Beginning(
            self.run,
            self.model.parameter_count(),
            target.vocabulary_size,
            moments_of(self.run.steps),
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

    def moments(self) -> Iterator[Moment]:
        """All moments of the run, from the untrained model on.

        Raises:
            TrainingError: the loss is NaN or infinite.
        """
        yield self.look(())
        wanted, losses = set(moments_of(self.run.steps)), []
        rate_at = make_schedule(self.recipe.optimisation, self.run.steps, self.recipe.optimisation.cool_down_steps)
        for sentences, step in steps_from(lambda _: self.sentences, self.recipe.batching, SEED, Progress()):
            number = self.trainer.progress.step + 1
            self.trainer.step(sentences, step, rate_at(number))
            losses.append(self.trainer.read_sums()["loss"])
            if number in wanted:
                yield self.look(losses)
                losses = []
            if number == self.run.steps:
                return

    @torch.no_grad()
    def look(self, losses: Sequence[float]) -> Moment:
        """The current translation and its cross-attention."""
        self.model.eval()
        shown = tuple(self._shown(batch) for batch in self.batches)
        return Moment(self.trainer.progress.step, tuple(losses), shown)

    def _shown(self, batch: Batch) -> Shown:
        special, tokenizer = self.tokenizers.special, self.tokenizers.target
        limit = 2 * batch.words.numel() + 4
        written = greedy(self.model, batch.source, batch.source_mask, special, limit)[0]
        paths = [f"{attention_path('cross', layer)}.weights" for layer in range(self.run.layers)]
        with watch(self.model, *paths) as seen:
            logits = self.model(batch.source, batch.target[:, : len(batch.words)], batch.source_mask)
        chances = logits[0].softmax(dim=-1).gather(1, batch.words[:, None])[:, 0]
        cross = torch.stack([seen[path][0] for path in paths]).numpy()
        return Shown(tokenizer.decode(written), tuple(chances.tolist()), cross)


def together(runs: Sequence[Watched]) -> Iterator[tuple[int, Moment | Ended]]:
    """The moments of several runs in turn, each with the number of its run; a run that breaks ends alone."""
    going = [(number, run.moments()) for number, run in enumerate(runs)]
    while going:
        for number, moments in list(going):
            try:
                moment: Moment | Ended | None = next(moments, None)
            except TrainingError:
                moment = Ended("diverged")
            except RuntimeError as error:  # tensors that do not fit, as of a mistake
                moment = Ended("broken", str(error).partition("\n")[0])
            if not isinstance(moment, Moment):
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


_starting = Lock()  # weights begin with PyTorch's one generator


def untrained(run: WatchedRun) -> tuple[Beginning, Moment | Ended]:
    """A run before its first step, as `Watched.moments` begins, without training anything.

    Threads may ask: the generator is put back as it was.
    """
    with _starting, torch.random.fork_rng(devices=[]):
        watched = Watched(run)
    try:
        return watched.beginning, watched.look(())
    except RuntimeError as error:  # a mistake that cannot even be looked at
        return watched.beginning, Ended("broken", str(error).partition("\n")[0])


def guessing_loss(vocabulary: int) -> float:
    """The loss of a guess that finds all tokens equally likely."""
    return math.log(vocabulary)


# ---------------------------------------------------------------- as they travel


def begun_values(beginnings: Sequence[Beginning]) -> dict[str, Any]:
    """The first message of runs."""
    return {"what": "begun", "runs": [asdict(beginning) for beginning in beginnings]}


def moment_values(number: int, moment: Moment | Ended) -> dict[str, Any]:
    """The message of one moment, or of the end, of the run of this number."""
    if isinstance(moment, Ended):
        return {"what": "ended", "run": number, "why": moment.why, "says": moment.says}
    shown = [
        {"written": each.written, "chances": [round(chance, 5) for chance in each.chances], "cross": packed(each.cross)}
        for each in moment.shown
    ]
    losses = [round(loss, 5) for loss in moment.losses]
    return {"what": "moment", "run": number, "step": moment.step, "losses": losses, "shown": shown}


def _text(pairs: Sequence[Pair]) -> Text:
    return Text(list(pairs), [0] * len(pairs), (1.0,), digest="")


def _labels(tokenizer: Tokenizer, ids: Sequence[int]) -> tuple[str, ...]:
    return tuple(tokenizer.label(token) for token in ids)
