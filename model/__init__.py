"""The ground floor: text → translation, with every number the Transformer used on the way. No Gradio, no Plotly."""
