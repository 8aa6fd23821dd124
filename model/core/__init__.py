"""The Transformer. To understand attention, read the modules in this order:

    masks → attention → positions → blocks → transformer → (package `decoding`)

Names of axes:

    batch       sentences computed together; shorter ones are padded, and padding is masked
    heads       attention functions that run in parallel, each with its own projections
    queries     the tokens that attend: rows of a map, which sum to one
    keys        the tokens that are attended to: columns of a map
    tokens      positions in a sentence, used in self-attention for queries and keys
    width       length of a vector: d_model in the residual stream, d_model / heads in a head ("head width")
    vocabulary  the sub-words of a model
"""
