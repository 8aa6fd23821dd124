"""Models: text → translation, with every tensor of the computation. This package imports neither Gradio nor Plotly."""
