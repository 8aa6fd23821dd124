"""Any model's attention as a `Recording`: arrays of any library, or the outputs of `transformers`.

Read `recording` first, then `layers` and `inspection` (arrays → maps), `token_names` (names → tokens), `builder`,
`transformers_outputs`, `generate_steps` and `sliding_windows` (outputs of other libraries), and `files`. This package
imports only NumPy: it recognises the arrays of other libraries by their methods.
"""
