"""The lower layer: text → translation, with every tensor of the computation. No Gradio, no Plotly."""
