"""What the words of each lesson say of the numbers, one file a lesson: a function for each claim, by its name."""
