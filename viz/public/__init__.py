"""Modules that users import as `headlight.NAME`. `headlight.py` adds this folder to the package's path.

They are not in the root of a checkout, because the root is on Python's path: a file `bertviz.py` there would shadow the
installed package BertViz.
"""
