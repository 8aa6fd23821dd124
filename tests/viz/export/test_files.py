"""Exports: the displayed numbers, and escaped spreadsheet formulas."""

from __future__ import annotations

import base64
import html
import io
import json
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

from headlight.model.experiments.account import find_likeliest_rival
from headlight.model.experiments.effects import LIKELIEST, Rival, make_effect_maps, word_effects
from headlight.model.records import KINDS, Kind, Translation
from headlight.viz.browser_files.static_files import WIDGETS
from headlight.viz.errors import PageError
from headlight.viz.export.effects import effect_map
from headlight.viz.export.files import Exporter, comparison_csv, map_csv, selected_map, to_data_frame
from headlight.viz.export.standalone import data_script, html_page
from headlight.viz.figure_phrases import phrase
from headlight.viz.figures.cells import STRONG_EFFECT
from headlight.viz.figures.titles import header_height
from headlight.viz.request_fields import Selection
from headlight.viz.service.messages import ANSWER_VERSION
from headlight.viz.service.service import Service
from headlight.viz.settings import Settings

ASKED = {"text": "ich mochte ein bier", "model": "toy"}


@pytest.fixture(scope="module")
def service() -> Service:
    return Service(Settings(model="toy"))


@pytest.fixture(scope="module")
def translation(service: Service) -> Translation:
    return service.translate(service.check(ASKED))


def take(service: Service, form: str, language: str = "en", /, **selection: object) -> dict[str, object]:
    values = {"form": form, "request": ASKED, "selection": selection, "theme": "light", "language": language}
    return Exporter(service).export(values)


def content(answer: dict[str, object]) -> bytes:
    return base64.b64decode(str(answer["content"]))


def test_csv_contains_displayed_map(service: Service, translation: Translation) -> None:
    answer = take(service, "csv", kind="cross", layer=0, head=1)
    assert answer["name"] == "headlight-cross-1-2.csv"
    table = pd.read_csv(io.BytesIO(content(answer)), index_col=0, encoding="utf-8-sig")
    np.testing.assert_allclose(table.to_numpy(), translation.attention.cross[0, 1], atol=1e-6)


def test_masked_csv_cells_are_empty(translation: Translation) -> None:
    table = to_data_frame(selected_map(translation, Selection(kind="decoder", layer=0, head=0)))
    assert np.isnan(table.to_numpy()[0, 1:]).all()
    assert not np.isnan(np.diag(table.to_numpy())).any()


def test_averages_and_maxima_cover_named_heads(translation: Translation) -> None:
    cross = translation.attention.cross
    for layer, head, expected in (
        (0, "mean", cross[0].mean(axis=0)),
        ("mean", 1, cross[:, 1].mean(axis=0)),
        ("mean", "max", cross.max(axis=(0, 1))),
    ):
        actual = selected_map(translation, Selection(kind="cross", layer=layer, head=head)).weights  # type: ignore[arg-type]
        np.testing.assert_allclose(actual, expected, atol=1e-6)


def test_without_special_tokens_rows_are_rescaled_but_maxima_are_not(translation: Translation) -> None:
    words = (
        [not token.special for token in translation.target_tokens],
        [not token.special for token in translation.source_tokens],
    )
    for head in (1, "max"):
        selection = Selection(kind="cross", layer=0, head=head, special=False, rescale=True)  # type: ignore[arg-type]
        full = translation.attention.cross[0, 1] if head == 1 else translation.attention.cross[0].max(axis=0)
        expected = full[words[0]][:, words[1]]
        if head == 1:
            expected = expected / expected.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(selected_map(translation, selection).weights, expected, atol=1e-6)


def test_csv_formulas_are_escaped(service: Service) -> None:
    formula = service.translate(service.check({"text": "=1+1 @x -2 +3", "model": "toy"}))
    map_ = selected_map(formula, Selection(kind="encoder", layer=0, head=0))
    for line in map_csv(map_).decode("utf-8-sig").splitlines():
        for cell in re.findall(r'"(?:[^"]|"")*"|[^,]+', line):
            assert not cell.strip('"').startswith(("=", "+", "-", "@")), cell


def test_npz_and_json_contain_all_heads_exactly(service: Service, translation: Translation) -> None:
    arrays = np.load(io.BytesIO(content(take(service, "npz"))))
    np.testing.assert_array_equal(arrays["decoder"], translation.attention.decoder)
    values = json.loads(content(take(service, "json")))
    np.testing.assert_allclose(values["encoder"], translation.attention.encoder, atol=1e-7)


def test_comparison_csv_has_both_maps_and_difference(service: Service, translation: Translation) -> None:
    answer = take(service, "csv", kind="decoder", layer=0, head=1, pinned=[0, 0])
    assert answer["name"] == "headlight-decoder-1-1-and-1-2.csv"
    table = pd.read_csv(io.BytesIO(content(answer)), index_col=[0, 1], encoding="utf-8-sig")
    assert list(table.index.unique(0)) == ["A", "B", "A − B"]
    one, other = translation.attention.decoder[0, 0], translation.attention.decoder[0, 1]
    assert np.abs(one - other).max() > 0.01
    for name, expected in (("A", one), ("B", other), ("A − B", one - other)):
        actual = table.loc[name].to_numpy()
        below = np.tril(np.ones_like(expected, dtype=bool))
        np.testing.assert_allclose(actual[below], expected[below], atol=1e-6)
        assert np.isnan(actual[~below]).all()


def test_comparison_csv_supports_duplicate_tokens(service: Service) -> None:
    twice = service.translate(service.check({"text": "ein ein ein", "model": "toy"}))
    first, second = (selected_map(twice, Selection(kind="encoder", layer=0, head=head)) for head in (0, 1))
    table = pd.read_csv(io.BytesIO(comparison_csv(first, second)), index_col=[0, 1], encoding="utf-8-sig")
    assert len(table) == 3 * len(first.rows)
    np.testing.assert_allclose(table.loc["A − B"].to_numpy(), first.weights - second.weights, atol=1e-6)


def test_pinned_head_equal_to_selected_is_not_compared(service: Service) -> None:
    assert take(service, "csv", layer=0, head=1, pinned=[0, 1])["name"] == "headlight-cross-1-2.csv"
    assert take(service, "npz", layer=0, head=1, pinned=[0, 0])["name"] == "headlight.npz"


@pytest.mark.parametrize(("pinned", "heads"), [(None, [[0, 1]]), ([0, 0], [[0, 0], [0, 1]])])
def test_lines_view_exports_lines(service: Service, pinned: list[int] | None, heads: list[list[int]]) -> None:
    weak, strong = (
        take(service, "png", layer=0, head=1, pinned=pinned, view="lines", threshold=threshold)
        for threshold in (0.0, 0.9)
    )
    for answer in (weak, strong):
        figure = answer["figure"]
        assert isinstance(figure, dict)
        assert figure["layout"]["meta"]["heads"] == heads
        assert {trace["type"] for trace in figure["data"]} == {"scatter"}
        assert "hovertext" not in json.dumps(figure)
    assert str(weak["name"]).endswith("1-2-lines.png")
    assert len(json.dumps(weak["figure"])) > len(json.dumps(strong["figure"]))
    assert str(take(service, "csv", layer=0, head=1, view="lines")["name"]) == "headlight-cross-1-2.csv"


@pytest.mark.parametrize("form", ["png", "svg"])
def test_exported_figure_has_all_labels(service: Service, form: str) -> None:
    figure = take(service, form, kind="cross", layer=0, head=0)["figure"]
    assert isinstance(figure, dict)
    assert figure["layout"]["width"] > 100
    assert any(trace["type"] == "heatmap" for trace in figure["data"])


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("form", "selection"),
    [
        ("png", {}),
        ("svg", {"layer": "mean", "head": "max"}),
        ("png", {"view": "lines"}),
        ("svg", {"layer": 0, "head": 0, "pinned": [0, 1]}),
        ("wall_png", {}),
        ("wall_svg", {"layer": 0, "head": 1}),
    ],
)
def test_exported_figure_names_kind_model_and_texts(
    service: Service, translation: Translation, form: str, kind: str, selection: dict[str, object], language: str
) -> None:
    values = {"form": form, "request": ASKED, "theme": "light", "language": language}
    answer = Exporter(service).export(values | {"selection": {"kind": kind, **selection}})
    title = answer["figure"]["layout"]["title"]
    below = title["subtitle"]["text"].replace("<br>", " ")
    assert title["text"].startswith(phrase(f"kind_{kind}", language))
    assert "toy" in below
    assert ASKED["text"] in below
    assert translation.text in below


def test_exported_titles_fit_above_map(service: Service) -> None:
    long = {"text": "ich mochte ein bier " * 15, "model": "toy"}
    short, tall = (
        Exporter(service).export(
            {"form": "png", "request": request, "selection": {}, "theme": "light", "language": "en"}
        )
        for request in (ASKED, long)
    )
    for answer in (short, tall):
        layout = answer["figure"]["layout"]
        assert layout["margin"]["t"] > header_height(layout["title"])
        assert layout["height"] > layout["margin"]["t"] + layout["margin"]["b"]


def test_markup_in_sentence_is_escaped_in_figure(service: Service) -> None:
    request = {"text": "<b>ein</b> $x$", "model": "toy"}
    answer = Exporter(service).export(
        {"form": "wall_svg", "request": request, "selection": {}, "theme": "light", "language": "en"}
    )
    subtitle = answer["figure"]["layout"]["title"]["subtitle"]["text"]
    assert "&lt;b&gt;ein" in subtitle
    assert "$" not in subtitle


def test_wall_export_has_every_head_and_kind_name(service: Service) -> None:
    answer = take(service, "wall_png", kind="decoder", layer=0, head=1, pinned=[0, 0])
    assert answer["name"] == "headlight-decoder-all.png"
    config = service.model_info("toy").model.config
    layers, heads = config.decoder_layers, config.heads
    meta = answer["figure"]["layout"]["meta"]  # type: ignore[index]
    assert (meta["figure"], meta["layers"], meta["heads"]) == ("overview", layers, heads)


def test_exported_figure_has_no_hover_text(service: Service) -> None:
    for pinned in (None, (0, 0)):
        figure = json.dumps(take(service, "png", pinned=pinned)["figure"])
        assert "hovertext" not in figure


def test_exported_comparison_has_three_maps(service: Service) -> None:
    figure = take(service, "svg", kind="cross", layer=0, head=0, pinned=[0, 1])["figure"]
    assert isinstance(figure, dict)
    assert sum(trace["type"] == "heatmap" for trace in figure["data"]) >= 3


def test_saved_page_is_self_contained(service: Service) -> None:
    page = content(take(service, "html", kind="cross", layer=0, head=0)).decode()
    ours = page[: page.index("Plotly")] if "Plotly" in page else page
    assert "modules['heads/heads-tab.js'] = " in page
    assert not re.search(r'<(?:script|link|img)[^>]+(?:src|href)="', ours)
    assert "</script><img" not in page


def test_data_of_saved_page_cannot_end_its_script() -> None:
    bait = ["</script >", "</SCRIPT\t>", "<!--<script>", "]]>", "&lt;/script&gt;"]
    script = data_script({"text": bait})
    assert not set("<>&") & set(script)
    assert json.loads(script.removeprefix("globalThis.headlightData = ").removesuffix(";"))["text"] == bait


def test_title_of_saved_page_cannot_end_its_element() -> None:
    page = html_page("</title><script>alert(1)</script>", "en", "", [], "")
    assert "<title>&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;</title>" in page
    assert "alert(1)</script>" not in page


def test_saved_page_has_format_version(service: Service) -> None:
    page = content(take(service, "html", kind="cross", layer=0, head=0)).decode()
    data = re.search(r"globalThis\.headlightData = (.*?);</script>", page)
    assert data is not None
    assert json.loads(data[1])["answer"]["version"] == ANSWER_VERSION


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"form": "exe", "request": ASKED, "theme": "light", "language": "en"},
        {"form": "csv", "request": "ich", "theme": "light", "language": "en"},
        {"form": "csv", "request": ASKED, "selection": {"layer": 77}, "theme": "light", "language": "en"},
        {"form": "csv", "request": ASKED, "selection": {"kind": 3}, "theme": "light", "language": "en"},
        {"form": "csv", "request": ASKED, "selection": {}, "theme": "light", "language": "xx"},
    ],
)
def test_invalid_export_is_rejected_with_message(service: Service, values: dict[str, object]) -> None:
    with pytest.raises(PageError):
        Exporter(service).export(values)


@pytest.mark.parametrize("kind", KINDS)
def test_effect_view_exports_effects_in_nats(service: Service, translation: Translation, kind: Kind) -> None:
    maps = service.run_on_translator("toy", make_effect_maps, translation, kind)
    answer = take(service, "csv", kind=kind, layer=0, head=1, view="effect")
    assert answer["name"] == f"headlight-{kind}-1-2-effects.csv"
    table = pd.read_csv(io.BytesIO(content(answer)), index_col=0, encoding="utf-8-sig").to_numpy()
    allowed = translation.attention.allowed(kind)
    np.testing.assert_allclose(table[allowed], maps[0, 1][allowed], atol=1e-6)
    assert (maps < -0.001).any()
    picture = take(service, "png", kind=kind, layer=0, head=1, view="effect")["figure"]
    assert isinstance(picture, dict)
    assert picture["layout"]["meta"]["scale"] == "effect"
    assert "nats" in json.dumps(picture)
    leads = service.run_on_translator("toy", make_effect_maps, translation, kind, LIKELIEST)
    answer = take(service, "csv", kind=kind, layer=0, head=1, view="effect", lead=True)
    assert answer["name"] == f"headlight-{kind}-1-2-effects-on-lead.csv"
    table = pd.read_csv(io.BytesIO(content(answer)), index_col=0, encoding="utf-8-sig").to_numpy()
    np.testing.assert_allclose(table[allowed], leads[0, 1][allowed], atol=1e-6)


def test_encoder_exports_effects_on_the_chosen_word(service: Service, translation: Translation) -> None:
    choices: tuple[tuple[dict[str, object], Rival, str], ...] = (
        ({}, None, "on-word-3"),
        ({"lead": True}, LIKELIEST, "on-word-3-on-lead"),
        ({"lead": True, "rival": [2, 5]}, 5, "on-word-3-on-lead"),
        ({"lead": True, "rival": [1, 5]}, LIKELIEST, "on-word-3-on-lead"),  # the rival of another word
    )
    for selection, rival, name in choices:
        (own,) = service.run_on_translator("toy", word_effects, translation, [2], rival)
        answer = take(service, "csv", kind="encoder", layer=0, head=1, view="effect", word=2, **selection)
        assert answer["name"] == f"headlight-encoder-1-2-effects-{name}.csv"
        table = pd.read_csv(io.BytesIO(content(answer)), index_col=0, encoding="utf-8-sig").to_numpy()
        np.testing.assert_allclose(table, own.cells["encoder"][0, 1], atol=1e-6)


def test_a_picture_says_what_its_effects_are_on(service: Service, translation: Translation) -> None:
    def title(language: str = "en", **selection: object) -> str:
        figure: Any = take(service, "svg", language, view="effect", **selection)["figure"]
        return str(figure["layout"]["title"])

    def caption(language: str = "en", **selection: object) -> str:
        return html.unescape(" ".join(title(language, **{"layer": 0, "head": 1} | selection).split("<br>")))

    tokenizer = service.model_info("toy").target_tokenizer
    word = translation.target_tokens[2].text.strip()
    other = translation.target_tokens[0]
    likeliest, typed = tokenizer.label(find_likeliest_rival(translation, 2)).strip(), other.text.strip()
    assert "on the word that its row writes: blue" in caption(kind="cross")
    assert "on the lead of the word that its row writes over the likeliest" in caption(kind="decoder", lead=True)
    assert "on the whole translation: blue" in caption(kind="encoder")
    assert "on the leads of all words over the likeliest others: blue" in caption(kind="encoder", lead=True)
    assert f"on “{word}”: blue" in caption(kind="encoder", word=2)
    assert f"on the lead of “{word}” over “{likeliest}”: blue" in caption(kind="encoder", word=2, lead=True)
    assert f"of “{word}” over “{typed}”: blue" in caption(kind="encoder", word=2, lead=True, rival=[2, other.id])
    assert f"“{word}”领先“{typed}”" in caption("zh", kind="encoder", word=2, lead=True, rival=[2, other.id])
    assert "Layer 1 · Sum of heads" in title(layer=0, head="mean")
    assert "Sum of layers · Head 2" in title(layer="mean", head=1)
    assert "Sum of all heads" in title(layer="mean", head="mean")


def test_effects_add_up_over_heads_and_merged_words(service: Service, translation: Translation) -> None:
    maps = service.run_on_translator("toy", make_effect_maps, translation, "cross")
    all_heads = effect_map(service, translation, Selection(kind="cross", layer="mean", head="mean", view="effect"))
    np.testing.assert_allclose(all_heads.weights, maps.sum(axis=(0, 1)), atol=1e-5)
    words = effect_map(service, translation, Selection(kind="cross", layer=0, head=0, view="effect", words=True))
    assert words.weights.sum() == pytest.approx(maps[0, 0].sum(), abs=1e-5)


def test_maximum_over_heads_exports_weights(service: Service) -> None:
    assert take(service, "csv", layer=0, head="max", view="effect")["name"] == "headlight-cross-1-max.csv"


def test_effects_of_two_heads_are_compared_in_csv(service: Service, translation: Translation) -> None:
    maps = service.run_on_translator("toy", make_effect_maps, translation, "cross")
    answer = take(service, "csv", layer=0, head=1, pinned=[0, 0], view="effect")
    table = pd.read_csv(io.BytesIO(content(answer)), index_col=[0, 1], encoding="utf-8-sig")
    np.testing.assert_allclose(table.loc["A − B"].to_numpy(), maps[0, 0] - maps[0, 1], atol=2e-6)


def test_full_colour_of_effects_is_that_of_the_page() -> None:
    script = (WIDGETS / "core" / "effect-scale.js").read_text(encoding="utf-8")
    assert float(re.findall(r"STRONG_EFFECT = ([\d.]+);", script)[0]) == STRONG_EFFECT
