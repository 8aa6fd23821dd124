"""Experiments that rerun the model: ablation, attribution, faithfulness, surveys."""
