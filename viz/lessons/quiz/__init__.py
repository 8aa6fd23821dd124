"""The quiz of Learn: questions about attention whose keys are computed from the tiny translator's numbers."""
