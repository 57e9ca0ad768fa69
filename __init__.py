"""Folklore: the folders beside this file are the packages of `folklore`."""
