"""Models of `transformers` that the user has loaded: their attention, measures and experiments, for notebooks.

Read `runs` first. `model_inputs` prepares its inputs, `switches` sets eager attention, and `attention_sites` finds the
module and the layer number of each map. The user's model is unchanged afterwards.
"""
