"""A translation as files for the reader: tables, arrays, pictures, one page that works offline."""
