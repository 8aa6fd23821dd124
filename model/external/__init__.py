"""Models of `transformers` that the user has loaded: their attention, measures and experiments, for notebooks.

Read `runs` first. `model_inputs` prepares the inputs, `switches` sets eager attention, and `attention_sites` finds the
module and the layer number of each map. Hooks and settings of the user's model are restored afterwards.
"""
