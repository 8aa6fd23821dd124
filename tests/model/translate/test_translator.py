"""The translator: forced targets, limits, cancellation, batches, and records."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from headlight.model.checkpoints.checkpoint import save_checkpoint
from headlight.model.checkpoints.shipped import MODELS
from headlight.model.core.probes import watch
from headlight.model.errors import CheckpointError, DeviceError, RequestError
from headlight.model.records import KINDS, DecodingOptions, Intervention, Timing, Translation, TranslationRequest
from headlight.model.translate.device import DeviceChoice
from headlight.model.translate.packed_model import StepWeights
from headlight.model.translate.requests import batches_by_length
from headlight.model.translate.translator import Translator
from tests.tiny import MAX_LENGTH, SENTENCES, tiny_model, tiny_translator, tokenizers

TEXT = SENTENCES[0]
TARGET = "The dog is sleeping in the garden."
END = tokenizers()[1].end_id
GREEDY: dict[str, Any] = {}
BEAM: dict[str, Any] = {"beam_size": 3, "n_best": 3}
SAMPLING: dict[str, Any] = {"temperature": 1.0}


@pytest.fixture(scope="module")
def translator() -> Translator:
    return tiny_translator()


@pytest.fixture(scope="module")
def greedy(translator: Translator) -> list[Translation]:
    return translator.translate_batch(SENTENCES)


def token_ids(translation: Translation) -> tuple[int, ...]:
    return tuple(token.id for token in translation.target_tokens)


def teacher_forced(translator: Translator, source: list[int], target: list[int]) -> list[float]:
    """Return `log p` of each target token from one full pass."""
    with torch.inference_mode():
        read = torch.tensor([[translator.model.config.start_id, *target[:-1]]])
        gains = translator.model(torch.tensor([source]), read).log_softmax(dim=-1)[0]
    return [float(gains[step, token]) for step, token in enumerate(target)]


# ---------------------------------------------------------------- ways to choose words


def test_beam_size_one_is_greedy(translator: Translator, greedy: list[Translation]) -> None:
    for one, other in zip(translator.translate_batch(SENTENCES, beam_size=1), greedy, strict=True):
        assert token_ids(one) == token_ids(other)
        assert one.log_probability == other.log_probability


def test_wider_beam_is_at_least_as_likely_as_greedy(translator: Translator, greedy: list[Translation]) -> None:
    better = 0
    for one, other in zip(translator.translate_batch(SENTENCES, beam_size=5, length_penalty=0.0), greedy, strict=True):
        if other.stopped == "end" and one.stopped == "end":
            assert one.log_probability >= other.log_probability - 1e-4
            better += one.log_probability > other.log_probability + 1e-3
    assert better > 0


@pytest.mark.parametrize("n_best", [1, 2, 4])
def test_requested_number_of_hypotheses_best_first(translator: Translator, n_best: int) -> None:
    answer = translator.translate(TEXT, beam_size=4, n_best=n_best, max_length=30)
    assert len({hypothesis.ids for hypothesis in answer.hypotheses}) == len(answer.hypotheses) == n_best
    assert answer.hypotheses[0].text == answer.text
    for first, second in itertools.pairwise(answer.hypotheses):
        assert first.score >= second.score


def test_score_is_length_normalised_log_probability(translator: Translator) -> None:
    for penalty, options in itertools.product((0.0, 0.5, 1.0), (GREEDY, BEAM, SAMPLING)):
        answer = translator.translate(TEXT, length_penalty=penalty, **options)
        probabilities = [token.probability or 0.0 for token in answer.target_tokens]
        assert answer.log_probability == pytest.approx(sum(map(math.log, probabilities)), abs=1e-4)
        assert answer.score == pytest.approx(answer.log_probability / len(answer.target_tokens) ** penalty)


# ---------------------------------------------------------------- limits


@pytest.mark.parametrize("options", [GREEDY, BEAM, SAMPLING], ids=str)
@pytest.mark.parametrize("limit", [1, 2, 7])
def test_output_respects_length_limit(translator: Translator, limit: int, options: dict[str, Any]) -> None:
    for answer in translator.translate_batch(SENTENCES, max_length=limit, **options):
        assert 1 <= len(answer.target_tokens) <= limit
        assert all(len(hypothesis.ids) <= limit for hypothesis in answer.hypotheses)
        assert answer.stopped == ("end" if token_ids(answer)[-1] == END else "length")


def test_default_length_limit_is_twice_the_source_plus_sixteen(greedy: list[Translation]) -> None:
    cut_off = [answer for answer in greedy if answer.stopped == "length"]
    assert len(cut_off) == 2
    for answer in cut_off:
        assert len(answer.target_tokens) == 2 * len(answer.source_tokens) + 16


def test_length_limit_is_clamped_to_model() -> None:
    translator = tiny_translator(positions="learned", ends=-50.0)
    answer = translator.translate(SENTENCES[2], max_length=4096)
    assert len(answer.target_tokens) == MAX_LENGTH
    assert answer.stopped == "length"


# ---------------------------------------------------------------- a forced target


@pytest.mark.parametrize("target", [TARGET, "!", "狗 🙂"])
def test_forced_target_is_scored_per_token(translator: Translator, target: str) -> None:
    answer = translator.translate(TEXT, target=target)
    ids = [*translator.target_tokenizer.encode(target), END]
    assert token_ids(answer) == tuple(ids)
    assert (answer.text, answer.stopped) == (target, "forced")
    expected = teacher_forced(translator, [token.id for token in answer.source_tokens], ids)
    assert answer.log_probability == pytest.approx(sum(expected), abs=1e-4)
    assert answer.score == pytest.approx(sum(expected) / len(ids), abs=1e-4)
    chances = [token.probability for token in answer.target_tokens]
    assert chances == pytest.approx([math.exp(gain) for gain in expected], abs=1e-5)
    assert answer.attention.cross.shape[2:] == (len(ids), len(answer.source_tokens))


def test_target_ids_are_used_unchanged(translator: Translator) -> None:
    ids = tuple(translator.target_tokenizer.encode(TARGET))
    for target in (ids, (*ids, END), ids[:1], (0, 1, 9)):
        answer = translator.translate(TEXT, target=target)
        assert token_ids(answer) == target
        expected = teacher_forced(translator, [token.id for token in answer.source_tokens], list(target))
        assert answer.log_probability == pytest.approx(sum(expected), abs=1e-4)
    as_text, as_ids = translator.translate(TEXT, target=TARGET), translator.translate(TEXT, target=(*ids, END))
    assert as_text.target_tokens == as_ids.target_tokens


def test_forced_output_has_same_score(translator: Translator, greedy: list[Translation]) -> None:
    for answer in greedy:
        again = translator.translate(answer.request.text, target=token_ids(answer))
        assert token_ids(again) == token_ids(answer)
        assert again.log_probability == pytest.approx(answer.log_probability, abs=1e-4)
        for kind in KINDS:
            np.testing.assert_allclose(again.attention.of(kind), answer.attention.of(kind), atol=1e-5)


def test_batched_forced_targets_match_single_ones(translator: Translator) -> None:
    targets = ["A dog.", TARGET, "!", (7, 8), TARGET + TARGET, "x y z", (9,)]
    requests = [translator.request(text, target=target) for text, target in zip(SENTENCES, targets, strict=True)]
    for request, one in zip(requests, translator.translate_batch(requests), strict=True):
        alone = translator.translate(request)
        assert token_ids(one) == token_ids(alone)
        assert one.log_probability == pytest.approx(alone.log_probability, abs=1e-4)
        assert one.attention.decoder.shape == alone.attention.decoder.shape


def test_decoding_options_do_not_affect_forced_target(translator: Translator) -> None:
    plain = translator.translate(TEXT, target=TARGET)
    others: list[dict[str, Any]] = [BEAM, SAMPLING, {"max_length": 2}, {"no_repeat": 1}]
    for options in others:
        answer = translator.translate(TEXT, target=TARGET, **options)
        assert answer.target_tokens == plain.target_tokens
        assert len(answer.hypotheses) == 1


# ---------------------------------------------------------------- a forced beginning


@pytest.mark.parametrize("options", [GREEDY, BEAM, SAMPLING], ids=str)
@pytest.mark.parametrize("prefix", ["The dog", "🙂 x", (5,), (9, 9, 9, 9), (30, 20, 10)])
def test_prefix_is_kept_and_continued(
    translator: Translator, prefix: str | tuple[int, ...], options: dict[str, Any]
) -> None:
    ids = tuple(translator.target_tokenizer.encode(prefix)) if isinstance(prefix, str) else prefix
    for answer in translator.translate_batch(SENTENCES[:4], prefix=prefix, **options):
        for hypothesis in answer.hypotheses:
            assert hypothesis.ids[: len(ids)] == ids
            assert len(hypothesis.ids) > len(ids)
        assert answer.stopped in ("end", "length")


def test_text_prefix_equals_its_ids(translator: Translator) -> None:
    ids = tuple(translator.target_tokenizer.encode("The dog is"))
    as_text, as_ids = translator.translate(TEXT, prefix="The  dog is "), translator.translate(TEXT, prefix=ids)
    assert as_text.target_tokens == as_ids.target_tokens
    assert as_text.text.startswith("The dog is")


def test_greedy_prefix_gives_greedy_output(translator: Translator, greedy: list[Translation]) -> None:
    for answer in greedy:
        ids = token_ids(answer)
        for length in (1, 2, len(ids)):
            again = translator.translate(answer.request.text, prefix=ids[:length], max_length=len(ids))
            assert token_ids(again) == ids
            assert again.stopped == answer.stopped
            assert again.log_probability == pytest.approx(answer.log_probability, abs=1e-4)


def test_batch_supports_individual_prefixes(translator: Translator) -> None:
    prefixes = [(7, 8, 9), None, "The", None, (30,), "A dog is", None]
    requests = [translator.request(text, prefix=prefix) for text, prefix in zip(SENTENCES, prefixes, strict=True)]
    for request, one in zip(requests, translator.translate_batch(requests), strict=True):
        assert token_ids(one) == token_ids(translator.translate(request))


def test_prefix_overrides_decoding_rules(translator: Translator) -> None:
    pad = translator.model.config.pad_id
    for options in (GREEDY, BEAM, SAMPLING):
        answer = translator.translate(TEXT, prefix=(9, 9, pad), no_repeat=1, max_length=12, **options)
        assert token_ids(answer)[:3] == (9, 9, pad)
        later = token_ids(answer)[3:]
        assert not {9, pad} & set(later)
        assert len(set(later)) == len(later)


def test_prefix_may_contain_end_token(translator: Translator) -> None:
    for options in (GREEDY, BEAM):
        answer = translator.translate(TEXT, prefix=(7, 8, END), **options)
        assert (token_ids(answer), answer.stopped) == ((7, 8, END), "end")


def test_long_prefix_leaves_space_to_continue(translator: Translator) -> None:
    source = len(translator.translate("Ja.").source_tokens)
    prefix = (9, 8) * 20  # more than twice the source and 16
    assert 2 * source + 16 < len(prefix)
    answer = translator.translate("Ja.", prefix=prefix)
    assert token_ids(answer)[:40] == prefix
    assert 40 < len(token_ids(answer)) <= 56


@pytest.mark.parametrize(("limit", "fits"), [(3, False), (4, True), (5, True)])
def test_prefix_beyond_limit_raises(translator: Translator, limit: int, fits: bool) -> None:
    if fits:
        answer = translator.translate(TEXT, prefix=(7, 8, 9, 10), max_length=limit)
        assert token_ids(answer)[:4] == (7, 8, 9, 10)
        return
    with pytest.raises(RequestError) as error_info:
        translator.translate(TEXT, prefix=(7, 8, 9, 10), max_length=limit)
    assert str(error_info.value) == "The prefix has 4 tokens, but at most 3 may be written. Shorten it."
    assert error_info.value.field == "prefix"


@pytest.mark.parametrize("options", [GREEDY, BEAM, {"temperature": 0.2}], ids=str)
def test_no_repeat_prevents_repeated_ngrams(translator: Translator, options: dict[str, Any]) -> None:
    repeats = 0
    for plain, answer in zip(
        translator.translate_batch(SENTENCES, **options),
        translator.translate_batch(SENTENCES, no_repeat=2, **options),
        strict=True,
    ):
        for hypothesis in answer.hypotheses:
            pairs = list(itertools.pairwise(hypothesis.ids))
            assert len(set(pairs)) == len(pairs)
        pairs = list(itertools.pairwise(token_ids(plain)))
        repeats += len(pairs) - len(set(pairs))
    assert repeats > 0  # without the rule there are some


# ---------------------------------------------------------------- cancelling


@pytest.mark.parametrize("options", [GREEDY, BEAM, SAMPLING], ids=str)
@pytest.mark.parametrize("after", [1, 3, 8])
def test_cancelled_translation_returns_partial_output(
    translator: Translator, after: int, options: dict[str, Any]
) -> None:
    calls = itertools.count(1)
    text = SENTENCES[1]  # which continues to its limit
    answer = translator.translate(text, cancelled=lambda: next(calls) == after, **options)
    assert next(calls) == after + 1  # not asked again
    assert answer.stopped == "cancelled"
    assert answer.attention.cross.shape[2] == len(answer.target_tokens)
    if answer.hypotheses[0].ids[-1] != END:
        assert len(answer.target_tokens) == after
    if not options:
        assert token_ids(answer) == token_ids(translator.translate(text))[:after]


def test_cancelled_beam_returns_best_hypothesis_and_flag(translator: Translator) -> None:
    count = 0
    for after in range(1, 9):
        answer = translator.translate(
            TEXT, beam_size=4, n_best=4, cancelled=iter([False] * (after - 1) + [True]).__next__
        )
        assert answer.stopped == "cancelled"
        finished = [node.score for node in answer.tree.nodes if node.outcome == "finished"]
        still_open = [node.score for node in answer.tree.nodes if node.outcome == "kept" and node.step == after - 1]
        assert max(node.step for node in answer.tree.nodes) == after - 1
        assert answer.score == pytest.approx(max(finished + still_open), abs=1e-4)
        assert (token_ids(answer)[-1] == END) == (max(finished, default=-99.0) > max(still_open))
        assert len(answer.hypotheses) == min(4, len(finished) + (token_ids(answer)[-1] != END))
        count += bool(finished)
    assert count > 0


def test_cancellation_within_prefix_keeps_prefix(translator: Translator) -> None:
    answer = translator.translate(TEXT, prefix=(9, 11, 13), cancelled=lambda: True)
    assert list(token_ids(answer)) == [9, 11, 13]
    assert answer.stopped == "cancelled"


@pytest.mark.parametrize("step_weights", ["float16", "float32", "plain"])
def test_edit_affects_decoding(step_weights: StepWeights) -> None:
    translator = tiny_translator(step_weights=step_weights)

    def silence(weights: torch.Tensor, name: str) -> torch.Tensor:
        return weights * 0

    with watch(translator.model, "decoder.layers.*.cross_attention.weights", edit=silence):
        edited = translator.translate(TEXT, max_length=9)
        lines = translator.translate_lines([TEXT], max_length=9)
    layers = range(translator.model.config.decoder_layers)
    removals = tuple(Intervention(kind="cross", layer=layer, head=None, action="remove") for layer in layers)
    removed = translator.translate(TEXT, max_length=9, interventions=removals)
    assert token_ids(edited) == token_ids(removed) != token_ids(translator.translate(TEXT, max_length=9))
    assert lines == [edited.text]


def test_invalid_lines_are_reported_and_others_translated(translator: Translator) -> None:
    errors: dict[int, str] = {}
    lines = [TEXT, "🙂 " * 40, "Ja.", "\ud800", ""]
    done = translator.translate_lines(lines, on_refused=lambda place, error: errors.update({place: str(error)}))
    assert [bool(text) for text in done] == [True, False, True, False, False]
    assert done[0] == translator.translate_lines([TEXT])[0]
    assert set(errors) == {1, 3}
    assert errors[1].startswith("text has ")


def test_single_string_is_rejected_as_batch(translator: Translator) -> None:
    for many in (translator.translate_batch, translator.translate_lines):
        with pytest.raises(RequestError, match="Put it in brackets"):
            many("Ja.")


def test_vocabulary_size_and_step_weights_are_validated() -> None:
    translator = tiny_translator()
    source, target = translator.source_tokenizer, translator.target_tokenizer
    with pytest.raises(CheckpointError, match="the source vocabulary has"):
        Translator(translator.model, target, target)
    with pytest.raises(RequestError, match='step_weights must be one of float16, float32, plain, but "int8"'):
        Translator(translator.model, source, target, step_weights="int8")  # type: ignore[arg-type]


@pytest.mark.parametrize("options", [GREEDY, BEAM], ids=str)
def test_complete_translation_is_not_cancelled(translator: Translator, options: dict[str, Any]) -> None:
    whole = translator.translate(TEXT, max_length=4, **options)
    steps = itertools.count(1)
    answer = translator.translate(TEXT, max_length=4, cancelled=lambda: next(steps) == 4, **options)
    assert next(steps) == 5
    assert answer.stopped == whole.stopped != "cancelled"
    assert token_ids(answer) == token_ids(whole)


def test_uncancelled_translation_is_complete(translator: Translator, greedy: list[Translation]) -> None:
    assert token_ids(translator.translate(TEXT, cancelled=lambda: False)) == token_ids(greedy[0])


# ---------------------------------------------------------------- batches and lines


def test_batch_of_different_requests_keeps_order(translator: Translator) -> None:
    remove = Intervention(kind="cross", layer=1, head=None, action="remove")
    choices: list[dict[str, Any]] = [
        {"target": TARGET},
        {},
        {"beam_size": 2},
        {"interventions": (remove,)},
        {"temperature": 1.0, "seed": 3},
        {"prefix": "The"},
        {"capture": ("decoder.output.logits",)},
    ]
    requests = [translator.request(text, **options) for text in SENTENCES[:3] for options in choices]
    answers = translator.translate_batch(requests)
    assert [answer.request for answer in answers] == requests
    for request, answer in zip(requests, answers, strict=True):
        alone = translator.translate(request)
        assert token_ids(answer) == token_ids(alone)
        assert answer.stopped == alone.stopped
        assert set(answer.captured) == set(alone.captured)
        assert answer.log_probability == pytest.approx(alone.log_probability, abs=1e-4)


def test_duplicate_sentences_in_batch_give_equal_results(translator: Translator) -> None:
    for options in (GREEDY, BEAM, SAMPLING):
        first, _, third = translator.translate_batch([TEXT, SENTENCES[2], TEXT], **options)
        assert first.target_tokens == third.target_tokens


def test_empty_batch_returns_empty_list(translator: Translator) -> None:
    assert translator.translate_batch([]) == []
    assert translator.translate_lines([]) == []


def test_invalid_sentence_in_batch_raises(translator: Translator) -> None:
    with pytest.raises(RequestError, match="no text yet"):
        translator.translate_batch([TEXT, "  "])


@pytest.mark.parametrize("options", [{}, {"beam_size": 3}, {"temperature": 1.0, "seed": 2}], ids=str)
def test_lines_match_single_translations_in_order(translator: Translator, options: dict[str, Any]) -> None:
    lines = [*SENTENCES, "", *reversed(SENTENCES)]
    alone = {line: translator.translate(line, **options).text for line in SENTENCES} | {"": ""}
    done: dict[int, list[int]] = {0: [], 50: [], 3000: []}
    for batch_tokens, batches in done.items():
        texts = translator.translate_lines(lines, batch_tokens=batch_tokens, on_progress=batches.append, **options)
        assert texts == [alone[line] for line in lines]
        assert sum(batches) == len(lines) - 1
    assert (len(done[0]), len(done[3000])) == (14, 1)
    assert 1 < len(done[50]) < 14


@pytest.mark.parametrize(
    ("max_tokens", "batches"),
    [
        (0, [[1], [3], [2], [0], [5], [4]]),
        (9, [[1], [3], [2, 0], [5, 4]]),  # 2 × 4 ≤ 9 < 3 × 4
        (18, [[1, 3], [2, 0, 5, 4]]),  # 2 × 9 ≤ 18 < 3 × 9
        (1000, [[1, 3, 2, 0, 5, 4]]),
    ],
)
def test_lines_are_batched_by_length_longest_first(max_tokens: int, batches: list[list[int]]) -> None:
    lengths = {0: 3, 1: 9, 2: 4, 3: 9, 4: 1, 5: 2}
    assert list(batches_by_length(lengths, max_tokens)) == batches


def test_blank_lines_stay_blank(translator: Translator) -> None:
    blanks = ["", " ", "\t", "\u3000", "\u00a0", "\ufeff", "\u200b", "\u200b \u200d", "\x00"]
    texts = translator.translate_lines([TEXT, *blanks, SENTENCES[2]])
    assert texts == [translator.translate(TEXT).text, *[""] * len(blanks), translator.translate(SENTENCES[2]).text]


def test_too_long_line_is_reported_before_translating(translator: Translator) -> None:
    done: list[int] = []
    with pytest.raises(RequestError) as error_info:
        translator.translate_lines([TEXT, "", "🙂 " * 40, "Ja."], batch_tokens=0, on_progress=done.append)
    assert str(error_info.value).startswith("Line 3: text has ")
    assert error_info.value.field == "lines"
    assert done == []


def test_out_of_memory_splits_batch(
    translator: Translator, greedy: list[Translation], monkeypatch: pytest.MonkeyPatch
) -> None:
    encode, sizes = translator.model.encode, []

    def scarce(source_ids: torch.Tensor, mask: Any = None, *, padded: bool) -> Any:
        sizes.append(len(source_ids))
        if len(source_ids) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return encode(source_ids, mask, padded=padded)

    monkeypatch.setattr(translator.model, "encode", scarce)
    assert [token_ids(one) for one in translator.translate_batch(SENTENCES)] == [token_ids(one) for one in greedy]
    assert sizes == [7, 4, 2, 2, 2, 1]
    assert translator.translate_lines(SENTENCES) == [answer.text for answer in greedy]


def test_out_of_memory_for_one_sentence_raises(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(source_ids: torch.Tensor, mask: Any, *, padded: bool) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory.")

    monkeypatch.setattr(translator.model, "encode", fail)
    with pytest.raises(DeviceError, match="not enough memory left for this"):
        translator.translate_batch(SENTENCES)


# ---------------------------------------------------------------- devices and narrow numbers


def on(device: str, dtype: torch.dtype = torch.float32) -> Translator:
    return Translator(tiny_model(), *tokenizers(), choice=DeviceChoice(torch.device(device), dtype, "a test."))


@pytest.mark.parametrize("options", [GREEDY, BEAM, SAMPLING], ids=str)
def test_every_device_matches_unpacked_weights(translator: Translator, device: str, options: dict[str, Any]) -> None:
    answers = on(device).translate_batch(SENTENCES, prefix="The", no_repeat=3, capture=("**.keys",), **options)
    expected = translator.translate_batch(SENTENCES, prefix="The", no_repeat=3, capture=("**.keys",), **options)
    for one, other in zip(answers, expected, strict=True):
        assert torch.device(one.device).type == torch.device(device).type
        assert token_ids(one) == token_ids(other)
        for kind in KINDS:
            np.testing.assert_allclose(one.attention.of(kind), other.attention.of(kind), atol=1e-5)
        for name, keys in one.captured.items():
            np.testing.assert_allclose(keys, other.captured[name], atol=1e-4)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_maps_are_float32_and_normalised(
    translator: Translator, device: str, dtype: torch.dtype
) -> None:
    narrow = on(device, dtype)
    assert narrow.copied_bytes == 0
    assert 2 * narrow.weight_bytes == translator.weight_bytes
    for options in (GREEDY, BEAM, SAMPLING):
        *_, last = narrow.stream(TEXT, prefix="The", no_repeat=3, capture=("**",), **options)
        assert last.translation is not None
        for answer in (last.translation, *narrow.translate_batch(SENTENCES, **options)):
            for kind in KINDS:
                maps = answer.attention.of(kind)
                assert maps.dtype == np.float32
                np.testing.assert_allclose(maps.sum(axis=-1), 1, atol=1e-3)
                assert (maps[:, :, ~answer.attention.allowed(kind)] == 0).all()
            assert all(array.dtype == np.float32 for array in answer.captured.values())
    one, other = narrow.translate(TEXT, target=TARGET), translator.translate(TEXT, target=TARGET)
    assert one.score == pytest.approx(other.score, abs=0.1)


# ---------------------------------------------------------------- the record


def test_translation_has_provenance(translator: Translator) -> None:
    answer = translator.translate("  Der  Hund\u200b schla\u0308ft. ")
    assert answer.source_text == "Der Hund schl\u00e4ft."
    assert answer.request.text == "  Der  Hund\u200b schla\u0308ft. "
    assert answer.request.model == "tiny"
    assert answer.device == "cpu"
    for token in answer.source_tokens[:-1]:
        assert answer.source_text[token.start : token.end] == token.text
    for token in answer.target_tokens:
        assert token.special or answer.text[token.start : token.end] == token.text


def test_translation_has_timings(translator: Translator) -> None:
    timing = translator.translate(TEXT).timing
    assert min(timing.encode, timing.decode, timing.capture) > 0
    assert timing != Timing()


def test_saved_folder_matches_model(tmp_path: Path, greedy: list[Translation]) -> None:
    save_checkpoint(tmp_path / "de-en", tiny_model(), *tokenizers(), storage="float32")
    loaded = Translator.load(tmp_path / "de-en", device="cpu", step_weights="plain")
    assert loaded.name == "de-en"
    assert "cpu" in loaded.choice.reason
    assert [token_ids(one) for one in loaded.translate_batch(SENTENCES)] == [token_ids(one) for one in greedy]


def test_translator_uses_eval_mode_without_gradients() -> None:
    model = tiny_model(dropout=0.5, attention_dropout=0.5).train()
    translator = Translator(model, *tokenizers(), step_weights="plain")
    assert not model.training
    assert not any(parameter.requires_grad for parameter in model.parameters())
    assert token_ids(translator.translate(TEXT)) == token_ids(translator.translate(TEXT))


def test_defaults_are_greedy_and_deterministic() -> None:
    assert not DecodingOptions().samples
    assert DecodingOptions(temperature=0.1).samples
    assert DecodingOptions().beam_size == 1


def test_request_is_validated_for_this_model(translator: Translator) -> None:
    for nothing in ("", None):
        with pytest.raises(RequestError):
            translator.request(nothing)  # type: ignore[arg-type]
    with pytest.raises(RequestError, match='The request is for the model "another"'):
        translator.translate(TranslationRequest(text=TEXT, model="another"))


@pytest.mark.parametrize(
    ("model", "text", "plain", "adaptation"),
    [
        ("zh-en", "我們明天去臺北吃飯。", "我们明天去台北吃饭。", "simplified"),
        ("de-en", "WO IST DER BAHNHOF?", "Wo ist der bahnhof?", "capitals"),
        ("zh-en", "我很累😀。", "我很累。", "emoji"),
    ],
)
def test_texts_are_adapted_and_labels_stay_as_typed(model: str, text: str, plain: str, adaptation: str) -> None:
    translator = Translator.load(MODELS / model, "cpu")
    adapted, expected = translator.translate(text), translator.translate(plain)
    assert adapted.text == expected.text == translator.translate_lines([text])[0]
    assert [token.id for token in adapted.source_tokens] == [token.id for token in expected.source_tokens]
    assert (adapted.adaptations, expected.adaptations) == ((adaptation,), ())
    typed = text if adaptation != "emoji" else plain
    assert adapted.source_text == typed
    words = [token.text for token in adapted.source_tokens if not token.special]
    assert "".join(words).replace(" ", "") == typed.replace(" ", "")
