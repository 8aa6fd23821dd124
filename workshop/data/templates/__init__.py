"""Parallel sentences made by rule: numbers, prices, times, dates, names, places, units, telephone numbers.

A frame is one sentence in German, English and Chinese with slots; a slot draws a value that every language writes its
own way. A translator that learns from them keeps the number, the hour and the name that a person typed.
"""
