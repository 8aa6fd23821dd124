"""Common requirements of figures: themes, lengths, escaped tokens, texts from phrases."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from headlight.model.records import Translation
from headlight.viz.figure_phrases import figure_words
from headlight.viz.figures import FIGURES
from headlight.viz.theme import STOPS, THEMES, Theme, colour_scale, css_custom_properties, head_colour
from headlight.viz.token_labels import make_visible
from tests.viz.figures_examples import HOSTILE, SCRIPTS, make_translation, make_tree, make_weights, words_of_length

ROOT = Path(__file__).parents[3]
GREEK = ("αβγ", "δεζ", "ηθι", "κλμ", "νξο")
SENTENCES = {
    "nothing": ((), ()),
    "one token": (("a",), ("b",)),
    "fifteen tokens": (words_of_length(15), words_of_length(13)),
    "two hundred tokens": (words_of_length(199), words_of_length(181)),
    "scripts": (SCRIPTS, SCRIPTS),
    "hostile": (HOSTILE, HOSTILE),
}
Draw = Callable[..., go.Figure]


def draw(name: str, translation: Translation, theme: Theme, words: dict[str, str] | None = None) -> go.Figure:
    """One figure of each kind for the same translation."""
    figure: Draw = FIGURES[name]
    common: dict[str, Any] = {"theme": theme, "words": words}
    first, second = translation.attention_map("decoder", 1, 3), translation.attention_map("decoder", 2, None)
    if name == "heatmap":
        return figure(first, **common)
    if name == "overview":
        return figure(translation, "decoder", **common)
    if name == "compare":
        return figure(first, second, **common)
    if name == "lines":
        return figure([(first, head_colour(theme, 3)), (second, head_colour(theme, 4))], **common)
    if name == "positions":
        table = np.sin(np.arange(len(translation.source_tokens))[:, None] * np.arange(1, 8) / 5)
        return figure(table, dimension=2, **common)
    if name in ("probabilities", "beam"):
        return figure(translation if name == "probabilities" else translation.tree, **common)
    assert name == "neurons", name
    vectors = np.random.default_rng(5).normal(size=(2, 11))
    row, column = translation.target_tokens[0], translation.source_tokens[0]
    return figure(vectors[0], vectors[1], row, column, weight=0.25, bias=-0.5, **common)


def example(sentence: str) -> Translation:
    source, target = SENTENCES[sentence]
    return make_translation(source, target, make_tree(4, (*target, " a", " b", "c")[:3]))


def strings(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Every text in a figure's JSON, with its key."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from strings(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner, key)


def read_texts(figure: go.Figure) -> list[str]:
    """The visible texts of a figure, in Plotly's markup."""
    plain = json.loads(figure.to_json())
    plain["layout"].pop("template")
    named = {"text", "ticktext", "hovertext", "hovertemplate", "texttemplate", "name"}
    return [text for key, text in strings(plain) if key in named]


every_figure = pytest.mark.parametrize("name", FIGURES)
every_theme = pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES.keys())


def test_all_eight_figures_are_registered() -> None:
    assert set(FIGURES) == {"heatmap", "overview", "compare", "lines", "positions", "probabilities", "beam", "neurons"}


@pytest.mark.slow(after=8)
@every_figure
@every_theme
@pytest.mark.parametrize("sentence", SENTENCES)
def test_figure_is_standard_json(name: str, theme: Theme, sentence: str) -> None:
    text = draw(name, example(sentence), theme).to_json()

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    figure = json.loads(text, parse_constant=refuse)
    assert figure["layout"]["meta"]["figure"] == name
    assert figure["layout"]["width"] > 0
    assert figure["layout"]["height"] > 0


@every_figure
@pytest.mark.parametrize("sentence", ["hostile", "scripts"])
def test_tokens_are_escaped(name: str, sentence: str) -> None:
    for text in read_texts(draw(name, example(sentence), THEMES["light"])):
        without = text.replace("<br>", "").replace("<extra></extra>", "")
        if name == "positions":  # whose templates contain only numbers
            without = re.sub(r"%\{[xyz](:\.4f)?\}", "", without)
        assert not set("<>$%") & set(without), text
        assert re.fullmatch(r"(?:[^&]|&(?:lt|gt|amp|#36|#37);)*", without), text


@pytest.mark.parametrize("name", ["heatmap", "compare", "lines", "probabilities", "neurons"])
def test_hostile_token_is_shown_completely(name: str) -> None:
    texts = "\n".join(read_texts(draw(name, example("hostile"), THEMES["light"])))
    texts = texts.replace("&lt;", "<").replace("&gt;", ">").replace("&#36;", "$").replace("&#37;", "%")
    texts = texts.replace("&amp;", "&").replace("\u2068", "").replace("\u2069", "")
    for token in HOSTILE[: 1 if name == "neurons" else None]:
        assert make_visible(token) in texts, token


@every_figure
@every_theme
def test_colours_come_only_from_theme(name: str, theme: Theme) -> None:
    allowed = set(css_custom_properties(theme).values()) | {"rgba(0,0,0,0)"}
    allowed |= {str(colour) for scale in STOPS for _, colour in colour_scale(scale, theme)}
    allowed |= {head_colour(theme, head) for head in range(24)}
    figure = json.loads(draw(name, example("fifteen tokens"), theme).to_json())
    template = figure["layout"]["template"]
    assert set(template) == {"data", "layout"}
    colours = {
        text for _, text in strings(figure) if re.match(r"#[0-9a-f]{3,8}$|rgba?\(|hsl", text, flags=re.IGNORECASE)
    }
    assert colours <= allowed
    assert theme.ground in colours


@every_figure
def test_figure_texts_come_from_phrases(name: str) -> None:
    english = figure_words(name)
    silent = {key: " ".join(re.findall(r"\{\w+\}", text)) + " 词" for key, text in english.items()}
    translation = make_translation(GREEK, GREEK[:3], make_tree(3, GREEK[:3]))
    for text in read_texts(draw(name, translation, THEMES["dark"], silent)):
        left = text.replace("&lt;/s&gt;", "").replace("&lt;s&gt;", "").replace("other", "").replace("·ing", "")
        left = re.sub(r"%\{\w+(:\.4f)?\}|<extra></extra>|<br>", "", left)
        assert not re.search("[A-Za-z]", left), text


@every_figure
def test_figure_accepts_other_phrases(name: str) -> None:
    words = {key: text + " ✓" for key, text in figure_words(name).items()}
    figure = draw(name, example("fifteen tokens"), THEMES["light"], words)
    assert "✓" in figure.layout.title.text + figure.layout.title.subtitle.text
    assert "✓" not in draw(name, example("fifteen tokens"), THEMES["light"]).to_json()


@every_figure
def test_figure_does_not_modify_input(name: str) -> None:
    translation = example("fifteen tokens")
    before = translation.attention.decoder.copy()
    draw(name, translation, THEMES["light"])
    np.testing.assert_array_equal(translation.attention.decoder, before)


@every_figure
def test_figures_are_deterministic(name: str) -> None:
    figures = [draw(name, example("scripts"), THEMES["dark"]).to_json() for _ in range(2)]
    assert figures[0] == figures[1]


def test_drawing_imports_neither_torch_nor_gradio() -> None:
    code = (
        "import sys, headlight.viz.figures, headlight.viz.token_labels, headlight.viz.theme"
        "\nimport headlight.model.measures.roles\n"
        "print(*sorted({'torch', 'gradio', 'pandas'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split() == []


def test_random_weights_are_normalised() -> None:
    np.testing.assert_allclose(make_weights((3, 5, 7)).sum(axis=-1), 1, atol=1e-6)
    assert (np.triu(make_weights((7, 7), causal=True), 1) == 0).all()
