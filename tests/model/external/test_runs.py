"""`show(model, tokenizer, text)` shows what a plain call of the model returns, and leaves the model as it was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import transformers

import headlight
from headlight.errors import RecordingError
from headlight.model.external.attention_sites import format_layer_ranges, record_sites
from headlight.model.recordings.recording import Recording
from headlight.model.records import MapKind
from tests.model.recordings import families

TEXT = "the cat sat on a mat"
WORDS = TEXT.split()


def names(tokens: Any) -> list[str]:
    return [token.text for token in tokens]


def remarks(recording: Recording) -> dict[str, Any]:
    return {remark.word: dict(remark.values) for remark in recording.remarks}


def plain_call(model: Any, **inputs: Any) -> Any:
    """The outputs of a copy of the model with eager attention, without Headlight."""
    config = type(model.config).from_dict(model.config.to_dict(), attn_implementation="eager")
    eager = type(model)(config).eval()
    eager.load_state_dict(model.state_dict())
    with torch.no_grad():
        return eager(**inputs, output_attentions=True)


def assert_maps(recording: Recording, kind: MapKind, layers: Any) -> None:
    expected = np.stack([layer[0].numpy() for layer in layers])
    np.testing.assert_allclose(recording.attention.of(kind), expected, atol=1e-6)


@pytest.mark.parametrize("family", ["fused_gpt2", "bert", "llama", "gemma2", "jamba", "albert"])
def test_model_reads_text_with_eager_attention(family: str) -> None:
    model = getattr(families, family)()
    encoded = families.tokenizer()(TEXT, return_tensors="pt")
    recording = headlight.record(model, families.tokenizer(), TEXT)
    assert (recording.kinds, names(recording.source), recording.name) == (("self",), WORDS, type(model).__name__)
    assert_maps(recording, "self", plain_call(model, input_ids=encoded["input_ids"]).attentions)


@pytest.mark.parametrize("kind", ["Electra", "Albert", "Deberta", "DebertaV2"])
def test_classifiers_are_shown(kind: str) -> None:
    model, tokenizer = families.classifier(kind), families.tokenizer()
    recording = headlight.record(model, tokenizer, TEXT)
    assert (names(recording.source), recording.name) == (WORDS, f"{kind}ForSequenceClassification")
    ids = tokenizer(TEXT, return_tensors="pt")["input_ids"]
    assert_maps(recording, "self", plain_call(model, input_ids=ids).attentions)


def test_t5gemma_writes_or_reads_a_text() -> None:
    model, tokenizer = families.t5gemma(), families.tokenizer()
    recording = headlight.record(model, tokenizer, TEXT, target="a dog ran")
    assert (names(recording.source), names(recording.target)) == (WORDS, ["a", "dog", "ran"])
    inputs = {
        "input_ids": tokenizer(TEXT, return_tensors="pt")["input_ids"],
        "decoder_input_ids": torch.tensor([[token.id for token in recording.decoder_inputs or ()]]),
    }
    with torch.no_grad():
        expected = model(**inputs, output_attentions=True)
    for kind in ("encoder", "decoder", "cross"):
        assert_maps(recording, kind, expected[f"{kind}_attentions"])
    assert headlight.record(model, tokenizer, TEXT, generate=3).of("cross").shape[2] <= 3


def test_model_is_left_as_it_was() -> None:
    model = families.fused_gpt2()
    model.train()
    model.transformer.h[0].eval()
    modes = [module.training for module in model.modules()]
    hooks = [len(module._forward_hooks) + len(module._forward_pre_hooks) for module in model.modules()]
    headlight.show(model, families.tokenizer(), TEXT)
    with pytest.raises(RecordingError):
        headlight.show(model, families.tokenizer(), TEXT * 9)
    assert modes == [module.training for module in model.modules()]
    assert hooks == [len(module._forward_hooks) + len(module._forward_pre_hooks) for module in model.modules()]
    assert model.config._attn_implementation == "sdpa"
    model.eval()


def test_submodels_get_their_own_implementation_back() -> None:
    model = families.clip()
    model.set_attn_implementation({"": "sdpa", "text_config": "eager", "vision_config": "sdpa"})
    headlight.show(model, families.tokenizer(), TEXT, pixel_values=torch.rand(1, 3, 16, 16))
    parts = (model.config, model.config.text_config, model.config.vision_config)
    assert [part._attn_implementation for part in parts] == ["sdpa", "eager", "sdpa"]
    model.set_attn_implementation("eager")  # the model is shared between tests


def test_layers_with_a_copied_configuration_are_switched() -> None:
    """`EncoderDecoderModel` replaces the configurations of its parts, but not those of their layers."""
    sizes: dict[str, Any] = {"hidden_size": 15, "num_hidden_layers": 2, "num_attention_heads": 3, **families.SIZES}
    torch.manual_seed(7)
    encoder = transformers.BertModel(transformers.BertConfig(intermediate_size=7, **sizes)).eval()
    config = transformers.GPT2Config(
        n_embd=15, n_layer=2, n_head=3, n_positions=32, is_decoder=True, add_cross_attention=True, **families.SIZES
    )
    model = transformers.EncoderDecoderModel(encoder=encoder, decoder=transformers.GPT2LMHeadModel(config)).eval()
    layer = model.encoder.encoder.layer[0].attention.self
    assert layer.config is not model.encoder.config
    model.config.decoder_start_token_id = 2
    recording = headlight.record(model, families.tokenizer(), TEXT, target="a dog")
    assert recording.kinds == ("encoder", "decoder", "cross")
    assert layer.config._attn_implementation == model.encoder.config._attn_implementation == "sdpa"
    ids = families.tokenizer()(TEXT, return_tensors="pt")["input_ids"]
    assert_maps(recording, "encoder", plain_call(encoder, input_ids=ids).attentions)


def test_hybrid_layers_keep_their_numbers() -> None:
    view = headlight.show(families.jamba(), families.tokenizer(), TEXT, layer=4)
    (recording,) = view.sources
    assert isinstance(recording, Recording)
    assert recording.of("self").numbers == (1, 4)
    assert remarks(recording)["no_attention"] == {"layers": "1, 3–4, 6"}
    generated = headlight.record(families.jamba(), families.tokenizer(), TEXT, generate=3)
    assert generated.of("self").numbers == (1, 4)
    with pytest.raises(RecordingError, match="layer must be one of 1, 4"):
        headlight.show(families.jamba(), families.tokenizer(), TEXT, layer=0)


def test_swin_layers_are_numbered_by_their_blocks() -> None:
    pixels = torch.rand(3, 16, 16)
    recording = headlight.record(families.deep_swin(), image=pixels)
    assert recording.of("self").numbers == (1,)  # the other stage has maps of another shape
    assert recording.of("self").shape == (
        1,
        2,
        16,
        16,
    )  # the four windows together: tests/model/external/test_windows.py
    assert remarks(recording)["shifted_windows"] == {"layers": "2", "size": 2, "shift": 1}
    assert "no_attention" not in remarks(recording)
    expected = plain_call(families.deep_swin(), pixel_values=pixels[None]).attentions
    assert_maps(headlight.record(families.deep_swin(), image=pixels, layers=[3]), "self", expected[1:])


def test_sliding_windows_are_named_if_the_text_is_longer() -> None:
    recording = headlight.record(families.gemma2(), families.tokenizer(), TEXT)
    assert remarks(recording)["sliding"] == {"layers": "1, 3", "window": 3}
    layers = recording.attention.of("self")
    assert not layers[[0, 2], :, 3:, 0].any()
    assert layers[[1, 3], :, 3:, 0].all()
    assert remarks(headlight.record(families.gemma2(), families.tokenizer(), "the cat sat")) == {}


@pytest.mark.parametrize("family", ["t5", "bart", "marian"])
def test_encoder_decoder_writes_or_reads_a_text(family: str) -> None:
    model, tokenizer = getattr(families, family)(), families.tokenizer()
    recording = headlight.record(model, tokenizer, TEXT, target="a dog ran")
    assert names(recording.source) == WORDS
    assert names(recording.target) == ["a", "dog", "ran"]  # a row is the token that the decoder writes
    start = model.generation_config.decoder_start_token_id
    ids = tokenizer("a dog ran", return_tensors="pt")["input_ids"]
    read_ids = torch.cat([torch.tensor([[start]]), ids[:, :-1]], dim=1)
    assert [token.id for token in recording.decoder_inputs or ()] == read_ids[0].tolist()
    inputs = {"input_ids": tokenizer(TEXT, return_tensors="pt")["input_ids"], "decoder_input_ids": read_ids}
    expected = plain_call(model, **inputs)
    for kind in recording.kinds:
        assert_maps(recording, kind, expected[f"{kind}_attentions"])
    tokens = headlight.record(model, tokenizer, TEXT, generate={"max_new_tokens": 4, "num_beams": 2})
    assert tokens.of("cross").shape[2] <= 4
    assert "beam" in remarks(tokens)


def test_decoder_only_model_writes_on_request() -> None:
    model, tokenizer = families.fused_gpt2(), families.tokenizer()
    recording = headlight.record(model, tokenizer, TEXT, generate=3)
    ids = tokenizer(TEXT, return_tensors="pt")["input_ids"]
    tokens = model.generate(ids, max_new_tokens=3, attention_mask=torch.ones_like(ids))
    assert [token.id for token in recording.source] == tokens[0, :-1].tolist()
    assert_maps(recording, "self", plain_call(model, input_ids=tokens[:, :-1]).attentions)


def test_pairs_lists_and_prepared_inputs_are_read() -> None:
    model, tokenizer = families.bert(), families.tokenizer()
    assert names(headlight.record(model, tokenizer, "the cat", text_pair="a dog").source) == ["the", "cat", "a", "dog"]
    assert names(headlight.record(model, tokenizer, [TEXT, "a dog"], batch=1).source) == ["a", "dog"]
    first = headlight.record(model, tokenizer, [TEXT, "a dog"])
    assert (names(first.source), remarks(first)["batch"]) == (WORDS, {"number": 1, "count": 2})
    padded = tokenizer("a dog", return_tensors="pt", padding="max_length", max_length=5)
    recording = headlight.record(model, tokenizer, **padded)
    assert names(recording.source) == ["a", "dog"]
    assert remarks(recording) == {"padding": {"count": 3}}
    assert names(headlight.record(model, tokenizer, "a dog", tokens=["A", "B"], layers=[1]).source) == ["A", "B"]


def test_both_halves_of_clip_are_shown() -> None:
    model, tokenizer, pixels = families.clip(), families.tokenizer(), torch.rand(1, 3, 16, 16)
    text, image = headlight.show(model, tokenizer, TEXT, pixel_values=pixels).sources
    assert isinstance(text, Recording)
    assert isinstance(image, Recording)
    assert (text.name, image.name) == ("CLIPModel: text", "CLIPModel: vision")
    assert (names(text.source), names(image.source)) == (WORDS, ["[CLS]", "1·1", "1·2", "2·1", "2·2"])
    ids = tokenizer(TEXT, return_tensors="pt")["input_ids"]
    with torch.no_grad():
        expected = model(input_ids=ids, pixel_values=pixels, output_attentions=True)
    assert_maps(text, "self", expected.text_model_output.attentions)
    assert_maps(image, "self", expected.vision_model_output.attentions)
    for single, part in (
        (headlight.record(model, tokenizer, TEXT), text),
        (headlight.record(model, pixel_values=pixels), image),
        (headlight.record(model, tokenizer, TEXT, pixel_values=pixels, part="vision"), image),
    ):
        np.testing.assert_allclose(single.attention.of("self"), part.attention.of("self"), atol=1e-6)
    with pytest.raises(RecordingError, match="Choose one: part='text'"):
        headlight.record(model, tokenizer, TEXT, pixel_values=pixels)


@pytest.mark.parametrize("family", ["vit", "longformer", "whisper", "words", "picture"])
def test_other_families_run(family: str) -> None:
    tokenizer, pixels = families.tokenizer(), torch.rand(1, 3, 24, 24)
    if family in ("words", "picture"):
        model: Any = families.pair(family)
        inputs = {"text": TEXT} if family == "words" else {"pixel_values": pixels}
        recording = headlight.record(model, tokenizer, **inputs, target="a dog")
        assert (recording.kinds, names(recording.target)) == (("encoder", "decoder", "cross"), ["a", "dog"])
    elif family == "whisper":
        recording = headlight.record(families.whisper(), tokenizer, input_features=torch.rand(1, 4, 22), generate=4)
        assert names(recording.source)[:2] == ["0.00", "0.02"]
    else:
        inputs_by_name = {"image": pixels[0]} if family == "vit" else {"text": TEXT, "tokenizer": tokenizer}
        recording = headlight.record(getattr(families, family)(), **inputs_by_name)
        assert names(recording.source)[:2] == (["[CLS]", "1·1"] if family == "vit" else WORDS[:2])


@pytest.mark.parametrize("kind", ["Bart", "MBart", "T5"])
def test_classifiers_with_a_decoder_read_the_text_twice(kind: str) -> None:
    tokenizer = families.tokenizer()
    sizes: dict[str, Any] = {"num_heads": 2, "num_layers": 1, "d_ff": 8, "d_kv": 4}
    if kind != "T5":
        sizes = {
            "encoder_layers": 1, "decoder_layers": 2, "encoder_attention_heads": 2, "decoder_attention_heads": 2,
            "encoder_ffn_dim": 8, "decoder_ffn_dim": 8, "max_position_embeddings": 32,
        }  # fmt: skip
    torch.manual_seed(3)
    config = getattr(transformers, f"{kind}Config")(d_model=8, decoder_start_token_id=2, **sizes, **families.SIZES)
    model = getattr(transformers, f"{kind}ForSequenceClassification")(config).eval()
    text = f"{TEXT} </s>"
    recording = headlight.record(model, tokenizer, text)
    ids = tokenizer(text, return_tensors="pt")["input_ids"]
    expected = plain_call(model, input_ids=ids)
    for part, name in (("encoder", "encoder"), ("decoder", "decoder"), ("cross", "cross")):
        assert_maps(recording, part, expected[f"{name}_attentions"])  # type: ignore[arg-type]
    first = "</s>" if kind == "MBart" else "<s>"
    assert names(recording.source) == text.split()
    assert names(recording.target) == [first, *WORDS]


def test_windows_of_led_are_whole_maps_when_it_writes() -> None:
    model, tokenizer = families.led(), families.tokenizer()
    answer = headlight.record(model, tokenizer, TEXT, generate=3)
    read = headlight.record(model, tokenizer, TEXT, target="a dog")
    np.testing.assert_allclose(answer.attention.of("encoder"), read.attention.of("encoder"), atol=1e-6)
    assert answer.attention.of("encoder").shape == (2, 3, 6, 6)
    ids = tokenizer(TEXT, return_tensors="pt")["input_ids"]
    with pytest.raises(RecordingError, match="does not return the weights of tokens with global attention"):
        headlight.record(model, tokenizer, input_ids=ids, global_attention_mask=torch.eye(6, dtype=torch.long)[:1])


def test_padding_of_big_bird_to_whole_blocks_is_removed() -> None:
    text, tokenizer = " ".join([TEXT] * 7), families.tokenizer()  # 42 tokens, a multiple of neither 4 nor 36
    model = families.big_bird("block_sparse")
    recording = headlight.record(model, tokenizer, text)
    assert recording.attention.of("self").shape == (2, 4, 42, 42)
    with torch.no_grad():
        layers = model(**tokenizer(text, return_tensors="pt"), output_attentions=True).attentions
    assert layers[0].shape[-1] == 44
    assert_maps(recording, "self", [layer[:, :, :42, :42] for layer in layers])
    assert headlight.record(families.big_bird("original_full"), tokenizer, TEXT).of("self").shape == (2, 4, 6, 6)


def test_empty_cross_attention_of_a_lone_decoder_is_left_out() -> None:
    recording = headlight.record(families.prophet_decoder(), families.tokenizer(), TEXT)
    assert (recording.kinds, recording.of("self").shape) == (("self",), (2, 4, 6, 6))


def test_mistakes_in_the_code_of_a_model_stay_visible(monkeypatch: pytest.MonkeyPatch) -> None:
    model = families.fused_gpt2()

    def fail(*_: Any, **__: Any) -> None:
        raise IndexError("list index out of range")

    monkeypatch.setattr(model, "forward", fail)
    with pytest.raises(IndexError, match="list index"):
        headlight.record(model, families.tokenizer(), input_ids=torch.tensor([[3]]))


class Processor:
    """An image processor: a fixed size, channels first."""

    model_input_names = ("pixel_values",)

    def __call__(self, images: Any, return_tensors: str) -> dict[str, Any]:
        return {"pixel_values": torch.as_tensor(images, dtype=torch.float32).permute(2, 0, 1)[None] / 255}


def test_images_are_read_by_the_processor() -> None:
    image = np.random.default_rng(5).integers(0, 255, (24, 24, 3))
    recording = headlight.record(families.vit(), Processor(), image=image)
    pixels = torch.tensor(image.transpose(2, 0, 1)[None] / 255, dtype=torch.float32)
    assert_maps(recording, "self", plain_call(families.vit(), pixel_values=pixels).attentions)


def without_start() -> Any:
    """A T5 without the token that its decoder begins with."""
    config = transformers.T5Config(d_model=8, d_kv=4, num_heads=2, d_ff=8, num_layers=1, vocab_size=13)
    return transformers.T5ForConditionalGeneration(config)


def test_errors_say_what_to_do() -> None:
    model, tokenizer, pixels = families.fused_gpt2(), families.tokenizer(), np.zeros((24, 24, 3))
    for call, says in (
        (lambda: headlight.show(families.mamba(), tokenizer, TEXT), "MambaModel returned no attention.*MambaBlock"),
        (
            lambda: headlight.show(families.mobile_net(), image=torch.rand(3, 32, 32)),
            "MobileNetV1Model returned no attention.*attends to patches, such as ViT",
        ),
        (lambda: headlight.show(families.data2vec(), image=torch.rand(3, 16, 16)), "Load it with attn_implement"),
        (lambda: headlight.show(families.big_bird("block_sparse"), tokenizer, TEXT), "attention_type='original_full'"),
        (lambda: headlight.show(without_start(), tokenizer, TEXT), "has no decoder_start_token_id.*Set it"),
        (
            lambda: headlight.show(families.vit(), tokenizer, TEXT),
            r"ViTModel reads pixel_values, and none of input_ids.*show\(model, processor, image=image\)",
        ),
        (lambda: headlight.show(families.whisper(), tokenizer, TEXT), "input_features=features"),
        (lambda: headlight.record(model, tokenizer, TEXT, kind="self"), r"kind= selects what show\(\) opens"),
        (lambda: headlight.roles(model, tokenizer, [TEXT], head=1), r"head= selects what show\(\) opens"),
        (lambda: headlight.show(model, TEXT), "second argument is the tokenizer, but a text was given"),
        (lambda: headlight.show(model), "Give it something to read"),
        (lambda: headlight.show(model, text=TEXT), "give its tokenizer or processor"),
        (lambda: headlight.show(model, tokenizer, "the " * 40), "40 tokens, but GPT2LMHeadModel reads at most 32"),
        (lambda: headlight.show(model, tokenizer, input_ids=torch.tensor([[99]])), "no embedding for one of the ids"),
        (lambda: headlight.show(families.vit(), Processor(), image="cat.png"), "Open it first"),
        (lambda: headlight.show(model, tokenizer, image=pixels), "reads no images.*AutoImageProcessor"),
        (lambda: headlight.show(families.bert(), tokenizer, TEXT, generate=3), "BertModel cannot write a text"),
        (lambda: headlight.show(model, tokenizer, TEXT, haed=2), "Unknown argument 'haed'. Did you mean head"),
        (lambda: headlight.show(model, tokenizer, TEXT, encoder=np.eye(2)), "does not read encoder"),
        (lambda: headlight.show(model, tokenizer, TEXT, batch=1), "batch= selects one of several sentences"),
        (lambda: headlight.show(model, tokenizer, [TEXT], batch=3), "batch must be one of 0, but 3"),
        (lambda: headlight.show(model, tokenizer, TEXT, part="text"), "has no parts"),
        (lambda: headlight.show(np.eye(2), tokenizer, TEXT), "text= is for a model"),
        (lambda: headlight.show(torch.nn.Linear(2, 2), tokenizer, TEXT), "none of transformers"),
        (
            lambda: headlight.show(
                families.whisper(), tokenizer, input_features=torch.rand(1, 4, 22), generate={"max_new_tokens": 99}
            ),
            "generate refused its options",
        ),
    ):
        with pytest.raises(RecordingError, match=says):
            call()


def test_layers_of_nested_lists_are_counted_once() -> None:
    """The lists inside a layer of T5 are its parts; the lists inside a stage of Swin are layers."""
    ids = torch.tensor([[3, 4, 5]])
    with record_sites(families.t5()) as sites, torch.no_grad():
        outputs = families.t5()(input_ids=ids, decoder_input_ids=ids, output_attentions=True)
        assert sites.find_layer_numbers(outputs.cross_attentions) == ([0, 1], 2)
        assert sites.find_layer_numbers([torch.rand(1, 3, 3, 3)]) is None
    assert format_layer_ranges([0, 1, 2, 4, 6, 7]) == "1–3, 5, 7–8"


def test_patterns_of_a_transformer_lens_cache_keep_their_layers() -> None:
    weights = torch.softmax(torch.randn(2, 1, 3, 4, 4), dim=-1)
    cache = {f"blocks.{layer}.attn.hook_pattern": part for layer, part in zip((1, 3), weights, strict=True)}
    recording = headlight.record({**cache, "blocks.1.hook_resid_pre": 0}, tokens=list("abcd"), layers=[3])
    assert recording.of("self").numbers == (3,)
    np.testing.assert_array_equal(recording.attention.of("self")[0], weights[1, 0].numpy())
    assert headlight.record(cache).of("self").numbers == (1, 3)
    names = {"encoder.0.attn": "encoder", "decoder.0.attn": "decoder", "decoder.0.cross_attn": "cross"}
    two_stacks = {f"{name}.hook_pattern": weights[0] for name in names}
    assert headlight.record(two_stacks).kinds == ("encoder", "decoder", "cross")
    with pytest.raises(RecordingError, match=r"no hook_pattern.*names_filter"):
        headlight.show({"blocks.0.hook_resid_pre": 0})
    with pytest.raises(RecordingError, match="to_str_tokens"):
        headlight.show(cache, tokenizer=object())
