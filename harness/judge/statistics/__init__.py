"""Intervals, combining, power, interim analyses: arrays and numbers in, numbers out. No study is known here."""
