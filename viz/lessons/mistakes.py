"""Lesson on famous mistakes: each is applied to a copy of the live model and to a toy in training."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from headlight.model.core.attention import MultiHeadAttention, softmax_where
from headlight.model.core.blocks import Embedding, Residual
from headlight.model.core.masks import causal_mask
from headlight.model.core.positions import AddedPositions, sinusoids
from headlight.model.core.transformer import Decoder
from headlight.model.records import FloatArray, Kind, Translation
from headlight.model.training import mistakes
from headlight.model.training.caught import CAUGHT_BY
from headlight.model.training.mistaken import Mistaken, Tested, try_and_test, try_mistakes
from headlight.model.training.mistakes import MISTAKES, cross_entropy, cross_entropy_of_chances, put_in, with_mistakes
from headlight.model.training.watched_settings import WatchedRun
from headlight.viz.labels import labels
from headlight.viz.lessons.controls import Button, Choice, Places
from headlight.viz.lessons.drawn import Beside, Cell, Drawn, Found, Heat, Say, Source, Sources, Table, Text, Texts
from headlight.viz.lessons.experiment import Experiment, Given
from headlight.viz.lessons.lesson import Ask, Code, Lesson, Show, Step
from headlight.viz.lessons.source import source_values
from headlight.viz.lessons.train import numbers_of
from headlight.viz.lessons.training import trains

OF_THE_MASK = ("late_mask", "ahead", "unmasked")  # visible in the decoder's self-attention
PLAYED = tuple(name for name, mistake in MISTAKES.items() if not mistake.in_training)  # one can see them

# Of each: the function that is right with the line that does it, and the wrong one with its line.
Lit = tuple[Callable[..., Any], str]
WRITTEN: Mapping[str, tuple[Lit, Lit]] = {
    "exponent": ((sinusoids, "wavelengths ="), (mistakes.OneSpeed.rows, "pairs // self.width")),
    "replaced": ((AddedPositions.forward, "embedded + rows"), (mistakes.InPlaceOfWords.forward, "rows.expand_as")),
    "unscaled": ((Embedding.forward, "* self.scale"), (mistakes.Unscaled.forward, "self.table(ids))")),
    "swapped": ((MultiHeadAttention.forward, "self.query(x))), memory"), (mistakes.Swapped.forward, "self.key(x)")),
    "late_mask": ((softmax_where, "torch.finfo"), (mistakes.MaskedLate.mix, "masked_fill(~allowed, 0.0)")),
    "residual": ((Residual.forward, "self.carried(x) +"), (mistakes.Replaced.forward, "return self.stream(")),
    "norm": ((Residual.forward, "self.norm("), (mistakes.MadeAnew.forward, "nn.LayerNorm(x.shape")),
    "ahead": ((causal_mask, ".tril("), (mistakes.LooksAhead.may_look, ".tril(")),
    "unmasked": ((Decoder.may_look, "causal_mask("), (mistakes.LooksEverywhere.may_look, "torch.ones(")),
    "softmax": ((cross_entropy, "F.cross_entropy"), (cross_entropy_of_chances, "logits.softmax")),
}
MISTAKE = Choice("mistake", tuple(MISTAKES), "exponent", menu=True)
ALSO = Places("also", most=len(MISTAKES), adds=True)


def live(given: Given) -> Found:
    """One mistake in a copy of the visitor's own model, or several at once."""
    config = given.small_outline.model.config
    first, also = given.values["mistake"], given.values["also"]
    others = [name for name in MISTAKES if name != first and MISTAKES[name].applies(config)]
    added = [name for place, name in enumerate(MISTAKES) if place in also and name in others]
    names = [*([first] if MISTAKES[first].applies(config) else []), *added]
    offered = [Say(f"lesson_mistakes_control_mistake_{name}") if name in others else None for name in MISTAKES]
    shown = {"also": offered}
    if not names:
        return Found((), holds=("absent",), shown=shown)
    found: Mistaken
    tests: dict[str, Tested]
    found, tests = given.run(try_and_test, given.own_translation, names)
    figures = (*pictures(given, found, names), test_table(tests) if len(names) > 1 else sources_of(names[0], tests))
    numbers = numbers_of_sentence(given, found) | {"count": len(names)}
    several = "several" if found.held is not None else "stopped"
    return Found(figures, numbers, holds=(names[0] if len(names) == 1 else several,), shown=shown)


def sources_of(name: str, tests: Mapping[str, Tested]) -> Sources:
    """The right line, the wrong one, and the test that would have caught it."""
    (right, right_lit), (wrong, wrong_lit) = WRITTEN[name]
    said = {"wrong": tests[name].wrong[1], "right": tests[name].right[1]}
    return Sources(
        (
            Source(Say("right_code"), source_values(right, right_lit)),
            Source(Say("wrong_code"), source_values(wrong, wrong_lit)),
            Source(Say("test"), source_values(CAUGHT_BY[name], "assert"), Say("test_says", said)),
        )
    )


def test_table(tests: Mapping[str, Tested]) -> Table:
    """Result of each mistake's test if several mistakes are made."""
    rows: list[list[Cell]] = [
        [Say(f"lesson_mistakes_control_mistake_{name}"), test.wrong[1]] for name, test in tests.items()
    ]
    return Table(Say("tests"), (Say("the_test"), Say("now")), rows)


def pictures(given: Given, found: Mistaken, names: Sequence[str]) -> list[Drawn]:
    """The translation, the numbers and a map, unbroken and now."""
    before = given.own_translation
    says = found.error if found.written is None else found.written.text
    texts = Texts((Text(Say("before"), before.text), Text(Say("now"), says or "—")))
    if found.held is None:
        return [texts]
    rows: list[list[Cell]] = [
        [Say("log_p"), before.log_probability, found.held.log_probability],
        [Say("loss"), found.right_loss, found.loss],
        [Say("least_row"), *(float(each.attention.decoder.sum(axis=-1).min()) for each in (before, found.held))],
    ]
    table = Table(Say("numbers"), [Say("what"), Say("before"), Say("now")], rows)
    kind: Kind = "decoder" if set(names) & set(OF_THE_MASK) else "cross"
    maps, broken = before.attention.of(kind), found.held.attention.of(kind)
    layer, head = clearest(maps if kind == "cross" else abs(broken - maps))
    heats = tuple(
        Heat(
            Say(f"{which}_{kind}", {"layer": layer + 1, "head": head + 1}),
            *map_of(each, kind, layer, head),
            scale="share",
        )
        for which, each in (("before", before), ("now", found.held))
    )
    return [texts, table, Beside(heats)]


def map_of(translation: Translation, kind: Kind, layer: int, head: int) -> tuple[FloatArray, list[str], list[str]]:
    """The weights of one head and its row and column tokens."""
    one = translation.attention_map(kind, layer, head)
    rows, columns = ([label.text for label in labels(tokens)] for tokens in (one.rows, one.columns))
    return one.weights, rows, columns  # including masked cells of the correct model


def clearest(numbers: FloatArray) -> tuple[int, int]:
    """The head, [layer, head, query, key], whose rows have the largest numbers on average."""
    clear = numbers.max(axis=-1).mean(axis=-1)  # [layer, head]
    layer, head = np.unravel_index(int(clear.argmax()), clear.shape)
    return int(layer), int(head)


def numbers_of_sentence(given: Given, found: Mistaken) -> dict[str, Any]:
    """Values for the step's text."""
    numbers: dict[str, Any] = {"before": given.own_translation.log_probability, "after": "–", "error": found.error}
    if found.held is not None:
        numbers |= {"after": found.held.log_probability, "loss": found.loss, "right_loss": found.right_loss}
    return numbers


def trained(given: Given) -> Found:
    """The toy, with the mistake and without, to be trained side by side."""
    name = given.values["mistake"]
    picture, models = trains(WatchedRun(mistake=name), WatchedRun())
    right = models[-1]
    numbers = numbers_of(*right)
    floor = math.log(math.e + right[0].vocabulary - 1) - 1  # of a softmax over one 1 and zeros
    return Found((picture,), numbers | {"floor": f"{floor:.3f}"}, holds=(name,))


def game(given: Given) -> Found:
    """One of the mistakes, by chance: which is it?"""
    config = given.small_outline.model.config
    possible = [name for name in PLAYED if MISTAKES[name].applies(config)]
    name = random.Random(1 + given.values["game"]).choice(possible)  # noqa: S311 - a game
    found: Mistaken = given.run(try_mistakes, given.own_translation, [name])
    return Found(tuple(pictures(given, found, [name])), numbers_of_sentence(given, found), right=name)


STEPS = (
    Step(
        "live",
        code=Code(with_mistakes, "put_in(copy"),
        formula=r"\ln p(\text{own}) = @before \to @after",
        experiment=Experiment(live, (MISTAKE, ALSO)),
        claims=(
            "one_speed_loses_the_order", "vectors_without_words_are_one", "unscaled_words_drown",
            "swapped_lengths_do_not_fit", "late_masks_leave_the_words", "without_the_stream_nothing_is_left",
            "a_new_norm_costs", "looking_ahead_costs",
            "looking_everywhere_costs", "two_softmaxes_change_the_loss_alone", "costs_do_not_add_up",
        ),
    ),
    Step(
        "trained",
        code=Code(mistakes.losses_of, "SoftmaxTwice if wrong"),
        formula=r"\text{loss} = -\frac{1}{n} \sum_i \ln p_i",
        experiment=Experiment(trained, (MISTAKE,)),
        claims=(
            "half_of_them_go_unnoticed", "two_softmaxes_have_a_floor",
            "looking_ahead_looks_perfect", "looking_everywhere_looks_perfect",
        ),
    ),
    Step(
        "game",
        code=Code(put_in, "module.__class__ = kind"),
        formula=r"\ln p(\text{own}) = @before \to @after",
        experiment=Experiment(game, (Button("game"),)),
        ask=Ask("found", options=PLAYED, hides=False, each=True),
        claims=("every_game_has_one_answer",),
    ),
)  # fmt: skip

MISTAKES_LESSON = Lesson(
    "mistakes", minutes=8, picture=(Show("weights", "decoder.layers.0.self_attention.scores"),), steps=STEPS
)
