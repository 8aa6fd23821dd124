"""The page: one sentence in, its translation out."""

from __future__ import annotations

import logging
import os
from functools import cache
from pathlib import Path

import gradio as gr

from model.errors import ModelError
from model.translator import Translator

MODELS = Path(__file__).resolve().parents[1] / "assets" / "models"
EXAMPLES = {"de-en": "Wo ist der Bahnhof?", "toy": "ich mochte ein bier"}
SYSTEM_FONTS = ("system-ui", "PingFang SC", "Hiragino Sans", "Microsoft YaHei", "Noto Sans CJK SC", "sans-serif")


def build_page() -> gr.Blocks:
    """The Gradio app, not yet launched."""
    folder = default_model()
    page: gr.Blocks
    with gr.Blocks(title="Headlight", analytics_enabled=False) as page:
        gr.Markdown("# Headlight\nTranslate a sentence with a Transformer written from scratch.")
        sentence = gr.Textbox(label="Sentence", value=EXAMPLES.get(folder.name, ""), submit_btn="Translate")
        translation = gr.Textbox(label="Translation", interactive=False)
        note = gr.Markdown(f"Model: {folder.name}")
        sentence.submit(translate, sentence, [translation, note], api_name="translate")
    return page


def launch_page(page: gr.Blocks) -> None:
    """Serve it where `HEADLIGHT_HOST` and `HEADLIGHT_PORT` say."""
    port = os.environ.get("HEADLIGHT_PORT", "")
    page.launch(
        server_name=os.environ.get("HEADLIGHT_HOST") or None,
        server_port=int(port) if port.isdecimal() and port.isascii() else None,
        theme=gr.themes.Default(font=SYSTEM_FONTS, font_mono=("ui-monospace", "monospace")),
    )


def default_model() -> Path:
    """The model of everyday German, or whichever is there."""
    found = [MODELS / "de-en", MODELS / "toy"]
    return next((folder for folder in found if (folder / "config.json").exists()), found[0])


@cache
def translator() -> Translator:
    """Loaded when the first sentence comes."""
    return Translator.load(default_model())


def translate(text: str) -> tuple[str, str]:
    """A sentence → its translation and a line about how it went."""
    try:
        result = translator().translate(text)
    except ModelError as error:
        return "", str(error)
    except Exception:
        logging.getLogger(__name__).exception("A translation failed.")
        return "", "Something went wrong on our side. Try another sentence."
    seconds = result.timing.encode + result.timing.decode + result.timing.capture
    tokens = f"{len(result.source_tokens)} tokens in, {len(result.target_tokens)} out"
    return result.text, f"{result.device.upper()} · {1000 * seconds:,.0f} ms · {tokens}"
