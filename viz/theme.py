"""The colours and fonts of the page and its figures, in light and dark mode.

Colour marks attention or the selection; uncertainty is grey. Only the second head of a comparison is orange.
Sequential scales are ordered by lightness alone, so they work with colour-vision deficiencies and in greyscale prints:
zero is the pale end in light mode and the dark end in dark mode. Colours between two stops are interpolated in OKLab
(https://bottosson.github.io/posts/oklab/), where equal steps look equal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Literal

import plotly.graph_objects as go

FONT = (
    '-apple-system, BlinkMacSystemFont, "Segoe UI Variable Text", "Segoe UI", Inter, Roboto, "Noto Sans", '
    '"Helvetica Neue", Arial, "PingFang SC", "Hiragino Sans GB", "Hiragino Sans", "Microsoft YaHei", '
    '"Noto Sans CJK SC", "Noto Sans SC", "Noto Sans Arabic", sans-serif'
)
CAPTION, LABEL, TEXT, TITLE = 12, 14, 16, 20  # font sizes in pixels
MIN_FONT_PIXELS = 11  # for labels in dense maps

ThemeName = Literal["light", "dark"]
Stop = tuple[float, float, float]  # OKLCH: lightness 0-1, chroma, hue in degrees
ColourScale = list[list[float | str]]


@dataclass(frozen=True, kw_only=True)
class Theme:
    """The colours of one mode, as `#rrggbb`."""

    name: ThemeName
    ground: str  # background of the page
    raised: str  # background of popups
    tint: str  # hovered elements
    ink: str  # text
    ink_2: str  # secondary text
    ink_3: str  # captions
    edge: str  # borders of controls
    rule: str  # decorative lines
    accent: str  # selected, pinned or focused elements
    on_accent: str  # text on the accent colour
    soft: str  # pale accent background
    head_a: str  # the first head of a comparison
    head_b: str  # the second head of a comparison
    error: str
    right: str  # an answer that is probably right
    masked: str  # masked cells
    hatch: str  # hatching of masked cells


THEMES: dict[ThemeName, Theme] = {
    "light": Theme(
        name="light",
        ground="#fdfdfc",
        raised="#ffffff",
        tint="#f1f3f4",
        ink="#14181d",
        ink_2="#474f58",
        ink_3="#656d76",
        edge="#868e97",
        rule="#e2e5e8",
        accent="#1b4a94",
        on_accent="#ffffff",
        soft="#e9eff8",
        head_a="#1b4a94",
        head_b="#a34a00",
        error="#a3261d",
        right="#1e6b45",
        masked="#eceef0",
        hatch="#cdd2d7",
    ),
    "dark": Theme(
        name="dark",
        ground="#0e1116",
        raised="#171b22",
        tint="#1a1f27",
        ink="#eceef0",
        ink_2="#b7bec7",
        ink_3="#8f98a3",
        edge="#6b7480",
        rule="#262c35",
        accent="#f0e389",
        on_accent="#14170c",
        soft="#23261f",
        head_a="#86b7ff",
        head_b="#f5a35c",
        error="#ff9d92",
        right="#62c496",
        masked="#12161b",
        hatch="#343b45",
    ),
}

STOPS: dict[str, dict[ThemeName, tuple[Stop, ...]]] = {
    "headlight": {
        "light": (
            (0.97, 0.008, 115),
            (0.925, 0.05, 125),
            (0.845, 0.085, 150),
            (0.70, 0.10, 205),
            (0.53, 0.115, 245),
            (0.385, 0.12, 260),
            (0.27, 0.09, 268),
        ),
        "dark": (
            (0.215, 0.022, 262),
            (0.30, 0.07, 264),
            (0.42, 0.10, 256),
            (0.55, 0.105, 232),
            (0.70, 0.10, 182),
            (0.86, 0.12, 114),
            (0.955, 0.10, 101),
        ),
    },
    "cividis": {
        "light": (
            (0.955, 0.03, 100),
            (0.87, 0.13, 95),
            (0.72, 0.09, 95),
            (0.57, 0.03, 100),
            (0.43, 0.05, 265),
            (0.28, 0.09, 262),
        ),
        "dark": (
            (0.22, 0.05, 262),
            (0.35, 0.08, 262),
            (0.48, 0.035, 265),
            (0.62, 0.03, 100),
            (0.76, 0.10, 95),
            (0.92, 0.15, 98),
        ),
    },
    "grey": {"light": ((0.96, 0, 0), (0.2, 0, 0)), "dark": ((0.22, 0.005, 260), (0.97, 0, 0))},
    "difference": {  # −1 orange, 0 neutral, +1 blue
        "light": ((0.50, 0.14, 50), (0.76, 0.11, 62), (0.955, 0.004, 90), (0.74, 0.09, 250), (0.41, 0.13, 260)),
        "dark": ((0.86, 0.11, 68), (0.58, 0.12, 55), (0.225, 0.008, 262), (0.55, 0.12, 255), (0.86, 0.08, 250)),
    },
}
SCALE_SAMPLES = 33
PALETTES = tuple(name for name in STOPS if name != "difference")  # palettes of maps; the first is the default
# In degrees. Adjacent hues differ most, because heads that are compared often have adjacent indices.
HUES = (260, 50, 150, 330, 205, 95, 290, 15)
LIGHTNESS: dict[ThemeName, tuple[float, ...]] = {"light": (0.50, 0.38, 0.60), "dark": (0.78, 0.90, 0.66)}


@cache
def _sample_scale(name: str, theme: ThemeName, count: int) -> tuple[tuple[float, str], ...]:
    stops = [_to_lab(stop) for stop in STOPS[name][theme]]
    results = []
    for step in range(count):
        position = step / (count - 1)
        lower = min(len(stops) - 2, int(position * (len(stops) - 1)))
        fraction = position * (len(stops) - 1) - lower
        lab = [low + (high - low) * fraction for low, high in zip(stops[lower], stops[lower + 1], strict=True)]
        results.append((position, _to_hex(lab[0], lab[1], lab[2])))
    return tuple(results)


def colour_scale(name: str, theme: Theme, samples: int = SCALE_SAMPLES) -> ColourScale:
    """Return a scale in Plotly's form: `[[0.0, "#…"], …, [1.0, "#…"]]`."""
    if name not in STOPS:
        raise ValueError(f"There is no colour scale {name!r}: choose {', '.join(STOPS)}.")
    if samples < 2:
        raise ValueError(f"samples must be at least 2, not {samples}.")
    return [[position, colour] for position, colour in _sample_scale(name, theme.name, samples)]


def head_colour(theme: Theme, head: int) -> str:
    """Return the colour of a head in all figures; the colours repeat after 24 heads."""
    lightness = LIGHTNESS[theme.name][head // len(HUES) % len(LIGHTNESS[theme.name])]
    return _to_hex(*_to_lab((lightness, 0.14, HUES[head % len(HUES)])))


def css_custom_properties(theme: Theme) -> dict[str, str]:
    """Return the colours as CSS custom properties: `{"--ground": "#fdfdfc", "--ink-2": …}`."""
    names = [field.name for field in fields(theme) if field.name != "name"]
    return {f"--{name.replace('_', '-')}": getattr(theme, name) for name in names}


def css_variables(theme: Theme) -> str:
    """Return the custom properties as CSS declarations: `--ground: #fdfdfc; --ink-2: …`."""
    return " ".join(f"{name}: {colour};" for name, colour in css_custom_properties(theme).items())


def browser_theme() -> dict[str, dict[str, Any]]:
    """Return the data for drawing in both modes: colours, scales as evenly spaced samples, colours of heads."""
    return {
        name: {
            "variables": css_custom_properties(theme),
            "scales": {scale: [colour for _, colour in _sample_scale(scale, name, SCALE_SAMPLES)] for scale in STOPS},
            "heads": [head_colour(theme, head) for head in range(len(HUES) * len(LIGHTNESS[name]))],
        }
        for name, theme in THEMES.items()
    }


@cache
def plotly_template(theme: Theme) -> go.layout.Template:
    """Return the template of all figures: fonts, background and unobtrusive axes."""
    caption = {"size": CAPTION, "color": theme.ink_3}
    axis = {
        "showgrid": False,
        "zeroline": False,
        "showline": False,
        "ticks": "",
        "tickfont": {"size": CAPTION, "color": theme.ink_2},
        "title": {"font": caption},
        "gridcolor": theme.rule,
        "zerolinecolor": theme.rule,
        "linecolor": theme.rule,
        "automargin": False,
    }
    colour_bar = {
        "outlinewidth": 0,
        "thickness": 8,
        "ticks": "",
        "tickfont": {"size": CAPTION, "color": theme.ink_3},
        "title": {"font": caption},
    }
    layout = {
        "font": {"family": FONT, "size": LABEL, "color": theme.ink},
        "title": {
            "font": {"size": TITLE, "color": theme.ink},
            "subtitle": {"font": {"size": LABEL, "color": theme.ink_2}},
        },
        "paper_bgcolor": theme.ground,
        "plot_bgcolor": "rgba(0,0,0,0)",  # transparent, so that masked cells show the layer behind them
        "colorway": [head_colour(theme, head) for head in range(len(HUES))],
        "xaxis": axis,
        "yaxis": axis,
        "coloraxis": {"colorbar": colour_bar},
        "hoverlabel": {
            "bgcolor": theme.ink,
            "bordercolor": theme.ink,
            "font": {"family": FONT, "size": LABEL, "color": theme.ground},
            "align": "left",
            "namelength": -1,  # a truncated name could end within an HTML entity
        },
        "legend": {"font": {"size": CAPTION, "color": theme.ink_2}, "bgcolor": "rgba(0,0,0,0)"},
        "annotationdefaults": {"font": {"size": CAPTION, "color": theme.ink_2}, "showarrow": False},
    }
    return go.layout.Template(layout=layout, data={"heatmap": [{"colorbar": colour_bar}]})


def _to_lab(stop: Stop) -> tuple[float, float, float]:
    lightness, chroma, hue = stop
    return lightness, chroma * math.cos(math.radians(hue)), chroma * math.sin(math.radians(hue))


def _to_hex(lightness: float, a: float, b: float) -> str:
    """Convert OKLab to sRGB. Colours outside the gamut are clipped."""
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    middle = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    channels = (
        4.0767416621 * long - 3.3077115913 * middle + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * middle - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * middle + 1.7076147010 * short,
    )
    return "#" + "".join(f"{round(255 * _to_srgb_channel(min(1.0, max(0.0, channel)))):02x}" for channel in channels)


def _to_srgb_channel(channel: float) -> float:
    return 12.92 * channel if channel <= 0.0031308 else 1.055 * channel ** (1 / 2.4) - 0.055
