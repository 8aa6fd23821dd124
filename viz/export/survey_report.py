"""The report of a survey as one HTML file: roles, measures and importance of every head, and the heads that align best.

The file is self-contained, without scripts. Its colours follow the light or dark mode of the browser.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from headlight.model.experiments.survey_files import require_complete
from headlight.model.experiments.survey_search import SurveySummary, rank_heads, summarise
from headlight.model.measures.statistics import STATISTICS
from headlight.model.records import Kind
from headlight.viz.theme import THEMES, Theme

ALIGNMENT_ROWS = 12  # heads in the alignment table
TITLES: dict[Kind, str] = {
    "encoder": "Encoder self-attention",
    "decoder": "Decoder self-attention",
    "cross": "Cross-attention",
}
STYLE = """
body { max-width: 72rem; margin: 2rem auto; padding: 0 1rem; font: 15px/1.5 system-ui, sans-serif;
  background: var(--ground); color: var(--ink); }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; } h3 { font-size: 1rem; }
p, caption, th { color: var(--ink-2); } caption { text-align: left; padding: .3rem 0; }
.wide { overflow-x: auto; } table { border-collapse: separate; border-spacing: 2px; }
td, th { padding: .2rem .45rem; font-weight: normal; text-align: center; white-space: nowrap; font-size: 13px; }
td { color: var(--ink); background: color-mix(in srgb, var(--accent) calc(var(--v, 0) * 38%), var(--tint)); }
td.plain { background: none; text-align: left; }
"""


def survey_report_page(folder: Path) -> str:
    """Return the HTML report of a complete survey."""
    info, summaries = require_complete(folder), summarise(folder)
    title = html.escape(f"{info.model} over {info.file}")
    parts = [
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<style>{_colours()}{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>",
        f"<p>{info.lines:,} lines. In tables by kind, rows are layers and columns are heads, both counted from 1.</p>",
    ]
    for kind, summary in summaries.items():
        parts.append(f"<h2>{TITLES[kind]}</h2>")
        parts += _kind_tables(summary)
    ranked_heads = rank_heads(folder)
    if ranked_heads:
        parts.append("<h2>Alignment</h2>")
        header_cells = "".join(
            f"<th>{name}</th>" for name in ("layer", "head", "row", "AER", "95% interval", "precision", "recall")
        )
        rows = [
            f'<tr><td class="plain">{ranked.layer + 1}</td><td class="plain">{ranked.head + 1}</td>'
            f'<td class="plain">{"the row after" if ranked.shift else "the word’s own"}</td>{_cell(ranked.errors.rate)}'
            f'<td class="plain">{ranked.bounds.low:.3f}–{ranked.bounds.high:.3f}</td>'
            f"{_cell(ranked.errors.precision)}{_cell(ranked.errors.recall)}</tr>"
            for ranked in ranked_heads[:ALIGNMENT_ROWS]
        ]
        parts.append(f'<div class="wide"><table><tr>{header_cells}</tr>{"".join(rows)}</table></div>')
    return "\n".join([*parts, "</body>\n</html>\n"])


def _kind_tables(summary: SurveySummary) -> Iterable[str]:
    if any(roles for layer in summary.roles for roles in layer):
        yield _table(
            "Most frequent role, and its share of the sentences",
            summary,
            lambda layer, head: _role_cell(summary.roles[layer][head], summary.sentences),
        )
    if "importance" in summary.means:
        values = summary.means["importance"]
        yield _measure_table(
            "Importance: log probability lost without the head, nats", summary, "importance", np.nanmax(values)
        )
    for name in (name for name in STATISTICS if name in summary.means):
        unit = STATISTICS[name].unit
        scale_maximum = 1.0 if unit == "share" else float(np.nanmax(np.append(summary.means[name], 1e-9)))
        if not np.isnan(summary.means[name]).all():
            yield _measure_table(
                f"{name}, {unit}: mean ± standard deviation across sentences", summary, name, scale_maximum
            )


def _measure_table(caption: str, summary: SurveySummary, name: str, scale_maximum: float) -> str:
    means, spreads = summary.means[name], summary.spreads[name]

    def cell(layer: int, head: int) -> str:
        mean, spread = float(means[layer, head]), float(spreads[layer, head])
        return _cell(mean, f"{mean:.2f} ± {spread:.2f}", scale_maximum)

    return _table(caption, summary, cell)


def _table(caption: str, summary: SurveySummary, cell: Callable[[int, int], str]) -> str:
    layers, heads = np.shape(
        summary.means["coverage"] if "coverage" in summary.means else next(iter(summary.means.values()))
    )
    header_cells = "".join(f"<th>{head + 1}</th>" for head in range(heads))
    rows = "".join(
        f"<tr><th>{layer + 1}</th>{''.join(cell(layer, head) for head in range(heads))}</tr>" for layer in range(layers)
    )
    return (
        f'<div class="wide"><table><caption>{html.escape(caption)}</caption>'
        f"<tr><th></th>{header_cells}</tr>{rows}</table></div>"
    )


def _role_cell(sentences_by_role: dict[str, int], sentences: int) -> str:
    if not sentences_by_role:
        return _cell(float("nan"))
    name = max(sentences_by_role, key=lambda role: (sentences_by_role[role], role))
    share = sentences_by_role[name] / sentences
    text = f"{name.replace('_', ' ')} {share:.2f}"
    return f"<td>{html.escape(text)}</td>" if name == "unclear" else _cell(share, text)


def _cell(value: float, text: str = "", scale_maximum: float = 1.0) -> str:
    if np.isnan(value):
        return "<td>–</td>"
    intensity = min(1.0, max(0.0, value / scale_maximum)) if scale_maximum > 0 else 0.0
    return f'<td style="--v:{intensity:.2f}">{html.escape(text or f"{value:.3f}")}</td>'


def _colours() -> str:
    def variables(theme: Theme) -> str:
        names = {"ground": theme.ground, "tint": theme.tint, "ink": theme.ink, "ink-2": theme.ink_2}
        return "".join(f"--{name}:{colour};" for name, colour in (names | {"accent": theme.accent}).items())

    light, dark = variables(THEMES["light"]), variables(THEMES["dark"])
    return f":root {{ color-scheme: light dark; {light} }} @media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}"
