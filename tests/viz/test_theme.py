"""Colours: contrast, order by lightness, equality on server and browser."""

from __future__ import annotations

import json
import re

import pytest

from headlight.viz.theme import (
    FONT,
    PALETTES,
    STOPS,
    THEMES,
    Theme,
    browser_theme,
    colour_scale,
    css_variables,
    head_colour,
    plotly_template,
)


def luminance(colour: str) -> float:
    """Relative luminance of `#rrggbb`, 0 to 1 (WCAG 2)."""
    channels = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: str, second: str) -> float:
    """The contrast of two colours, 1 to 21 (WCAG 2)."""
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


BOTH = pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES.keys())


def test_contrast_follows_wcag_formula() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
    assert contrast("#123456", "#123456") == 1


@BOTH
def test_text_contrast_is_sufficient(theme: Theme) -> None:
    for ink in (theme.ink, theme.ink_2, theme.ink_3, theme.error, theme.accent, theme.head_a, theme.head_b):
        assert contrast(ink, theme.ground) >= 4.5
    assert contrast(theme.on_accent, theme.accent) >= 4.5
    assert contrast(theme.edge, theme.ground) >= 3


@BOTH
@pytest.mark.parametrize("name", PALETTES)
def test_scale_is_ordered_by_lightness(theme: Theme, name: str) -> None:
    light = [luminance(str(colour)) for _, colour in colour_scale(name, theme, 65)]
    assert light == sorted(light, reverse=theme.name == "light")
    assert len(set(light)) == len(light)


@BOTH
def test_zero_colour_differs_from_masked(theme: Theme) -> None:
    zero = str(colour_scale("headlight", theme)[0][1])
    assert zero != theme.masked
    assert contrast(theme.hatch, theme.masked) > 1.1


@BOTH
def test_difference_scale_is_neutral_at_centre(theme: Theme) -> None:
    scale = [str(colour) for _, colour in colour_scale("difference", theme, 33)]
    distances = [abs(luminance(colour) - luminance(theme.ground)) for colour in scale]
    assert distances.index(min(distances)) == 16
    red, blue = (lambda colour: int(colour[1:3], 16)), (lambda colour: int(colour[5:7], 16))
    assert red(scale[4]) > blue(scale[4])  # orange if B is larger
    assert red(scale[28]) < blue(scale[28])  # blue if A is larger


@BOTH
@pytest.mark.parametrize("name", STOPS)
def test_scale_is_interpolated_evenly(theme: Theme, name: str) -> None:
    scale = colour_scale(name, theme)
    assert [place for place, _ in scale] == [step / 32 for step in range(33)]
    assert all(re.fullmatch("#[0-9a-f]{6}", str(colour)) for _, colour in scale)


def test_colour_conversion_matches_formulas() -> None:
    # OKLCH with no chroma is grey: lightness cubed is the linear channel, and that is curved.
    linear = 0.96**3
    assert (
        colour_scale("grey", THEMES["light"])[0][1]
        == "#" + f"{round(255 * (1.055 * linear ** (1 / 2.4) - 0.055)):02x}" * 3
    )


def test_unknown_or_single_colour_scale_raises() -> None:
    with pytest.raises(ValueError, match=f"'jet': choose {', '.join(PALETTES)}"):
        colour_scale("jet", THEMES["light"])
    with pytest.raises(ValueError, match="at least 2"):
        colour_scale("grey", THEMES["light"], 1)


@BOTH
def test_head_colours_are_distinct_and_visible(theme: Theme) -> None:
    colours = [head_colour(theme, head) for head in range(24)]
    assert len(set(colours)) == 24
    assert min(contrast(colour, theme.ground) for colour in colours) >= 3
    assert head_colour(theme, 24) == colours[0]


def test_css_colours_match_theme() -> None:
    assert css_variables(THEMES["light"]).startswith("--ground: #fdfdfc; --raised: #ffffff;")
    assert "--ink-2: #b7bec7;" in css_variables(THEMES["dark"])
    assert "name" not in css_variables(THEMES["dark"])


def test_browser_colours_match_theme() -> None:
    themes = json.loads(json.dumps(browser_theme()))
    assert themes["light"]["variables"]["--ink-3"] == THEMES["light"].ink_3
    assert themes["dark"]["scales"]["difference"] == [
        colour for _, colour in colour_scale("difference", THEMES["dark"])
    ]
    assert themes["dark"]["heads"][3] == head_colour(THEMES["dark"], 3)


@BOTH
def test_figures_have_page_background_and_transparent_plots(theme: Theme) -> None:
    layout = plotly_template(theme).layout
    assert (layout.paper_bgcolor, layout.plot_bgcolor) == (theme.ground, "rgba(0,0,0,0)")
    assert layout.font.family == FONT
    assert layout.hoverlabel.namelength == -1


def test_chinese_fonts_precede_generic_font() -> None:
    names = [name.strip(' "') for name in FONT.split(",")]
    assert names[-1] == "sans-serif"
    assert {"PingFang SC", "Hiragino Sans", "Microsoft YaHei", "Noto Sans CJK SC"} < set(names)
