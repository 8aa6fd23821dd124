"""Parallel sentences from templates: numbers, prices, times, dates, names, places, units and telephone numbers.

A frame is one sentence with slots in German, English and Chinese. A slot draws a value and formats it for each
language. A model that trains on the sentences learns to preserve numbers, times and names.
"""
