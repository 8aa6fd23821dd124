"""The Transformer itself. To understand attention, read in this order, in one evening:

    masks → attention → positions → blocks → transformer → (room `decoding`)

and look names of axes up here:

    batch       sentences computed together; shorter ones are padded, and padding is masked
    heads       parallel attentions, each with its own projections
    queries     the tokens that look: rows of a map, which sum to one
    keys        the tokens that are looked at: columns of a map
    tokens      places in a sentence, where rows and columns are the same
    width       numbers in a vector: d_model of the stream, d_model / heads of one head ("head width")
    vocabulary  the sub-words a model knows
"""
