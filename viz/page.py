"""The page: header with the views, translate widget, panels and footer."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

import gradio as gr

from headlight import __version__
from headlight.viz.api.api_blocks import ApiBlocks
from headlight.viz.api.endpoints import register_api
from headlight.viz.api.middleware import app_kwargs
from headlight.viz.api.tools import serves_tools
from headlight.viz.backends.choice import choose_backend
from headlight.viz.browser_files.static_files import ICON, PICTURES, styles
from headlight.viz.server.call_routes import call_routes
from headlight.viz.server.calls import CallTable
from headlight.viz.server.connection_limits import limit_connections
from headlight.viz.server.gradio_queue import MAX_JOBS, install_queue
from headlight.viz.server.logs import configure_json_logging
from headlight.viz.server.metrics import serve_metrics
from headlight.viz.server.preload import make_preload_middleware
from headlight.viz.server.shutdown import collect_signals, serve_until_signal
from headlight.viz.server.static_routes import routes
from headlight.viz.server.widget import widget
from headlight.viz.service.memory import freeze_heap, limit_arenas
from headlight.viz.service.service import Service
from headlight.viz.settings import Settings, check_can_bind, read_settings
from headlight.viz.tabs import TABS, Tab, panels_by_view
from headlight.viz.tabs.download import MAX_DOWNLOADS, Downloads
from headlight.viz.tabs.translate import TranslateWidget
from headlight.viz.theme import FONT, THEMES

LOOKUP_THREADS = 32  # extra threads for lookups and for answers shared by identical requests


class Page(ApiBlocks):
    """The page, its service and the calls of its widgets."""

    def __init__(self, service: Service, **options: Any) -> None:
        super().__init__(**options)
        self.service = service
        self.calls = CallTable(service.settings.concurrency + MAX_DOWNLOADS + LOOKUP_THREADS)


def build_page(settings: Settings | None = None, tabs: Mapping[str, Tab] = TABS) -> Page:
    """Build the Gradio app without launching it."""
    settings = settings or read_settings()
    if settings.log:
        configure_json_logging()
    service = Service(settings, choose_backend)
    page = Page(service, title="Headlight", analytics_enabled=False, fill_width=True)
    with page:
        views = json.dumps(panels_by_view(tabs))
        widget("layout/header", value=views)
        translate_widget = TranslateWidget(service)
        translate_widget.build(page.calls)
        Downloads(service).register(page.calls)
        widget("layout/panels", value=views)
        for name, build in tabs.items():
            with gr.Column(elem_id=f"panel-{name}", elem_classes=["panel"]):
                build(service, page.calls)
        widget("layout/footer", value=__version__)
        register_api(service, page.calls.threads)
        if service.backend.uses_gradio_queue:
            page.unload(translate_widget.stop)
    page.space_id = None  # outside the Hub's iframe, Gradio would load a header from two other hosts
    install_queue(page, service.request_queue)
    serve_metrics(page, service, settings)
    return page


def launch_page(page: Page, settings: Settings | None = None, **launch_options: Any) -> None:
    """Serve the page until a stop signal. Tests pass further options of Gradio's `launch`."""
    settings = settings or read_settings()
    limit_arenas()
    check_can_bind(settings)
    is_bare_ipv6 = settings.host is not None and ":" in settings.host and "[" not in settings.host
    app_options = app_kwargs(settings, page)
    app_options["middleware"].append(make_preload_middleware(page))
    app_options["routes"] = [*call_routes(page.calls, page.service.request_queue, settings), *routes()]
    signals = None if launch_options.pop("prevent_thread_lock", False) else collect_signals()
    page.launch(
        prevent_thread_lock=True,
        quiet=True,  # Gradio's messages are for developers: "set `share=True` in `launch()`"
        server_name=f"[{settings.host}]" if is_bare_ipv6 else settings.host,
        server_port=settings.port,
        max_threads=MAX_JOBS,  # Gradio's limit on running jobs; calls of widgets run in the threads of `CallTable`
        theme=gradio_theme(),
        head=f"<style>{styles()}</style>",  # not `css`: Gradio would rewrite every rule and break some
        footer_links=["api"],
        run_history=False,
        show_error=False,
        ssr_mode=False,  # on by default on Spaces, but renders no widget earlier and triples the requests
        mcp_server=serves_tools(settings),
        favicon_path=PICTURES / ICON,
        app_kwargs=app_options,
        **launch_options,
    )
    limit_connections(page.server, on_a_space=settings.on_a_space)
    sys.stdout.write(f"* Running on {str(page.local_url).rstrip('/')}\n")
    sys.stdout.flush()
    if signals is not None:
        freeze_heap()
        serve_until_signal(page, signals)


def gradio_theme() -> gr.themes.Base:
    """Return a Gradio theme in our colours."""
    light, dark = THEMES["light"], THEMES["dark"]
    fonts = [name.strip().strip('"') for name in FONT.split(",")]
    return gr.themes.Base(font=fonts, font_mono=["ui-monospace", "monospace"]).set(
        body_background_fill=light.ground,
        body_background_fill_dark=dark.ground,
        body_text_color=light.ink,
        body_text_color_dark=dark.ink,
    )
