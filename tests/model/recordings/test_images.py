"""Tokens of vision models have their place in the image, and the picture is what the model has read."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import headlight
from headlight.errors import RecordingError
from headlight.model.external.model_inputs import Example
from headlight.model.external.runs import run_model
from headlight.model.recordings.files import from_dict, to_dict
from headlight.model.recordings.images import MAX_SIDE, ImageLayout, Patches, PatchGrid, locate_patches, read_picture
from headlight.model.recordings.recording import Recording
from tests.model.recordings import families

RANDOM = np.random.default_rng(7)
SIZES: dict[str, Any] = {
    "hidden_size": 15, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 7, "patch_size": 8,
}  # fmt: skip
GRID = PatchGrid(2, 3, 16, 24)


def vision_model(name: str) -> Any:
    """A random model that reads images of 24 × 40 pixels, 3 × 5 patches."""
    kind, sizes = {
        "vit": ("ViT", {}),
        "deit": ("DeiT", {}),
        "registers": (
            "Dinov2WithRegisters",
            {"num_register_tokens": 4, "image_size": 40},
        ),  # it interpolates its positions
        "detection": ("Yolos", {"num_detection_tokens": 6}),
        "beit": ("Beit", {"use_relative_position_bias": True}),
    }[name]
    config = getattr(transformers, f"{kind}Config")(**{**SIZES, "image_size": (24, 40), **sizes})
    torch.manual_seed(3)
    return getattr(transformers, f"{kind}Model")(config).eval()


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("vit", ["[CLS]"], []),
        ("deit", ["[CLS]", "[REG1]"], []),
        ("registers", ["[CLS]", "[REG1]", "[REG2]", "[REG3]", "[REG4]"], []),
        ("detection", ["[CLS]"], [f"[DET{number}]" for number in range(1, 7)]),
        ("beit", ["[CLS]"], []),
    ],
)
def test_tokens_have_the_places_of_their_patches(name: str, before: list[str], after: list[str]) -> None:
    """A changed patch changes the embedding of the token that has its place, and of no other token."""
    model, pixels = vision_model(name), torch.rand(1, 3, 24, 40)
    recording = headlight.record(model, pixel_values=pixels)
    patches = [f"{row}·{column}" for row in range(1, 4) for column in range(1, 6)]
    assert [token.text for token in recording.source] == before + patches + after
    assert [token.special for token in recording.source].count(False) == 15
    picture = recording.picture
    assert picture is not None
    assert (picture.rows, picture.columns) == (3, 5)
    changed = pixels.clone()
    changed[:, :, 8:16, 24:32] += 1  # the second row, the fourth column
    with torch.no_grad():
        embeddings = [embed(model, image) for image in (pixels, changed)]
    (token,) = np.flatnonzero((embeddings[0] != embeddings[1]).any(-1)[0].numpy())
    assert recording.source[token].text == "2·4"
    assert picture.patch_indices[token] == 8


def embed(model: Any, pixels: torch.Tensor) -> torch.Tensor:
    """The input of the first layer."""
    states: list[torch.Tensor] = []
    layers = model.encoder.layer if hasattr(model, "encoder") else model.layers
    handle = layers[0].register_forward_pre_hook(lambda _, inputs: states.append(inputs[0]))
    model(pixels)
    handle.remove()
    return states[0]


def test_masked_autoencoder_names_the_patches_that_it_reads() -> None:
    config = transformers.ViTMAEConfig(**SIZES, image_size=24, mask_ratio=5 / 9, attn_implementation="eager")
    torch.manual_seed(5)
    model = transformers.ViTMAEModel(config).eval()
    outputs = model(torch.rand(1, 3, 24, 24), output_attentions=True)  # four of nine patches, which look like 2 × 2
    recording = headlight.record(outputs, pixel_values=torch.rand(1, 3, 24, 24))
    visible = [place for place in range(9) if outputs.mask[0, place] == 0]
    places = recording.picture.patch_indices if recording.picture is not None else ()
    assert sorted(place for place in places if place is not None) == visible
    assert places[0] is None
    assert [token.text for token in recording.source][1:] == [
        f"{place // 3 + 1}·{place % 3 + 1}" for place in places if place is not None
    ]


@pytest.mark.parametrize(
    ("count", "size", "grid", "first"),
    [
        (197, (224, 224), (14, 14), 1),
        (198, (224, 224), (14, 14), 2),  # a distilled model
        (261, (224, 224), (16, 16), 5),  # four registers
        (141, (224, 160), (14, 10), 1),
        (49, (224, 224), (7, 7), 0),
    ],
)
def test_grid_is_guessed_from_the_aspect_ratio(
    count: int, size: tuple[int, int], grid: tuple[int, int], first: int
) -> None:
    patches = locate_patches(count, size, ImageLayout())
    assert patches is not None
    assert patches.grid == (*grid, *size)
    assert patches.patch_indices == (None,) * first + tuple(range(grid[0] * grid[1]))
    assert locate_patches(count, (223, 101), ImageLayout()) is None


def test_known_grid_is_not_guessed() -> None:
    """Two by two patches after a class token and four registers are as many tokens as three by three patches."""
    layout = ImageLayout(is_known=True, grids=(PatchGrid(2, 2, 16, 16),))
    patches = locate_patches(9, (16, 16), layout)
    assert patches is not None
    assert patches.patch_indices == (None, None, None, None, None, 0, 1, 2, 3)
    assert locate_patches(3, (16, 16), layout) is None


def test_picture_has_the_colours_before_normalisation() -> None:
    image = RANDOM.integers(0, 256, (16, 24, 3)).astype(np.uint8)
    mean, deviation = [0.4, 0.5, 0.6], [0.2, 0.3, 0.25]
    values = ((image / 255 - mean) / deviation).transpose(2, 0, 1).astype(np.float32)
    processor = SimpleNamespace(do_normalize=True, image_mean=mean, image_std=deviation)
    places = Patches(GRID, (None, *range(6)))
    for reader in (processor, SimpleNamespace(image_processor=processor)):
        picture = read_picture(values, reader, places)
        assert picture is not None
        np.testing.assert_array_equal(picture.pixels, image)
    plain = read_picture((image / 255).transpose(2, 0, 1), None, places)
    assert plain is not None
    np.testing.assert_array_equal(plain.pixels, image)
    stretched = read_picture(values, None, places)
    assert stretched is not None
    low, high = values.min(), values.max()
    expected = [
        [[round(255 * (v - low) / (high - low)) for v in pixel] for pixel in row] for row in values.transpose(1, 2, 0)
    ]
    assert np.abs(stretched.pixels.astype(int) - expected).max() <= 1
    grey = read_picture((image[..., :1] / 255).transpose(2, 0, 1), None, places)
    assert grey is not None
    np.testing.assert_array_equal(grey.pixels, image[..., :1].repeat(3, axis=2))
    assert read_picture(np.zeros((6, 16, 24)), None, places) is None  # six channels are no colours


def test_picture_is_cropped_to_its_patches_and_small() -> None:
    image = RANDOM.integers(0, 256, (19, 30, 3)).astype(np.uint8)
    picture = read_picture((image / 255).transpose(2, 0, 1), None, Patches(GRID, tuple(range(6))))
    assert picture is not None
    np.testing.assert_array_equal(picture.pixels, image[:16, :24])
    padded = read_picture((image / 255).transpose(2, 0, 1), None, Patches(PatchGrid(3, 4, 24, 32), tuple(range(12))))
    assert padded is not None
    np.testing.assert_array_equal(padded.pixels[:19, :30], image)
    assert not padded.pixels[19:].any()
    large = RANDOM.random((3, 500, 300))
    small = read_picture(large, None, Patches(PatchGrid(5, 3, 500, 300), tuple(range(15))))
    assert small is not None
    assert small.pixels.shape == (MAX_SIDE, round(300 * MAX_SIDE / 500), 3)
    rows, columns = small.pixels.shape[:2]
    for row, column in ((0, 0), (100, 77), (rows - 1, columns - 1)):
        top, bottom = (each * 500 // rows for each in (row, row + 1))
        left, right = (each * 300 // columns for each in (column, column + 1))
        mean = large[:, top:bottom, left:right].mean(axis=(1, 2)) * 255
        assert np.abs(small.pixels[row, column] - mean).max() <= 1


def test_picture_is_stored_with_the_maps() -> None:
    recording = headlight.record(vision_model("registers"), pixel_values=torch.rand(1, 3, 24, 40))
    values = to_dict(recording)
    read: Recording = from_dict(values)
    assert read.picture is not None
    assert recording.picture is not None
    np.testing.assert_array_equal(read.picture.pixels, recording.picture.pixels)
    assert read.picture.patch_indices == recording.picture.patch_indices
    for changes, says in (
        ({"patches": values["patches"][:-1]}, "patches for 19 tokens, but there are 20"),
        ({"patches": [1, 2, *values["patches"][2:]]}, "an index outside its grid of 1 × 2 patches"),
        ({"picture": [1, 2]}, r"the shape \(height, width, 3\), not \(2,\)"),
        ({"picture": "cat"}, "do not describe an image and its patch grid"),
        ({"picture": [[[1.0, 2.0, 256.0]]]}, "whole numbers from 0 to 255"),
        ({"picture": np.full((2, 2, 3), 0.5)}, "whole numbers from 0 to 255"),
        ({"patches": [-3, -7, *values["patches"][2:]]}, "an index outside its grid of -3 × -7 patches"),
    ):
        with pytest.raises(RecordingError, match=says):
            from_dict({**values, **changes})
    assert from_dict({name: value for name, value in values.items() if name != "picture"}).picture is None


def test_texts_and_videos_have_no_picture(tmp_path: Path) -> None:
    recording = headlight.record(families.bert(), families.tokenizer(), "the cat")
    assert recording.picture is None
    (run,) = run_model(families.vit(), None, Example(tensors={"pixel_values": torch.rand(1, 3, 24, 24)}))
    video = Recording(recording.maps, recording.source, recording.source_text)
    assert video.picture is None
    assert run.recording().picture is not None
    path = tmp_path / "maps.npz"
    headlight.show(families.vit(), image=torch.rand(3, 24, 24)).save(path)
    assert headlight.record(path).picture is not None


def test_both_halves_of_clip_have_their_own_tokens() -> None:
    text, image = headlight.show(
        families.clip(), families.tokenizer(), "the cat", pixel_values=torch.rand(1, 3, 16, 16)
    ).sources
    assert isinstance(text, Recording)
    assert isinstance(image, Recording)
    assert (text.picture, image.picture is None) == (None, False)


def test_cross_attention_has_the_patches_of_the_encoder() -> None:
    pixels = torch.rand(1, 3, 24, 24)
    recording = headlight.record(families.pair("picture"), families.tokenizer(), pixel_values=pixels, target="a dog")
    assert recording.picture is not None
    assert recording.picture.patch_indices == (None, *range(9))
    weights = recording.attention_map("cross", 1, 0).weights[1]
    np.testing.assert_array_equal(recording.picture.patch_weights(weights), weights[1:].reshape(3, 3))


def test_image_tokens_of_a_text_are_its_patches() -> None:
    """LLaVA reads 3 × 3 patches as tokens of its text; the others have no place."""
    vision = transformers.CLIPVisionConfig(**SIZES, image_size=24)
    text = transformers.LlamaConfig(
        hidden_size=16, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, intermediate_size=8,
        **families.SIZES,
    )  # fmt: skip
    config = transformers.LlavaConfig(vision_config=vision, text_config=text, image_token_index=9)
    torch.manual_seed(5)
    model = transformers.LlavaForConditionalGeneration(config).eval()
    ids = torch.tensor([[2, 3, *[9] * 9, 4]])
    pixels = torch.rand(1, 3, 24, 24)
    recording = headlight.record(model, input_ids=ids, pixel_values=pixels)
    assert recording.picture is not None
    assert recording.picture.patch_indices == (None, None, *range(9), None)
    np.testing.assert_array_equal(recording.picture.pixels, np.rint(255 * pixels[0].numpy().transpose(1, 2, 0)))
    without = headlight.record(model, input_ids=ids[:, :2])
    assert without.picture is None


def test_tokens_in_another_order_are_numbered() -> None:
    """Hiera orders patches by mask units, so their places in the image are not those of a grid."""
    config = transformers.HieraConfig(
        image_size=[64, 64], embed_dim=12, depths=[1, 1, 1, 1], attn_implementation="eager"
    )
    torch.manual_seed(5)
    model, pixels = transformers.HieraModel(config).eval(), torch.rand(1, 3, 64, 64)
    with torch.no_grad():
        outputs = model(pixels, output_attentions=True)
    for recording in (
        headlight.record(model, pixel_values=pixels),
        headlight.record(outputs, pixel_values=pixels, layers=[0]),
    ):
        assert recording.picture is None
        assert [token.text for token in recording.source][:3] == ["1", "2", "3"]


def test_merged_keys_are_refused_with_advice() -> None:
    config = transformers.SegformerConfig(
        hidden_sizes=[8] * 4, depths=[1] * 4, num_attention_heads=[1, 2, 2, 2], attn_implementation="eager"
    )
    torch.manual_seed(5)
    model, pixels = transformers.SegformerModel(config).eval(), torch.rand(1, 3, 64, 64)
    with pytest.raises(RecordingError, match=r"256 rows and 4 columns: the model merges .* show\(cross="):
        headlight.record(model, pixel_values=pixels)
    with torch.no_grad():
        outputs = model(pixels, output_attentions=True)
    with pytest.raises(RecordingError, match="the model merges"):
        headlight.record(outputs, pixel_values=pixels, layers=[0])
    recording = headlight.record(cross=outputs.attentions[:1])
    np.testing.assert_array_equal(recording.attention.of("cross")[0], outputs.attentions[0][0].numpy())
