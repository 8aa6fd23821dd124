"""Any model's attention as a `Recording`: arrays of any library, or the outputs of `transformers`.

Read `recording` first, then `reading` and `inspecting` (arrays → maps), `pieces` (names → tokens), `outputs` and
`generated` (what other libraries return), `files`. Nothing here imports another library: arrays are
recognised by their methods.
"""
