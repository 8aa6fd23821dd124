"""The page as a folder of files: translations and maps are computed in the visitor's browser."""
