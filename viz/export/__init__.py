"""Exports of a translation: tables, arrays, pictures, and a page that works offline."""
