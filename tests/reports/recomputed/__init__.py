"""One number of each claim again, from the published trials by plain pandas and numpy."""
