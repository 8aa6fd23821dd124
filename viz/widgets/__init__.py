"""JavaScript and CSS of the page, one folder for each widget."""
