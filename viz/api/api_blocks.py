"""A `gr.Blocks` whose API panel names and describes the arguments and results of the endpoints.

Gradio names the arguments of `gr.api` "1st" to "11th". MCP clients and the OpenAPI document read the same information.
"""

from __future__ import annotations

from typing import Any

import gradio as gr

from headlight.viz.figure_phrases import phrase
from headlight.viz.request_fields import ENDPOINT_NAMES, parameters


class ApiBlocks(gr.Blocks):
    """Blocks with the endpoints of `register_api`."""

    def get_api_info(self, all_endpoints: bool = False, page: str | None = None) -> Any:
        """Add names and descriptions to Gradio's information about the endpoints."""
        info: Any = super().get_api_info(all_endpoints, page)
        for name in ENDPOINT_NAMES:
            if endpoint := info["named_endpoints"].get(f"/{name}"):
                for parameter, field in zip(endpoint["parameters"], parameters(name), strict=True):
                    _describe(parameter, field.name, "additional_description", phrase(f"api_{field.name}"))
                (result,) = endpoint["returns"]
                _describe(result, "result", "description", phrase(f"api_{name}_returns"))
        return info


def _describe(value: dict[str, Any], label: str, key: str, description: str) -> None:
    """Set the name and description of an argument or a result. `key`: where its JSON schema has the description."""
    value["label"] = label
    value["type"] = {**value["type"], key: description}
    value["python_type"] = {**value["python_type"], "description": description}
