"""Positional encodings side by side, and the effect of removing them from the encoder."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headlight.model.core.config import TransformerConfig
from headlight.model.core.positions import AddedPositions, make_positions, sinusoids
from headlight.model.core.transformer import Encoder
from headlight.model.experiments.asked import both_orders
from headlight.model.experiments.encodings import periods, picture
from headlight.model.experiments.joining import extra_numbers, joined
from headlight.model.records import FloatArray
from headlight.viz.lessons.controls import Button, Choice, Slider, Switch
from headlight.viz.lessons.drawn import Bars, Beside, Cell, Found, Heat, Label, Line, Lines, Say, Text, Texts
from headlight.viz.lessons.experiment import Experiment, Given
from headlight.viz.lessons.lesson import Ask, Code, Lesson, Scale, Show, Step, Written

# As a model of 64 numbers a token would have them: wide enough to see, and equal for all.
CONFIG = TransformerConfig(source_vocabulary=8, target_vocabulary=8, d_model=64, heads=8, head_width=64)
DRAWN = ("sinusoidal", "sinusoidal_halves", "rotary", "alibi", "relative")  # a learned one is nothing before training
WAVES = ("sinusoidal", "sinusoidal_halves", "rotary")
HOLDS = {"sinusoidal_halves": ("halves",), "rotary": ("turns",)}  # which formula is that of an encoding
PERIOD = (r"i = @pair, \quad 2 \pi \cdot 10000^{2i/d} = @period",)
PLACES = 64
HEAD = 0  # of those that add to scores
BESIDE = 16  # width of a concatenated position
SHOWN = 64  # dimensions
SAME = 1e-5  # vectors that differ less are the same
CLEAR = 0.1

LENGTH = Slider("length", 4, PLACES, 24)
EMBEDDED, POSITIONED = "encoder.embedding.embedded", "encoder.embedding.positioned"

# How word and place are joined by the control, whichever way the model in use does it.
LENGTHS = r"|E| = @length_word, \quad |PE| = @length_place"
ADDED = Written(("add",), r"x = E[\text{id}] + PE(p)", (LENGTHS, r"\cos(E, x) = @kept"))
SET_BESIDE = Written(
    ("beside",),
    r"x = [\,E[\text{id}];\, PE(p)\,]",
    (LENGTHS, r"@d_model + @beside = @width", r"\cos(E, x_{0 \ldots @last}) = @kept"),
)


def name_of(encoding: str) -> Say:
    """The name that the page has for it."""
    return Say(f"positions_name_{encoding}")


def doors(given: Given) -> Found:
    """All encodings that need no training, side by side."""
    length = given.values["length"]
    pictures = []
    for encoding in DRAWN:
        table = picture(CONFIG, encoding, length)
        biases = table.ndim == 3
        axis: Sequence[Label] = [str(place) for place in range(length)]
        columns = axis if biases else [str(dimension) for dimension in range(table.shape[1])]
        scale: Scale = "positive" if encoding == "relative" else "signed"  # buckets are counted from 0
        matrix = table[HEAD] if biases else table
        pictures.append(Heat(name_of(encoding), matrix, axis, columns, scale, bare=True))
    return Found((Beside(pictures),), {"length": length})


def similarity(given: Given) -> Found:
    """Dot products of two positions; for waves they depend only on the distance."""
    length = given.values["length"]
    axis = [str(place) for place in range(length)]
    alike = {encoding: likeness(encoding, length) for encoding in WAVES}
    pictures = [Heat(name_of(encoding), matrix, axis, axis, most=1.0, bare=True) for encoding, matrix in alike.items()]
    far = list(range(length))
    lines = [Line(name_of(encoding), [float(matrix[0, place]) for place in far]) for encoding, matrix in alike.items()]
    table = alike["sinusoidal"]
    first, second = float(table[0, 1]), float(table[length - 2, length - 1])
    right = "same" if abs(first - second) < SAME else "more" if first > second else "less"
    numbers: dict[str, Cell] = {
        "near": first, "far": float(table[0, length - 1]), "distance": length - 1, "length": length,
        "first": first, "second": second, "before": length - 2, "last": length - 1,
    }  # fmt: skip
    pictured = Beside(pictures)
    return Found((pictured, Lines(Say("by_distance"), far, lines, Say("distance"))), numbers, right=right)


def likeness(encoding: str, length: int) -> FloatArray:
    """The cosine between the rows of any two positions, `[positions, positions]`."""
    rows = picture(CONFIG, encoding, length).astype(np.float64)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(unit @ unit.T, dtype=np.float32)


def wave(given: Given) -> Found:
    """One dimension at every position, next to the fastest one."""
    encoding, dimension = given.values["encoding"], given.values["dimension"]
    table = picture(CONFIG, encoding, PLACES)
    lengths = periods(CONFIG, encoding) or []
    lines = [
        Line(Say("dimension", {"dimension": each}), [float(value) for value in table[:, each]])
        for each in dict.fromkeys((dimension, 0))
    ]
    numbers: dict[str, Cell] = {
        "dimension": dimension, "period": lengths[dimension], "fastest": min(lengths), "slowest": max(lengths),
    }  # fmt: skip
    pair = dimension % (table.shape[1] // 2) if encoding == "sinusoidal_halves" else dimension // 2
    pictured = Lines(Say("wave"), list(range(PLACES)), lines, Say("position"))
    return Found((pictured,), numbers | {"pair": pair}, HOLDS.get(encoding, ()))


def word(given: Given) -> Found:
    """A word of the sentence and a place: added, or side by side."""
    embedded = given.tensors(EMBEDDED)[EMBEDDED]
    at = longest(given)
    token, place, beside = given.tokens[at], given.values["place"], given.values["joining"] == "beside"
    found = joined(embedded[at], place, PLACES, beside=beside, width=BESIDE)
    width = len(found.result)
    rows = np.zeros((3, width), dtype=np.float32)
    rows[0, : len(found.word)] = found.word
    rows[1, width - len(found.place) :] = found.place
    rows[2] = found.result
    names: list[Label] = [token, Say("place", {"place": str(place)}), Say("result")]
    heat = Heat(Say("joined"), rows, names)
    lines = Lines(Say("elsewhere"), list(range(PLACES)), [Line(token, found.apart)], Say("position"), mark=place)
    numbers: dict[str, Cell] = {
        "token": token, "place": place, "kept": found.kept, "d_model": len(found.word), "width": width,
        "last": len(found.word) - 1,  # dimension
        "length_word": float(np.linalg.norm(found.word)), "length_place": float(np.linalg.norm(found.place)),
        "lowest": min(found.apart), "extra": f"{extra_numbers(len(found.word), BESIDE):,}", "beside": BESIDE,
    }  # fmt: skip
    return Found((heat, lines), numbers, (given.values["joining"],))


def longest(given: Given) -> int:
    """The longest token of the sentence: its place."""
    return int(np.argmax([0 if token.special else len(token.text) for token in given.translation.source_tokens]))


def shuffle(given: Given) -> Found:
    """The same tokens in another order, through the live encoder, with its positions and without."""
    ids = [token.id for token in given.translation.source_tokens]
    tokens, at = given.tokens, longest(given)
    with_positions, without = given.run(both_orders, ids, given.values["seed"])
    found = with_positions if given.values["positions"] else without
    most = max(float(np.abs(found.before[:, :SHOWN]).max()), SAME)
    texts = Texts(
        (
            Text(Say("sentence"), " ".join(tokens), language=given.translation.request.source_language or ""),
            Text(Say("shuffled"), " ".join(tokens[place] for place in found.order)),
        )
    )
    pictures = [
        Heat(Say(name), vectors[:, :SHOWN], tokens, most=0.75 * most)
        for name, vectors in (("vectors", found.before), ("vectors_after", found.after))
    ]
    largest = float(with_positions.moved.max())  # one scale for both
    bars = Bars(Say("moved"), tokens, [float(each) for each in found.moved], most=largest, lit=(at,))
    numbers: dict[str, Cell] = {
        "token": tokens[at], "without": float(without.moved.max()), "with": float(with_positions.moved.max()),
    }  # fmt: skip
    clear = without.moved.max() < SAME and with_positions.moved.max() > CLEAR
    holds = "with" if given.values["positions"] and found.moved.max() > SAME else "without"
    return Found((texts, Beside(pictures), bars), numbers, (holds,), "same" if clear else "")


POSITIONS = Lesson(
    "positions",
    minutes=6,
    picture=(Show("position", POSITIONED, minus=EMBEDDED, rows="positions"),),
    steps=(
        Step(
            "doors",
            code=Code(make_positions, "return POSITIONS["),
            formula=r"x_p = E[\text{id}] + PE(p)",
            experiment=Experiment(doors, (LENGTH,)),
            tab="positions",
            claims=("encodings_use_one_of_three_doors",),
        ),
        Step(
            "similarity",
            code=Code(sinusoids, "sines, cosines = angles.sin(), angles.cos()"),
            formula=r"\cos(PE(p), PE(q)) = f(p - q)",
            numbers=(r"\cos(PE(0), PE(1)) = @near", r"\cos(PE(0), PE(@distance)) = @far"),
            experiment=Experiment(similarity, (LENGTH,)),
            ask=Ask("found", options=("more", "same", "less")),
            tab="positions",
            claims=(
                "likeness_depends_on_the_distance",
                "sorting_columns_changes_no_likeness",
                "formulas_of_likeness_give_their_numbers",
            ),
        ),
        Step(
            "wave",
            code=Code(sinusoids, "wavelengths = 10_000 **"),
            formula=r"PE(p, 2i) = \sin \frac{p}{10000^{2i/d}}",
            numbers=PERIOD,
            otherwise=(
                Written(("halves",), r"PE(p, i) = \sin \frac{p}{10000^{2i/d}}", PERIOD),
                Written(("turns",), r"\theta_i = \frac{p}{10000^{2i/d}}", PERIOD),
            ),
            experiment=Experiment(wave, (Choice("encoding", WAVES, "sinusoidal"), Slider("dimension", 0, 63, 20))),
            tab="positions",
            claims=("waves_have_their_periods",),
        ),
        Step(
            "word",
            code=Code(AddedPositions.forward, "return embedded + rows", ("beside", "torch.cat([embedded, rows")),
            formula=ADDED.formula,
            numbers=ADDED.numbers,
            otherwise=(ADDED, SET_BESIDE),
            experiment=Experiment(
                word, (Choice("joining", ("add", "beside"), "add"), Slider("place", 0, PLACES - 1, 5))
            ),
            claims=(
                "adding_changes_every_number",
                "what_stands_beside_leaves_the_word",
                "the_formula_joins_as_the_control_does",
            ),
        ),
        Step(
            "shuffle",
            code=Code(Encoder.forward, "self.embedding(ids)"),
            formula=r"f(\pi(x)) = \pi(f(x))",
            numbers=(r"\max|f(\pi(x)) - \pi(f(x))| = @without",),
            otherwise=(Written(("with",), r"f(\pi(x)) \neq \pi(f(x))", (r"\max|f(\pi(x)) - \pi(f(x))| = @with",)),),
            experiment=Experiment(shuffle, (Switch("positions"), Button("seed"))),
            ask=Ask("found", options=("same", "little", "other")),
            claims=(
                "without_positions_order_is_lost",
                "with_positions_it_is_not",
                "the_formula_says_whether_order_counts",
            ),
        ),
    ),
)
