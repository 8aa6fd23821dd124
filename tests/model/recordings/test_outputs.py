"""Outputs of each family of `transformers`: unchanged arrays without padding, with correct names."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch

from headlight.model.recordings.recording import Recording, RecordingError
from headlight.model.recordings.transformers_outputs import (
    ModelInputs,
    has_attention,
    recording_from_outputs,
    require_arrays,
)
from headlight.model.records import MapKind
from tests.model.recordings import families

SENTENCES = ["the cat sat on a mat", "a dog ran"]
WORDS = [sentence.split() for sentence in SENTENCES]


def batch(side: str = "right") -> Any:
    tokenizer = families.tokenizer()
    tokenizer.padding_side = side
    return tokenizer(SENTENCES, return_tensors="pt", padding=True)


def token_texts(tokens: Any) -> list[str]:
    return [token.text for token in tokens]


def assert_same_maps(recording: Recording, kind: MapKind, layers: Any, cut: Any = np.s_[:]) -> None:
    """Check that the recorded maps equal the outputs of the model exactly."""
    expected = np.stack([layer.detach().numpy() for layer in layers])[:, cut]
    np.testing.assert_array_equal(recording.attention.of(kind), expected)


@torch.no_grad()
@pytest.mark.parametrize("family", ["bert", "gpt2", "llama"])
@pytest.mark.parametrize("given_inputs", ["mask", "ids", "nothing"])
def test_single_stack_has_one_kind_without_padding(family: str, given_inputs: str) -> None:
    inputs = batch()
    outputs = getattr(families, family)()(
        **{name: inputs[name] for name in ("input_ids", "attention_mask")}, output_attentions=True
    )
    model_inputs = {"mask": inputs, "ids": {"input_ids": inputs["input_ids"]}, "nothing": {}}[given_inputs]
    model_inputs = {name: model_inputs[name] for name in ("input_ids", "attention_mask") if name in model_inputs}
    for index, words in enumerate(WORDS):
        recording = recording_from_outputs(
            outputs, ModelInputs(tokenizer=families.tokenizer(), **model_inputs), batch=index
        )
        count = len(words)
        assert recording.kinds == ("self",)
        if given_inputs == "nothing":
            assert token_texts(recording.source) == [str(number) for number in range(1, count + 1)]
        else:
            assert token_texts(recording.source) == words
            assert recording.source_text == SENTENCES[index]
        cut = np.s_[index, :, :count, :count]
        expected = np.stack([layer[cut].numpy() for layer in outputs.attentions])
        np.testing.assert_array_equal(recording.attention.of("self"), expected)
        unmasked = np.ones((count, count))
        np.testing.assert_array_equal(recording.of("self").allowed, unmasked if family == "bert" else np.tri(count))
        assert [remark.word for remark in recording.remarks] == ([] if count == 6 else ["padding"])


@torch.no_grad()
@pytest.mark.parametrize("family", ["gpt2", "llama"])
@pytest.mark.parametrize("beams", [1, 3])
@pytest.mark.parametrize("masked", [True, False])
def test_generated_maps_of_single_stack_are_joined(family: str, beams: int, masked: bool) -> None:
    """Compare with one forward pass over the complete sequence."""
    inputs = batch("left")
    model = getattr(families, family)()
    model_inputs = {name: inputs[name] for name in ("input_ids", "attention_mask")}
    outputs = model.generate(
        **model_inputs,
        max_new_tokens=5,
        min_new_tokens=5,
        num_beams=beams,
        output_attentions=True,
        return_dict_in_generate=True,
    )
    for index, words in enumerate(WORDS):
        mask = {"attention_mask": inputs["attention_mask"]} if masked else {}
        recording = recording_from_outputs(outputs, ModelInputs(tokenizer=families.tokenizer(), **mask), batch=index)
        read_ids = outputs.sequences[index : index + 1, 6 - len(words) : -1]
        expected_layers = model(read_ids, output_attentions=True).attentions
        assert recording.of("self").shape[2] == len(words) + 4
        assert [token.id for token in recording.source] == read_ids[0].tolist()
        for layer, expected in zip(recording.attention.of("self"), expected_layers, strict=True):
            np.testing.assert_allclose(layer, expected[0].numpy(), atol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("family", ["t5", "bart", "marian"])
def test_encoder_decoder_has_three_kinds(family: str) -> None:
    inputs = batch()
    decoder_ids = torch.tensor([[1, 3, 4, 5], [1, 7, 10, 11]])
    model = getattr(families, family)()
    model_inputs = {name: inputs[name] for name in ("input_ids", "attention_mask")}
    outputs = model(**model_inputs, decoder_input_ids=decoder_ids, output_attentions=True)
    recording = recording_from_outputs(
        outputs, ModelInputs(tokenizer=families.tokenizer(), decoder_input_ids=decoder_ids, **model_inputs), batch=1
    )
    assert recording.kinds == ("encoder", "decoder", "cross")
    assert token_texts(recording.source) == WORDS[1]
    assert token_texts(recording.target) == ["</s>", "a", "dog", "ran"]
    assert recording.decoder_inputs is None
    for kind, cut in (("encoder", np.s_[1, :, :3, :3]), ("decoder", np.s_[1]), ("cross", np.s_[1, :, :, :3])):
        expected = np.stack([layer[cut].numpy() for layer in outputs[f"{kind}_attentions"]])
        np.testing.assert_array_equal(recording.attention.of(kind), expected)
    np.testing.assert_array_equal(recording.of("decoder").allowed, np.tri(4))


@torch.no_grad()
@pytest.mark.parametrize("family", ["t5", "bart", "marian"])
@pytest.mark.parametrize("beams", [1, 3])
def test_generated_maps_of_encoder_decoder_follow_the_beam(family: str, beams: int) -> None:
    inputs = batch()
    model = getattr(families, family)()
    model_inputs = {name: inputs[name] for name in ("input_ids", "attention_mask")}
    outputs = model.generate(
        **model_inputs, max_new_tokens=6, min_new_tokens=6, num_beams=beams, num_return_sequences=min(2, beams),
        output_attentions=True, return_dict_in_generate=True,
    )  # fmt: skip
    count_per_sentence = min(2, beams)
    for index, sequence in enumerate(outputs.sequences):
        sentence = index // count_per_sentence
        recording = recording_from_outputs(
            outputs, ModelInputs(tokenizer=families.tokenizer(), **model_inputs), batch=index
        )
        decoder_ids = sequence[None, :-1]
        expected_outputs = model(
            **{name: rows[sentence : sentence + 1] for name, rows in model_inputs.items()},
            decoder_input_ids=decoder_ids, output_attentions=True,
        )  # fmt: skip
        assert token_texts(recording.source) == WORDS[sentence]
        assert [token.id for token in recording.target] == sequence[1:].tolist()
        assert [token.id for token in recording.decoder_inputs or ()] == sequence[:-1].tolist()
        count = len(WORDS[sentence])
        for kind, expected in (
            ("decoder", expected_outputs.decoder_attentions),
            ("cross", expected_outputs.cross_attentions),
        ):
            actual = recording.attention.of(kind)
            for layer, other in zip(actual, expected, strict=True):
                np.testing.assert_allclose(layer, other[0, :, :, : layer.shape[-1]].numpy(), atol=1e-5)
        assert recording.of("cross").shape[3] == count
        assert ("beam" in [remark.word for remark in recording.remarks]) == (beams > 1)


@torch.no_grad()
def test_finished_sequence_has_no_rows_after_end_token() -> None:
    inputs = batch()
    model_inputs = {name: inputs[name] for name in ("input_ids", "attention_mask")}
    outputs = families.marian().generate(
        **model_inputs, max_new_tokens=5, output_attentions=True, return_dict_in_generate=True
    )
    outputs.sequences[1, 3] = 1  # </s>
    recording = recording_from_outputs(outputs, ModelInputs(tokenizer=families.tokenizer(), **model_inputs), batch=1)
    assert recording.of("decoder").shape[2:] == (3, 3)
    assert token_texts(recording.target)[-1] == "</s>"


@torch.no_grad()
def test_audio_is_labelled_by_seconds_and_images_by_patches() -> None:
    sound = torch.randn(1, 4, 22, generator=torch.Generator().manual_seed(1))
    decoder_ids = torch.tensor([[2, 3, 4]])
    outputs = families.whisper()(input_features=sound, decoder_input_ids=decoder_ids, output_attentions=True)
    inputs = ModelInputs(tokenizer=families.tokenizer(), input_features=sound, decoder_input_ids=decoder_ids)
    recording = recording_from_outputs(outputs, inputs)
    assert token_texts(recording.source)[:3] == ["0.00", "0.02", "0.04"]
    assert token_texts(recording.target) == ["<s>", "the", "cat"]
    np.testing.assert_array_equal(
        recording.attention.cross, np.stack([each[0].numpy() for each in outputs.cross_attentions])
    )
    picture = torch.randn(1, 3, 24, 24, generator=torch.Generator().manual_seed(2))
    outputs = families.vit()(picture, output_attentions=True)
    recording = recording_from_outputs(outputs, ModelInputs(pixel_values=picture))
    assert token_texts(recording.source) == ["[CLS]", *(f"{row}·{column}" for row in (1, 2, 3) for column in (1, 2, 3))]
    np.testing.assert_array_equal(
        recording.attention.of("self"), np.stack([each[0].numpy() for each in outputs.attentions])
    )


def encoder_states(count: int) -> torch.Tensor:
    """Random encoder states for a batch of two."""
    return torch.randn(2, count, 15, generator=torch.Generator().manual_seed(4))


@torch.no_grad()
@pytest.mark.parametrize("family", ["gpt2", "bert", "bart"])
@pytest.mark.parametrize("count", [3, 5])  # as many states as decoder tokens, or more
def test_decoder_only_cross_maps_have_numbered_columns(family: str, count: int) -> None:
    decoder_ids = torch.tensor([[1, 3, 4], [1, 7, 10]])
    outputs = families.decoder(family)(decoder_ids, encoder_hidden_states=encoder_states(count), output_attentions=True)
    inputs = ModelInputs(tokenizer=families.tokenizer(), input_ids=decoder_ids, attention_mask=torch.ones(2, 3))
    recording = recording_from_outputs(outputs, inputs, batch=1)
    assert recording.kinds == ("decoder", "cross")
    assert token_texts(recording.target) == ["</s>", "a", "dog"]
    assert token_texts(recording.source) == [str(number) for number in range(1, count + 1)]
    assert [(each.word, each.values) for each in recording.remarks] == [("columns", {"count": count})]
    for kind, layers in (("decoder", outputs.attentions), ("cross", outputs.cross_attentions)):
        assert_same_maps(recording, kind, layers, 1)


@torch.no_grad()
def test_decoder_only_cross_maps_take_names_of_encoder_inputs() -> None:
    decoder_ids, encoder_ids = torch.tensor([[1, 3, 4], [1, 7, 10]]), torch.tensor([[3, 4, 5, 6, 7], [7, 10, 11, 0, 0]])
    mask = (encoder_ids > 0).long()
    outputs = families.decoder("gpt2")(
        decoder_ids, encoder_hidden_states=encoder_states(5), encoder_attention_mask=mask, output_attentions=True
    )
    common = {"tokenizer": families.tokenizer(), "encoder_attention_mask": mask}
    for options in (
        {"input_ids": decoder_ids, "source": ["a", "dog", "ran", "-", "-"]},
        {"tokens": ["</s>", "a", "dog"], "source": ["a", "dog", "ran", "-", "-"]},
        {"decoder_input_ids": decoder_ids, "input_ids": encoder_ids, "attention_mask": mask},
    ):
        recording = recording_from_outputs(outputs, ModelInputs(**common, **options), batch=1)
        assert token_texts(recording.source) == ["a", "dog", "ran"]
        assert token_texts(recording.target) == ["</s>", "a", "dog"]
        assert [each.word for each in recording.remarks] == ["padding"]
    with pytest.raises(RecordingError, match="input_ids has 4 tokens, but the decoder's maps have 3 rows"):
        recording_from_outputs(outputs, ModelInputs(input_ids=[1, 3, 4, 5]))


@torch.no_grad()
def test_decoder_without_encoder_states_has_one_kind() -> None:
    decoder_ids = torch.tensor([[1, 3, 4]])
    outputs = families.decoder("gpt2")(decoder_ids, output_attentions=True)
    recording = recording_from_outputs(outputs, ModelInputs(tokenizer=families.tokenizer(), input_ids=decoder_ids))
    assert recording.kinds == ("self",)
    assert token_texts(recording.source) == ["</s>", "the", "cat"]


@torch.no_grad()
def test_perceiver_columns_are_its_tokens() -> None:
    ids = torch.tensor([[3, 4, 5, 6, 7, 8]])
    outputs = families.perceiver()(ids, output_attentions=True)
    first_outputs = {"attentions": outputs.attentions, "cross_attentions": outputs.cross_attentions[:1]}
    recording = recording_from_outputs(first_outputs, ModelInputs(tokenizer=families.tokenizer(), input_ids=ids))
    assert len(recording.source) == 6
    assert token_texts(recording.source)[:2] == ["the", "cat"]
    assert token_texts(recording.target) == ["1", "2", "3"]
    assert recording.remarks == ()


@torch.no_grad()
@pytest.mark.parametrize("family", ["words", "picture", "sound"])
def test_encoder_decoder_pair_names_both_sides(family: str) -> None:
    decoder_ids = torch.tensor([[1, 3, 4]])
    generator = torch.Generator().manual_seed(5)
    encoder_inputs: dict[str, Any] = {
        "words": {"input_ids": torch.tensor([[7, 10, 11]])},
        "picture": {"pixel_values": torch.randn(1, 3, 24, 24, generator=generator)},
        "sound": {"input_values": torch.randn(1, 15, generator=generator)},
    }[family]
    outputs = families.pair(family)(**encoder_inputs, decoder_input_ids=decoder_ids, output_attentions=True)
    named_inputs = {
        name: value for name, value in encoder_inputs.items() if name != "input_values"
    }  # input_values give no names
    recording = recording_from_outputs(
        outputs, ModelInputs(tokenizer=families.tokenizer(), decoder_input_ids=decoder_ids, **named_inputs)
    )
    assert recording.kinds == ("encoder", "decoder", "cross")
    assert token_texts(recording.target) == ["</s>", "the", "cat"]
    expected = {
        "words": ["a", "dog", "ran"],
        "picture": ["[CLS]", *(f"{row}·{column}" for row in (1, 2, 3) for column in (1, 2, 3))],
        "sound": ["1", "2", "3"],
    }
    assert token_texts(recording.source) == expected[family]
    assert_same_maps(recording, "cross", outputs.cross_attentions, 0)


@torch.no_grad()
def test_layers_of_different_shapes_raise_with_advice() -> None:
    picture = torch.randn(1, 3, 16, 16, generator=torch.Generator().manual_seed(2))
    outputs = families.swin()(picture, output_attentions=True)
    with pytest.raises(RecordingError, match=r"layer 1 has 2 heads of 4 × 4, but layer 2 has 3 heads .* layers=\[0\]"):
        recording_from_outputs(outputs, ModelInputs())
    recording = recording_from_outputs(outputs, ModelInputs(), layers=[1])
    assert recording.of("self").shape == (1, 3, 4, 4)


@torch.no_grad()
def test_a_window_of_a_picture_is_said_to_be_one() -> None:
    pictures = torch.randn(2, 3, 16, 16, generator=torch.Generator().manual_seed(2))
    outputs = families.swin()(pictures, output_attentions=True)
    for place, number in ((None, 1), (2, 3), (5, 2)):  # four windows of each picture
        recording = recording_from_outputs(outputs, ModelInputs(pixel_values=pictures), layers=[0], batch=place)
        assert token_texts(recording.source) == ["1·1", "1·2", "2·1", "2·2"]
        assert recording.remarks[0].word == "window"
        assert recording.remarks[0].values == {"number": number, "count": 4}
        assert_same_maps(recording, "self", outputs.attentions[:1], place or 0)
    # The last layer of this model has one window, which is the picture.
    recording = recording_from_outputs(outputs, ModelInputs(pixel_values=pictures), layers=[1])
    assert [(each.word, each.values) for each in recording.remarks[:1]] == [("batch", {"number": 1, "count": 2})]


@torch.no_grad()
@pytest.mark.parametrize("count", [4, 5, 9])  # with 5 tokens, as many as the window has columns
@pytest.mark.parametrize("global_places", [[], [0], [1, 3]])
def test_maps_of_sliding_windows_are_whole_with_the_weights_of_the_softmax(
    count: int, global_places: list[int]
) -> None:
    """Recomputed from queries and keys of the first layer."""
    model = families.longformer()
    read = torch.arange(3, 3 + count)[None]
    mask = torch.zeros_like(read)
    mask[0, global_places] = 1
    attention = model.encoder.layer[0].attention.self
    states: list[torch.Tensor] = []
    hook = attention.query.register_forward_pre_hook(lambda _, values: states.append(values[0]))
    outputs = model(read, global_attention_mask=mask, output_attentions=True)
    hook.remove()
    positions = states[0][:count, 0]  # [position, batch, width], padded to whole windows
    query, key, query_global, key_global = (
        getattr(attention, name)(positions).reshape(count, 3, 5).transpose(0, 1)
        for name in ("query", "key", "query_global", "key_global")
    )
    inputs = ModelInputs(tokenizer=families.tokenizer(), input_ids=read)
    recording = recording_from_outputs(outputs, inputs)
    assert len(recording.source) == count
    places = torch.arange(count)
    near = (places[:, None] - places).abs() <= 2
    near[:, global_places] = True
    expected = (query @ key.mT / 5**0.5).masked_fill(~near, -torch.inf).softmax(-1)
    if global_places:
        expected[:, global_places] = (query_global[:, global_places] @ key_global.mT / 5**0.5).softmax(-1)
    np.testing.assert_allclose(recording.attention.of("self")[0], expected.numpy(), atol=1e-5)
    np.testing.assert_allclose(recording.attention.of("self").sum(-1), 1, atol=1e-5)


@torch.no_grad()
def test_what_has_no_attention_is_refused_with_advice() -> None:
    read = torch.tensor([[3, 4, 1]])
    pixels = torch.randn(1, 3, 16, 16, generator=torch.Generator().manual_seed(2))
    pair = families.clip()(input_ids=read, pixel_values=pixels, output_attentions=True)
    for value, says in (
        (pair, r"several models.*show\(outputs.text_model_output, …\) or show\(outputs.vision_model_output, …\)"),
        (families.mamba()(read), "MambaOutput holds last_hidden_state.*a model without attention, such as Mamba"),
        (torch.nn.Linear(2, 2), "Linear is a model, but none of transformers.*Call it and give its weights"),
        (batch(), "these are inputs of a model"),
        ({}, "holds nothing"),
    ):
        with pytest.raises(RecordingError, match=says):
            require_arrays(value)
    for field in ("text_model_output", "vision_model_output"):
        options: dict[str, Any] = {"input_ids": read} if field[0] == "t" else {"pixel_values": pixels}
        recording = recording_from_outputs(pair[field], ModelInputs(tokenizer=families.tokenizer(), **options))
        assert len(recording.source) == (3 if field[0] == "t" else 5)


def test_outputs_without_attention_raise_with_advice() -> None:
    with torch.no_grad():
        outputs = families.bert()(batch()["input_ids"])
    assert has_attention(outputs)
    with pytest.raises(RecordingError, match="output_attentions=True"):
        recording_from_outputs(outputs, ModelInputs())
    assert not has_attention({"logits": 1})
    assert has_attention({"attentions": None})


def test_inputs_of_another_call_raise() -> None:
    with torch.no_grad():
        outputs = families.bert()(batch()["input_ids"], output_attentions=True)
    longer = torch.tensor([[3, 4, 5, 6, 7, 8, 9]])
    for options, says in (
        ({"input_ids": [3, 4]}, "input_ids has 2 tokens, but the maps have 6"),
        ({"input_ids": longer}, "input_ids has 7 tokens, but the maps have 6"),
        ({"attention_mask": torch.ones(2, 7)}, "attention mask has 7 tokens, but the maps have 6"),
    ):
        with pytest.raises(RecordingError, match=says):
            recording_from_outputs(outputs, ModelInputs(tokenizer=families.tokenizer(), **options))
    inputs = {name: batch()[name] for name in ("input_ids", "attention_mask")}
    with torch.no_grad():
        outputs = families.t5()(**inputs, decoder_input_ids=longer[:, :3].expand(2, 3), output_attentions=True)
    for ids in (longer, longer[:, :2]):
        with pytest.raises(RecordingError, match=r"decoder_input_ids has [27] tokens, but the decoder's maps have 3"):
            recording_from_outputs(outputs, ModelInputs(decoder_input_ids=ids, **inputs))


def test_transformers_is_never_imported() -> None:
    module = "headlight.model.recordings.transformers_outputs"
    code = f"import sys, {module}; print({{'torch', 'transformers'}} & set(sys.modules))"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "set()"
