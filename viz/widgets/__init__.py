"""What runs in the browser: one folder a widget."""
