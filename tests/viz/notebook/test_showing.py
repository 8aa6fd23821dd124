"""`show`, `compare` and `figure`: views contain their inputs, and selections are synchronised."""

from __future__ import annotations

import base64
import io
import json
import re
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
from PIL import Image

import headlight
from headlight import Intervention, Translation, Translator
from headlight.model.recordings.recording import RecordingError
from headlight.model.translate.judge import Judge
from headlight.viz.browser_files.static_files import WIDGETS, module
from headlight.viz.export.png import encode_png
from headlight.viz.figure_phrases import phrases
from headlight.viz.figures import FIGURES
from headlight.viz.notebook import view as view_module
from headlight.viz.notebook.iframe import HOST_MODULE, bundle_code, frame_page, used_phrases, widget_module
from headlight.viz.notebook.recording_json import THUMBNAIL_CELLS, HeadServer, count_weights, downsample
from headlight.viz.notebook.thumbnail import wall_pixels
from headlight.viz.service.weight_encoding import LEVELS, compress_weights, make_level_codes
from tests.model.recordings import families
from tests.model.recordings.test_outputs import batch
from tests.model.recordings.test_reading import softmax

CAUSAL = softmax((2, 3, 7, 7), mask=np.tri(7))
NAMES = ["the", "cat", "sat", "on", "a", "red", "mat"]


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load("toy", device="cpu")


@pytest.fixture(scope="module")
def translation(translator: Translator) -> Translation:
    return translator.translate("ich mochte ein bier", beam_size=2)


def page_data(view: Any) -> dict[str, Any]:
    """The data in the page of a view."""
    match = re.search(r"globalThis\.headlightData = (.*?);</script>", view.page())
    assert match is not None
    values: dict[str, Any] = json.loads(match[1])
    return values


def unpacked(content: bytes, shape: tuple[int, ...]) -> np.ndarray:
    """The weights again, each in the middle of its cell, as the browser has them."""
    planes = np.frombuffer(zlib.decompress(content), dtype=np.uint8).reshape(2, -1).astype(int)
    places = planes[0] + 256 * planes[1]
    middles = np.bincount(make_level_codes(), np.arange(LEVELS + 1) + 0.5) / np.bincount(make_level_codes()) / LEVELS
    middles[0], middles[-1] = 0, 1
    return middles[places].reshape(shape)


def test_html_has_weights_to_four_decimals() -> None:
    values = page_data(headlight.show(CAUSAL, tokens=NAMES, row=3))
    (view,) = values["views"]
    assert view["kinds"]["self"]["shape"] == [2, 3, 7, 7]
    assert [token["label"] for token in view["source"]] == NAMES
    assert values["selection"] == {"kind": "self", "layer": 0, "head": 0, "row": 3, "column": None}
    weights = unpacked(base64.b64decode(values["maps"]["0 self"]), CAUSAL.shape)
    for digits in (2, 3, 4):  # displayed numbers are the rounded weights
        texts = [f"{weight:.{digits}f}" for weight in weights.ravel()]
        assert texts == [f"{weight:.{digits}f}" for weight in CAUSAL.astype(float).ravel()]
    assert view["kinds"]["self"]["allowed"] == "".join(str(int(each)) for each in np.tri(7).ravel())


def test_html_of_twelve_layers_is_below_four_megabytes() -> None:
    view = headlight.show(softmax((12, 12, 128, 128)))
    assert len(view._repr_html_().encode()) < 4_000_000


def test_too_large_view_loads_heads_on_demand() -> None:
    row = softmax((512, 512))
    view = headlight.show(np.broadcast_to(row, (48, 48, 512, 512)), language="zh")
    html = view._repr_html_()
    assert len(html) < 1000
    assert "anywidget" in html
    with pytest.raises(RecordingError, match="layers="):
        view.page()
    heads = HeadServer(view.sources[0])
    shape, content = heads.maps_for("self", [{"layer": 30, "head": 17}], small=False)
    assert shape == [512, 512]
    np.testing.assert_allclose(unpacked(content, (512, 512)), row, atol=1 / LEVELS)
    places = [{"layer": "mean", "head": "mean"}, {"layer": 1, "head": "max"}]
    shape, content = heads.maps_for("self", places, small=True)
    assert shape == [THUMBNAIL_CELLS, THUMBNAIL_CELLS]
    np.testing.assert_allclose(
        unpacked(content, (2, THUMBNAIL_CELLS, THUMBNAIL_CELLS)), [downsample(row)] * 2, atol=1 / LEVELS
    )
    one = headlight.show(np.broadcast_to(row, (48, 48, 512, 512)), layers=[3])
    assert one.sources[0].of("self").numbers == (3,)


def test_thumbnails_are_max_pooled() -> None:
    weights = np.zeros((100, 7), dtype=np.float32)
    weights[99, 6], weights[50, 0] = 0.5, 0.25
    small = downsample(weights)
    assert small.shape == (THUMBNAIL_CELLS, 7)
    assert (small[-1, 6], small[24, 0], small.sum()) == (0.5, 0.25, 0.75)


def test_widget_and_view_share_state() -> None:
    view = headlight.show(CAUSAL, tokens=NAMES)
    view.head = 2  # before there is a widget
    assert view.widget.head == 2
    view.layer = 1
    assert view.widget.layer == 1
    changes: list[Any] = []
    view.widget.observe(lambda change: changes.append(change["new"]), "row")
    view.widget.row = 4  # as the browser does
    assert (view.row, changes) == (4, [4])
    sent: list[Any] = []
    view.widget.send = lambda message, buffers: sent.append((message, buffers))
    request = {"what": "maps", "place": 0, "kind": "self", "small": False, "heads": [{"layer": 1, "head": 2}]}
    view.widget._on_message(view.widget, request, [])
    ((message, (content,)),) = sent
    assert (message["kind"], message["heads"], message["shape"]) == ("self", request["heads"], [7, 7])
    np.testing.assert_allclose(unpacked(content, (7, 7)), CAUSAL[1, 2], atol=1 / LEVELS)
    view.widget._on_message(view.widget, {"what": "else"}, [])
    assert len(sent) == 1
    assert view._display_() is view.widget  # what marimo shows
    data, _ = view._repr_mimebundle_()
    assert set(data) == {"text/html", "text/plain", "image/svg+xml", "application/vnd.jupyter.widget-view+json"}


def test_without_anywidget_view_is_html() -> None:
    code = (
        "import sys; sys.modules['anywidget'] = None\n"
        "import importlib.util as util; found = util.find_spec\n"
        "util.find_spec = lambda name, *more: None if name == 'anywidget' else found(name, *more)\n"
        "import numpy as np, headlight\n"
        "view = headlight.show(np.full((1, 1, 2, 2), .5))\n"
        "view.head = 0\n"
        "assert view._display_()._repr_html_() == view._repr_html_()\n"
        "print(*sorted(view._repr_mimebundle_()), *{'torch', 'gradio', 'transformers'} & set(sys.modules))"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert process.stdout.split() == ["image/svg+xml", "text/html", "text/plain"], process.stderr


def test_translation_view_matches_page(translation: Translation, tmp_path: Path) -> None:
    values = page_data(headlight.show(translation, kind="encoder", layer="mean", head="max"))
    (view,) = values["views"]
    assert view["what"] == "answer"
    assert view["text"] == translation.text
    assert view["roles"]["encoder"]
    assert (values["selection"]["layer"], values["selection"]["head"]) == ("mean", "max")
    for form in ("html", "npz", "json"):
        headlight.show(translation).save(tmp_path / f"view.{form}")
    assert headlight.show(str(tmp_path / "view.npz")).sources[0].text == translation.text
    with pytest.raises(RecordingError, match=r"\.html, \.npz and \.json"):
        headlight.show(translation).save(tmp_path / "view.txt")


def test_two_views_are_compared(translator: Translator, translation: Translation) -> None:
    removed = Intervention(kind="cross", layer=0, head=0, action="remove")
    target = tuple(token.id for token in translation.target_tokens)
    other = translator.translate("ich mochte ein bier", target=target, interventions=[removed])
    values = page_data(headlight.compare(translation, other, layer=0, head=0))
    first, second = values["views"]
    assert first["source"] == second["source"]
    assert first["before"][0]["special"]
    assert set(values["maps"]) == {f"{place} {kind}" for place in (0, 1) for kind in ("encoder", "decoder", "cross")}
    assert [word for word, _ in second["remarks"]] == ["sums"]


def test_model_outputs_and_classifications_are_shown() -> None:
    inputs = batch()
    outputs = families.bert()(input_ids=inputs["input_ids"], output_attentions=True)
    view = headlight.show(outputs, tokenizer=families.tokenizer(), **inputs)
    assert [token["label"] for token in page_data(view)["views"][0]["source"]] == [
        "the",
        "cat",
        "sat",
        "on",
        "a",
        "mat",
    ]
    judgement = Judge.load("sentiment").judge("A quiet film.")
    (recording,) = headlight.show(judgement).sources
    np.testing.assert_array_equal(recording.attention.of("self"), judgement.attention)
    with pytest.raises(RecordingError, match="'colour'"):
        headlight.show(CAUSAL, colour="red")
    with pytest.raises(RecordingError, match="kind must be one of self"):
        headlight.show(CAUSAL, kind="cross")
    with pytest.raises(RecordingError, match="'xx'"):
        headlight.show(CAUSAL, language="xx")
    with pytest.raises(RecordingError, match="no attention to show"):
        headlight.show()


def test_a_layer_is_its_number_in_the_model() -> None:
    weights = softmax((8, 3, 7, 7))
    view = headlight.show(weights, tokens=NAMES, layers=[5, 6], layer=np.int64(5))
    assert view.layer == page_data(view)["selection"]["layer"] == view.widget.layer == 5
    assert headlight.show(weights, layers=[5, 6]).layer == 5
    view.layer = 6
    assert view.widget.layer == 6
    recording = headlight.record(weights, layers=[2, 6])
    for numbers, options in (((2,), {}), ((6,), {"layer": 6})):
        figure = headlight.figure("heatmap", recording, head=1, **options)  # type: ignore[arg-type]
        cells = np.array(next(trace for trace in figure.data if trace.type == "heatmap").z, dtype=float)
        np.testing.assert_allclose(cells, weights[numbers[0], 1], atol=1e-6)
        assert figure.layout.meta["layer"] == numbers[0]
    assert headlight.figure("overview", recording).layout.yaxis.ticktext[:2] == ("3", "7")


def test_a_selection_that_is_not_there_is_an_error(translation: Translation) -> None:
    weights = softmax((8, 3, 7, 7))
    layers, heads = translation.attention.of("cross").shape[:2]
    for options, says in (
        ({"layer": 99}, 'layer must be a whole number from 0 to 7, or "mean", but 99 was given'),
        ({"layer": 5, "layers": [6, 2]}, 'layer must be one of 6, 2, or "mean"'),
        ({"layer": "max"}, "layer must be"),
        ({"head": -1}, 'head must be a whole number from 0 to 2, or "mean", or "max", but -1'),
        ({"head": True}, "but True was given"),
        ({"row": 7}, "row must be a whole number from 0 to 6"),
        ({"column": "cat"}, "column must be a whole number from 0 to 6"),
    ):
        with pytest.raises(RecordingError, match=says):
            headlight.show(weights, tokens=NAMES, **options)  # type: ignore[arg-type]
    view = headlight.show(weights, tokens=NAMES)
    for shown_view in (view, headlight.show(translation)):
        for name, value in (("layer", 99), ("head", -1), ("kind", "other"), ("row", 99), ("layer", None)):
            with pytest.raises(RecordingError, match=f"{name} must be"):
                setattr(shown_view, name, value)
    view.layer, view.head, view.row = "mean", "max", None
    with pytest.raises(RecordingError, match="layer must be"):
        headlight.show(translation, layer=layers)
    with pytest.raises(RecordingError, match="head must be"):
        headlight.show(translation, head=heads)
    with pytest.raises(RecordingError, match="layer is 5, but the second input has 2 layers of the kind self"):
        headlight.compare(weights, weights[:2], layer=5)
    with pytest.raises(RecordingError, match="layer is 2, but the second input has 2 layers"):
        headlight.compare(weights, weights[:2], layer=2)
    assert headlight.compare(weights, weights[:2], layer=1).layer == 1


def test_page_holds_as_many_weights_as_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    view = headlight.show(CAUSAL)
    count = sum(map(count_weights, view.sources))
    for limit in (count, count - 1, count // 2 + 1):
        monkeypatch.setattr(view_module, "MAX_EMBEDDED_WEIGHTS", limit)
        assert view.too_large == (limit < count)


def test_what_would_be_ignored_is_an_error(translation: Translation, tmp_path: Path) -> None:
    ids = np.arange(7)[None]
    pixels = np.zeros((1, 3, 4, 4))
    for options in ({"tokenizer": object()}, {"input_ids": ids}, {"attention_mask": ids}, {"pixel_values": pixels}):
        (name,) = options
        with pytest.raises(RecordingError, match=f"{name}= would be ignored.*tokenizer.convert_ids_to_tokens"):
            headlight.show(CAUSAL, **options)
    with pytest.raises(RecordingError, match="Give one of them"):
        headlight.show(encoder=CAUSAL, tokens=NAMES, source=NAMES)
    headlight.show(CAUSAL).save(tmp_path / "maps.npz")
    for source in (headlight.record(CAUSAL), headlight.show(CAUSAL), translation, tmp_path / "maps.npz"):
        headlight.show(source)
        with pytest.raises(RecordingError, match="has its own tokens and layers, so tokens= would be ignored"):
            headlight.show(source, tokens=NAMES)


def test_errors_say_what_to_do_and_share_a_public_class(translator: Translator, tmp_path: Path) -> None:
    for call, says in (
        (lambda: headlight.show(CAUSAL, haed=1), "Unknown argument 'haed'. Did you mean head?"),
        (lambda: headlight.show(CAUSAL, tokns=NAMES), "Did you mean tokens?"),
        (lambda: headlight.figure("heatmap", CAUSAL, scle="log"), "no option 'scle'. Did you mean scale?"),
        (lambda: headlight.show(CAUSAL, labels=[1]), r"decoder_input_ids=model\.prepare_decoder_input_ids_from_labels"),
        (lambda: headlight.show(CAUSAL, input_values=[1]), "input_values= names no tokens.*tokens="),
        (lambda: headlight.show("none.npz"), "There is no file 'none.npz'. Check the path"),
        (lambda: headlight.show(CAUSAL).save(tmp_path / "none" / "view.html"), "no folder '.*none' to save view.html"),
        (lambda: headlight.show(translator), r"Translator is a model.*show\(translator\.translate\(text\)\)"),
    ):
        with pytest.raises(headlight.errors.ModelError, match=says) as error_info:
            call()
        assert isinstance(error_info.value, headlight.errors.RecordingError)
    from headlight import errors

    assert errors is headlight.errors
    assert all(issubclass(getattr(errors, name), errors.ModelError) for name in errors.__all__)
    with pytest.raises(errors.ModelError):
        Translator.load(tmp_path / "none")


def test_hostile_names_are_escaped() -> None:
    nasty = ["</script><script>alert(1)</script>", "<!--", "${x}", '"', "&", "a", "b"]
    view = headlight.show(CAUSAL, tokens=nasty, name="</title><script>alert(1)</script>")
    page = view.page()
    assert "<script>alert" not in page
    assert page_data(view)["views"][0]["name"] == "</title><script>alert(1)</script>"
    assert "<script" not in view._repr_html_().split("srcdoc=")[1]


def test_frame_is_self_contained_with_all_phrases() -> None:
    page = frame_page()
    assert not re.findall(r"""(?:src|href)=["']?https?:""", page)
    tables = bundle_code(has_translation=False).split("modules['")[0]
    assert "plotly" not in tables.casefold().replace("quickplotly", "")
    assert json.loads(widget_module().split("const PAGE = ")[1].split("; // HTML of")[0]) == page
    assert "export default { render }" in widget_module()
    names = (path.relative_to(WIDGETS).as_posix() for path in WIDGETS.rglob("*.js"))
    sources = {name: module(name) for name in names if name != HOST_MODULE and not name.startswith("lessons/")}
    used = set(used_phrases(sources)["en"])
    assert not {key for key in phrases() if key.startswith(("recorded_", "remark_", "kind_", "tool_"))} - used
    carried = set(re.findall(r"modules\['([\w/.-]+)'\] = ", bundle_code(has_translation=False)))
    assert "recording/recording-view.js" in carried
    assert not carried & {"heads/heads-tab.js", "translate/translate.js", "whatif/whatif.js"}


def test_static_image_is_png_of_all_heads() -> None:
    maps = headlight.record(CAUSAL).of("self")
    picture = Image.open(io.BytesIO(wall_pixels(maps)))
    assert picture.format == "PNG"
    assert picture.size == (3 * (28 + 3), 2 * (28 + 3))
    levels = np.array([[0, 254, 255]], dtype=np.uint8)
    assert np.asarray(Image.open(io.BytesIO(encode_png(levels))).convert("RGBA"))[0, :, 3].tolist() == [255, 255, 0]
    assert "data:image/png;base64," in headlight.show(CAUSAL)._repr_html_()


def test_every_figure_accepts_attention_objects(translation: Translation) -> None:
    token = translation.source_tokens[0]
    vectors = (np.ones(4), np.ones(4), token, token)
    for view in FIGURES:
        source: Any = vectors if view == "neurons" else translation
        options: dict[str, Any] = {"weight": 0.5} if view == "neurons" else {}
        options |= {"heads": [(0, 0), (0, 1)]} if view in ("compare", "lines") else {}
        figure = headlight.figure(view, source, theme="dark", language="zh", **options)
        assert isinstance(figure, go.Figure)
        assert figure.layout.meta["figure"] == view
    from_function = headlight.figure("heatmap", CAUSAL, layer=1, head=2)
    cells = np.array(next(trace for trace in from_function.data if trace.type == "heatmap").z, dtype=float)
    below = np.tri(7) > 0
    np.testing.assert_allclose(cells[below], CAUSAL[1, 2][below], atol=1e-6)
    assert headlight.figure("overview", CAUSAL).layout.meta["kind"] == "self"
    assert headlight.figure("heatmap", translation.attention_map("cross", 0, 0)).layout.meta["kind"] == "cross"
    for wrong in ({"view": "pie"}, {"theme": "pink"}, {"kind": "cross"}, {"layer": 9}):
        with pytest.raises(RecordingError):
            headlight.figure(**{"view": "heatmap", "attention": CAUSAL, **wrong})  # type: ignore[arg-type]
    for view, says in (("beam", "Translation"), ("probabilities", "Translation"), ("compare", "two heads")):
        with pytest.raises(RecordingError, match=says):
            headlight.figure(view, CAUSAL)


def test_packed_numbers_roundtrip() -> None:
    weights = np.concatenate([np.linspace(0, 1, 5000, dtype=np.float32), [0.0, 1.0]]).astype(np.float32)
    actual = unpacked(compress_weights(weights), weights.shape)
    np.testing.assert_allclose(actual, weights, atol=1 / LEVELS)
    assert (actual[0], actual[-1]) == (0.0, 1.0)
