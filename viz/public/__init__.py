"""Modules that users import as `headlight.NAME`. `headlight.py` adds this folder to the package's path.

In the root of a checkout, which is on Python's path there, a file would hide the module of the same name of another
package, such as BertViz.
"""
