"""From stored trials to observations, and from those to verdicts, by regions declared beforehand.

In: the trials of a study, stored or published.
Out: for each claim a verdict with its numbers, its robustness and its sentences.
Imports: declare, train, plan.
"""
