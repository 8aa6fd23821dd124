"""The lesson on masks: claims, checked with an independent computation."""

from __future__ import annotations

import csv
import itertools

import numpy as np
import pytest
import torch

from headlight.model.experiments.mask_removal import relax_causal_mask
from headlight.model.experiments.recurrence import run_recurrence
from headlight.model.training.live_run import LiveRun
from headlight.model.training.live_run_settings import CORPORA, CORPUS_BY_NAME, LiveRunSettings
from headlight.model.training.mistakes import with_mistakes
from headlight.viz.lessons.experiment_server import EXPERIMENTS
from headlight.viz.lessons.masks import EQUAL_TOLERANCE, EXAMPLES, MAX_LOOK_AHEAD, MIN_LOSS_CHANGE, classify_loss_change
from headlight.viz.lessons.padding_masks import MASKS
from headlight.viz.lessons.recurrence import find_share_option
from headlight.viz.lessons.result_figures import BarChart, ExperimentResult, Heatmap, LinePlot, Table, TextColumns
from tests.viz.lessons.asked import Asked, pictures, step_phrase
from tests.viz.lessons.claims.train import losses, moments

CLOSE = 1e-5  # a batch, and a single sentence


def number(asked: Asked, step: str, name: str, **values: object) -> float:
    return float(str(asked.run_experiment("masks", step, **values).numbers[name]))


def result_for(asked: Asked, text: str, step: str, **values: object) -> ExperimentResult:
    """The result for another German sentence."""
    experiment = EXPERIMENTS["masks", step]
    request = asked.service.check({"text": text, "model": "de-en"})
    return experiment.run(experiment.make_input(values, request, asked.service))


def texts(asked: Asked, step: str, **values: object) -> list[str]:
    """The written words without those of the sentence."""
    *_, columns = (
        each for each in pictures(asked.run_experiment("masks", step, **values)) if isinstance(each, TextColumns)
    )
    return [str(each.text) for each in columns.texts]


def inputs(asked: Asked) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The ids of the sentence, the decoder's input, and its expected output."""
    source, target = (
        [token.id for token in side] for side in (asked.translation.source_tokens, asked.translation.target_tokens)
    )
    return torch.tensor([source]), torch.tensor([[asked.config.start_id, *target[:-1]]]), torch.tensor(target)


def loss(logits: torch.Tensor, words: torch.Tensor) -> float:
    return float(torch.nn.functional.cross_entropy(logits[0], words))


def padding_hides_columns_and_the_future_a_corner(asked: Asked) -> None:
    source, target = len(asked.translation.source_tokens), len(asked.translation.target_tokens)
    for places, ending in ((4, ("padded",)), (0, ())):
        result = asked.run_experiment("masks", "drawn", places=places)
        encoder, cross, decoder = (each.numbers for each in pictures(result) if isinstance(each, Heatmap))
        assert encoder.shape == (source + places, source + places)
        assert cross.shape == (target, source + places)
        for mask in (encoder, cross):
            assert mask[:, :source].all()
            assert not mask[:, source:].any()
        np.testing.assert_array_equal(decoder, np.tril(np.ones((target, target))))
        assert result.numbers["causal"] == target * (target + 1) // 2
        assert result.numbers["whole"] == target**2
        assert result.facts == ending


def seeing_the_answer_costs(asked: Asked) -> None:
    result = asked.run_experiment("masks", "causal")
    assert (result.correct_option, result.facts) == ("rises", ("rises",))
    assert number(asked, "causal", "after_all") > number(asked, "causal", "before") + 0.5
    before, now = (each.numbers for each in pictures(result) if isinstance(each, Heatmap))
    assert not np.triu(before, 1).any()
    assert np.triu(now, 1).max() > 0.5
    share = float(str(result.numbers["share"]).rstrip("%"))
    assert 10 < share < 90
    (lines,) = (each for each in pictures(result) if isinstance(each, LinePlot))
    assert min(lines.lines[0].y) == lines.lines[0].y[0]  # it is smallest with the mask
    chances, _ = (each for each in pictures(result) if isinstance(each, BarChart))
    expected = [token.probability for token in asked.translation.target_tokens]
    np.testing.assert_allclose(chances.values, np.array(expected, dtype=float), atol=1e-4)
    masked = asked.run_experiment("masks", "causal", ahead=0)
    assert masked.facts == ("masked",)
    assert masked.numbers["share"] == "0%"
    # These two may come from other sentences.
    assert (classify_loss_change(1.0, 1.0 + MIN_LOSS_CHANGE / 2), classify_loss_change(1.0, 0.5)) == ("stays", "falls")


def no_mask_is_the_mask_that_is_missing(asked: Asked) -> None:
    """A model without the mask and the formula of the loss give the same result."""
    source, decoder_ids, words = inputs(asked)
    model = asked.translator.model
    models = {0: model, 1: with_mistakes(model, ["ahead"]), MAX_LOOK_AHEAD: with_mistakes(model, ["unmasked"])}
    with torch.no_grad():
        for ahead, wrong in models.items():
            expected = loss(wrong(source, decoder_ids), words)
            assert number(asked, "causal", "after", ahead=ahead) == pytest.approx(expected, abs=1e-4)


def kept_words_never_see_the_future(asked: Asked) -> None:
    result = asked.run_experiment("masks", "writing")
    assert result.correct_option == "anew"
    assert result.facts == ("same",)
    masked, cached, anew = texts(asked, "writing")
    assert masked == cached == anew == asked.translation.text
    assert number(asked, "writing", "kept") < EQUAL_TOLERANCE < number(asked, "writing", "anew")
    # Decoding with a cache, in a model without the mask.
    source, decoder_ids, _ = inputs(asked)
    model = asked.translator.model
    wrong = with_mistakes(model, ["unmasked"])
    with torch.no_grad():
        state = wrong.decoder.new_state(wrong.encode(source), cached=True)
        rows = [wrong.decoder(decoder_ids[:, place : place + 1], state)[0, 0] for place in range(decoder_ids.shape[1])]
        torch.testing.assert_close(torch.stack(rows), model(source, decoder_ids)[0], atol=1e-4, rtol=0)


def examples_become_other_sentences(asked: Asked) -> None:
    result = asked.run_experiment("masks", "writing", sentence="example")
    assert (result.correct_option, result.facts) == ("anew", ("changes",))
    masked, cached, anew = texts(asked, "writing", sentence="example")
    assert masked == cached != anew
    (table,) = (each for each in pictures(result) if isinstance(each, Table))
    assert table.highlighted_row == int(str(result.numbers["place"])) - 1
    masked_one, kept_one, anew_one = (str(each).rsplit(" ", 1) for each in table.rows[table.highlighted_row][1:])
    assert masked_one == kept_one
    assert masked_one[0] != anew_one[0]
    # The last row of a model without the mask, which reads the complete sentence.
    example = EXAMPLES[str(asked.request["model"])]
    translation = asked.translator.translate(example)
    ids = [token.id for token in translation.target_tokens][: table.highlighted_row]
    wrong = with_mistakes(asked.translator.model, ["unmasked"])
    with torch.no_grad():
        source = torch.tensor([[token.id for token in translation.source_tokens]])
        chances = wrong(source, torch.tensor([[asked.config.start_id, *ids]]))[0, -1].softmax(dim=-1)
    assert float(anew_one[1]) == pytest.approx(float(chances.max()), abs=2e-3)
    # Also if all tokens but the first are replaced: the first token hardly changes.
    short = result_for(asked, "Ach!", "writing")
    assert (short.correct_option, short.facts) == ("anew", ("changes",))
    assert float(str(short.numbers["anew"])) > MIN_LOSS_CHANGE


def a_leak_beats_the_best_guess(asked: Asked) -> None:
    floor = number(asked, "trained", "floor")
    with (CORPORA / "guess.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert {row["de"] for row in rows} == {"Rate mal."}
    assert (
        len({row["en"] for row in rows})
        == len(rows)
        == CORPUS_BY_NAME["guess"].pairs
        == number(asked, "trained", "pairs")
    )
    assert losses(LiveRunSettings(corpus="guess", mistake="unmasked"))[-1] < floor - 0.1
    assert min(losses(LiveRunSettings(corpus="guess"))) > floor
    own = moments(LiveRunSettings(corpus="guess"))[-1].sentences[0].translation
    leaks = moments(LiveRunSettings(corpus="guess", mistake="unmasked"))[-1].sentences[0].translation
    (right,) = LiveRun(LiveRunSettings(corpus="guess")).beginning.accepted_targets
    assert sorted(right) == sorted(row["en"] for row in rows)  # any of them is correct
    assert own in right
    assert leaks not in right


def what_leaked_is_not_learnt(asked: Asked) -> None:
    right, wrong = (LiveRunSettings(corpus="mini", mistake=mistake) for mistake in ("", "unmasked"))
    assert losses(wrong)[-1] == pytest.approx(losses(right)[-1], abs=0.02)
    watched = LiveRun(right)
    expected = [pair.target for pair in watched.pairs[: len(CORPUS_BY_NAME["mini"].sentences)]]
    assert [sentence.translation for sentence in moments(right)[-1].sentences][: len(expected)] == expected
    assert not {sentence.translation for sentence in moments(wrong)[-1].sentences} & set(expected)
    assert asked.run_experiment("masks", "trained", corpus="mini").facts == ("mini",)


def a_batch_is_as_good_as_alone(asked: Asked) -> None:
    for places in (0, 16, 32):
        result = asked.run_experiment("masks", "padding", places=places)
        assert number(asked, "padding", "with", places=places) < CLOSE
        assert float(str(result.numbers["log_with"])) == pytest.approx(asked.translation.log_probability, abs=1e-3)
        alone, batch, _ = texts(asked, "padding", places=places)
        assert alone == batch == asked.translation.text
    none = asked.run_experiment("masks", "padding", places=0)
    assert none.facts == ("none",)
    assert number(asked, "padding", "without", places=0) < CLOSE


def padding_leaks_without_its_mask(asked: Asked) -> None:
    result = asked.run_experiment("masks", "padding")
    assert result.facts == ("changes",)
    _, batch, bare = texts(asked, "padding")
    assert bare != batch
    source, *_ = inputs(asked)
    padded = torch.cat([source, torch.full((1, 16), asked.config.pad_id)], dim=1)
    with torch.no_grad():
        alone = asked.translator.model.encode(source).vectors[0]
        vectors = asked.translator.model.encode(padded, padded=False).vectors[0, : source.shape[1]]
    assert number(asked, "padding", "without") == pytest.approx(float((vectors - alone).abs().max()), abs=1e-4)
    few = asked.run_experiment("masks", "padding", places=1)
    assert few.facts == ("stays",)
    assert number(asked, "padding", "without", places=1) > 0.01
    heats = [each.numbers for each in pictures(result) if isinstance(each, Heatmap)]
    leaks = [float(each[:, source.shape[1] :].sum(axis=-1).mean()) for each in heats]
    assert leaks[0] == 0 < 0.2 < leaks[1]
    (lines,) = (each for each in pictures(result) if isinstance(each, LinePlot))
    without = list(lines.lines[0].y)
    assert without == sorted(without)  # more padding, larger distance
    # The text has the same numbers as the lines and the next step's table, to the last digit.
    (table,) = (each for each in pictures(asked.run_experiment("masks", "cross", places=16)) if isinstance(each, Table))
    rows = dict(zip(MASKS, table.rows, strict=True))
    for name, line, masks in zip(("without", "with"), lines.lines, ("neither", "both"), strict=True):
        assert result.numbers[name] == line.y[list(lines.x).index(16)] == rows[masks][1]


def cross_attention_needs_its_own_mask(asked: Asked) -> None:
    result = asked.run_experiment("masks", "cross")
    (table,) = (each for each in pictures(result) if isinstance(each, Table))
    rows = dict(zip(MASKS, table.rows, strict=True))
    for name, row in rows.items():
        encoder, cross = MASKS[name]
        assert (float(str(row[1])) < CLOSE) == encoder
        assert (row[2] == "0%") == cross
    assert float(str(rows["both"][3])) == pytest.approx(asked.translation.log_probability, abs=1e-3)
    assert texts(asked, "cross")[:2] == [asked.translation.text] * 2  # a small difference
    assert number(asked, "cross", "log_without") < number(asked, "cross", "log_with") - 1
    assert asked.run_experiment("masks", "cross", places=0).facts == ("none",)
    helped = result_for(asked, "Danke!", "cross", places=1)  # the text then mentions it
    assert float(str(helped.numbers["log_without"])) > float(str(helped.numbers["log_with"]))
    assert helped.facts == ("rises",)
    assert "happens to help" in step_phrase("masks", "cross", "words", helped)
    # A second check: the mask of cross-attention is all true.
    source, decoder_ids, words = inputs(asked)
    padded = torch.cat([source, torch.full((1, 16), asked.config.pad_id)], dim=1)
    model = asked.translator.model
    with torch.no_grad(), relax_causal_mask(model, 0):
        memory = model.encode(padded)
        logits = model.decoder(decoder_ids, model.decoder.new_state(memory._replace(mask=None), cached=False))
    assert -loss(logits, words) * len(words) == pytest.approx(number(asked, "cross", "log_without"), abs=1e-3)


def a_state_waits_and_forgets(asked: Asked) -> None:
    shares = []
    for length in (2, 8, 16, 48):
        result = asked.run_experiment("masks", "recurrence", length=length)
        (table,) = (each for each in pictures(result) if isinstance(each, Table))
        assert [row[1:] for row in table.rows[:2]] == [[length, 1], [length, 1]]
        shares.append(float(str(result.numbers["recurrent"])))
    assert all(later < earlier / 2 for earlier, later in itertools.pairwise(shares))
    assert asked.run_experiment("masks", "recurrence").correct_option == "nothing"
    assert [find_share_option(share) for share in (0.9, 0.5, 0.1, 0.01, 1e-6)] == ["most", "", "tenth", "", "nothing"]
    # The gradient by finite differences, in float64.
    generator = torch.Generator().manual_seed(3)
    across, into, inputs = (torch.randn(*shape, generator=generator).double() for shape in ((5, 5), (5, 7), (4, 7)))
    step = torch.zeros(4, 7).double()
    step[0] = 1e-6  # the first word
    up, down = (run_recurrence(inputs + sign * step, across / 3, into / 3)[-1] for sign in (1, -1))
    exact = torch.autograd.functional.jacobian(lambda x: run_recurrence(x, across / 3, into / 3)[-1], inputs)
    np.testing.assert_allclose((up - down) / 2e-6, exact[:, 0].sum(dim=1), atol=1e-6)


def attention_pays_with_n_squared(asked: Asked) -> None:
    for length in (2, 16, 48):
        result = asked.run_experiment("masks", "recurrence", length=length)
        weights = [each.numbers for each in pictures(result) if isinstance(each, Heatmap)][1]
        assert result.numbers["scores"] == weights.size == length**2
        assert not np.triu(weights, 1).any()
        np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=1e-5)
        attention, recurrent = (float(str(result.numbers[name])) for name in ("attention", "recurrent"))
        assert attention > 0.05
        assert length < 16 or attention > 1000 * recurrent
