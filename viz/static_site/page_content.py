"""The content of a static page: widgets with their data, models, and the answers that need no sentence."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import gradio as gr

from headlight import __version__
from headlight.model.checkpoints.storage import read_json
from headlight.model.errors import CommandError, repr_short
from headlight.model.records import TranslationRequest
from headlight.model.text.languages import to_two_letters
from headlight.model.translate.reliability import FittedRule, load_rule
from headlight.viz.export.standalone import standalone_template
from headlight.viz.lessons.tensors import model_values
from headlight.viz.page import Page, build_page
from headlight.viz.server.widget import widget_module
from headlight.viz.service.examples import EXAMPLES
from headlight.viz.service.model_cards import CONFIG, ModelCard
from headlight.viz.service.model_json import answer_json, answer_model
from headlight.viz.service.service import Service
from headlight.viz.settings import Settings
from headlight.viz.static_site.compression import SUFFIX, compress
from headlight.viz.static_site.lesson_content import build_verdicts, experiment_results, static_lessons
from headlight.viz.tabs import TABS

PANELS = ("heads", "whatif", "own", "word", "decoding", "learn", "models")  # those whose calls the engine answers
# Calls that the engine answers (`viz/widgets/engine/calls.js`).
ENGINE_CALLS = (
    "stream_messages",
    "read_back",
    "changed_translation",
    "measure_importance",
    "measure_interactions",
    "find_change",
    "explain_row",
    "draw_search",
    "lesson_tensors",
    "strongest_effects",
    "measured_effect",
    "name_rival",
    "map_effects",
    "predict_losses",
    "account_word",
    "account_heads",
    "account_keys",
    "logit_details",
    "export",
)
STORED_BY_MODEL = ("corpus_roles", "head_atlas", "pruning_curve")  # calls whose answer depends on the model only
DEFAULT_EXAMPLE = "Hello."  # of a model without examples
BACK_WEIGHT = "back_weight"  # the option that needs the reverse model
UNSENT_FIELDS = ("measured", "weights")  # of a reliability rule: its results, and the digest of the model
OWN_FORMAT = "transformer"  # kind in the configuration of a model that the engine reads


@dataclass(frozen=True, kw_only=True)
class SiteFile:
    """A file of a model, or an answer: its URL relative to the page, and its content."""

    url: str
    content: bytes


@dataclass(frozen=True, kw_only=True)
class PageContent:
    """The content of a static page."""

    widgets: Sequence[Mapping[str, str]]  # id, name, module, panel, value and config of each, in the order of the page
    models: Mapping[str, Any]  # data of each model for the engine
    stored: Mapping[str, Mapping[str, str]]  # URL of a stored answer by call, and by model or step
    limits: Mapping[str, int]
    standalone: Mapping[str, Any]  # file of the page for one answer, and its version
    files: Sequence[SiteFile]


def choose_models(settings: Settings, names: str) -> tuple[str, ...]:
    """Return the named translators, in this order.

    Raises:
        CommandError: one is unknown, or not in the format that the engine reads.
    """
    service = Service(settings)
    cards = {card.name: card for card in service.models() if card.kind == "transformer" and card.location == "here"}
    chosen = tuple(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    if not chosen:
        raise CommandError(f"No model was named. Name some of: {', '.join(cards)}.")
    for name in chosen:
        if name not in cards:
            raise CommandError(f"There is no translator {repr_short(name)} here. Choose among: {', '.join(cards)}.")
        if read_json(service.catalogue.folder(cards[name]) / CONFIG).get("kind") != OWN_FORMAT:
            raise CommandError(
                f"{name} is a model of another maker, which only the app computes. Leave it out, or run the app."
            )
    return chosen


def read_page(settings: Settings, names: Sequence[str]) -> PageContent:
    """Build the page with these models and collect its content."""
    page = asyncio.run(_build_page(replace(settings, model=names[0])))
    files: list[SiteFile] = []
    models = {name: _model_data(page.service, name, names, files) for name in names}
    return PageContent(
        widgets=[_adapt_widget(page.service, widget, names) for widget in _widgets(page)],
        models=models,
        stored=_stored_answers(page, names, files),
        limits={"characters": settings.max_characters, "tokens": settings.max_tokens},
        standalone={
            "version": __version__,
            "file": _add_file(files, "answers/export", "page.html", standalone_template()),
        },
        files=files,
    )


async def _build_page(settings: Settings) -> Page:
    """Build the page in an event loop: outside, Gradio opens some that it never closes."""
    return build_page(settings, {name: TABS[name] for name in PANELS})


# ------------------------------------------------------------ models


def _model_data(service: Service, name: str, names: Sequence[str], files: list[SiteFile]) -> dict[str, Any]:
    """Return the data of a model for the engine, and add its files."""
    card = service.catalogue.card(name, "transformer")
    folder = service.catalogue.folder(card)
    source, target = (*card.languages, "", "")[:2]
    tokenizers = [folder / f"{side}_tokenizer.json" for side in ("source", "target")]
    tokenizers = tokenizers if tokenizers[0].exists() else [folder / "tokenizer.json"]
    weights = [
        _add_file(files, f"models/{name}", path.name, path.read_bytes())
        for path in sorted(folder.glob("*.safetensors"))
    ]
    vocabularies = [_add_file(files, f"models/{name}", path.name, path.read_bytes()) for path in tokenizers]
    return {
        "name": name,
        "config": read_json(folder / CONFIG)["config"],
        "weights": weights,
        "source_tokenizer": vocabularies[0],
        "target_tokenizer": vocabularies[-1],
        "languages": {"source": to_two_letters(source), "target": to_two_letters(target)},
        "answer_model": _adapt_defaults(service, answer_model(service, TranslationRequest(text="", model=name)), names),
        "cross_heads": _cross_heads(card),
        "rule": _rule_values(folder),
        "reverse": _reverse_model(service, name, names),
        "lesson_model": model_values(service.model_info(name)),
    }


def _add_file(files: list[SiteFile], folder: str, name: str, data: bytes) -> dict[str, Any]:
    """Add a compressed file. Return its URL, its size, and the digest of its content, which the engine checks."""
    file = _compressed_file(folder, name, data)
    files.append(file)
    return {"url": file.url, "bytes": len(file.content), "sha256": hashlib.sha256(data).hexdigest()}


def _compressed_file(folder: str, name: str, data: bytes) -> SiteFile:
    """Return a file with its version in the URL, so that browsers can cache it forever."""
    content = compress(data)
    version = hashlib.sha256(content).hexdigest()[:12]
    return SiteFile(url=f"{folder}/{version}/{name}{SUFFIX}", content=content)


def _cross_heads(card: ModelCard) -> dict[str, Any]:
    heads = card.cross_heads
    return {
        "aligning": [list(head) for head in heads.aligning],
        "losses": [[layer, head, loss] for (layer, head), loss in heads.losses.items()],
    }


def _rule_values(folder: Path) -> dict[str, Any] | None:
    """Return the fitted reliability rule of a model, if it has one."""
    rule = load_rule(folder)
    if not isinstance(rule, FittedRule):
        return None
    return {name: value for name, value in asdict(rule).items() if name not in UNSENT_FIELDS}


def _reverse_model(service: Service, name: str, names: Sequence[str]) -> str:
    """Return the name of the page's model for the reverse direction, or an empty text."""
    languages = service.catalogue.card(name, "transformer").languages[::-1]
    others = (other for other in names if service.catalogue.card(other, "transformer").languages == languages)
    return next(others, "") if len(languages) == 2 else ""


def _adapt_defaults(service: Service, entry: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return a model's data. Without the reverse model on the page, nothing is reranked."""
    if _reverse_model(service, entry["name"], names):
        return {**entry}
    return {**entry, "defaults": {**(entry["defaults"] or {}), BACK_WEIGHT: 0.0}}


# ------------------------------------------------------------ widgets


def _widgets(page: Page) -> Iterable[dict[str, str]]:
    """Yield the widgets in the order of the page."""
    for component in page.blocks.values():
        if not isinstance(component, gr.HTML) or not (module := widget_module(component)):
            continue
        panel = str(getattr(component.parent, "elem_id", "") or "")
        yield {
            "id": str(component.elem_id),
            "name": str(component.elem_id).removeprefix("widget-"),
            "module": f"{module}.js",
            "panel": panel if panel.startswith("panel-") else "",
            "value": str(component.value or ""),
            "config": str(component.props.get("config", "")),
        }


def _adapt_widget(service: Service, widget: dict[str, str], names: Sequence[str]) -> dict[str, str]:
    """Return the data of a widget with the models of this page only."""
    if widget["name"] != "translate":
        return widget
    config = json.loads(widget["config"])
    can_rerank = any(_reverse_model(service, name, names) for name in names)
    models = [_adapt_defaults(service, entry, names) for entry in config["models"] if entry["name"] in names]
    models.sort(key=lambda entry: names.index(entry["name"]))
    config |= {
        "models": models,
        "examples": [example for example in config["examples"] if example["model"] in names],
        "options": [row for row in config["options"] if can_rerank or row["name"] != BACK_WEIGHT],
        "defaults": config["defaults"] | {"model": names[0], BACK_WEIGHT: models[0]["defaults"][BACK_WEIGHT]},
        "any_model": False,
    }
    return widget | {"config": _json(config), "value": _first_answer(service, config["defaults"], names)}


def _first_answer(service: Service, defaults: Mapping[str, Any], names: Sequence[str]) -> str:
    """Translate the first example, which the page shows before the engine has loaded."""
    translation = service.translate(service.check({**defaults, "text": _example(service, defaults["model"])["text"]}))
    reads_back = bool(_reverse_model(service, defaults["model"], names))
    read_back = service.read_back(translation) if reads_back else None
    answer = json.loads(answer_json(service, translation, read_back, cached=True))
    answer |= {"hint": None, "model": _adapt_defaults(service, answer["model"], names)}
    if not reads_back:
        answer["way_back"] = ""
    answer["seconds"] = 0  # so that the same models give the same folder
    return _json(answer)


# ------------------------------------------------------------ stored answers


def _stored_answers(page: Page, names: Sequence[str], files: list[SiteFile]) -> dict[str, dict[str, str]]:
    """Ask for the answers that need no sentence, and return their URLs by call and model or step; "": for all."""
    calls = {name: call.function for name, call in page.calls.calls.items()}
    cards = [card for card in calls["model_cards"]({}) if card["name"] in names]
    lessons = static_lessons(calls["read_lessons"]({}), PANELS)
    answers = {
        "model_cards": cards,
        "read_lessons": lessons,
        "read_build": calls["read_build"]({}),
        "read_quiz": calls["read_quiz"]({}),
        "run_build_line": build_verdicts(calls["run_build_line"]),
    }
    stored = {call: {"": _store(files, call, answer)} for call, answer in answers.items()}
    results = experiment_results(
        lessons, calls["run_experiment"], {name: _example(page.service, name) for name in names}
    )
    stored["run_experiment"] = {step: _store(files, "run_experiment", result) for step, result in results.items()}
    for call in STORED_BY_MODEL:
        stored[call] = {
            name: _store(files, call, calls[call]({"model": name, "request": {"text": "a", "model": name}}))
            for name in names
        }
    return stored


def _example(service: Service, model: str) -> dict[str, Any]:
    """Return the request for the first example of a model."""
    text = next((example.text for example in EXAMPLES if example.model == model), DEFAULT_EXAMPLE)
    return {**service.model_defaults(model).options(), "text": text, "model": model}


def _store(files: list[SiteFile], call: str, answer: Any) -> str:
    file = _compressed_file(f"answers/{call}", "answer.json", _json(answer).encode())
    if all(other.url != file.url for other in files):
        files.append(file)
    return file.url


def _json(values: object) -> str:
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
