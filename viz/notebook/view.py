"""Notebook view: an anywidget if available, else self-contained HTML."""

from __future__ import annotations

import base64
import html
import importlib.util
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from headlight.model.checkpoints import formats
from headlight.model.checkpoints.alignment_heads import cross_heads
from headlight.model.checkpoints.shipped import find_folder
from headlight.model.errors import require_packages
from headlight.model.files import write_file
from headlight.model.recordings.files import to_json, to_npz
from headlight.model.recordings.recording import Maps, Recording, RecordingError, require_index
from headlight.model.records import KINDS, MapKind, Translation
from headlight.viz.figure_phrases import LANGUAGES, phrase
from headlight.viz.notebook.batch_run import is_batch_run
from headlight.viz.notebook.iframe import frame_page
from headlight.viz.notebook.recording_json import MAX_EMBEDDED_WEIGHTS, count_weights, embedded_maps, recording_values
from headlight.viz.notebook.static_picture import picture_svg
from headlight.viz.notebook.thumbnail import wall_pixels
from headlight.viz.notebook.view_pictures import source_kinds, write_picture
from headlight.viz.service.messages import Answer, AnswerModel, ModelEntry
from headlight.viz.service.payload import answer_dict

SYNCED_FIELDS = ("kind", "layer", "head", "row", "column")
REDUCTIONS = {"layer": ("mean",), "head": ("mean", "max")}  # accepted in place of an index
HEIGHT = 640  # pixels of the iframe until a script fits it to the view


@dataclass(frozen=True)
class Html:
    """HTML that a notebook displays."""

    text: str

    def _repr_html_(self) -> str:
        return self.text


class View:
    """A view of one input, or a comparison of two. `kind`, `layer`, `head`, `row` and `column` are the selection.

    `layer` is the number of a layer in its model, from 0, also if only some layers are shown. If the notebook supports
    widgets, setting an attribute updates the view, and a click updates the attribute.
    """

    def __init__(self, sources: Sequence[Translation | Recording], selection: dict[str, Any], language: str) -> None:
        if language and language not in LANGUAGES:
            raise RecordingError(f"language must be one of {', '.join(LANGUAGES)}, but {language!r} was given.")
        self.sources = tuple(sources)
        self.language = language
        self.pinned: dict[str, Any] | None = None  # a second head, compared with the selected one
        self._selection = selection
        kinds = source_kinds(sources[0])
        if selection["kind"] is None:
            selection["kind"] = "cross" if "cross" in kinds else kinds[0]
        is_default = selection["kind"] == "cross" and all(selection[name] is None for name in SYNCED_FIELDS[1:])
        for name in SYNCED_FIELDS:
            if selection[name] is not None:
                selection[name] = self._validate(name, selection[name])
        opening = _view_values(sources[0])["opening"] if is_default and isinstance(sources[0], Translation) else None
        defaults = opening or {"layer": _indices(sources[0], selection["kind"], "layer")[0], "head": 0}
        selection |= {name: value for name, value in defaults.items() if selection[name] is None}

    # ------------------------------------------------------------ selection

    def __getattr__(self, name: str) -> Any:
        if name not in SYNCED_FIELDS:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return getattr(self.widget, name) if "widget" in self.__dict__ else self._selection[name]

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in SYNCED_FIELDS:
            super().__setattr__(name, value)
            return
        value = self._validate(name, value)
        if "widget" in self.__dict__:
            setattr(self.widget, name, value)
        else:
            self._selection[name] = value

    def _validate(self, name: str, value: Any) -> Any:
        """Return a value of the selection; raise a `RecordingError` if an input does not have it."""
        first, *others = self.sources
        if name == "kind":
            if value not in source_kinds(first):
                raise RecordingError(f"kind must be one of {', '.join(source_kinds(first))}, but {value!r} was given.")
            return value
        if value is None and name in ("row", "column"):
            return None
        reductions = REDUCTIONS.get(name, ())
        if isinstance(value, str) and value in reductions:
            return value
        kind = getattr(self, "kind")  # noqa: B009 (from `__getattr__`)
        numbers = _indices(first, kind, name)
        number = require_index(name, value, numbers, reductions)
        for other in others if name in REDUCTIONS else ():
            if kind in source_kinds(other) and (count := len(_indices(other, kind, name))) <= numbers.index(number):
                raise RecordingError(
                    f"{name} is {number}, but the second input has {count} {name}s of the kind {kind}."
                )
        return number

    def pin(self, head: int) -> None:
        """Compare a head of the selected layer with the selected head, in the map and as lines."""
        kind, layer = self.kind, self.layer
        index = layer if isinstance(layer, str) else list(_indices(self.sources[0], kind, "layer")).index(layer)
        self.pinned = {"layer": index, "head": self._validate("head", head)}

    @cached_property
    def widget(self) -> Any:
        """The anywidget of this view, with `observe`."""
        if importlib.util.find_spec("anywidget") is None:
            raise RecordingError("Widgets need anywidget: pip install anywidget.")
        from headlight.viz.notebook.widget import HeadlightWidget

        recordings = [source for source in self.sources if isinstance(source, Recording)]
        return HeadlightWidget(self._page_data(), embedded_maps(recordings), recordings, self._selection)

    # ------------------------------------------------------------ display

    def _page_data(self) -> dict[str, Any]:
        views = [_view_values(source) for source in self.sources]
        return {"views": views, "language": self.language, "pinned": self.pinned}

    @property
    def too_large(self) -> bool:
        """Whether the weights are too large for a page. If so, the widget loads single heads on demand."""
        return (
            sum(count_weights(source) for source in self.sources if isinstance(source, Recording))
            > MAX_EMBEDDED_WEIGHTS
        )

    def page(self) -> str:
        """Return a stand-alone page that works offline. Raise a `RecordingError` if the weights are too large."""
        if self.too_large:
            raise RecordingError(
                f"The attention is too large for a page ({_size(self.sources)}). Select layers, "
                "such as layers=[0, 1], or display the view in a notebook with widgets, which loads heads on demand."
            )
        recordings = [source for source in self.sources if isinstance(source, Recording)]
        maps = {name: base64.b64encode(content).decode() for name, content in embedded_maps(recordings).items()}
        selection = {name: getattr(self, name) for name in SYNCED_FIELDS}
        return frame_page({**self._page_data(), "selection": selection, "maps": maps}, self.language)

    def _repr_html_(self) -> str:
        """Return the page in an iframe, after an image for viewers without scripts."""
        language = self.language or LANGUAGES[0]
        if self.too_large:
            return f"<p>{html.escape(phrase('notebook_too_large', language, size=_size(self.sources)))}</p>"
        frame = html.escape(self.page(), quote=True)
        style = f"display:block;width:100%;height:{HEIGHT}px;border:0"
        frame = f'<iframe title="Headlight" style="{style}" srcdoc="{frame}"></iframe>'
        return f"<div>{self._thumbnail(language)}{frame}</div>"

    def _thumbnail(self, language: str) -> str:
        kind, first = getattr(self, "kind"), self.sources[0]  # noqa: B009 (from `__getattr__`)
        maps = first.of(kind) if isinstance(first, Recording) else _translation_maps(first, kind)
        image = base64.b64encode(wall_pixels(maps)).decode()
        alt = html.escape(phrase("notebook_still", language), quote=True)
        return f'<p class="headlight-still"><img alt="{alt}" title="{alt}" src="data:image/png;base64,{image}"></p>'

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        """Return HTML, a picture and, if anywidget is installed, the widget. The notebook selects the format.

        A batch run gets no widget, because the widget's code is not stored in the notebook.
        """
        bundle: dict[str, Any] = {"text/plain": repr(self), "text/html": self._repr_html_()}
        has_widget = importlib.util.find_spec("anywidget") is not None and not is_batch_run()
        if not (self.too_large and has_widget):  # a picture of that many heads takes seconds
            bundle["image/svg+xml"] = picture_svg(self)
        if not has_widget:
            return bundle
        result = self.widget._repr_mimebundle_(include=include, exclude=exclude)
        data, metadata = result if isinstance(result, tuple) else (result or {}, {})
        return bundle | {name: value for name, value in data.items() if name != "text/plain"}, metadata

    def _display_(self) -> Any:
        """Return the output for marimo: the widget, or HTML if anywidget is missing."""
        return Html(self._repr_html_()) if importlib.util.find_spec("anywidget") is None else self.widget

    def __repr__(self) -> str:
        return f"Headlight: {_size(self.sources)}"

    def save(self, path: str | Path) -> None:
        """Save the view as an offline page (`.html`), or the data of the first input as `.npz` or `.json`."""
        path = Path(path)
        first = self.sources[0]
        if not path.parent.is_dir():
            raise RecordingError(f"There is no folder {str(path.parent)!r} to save {path.name} in. Create it first.")
        if path.suffix in (".html", ".htm"):
            write_file(path, self.page())
        elif path.suffix == ".npz":
            write_file(path, formats.to_npz(first) if isinstance(first, Translation) else to_npz(first))
        elif path.suffix == ".json":
            write_file(path, formats.to_json(first) if isinstance(first, Translation) else to_json(first))
        else:
            raise RecordingError(f"{path} has none of the endings .html, .npz and .json.")

    def export(
        self,
        path: str | Path,
        what: str = "wall",
        *,
        heads: Sequence[int] | None = None,
        caption: str | None = None,
        theme: str = "light",
    ) -> None:
        """Write a picture as `.svg`, `.pdf` or `.png`, without a browser.

        `what` may be:
        - "wall": all heads of the selected kind
        - "head": the selected head as a matrix, and for a vision model also its image as in "picture"
        - "lines": the `heads` of the selected layer as lines, by default the selected head
        - "picture": the image of a vision model with the weights of the selected row

        The default caption describes the picture.
        """
        write_picture(self, path, what, heads=heads, caption=caption, theme=theme)


def _indices(source: Translation | Recording, kind: MapKind, name: str) -> Sequence[int]:
    """Return the numbers of the layers, or the indices of the heads, rows or columns."""
    if name == "layer" and isinstance(source, Recording):
        return source.of(kind).numbers
    maps: Any = source.of(kind) if isinstance(source, Recording) else source.attention.of(cast("Any", kind))
    return range(maps.shape[SYNCED_FIELDS.index(name) - 1])


def _translation_maps(translation: Translation, kind: MapKind) -> Maps:
    layers = translation.attention.of(cast("Any", kind))
    return Maps(tuple(layers), tuple(range(len(layers))), translation.attention.allowed(cast("Any", kind)))


def _view_values(source: Translation | Recording) -> Answer | dict[str, Any]:
    if isinstance(source, Recording):
        return recording_values(source)
    values = answer_dict(source, _model_entry(source), cross_heads(find_folder(source.request.model)))
    json.dumps(values, allow_nan=False)
    return values


def _model_entry(translation: Translation) -> AnswerModel:
    """Return the entry of the translation's model, with placeholder values if the model card is unreadable."""
    # Imported here because it loads PyTorch, which views of arrays do not need.
    with require_packages("A view of a Translation"):
        from headlight.viz.service.model_cards import UNREADABLE_ERRORS, read_card
        from headlight.viz.service.model_json import encode_card

    request = translation.request
    folder = find_folder(request.model)
    try:
        entry: ModelEntry = encode_card(read_card(folder))
    except UNREADABLE_ERRORS:
        entry = {
            "name": request.model,
            "source": "",
            "target": "",
            "best_head": None,
            "where": "here",
            "downloaded": True,
            "bytes": 0,
        }
    return {
        **entry,
        "source": request.source_language or entry["source"],
        "target": request.target_language or entry["target"],
        "defaults": {},
        "default_source": "",
        "default_target": "",
        "sources": (),
        "targets": (),
        "left_out": (),
        "python_defaults": None,
    }


def _size(sources: Sequence[Translation | Recording]) -> str:
    """Return the sizes as text, such as "encoder 2 × 4 heads of 7 × 7"."""
    parts = []
    for source in sources:
        shapes = (
            {kind: source.attention.of(kind).shape for kind in KINDS}
            if isinstance(source, Translation)
            else {kind: source.of(kind).shape for kind in source.kinds}
        )
        for kind, (layers, heads, rows, columns) in shapes.items():
            parts.append(f"{kind} {layers} × {heads} heads of {rows} × {columns}")
    return ", ".join(parts)
