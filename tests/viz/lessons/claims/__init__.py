"""Claims of the lessons' texts, one file per lesson: a function per claim."""
