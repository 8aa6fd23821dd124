"""Captured maps and probabilities match those of decoding, with the correct tokens on their axes.

Tolerances: maps and probabilities are within 1e-5 of stepwise decoding in float32. They always come from one float32
pass over the output, so this also holds with float16 step weights, which only affect the search: hypotheses other than
the first keep the scores of the steps.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from headlight.model.core.config import POSITION_NAMES
from headlight.model.core.positions import sinusoidal_table
from headlight.model.core.probes import all_probes, watch
from headlight.model.core.transformer import attention_path
from headlight.model.decoding.step import get_forbidden_ids
from headlight.model.errors import ProbeError, RequestError
from headlight.model.records import (
    KINDS,
    Attention,
    DecodingOptions,
    FloatArray,
    Intervention,
    Kind,
    Token,
    Translation,
    TranslationRequest,
)
from headlight.model.translate import packed_model
from headlight.model.translate.packed_model import StepWeights, can_pack_float16
from headlight.model.translate.translator import Translator
from tests.tiny import (
    D_FF,
    D_MODEL,
    DECODER_LAYERS,
    ENCODER_LAYERS,
    HEAD_WIDTH,
    HEADS,
    SENTENCES,
    TARGET_VOCABULARY,
    count_hooks,
    tiny_translator,
)

TEXT = SENTENCES[0]


@pytest.fixture(scope="module")
def translator() -> Translator:
    return tiny_translator()


@pytest.fixture(scope="module")
def answers(translator: Translator) -> list[Translation]:
    return translator.translate_batch(SENTENCES)


def seen_step_by_step(translator: Translator, answer: Translation) -> tuple[Attention, list[float]]:
    """Return the maps and log probabilities of stepwise decoding with a cache."""
    model = translator.model
    patterns = ("encoder.layers.*.self_attention.weights", "decoder.layers.*.*_attention.weights")
    maps: dict[Kind, FloatArray] = {}
    source, target = len(answer.source_tokens), len(answer.target_tokens)
    layers: dict[Kind, int] = {"encoder": ENCODER_LAYERS, "decoder": DECODER_LAYERS, "cross": DECODER_LAYERS}
    log_probabilities = []
    with torch.inference_mode(), watch(model, *patterns) as seen:
        memory = model.encode(torch.tensor([[token.id for token in answer.source_tokens]]))
        state = model.decoder.new_state(memory, cached=True)
        for read, target_token in zip(answer.decoder_tokens, answer.target_tokens, strict=True):
            logits = model.decoder(torch.tensor([[read.id]]), state)[0, 0]
            log_probabilities.append(float(logits.log_softmax(dim=-1)[target_token.id]))
    for kind, count in layers.items():
        keys = target if kind == "decoder" else source
        maps[kind] = np.zeros((count, HEADS, source if kind == "encoder" else target, keys), dtype=np.float32)
        for layer in range(count):
            query = 0
            for weights in seen.passes(f"{attention_path(kind, layer)}.weights"):  # [1, head, queries, keys by then]
                rows, columns = weights.shape[2:]
                maps[kind][layer, :, query : query + rows, :columns] = weights[0].numpy()
                query += rows
            assert query == maps[kind].shape[2]
    return Attention(**maps), log_probabilities


# ---------------------------------------------------------------- looking equals decoding


@pytest.mark.parametrize("norm_first", [False, True], ids=["post-norm", "pre-norm"])
@pytest.mark.parametrize("positions", POSITION_NAMES)
def test_captured_maps_match_stepwise_decoding(positions: str, norm_first: bool) -> None:
    translator = tiny_translator(positions=positions, norm_first=norm_first, final_norm=norm_first, ends=1.0)
    for answer in translator.translate_batch(
        SENTENCES, max_length=19
    ):  # padded; the expected result ran without a batch
        attention, log_probabilities = seen_step_by_step(translator, answer)
        for kind in KINDS:
            np.testing.assert_allclose(answer.attention.of(kind), attention.of(kind), atol=1e-5, rtol=0)
        chances = [math.exp(gain) for gain in log_probabilities]
        assert [token.probability for token in answer.target_tokens] == pytest.approx(chances, abs=1e-5)
        assert answer.log_probability == pytest.approx(sum(log_probabilities), abs=1e-4)


@pytest.mark.parametrize("options", [{}, {"beam_size": 3}, {"temperature": 0.7}], ids=str)
@pytest.mark.parametrize("weights", ["plain", "float32", "float16"])
def test_maps_are_exact_for_any_step_weights(
    monkeypatch: pytest.MonkeyPatch, weights: StepWeights, options: dict[str, Any]
) -> None:
    monkeypatch.setattr(packed_model, "MIN_PACKED_ENTRIES", 1)  # pack even matrices as small as these
    translator = tiny_translator(step_weights=weights)
    assert (translator.copied_bytes > 0) == (weights != "plain")
    assert (translator.step is translator.model.decoder) == (weights == "plain")
    for answer in translator.translate_batch(SENTENCES, max_length=19, **options):
        attention, log_probabilities = seen_step_by_step(translator, answer)
        for kind in KINDS:
            np.testing.assert_allclose(answer.attention.of(kind), attention.of(kind), atol=1e-5, rtol=0)
        assert answer.log_probability == pytest.approx(sum(log_probabilities), abs=1e-4)


def test_float16_steps_change_hypothesis_scores_little(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(packed_model, "MIN_PACKED_ENTRIES", 1)
    translator, shifts = tiny_translator(step_weights="float16"), []
    for answer in translator.translate_batch(SENTENCES, beam_size=4, n_best=4, max_length=19):
        for hypothesis in answer.hypotheses[1:]:
            exact = translator.translate(answer.request.text, target=hypothesis.ids).log_probability
            shifts.append(abs(hypothesis.log_probability - exact) / len(hypothesis.ids))
    assert max(shifts) < 1e-3
    assert (max(shifts) > 1e-6) == can_pack_float16()  # the fast path was used if available


@pytest.mark.parametrize("options", [{}, {"beam_size": 3, "n_best": 3}, {"temperature": 0.9, "seed": 4}], ids=str)
def test_capture_in_padded_batch_matches_single_sentence(translator: Translator, options: dict[str, Any]) -> None:
    for one in translator.translate_batch(SENTENCES, **options):
        alone = translator.translate(one.request.text, **options)
        assert [token.id for token in alone.target_tokens] == [token.id for token in one.target_tokens]
        assert (alone.text, alone.stopped, alone.request) == (one.text, one.stopped, one.request)
        assert alone.source_tokens == one.source_tokens
        for token, other in zip(one.target_tokens, alone.target_tokens, strict=True):
            assert token.probability == pytest.approx(other.probability, abs=1e-5)
            chances = [alternative.probability for alternative in token.alternatives]
            assert chances == pytest.approx([alternative.probability for alternative in other.alternatives], abs=1e-5)
        for kind in KINDS:
            assert alone.attention.of(kind).shape == one.attention.of(kind).shape
            np.testing.assert_allclose(one.attention.of(kind), alone.attention.of(kind), atol=1e-5, rtol=0)
        assert [one.ids for one in alone.hypotheses] == [other.ids for other in one.hypotheses]
        assert alone.score == pytest.approx(one.score, abs=1e-5)


# ---------------------------------------------------------------- attention maps


def test_map_axes_are_layer_head_query_key(answers: list[Translation]) -> None:
    for answer in answers:
        source, target = len(answer.source_tokens), len(answer.target_tokens)
        assert answer.attention.encoder.shape == (ENCODER_LAYERS, HEADS, source, source)
        assert answer.attention.decoder.shape == (DECODER_LAYERS, HEADS, target, target)
        assert answer.attention.cross.shape == (DECODER_LAYERS, HEADS, target, source)
        assert target != source  # else swapped axes could hide
        for kind in KINDS:
            assert answer.attention.of(kind).dtype == np.float32


def test_rows_sum_to_one_but_columns_do_not(answers: list[Translation]) -> None:
    for answer in answers:
        for kind in KINDS:
            maps = answer.attention.of(kind)
            np.testing.assert_allclose(maps.sum(axis=-1), 1, atol=1e-5)
            assert (maps >= 0).all()
            if maps.shape[-2] > 1:
                assert np.abs(maps.sum(axis=-2) - 1).max() > 0.1


def test_only_masked_cells_are_zero(answers: list[Translation]) -> None:
    for answer in answers:
        for kind in KINDS:
            allowed, maps = answer.attention.allowed(kind), answer.attention.of(kind)
            assert allowed.shape == maps.shape[-2:]
            assert (maps[..., ~allowed] == 0.0).all()
            assert (maps[..., allowed] > 0.0).all()
        target = len(answer.target_tokens)
        assert answer.attention.allowed("decoder").tolist() == [
            [key <= row for key in range(target)] for row in range(target)
        ]
        assert answer.attention.allowed("cross").all()
        assert answer.attention.allowed("encoder").all()


def test_weights_are_softmax_of_query_key_products(translator: Translator) -> None:
    names = [
        f"{attention_path(kind, 1)}.{place}"
        for kind in KINDS
        for place in ("queries", "keys", "values", "scores", "weights", "mixed")
    ]
    for answer in translator.translate_batch(SENTENCES[:3], capture=tuple(names)):
        for kind in KINDS:
            queries, keys, values, scores, weights, mixed = (
                answer.captured[f"{attention_path(kind, 1)}.{place}"]
                for place in ("queries", "keys", "values", "scores", "weights", "mixed")
            )
            maps = answer.attention.of(kind)[1]
            assert np.array_equal(weights, maps)
            assert queries.shape == mixed.shape == (HEADS, maps.shape[1], HEAD_WIDTH)
            assert keys.shape == values.shape == (HEADS, maps.shape[2], HEAD_WIDTH)
            products = queries @ keys.transpose(0, 2, 1) / math.sqrt(HEAD_WIDTH)
            np.testing.assert_allclose(scores, products, atol=1e-4)
            powers = np.exp(products) * answer.attention.allowed(kind)
            np.testing.assert_allclose(maps, powers / powers.sum(axis=-1, keepdims=True), atol=1e-5)
            np.testing.assert_allclose(mixed, maps @ values, atol=1e-4)


# ---------------------------------------------------------------- the tokens on its axes


def test_decoder_inputs_are_start_and_all_but_last_token(translator: Translator, answers: list[Translation]) -> None:
    config = translator.model.config
    for answer in answers:
        start = answer.start_token
        assert (start.id, start.special, start.word, start.text) == (config.start_id, True, None, "<s>")
        assert answer.decoder_tokens == (start, *answer.target_tokens[:-1])
        assert config.end_id not in [token.id for token in answer.decoder_tokens]
        assert (answer.target_tokens[-1].id == config.end_id) == (answer.stopped == "end")
        assert answer.source_tokens[-1].id == config.end_id
    assert {answer.stopped for answer in answers} == {"end", "length"}


@pytest.mark.parametrize("head", [None, 0, HEADS - 1])
def test_map_has_row_column_and_input_tokens(answers: list[Translation], head: int | None) -> None:
    for answer in answers:
        source, target, inputs = answer.source_tokens, answer.target_tokens, answer.decoder_tokens
        expected: dict[Kind, tuple[tuple[Token, ...], ...]] = {
            "encoder": (source, source, source),
            "decoder": (target, inputs, inputs),
            "cross": (target, source, inputs),
        }
        for kind in KINDS:
            one = answer.attention_map(kind, 1, head)
            assert (one.rows, one.columns, one.previous_tokens) == expected[kind]
            assert one.weights.shape == one.allowed.shape == (len(one.rows), len(one.columns))
            assert len(one.previous_tokens) == len(one.rows)
            assert (one.kind, one.layer, one.head) == (kind, 1, head)
            assert np.array_equal(one.allowed, answer.attention.allowed(kind))
            if head is not None:
                assert np.array_equal(one.weights, answer.attention.of(kind)[1, head])


def test_map_without_head_is_average(answers: list[Translation]) -> None:
    for kind in KINDS:
        for layer in range(ENCODER_LAYERS):
            heads = [answers[0].attention_map(kind, layer, head).weights for head in range(HEADS)]
            average = answers[0].attention_map(kind, layer).weights
            assert average.dtype == np.float32
            np.testing.assert_allclose(average, sum(heads) / HEADS, atol=1e-6)
            np.testing.assert_allclose(average.sum(axis=-1), 1, atol=1e-5)


@pytest.mark.parametrize(
    ("place", "words", "field"),
    [
        (("encoder", 2, 0), "layer must be a whole number from 0 to 1, but 2 was given. Choose one.", "layer"),
        (("decoder", 3, 0), "layer must be a whole number from 0 to 2, but 3 was given. Choose one.", "layer"),
        (("cross", -1, 0), "layer must be a whole number from 0 to 2, but -1 was given. Choose one.", "layer"),
        (("cross", 0, 5), "head must be a whole number from 0 to 4, but 5 was given. Choose one.", "head"),
        (("cross", 0, -1), "head must be a whole number from 0 to 4, but -1 was given. Choose one.", "head"),
        (("self", 0, 0), 'kind must be one of encoder, decoder, cross, but "self" was given. Choose one.', "kind"),
    ],
)
def test_missing_map_raises(answers: list[Translation], place: tuple[Any, int, int], words: str, field: str) -> None:
    with pytest.raises(RequestError) as error_info:
        answers[0].attention_map(*place)
    assert str(error_info.value) == words
    assert error_info.value.field == field


# ---------------------------------------------------------------- probabilities and alternatives


def test_alternatives_are_ranked_with_greedy_token_first(translator: Translator, answers: list[Translation]) -> None:
    never = get_forbidden_ids(translator.model.config)
    for answer in answers:
        logits = torch.tensor(
            translator.translate(answer.request.text, capture=("**.logits",)).captured["decoder.output.logits"]
        )
        chances = logits.softmax(dim=-1)
        allowed = chances.index_fill(1, torch.tensor(never), 0.0)
        for step, token in enumerate(answer.target_tokens):
            assert token.probability == pytest.approx(float(chances[step, token.id]), abs=1e-5)
            assert token.alternatives[0].id == token.id
            assert token.alternatives[0].probability == pytest.approx(token.probability, abs=1e-7)
            assert [one.id for one in token.alternatives] == allowed[step].topk(5).indices.tolist()
            best = [one.probability for one in token.alternatives]
            assert best == sorted(best, reverse=True)
            assert best == pytest.approx(allowed[step].topk(5).values.tolist(), abs=1e-5)
            assert [one.text for one in token.alternatives] == [
                translator.target_tokenizer.label(one.id) for one in token.alternatives
            ]


def test_suppressed_tokens_are_not_alternatives() -> None:
    translator = tiny_translator()
    config = translator.model.config
    with torch.no_grad():
        translator.model.decoder.output.words.bias[config.pad_id] += 50
    answer = translator.translate(TEXT, max_length=5, alternatives=50)
    for token in answer.target_tokens:
        assert token.probability is not None
        assert token.probability < 1e-6  # the model would rather have written padding
        assert token.alternatives[0].id == token.id
        assert not {one.id for one in token.alternatives} & {config.pad_id, config.start_id}


@pytest.mark.parametrize("count", [0, 1, 7, 50])
def test_requested_number_of_alternatives(translator: Translator, count: int) -> None:
    for token in translator.translate(TEXT, alternatives=count).target_tokens:
        assert len({one.id for one in token.alternatives}) == len(token.alternatives) == count


def test_selected_alternative_is_continued(translator: Translator, answers: list[Translation]) -> None:
    answer = answers[0]
    chosen = answer.target_tokens[3].alternatives[2]
    prefix = (*(token.id for token in answer.target_tokens[:3]), chosen.id)
    other = translator.translate(TEXT, prefix=prefix)
    assert tuple(token.id for token in other.target_tokens[:4]) == prefix
    assert other.target_tokens[3].probability == pytest.approx(chosen.probability, abs=1e-5)
    assert len(other.target_tokens) > 4


# ---------------------------------------------------------------- positions


@pytest.mark.parametrize("positions", POSITION_NAMES)
def test_captured_positions_are_cropped_to_used_ones(positions: str) -> None:
    translator = tiny_translator(positions=positions)
    model_ = translator.model
    for answer in translator.translate_batch(SENTENCES[:3], max_length=9):
        for side, length in (("encoder", len(answer.source_tokens)), ("decoder", len(answer.target_tokens))):
            picture = answer.positions[side]
            encoding: Any = model_.get_submodule(f"{side}.embedding.positions")
            if positions == "none":
                assert picture.shape == (length, 0)
            elif positions in ("alibi", "relative"):
                assert picture.shape == (HEADS, length, length)
                np.testing.assert_allclose(picture, encoding.bias(length, length).numpy())
            elif positions == "rotary":
                assert picture.shape == (length, HEAD_WIDTH)
                np.testing.assert_allclose(picture[:, 0], np.sin(np.arange(length)), atol=1e-6)
            elif positions == "learned":
                assert np.array_equal(picture, encoding.table[:length].numpy())
            else:
                expected = sinusoidal_table(length, D_MODEL, halves=positions == "sinusoidal_halves")
                assert np.array_equal(picture, expected.numpy())


# ---------------------------------------------------------------- further probes


def test_all_probes_can_be_captured_without_padding(translator: Translator) -> None:
    width = (D_MODEL,)
    answers = translator.translate_batch(SENTENCES, capture=("**",), max_length=15)
    assert len({len(answer.target_tokens) for answer in answers}) > 1
    for answer in answers:
        assert set(answer.captured) == set(all_probes(translator.model))
        source, target = (len(answer.source_tokens),), (len(answer.target_tokens),)
        shapes = {name: array.shape for name, array in answer.captured.items()}
        assert shapes["encoder.embedding.embedded"] == shapes["encoder.embedding.positioned"] == source + width
        assert shapes["decoder.embedding.embedded"] == shapes["decoder.embedding.positioned"] == target + width
        assert shapes["encoder.layers.1.around_feed_forward.stream"] == source + width
        assert shapes["decoder.layers.2.around_cross_attention.stream"] == target + width
        assert shapes["encoder.layers.0.feed_forward.hidden"] == (*source, D_FF)
        assert shapes["decoder.layers.0.feed_forward.hidden"] == (*target, D_FF)
        assert shapes["decoder.layers.0.feed_forward.output"] == target + width
        assert (shapes["encoder.embedding.positions.places"], shapes["decoder.embedding.positions.places"]) == (
            source,
            target,
        )
        assert shapes["decoder.layers.1.cross_attention.keys"] == (HEADS, *source, HEAD_WIDTH)
        assert shapes["decoder.layers.1.cross_attention.values"] == (HEADS, *source, HEAD_WIDTH)
        assert shapes["decoder.layers.1.self_attention.keys"] == (HEADS, *target, HEAD_WIDTH)
        assert shapes["decoder.layers.1.cross_attention.scores"] == (HEADS, *target, *source)
        assert shapes["decoder.output.logits"] == (*target, TARGET_VOCABULARY)
        alone = translator.translate(answer.request.text, capture=("**",), max_length=15)
        for name, array in alone.captured.items():
            np.testing.assert_allclose(answer.captured[name], array, atol=1e-4, rtol=1e-4, err_msg=name)


def test_captured_embeddings_match_input_tokens(translator: Translator) -> None:
    answer = translator.translate(TEXT, capture=("*.embedding.*",))
    for side, tokens in (("encoder", answer.source_tokens), ("decoder", answer.decoder_tokens)):
        embedding: Any = translator.model.get_submodule(f"{side}.embedding")
        expected = embedding.table.weight[[token.id for token in tokens]] * math.sqrt(D_MODEL)
        embedded = answer.captured[f"{side}.embedding.embedded"]
        np.testing.assert_allclose(embedded, expected.numpy(), atol=1e-5)
        positioned = embedded + answer.positions[side]
        np.testing.assert_allclose(answer.captured[f"{side}.embedding.positioned"], positioned, atol=1e-5)


@pytest.mark.parametrize(
    ("patterns", "names"),
    [
        ((), []),
        (("encoder.embedding.embedded",), ["encoder.embedding.embedded"]),
        (("*.embedding.embedded",), ["encoder.embedding.embedded", "decoder.embedding.embedded"]),
        (("e*.embedding.embedded",), ["encoder.embedding.embedded"]),  # half a name is a pattern, too
        (("*coder.embedding.embedded",), ["encoder.embedding.embedded", "decoder.embedding.embedded"]),
        (("**.logits", "decoder.output.*"), ["decoder.output.logits"]),
        (("**.cross_attention.keys",), [f"decoder.layers.{layer}.cross_attention.keys" for layer in range(3)]),
        (("encoder.layers.1.*.weights",), ["encoder.layers.1.self_attention.weights"]),
    ],
)
def test_capture_patterns_select_probes(translator: Translator, patterns: tuple[str, ...], names: list[str]) -> None:
    plain, answer = translator.translate(TEXT), translator.translate(TEXT, capture=patterns)
    assert sorted(answer.captured) == sorted(names)
    for kind in KINDS:
        assert np.array_equal(answer.attention.of(kind), plain.attention.of(kind))
    assert count_hooks(translator.model) == 0


@pytest.mark.parametrize("pattern", ["layers.0.self_attention.weights", "encoder.*.weight", "embedding", ""])
@pytest.mark.parametrize("also", [(), ("**.logits",)])
def test_unmatched_capture_pattern_suggests_nearest(
    translator: Translator, pattern: str, also: tuple[str, ...]
) -> None:
    for run in (translator.request, translator.translate):  # a request is checked before any work
        with pytest.raises(ProbeError, match=r"No probe matches .*\. Nearest: \w+\.") as error_info:
            run(TEXT, capture=(*also, pattern))
        assert repr(pattern) in str(error_info.value)


def test_captured_scores_include_interventions(translator: Translator) -> None:
    uniform = Intervention(kind="cross", layer=0, head=3, action="uniform")
    name = f"{attention_path('cross', 0)}.scores"
    scores = translator.translate(TEXT, capture=(name,), interventions=(uniform,)).captured[name]
    assert (scores[3] == 0).all()
    assert (scores[2] != 0).all()


# ---------------------------------------------------------------- records


def test_result_arrays_are_read_only(translator: Translator) -> None:
    for answer in translator.translate_batch(SENTENCES[:2], capture=("encoder.embedding.*", "**.cross_attention.*")):
        one = answer.attention_map("cross", 0)
        arrays: list[Any] = [answer.attention.of(kind) for kind in KINDS]
        arrays += [*answer.positions.values(), *answer.captured.values(), one.weights, one.allowed]
        arrays.append(answer.attention_map("cross", 0, 0).weights)
        assert len(arrays) > 10
        for array in arrays:
            assert isinstance(array, np.ndarray)
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0
        for mapping in (answer.positions, answer.captured):
            with pytest.raises(TypeError):
                mapping["encoder"] = one.weights  # type: ignore[index]


def test_batch_results_do_not_share_memory(translator: Translator) -> None:
    answers = translator.translate_batch(SENTENCES, capture=("**",), max_length=15)
    for answer in answers:
        for array in [*(answer.attention.of(kind) for kind in KINDS), *answer.captured.values()]:
            owner: Any = array
            while isinstance(getattr(owner, "base", None), np.ndarray):
                owner = owner.base
            assert owner.nbytes == array.nbytes


def test_equal_requests_have_equal_hashes(translator: Translator) -> None:
    def request(**changes: Any) -> TranslationRequest:
        values: dict[str, Any] = {
            "target": [5, 6],  # lists are welcome, and become tuples
            "capture": ["**.logits"],
            "interventions": [Intervention(kind="cross", layer=0, head=1, action="remove")],
            "length_penalty": 0.5,
        }
        return translator.request(TEXT, **(values | changes))

    assert request() == request()
    assert len({request(), request()}) == 1
    assert request().model == "tiny"
    others = [
        request(target=(5, 7)),
        request(capture=()),
        request(interventions=()),
        request(length_penalty=0.6),
        request(seed=1),
        request(target=None, prefix=(5, 6)),
    ]
    assert len({request(), *others}) == 1 + len(others)
    assert request().options == DecodingOptions(length_penalty=0.5)
    assert translator.request(request()) == request()
    assert translator.translate(request()).request == request()
