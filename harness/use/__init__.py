"""Interfaces for people and agents: Python, the command line, tools for agents, reading back from a claim to its trials.

In: names of studies and claims, files, options.
Out: results as objects, lines, JSON and pages.
Imports: declare, train, plan, judge, launch, elsewhere.
"""
