"""Third-party models: one file a family, which maps configuration, weights and vocabulary to ours.

A family is a file here with a function `reader()` and a line in `FAMILIES`. No code of a folder is ever run.
"""

# The "model_type" of config.json → the module that reads such folders, imported on first use.
FAMILIES: dict[str, str] = {
    "marian": "headlight.model.foreign.marian",
    "m2m_100": "headlight.model.foreign.m2m",
    "bart": "headlight.model.foreign.bart",
    "mbart": "headlight.model.foreign.mbart",
    "pegasus": "headlight.model.foreign.pegasus",
    "t5": "headlight.model.foreign.t5",
    "mt5": "headlight.model.foreign.t5",
    "umt5": "headlight.model.foreign.t5",
}
